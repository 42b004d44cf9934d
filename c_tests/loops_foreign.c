/* sched_for, sched_reduce and sched_sort with another worker's s, from a task; and from a thread
 * that is no worker, while the run goes on: the workers do it all, so a body finds itself on
 * one.
 * ctest: sleeps
 * ctest: matrix idle=park,nap threads=1,4 */
#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { N = 20000, STRANGERS = 3 };

static atomic_int over;
static atomic_long on_strangers;
static struct scheduler *_Atomic shared;
static __thread int is_stranger;

static void body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    int *a = ctx;
    CHECK(s != NULL);
    atomic_fetch_add(&on_strangers, is_stranger);
    for (size_t i = lo; i < hi; i++)
        a[i] = (int)(i * 7919 % N);
}

static void add(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    const int *a = ctx;
    for (size_t i = lo; i < hi; i++)
        *(long *)acc += a[i];
    atomic_fetch_add(&on_strangers, is_stranger);
}

static void plus(void *into, const void *from, void *ctx)
{
    *(long *)into += *(const long *)from;
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void all(struct scheduler *s)
{
    int *a = malloc(N * sizeof *a);
    long sum = -1, zero = 0;
    CHECK(a != NULL);
    CHECK_EQ(sched_for(0, N, 0, body, a, s), 0);
    CHECK_EQ(sched_reduce(0, N, 0, sizeof sum, &zero, add, plus, a, &sum, s), 0);
    CHECK_EQ(sum, (long)N * (N - 1) / 2);
    CHECK_EQ(sched_reduce_relaxed(0, N, 0, sizeof sum, &zero, add, plus, a, &sum, s), 0);
    CHECK_EQ(sum, (long)N * (N - 1) / 2);
    CHECK_EQ(sched_sort(a, N, sizeof *a, compare, s), 0);
    for (int i = 0; i < N; i++)
        CHECK_EQ(a[i], i);
    free(a);
}

static void *stranger(void *arg)
{
    is_stranger = 1;
    while (!shared)
        pause_us(50);
    for (int i = 0; i < 5 && over < STRANGERS; i++)
        all(shared);
    atomic_fetch_add(&over, 1);
    return arg;
}

static void sibling(void *closure, struct scheduler *s)
{
    all(closure); /* the parent's s, perhaps on another worker */
    all(s);
}

/* Keeps the run going by new tasks, so that the one worker finds what comes from outside; but with
 * lifo, whose youngest task would always be this one. */
static void busy(void *closure, struct scheduler *s)
{
    if (over < STRANGERS) {
        pause_us(100);
        CHECK_EQ(sched_spawn(busy, closure, s), 0);
    }
}

static void root(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 4; i++)
        CHECK_EQ(sched_spawn(sibling, s, s), 0);
    shared = s;
    busy(closure, s);
}

int main(void)
{
    pthread_t threads[STRANGERS];
    if (kind_is("lifo") && threads_of(4) == 1)
        over = STRANGERS;
    for (int i = 0; i < STRANGERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, stranger, NULL), 0);
    CHECK_EQ(sched_init(4, 10, root, NULL), 0);
    for (int i = 0; i < STRANGERS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(on_strangers, 0);
    return 0;
}
