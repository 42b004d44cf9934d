/* 1,000 runs in a row leave no thread, no descriptor and no memory behind.
 * ctest: matrix deque=mutex,split,chaselev idle=park threads=1,4 timeout=60 */
#include "marks.h"
#include "proc.h"

enum { N = 12 };

static void task(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    mark(i);
    for (long child = 2 * i + 1; child <= 2 * i + 2 && child < N; child++)
        CHECK_EQ(sched_spawn(task, (void *)child, s), 0);
}

static void runs(int n)
{
    for (int i = 0; i < n; i++) {
        CHECK_EQ(sched_init(4, 100, task, (void *)0), 0);
        check_marks(N);
    }
}

int main(void)
{
    runs(100);
    CHECK(threads_become(1));
    int descriptors = descriptor_count(), mappings = mapping_count();
    long resident = status_kb("VmRSS");
    runs(1000);
    CHECK(threads_become(1));
    CHECK_EQ(descriptor_count(), descriptors);
    if (mapping_count() > mappings + 64) /* stacks are kept, and not always as many in use at once */
        CHECK_EQ(mapping_count(), mappings);
    long grown = status_kb("VmRSS") - resident;
    if (grown > 1024) /* 1 KiB a run would be a leak */
        CHECK_EQ(grown, 0);
    return 0;
}
