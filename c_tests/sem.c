/* A semaphore of K lets K in at a time; units that nobody waits for are kept; one that is freed by who
 * has passed it is not touched any more.
 * ctest: static debug
 * ctest: matrix refuse
 * ctest: matrix idle=park join=help
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
#include "sync.h"

enum { TASKS = 16, ROUNDS = 20, K = 3, FREED = 60 };

static sched_sem sem = SCHED_SEM_INIT(K), done;
static atomic_int inside;

APART void is_empty(sched_sem *empty)
{
    CHECK_ERRNO(sched_sem_trywait(empty), EAGAIN);
}

static void enters(void *closure, struct scheduler *s)
{
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQ(sched_sem_wait(&sem, s), 0);
        int now_in = atomic_fetch_add(&inside, 1) + 1;
        CHECK(now_in <= K);
        sched_task_yield(s);
        inside--;
        CHECK_EQ(sched_sem_post(&sem), 0);
    }
    CHECK_EQ(sched_sem_post(&done), 0);
}

static void posts(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_post(closure), 0);
}

static void root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_init(&done, 0), 0);
    spawn_all(TASKS, enters, s);
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_sem_wait(&done, s), 0);
    is_empty(&done);
    for (int i = 0; i < K; i++)
        CHECK_EQ(sched_sem_trywait(&sem), 0);
    is_empty(&sem);
    for (int i = 0; i < FREED; i++) {
        sched_sem *own = malloc(sizeof *own);
        CHECK(own != NULL);
        CHECK_EQ(sched_sem_init(own, 0), 0);
        CHECK_EQ(sched_spawn(posts, own, s), 0);
        CHECK_EQ(sched_sem_wait(own, s), 0);
        memset(own, 0xff, sizeof *own);
        free(own);
    }
}

int main(void)
{
    run(4, root);
    CHECK_EQ(inside, 0);
    return 0;
}
