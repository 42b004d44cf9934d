# sload counts what a server answers and what fails, and why, for any number of threads and each kind.
sload=$TARGET/programs/sload
. "$ROOT/c_tests/scripts/lib/checks.sh"
needs_program sload

# A server of HTTP whose answers differ in form. The last letter of the path is the form.
cat > forms.c << 'END'
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched_io.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *const forms[] = {
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n1a;note=x\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nTrailer: x\r\n\r\n",
    "HTTP/1.1 204 No Content\r\n\r\n",
    "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\nContent-Length: 0\n\n",
    "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi",
    "HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\n\r\n",
    "HTTP/1.1 500 Broken\r\nContent-Length: 3\r\n\r\noh\n",
    /* The connection ends. */
    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.0 200 OK\r\n\r\nuntil the end",
    "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno number\r\n",
};

static int listener;

static void serve(void *closure, struct scheduler *s)
{
    int fd = (int)(intptr_t)closure, on = 1;
    char head[1000], *end;
    size_t have = 0;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (int open = 1; open;) {
        ssize_t n = sched_read(fd, head + have, sizeof head - 1 - have, s);
        if (n <= 0)
            break;
        head[have += (size_t)n] = '\0';
        if ((end = strstr(head, " HTTP/1.1\r\n")) == NULL || strstr(head, "\r\n\r\n") == NULL)
            continue;
        const char *form = forms[end[-1] - 'a'];
        open = end[-1] < 'h' && strstr(head, "\r\nX-End: yes\r\n") == NULL;
        if (strstr(head, "\r\nX-Slow: yes\r\n") != NULL)
            for (; *form != '\0' && sched_write_all(fd, form, 1, s) == 1; form++)
                sched_task_yield(s);
        else
            sched_write_all(fd, form, strlen(form), s);
        have = 0;
    }
    sched_close(fd);
}

static void start(void *closure, struct scheduler *s)
{
    (void)closure;
    for (int fd; (fd = sched_accept(listener, NULL, NULL, s)) >= 0;)
        if (sched_spawn(serve, (void *)(intptr_t)fd, s) != 0)
            sched_close(fd);
}

int main(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 1000) != 0
        || getsockname(listener, (struct sockaddr *)&address, &length) != 0)
        return 1;
    printf("http://127.0.0.1:%d/\n", ntohs(address.sin_port));
    fflush(stdout);
    return sched_init(2, 0, start, NULL) != 0;
}
END
cp "$ROOT/examples/fileserver.c" .
# The echo server, on a port that is free.
sed 's/start, argc > 1 ? argv\[1\] : NULL/start, argv[0]/' "$ROOT/examples/hello_echo.c" > echo.c
! cmp -s echo.c "$ROOT/examples/hello_echo.c" || fail 'examples/hello_echo.c has another main'
for name in forms fileserver echo; do
    quietly $CC -std=c11 -O2 -Wall -Wextra -Werror -o $name $name.c $(pkg-config --cflags --libs libsched) "-Wl,-rpath,$PREFIX/lib"
done

