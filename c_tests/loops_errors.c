/* sched_for, the reductions and sched_sort refuse with EINVAL, and call and change nothing: NULL
 * where something must be, a size of 0, numbers that were negative before they became a size_t, the s of a run
 * that has ended, that of the parent in a forked child.
 * ctest: static
 * ctest: matrix few idle=park threads=1,4 */
#include "child.h"
#include <sched_tasks.h>

static struct scheduler *kept;
static int array[3] = {3, 1, 2}, zero, result = 77;

static void body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    (void)lo, (void)hi, (void)ctx, (void)s;
    CHECK(!"called");
}

static void fold(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    body(lo, hi, ctx, s);
}

static void combine(void *into, const void *from, void *ctx)
{
    (void)into, (void)from, (void)ctx;
    CHECK(!"called");
}

static int compare(const void *a, const void *b)
{
    (void)a, (void)b;
    CHECK(!"called");
    return 0;
}

/* Both kinds of reductions. */
static void refused(size_t size, const void *identity, void (*body)(size_t, size_t, void *, void *, struct scheduler *),
                    void (*combination)(void *, const void *, void *), void *to, struct scheduler *s)
{
    CHECK_ERRNO(sched_reduce(0, 10, 1, size, identity, body, combination, NULL, to, s), EINVAL);
    CHECK_ERRNO(sched_reduce_relaxed(0, 10, 1, size, identity, body, combination, NULL, to, s), EINVAL);
}

/* In one of the two, or both; an empty range, too. */
static void negative(struct scheduler *s)
{
    static const long bounds[][2] = {{0, -5}, {-5, 0}, {-5, -1}, {-1, -5}, {7, LONG_MIN}, {LONG_MIN, LONG_MAX}};
    for (int i = 0; i < 6; i++) {
        size_t lo = (size_t)bounds[i][0], hi = (size_t)bounds[i][1];
        for (size_t grain = 0; grain < 2; grain++) {
            CHECK_ERRNO(sched_for(lo, hi, grain, body, NULL, s), EINVAL);
            CHECK_ERRNO(sched_reduce(lo, hi, grain, sizeof zero, &zero, fold, combine, NULL, &result, s), EINVAL);
            CHECK_ERRNO(sched_reduce_relaxed(lo, hi, grain, sizeof zero, &zero, fold, combine, NULL, &result, s), EINVAL);
        }
    }
    CHECK_EQ(result, 77);
}

static void ended(struct scheduler *s)
{
    CHECK_ERRNO(sched_for(0, 10, 0, body, NULL, s), EINVAL);
    CHECK_ERRNO(sched_for(0, 0, 0, body, NULL, s), EINVAL);
    refused(sizeof zero, &zero, fold, combine, &result, s);
    CHECK_ERRNO(sched_sort(array, 3, sizeof *array, compare, s), EINVAL);
    CHECK_ERRNO(sched_sort(array, 0, sizeof *array, compare, s), EINVAL);
    CHECK_EQ(result, 77);
    CHECK(array[0] == 3 && array[1] == 1 && array[2] == 2);
}

static void root(void *closure, struct scheduler *s)
{
    int status;
    kept = s;
    CHECK_ERRNO(sched_for(0, 10, 0, NULL, NULL, s), EINVAL);
    CHECK_ERRNO(sched_for(10, 0, 0, NULL, NULL, s), EINVAL);
    refused(0, &zero, fold, combine, &result, s);
    refused(sizeof zero, NULL, fold, combine, &result, s);
    refused(sizeof zero, &zero, NULL, combine, &result, s);
    refused(sizeof zero, &zero, fold, NULL, &result, s);
    refused(sizeof zero, &zero, fold, combine, NULL, s);
    negative(s);
    CHECK_ERRNO(sched_sort(NULL, 3, sizeof *array, compare, s), EINVAL);
    CHECK_ERRNO(sched_sort(array, 3, 0, compare, s), EINVAL);
    CHECK_ERRNO(sched_sort(array, 3, sizeof *array, NULL, s), EINVAL);
    CHECK_ERRNO(sched_for(0, 10, 0, NULL, NULL, NULL), EINVAL);
    CHECK_ERRNO(sched_sort(array, 3, 0, compare, NULL), EINVAL);
    /* Nothing to do is no error. */
    CHECK_EQ(sched_for(10, 10, 0, body, NULL, s), 0);
    CHECK_EQ(sched_sort(NULL, 0, sizeof *array, compare, s), 0);
    CHECK_EQ(sched_sort(array, 1, sizeof *array, compare, s), 0);

    pid_t pid = fork();
    if (pid == 0) {
        ended(s);
        _exit(0);
    }
    CHECK(pid > 0);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

static void *stranger(void *s)
{
    ended(s);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    CHECK_EQ(sched_init(4, 10, root, NULL), 0);
    ended(kept);
    CHECK_EQ(pthread_create(&thread, NULL, stranger, kept), 0);
    pthread_join(thread, NULL);
    return 0;
}
