/* Kind cont: a child that has waited returns to its spawner at a later spawn, from the same place: the spawner
 * has the rounding mode of that spawn.
 * ctest: debug libs=m
 * ctest: matrix kind=cont threads=1,4 */
#include "check.h"
#include <fenv.h>
#include <sched_tasks.h>

enum { ROUNDS = 200 };

static sched_sem free_units;
static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};

/* In turn a child waits, and the next lets it go on: before its spawner. */
static void child(void *closure, struct scheduler *s)
{
    CHECK_EQ(fegetround(), FE_TONEAREST);
    if ((long)closure % 2 == 0)
        CHECK_EQ(sched_sem_wait(&free_units, s), 0);
    else
        CHECK_EQ(sched_sem_post(&free_units), 0);
    CHECK_EQ(fegetround(), FE_TONEAREST);
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

int main(void)
{
    CHECK_EQ(sched_sem_init(&free_units, 0), 0);
    CHECK_EQ(sched_init(1, 4, root, NULL), 0);
    return 0;
}
