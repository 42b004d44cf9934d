# gdb loads tools/libsched-gdb.py from the installed tree, and shows a program with 100 suspended tasks and a running
# one: how many, their functions, what each waits for, and the frames of a suspended task down to its function; in each
# kind. So it does for a program that contains the archive, and for a core file, if the kernel writes one here. Tasks that
# are ready to go on and wait in a queue are shown with their frames, too, in each kind of queue.
# limit: 1200
. "$ROOT/c_tests/scripts/lib/checks.sh"
needs gdb gdb

cat > waits.c << 'END'
#include <sched_tasks.h>
#include <stdlib.h>

enum { SEMAPHORE = 60, MUTEX = 20, BARRIER = 10, CONDITION = 5, GROUP_WAITS = 1, JOIN = 1 };
enum { SUSPENDED = 100 }; /* these, the holder of the mutex, the task of the group, and the one that is joined */

static struct sched_sem never;
static struct sched_mutex lock, other;
static struct sched_barrier meeting;
static struct sched_cond signalled;
static struct sched_group team;
static int begun;

static __attribute__((noinline)) void all_wait(void)
{
    __asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) int wait_deep(int depth, struct scheduler *s)
{
    if (depth == 0) {
        sched_sem_wait(&never, s);
        return 0;
    }
    return wait_deep(depth - 1, s) + 1;
}

static void needs_semaphore(void *closure, struct scheduler *s)
{
    begun++;
    if (wait_deep(3, s) != 3)
        *(int *)closure = 1;
}

static void has_mutex(void *closure, struct scheduler *s)
{
    sched_mutex_lock(&lock, s);
    needs_semaphore(closure, s);
    sched_mutex_unlock(&lock);
}

static void needs_mutex(void *closure, struct scheduler *s)
{
    (void)closure;
    begun++;
    sched_mutex_lock(&lock, s);
    sched_mutex_unlock(&lock);
}

static void needs_others(void *closure, struct scheduler *s)
{
    (void)closure;
    begun++;
    sched_barrier_wait(&meeting, s);
    begun++;
}

static void needs_signal(void *closure, struct scheduler *s)
{
    (void)closure;
    begun++;
    sched_mutex_lock(&other, s);
    sched_cond_wait(&signalled, &other, s);
    sched_mutex_unlock(&other);
}

static void needs_team(void *closure, struct scheduler *s)
{
    (void)closure;
    begun++;
    sched_group_wait(&team, s);
    begun++;
}

static void needs_child(void *closure, struct scheduler *s)
{
    struct sched_task child;
    begun++;
    sched_fork(&child, needs_semaphore, closure, s);
    while (begun < SUSPENDED)
        sched_task_yield(s);
    sched_join(&child, s);
    begun++;
}

static void spawn(int n, taskfunc f, struct scheduler *s)
{
    for (int i = 0; i < n; i++)
        if (sched_spawn(f, &begun, s) != 0)
            abort();
}

/* There is one worker: a task that has begun, and is not this one, waits. */
static void first(void *closure, struct scheduler *s)
{
    (void)closure;
    spawn(1, has_mutex, s);
    while (begun < 1)
        sched_task_yield(s);
    spawn(SEMAPHORE, needs_semaphore, s);
    spawn(MUTEX, needs_mutex, s);
    spawn(BARRIER, needs_others, s);
    spawn(CONDITION, needs_signal, s);
    if (sched_group_spawn(&team, needs_semaphore, &begun, s) != 0)
        abort();
    spawn(GROUP_WAITS, needs_team, s);
    spawn(JOIN, needs_child, s);
    while (begun < SUSPENDED)
        sched_task_yield(s);
    for (int i = 0; i < 3; i++) /* the last of them was between its begin and its wait */
        sched_task_yield(s);
    if (getenv("ABORT") != NULL)
        abort();
    all_wait();
    exit(0);
}

int main(void)
{
    if (sched_sem_init(&never, 0) != 0 || sched_mutex_init(&lock) != 0 || sched_mutex_init(&other) != 0 ||
        sched_barrier_init(&meeting, BARRIER + 1) != 0 || sched_cond_init(&signalled) != 0)
        abort();
    return sched_init(1, 1000, first, NULL);
}
END
# The program is linked with the path of the library, under which gdb looks for the script.
quietly $CC -g -O1 -o shared waits.c $(pkg-config --cflags --libs libsched) "-Wl,-rpath,$PREFIX/lib"
quietly $CC -g -O1 -o static waits.c $(pkg-config --cflags libsched) "$PREFIX/lib/libsched.a" -lpthread -ldl

