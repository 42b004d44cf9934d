/* Tasks of any number meet at a barrier, on any number of workers; one of them is told so. Each sees what
 * the others did before.
 * ctest: static debug
 * ctest: matrix refuse args=20,20
 * ctest: matrix idle=park threads=1,4 args=100,1000
 * ctest: matrix idle=park args=20,20 join=help */
#include "sync.h"

static int tasks, rounds;
static atomic_int *steps;
static sched_barrier all;
static atomic_int chosen, ended;

static void walks(void *closure, struct scheduler *s)
{
    long me = (long)closure;
    for (int i = 0; i < rounds; i++) {
        steps[me] = i + 1;
        int rc = sched_barrier_wait(&all, s);
        CHECK(rc == 0 || rc == 1);
        chosen += rc;
        int other = (int)((me + i + 1) % tasks);
        CHECK(steps[other] >= i + 1 && steps[other] <= i + 2);
        if (i % 2 == 0)
            CHECK(sched_barrier_wait(&all, s) >= 0);
    }
    ended++;
}

static void root(void *closure, struct scheduler *s)
{
    spawn_all(tasks, walks, s);
}

int main(int argc, char **argv)
{
    tasks = argc > 1 ? atoi(argv[1]) : 20;
    rounds = argc > 2 ? atoi(argv[2]) / SMALLER : 20;
    steps = calloc((size_t)tasks, sizeof *steps);
    CHECK(steps != NULL);
    CHECK_EQ(sched_barrier_init(&all, (size_t)tasks), 0);
    run(4, root);
    CHECK_EQ(ended, tasks);
    CHECK_EQ(chosen, rounds);
    free(steps);
    return 0;
}
