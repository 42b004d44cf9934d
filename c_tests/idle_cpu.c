/* Idle workers that park cost next to nothing: while the only task sleeps, the process
 * uses less than a tenth of a processor.
 * ctest: matrix kind=lifo,fifo,steal idle=park threads=4 */
#include "check.h"

static double cpu(void)
{
    struct rusage use;
    CHECK_EQ(getrusage(RUSAGE_SELF, &use), 0);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec)
           + 1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static void root(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
    pause_us(20000); /* the threads start, look around and go to sleep */
    double cpu0 = cpu(), t0 = now();
    pause_us(300000);
    double used = (cpu() - cpu0) / (now() - t0);
    if (used >= 0.10) {
        char text[80];
        snprintf(text, sizeof text, "%.0f %% of a processor used while idle\n", 100 * used);
        check_say(text);
        _exit(1);
    }
}

int main(void)
{
    CHECK_EQ(sched_init(4, 4, root, NULL), 0);
    return 0;
}