servers=
trap 'kill -KILL $servers 2> /dev/null || :' EXIT
begin() { # begin NAME [ARGUMENT...]: url is where it is
    name=$1
    ./"$@" > $name.said &
    pid=$!
    servers="$servers $pid"
    until grep -q . $name.said; do kill -0 $pid || fail "$name has ended"; sleep 0.01; done
    url=$(cat $name.said)
}
begin forms; forms=$url
mkdir tree
head -c 100000 "$ROOT/README.md" > tree/page
begin fileserver tree; files=$url
begin echo; echo=127.0.0.1:${url#port }; echo_pid=$pid

# loads ARGUMENT...: begins sload, which ends by a signal; when it has made its five connections, it may take one.
loads() {
    "$sload" -c 5 -d 1000 "$@" > out &
    load=$!
    until [ "$(ls -l /proc/$load/fd | grep -c socket:)" -ge 5 ]; do sleep 0.01; done
    sleep 0.3
}
# stop PID: returns when no thread of the process runs. (The signal alone lets them answer a little longer.)
stop() {
    kill -STOP $1
    while grep -h '^State:' /proc/$1/task/*/status | grep -qv 'T (stopped)'; do sleep 0.01; done
}
load() { ended 0 "$sload" "$@"; }
failing() { ended 1 "$sload" "$@"; }
# is WHAT VALUE: the report has it. The words of answered are `NUMBER in`, of failed `NUMBER: ...`.
is() { grep -q "^$1  *$2" out || { cat out; fail "$1 is not $2"; }; }
failed() { # failed STATUSES TIMEOUTS CLOSED WRONG CONNECTS
    is failed "$(($1 + $2 + $3 + $4 + $5)): $1 statuses from 400, $2 timeouts, $3 closed or reset, $4 wrong answers, $5 connects"
}

for setting in steal:2 cont:2 $(more steal:1 lifo:2 fifo:3 cont:1 serial:1); do
    export SCHED_KIND=${setting%:*}
    threads=${setting#*:}
    for size in 1 64 16K 16385 1M; do
        load -j $threads -c 10 -n 60 -s $size $echo
        is answered '60 in'
        failed 0 0 0 0 0
        is unfinished '0$'
        bytes=$((60 * $(echo $size | sed 's/K/*1024/; s/M/*1048576/')))
        is bytes "$bytes sent, $bytes received"
    done
    load -j $threads -c 500 -d 0.5 $echo
    failed 0 0 0 0 0
    awk '/^latency/ { for (i = 4; i <= NF; i += 2) { if ($i < last) exit 1; last = $i } found = i > 12 } END { exit !found }' out ||
        { cat out; fail 'percentiles do not rise'; }

    load -j $threads -n 300 "${files}page"
    is answered '300 in'
    same 'the bytes of the bodies' 0 "$(awk -v size="$(wc -c < tree/page)" '/^bytes/ { print !($4 > 300 * size && $4 < 300 * (size + 200)) }' out)"
    failing -j $threads -n 100 "${files}none"
    is answered '100 in'
    failed 100 0 0 0 0

    # Each form of answer: some end the connection; the last two are no whole answers.
    for form in a b c d e f h i; do
        load -j $threads -c 3 -n 30 "$forms$form"
        is answered '30 in'
        load -j $threads -c 3 -n 30 -H 'X-Slow: yes' "$forms$form"
        is answered '30 in'
    done
    failing -j $threads -c 3 -n 30 "${forms}g"
    failed 30 0 0 0 0
    failing -j $threads -c 3 -n 30 "${forms}j"
    failed 0 0 30 0 0
    failing -j $threads -c 3 -n 30 "${forms}k"
    failed 0 0 0 30 0
    # A server that closes the connection without a word.
    failing -j $threads -c 1 -n 30 -H 'X-End: yes' "${forms}a"
    is failed '15: 0 statuses from 400, 0 timeouts, 15 closed or reset'

    # Servers of something else.
    failing -j $threads -n 20 "http://$echo/"
    failed 0 0 0 20 0
    failing -j $threads -n 20 "$(echo "$files" | sed 's|http://||; s|/||')" -s 5000 -t 0.2
    is answered '0 in'

    # A request is not sent before its time.
    load -j $threads -r 100 -n 21 -c 4 $echo
    awk '/^answered/ { exit !($2 == 21 && $4 >= 0.2) }' out || { cat out; fail '21 requests at a rate of 100 take 0.2 seconds'; }

    # A server that stops: its system still accepts connections.
    stop $echo_pid
    failing -j $threads -n 5 -c 2 -t 0.1 $echo
    failed 0 5 0 0 0
    kill -CONT $echo_pid
    loads -j $threads $echo
    kill -TERM $load
    wait $load || fail 'a signal is no error'
    failed 0 0 0 0 0
done

# Servers that are not there, or end.
unset SCHED_KIND
ended 2 "$sload" 127.0.0.1:1
said '^sload: 127.0.0.1:1: Connection refused'
for wrong in 127.0.0.1 https://127.0.0.1/ http:// nowhere.invalid:1 ''; do ended 2 "$sload" "$wrong"; said '^sload: '; done
ended 2 "$sload"
ended 2 "$sload" $echo $echo
for option in -c0 -d0 -dx -n0 -r0 -s0 -t0 -jx; do ended 2 "$sload" $option $echo; done
output_full "$sload" -n 1 $echo
loads $echo
kill -KILL $echo_pid
sleep 1
kill -TERM $load
status=0
wait $load || status=$?
same 'the status if the server ends' 1 $status
grep -q '^failed .* [1-9][0-9]* closed or reset.* [1-9][0-9]* connects' out || { cat out; fail 'a server that ends closes and refuses'; }
