/* Kind cont: a child begins with its spawner's rounding mode, as if it were called, or with the run's. The child keeps
 * the mode with which it began. The spawner, which goes on after the child or on another worker, keeps its own mode.
 * Where the two part, whatever runs next in the child's place has the run's mode.
 * ctest: debug libs=m
 * ctest: matrix kind=cont threads=1,4 */
#include "check.h"
#include "modes.h"
#include <pthread.h>
#include <sched_tasks.h>
#include <stdatomic.h>

enum { ROUNDS = 200, PARTINGS = 100, STRANGERS = 10, CHILDREN = 1000 };

static sched_sem free_units;
static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};

/* In turn a child waits, and the next lets it go on: before its spawner. */
static void child(void *closure, struct scheduler *s)
{
    long round = (long)closure;
    int mode = mode_now();
    CHECK(mode == modes[round % 4] || mode == FE_TONEAREST);
    if (round % 2 == 0)
        CHECK_EQ(sched_sem_wait(&free_units, s), 0);
    else
        CHECK_EQ(sched_sem_post(&free_units), 0);
    CHECK_EQ(mode_now(), mode);
}

static void root(void *closure, struct scheduler *s)
{
    for (long round = 0; round < ROUNDS; round++) {
        int mode = modes[round % 4];
        CHECK_EQ(fesetround(mode), 0);
        CHECK_EQ(sched_spawn(child, (void *)round, s), 0);
        CHECK_EQ(mode_now(), mode);
    }
    CHECK_EQ(fesetround(FE_TONEAREST), 0);
}

/* Lasts until its spawner has gone on beside it. */
static void last_longer(void *closure, struct scheduler *s)
{
    int mode = mode_now();
    CHECK(mode == FE_UPWARD || mode == FE_TONEAREST);
    while (!atomic_load((atomic_int *)closure))
        sched_task_yield(s);
    CHECK_EQ(mode_now(), mode);
}

static void part(void *closure, struct scheduler *s)
{
    CHECK_EQ(mode_now(), FE_TONEAREST);
    CHECK_EQ(fesetround(FE_UPWARD), 0);
    CHECK_EQ(sched_spawn(last_longer, closure, s), 0);
    CHECK_EQ(mode_now(), FE_UPWARD);
    CHECK_EQ(fesetround(FE_TONEAREST), 0);
    atomic_store((atomic_int *)closure, 1);
}

static void partings(void *closure, struct scheduler *s)
{
    atomic_int *parted = closure;
    for (int i = 0; i < PARTINGS; i++)
        CHECK_EQ(sched_spawn(part, &parted[i], s), 0);
}

static void is_nearest(void *closure, struct scheduler *s)
{
    CHECK_EQ(mode_now(), FE_TONEAREST);
    atomic_fetch_add((atomic_int *)closure, 1);
}

static void nothing(void *closure, struct scheduler *s)
{
}

static atomic_int strangers;

static void *spawn_strangers(void *s)
{
    for (int i = 0; i < STRANGERS; i++)
        CHECK_EQ(sched_spawn(is_nearest, &strangers, s), 0);
    return NULL;
}

/* Tasks from outside come before a child, which is put off, from time to time. */
static void put_off(void *closure, struct scheduler *s)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, spawn_strangers, s), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(fesetround(FE_UPWARD), 0);
    for (int i = 0; i < CHILDREN; i++)
        CHECK_EQ(sched_spawn(nothing, NULL, s), 0);
    CHECK_EQ(mode_now(), FE_UPWARD);
    CHECK_EQ(fesetround(FE_TONEAREST), 0);
}

int main(void)
{
    CHECK_EQ(sched_sem_init(&free_units, 0), 0);
    CHECK_EQ(sched_init(1, 4, root, NULL), 0);
    atomic_int parted[PARTINGS] = {0};
    CHECK_EQ(sched_init(0, 4, partings, parted), 0);
    CHECK_EQ(sched_init(0, 4, put_off, NULL), 0);
    CHECK_EQ(strangers, STRANGERS);
    return 0;
}
