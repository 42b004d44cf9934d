/* sched_inline.h: spawn, fork and join compiled into the program do what the library's do, mixed
 * with those, too; more tasks than the deque has room for at first, and joined in both orders.
 * ctest: static
 * ctest: matrix few threads=1,2,4,16 stats=7599 */
#include "check.h"
#include <sched_inline.h>

enum { SPAWNED = 3000, FORKED = 1000, FIB = 16 };

static long spawned;

static void one(void *closure, struct scheduler *s)
{
    CHECK(closure == &spawned && s != NULL);
    __atomic_fetch_add(&spawned, 1, __ATOMIC_RELAXED);
}

static void fib(void *closure, struct scheduler *s)
{
    long *n = closure;
    if (*n < 2)
        return;
    long a = *n - 1, b = *n - 2;
    sched_task t;
    if (*n % 3)
        sched_fork(&t, fib, &a, s);
    else
        (sched_fork)(&t, fib, &a, s);
    fib(&b, s);
    if (*n % 2)
        sched_join(&t, s);
    else
        (sched_join)(&t, s);
    *n = a + b;
}

static void twice(void *closure, struct scheduler *s)
{
    *(long *)closure *= 2;
}

static void forks(void *closure, struct scheduler *s)
{
    int backwards = closure != NULL;
    static sched_task tasks[2][FORKED];
    static long numbers[2][FORKED];
    for (int i = 0; i < FORKED; i++) {
        numbers[backwards][i] = i;
        sched_fork(&tasks[backwards][i], twice, &numbers[backwards][i], s);
    }
    for (int i = 0; i < FORKED; i++) {
        int at = backwards ? FORKED - 1 - i : i;
        sched_join(&tasks[backwards][at], s);
        CHECK_EQ(numbers[backwards][at], 2 * at);
    }
}

struct pair {
    taskfunc f;
    long n;
};

static void call(void *closure, struct scheduler *s)
{
    struct pair *pair = closure;
    pair->f(&pair->n, s);
    CHECK_EQ(pair->n, 2);
}

/* A literal's commas divide the arguments of a macro. */
static void literals(struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, call, &(struct pair){twice, 1}, s);
    sched_join((sched_task *[]){&t, NULL}[0], s);
    CHECK_EQ(sched_spawn((struct pair){one, 0}.f, &spawned, s), 0);
}

static void first(void *closure, struct scheduler *s)
{
    long n = FIB;
    for (int i = 0; i < SPAWNED; i++)
        CHECK_EQ(sched_spawn(one, &spawned, s), 0);
    fib(&n, s);
    CHECK_EQ(n, 987);
    forks(NULL, s);
    forks(&n, s);
    literals(s);
    CHECK_ERRNO(sched_spawn(NULL, NULL, s), EINVAL);
    CHECK_ERRNO(sched_spawn(NULL, NULL, NULL), EINVAL);
    forks(NULL, NULL); /* the run of the calling task */
}

int main(void)
{
    CHECK_EQ(sched_init(0, 0, first, NULL), 0);
    CHECK_EQ(spawned, SPAWNED + 1);
    return 0;
}
