# gdb is attached to a process in the middle of its runs, looks at all threads, and leaves again, several times: each of
# the runs is complete, and the process ends as it would have.
# limit: 300
. "$ROOT/c_tests/scripts/lib/checks.sh"
needs gdb gdb

cat > runs.c << 'END'
#include <sched_tasks.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TASKS = 1093 };

static volatile sig_atomic_t is_enough;
static int ran, in_mutex;
static sched_mutex mutex = SCHED_MUTEX_INIT;

static void stop(int signal)
{
    (void)signal;
    is_enough = 1;
}

static void check(int is_so, const char *what)
{
    if (!is_so) {
        fprintf(stderr, "failed: %s\n", what);
        _Exit(1);
    }
}

/* A tree of tasks that wait, lock, yield and sleep. */
static void task(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    sched_group children = SCHED_GROUP_INIT;
    for (long child = 3 * i + 1; child <= 3 * i + 3 && child < TASKS; child++)
        check(sched_group_spawn(&children, task, (void *)child, s) == 0, "spawn");
    if (i % 128 == 0) {
        check(sched_block_begin(s) == 0, "section");
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        check(sched_block_end(s) == 0, "end of section");
    }
    check(sched_mutex_lock(&mutex, s) == 0, "lock");
    in_mutex++;
    check(sched_mutex_unlock(&mutex) == 0, "unlock");
    sched_task_yield(s);
    check(sched_group_wait(&children, s) == 0, "wait");
    __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
}

int main(void)
{
    long runs = 0;
    signal(SIGTERM, stop);
    while (!is_enough) {
        ran = in_mutex = 0;
        check(sched_init(4, 16, task, (void *)0) == 0, "run");
        check(ran == TASKS && in_mutex == TASKS, "a task is lost, or has run twice");
        FILE *file = fopen("progress", "w");
        check(file != NULL && fprintf(file, "%ld\n", ++runs) > 0 && fclose(file) == 0, "file");
    }
    printf("ended\n");
    return 0;
}
END
quietly $CC -g -O1 -o runs runs.c $(pkg-config --cflags --libs libsched) "-Wl,-rpath,$PREFIX/lib"

# advanced: the program has made some more runs.
advanced() {
    seen=$(cat progress 2> error || echo 0) turns=0
    until [ "$(cat progress 2> error || echo 0)" -gt "$((${seen:-0} + 2))" ] 2> error; do
        kill -0 $pid 2> error || { cat said; fail "$1: the program has ended"; }
        turns=$((turns + 1))
        [ $turns -lt 1200 ] || fail "$1: the program does not go on"
        sleep 0.05
    done
}

for kind in steal cont $(more fifo); do
    rm -f progress
    SCHED_KIND=$kind ./runs > said 2>&1 &
    pid=$!
    trap 'kill -KILL $pid 2> error || :' EXIT
    advanced "kind $kind"
    for round in 1 2 $(more 3); do
        gdb -nx -batch -iex 'set debuginfod enabled off' -iex 'set pagination off' -iex 'set auto-load off' -p $pid \
            -ex 'thread apply all backtrace 4' -ex detach > out 2>&1 || :
        ! grep -q -e 'Could not attach' -e 'ptrace: ' out || { echo "gdb may not trace here"; exit 77; }
        grep -q '^Thread 1 ' out || { cat out; fail "kind $kind: gdb shows no threads"; }
        advanced "kind $kind, after gdb has left for the ${round}th time"
    done
    kill $pid
    status=0
    wait $pid || status=$?
    trap - EXIT
    [ $status = 0 ] || { cat said; fail "kind $kind: status $status at the end"; }
    same "kind $kind" ended "$(cat said)"
done
