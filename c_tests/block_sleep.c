/* 64 tasks that each sleep in a blocking section are all in their sections at the same time, and end together, while a task
 * beside them computes and keeps its processor. (Of several attempts one must show the latter, and that all end in less
 * than half of the 6.4 s that they would sleep one after the other: others use the machine, too.)
 * ctest: matrix deque=mutex,split idle=park,nap threads=1,2,4
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
#include "block.h"

enum { TASKS = 64, MS = 100, ATTEMPTS = 30 };

static atomic_int within, ended;
static double share; /* of a processor, that the computing task had */

static double processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* For 100 ms at least, and until all others have begun to. */
static void sleeps(void *closure, struct scheduler *s)
{
    begin(s);
    atomic_fetch_add(&within, 1);
    pause_us(MS * 1000);
    for (struct patience p = patience_of(20); within < TASKS && !kind_is("serial"); pause_us(5000))
        CHECK(is_patient(&p));
    end(s);
    atomic_fetch_add(&ended, 1);
}

static void computes(void *closure, struct scheduler *s)
{
    double from = now(), used = processor_time();
    int here = thread_id();
    while (now() < from + 1e-3 * MS)
        for (volatile int i = 0; i < 10000; i++)
            continue;
    CHECK_EQ(thread_id(), here);
    share = (processor_time() - used) / (now() - from);
}

static void root(void *closure, struct scheduler *s)
{
    spawn_all(TASKS, sleeps, s);
    CHECK_EQ(sched_spawn(computes, closure, s), 0);
}

int main(void)
{
    double took = 0, alone = 0;
    for (int i = 0; i < ATTEMPTS; i++) {
        run(2, computes);
        alone = share;
        within = ended = 0;
        double from = now();
        run(2, root);
        took = now() - from;
        CHECK_EQ(ended, TASKS);
        if (kind_is("serial") || (took < 1e-3 * MS * TASKS / 2 && share > 0.6 * alone))
            return 0;
    }
    fprintf(stderr, "the last took %.3f s; the computing task had %.2f of a processor, alone %.2f\n",
            took, share, alone);
    return 1;
}
