/* SCHED_OVERFLOW=refuse: a fork that finds no room runs the child at once, also where a thread forks that is no worker,
 * one in a blocking section among them; the statistics count each child once.
 * ctest: debug
 * ctest: matrix overflow=refuse threads=1,2 */
#include "block.h"

enum { FORKS = 40, QLEN = 2 };

static struct scheduler *run_of;
static atomic_int ran;

static void child(void *closure, struct scheduler *s)
{
    CHECK(closure == NULL);
    ran++;
}

static void forks(struct scheduler *s)
{
    sched_task tasks[FORKS];
    for (int i = 0; i < FORKS; i++)
        sched_fork(&tasks[i], child, NULL, s);
    for (int i = FORKS; i-- > 0;)
        sched_join(&tasks[i], s);
}

static void *thread(void *arg)
{
    forks(run_of);
    return arg;
}

static void root(void *closure, struct scheduler *s)
{
    pthread_t other;
    run_of = s;
    forks(s);
    begin(s);
    if (!kind_is("serial")) /* where nobody else is there to run what is queued */
        forks(s);
    CHECK_EQ(pthread_create(&other, NULL, thread, NULL), 0);
    if (!kind_is("serial"))
        CHECK_EQ(pthread_join(other, NULL), 0);
    end(s);
    while (kind_is("serial") && pthread_tryjoin_np(other, NULL) != 0)
        sched_task_yield(s);
}

int main(void)
{
    struct sched_stats stats;
    CHECK_EQ(sched_init(2, QLEN, root, NULL), 0);
    CHECK_EQ(ran, FORKS * (kind_is("serial") ? 2 : 3));
    CHECK_EQ(sched_last_stats(&stats, sizeof stats), 0);
    CHECK_EQ(stats.tasks, ran + 1);
    return 0;
}
