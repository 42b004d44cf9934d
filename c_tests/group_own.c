/* A task that waits for a group may run the group's tasks on its own stack. They may wait themselves, also for tasks
 * that were spawned after them, nest deep, add tasks, and use most of a small stack; tasks that are not of the group run,
 * too.
 * ctest: static debug
 * ctest: matrix
 * ctest: matrix deque=split,mutex,chaselev idle=park threads=1,2 env=SCHED_STACK=64k
 * ctest: matrix deque=split,mutex idle=park threads=1,2 join=help */
#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { DEPTH = 80, BUSY_BYTES = 44 << 10, MANY = 1000 };

static int helps; /* SCHED_JOIN=help: any task may run on the stack of any other */
static atomic_int ran, others;
static sched_sem gate;

/* Uses most of a stack of 64 KiB. */
static void busy(void *closure, struct scheduler *s)
{
    volatile char room[BUSY_BYTES];
    (void)closure;
    (void)s;
    for (size_t i = 0; i < sizeof room; i += 1024)
        room[i] = (char)i;
    CHECK_EQ(room[4096], 0);
    atomic_fetch_add(&ran, 1);
}

static void leaf(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
    atomic_fetch_add(&ran, 1);
}

static void other(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
    atomic_fetch_add(&others, 1);
}

static void opens(void *closure, struct scheduler *s)
{
    (void)s;
    for (long i = 0; i < (long)closure; i++)
        CHECK_EQ(sched_sem_post(&gate), 0);
}

static void waits(void *closure, struct scheduler *s)
{
    (void)closure;
    CHECK_EQ(sched_sem_wait(&gate, s), 0);
    atomic_fetch_add(&ran, 1);
}

/* A group in a group in a group. */
static void nests(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    long depth = (long)closure;
    if (depth > 0) {
        CHECK_EQ(sched_group_spawn(&g, nests, (void *)(depth - 1), s), 0);
        CHECK_EQ(sched_group_spawn(&g, busy, NULL, s), 0);
    }
    CHECK_EQ(sched_group_wait(&g, s), 0);
    atomic_fetch_add(&ran, 1);
}

static sched_group grown;

/* Adds tasks to the group of which it is one. */
static void grows(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    if (left > 0)
        CHECK_EQ(sched_group_spawn(&grown, grows, (void *)(left - 1), s), 0);
    atomic_fetch_add(&ran, 1);
}

static void expect(int tasks)
{
    CHECK_EQ(ran, tasks);
    ran = 0;
}

static void first(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    (void)closure;

    for (int i = 0; i < 15; i++)
        CHECK_EQ(sched_group_spawn(&g, busy, NULL, s), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    expect(15);

    /* The waiter runs some tasks itself, and its worker's loop the rest. */
    for (int i = 0; i < MANY; i++)
        CHECK_EQ(sched_group_spawn(&g, leaf, NULL, s), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    expect(MANY);

    /* Tasks of the group that wait for one that is not of the group: which is older, which is younger than they, and
     * which lies between them. */
    for (int place = 0; place <= 8; place += 4) {
        for (int i = 0; i < 8; i++) {
            if (i == place)
                CHECK_EQ(sched_spawn(opens, (void *)8L, s), 0);
            CHECK_EQ(sched_group_spawn(&g, waits, NULL, s), 0);
        }
        if (place == 8)
            CHECK_EQ(sched_spawn(opens, (void *)8L, s), 0);
        CHECK_EQ(sched_group_wait(&g, s), 0);
        expect(8);
    }

    /* Tasks of two groups in turn, and tasks of none. */
    sched_group h = SCHED_GROUP_INIT;
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(sched_group_spawn(i % 2 ? &g : &h, leaf, NULL, s), 0);
        CHECK_EQ(sched_spawn(other, NULL, s), 0);
        CHECK_EQ(sched_group_spawn_copy(i % 3 ? &g : &h, leaf, &i, sizeof i, s), 0);
    }
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(sched_group_wait(&h, s), 0);
    expect(100);

    if (!helps) {
        nests((void *)(long)DEPTH, s);
        expect(2 * DEPTH + 1);
    }

    CHECK_EQ(sched_group_spawn(&grown, grows, (void *)(long)MANY, s), 0);
    CHECK_EQ(sched_group_wait(&grown, s), 0);
    expect(MANY + 1);

    /* A cancelled group's tasks do not run, wherever they are. */
    for (int i = 0; i < 15; i++)
        CHECK_EQ(sched_group_spawn(&g, waits, NULL, s), 0);
    sched_group_cancel(&g);
    for (int i = 0; i < 15; i++)
        CHECK_EQ(sched_sem_post(&gate), 0);
    CHECK_ERRNO(sched_group_wait(&g, s), ECANCELED);
    CHECK(ran <= 15);
}

int main(void)
{
    const char *join = getenv("SCHED_JOIN");
    helps = join != NULL && strcmp(join, "help") == 0;
    CHECK_EQ(sched_sem_init(&gate, 0), 0);
    CHECK_EQ(sched_init(0, 0, first, NULL), 0);
    CHECK_EQ(others, 50);
    return 0;
}
