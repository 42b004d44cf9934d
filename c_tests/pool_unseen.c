/* A pool that cannot be made is seen by nobody: its memory is freed, and the watchdog, which looks at all runs, does not
 * come to it any more. Here free overwrites the memory and takes its time.
 * ctest: */
#define _GNU_SOURCE
#include "pool.h"
#include <dlfcn.h>
#include <malloc.h>

enum { REFUSED = 40, FREE_US = 1000 };

extern void __libc_free(void *);
static _Thread_local int no_thread;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*begin)(void *), void *arg)
{
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    return no_thread ? EAGAIN : next(thread, attributes, begin, arg);
}

void free(void *memory)
{
    int before = errno;
    if (memory && no_thread) {
        memset(memory, 0xA5, malloc_usable_size(memory));
        pause_us(FREE_US);
    }
    __libc_free(memory);
    errno = before;
}

static sched_sem sem = SCHED_SEM_INIT(0);

static void waits(void *unused, struct scheduler *s)
{
    CHECK_EQ(sched_sem_wait(&sem, s), 0);
}

int main(void)
{
    setenv("SCHED_WATCHDOG", "5ms", 1);
    setenv("SCHED_WARM", "0", 1);
    struct sched_pool *pool = pool_of(2);
    CHECK_EQ(sched_pool_submit(pool, waits, NULL), 0);
    for (int i = 0; i < REFUSED; i++) {
        no_thread = 1;
        struct sched_pool *refused = sched_pool_create(NULL);
        int error = errno;
        no_thread = 0;
        CHECK(refused == NULL);
        CHECK_EQ(error, EAGAIN);
    }
    CHECK_EQ(sched_sem_post(&sem), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    return 0;
}
