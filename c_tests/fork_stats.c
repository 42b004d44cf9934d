/* fork() while another thread's runs print their statistics: the child's own run with
 * SCHED_STATS works.
 * ctest: matrix deque=mutex,split,chaselev idle=park threads=4 */
#include "child.h"
#include "stats_line.h"
#include <stdatomic.h>

enum { RUNNERS = 2 };

static const double SECONDS = 0.5;

static atomic_int over;

static void task(void *closure, struct scheduler *s)
{
}

static void *runner(void *arg)
{
    while (!over)
        CHECK_EQ(sched_init(4, 4, task, arg), 0);
    return arg;
}

static void body(void *arg)
{
    pthread_t threads[RUNNERS];
    for (int i = 0; i < RUNNERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, runner, arg), 0);
    for (double end = now() + SECONDS; now() < end;) {
        int status;
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            alarm(20);
            CHECK_EQ(sched_init(1, 4, task, arg), 0);
            _exit(0);
        }
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK(!WIFSIGNALED(status)); /* SIGALRM: it hung */
        CHECK_EQ(status, 0);
    }
    over = 1;
    for (int i = 0; i < RUNNERS; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    gather_stats();
    in_child(body, NULL);
    gathered_stats();
    CHECK_CHILD_EXITED(0);
    return 0;
}
