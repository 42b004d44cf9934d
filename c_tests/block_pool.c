/* Sections in a pool: its wait is not over before their tasks are, none of them may wait for the pool, and
 * the threads that were needed at once are needed again, no more; those that rest end in time.
 * ctest: static debug
 * ctest: matrix deque=mutex,split,ring threads=1,2,4
 * ctest: matrix deque=mutex,split idle=park threads=2 env=SCHED_WARM=0 */
#include "block.h"
#include "pool.h"

enum { TASKS = 20, ROUNDS = 50 };

static struct sched_pool *pool;
static atomic_int ended, within;

static void waits(struct scheduler *s)
{
    CHECK_ERRNO(sched_pool_wait(pool), EDEADLK);
    CHECK_ERRNO(sched_pool_destroy(pool), EDEADLK);
}

static void in_another_run(void *closure, struct scheduler *s)
{
    begin(s);
    if (thread_id() == *(int *)closure) /* on another thread it would wait for who waits for it */
        waits(s);
    end(s);
}

static void task(void *closure, struct scheduler *s)
{
    begin(s);
    waits(s);
    int here = thread_id();
    if (closure == NULL)
        CHECK_EQ(sched_init(2, 4, in_another_run, &here), 0);
    atomic_fetch_add(&within, 1);
    double until = now() + 2;
    while (!kind_is("serial") && within < TASKS && now() < until)
        pause_us(200); /* all are to be in sections at once */
    end(s);
    atomic_fetch_add(&ended, 1);
}

int main(void)
{
    struct sched_options options = {.size = sizeof options, .nthreads = 2, .qlen = TASKS};
    pool = sched_pool_create(&options);
    CHECK(pool != NULL);
    int most = threads_of(2) + TASKS + 1, before = count_threads();
    for (int round = 1; round <= ROUNDS; round++) {
        within = 0;
        for (intptr_t i = 0; i < TASKS; i++)
            CHECK_EQ(sched_pool_submit(pool, task, (void *)(i + (round > 1))), 0);
        CHECK_EQ(sched_pool_wait(pool), 0);
        CHECK_EQ(ended, round * TASKS);
        /* A thread that is preempted between its section and its rest is not found by the next section, which starts
         * another one; and those of the inner run may still rest. A thread lost in each round would exceed this. */
        CHECK(count_threads() <= most + TASKS);
    }
    /* The workers' threads stay, also those whose workers have others. */
    struct patience p = patience_of(20);
    while (count_threads() > before + 2 * threads_of(2) && is_patient(&p))
        pause_us(10000);
    CHECK(count_threads() <= before + 2 * threads_of(2));
    CHECK_EQ(sched_pool_destroy(pool), 0);
    return 0;
}
