/* Idle workers that park cost next to nothing: when each has had a task, and then the only one
 * left sleeps for two seconds, the process uses less than 0.5 % of a processor.
 * ctest: matrix kind=steal deque=split,chaselev,mutex idle=park threads=8
 * ctest: matrix kind=steal deque=split idle=park threads=2,64
 * ctest: matrix kind=lifo,fifo deque=mutex idle=park threads=8 */
#include "check.h"
#include <stdatomic.h>

static atomic_int arrived;
static int workers;

static double cpu(void)
{
    struct rusage use;
    CHECK_EQ(getrusage(RUSAGE_SELF, &use), 0);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec)
           + 1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

/* Ends when every worker has one: a thread is only made when there is a task for it. */
static void guest(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
    atomic_fetch_add(&arrived, 1);
    while (arrived < workers)
        pause_us(200);
}

static void root(void *closure, struct scheduler *s)
{
    for (int i = 1; i < workers; i++)
        CHECK_EQ(sched_spawn(guest, NULL, s), 0);
    guest(closure, s);
    pause_us(100000); /* they look around and go to sleep */
    double cpu0 = cpu(), t0 = now();
    pause_us(2000000);
    double used = (cpu() - cpu0) / (now() - t0);
    if (used >= 0.005) {
        char text[80];
        snprintf(text, sizeof text, "%.2f %% of a processor used while idle\n", 100 * used);
        check_say(text);
        _exit(1);
    }
}

int main(void)
{
    workers = threads_of(4);
    CHECK_EQ(sched_init(4, 4, root, NULL), 0);
    return 0;
}
