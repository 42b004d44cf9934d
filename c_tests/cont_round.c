/* Kind cont: a child begins with its spawner's rounding mode, as if it were called, or with the run's. It keeps what it
 * has begun with, and so does its spawner, which goes on after it, or elsewhere. Where the two part, whatever runs
 * next in the child's place has the run's.
 * ctest: debug libs=m
 * ctest: matrix kind=cont threads=1,4 */
#include "check.h"
#include <fenv.h>
#include <sched_tasks.h>
#include <stdatomic.h>

enum { ROUNDS = 200, PARTINGS = 100 };

static sched_sem free_units;
static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};

/* In turn a child waits, and the next lets it go on: before its spawner. */
static void child(void *closure, struct scheduler *s)
{
    long round = (long)closure;
    int mode = fegetround();
    CHECK(mode == modes[round % 4] || mode == FE_TONEAREST);
    if (round % 2 == 0)
        CHECK_EQ(sched_sem_wait(&free_units, s), 0);
    else
        CHECK_EQ(sched_sem_post(&free_units), 0);
    CHECK_EQ(fegetround(), mode);
}

static void root(void *closure, struct scheduler *s)
{
    (void)closure;
    for (long round = 0; round < ROUNDS; round++) {
        int mode = modes[round % 4];
        CHECK_EQ(fesetround(mode), 0);
        CHECK_EQ(sched_spawn(child, (void *)round, s), 0);
        CHECK_EQ(fegetround(), mode);
    }
    CHECK_EQ(fesetround(FE_TONEAREST), 0);
}

/* Lasts until its spawner has gone on beside it. */
static void last_longer(void *closure, struct scheduler *s)
{
    int mode = fegetround();
    CHECK(mode == FE_UPWARD || mode == FE_TONEAREST);
    while (!atomic_load((atomic_int *)closure))
        sched_task_yield(s);
    CHECK_EQ(fegetround(), mode);
}

static void part(void *closure, struct scheduler *s)
{
    CHECK_EQ(fegetround(), FE_TONEAREST);
    CHECK_EQ(fesetround(FE_UPWARD), 0);
    CHECK_EQ(sched_spawn(last_longer, closure, s), 0);
    CHECK_EQ(fegetround(), FE_UPWARD);
    CHECK_EQ(fesetround(FE_TONEAREST), 0);
    atomic_store((atomic_int *)closure, 1);
}

static void partings(void *closure, struct scheduler *s)
{
    atomic_int *parted = closure;
    for (int i = 0; i < PARTINGS; i++)
        CHECK_EQ(sched_spawn(part, &parted[i], s), 0);
}

int main(void)
{
    CHECK_EQ(sched_sem_init(&free_units, 0), 0);
    CHECK_EQ(sched_init(1, 4, root, NULL), 0);
    atomic_int parted[PARTINGS] = {0};
    CHECK_EQ(sched_init(0, 4, partings, parted), 0);
    return 0;
}
