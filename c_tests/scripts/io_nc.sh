# examples/hello_echo.c and examples/chat.c serve nc: what comes back is what was sent, whole, whoever else is connected.
. "$ROOT/c_tests/scripts/lib/checks.sh"
needs nc netcat-openbsd
nc -h > out 2>&1 || :
grep -q '^OpenBSD netcat' out || { echo "this nc is not OpenBSD's (Debian: netcat-openbsd)"; exit 77; }

for name in hello_echo chat; do
    quietly $CC -std=c11 -O2 -Wall -Wextra -Wpedantic -Werror -o $name "$ROOT/examples/$name.c" \
        $(pkg-config --cflags --libs libsched) "-Wl,-rpath,$PREFIX/lib"
done
awk 'BEGIN { for (i = 0; i < 200000; i++) print "line", i * 7919 }' > large
: > empty

# serve NAME: starts it on a port that nobody uses.
serve() {
    port=$((20000 + $$ % 10000))
    while :; do
        ./$1 $port > said 2> error &
        server=$!
        while ! grep -q port said && kill -0 $server 2> /dev/null; do sleep 0.01; done
        ! grep -q port said || break
        grep -q 'Address already in use' error || { cat error; fail "$1 has ended"; }
        port=$((port + 1))
    done
    trap 'kill $server' EXIT
}
stop() {
    kill $server
    trap - EXIT
    wait $server || :
}

for kind in steal cont $(more lifo fifo serial); do
    export SCHED_KIND=$kind
    serve hello_echo
    clients=
    for i in 1 2 3 4 5 6 7 8; do
        nc -N 127.0.0.1 $port < large > got$i &
        clients="$clients $!"
    done
    nc -N 127.0.0.1 $port < empty > got
    cmp got empty
    wait $clients
    for i in 1 2 3 4 5 6 7 8; do cmp got$i large || fail "$kind: client $i got other bytes"; done
    stop

    serve chat
    mkfifo one two
    nc -N 127.0.0.1 $port < one > heard1 &
    clients=$!
    exec 3> one
    until grep -q '1 comes' heard1; do sleep 0.01; done
    nc -N 127.0.0.1 $port < two > heard2 3>&- & # a second writer of `one` would keep it open
    clients="$clients $!"
    exec 4> two
    until grep -q '2 comes' heard2; do sleep 0.01; done
    echo 'Hello two' >&3
    until grep -q Hello heard2; do sleep 0.01; done
    echo 'Hello one' >&4
    until grep -q 'Hello one' heard1; do sleep 0.01; done
    exec 3>&-
    until grep -q '1 goes' heard2; do sleep 0.01; done
    exec 4>&-
    wait $clients
    same "$kind: what the second member heard" '2 comes
1: Hello two
2: Hello one
1 goes' "$(cat heard2)"
    rm one two
    stop
done