cat > shows.gdb << 'END'
info sched
echo TASKS\n
info tasks
echo STACK\n
task 2 bt
echo RUNNING\n
task 1 bt
echo AFTER\n
frame
END
# debugged ARGUMENTS...: runs gdb; its output is in the file out.
debugged() {
    gdb -nx -batch -iex 'set debuginfod enabled off' -iex 'set pagination off' -iex "add-auto-load-safe-path $PREFIX" \
        -iex "add-auto-load-scripts-directory $PREFIX/share/gdb/auto-load" "$@" > out 2>&1 || :
    ! grep -q -e 'Could not trace' -e ptrace out || { echo "gdb may not trace here"; exit 77; }
    ! grep -q -i -e 'support for Python' -e 'Scripting in the "Python" language is not supported' out ||
        { echo "this gdb has no Python"; exit 77; }
    ! grep -q -e Traceback -e Error out || { cat out; fail "gdb $*: an error"; }
}

# part NAME: the lines of out from that line to the next one in capitals.
part() { sed -n "/^$1\$/,/^[A-Z]*\$/p" out; }

# shown KIND WHAT: out shows the run of that kind, and its tasks.
shown() {
    grep -q "^run 1: $1.*, workers: 1; tasks that wait: 100; queued for all: 0\$" out ||
        { cat out; fail "$2: no such run"; }
    grep -q '^  worker 0: runs task [0-9]* (first), thread [0-9]*' out || { cat out; fail "$2: what worker 0 runs"; }
    part TASKS | sed -n 's/^task [0-9]* \((.*\)/\1/p' |
        sed 's/ 0x[0-9a-f]*//g; s/task [0-9]* /task N /g; s/worker 0, thread [0-9]*/worker 0/' |
        sort | uniq -c | sed 's/^ *//' > found
    sort > expected << 'END'
1 (first) runs on worker 0
1 (has_mutex) waits for the semaphore (never)
20 (needs_mutex) waits for the mutex (lock); task N (has_mutex) holds it
10 (needs_others) waits at the barrier (meeting); 10 of 11 have come
62 (needs_semaphore) waits for the semaphore (never)
5 (needs_signal) waits for the condition (signalled), with the mutex (other)
1 (needs_team) waits for the group (team); tasks left: 1
1 (needs_child) waits to join task N (needs_semaphore)
END
    sort found | diff expected - || { cat out; fail "$2: other tasks than expected"; }
    # Task 2 is on the second stack of the program: the task that has the mutex.
    part STACK | sed -n 's/^#[0-9]* *\(0x[0-9a-f]* in \)\{0,1\}\([a-z_]*\) (.*/\2/p' |
        grep -v -e sched_ -e '^begin$' > found
    printf 'wait_deep\nwait_deep\nwait_deep\nwait_deep\nneeds_semaphore\nhas_mutex\n' | diff - found ||
        { cat out; fail "$2: other frames than expected"; }
    part RUNNING | grep -q ' first (closure=' || { cat out; fail "$2: no frame of the running task's function"; }
    numbers=$(part STACK | sed -n 's/^#\([0-9]*\) .*/\1/p')
    same "$2: the numbers of the frames" "$(seq 0 $(($(echo "$numbers" | wc -l) - 1)))" "$numbers"
}

for kind in steal cont $(more lifo fifo serial); do
    export SCHED_KIND=$kind
    debugged -ex 'break all_wait' -ex run -x shows.gdb ./shared
    shown $kind "kind $kind"
    part AFTER | grep -q '^#0  all_wait ' || { cat out; fail "kind $kind: the selected frame is not that of before"; }
    # In kind cont the first frame of a task's stack is another.
    [ $kind = cont ] || part STACK | grep -q 'sched_call_in_run' ||
        { cat out; fail "the trace ends before the stack does"; }
done

# In a run whose tasks have records a descriptor has a function of the library's.
export SCHED_KIND=cont SCHED_WATCHDOG=10min
debugged -ex 'break all_wait' -ex run -x shows.gdb ./shared
shown cont "kind cont, with SCHED_WATCHDOG"
unset SCHED_KIND SCHED_WATCHDOG

# Tasks in queues: some have yielded, some were woken, and in kind cont some have spawned a task that was called at once.
cat > ready.c << 'END'
#include <sched_tasks.h>
#include <stdlib.h>

enum { YIELD = 6, WOKEN = 4, NESTED = 5 };

static struct sched_sem gate;
static int begun, is_cont;

static __attribute__((noinline)) void all_ready(void)
{
    __asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) int yield_deep(int depth, struct scheduler *s)
{
    while (depth == 0)
        sched_task_yield(s);
    return yield_deep(depth - 1, s) + 1;
}

static void yields(void *closure, struct scheduler *s)
{
    begun++;
    *(int *)closure += yield_deep(3, s);
}

