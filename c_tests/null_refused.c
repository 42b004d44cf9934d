/* Where the default pool cannot be made the functions fail, and have done nothing: a variable that is refused
 * (EINVAL, with the line that names it), no thread to be had (EAGAIN). sched_fork runs its task at once, with NULL
 * for its s. When there is a thread again, all is well.
 * ctest: static debug */
#include "child.h"
#include "null.h"
#include "seccomp.h"

static int ran;

static void once(void *closure, struct scheduler *s)
{
    CHECK(s == NULL);
    *(int *)closure += 1;
}

static void body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    (void)lo, (void)hi, (void)ctx, (void)s;
    ran++;
}

static int compare(const void *a, const void *b)
{
    ran++;
    return *(const int *)a - *(const int *)b;
}

static void refused(int error)
{
    static const int one = 1;
    int numbers[3] = {3, 1, 2}, forked = 0;
    struct sched_stats stats;
    sched_group g = SCHED_GROUP_INIT;
    CHECK_ERRNO(sched_spawn(once, NULL, NULL), error);
    CHECK_ERRNO(sched_spawn_copy(once, &one, sizeof one, NULL), error);
    CHECK_ERRNO(sched_group_spawn(&g, once, NULL, NULL), error);
    CHECK_ERRNO(sched_group_spawn_copy(&g, once, &one, sizeof one, NULL), error);
    CHECK_EQ(sched_group_wait(&g, NULL), 0); /* it has no tasks */
    CHECK_ERRNO(sched_for(0, 10, 0, body, NULL, NULL), error);
    CHECK_ERRNO(sched_sort(numbers, 3, sizeof *numbers, compare, NULL), error);
    CHECK_ERRNO(sched_stats(NULL, &stats, sizeof stats), error);
    CHECK_ERRNO(sched_worker_count(NULL), error);
    CHECK_EQ(ran, 0);
    for (int i = 1; i <= 3; i++) {
        sched_task t;
        sched_fork(&t, once, &forked, NULL);
        CHECK_EQ(forked, i);
        sched_join(&t, NULL);
    }
}

static void wrong_value(void *arg)
{
    setenv("SCHED_KIND", "wrong", 1);
    refused(EINVAL);
    unsetenv("SCHED_KIND");
    null_works();
}

static void no_thread(void *arg)
{
    no_threads();
    refused(EAGAIN);
}

int main(void)
{
    in_child(wrong_value, NULL);
    CHECK_CHILD_PASSED();
    CHECK_CHILD_SAID("SCHED_KIND=wrong");
    in_child(no_thread, NULL);
    CHECK_CHILD_PASSED();
    return 0;
}
