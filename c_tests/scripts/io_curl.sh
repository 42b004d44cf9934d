# examples/fileserver.c serves curl: whole files, many at a time, on connections that stay open; nothing outside its folder.
. "$ROOT/c_tests/scripts/lib/checks.sh"
needs curl curl

quietly $CC -std=c11 -O2 -Wall -Wextra -Wpedantic -Werror -o fileserver "$ROOT/examples/fileserver.c" \
    $(pkg-config --cflags --libs libsched) "-Wl,-rpath,$PREFIX/lib"
mkdir -p tree/folder/deep tree/..folder
echo secret > secret
echo inside > 'tree/a name?'
echo index > tree/folder/index.html
echo dots > tree/..folder/...
: > tree/empty
mkfifo tree/pipe
awk 'BEGIN { for (i = 0; i < 400000; i++) print "line", i * 7919 }' > tree/large
i=0
while [ $i -lt 60 ]; do head -c $((i * i * 31 + 1)) tree/large > tree/part$i; i=$((i + 1)); done

# get ARGUMENT...: as curl, without a configuration or a proxy.
get() { curl -q -s -S --noproxy '*' --max-time 50 "$@"; }
status() { get -o got -w '%{http_code}' --path-as-is "$@"; }

for kind in steal cont $(more lifo fifo serial); do
    rm -f said # of the kind before: the shell empties it only when the server is about to start
    SCHED_KIND=$kind ./fileserver tree > said &
    server=$!
    trap 'kill $server' EXIT
    while ! grep -q / said 2> error; do kill -0 $server 2> error || fail "$kind: the server has ended"; sleep 0.01; done
    url=$(cat said)

    for path in large empty 'a%20name%3F' '%6carge' 'large?query' folder/ //large; do
        file=$(printf %s "$path" | sed 's/%20/ /; s/%3F/?/; s/%6c/l/; s/?query//; s|/$|/index.html|')
        same "$kind: GET $path" 200 "$(status "$url$path")"
        cmp got "tree/$file" || fail "$kind: GET $path: other bytes"
    done
    same "$kind: HTTP/1.0" 200 "$(status --http1.0 "${url}large")"
    cmp got tree/large
    same "$kind: HEAD" 'HTTP/1.1 200 OK' "$(get --head "${url}part9" | tr -d '\r' | head -n 1)"
    get --head "${url}part9" | tr -d '\r' | grep -qx "Content-Length: $(wc -c < tree/part9)" || fail "$kind: HEAD: another length"

    # One connection for all, and several at the same time.
    same "$kind: files on a connection" '1 0 0 0' "$(echo $(get -w '%{num_connects}\n' -o got "${url}part1" -o got "${url}none" \
        -o got "${url}empty" -o got "${url}part7"))"
    cmp got tree/part7
    rm -rf parts
    mkdir parts
    get --limit-rate 8M -o parts/large "${url}large" &
    slow=$!
    get $(! curl --help all | grep -q -e --parallel-max || echo --parallel --parallel-max 50) "${url}part[0-59]" -o 'parts/part#1'
    wait $slow
    for file in parts/*; do cmp "$file" "tree/${file#parts/}" || fail "$kind: $file has other bytes"; done
    same "$kind: files" 61 "$(ls parts | wc -l)"

    # What is not below the folder, is no file, or is not asked for properly.
    for path in none folder folder/deep/ pipe large/ ../secret folder/../../secret %2e%2e/secret ..%2Fsecret folder/..%2f..%2fsecret \
        ..%00/secret "$PWD/secret" /..; do
        same "$kind: GET $path" 404 "$(status "$url$path")"
    done
    same "$kind: dots in names" 200 "$(status "$url..folder/...")"
    cmp got tree/..folder/...
    same "$kind: POST" 501 "$(status -d data "${url}large")"
    same "$kind: a path without /" 404 "$(status --request-target large "$url")"
    same "$kind: a request that is too long" 000 "$(status "$url$(printf '%09000d' 0)" 2> error || :)"
    same "$kind: the server lives" 200 "$(status "${url}large")"
    kill $server
    trap - EXIT
    wait $server || :
done