static void is_woken(void *closure, struct scheduler *s)
{
    begun++;
    sched_sem_wait(&gate, s);
    *(int *)closure = 0;
}

/* The last of them stops the program. In kind cont the others are at their spawns then. */
static void nests(void *closure, struct scheduler *s)
{
    long depth = (long)closure;
    if (depth == 0) {
        for (int i = 0; i < WOKEN; i++)
            sched_sem_post(&gate);
        all_ready();
        exit(0);
    }
    if (sched_spawn(nests, (void *)(depth - 1), s) != 0)
        abort();
    begun++;
}

static void first(void *closure, struct scheduler *s)
{
    (void)closure;
    for (int i = 0; i < YIELD; i++)
        if (sched_spawn(yields, &begun, s) != 0)
            abort();
    for (int i = 0; i < WOKEN; i++)
        if (sched_spawn(is_woken, &begun, s) != 0)
            abort();
    while (begun < YIELD + WOKEN)
        sched_task_yield(s);
    for (int i = 0; i < 3; i++)
        sched_task_yield(s);
    nests((void *)(long)(is_cont ? NESTED : 0), s);
    begun++;
}

int main(void)
{
    is_cont = getenv("CONT") != NULL;
    if (sched_sem_init(&gate, 0) != 0)
        abort();
    return sched_init(1, 1000, first, NULL);
}
END
quietly $CC -g -O1 -o ready ready.c $(pkg-config --cflags --libs libsched) "-Wl,-rpath,$PREFIX/lib"
# All tasks, and the frames of one that has yielded, of one that was woken, and of the youngest spawner.
cat > ready.gdb << 'END'
echo TASKS\n
info tasks
python
import re
said = gdb.execute("info tasks", to_string=True)
for name in ("yields", "is_woken", "nests"):
    found = re.findall(r"task (\d+) \(%s\) (?:is ready|was woken|waits at a spawn)" % name, said)
    print("STACK\n" + name)
    if found:
        print(gdb.execute("task %s bt" % found[-1], to_string=True))
