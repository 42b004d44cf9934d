/* What a task has in registers is its own, whoever goes on with it after a spawn: its child, another child that has
 * waited, or a thief.
 * ctest: static debug libs=m
 * ctest: matrix
 * ctest: matrix deque=split idle=park join=help */
#include "check.h"
#include "modes.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { ROUNDS = 400 / SMALLER, ROOTS = 3 };

/* Six values that live across calls, where a compiler has registers for such, and a copy in memory. */
struct kept {
    uint64_t a, b, c, d, e, f;
};

/* Nothing is known of them from here on. */
#define FORGET(k)                                                                                \
    __asm__ volatile("" : "+r"((k).a), "+r"((k).b), "+r"((k).c), "+r"((k).d), "+r"((k).e), "+r"((k).f))

static atomic_long ended;
static sched_sem free_units;
static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};

static struct kept values(uint64_t seed)
{
    return (struct kept){seed, seed * 3, seed * 5, seed * 7, seed * 11, seed * 13};
}

static void check(struct kept k, uint64_t seed)
{
    CHECK_EQ(k.a, seed);
    CHECK_EQ(k.b, seed * 3);
    CHECK_EQ(k.c, seed * 5);
    CHECK_EQ(k.d, seed * 7);
    CHECK_EQ(k.e, seed * 11);
    CHECK_EQ(k.f, seed * 13);
}

static void leaf(void *closure, struct scheduler *s)
{
    struct kept k = values((uintptr_t)closure);
    FORGET(k);
    sched_worker_index(s);
    FORGET(k);
    check(k, (uintptr_t)closure);
    ended++;
}

/* In turn a child waits, one spawns, one lets that which waits go on, and one gives way. */
static void child(void *closure, struct scheduler *s)
{
    volatile uint64_t seed = (uintptr_t)closure;
    struct kept k = values(seed);
    FORGET(k);
    if (seed % 4 == 0)
        CHECK_EQ(sched_sem_wait(&free_units, s), 0);
    else if (seed % 4 == 1)
        CHECK_EQ(sched_spawn(leaf, (void *)(uintptr_t)(seed + 1000000), s), 0);
    else if (seed % 4 == 2)
        CHECK_EQ(sched_sem_post(&free_units), 0);
    else
        sched_task_yield(s);
    FORGET(k);
    check(k, seed);
    ended++;
}

static void root(void *closure, struct scheduler *s)
{
    volatile uint64_t base = (uintptr_t)closure;
    for (volatile uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t seed = base + round;
        struct kept k = values(seed);
        int tuned = round % 3 == 2;
        if (tuned)
            CHECK_EQ(fesetround(modes[seed % 4]), 0);
        FORGET(k);
        CHECK_EQ(sched_spawn(child, (void *)(uintptr_t)seed, s), 0);
        FORGET(k);
        check(k, base + round);
        CHECK_EQ(mode_now(), tuned ? modes[k.a % 4] : FE_TONEAREST);
        CHECK_EQ(fesetround(FE_TONEAREST), 0);
    }
    ended++;
}

static void first(void *closure, struct scheduler *s)
{
    for (uintptr_t i = 0; i < ROOTS; i++)
        CHECK_EQ(sched_spawn(root, (void *)(i * 4 * ROUNDS), s), 0);
}

int main(void)
{
    CHECK_EQ(sched_sem_init(&free_units, 0), 0);
    CHECK_EQ(sched_init(4, 4, first, NULL), 0);
    CHECK_EQ(ended, ROOTS * (1 + ROUNDS + ROUNDS / 4));
    return 0;
}
