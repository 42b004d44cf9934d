# LD_PRELOAD puts the library in the place of another implementation of sched.h: a program that is linked with a shared
# one of its own runs on this library. A program that contains one keeps it, and the two do not disturb each other.
. "$ROOT/c_tests/scripts/lib/checks.sh"

# The other implementation: one thread and a stack of tasks. It counts the tasks that it runs.
cat > other.c << 'END'
#include <sched.h>
#include <stdlib.h>

struct scheduler {
    taskfunc f;
    void *closure;
    struct scheduler *next;
};

int other_ran;

int sched_spawn(taskfunc f, void *closure, struct scheduler *s)
{
    struct scheduler *task = malloc(sizeof *task);
    if (task == NULL)
        return -1;
    *task = (struct scheduler){f, closure, s->next};
    s->next = task;
    return 0;
}

int sched_init(int nthreads, int qlen, taskfunc f, void *closure)
{
    struct scheduler tasks = {NULL, NULL, NULL};
    (void)nthreads;
    (void)qlen;
    if (sched_spawn(f, closure, &tasks) != 0)
        return -1;
    while (tasks.next != NULL) {
        struct scheduler *task = tasks.next;
        tasks.next = task->next;
        task->f(task->closure, &tasks);
        free(task);
        other_ran++;
    }
    return 0;
}
END
cat > program.c << 'END'
#include <sched.h>
#include <stdio.h>

enum { DEPTH = 12, RUNS = 20, TASKS = (1 << (DEPTH + 1)) - 1 };

extern int other_ran;
static int ran;

static void tree(void *depth, struct scheduler *s)
{
    __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2 && (long)depth < DEPTH; i++)
        if (sched_spawn(tree, (void *)((long)depth + 1), s) != 0)
            __atomic_add_fetch(&ran, 1 << 20, __ATOMIC_RELAXED);
}

int main(void)
{
    for (int i = 0; i < RUNS; i++)
        if (sched_init(4, 64, tree, NULL) != 0)
            return 1;
    printf("%d of %d, %d by the other one\n", ran, RUNS * TASKS, other_ran);
    return 0;
}
END
flags="-O2 -I$PREFIX/include/libsched"
quietly $CC $flags -shared -fPIC -o libother.so other.c
quietly $CC $flags -o shared program.c -L. -lother -Wl,-rpath,"$PWD"
quietly $CC $flags -o contained program.c other.c
quietly $CC $flags -rdynamic -o exporting program.c other.c

all='163820 of 163820'
library=$PREFIX/lib/libsched.so.1
same 'without LD_PRELOAD' "$all, 163820 by the other one" "$(./shared)"
for kind in steal lifo fifo cont serial; do
    same "LD_PRELOAD, kind $kind" "$all, 0 by the other one" "$(SCHED_KIND=$kind LD_PRELOAD=$library ./shared)"
done
for program in contained exporting; do
    same "LD_PRELOAD, $program" "$all, 163820 by the other one" "$(LD_PRELOAD=$library ./$program)"
done
SCHED_STATS=json LD_PRELOAD=$library ./shared > out 2> error
same 'runs of the library, by its statistics' 20 "$(grep -c '"tasks":8191[,}]' error)"
