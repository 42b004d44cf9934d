/* 1,000 pools in a row, with tasks and without, leave no thread, no descriptor and no memory behind.
 * ctest: matrix deque=mutex,split idle=park threads=1,4 timeout=60 */
#include "marks.h"
#include "pool.h"
#include "proc.h"

enum { N = 12 };

static void task(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    mark(i);
    for (long child = 2 * i + 1; child <= 2 * i + 2 && child < N; child++)
        CHECK_EQ(sched_spawn(task, (void *)child, s), 0);
}

static void pools(int n)
{
    for (int i = 0; i < n; i++) {
        struct sched_pool *pool = pool_of(4);
        if (i % 3 == 1)
            CHECK_EQ(sched_pool_run(pool, task, (void *)0), 0);
        if (i % 3 == 2)
            CHECK_EQ(sched_pool_submit(pool, task, (void *)0), 0);
        CHECK_EQ(sched_pool_destroy(pool), 0);
        if (i % 3)
            check_marks(N);
    }
}

int main(void)
{
    pools(100);
    CHECK(threads_become(1));
    int descriptors = descriptor_count(), mappings = mapping_count();
    long resident = status_kb("VmRSS");
    pools(1000);
    CHECK(threads_become(1));
    CHECK_EQ(descriptor_count(), descriptors);
    if (mapping_count() > mappings + 64) /* stacks are kept, and not always as many in use at once */
        CHECK_EQ(mapping_count(), mappings);
    long grown = status_kb("VmRSS") - resident;
    if (grown > 1024) /* 1 KiB a pool would be a leak */
        CHECK_EQ(grown, 0);
    return 0;
}