end
END
# frames FUNCTION: the program's functions on that task's stack.
frames() {
    sed -n "/^$1\$/,/^STACK\$/p" out | sed -n 's/^#[0-9]* *\(0x[0-9a-f]* in \)\{0,1\}\([a-z_]*\) (.*/\2/p' |
        grep -v -e sched_ -e '^begin$' | tr '\n' ' '
}
for queue in steal/split lifo cont/split $(more steal/chaselev steal/ring steal/mutex fifo serial cont/chaselev); do
    unset SCHED_DEQUE CONT
    export SCHED_KIND=${queue%/*}
    case $queue in */*) export SCHED_DEQUE=${queue#*/} ;; esac
    [ "$SCHED_KIND" != cont ] || export CONT=1
    debugged -ex 'break all_ready' -ex run -x ready.gdb ./ready
    part TASKS | sed -n 's/^task [0-9]* \((.*\)/\1/p' | sed 's/ 0x[0-9a-f]*//g; s/, thread [0-9]*//' |
        sort | uniq -c | sed 's/^ *//' > found
    {
        echo '6 (yields) is ready to go on, and is queued'
        echo '4 (is_woken) was woken, and is queued; it waited for the semaphore (gate)'
        if [ "$SCHED_KIND" = cont ]; then
            # `first` has called the first of the others.
            echo '1 (first) waits at a spawn, and is queued'
            echo '4 (nests) waits at a spawn, and is queued'
            echo '1 (nests) runs on worker 0'
        else
            echo '1 (first) runs on worker 0'
        fi
    } | sort > expected
    sort found | diff expected - || { cat out; fail "$queue: other tasks than expected"; }
    same "$queue: a task that has yielded" 'yield_deep yield_deep yield_deep yield_deep yields ' "$(frames yields)"
    same "$queue: a task that was woken" 'is_woken ' "$(frames is_woken)"
    [ "$SCHED_KIND" != cont ] || same "$queue: a spawner" 'nests ' "$(frames nests)"
done
unset SCHED_KIND SCHED_DEQUE CONT

# A task that waits for another pool keeps its thread, and is shown with the run for which it waits. So is the call of a
# guest; its place is no worker, and is shown while a thread is there.
cat > runs.c << 'END'
#include <sched_tasks.h>
#include <stdlib.h>

static struct sched_pool *outer, *inner;

static __attribute__((noinline)) void both_run(void)
{
    __asm__ volatile("" ::: "memory");
}

static void awaited(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
    both_run();
    exit(0);
}

static void waits(void *closure, struct scheduler *s)
{
    (void)s;
    if (sched_pool_run(inner, awaited, closure) != 0)
        abort();
    both_run();
}

static void part(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    (void)lo;
    (void)hi;
    waits(ctx, s);
}

int main(int argc, char **argv)
{
    (void)argv;
    outer = sched_pool_create(NULL);
    inner = sched_pool_create(NULL);
    if (outer == NULL || inner == NULL)
        return 1;
    if (argc > 1)
        return sched_for(0, 1, 1, part, NULL, sched_pool_scheduler(outer)) != 0;
    return sched_pool_run(outer, waits, NULL) != 0;
}
END
quietly $CC -g -O1 -o runs runs.c $(pkg-config --cflags --libs libsched) "-Wl,-rpath,$PREFIX/lib"
debugged -ex 'break both_run' -ex run -ex 'info tasks' ./runs
grep -q '^task [0-9]* (waits) runs on worker [0-9]*, thread [0-9]*, waits for run [12]$' out ||
    { cat out; fail "a task that waits for a run"; }
SCHED_THREADS=2 debugged -ex 'break both_run' -ex run -ex 'info sched' -ex 'info tasks' --args ./runs guest
grep -q '^task [0-9]* (part) runs on guest 2, thread 1, waits for run [12]$' out &&
    grep -q '^  guest 2: runs task [0-9]* (part), thread 1' out && test "$(grep -c ', workers: 2; ' out)" = 2 &&
    test "$(grep -c '^  guest ' out)" = 1 || { cat out; fail "the call of a guest"; }

# Nodes that wait are shown with what they wait for.
cat > nodes.c << 'END'
#include <sched_tasks.h>
#include <stdlib.h>

static sched_event input;
static sched_node node[3]; /* in the order in which they are shown */

static __attribute__((noinline)) void nodes_wait(void)
{
    __asm__ volatile("" ::: "memory");
}

static void step(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
}

static void first(void *closure, struct scheduler *s)
{
    (void)closure;
    for (int i = 0; i < 3; i++)
        if (sched_node_init(&node[i], step, NULL) != 0)
            abort();
    if (sched_event_init(&input) != 0 || sched_after(&node[0], &input) != 0 || sched_after(&node[1], &node[0]) != 0 ||
        sched_after(&node[1], &node[2]) != 0 || sched_node_ready(&node[0], s) != 0 || sched_node_ready(&node[1], s) != 0)
        abort();
    nodes_wait();
    exit(0);
}

int main(void)
{
    return sched_init(1, 1000, first, NULL);
}
END
quietly $CC -g -O1 -o nodes nodes.c $(pkg-config --cflags --libs libsched) "-Wl,-rpath,$PREFIX/lib"
SCHED_WATCHDOG=10min debugged -ex 'break nodes_wait' -ex run -ex 'info tasks' ./nodes
sed -n 's/ 0x[0-9a-f]*//g; s/(0x[0-9a-f]*)//g; s/^node //p' out > found
diff - found << 'END' || { cat out; fail "nodes that wait"; }
step at (node) waits for 1 of 1: the event (input)
step at (node+128) waits for 2 of 2: step at (node), which waits; step at (node+256), which was not made ready
END

script=$PREFIX/share/gdb/auto-load$PREFIX/lib/libsched.so.1-gdb.py
debugged -ex 'break all_wait' -ex run -ex "source $script" -x shows.gdb ./static
shown steal 'the program with the archive'

# Without a process, and in a program without the library, the commands say so.
debugged -ex "source $script" -ex 'info tasks' ./shared
grep -q 'There is no process' out || { cat out; fail "no message without a process"; }
echo 'int main(void) { return 0; }' > without.c
quietly $CC -g -o without without.c
debugged -ex 'break main' -ex run -ex "source $script" -ex 'info sched' ./without
grep -q 'This process does not use libsched' out || { cat out; fail "no message without the library"; }

# The kernel's core file has all stacks: small ones here.
if [ "$(cat /proc/sys/kernel/core_pattern)" = core ] && ulimit -c unlimited 2> error; then
    { ABORT=1 SCHED_STACK=64k ./shared || :; } 2> error
    core=$(ls core* 2> error | head -n 1) || :
    [ -n "$core" ] || fail "no core file"
    debugged -x shows.gdb ./shared "$core"
    shown steal 'the core file'
    rm -f "$core"
fi

# gcore may leave the stacks out. Then no number of waiting tasks is shown, but that it is not known.
SCHED_STACK=64k debugged -ex 'break all_wait' -ex run -ex 'generate-core-file saved.core' ./shared
debugged -ex 'info sched' -ex 'info tasks' ./shared saved.core
if grep -q 'tasks that wait: unknown;' out; then
    [ "$(grep -c 'not in this core file' out)" = 2 ] || { cat out; fail "what the saved core file lacks"; }
else
    debugged -x shows.gdb ./shared saved.core
    shown steal 'the saved core file'
fi
rm -f saved.core
