/* Several tasks and threads that wait for one group all sleep until it is over: the process has hardly any
 * context switches meanwhile.
 * ctest: sleeps
 * ctest: matrix kind=lifo,fifo,steal,cont deque=mutex,split idle=park threads=2,4 join=suspend
 * ctest: matrix kind=lifo,fifo,steal,cont deque=mutex,split idle=park threads=4 join=help */
#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { WAITERS = 4, MS = 300, MOST = 200 };

static sched_group g = SCHED_GROUP_INIT;
static struct scheduler *run;
static atomic_int ended, through, waiting;

static long switches(void)
{
    struct rusage used;
    CHECK_EQ(getrusage(RUSAGE_SELF, &used), 0);
    return used.ru_nvcsw;
}

/* Looks when the others have come to wait. */
static void slow(void *closure, struct scheduler *s)
{
    while (waiting < 2 * WAITERS + 1)
        pause_us(1000);
    pause_us(20000); /* and they fall asleep */
    long before = switches();
    pause_us(MS * 1000L);
    long in_between = switches() - before;
    if (in_between > MOST)
        fprintf(stderr, "%ld context switches in %d ms, %d were waiting\n", in_between, MS, waiting);
    CHECK(in_between <= MOST);
    ended = 1;
}

static void waits(struct scheduler *s)
{
    waiting++;
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(ended, 1);
    through++;
}

static void task(void *closure, struct scheduler *s)
{
    waits(s);
}

static void *thread(void *arg)
{
    waits(run);
    return NULL;
}

static void root(void *closure, struct scheduler *s)
{
    pthread_t threads[WAITERS];
    run = s;
    CHECK_EQ(sched_group_spawn(&g, slow, NULL, s), 0);
    for (int i = 0; i < WAITERS; i++)
        CHECK_EQ(sched_spawn(task, NULL, s), 0);
    for (int i = 0; i < WAITERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, thread, NULL), 0);
    waits(s);
    for (int i = 0; i < WAITERS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

int main(void)
{
    CHECK_EQ(sched_init(2, 10, root, NULL), 0);
    CHECK_EQ(through, 2 * WAITERS + 1);
    return 0;
}
