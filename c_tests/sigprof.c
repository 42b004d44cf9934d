/* A sampling profiler: SIGPROF by the process's processor time, as often as the kernel sends it, whose handler walks the
 * stack of whatever it has interrupted: tasks on their stacks, switches, idle workers, the end of runs. Nothing is lost,
 * every walk ends, and the threads of the library are sampled, too.
 * ctest: matrix deque=split,mutex idle=park,spin threads=4 timeout=60
 * ctest: matrix kind=steal,cont deque=split idle=park threads=4 env=SCHED_WARM=0 timeout=60 */
#include "marks.h"
#include <execinfo.h>
#include <sched_tasks.h>
#include <sys/time.h>

enum { N = 2000 / SMALLER, FRAMES = 64, WANTED = 30 };

static atomic_int samples, elsewhere;

static void on_sample(int signal)
{
    void *frames[FRAMES];
    int before = errno;
    CHECK(backtrace(frames, FRAMES) > 0);
    atomic_fetch_add(&samples, 1);
    if (!on_caller())
        atomic_fetch_add(&elsewhere, 1);
    errno = before;
}

/* A tree whose tasks wait for their children and give way. */
static void task(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    sched_group children = SCHED_GROUP_INIT;
    volatile unsigned long x = 1;
    for (long child = 3 * i + 1; child <= 3 * i + 3 && child < N; child++)
        CHECK_EQ(sched_group_spawn(&children, task, (void *)child, s), 0);
    for (int k = 0; k < 2000; k++)
        x = x * 3 + 1;
    sched_task_yield(s);
    CHECK_EQ(sched_group_wait(&children, s), 0);
    mark(i);
}

int main(void)
{
    void *frames[FRAMES];
    struct sigaction action = {.sa_handler = on_sample, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    int is_wide = threads_of(4) > 1;

    backtrace(frames, FRAMES); /* loads what it needs */
    CHECK_EQ(sigaction(SIGPROF, &action, NULL), 0);
    CHECK_EQ(setitimer(ITIMER_PROF, &every, NULL), 0);
    struct patience p = patience_of(40);
    while (samples < WANTED || (is_wide && elsewhere == 0)) {
        CHECK(is_patient(&p));
        CHECK_EQ(sched_init(4, 16, task, (void *)0), 0);
        check_marks(N);
    }
    CHECK_EQ(setitimer(ITIMER_PROF, &never, NULL), 0);
    return 0;
}
