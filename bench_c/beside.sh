#!/bin/sh
# Loops and reductions beside a process that takes one of the processors: this library and libgomp, whose idle threads
# sleep at once (passive) or spin (active). After `make bench-peers`:
#
#     bench_c/beside.sh target/bench [ROUNDS]
#
# A line for each workload and each competitor: none, a busy loop that may run anywhere, or one that is bound to the
# last processor. For each system there are two figures in us, the median and the mean of 100 loops, each the median of
# the rounds. Workers that search give way: phases of 20 us with gaps of 50 us (phases -d for-20-50) take 20 us, as on
# one thread, and the competitor gets 89 to 95 % of a processor. libgomp's threads that spin leave it 61 to 76 %, and then
# wait for milliseconds while the competitor has its turn, so their mean is 82 to 177 us (commit 0397699).
programs=$1 rounds=${2:-5}
last=$(($(nproc) - 1)) threads=$(nproc)
: "${programs:?the folder of the programs: target/bench}"

loop() { exec sh -c 'while :; do :; done'; }

compete() {
    case $1 in
    none) competitor= ;;
    free) loop & competitor=$! ;;
    bound) loop & competitor=$!; taskset -cp "$last" "$competitor" >/dev/null ;;
    esac
}

rest() { [ -z "$competitor" ] || { kill "$competitor"; wait "$competitor" 2>/dev/null; }; }
trap 'rest; exit 1' INT TERM

column() { # NUMBER: the median of this column
    cut -d, -f "$1" | sort -n | awk '{ x[NR] = $1 } END { printf "%.0f", x[int((NR + 1) / 2)] }'
}

figures() { # VALUE...
    echo "$(printf '%s\n' "$@" | column 1) $(printf '%s\n' "$@" | column 2)"
}

once() { # SYSTEM PROGRAM DATA
    case $1 in
    libsched) set -- "$programs/$2" -t "$threads" -n 100 -d "$3" ;;
    passive) set -- env OMP_WAIT_POLICY=passive "$programs/peers/libgomp" "$2" -t "$threads" -n 100 -d "$3" ;;
    active) set -- env OMP_WAIT_POLICY=active "$programs/peers/libgomp" "$2" -t "$threads" -n 100 -d "$3" ;;
    esac
    "$@" | sed 's/.* us_a_loop=\([^ ]*\) us_mean=\([^ ]*\) .*/\1,\2/'
}

for program in loops reductions; do
    for data in even-1000-1000 random-300-10000; do
        for competitor_is in none free bound; do
            libsched= passive= active=
            compete $competitor_is
            for round in $(seq "$rounds"); do
                libsched="$libsched $(once libsched $program $data)"
                passive="$passive $(once passive $program $data)"
                active="$active $(once active $program $data)"
            done
            rest
            printf '%s %s, competitor %s: libsched %s, libgomp passive %s, active %s\n' $program $data $competitor_is \
                "$(figures $libsched)" "$(figures $passive)" "$(figures $active)"
        done
    done
done
