/* Kind cont: a child that computes without touching the scheduler keeps its worker, and the spawner goes on
 * in another, which may have slept; also where membarrier is denied.
 * ctest: matrix kind=cont threads=2,4
 * ctest: matrix kind=cont threads=2 args=fenced */
#include "fenced.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { ROUNDS = 30 };

static atomic_int went_on, ran;

static void computes(void *closure, struct scheduler *s)
{
    int round = (int)(long)closure;
    /* No system call here, as in a loop that computes: the kernel shares the processors. */
    for (struct patience p = patience_of(20); went_on < round;)
        if (!is_patient(&p)) {
            check_say("nobody went on with the spawner\n");
            _exit(1);
        }
    atomic_fetch_add(&ran, 1);
}

static void root(void *closure, struct scheduler *s)
{
    for (long round = 1; round <= ROUNDS; round++) {
        sched_task t;
        if (round % 2)
            CHECK_EQ(sched_spawn(computes, (void *)round, s), 0);
        else
            sched_fork(&t, computes, (void *)round, s);
        went_on = (int)round;
        if (round % 2 == 0)
            sched_join(&t, s);
        if (round % 5 == 0) /* the others go to sleep meanwhile */
            pause_us(3000);
    }
}

static void run(void)
{
    CHECK_EQ(sched_init(2, 4, root, NULL), 0);
    CHECK_EQ(ran, ROUNDS);
}

int main(int argc, char **argv)
{
    run_or_run_fenced(run, argc);
    return 0;
}
