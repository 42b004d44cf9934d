/* A thread of the library that ends when its time is up joins the one that has ended before it. A process that exits in
 * that moment lets it do so: tools report a thread that has ended and was not joined.
 * ctest: matrix kind=steal deque=split idle=park threads=4 env=SCHED_WARM=5ms */
#include "check.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int begun, over;

/* The library's join, a slow one. */
int pthread_join(pthread_t thread, void **result)
{
    int (*join)(pthread_t, void **);
    *(void **)&join = dlsym(RTLD_NEXT, "pthread_join");
    begun++;
    pause_us(2000);
    int error = join(thread, result);
    over++;
    return error;
}

static void look(void)
{
    if (over != begun)
        _exit(3);
}

static void leaf(void *closure, struct scheduler *s)
{
    pause_us(100);
}

static void root(void *closure, struct scheduler *s)
{
    CHECK_TIMES(100, sched_spawn(leaf, NULL, s));
}

int main(void)
{
    CHECK_EQ(atexit(look), 0); /* called after the library's */
    CHECK_EQ(sched_init(4, 100, root, NULL), 0);
    while (begun == 0)
        pause_us(100);
    exit(0);
}
