/* SCHED_OVERFLOW=refuse: with queues that are full the caller does what it cannot share, and
 * parts are not cut smaller for it.
 * ctest: matrix kind=lifo,fifo,steal,serial idle=park threads=1,4 overflow=refuse */
#include "marks.h"
#include <sched_tasks.h>

enum { N = 100000, QLEN = 3 };

static atomic_long parts;

static void part(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (size_t i = lo; i < hi; i++)
        mark((long)i);
    atomic_fetch_add(&parts, 1);
}

static void add(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    *(size_t *)acc += hi - lo;
}

static void plus(void *into, const void *from, void *ctx)
{
    *(size_t *)into += *(const size_t *)from;
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void task(void *closure, struct scheduler *s)
{
}

static void root(void *closure, struct scheduler *s)
{
    static int a[N];
    size_t sum = 0, zero = 0;
    for (int round = 0; round < 10; round++) {
        while (sched_spawn(task, NULL, s) == 0)
            ;
        CHECK_EQ(errno, EAGAIN);
        parts = 0;
        CHECK_EQ(sched_for(0, N, 0, part, NULL, s), 0);
        if (threads_of(4) == 1)
            CHECK(parts < 1000);
        check_marks(N);
        CHECK_EQ(sched_reduce(0, N, 0, sizeof sum, &zero, add, plus, NULL, &sum, s), 0);
        CHECK_EQ(sum, N);
        CHECK_EQ(sched_reduce_relaxed(0, N, 0, sizeof sum, &zero, add, plus, NULL, &sum, s), 0);
        CHECK_EQ(sum, N);
        for (int i = 0; i < N; i++)
            a[i] = (int)((long)i * 7919 % N);
        CHECK_EQ(sched_sort(a, N, sizeof *a, compare, s), 0);
        for (int i = 0; i < N; i++)
            CHECK_EQ(a[i], i);
    }
}

int main(void)
{
    CHECK_EQ(sched_init(4, QLEN, root, NULL), 0);
    return 0;
}
