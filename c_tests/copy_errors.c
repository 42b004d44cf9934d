/* sched_spawn_copy refuses with EINVAL, and runs nothing: NULL for f or s, a size beyond the
 * most, NULL for an argument that has a size, the s of a run that has ended, that of the parent
 * in a forked child. NULL without a size is fine.
 * ctest: static
 * ctest: matrix few idle=park threads=1,4 */
#include "child.h"
#include <sched_tasks.h>
#include <stdatomic.h>

static char argument[SCHED_COPY_MAX + 1];
static atomic_int ran, wrong;
static struct scheduler *kept;

static void task(void *copy, struct scheduler *s)
{
    CHECK(copy != NULL && copy != argument);
    atomic_fetch_add(&ran, 1);
}

static void never(void *copy, struct scheduler *s)
{
    atomic_fetch_add(&wrong, 1);
}

static void root(void *closure, struct scheduler *s)
{
    kept = s;
    CHECK_ERRNO(sched_spawn_copy(NULL, argument, 8, s), EINVAL);
    CHECK_ERRNO(sched_spawn_copy(never, NULL, 8, NULL), EINVAL);
    CHECK_ERRNO(sched_spawn_copy(never, argument, SCHED_COPY_MAX + 1, s), EINVAL);
    CHECK_ERRNO(sched_spawn_copy(never, argument, SIZE_MAX, s), EINVAL);
    CHECK_ERRNO(sched_spawn_copy(never, NULL, 1, s), EINVAL);
    CHECK_ERRNO(sched_spawn_copy(never, NULL, SCHED_COPY_MAX, s), EINVAL);
    CHECK_ERRNO(sched_spawn_copy(never, NULL, SIZE_MAX, s), EINVAL);
    CHECK_EQ(sched_spawn_copy(task, NULL, 0, s), 0);
    CHECK_EQ(sched_spawn_copy(task, argument, 0, s), 0);
    CHECK_EQ(sched_spawn_copy(task, argument, SCHED_COPY_MAX, s), 0);

    pid_t pid = fork();
    if (pid == 0) {
        CHECK_ERRNO(sched_spawn_copy(never, argument, 8, s), EINVAL);
        _exit(0);
    }
    CHECK_EQ(wait_for(pid), 0);
}

static void *stranger(void *s)
{
    CHECK_ERRNO(sched_spawn_copy(never, argument, 8, s), EINVAL);
    return NULL;
}

int main(void)
{
    for (int run = 1; run <= 5; run++) {
        pthread_t thread;
        CHECK_EQ(sched_init(4, 10, root, NULL), 0);
        CHECK_EQ(ran, 3 * run);
        CHECK_ERRNO(sched_spawn_copy(never, argument, 8, kept), EINVAL);
        CHECK_EQ(pthread_create(&thread, NULL, stranger, kept), 0);
        pthread_join(thread, NULL);
    }
    CHECK_EQ(wrong, 0);
    return 0;
}
