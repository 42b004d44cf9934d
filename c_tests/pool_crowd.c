/* A pool takes tasks from four threads at once while a fifth waits again and again, and two run
 * tasks of their own: each task runs once, and has when its run has returned.
 * ctest: matrix */
#include "marks.h"
#include "pool.h"

enum { SUBMITTERS = 4, RUNNERS = 2, EACH = 400 };

static struct sched_pool *pool;
static atomic_int left = SUBMITTERS;

static void task(void *closure, struct scheduler *s)
{
    mark((long)closure);
}

static void two(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(task, (void *)((long)closure + 1), s), 0);
    mark((long)closure);
}

static void *submitter(void *arg)
{
    for (long i = 0; i < EACH; i++) {
        CHECK_EQ(sched_pool_submit(pool, task, (void *)((long)arg * EACH + i)), 0);
        if (i % 64 == 0)
            pause_us(200);
    }
    atomic_fetch_sub(&left, 1);
    return NULL;
}

static void *runner(void *arg)
{
    for (long i = 0; i < EACH; i += 20) {
        long at = ((long)arg + SUBMITTERS) * EACH + i;
        CHECK_EQ(sched_pool_run(pool, two, (void *)at), 0);
        CHECK_EQ(marks[at], 1);
        CHECK_EQ(marks[at + 1], 1);
        for (long k = at + 2; k < at + 20; k++)
            mark(k);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[SUBMITTERS + RUNNERS];
    pool = pool_of(3);
    for (long i = 0; i < SUBMITTERS + RUNNERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, i < SUBMITTERS ? submitter : runner,
                                (void *)(i < SUBMITTERS ? i : i - SUBMITTERS)), 0);
    while (left)
        CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(sched_pool_wait(pool), 0);
    for (long i = 0; i < SUBMITTERS * EACH; i++)
        CHECK_EQ(marks[i], 1);
    for (int i = 0; i < SUBMITTERS + RUNNERS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    check_marks((SUBMITTERS + RUNNERS) * EACH);
    return 0;
}
