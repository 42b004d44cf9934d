/* The copies of a run leave no memory behind, whatever their sizes and wherever they came from.
 * ctest: matrix deque=mutex,split,chaselev idle=park threads=1,4 timeout=60 */
#include "proc.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { SPAWNED = 300 };

static atomic_int ran;
static char argument[SCHED_COPY_MAX];

static void leaf(void *copy, struct scheduler *s)
{
    atomic_fetch_add(&ran, 1);
}

static void *stranger(void *s)
{
    for (size_t i = 0; i < SPAWNED; i++)
        CHECK_EQ(sched_spawn_copy(leaf, argument, i % sizeof argument, s), 0);
    return NULL;
}

static void root(void *closure, struct scheduler *s)
{
    pthread_t thread;
    for (size_t i = 0; i < SPAWNED; i++)
        CHECK_EQ(sched_spawn_copy(leaf, argument, i % sizeof argument, s), 0);
    if (closure) {
        CHECK_EQ(pthread_create(&thread, NULL, stranger, s), 0);
        pthread_join(thread, NULL);
    }
}

static void runs(int n)
{
    for (int i = 0; i < n; i++) {
        ran = 0;
        CHECK_EQ(sched_init(4, 100, root, i % 4 ? NULL : argument), 0);
        CHECK_EQ(ran, i % 4 ? SPAWNED : 2 * SPAWNED);
    }
}

int main(void)
{
    runs(100);
    CHECK(threads_become(1));
    int mappings = mapping_count();
    long resident = status_kb("VmRSS");
    runs(400); /* some 50 KB each */
    CHECK(threads_become(1));
    if (mapping_count() > mappings + 40) /* the C library has some for each thread, kept for others */
        CHECK_EQ(mapping_count(), mappings);
    long grown = status_kb("VmRSS") - resident;
    if (grown > 2048)
        CHECK_EQ(grown, 0);
    return 0;
}
