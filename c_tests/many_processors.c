/* Where the library believes in more processors than there are, all workers may search at once, and none seems to be
 * one too many. Nothing is lost: it is told of 64 processors, however many there are.
 * ctest: matrix with=deques deque=split,chaselev idle=park threads=3
 * ctest: matrix kind=steal deque=split,mutex idle=park threads=4,16
 * ctest: matrix kind=steal deque=split,ring idle=park threads=3 join=help */
#include "check.h"
#include <dlfcn.h>
#include <sched_tasks.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 600 / SMALLER, UNITS = 48, DEPTH = 5, MEMBERS = 12 };

/* Replaces libc's function. */
long syscall(long number, ...)
{
    static long (*real)(long, ...);
    long a[6];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(rest, long);
    va_end(rest);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    long result = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (number == SYS_sched_getaffinity && result > 0) {
        *(unsigned long *)a[2] = ~0ul;
        result = result < 8 ? 8 : result;
    }
    return result;
}

static atomic_long done;

static void units(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    volatile int turn;
    for (size_t i = lo; i < hi; i++)
        for (turn = 0; turn < 1500; turn++)
            ;
    atomic_fetch_add(&done, (long)(hi - lo));
}

static void add_units(size_t lo, size_t hi, void *into, void *ctx, struct scheduler *s)
{
    units(lo, hi, ctx, s);
    *(long *)into += (long)(hi - lo);
}

static void add(void *into, const void *from, void *ctx)
{
    *(long *)into += *(const long *)from;
}

static void tree(void *depth, struct scheduler *s)
{
    intptr_t left = (intptr_t)depth;
    units(0, 1, NULL, s);
    if (left == 0)
        return;
    sched_task other;
    sched_fork(&other, tree, (void *)(left - 1), s);
    tree((void *)(left - 1), s);
    sched_join(&other, s);
}

static void member(void *closure, struct scheduler *s)
{
    units(0, 2, NULL, s);
}

static int workers;
static atomic_int met;

/* Ends when each worker has one. */
static void meet(void *closure, struct scheduler *s)
{
    met++;
    while (met < workers)
        sched_yield();
}

static void rounds(void *closure, struct scheduler *s)
{
    for (int round = 0; round < ROUNDS; round++) {
        done = 0;
        CHECK_EQ(sched_for(0, UNITS, 0, units, NULL, s), 0);
        CHECK_EQ(done, UNITS);
        tree((void *)(intptr_t)DEPTH, s);
        CHECK_EQ(done, UNITS + (1 << (DEPTH + 1)) - 1);
        done = 0;
        sched_group group = SCHED_GROUP_INIT;
        CHECK_TIMES(MEMBERS, sched_group_spawn(&group, member, NULL, s));
        CHECK_EQ(sched_group_wait(&group, s), 0);
        CHECK_EQ(done, 2 * MEMBERS);
        met = 0;
        CHECK_TIMES(workers, sched_group_spawn(&group, meet, NULL, s));
        CHECK_EQ(sched_group_wait(&group, s), 0);
        CHECK_EQ(met, workers);
        long none = 0, sum = 0;
        CHECK_EQ(sched_reduce(0, UNITS, 0, sizeof none, &none, add_units, add, NULL, &sum, s), 0);
        CHECK_EQ(sum, UNITS);
        /* Longer than workers wait awake, now and then: some sleep when the next round begins. */
        if (round % 16 == 0)
            pause_us(300);
    }
}

int main(void)
{
    workers = atoi(getenv("SCHED_THREADS"));
    CHECK_TIMES(3, sched_init(0, 64, rounds, NULL));
    return 0;
}
