#!/bin/sh
# make bench-io: compare.sh FOLDER SLOAD [ROUNDS [SECONDS]] loads the echo servers in FOLDER, which echo.h describes. The
# load comes from the program SLOAD, which runs on the same machine, with half as many threads as it has processors. In
# each round each server has its turn in each of these loads: 1, 100 and 5,000 connections, and 100 beside 4 tasks that
# compute. The table has medians of the rounds:
#
#   p50, p99    times from a request of 64 bytes to its answer
#   least       the answers of the least served connection, in parts of the mean
#   cpu         processor time of the server for a request, and for its part of making and closing the connections; not
#               beside tasks that compute, since it would contain theirs
#   threads,    of the server, in the middle of the load
#   RSS
set -eu
servers=$1 sload=$2 rounds=${3:-3} seconds=${4:-3}
work=$(mktemp -d)
process=
trap '[ -z "$process" ] || kill "$process" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
ulimit -n "$(ulimit -Hn)" # a connection is a descriptor
hertz=$(getconf CLK_TCK) processors=$(nproc)
threads=$(((processors + 1) / 2))

ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'; }

# measure SERVER CONNECTIONS COMPUTING: adds a line of figures to a file of that name.
measure() {
    : >"$work/said"
    timeout 60 "$servers/$1" "$3" >"$work/said" 2>"$work/errors" &
    process=$!
    tries=0
    until read -r port number <"$work/said"; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || { echo "$1 does not start: $(cat "$work/errors")" >&2; return 1; }
        sleep 0.05
    done
    before=$(ticks "$number")
    timeout 30 "$sload" -j "$threads" -c "$2" -d "$seconds" -s 64 "127.0.0.1:$port" >"$work/load" 2>&1 &
    generator=$!
    sleep "$(awk -v s="$seconds" 'BEGIN { print 0.6 * s }')"
    state=$(awk '/^Threads:/ { threads = $2 } /^VmRSS:/ { kib = $2 } END { print threads, kib }' \
        "/proc/$number/status" 2>/dev/null) || true # it may have failed
    if wait $generator; then
        spent=$(($(ticks "$number") - before))
        awk -v spent="$spent" -v hertz="$hertz" -v state="$state" '
            /^answered/ { answers = $2; rate = $6 }
            /^latency/ { for (i = 1; i < NF; i++) value[$i] = 1e3 * $(i + 1) }
            /^connections/ { least = $4 / $6 }
            END { print rate, value["p50"], value["p99"], least, 1e6 * spent / hertz / answers, state }' \
            "$work/load" >>"$work/$1.$2.$3"
    else
        echo "$1, $2 connections: a load has failed" >&2
        cat "$work/load" "$work/errors" >&2
    fi
    kill "$process" 2>/dev/null || true
    wait "$process" 2>/dev/null || true
    process=
}

present=
for server in libsched go tokio neco libuv; do
    if [ -x "$servers/$server" ]; then
        present="$present $server"
    else
        echo "skipped: $server: $(cat "$servers/$server.skipped" 2>/dev/null || echo 'not built')"
    fi
done

for round in $(seq "$rounds"); do
    for load in '1 0' '100 0' '5000 0' '100 4'; do
        for server in $present; do
            # Unquoted: two numbers.
            measure "$server" $load
        done
    done
done

# column FILE NUMBER: the median of this column.
column() {
    sort -n -k "$2,$2" "$1" | awk -v c="$2" '{ x[NR] = $c } END { print (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2 }'
}

echo "medians of $rounds rounds of $seconds s, $processors processors"
printf '%-22s %-9s %10s %9s %9s %6s %7s %8s %7s\n' connections server requests/s 'p50 [us]' 'p99 [us]' least 'cpu [us]' threads \
    'RSS [MB]'
for load in '1 0' '100 0' '5000 0' '100 4'; do
    for server in $present; do
        figures="$work/$server.${load% *}.${load#* }"
        [ -s "$figures" ] || { printf '%-22s %-9s failed\n' "$load" "$server"; continue; }
        for c in 1 2 3 4 5 6 7; do column "$figures" $c; done | tr '\n' ' ' |
            awk -v load="$load" -v server="$server" '{
                split(load, part, " ")
                beside = part[2] != 0
                name = part[1] (beside ? " beside " part[2] " of 10 ms" : "")
                printf "%-22s %-9s %10.0f %9.1f %9.1f %6.2f %8s %8.0f %8.1f\n", name, server, $1, $2, $3, $4,
                       beside ? "-" : sprintf("%.1f", $5), $6, $7 * 1024 / 1e6 }'
    done
done
