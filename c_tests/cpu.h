/* cpu.h: the processor time of an idle process. */
#ifndef CPU_H
#define CPU_H

#include "check.h"

static inline double cpu(void)
{
    struct rusage use;
    CHECK_EQ(getrusage(RUSAGE_SELF, &use), 0);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec)
           + 1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

/* Sleeps for `us` microseconds, in which the process must use less than the share `most` of a processor. A busy machine
 * can only add to the measured time, by cold caches and by clock ticks of other processes; so there are ten attempts. */
static inline void check_use(long us, double most)
{
    double used = 1;
    for (int i = 0; i < 10 && used >= most; i++) {
        double cpu0 = cpu(), t0 = now();
        pause_us(us);
        used = (cpu() - cpu0) / (now() - t0);
    }
    if (used >= most) {
        char text[80];
        snprintf(text, sizeof text, "%.2f %% of a processor used while idle\n", 100 * used);
        check_say(text);
        _exit(1);
    }
}

static inline void check_idle(void)
{
    check_use(2000000, 0.005);
}

#endif
