/* Memory ends (RLIMIT_AS): sched_sort and the reductions return -1 with ENOMEM, the array and the
 * result unchanged; small sorts, small values and loops need none. A relaxed reduction does
 * with memory for one value.
 * ctest: matrix few idle=park threads=1,4 */
#include "child.h"
#include "proc.h"
#include <sched_tasks.h>

enum { N = 40 << 20, LARGE = 16 << 20 };

static char *array;

static void loop(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (size_t i = lo; i < hi; i++)
        ((char *)ctx)[i] = (char)(100 - i);
}

static void count(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    *(long *)acc += (long)(hi - lo);
}

static void plus(void *into, const void *from, void *ctx)
{
    *(long *)into += *(const long *)from;
}

static int compare(const void *a, const void *b)
{
    return *(const signed char *)a - *(const signed char *)b;
}

static void root(void *closure, struct scheduler *s)
{
    char few[100];
    long sum = 0, zero = 0;
    rlim_t bytes = (rlim_t)(status_kb("VmSize") + (24 << 10)) * 1024;
    struct rlimit limit = {bytes, bytes};
    array[1] = 1;
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    for (int round = 0; round < 2; round++) {
        CHECK_ERRNO(sched_sort(array, N, 1, compare, s), ENOMEM);
        CHECK(array[0] == 0 && array[1] == 1 && array[2] == 0);
        /* LARGE bytes are there once, not for all parts at once. */
        *(long *)(array + LARGE) = 77;
        CHECK_ERRNO(sched_reduce(0, 1000, 0, LARGE, array, count, plus, NULL, array + LARGE, s),
                    ENOMEM);
        CHECK_EQ(*(long *)(array + LARGE), 77);
        CHECK_ERRNO(sched_reduce_relaxed(0, 1000, 0, 2 * LARGE, array, count, plus, NULL, array + LARGE / 2, s),
                    ENOMEM);
        CHECK_EQ(*(long *)(array + LARGE), 77);
        /* There is memory for one value at most; the workers' stacks need some, too. */
        int is_done = sched_reduce_relaxed(0, 1000, 0, LARGE, array, count, plus, NULL, array + LARGE, s) == 0;
        if (!is_done)
            CHECK_EQ(errno, ENOMEM);
        CHECK_EQ(*(long *)(array + LARGE), is_done ? *(long *)array + 1000 : 77);
        CHECK_EQ(sched_reduce_relaxed(0, 1000, 0, sizeof sum, &zero, count, plus, NULL, &sum, s), 0);
        CHECK_EQ(sum, 1000);
        CHECK_EQ(sched_reduce(0, 1000, 0, sizeof sum, &zero, count, plus, NULL, &sum, s), 0);
        CHECK_EQ(sum, 1000);
        CHECK_EQ(sched_for(0, sizeof few, 0, loop, few, s), 0);
        CHECK_EQ(sched_sort(few, sizeof few, 1, compare, s), 0);
        for (size_t i = 0; i < sizeof few; i++)
            CHECK_EQ(few[i], (char)i + 1);
    }
}

static void body(void *arg)
{
    one_heap(); /* else a thread may be making one while root looks at the size */
    array = calloc(N, 1);
    CHECK(array != NULL);
    CHECK_EQ(sched_init(4, 10, root, arg), 0);
}

int main(void)
{
    in_child(body, NULL);
    CHECK_CHILD_EXITED(0);
    return 0;
}
