# Programs that are linked with the library as it is installed, under valgrind's race detectors Helgrind and DRD: they
# report nothing in programs without races, and each race that is planted in another one. No suppression is used. With
# SCRIPTS=all there are six programs instead of two, and the races run under four kinds instead of two.
# limit: 300
. "$ROOT/c_tests/scripts/lib/checks.sh"

needs valgrind valgrind
flags="-std=c11 -O1 -g -pthread"
cflags="-I$PREFIX/include/libsched"
shared="-L$PREFIX/lib -lsched -Wl,-rpath,$PREFIX/lib"
static="$PREFIX/lib/libsched.a -lpthread -ldl"

# built NAME SOURCE LINK: the program is compiled and linked so.
# shellcheck disable=SC2086
built() { quietly $CC $flags $cflags -DSMALLER=30 -o "$1" "$2" $3 -lm; }

# watched STATUS TOOL PROGRAM...: it ends with that status under the tool; 66: the tool has reported something.
watched() {
    wanted_status=$1 tool=$2
    shift 2
    ended "$wanted_status" valgrind -q --tool="$tool" --error-exitcode=66 --fair-sched=yes "$@"
    [ "$wanted_status" = 66 ] || ! grep -q "^==" error || { cat error; fail "$tool says something of $*"; }
}

echo 'int main(void) { return 0; }' > none.c
built none none.c ''
for tool in helgrind drd; do
    valgrind -q --tool=$tool ./none > out 2>&1 || { tail -n 1 out; echo "valgrind's $tool does not run here"; exit 77; }
done

export SCHED_THREADS=3
# PROGRAM/CASE
for test in forks/fork_elsewhere locks/cond $(more forks/fork_fib copies/copy_tree syncs/sync_barrier pools/pool); do
    program=${test%/*}
    [ -x $program ] || built $program "$ROOT/c_tests/$program.c" "$shared"
    for tool in helgrind drd; do watched 0 $tool ./$program ${test#*/}; done
done

# found TOOL PROGRAM KIND RACE...: each of these races is reported, and nothing where there is none.
found() {
    tool=$1 program=$2
    SCHED_KIND=$3
    export SCHED_KIND
    shift 3
    watched 0 "$tool" "$program" ordered
    for race; do
        watched 66 "$tool" "$program" "$race"
        said "Possible data race\|Conflicting"
        said "write_shared\|write_locked"
    done
}

# The two tasks of a race run at the same time, on two workers. (Each process takes half a second of processor time, and
# races.sh tries each race under each kind.)
built shared "$ROOT/c_tests/scripts/lib/races.c" "$shared"
built static "$ROOT/c_tests/scripts/lib/races.c" "$static"
found helgrind ./shared steal spawn mutex
found drd ./static fifo pool
[ -n "${SCRIPTS-}" ] || exit 0
found drd ./shared steal spawn mutex
found helgrind ./static fifo pool
for tool in helgrind drd; do
    found $tool ./shared lifo group
    found $tool ./shared cont fork
done
