# Programs that are compiled with -fsanitize=thread and linked with the library as it is installed: ThreadSanitizer
# reports no race in programs without races, and each race that is planted in another one, under kind steal. With
# SCRIPTS=all there are more programs, and the races run under kinds lifo and cont, too.
# limit: 300
. "$ROOT/c_tests/scripts/lib/checks.sh"

flags="-std=c11 -O1 -g -pthread -fsanitize=thread"
# No wait for other threads at exit; a report ends a program with status 66.
export TSAN_OPTIONS=atexit_sleep_ms=0:exitcode=66
echo 'int main(void) { return 0; }' > none.c
# shellcheck disable=SC2086
$CC $flags -o none none.c 2> error || { echo "no $CC with -fsanitize=thread here"; exit 77; }
./none > out 2>&1 || { tail -n 1 out; echo "no program with -fsanitize=thread runs here"; exit 77; }

cflags="-I$PREFIX/include/libsched"
shared="-L$PREFIX/lib -lsched -Wl,-rpath,$PREFIX/lib"
static="$PREFIX/lib/libsched.a -lpthread -ldl"

export SCHED_THREADS=4
# built NAME SOURCE LINK: the program is compiled and linked so.
# shellcheck disable=SC2086
built() { quietly $CC $flags $cflags -DSMALLER=20 -o "$1" "$2" $3 -lm; }

# PROGRAM/CASE
for test in forks/fork_elsewhere copies/copy_tree reduces/reduce locks/cond pools/pool suspensions/suspend_nested \
    typed_tasks/inline $(more forks/fork_fib groups/group_many loops/for sorts/sort syncs/sync_barrier); do
    program=${test%/*}
    [ -x $program ] || built $program "$ROOT/c_tests/$program.c" "$shared"
    quietly ./$program ${test#*/}
done
for test in forks/fork_fib $(more pools/pool); do
    built static "$ROOT/c_tests/${test%/*}.c" "$static"
    quietly ./static ${test#*/}
done

# found PROGRAM RACE...: each race is reported, and nothing where there is none.
found() {
    program=$1
    shift
    ended 0 "$program" ordered
    for race; do
        ended 66 "$program" $race
        said "WARNING: ThreadSanitizer: data race"
    done
}

# The two tasks of a race run at the same time, on two workers.
built races "$ROOT/c_tests/scripts/lib/races.c" "$shared"
for kind in steal $(more lifo cont); do
    SCHED_KIND=$kind
    export SCHED_KIND
    found ./races spawn fork group for mutex pool
done
unset SCHED_KIND
built races "$ROOT/c_tests/scripts/lib/races.c" "$static"
found ./races spawn $(more fork group for mutex pool)
