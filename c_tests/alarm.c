/* A storm of SIGALRM, whose handler interrupts system calls (EINTR), disturbs nothing.
 * ctest: matrix threads=1,4 */
#include "marks.h"
#include <sys/time.h>

enum { N = 400 };

static atomic_int alarms;

static void on_alarm(int sig)
{
    atomic_fetch_add(&alarms, 1);
}

static void task(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    mark(i);
    for (long child = 3 * i + 1; child <= 3 * i + 3 && child < N; child++)
        CHECK_EQ(sched_spawn(task, (void *)child, s), 0);
    if (i % 16 == 0) /* let the others run out of work and sleep */
        for (double end = now() + 0.0005; now() < end;)
            ;
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_alarm}; /* no SA_RESTART */
    struct itimerval every = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};

    CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
    CHECK_EQ(setitimer(ITIMER_REAL, &every, NULL), 0);
    CHECK_EQ(sched_init(4, 4, task, (void *)0), 0);
    check_marks(N);
    CHECK_EQ(sched_init(4, 4, task, (void *)0), 0);
    CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
    check_marks(N);
    CHECK(alarms > 0);
    return 0;
}
