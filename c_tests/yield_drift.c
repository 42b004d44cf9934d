/* With one worker, tasks that yield in a loop keep step: never more than 10 turns apart, and one more for each
 * millisecond, in which tasks from outside may go before others once (policy::turns); whatever else is queued, and whether they are in the worker's own queue or come from outside; also (args: its room) where the
 * own queue has room for few of them.
 * ctest: static debug
 * ctest: matrix threads=1
 * ctest: matrix threads=1 deque=mutex,split idle=park join=help
 * ctest: matrix threads=1 deque=mutex,split idle=park env=SCHED_SEED=7
 * ctest: matrix threads=1 deque=mutex,split idle=park overflow=refuse
 * ctest: matrix threads=1 deque=mutex,split idle=park env=SCHED_STACK=64K
 * ctest: matrix threads=1 deque=queue,mutex,spin kind=steal idle=park overflow=one args=1
 * ctest: matrix threads=1 deque=queue,mutex,spin kind=steal idle=park overflow=half args=2
 * ctest: matrix threads=1 deque=queue,mutex,spin kind=steal idle=park overflow=half args=3
 * ctest: matrix threads=1 deque=queue,mutex,spin kind=steal idle=park overflow=half global=all args=1
 * ctest: matrix threads=1 deque=queue,ring kind=steal idle=park global=all
 * ctest: matrix threads=1 deque=queue,ring kind=steal idle=park join=help */
#include "check.h"
#include <pthread.h>
#include <sched_tasks.h>

enum { TURNS = 2000, APART = 10, MOST = 5 };

static int turns[MOST], tasks, strangers;
static int others, wanted; /* the latter: do all spawn others? */
static double begun;

static int most_apart(void)
{
    return APART + (int)(1000 * (now() - begun));
}

static void other(void *closure, struct scheduler *s)
{
    others++;
}

static void turn(void *closure, struct scheduler *s)
{
    int *mine = closure;
    while (*mine < TURNS) {
        ++*mine;
        for (int i = 0; i < tasks; i++)
            if (turns[i] < *mine - APART && turns[i] < *mine - most_apart())
                CHECK_EQ(turns[i], *mine);
        if (wanted)
            CHECK_EQ(sched_spawn(other, NULL, s), 0);
        sched_task_yield(s);
    }
}

static void *stranger(void *s)
{
    for (int i = tasks - strangers; i < tasks; i++)
        CHECK_EQ(sched_spawn(turn, &turns[i], s), 0);
    return NULL;
}

static void root(void *closure, struct scheduler *s)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, stranger, s), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    for (int i = 0; i < tasks - strangers; i++)
        CHECK_EQ(sched_spawn(turn, &turns[i], s), 0);
}

int main(int argc, char **argv)
{
    int qlen = argc > 1 ? atoi(argv[1]) : 2 * MOST;
    int with_others = argc == 1;
    for (tasks = 2; tasks <= MOST; tasks++)
        for (strangers = 0; strangers <= tasks; strangers++) {
            memset(turns, 0, sizeof turns);
            wanted = with_others && tasks == MOST;
            begun = now();
            CHECK_EQ(sched_init(1, qlen, root, NULL), 0);
            for (int i = 0; i < tasks; i++)
                CHECK_EQ(turns[i], TURNS);
        }
    CHECK_EQ(others, with_others * (MOST + 1) * MOST * TURNS);
    return 0;
}
