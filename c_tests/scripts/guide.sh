# The three slow programs of docs/GUIDE.md and their mended forms print the same, and the profile's advice and the
# timeline differ as that page says. Another process may take the processors at any moment, so a run may look otherwise:
# each statement is tried on several runs.
# limit: 1200
. "$ROOT/c_tests/scripts/lib/checks.sh"

# The blocks of C of the chapter, in their order.
awk '/^## /{ here = $0 == "## Three slow programs" } !here { next } /^```$/{ file = "" } file { print > file }
     /^```c$/{ file = "program" ++n ".c" }' "$ROOT/docs/GUIDE.md"
number=0
for name in grain span lock; do
    number=$((number + 1))
    [ -s program$number.c ] || fail "docs/GUIDE.md has no program $number in the chapter"
    for form in slow mended; do
        quietly $CC -O2 -Wall -Wextra -Werror $([ $form = slow ] || echo -DMENDED) -o $name-$form program$number.c \
            $(pkg-config --cflags --libs libsched) "-Wl,-rpath,$PREFIX/lib"
    done
    ./$name-slow > slow
    ./$name-mended > mended
    [ -s slow ] || fail "$name prints nothing"
    cmp slow mended || fail "$name and its mended form print different results"
done
[ ! -e program4.c ] || fail "docs/GUIDE.md has a fourth program in the chapter, which is not tested here"

export SCHED_THREADS=2
RUNS=20

# some_run COMMAND...: it succeeds for one of several runs.
some_run() {
    run=0
    until "$@"; do
        run=$((run + 1))
        [ $run -lt $RUNS ] || { cat error; fail "not in $RUNS runs: $*"; }
    done
}
profiled() { SCHED_PROFILE=1 "./$1" > out 2> error && grep -q '^libsched: profile: ' error; }
advised() { profiled "$1" && grep -q -e "$2" error; }
not_advised() { profiled "$1" && ! grep -q -e "$2" error; }
some_run advised grain-slow 'Half of the tasks take less than about'
some_run not_advised grain-mended 'Half of the tasks take less than about'
for name in span lock; do
    some_run advised $name-slow 'The span bounds this run'
    some_run not_advised $name-mended 'The span bounds this run'
done

# traced PROGRAM PATTERN: runs it, and counts the events with the pattern in its timeline.
traced() { SCHED_TRACE=trace.json "./$1" > out 2> error; found=$(grep -c -e "$2" trace.json) || :; }
many_wait() { traced lock-slow '"ph":"b".*"cat":"mutex"' && [ "$found" -gt 100 ]; }
few_wait() { traced lock-mended '"ph":"b".*"cat":"mutex"' && [ "$found" -lt 100 ]; }
all_fill() { traced span-mended '"name":"fill"' && [ "$found" -gt 0 ]; }
nobody_fills() { traced span-slow '"name":"fill"' && [ "$found" = 0 ]; }
some_run many_wait
some_run few_wait
some_run all_fill
nobody_fills || fail "the timeline of span has slices of fill"
