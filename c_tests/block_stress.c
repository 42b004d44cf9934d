/* Random trees of tasks that block in sections for 0 to 100 us, wait for each other, yield and start runs, all
 * at once: each runs once, with its own variables.
 * ctest: static debug
 * ctest: matrix deque=mutex,split,ring idle=park,spin
 * ctest: matrix deque=mutex,split threads=1,2,4 join=help
 * ctest: matrix deque=mutex,split idle=park threads=2,4 env=SCHED_WARM=0
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
#include "block.h"
#include "marks.h"

enum { TASKS = 400 / SMALLER, RUNS = 3 };

static atomic_long next_mark;

static void node(void *closure, struct scheduler *s);

static void child(void *closure, struct scheduler *s)
{
    int *sum = closure; /* of several tasks, in a run within */
    block(__atomic_load_n(sum, __ATOMIC_RELAXED) % 100, s);
    sched_task_yield(s);
    __atomic_fetch_add(sum, 1, __ATOMIC_RELAXED);
}

static void in_a_run(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 3; i++)
        CHECK_EQ(sched_spawn(child, closure, s), 0);
}

/* Some of the things, by the bits of what. */
APART void some(uint64_t what, struct scheduler *s)
{
    int sum = (int)(what % 97), before = sum;
    uint64_t x = what | 1, again = x, check = 0;
    check += next_random(&x);
    if (what & 1)
        block((long)(what >> 8) % 100, s);
    if (what & 2) {
        sched_task t;
        sched_fork(&t, child, &sum, s);
        if (what & 4)
            block((long)(what >> 16) % 50, s);
        if (what & 8) {
            begin(s);
            sched_join(&t, s);
            end(s);
        } else {
            sched_join(&t, s);
        }
        CHECK_EQ(sum, before + 1);
    }
    if (what & 16)
        sched_task_yield(s);
    if ((what & 0xe0) == 0xe0) {
        int sums = 0;
        sched_group g = SCHED_GROUP_INIT;
        CHECK_EQ(sched_group_spawn(&g, child, &sums, s), 0);
        begin(s);
        block(10, s);
        CHECK_EQ(sched_group_wait(&g, s), 0);
        end(s);
        CHECK_EQ(sums, 1);
    }
    if ((what & 0xfe0) == 0) {
        int sums[1] = {0};
        begin(s);
        CHECK_EQ(sched_init(1, 4, in_a_run, sums), 0);
        end(s);
        CHECK_EQ(sums[0], 3);
    }
    check -= next_random(&again);
    CHECK_EQ(check, 0);
}

static void node(void *closure, struct scheduler *s)
{
    long me = (long)closure;
    uint64_t x = (uint64_t)me * 2654435769u + 1;
    mark(me);
    for (int i = 0; i < 2; i++) {
        long next = atomic_fetch_add(&next_mark, 1);
        if (next < TASKS)
            CHECK_EQ(sched_spawn(node, (void *)next, s), 0);
        some(next_random(&x), s);
    }
}

int main(void)
{
    for (int i = 0; i < RUNS; i++) {
        next_mark = 1;
        CHECK_EQ(sched_init(2, 4, node, (void *)0), 0);
        check_marks(TASKS);
    }
    return 0;
}
