/* A task that waits for the end of its loop or reduction runs parts of it that others have taken and not begun, on top
 * of itself. It must not run any other task there, since it may hold a lock that the other task wants: here each unit
 * of an outer loop holds the mutex while it runs an inner loop, whose units yield, wait for a task, and run loops of
 * their own.
 * ctest: debug matrix idle=park,spin threads=2,4 join=suspend
 * ctest: matrix few threads=1,16 join=suspend */
#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { ROUNDS = 240 / SMALLER, OUTER = 6, INNER = 16, INNERMOST = 4 };

static sched_mutex lock = SCHED_MUTEX_INIT;
static atomic_int units, innermost;
static int in_order; /* guarded by the lock */

static void turns(int n)
{
    for (volatile int turn = 0; turn < n; turn++)
        ;
}

static void innermost_body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    turns(200);
    innermost += (int)(hi - lo);
}

static void post(void *semaphore, struct scheduler *s)
{
    CHECK_EQ(sched_sem_post(semaphore), 0);
}

static void unit(size_t i, struct scheduler *s)
{
    turns(i > INNER / 2 ? 4000 : 500); /* thieves take the upper half, and are the last to end */
    switch (i % 8) {
    case 3:
        sched_task_yield(s);
        break;
    case 5:
        CHECK_EQ(sched_for(0, INNERMOST, 1, innermost_body, NULL, s), 0);
        break;
    case 7: {
        sched_sem semaphore;
        CHECK_EQ(sched_sem_init(&semaphore, 0), 0);
        CHECK_EQ(sched_spawn(post, &semaphore, s), 0);
        CHECK_EQ(sched_sem_wait(&semaphore, s), 0);
        break;
    }
    default:
        break;
    }
    units++;
}

static void inner_body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (size_t i = lo; i < hi; i++)
        unit(i, s);
}

static void inner_sum(size_t lo, size_t hi, void *sum, void *ctx, struct scheduler *s)
{
    for (size_t i = lo; i < hi; i++) {
        unit(i, s);
        *(size_t *)sum += i;
    }
}

static void add(void *into, const void *from, void *ctx)
{
    *(size_t *)into += *(const size_t *)from;
}

static void outer_body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (size_t i = lo; i < hi; i++) {
        CHECK_EQ(sched_mutex_lock(&lock, s), 0);
        const int before = in_order++;
        const size_t none = 0;
        size_t sum = none;
        switch (i % 3) {
        case 0:
            CHECK_EQ(sched_for(0, INNER, 0, inner_body, NULL, s), 0);
            break;
        case 1:
            CHECK_EQ(sched_reduce(0, INNER, 0, sizeof sum, &none, inner_sum, add, NULL, &sum, s), 0);
            CHECK_EQ(sum, (size_t)INNER * (INNER - 1) / 2);
            break;
        default:
            CHECK_EQ(sched_reduce_relaxed(0, INNER, 0, sizeof sum, &none, inner_sum, add, NULL, &sum, s), 0);
            CHECK_EQ(sum, (size_t)INNER * (INNER - 1) / 2);
        }
        CHECK_EQ(in_order, before + 1);
        CHECK_EQ(sched_mutex_unlock(&lock), 0);
    }
}

static void root(void *closure, struct scheduler *s)
{
    for (int round = 1; round <= ROUNDS; round++) {
        CHECK_EQ(sched_for(0, OUTER, 1, outer_body, NULL, s), 0);
        CHECK_EQ(in_order, round * OUTER);
        CHECK_EQ(units, round * OUTER * INNER);
        CHECK_EQ(innermost, round * OUTER * INNER / 8 * INNERMOST);
    }
}

int main(void)
{
    CHECK_EQ(sched_init(0, 64, root, NULL), 0);
    return 0;
}
