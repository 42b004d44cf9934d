#!/bin/sh
# compare.sh FOLDER [ROUNDS]: what sched.hpp and sched_typed.hpp cost. It runs the programs of bench_c and their
# counterparts in bench_c/cpp in turn, and prints their median times and the ratios of C++ to C; then, with valgrind,
# the instructions per task.
set -eu
bench=$1 rounds=${2:-7}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# run NAME PROGRAM ARGUMENT...: runs the program, and adds its time to the file NAME.
run() {
    name=$1 program=$2
    shift 2
    line=$("$bench/$program" "$@") || { echo "$program $*: $line"; exit 1; }
    echo "$line" | sed 's/.* seconds=\([^ ]*\).*/\1/' >> "$work/$name"
}

for round in $(seq "$rounds"); do
    for threads in 1 2; do
        for suffix in "" _cpp; do
            run fib$suffix-$threads fib$suffix -n 29 -t $threads
            run fib_typed$suffix-$threads fib_typed$suffix -n 32 -t $threads
            run tree$suffix-$threads tree$suffix -n 1048576 -t $threads
            run loop$suffix-$threads loop$suffix -n 50000000 -t $threads
            run sort$suffix-$threads sort$suffix -n 1048576 -t $threads
        done
    done
    run qsort sort -n 1048576 -s
    run std::sort sort_cpp -n 1048576 -s
    run std::stable_sort sort_cpp -n 1048576 -s -d stable
done

median() { sort -n "$work/$1" | awk '{ x[NR] = $1 } END { print (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2 }'; }

echo "medians of $rounds runs, in turn"
printf '%-9s %7s %12s %12s %7s\n' "" threads "C [ms]" "C++ [ms]" C++/C
for program in fib fib_typed tree loop sort; do
    for threads in 1 2; do
        awk -v c="$(median $program-$threads)" -v cpp="$(median ${program}_cpp-$threads)" -v p=$program -v t=$threads \
            'BEGIN { printf "%-9s %7d %12.1f %12.1f %7.2f\n", p, t, 1e3 * c, 1e3 * cpp, cpp / c }'
    done
done
echo
for serial in qsort std::sort std::stable_sort; do
    awk -v s="$(median $serial)" -v n=$serial 'BEGIN { printf "sort, serial: %-16s %8.1f ms\n", n, 1e3 * s }'
done

command -v valgrind >/dev/null || { echo "no valgrind here, instructions skipped"; exit 0; }
# instructions PROGRAM SIZE
instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=sched_init "$bench/$1" -n "$2" -t 1 2>&1 |
        sed -n 's/.*Collected : *//p'
}
# per_task PROGRAM SIZE TASKS SIZE TASKS: from two sizes, so that what a run costs once cancels.
per_task() {
    awk -v a="$(instructions "$1" "$2")" -v b="$(instructions "$1" "$4")" -v tasks=$(($5 - $3)) \
        'BEGIN { printf "%.1f\n", (b - a) / tasks }'
}
echo
echo "instructions per task, one worker"
for program in fib fib_cpp fib_typed fib_typed_cpp; do
    printf '%-13s %s\n' $program "$(per_task $program 15 986 20 10945)"
done
for program in tree tree_cpp; do
    printf '%-13s %s\n' $program "$(per_task $program 16384 16384 65536 65536)"
done
for program in loop loop_cpp; do
    printf '%-13s %s\n' $program "$(per_task $program 100000 100000 1000000 1000000)"
done
