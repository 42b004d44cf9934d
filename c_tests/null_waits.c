/* What waits, yields or asks for the caller's worker makes no default pool where NULL is given for s: a process
 * without tasks has no thread but its own.
 * ctest: static debug
 * ctest: matrix deque=split idle=park threads=4 */
#include "null.h"
#include "proc.h"

static sched_mutex m = SCHED_MUTEX_INIT;
static sched_sem sem = SCHED_SEM_INIT(1);
static sched_barrier barrier = SCHED_BARRIER_INIT(2);
static sched_group g = SCHED_GROUP_INIT;

static void *other(void *closure)
{
    CHECK_EQ(sched_mutex_lock(&m, NULL), 0); /* contended */
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    CHECK(sched_barrier_wait(&barrier, NULL) >= 0);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    CHECK_EQ(sched_mutex_lock(&m, NULL), 0);
    CHECK_EQ(pthread_create(&thread, NULL, other, NULL), 0);
    pause_us(2000);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    CHECK(sched_barrier_wait(&barrier, NULL) >= 0);
    pthread_join(thread, NULL);
    CHECK_EQ(sched_sem_wait(&sem, NULL), 0);
    CHECK_EQ(sched_group_wait(&g, NULL), 0);
    sched_task_yield(NULL);
    CHECK_EQ(sched_block_begin(NULL), 0);
    CHECK_EQ(sched_block_end(NULL), 0);
    CHECK_ERRNO(sched_worker_index(NULL), EINVAL);
    CHECK(threads_become(1));
    null_works();
    CHECK(thread_count() > 1);
    return 0;
}
