/* What mutex, condition, semaphore and barrier refuse.
 * ctest: static debug
 * ctest: matrix few idle=park threads=2 */
#include "sync.h"

static sched_mutex m = SCHED_MUTEX_INIT;
static sched_cond c = SCHED_COND_INIT;
static sched_sem sem = SCHED_SEM_INIT(1), full;
static sched_barrier one = SCHED_BARRIER_INIT(1), none, two = SCHED_BARRIER_INIT(2);
static struct scheduler *ended;

static void root(void *closure, struct scheduler *s)
{
    ended = s;
    CHECK_ERRNO(sched_mutex_lock(NULL, s), EINVAL);
    CHECK_ERRNO(sched_mutex_trylock(NULL), EINVAL);
    CHECK_ERRNO(sched_mutex_unlock(NULL), EINVAL);
    CHECK_ERRNO(sched_mutex_unlock(&m), EPERM);
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    CHECK_ERRNO(sched_mutex_trylock(&m), EBUSY);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    CHECK_ERRNO(sched_mutex_unlock(&m), EPERM);
    CHECK_EQ(sched_mutex_trylock(&m), 0);
    CHECK_EQ(sched_mutex_unlock(&m), 0);

    CHECK_ERRNO(sched_cond_wait(NULL, &m, s), EINVAL);
    CHECK_ERRNO(sched_cond_wait(&c, NULL, s), EINVAL);
    CHECK_ERRNO(sched_cond_wait(&c, &m, s), EPERM);
    CHECK_EQ(sched_cond_signal(&c), 0);
    CHECK_EQ(sched_cond_broadcast(&c), 0);
    CHECK_ERRNO(sched_cond_signal(NULL), EINVAL);
    CHECK_ERRNO(sched_cond_broadcast(NULL), EINVAL);

    CHECK_ERRNO(sched_sem_wait(NULL, s), EINVAL);
    CHECK_ERRNO(sched_sem_trywait(NULL), EINVAL);
    CHECK_ERRNO(sched_sem_post(NULL), EINVAL);
    CHECK_EQ(sched_sem_wait(&sem, s), 0);
    CHECK_ERRNO(sched_sem_trywait(&sem), EAGAIN);
    CHECK_ERRNO(sched_sem_init(&full, SIZE_MAX / 2 + 1), EINVAL);
    CHECK_EQ(sched_sem_init(&full, SIZE_MAX / 2), 0);
    CHECK_ERRNO(sched_sem_post(&full), EOVERFLOW);
    CHECK_EQ(sched_sem_wait(&full, s), 0);
    CHECK_EQ(sched_sem_post(&full), 0);

    CHECK_ERRNO(sched_barrier_wait(NULL, s), EINVAL);
    CHECK_ERRNO(sched_barrier_wait(&none, s), EINVAL);
    CHECK_EQ(sched_barrier_wait(&one, s), 1);
    CHECK_EQ(sched_barrier_wait(&one, s), 1);

    CHECK_ERRNO(sched_mutex_init(NULL), EINVAL);
    CHECK_ERRNO(sched_cond_init(NULL), EINVAL);
    CHECK_ERRNO(sched_sem_init(NULL, 1), EINVAL);
    CHECK_ERRNO(sched_barrier_init(NULL, 1), EINVAL);
    CHECK_ERRNO(sched_barrier_init(&one, 0), EINVAL);
}

int main(void)
{
    run(2, root);
    /* The run has ended: what need not wait is done, the rest refused, and nothing changed. */
    CHECK_EQ(sched_mutex_lock(&m, ended), 0);
    CHECK_ERRNO(sched_mutex_lock(&m, ended), EINVAL);
    CHECK_ERRNO(sched_cond_wait(&c, &m, ended), EINVAL);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    CHECK_ERRNO(sched_sem_wait(&sem, ended), EINVAL);
    CHECK_EQ(sched_sem_post(&sem), 0);
    CHECK_EQ(sched_sem_wait(&sem, ended), 0);
    CHECK_ERRNO(sched_barrier_wait(&two, ended), EINVAL);
    return 0;
}
