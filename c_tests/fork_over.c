/* A join whose child is over returns at once: it runs no other task first, which might take long, or
 * wait for the one that joins. So does a wait for a group without tasks.
 * ctest: debug
 * ctest: matrix kind=steal,lifo,fifo threads=2,4 */
#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { ROUNDS = 20 };

static atomic_int guests, leave, joined, ran;

/* Keeps its worker from looking for tasks. */
static void guest(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&guests, 1);
    while (!leave)
        pause_us(50);
}

/* The other worker that is left runs it, and is then busy with a guest from its own queue. */
static void child(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(guest, NULL, s), 0);
}

static void other(void *closure, struct scheduler *s)
{
    CHECK(joined);
    atomic_fetch_add(&ran, 1);
}

static void root(void *closure, struct scheduler *s)
{
    int workers = threads_of(4);
    sched_group g = SCHED_GROUP_INIT;
    sched_task t;
    guests = leave = joined = 0;
    for (int i = 0; i < workers - 2; i++)
        CHECK_EQ(sched_spawn(guest, NULL, s), 0);
    while (guests < workers - 2)
        pause_us(50);
    sched_fork(&t, child, NULL, s);
    while (guests < workers - 1)
        pause_us(50);
    /* Now all others are busy. The child has returned, since it was its guest's spawner; its end is
     * noted before that worker takes another task. */
    CHECK_EQ(sched_spawn(other, NULL, s), 0);
    CHECK_EQ(sched_spawn(other, NULL, s), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    sched_join(&t, s);
    joined = 1;
    leave = 1;
}

int main(void)
{
    for (int round = 1; round <= ROUNDS; round++) {
        CHECK_EQ(sched_init(4, 10, root, NULL), 0);
        CHECK_EQ(ran, 2 * round);
    }
    return 0;
}
