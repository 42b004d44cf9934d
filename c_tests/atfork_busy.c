/* A program's fork handler starts a run in the child, before the library's own handler, while other
 * threads were in the middle of runs.
 * ctest: matrix kind=steal,lifo,serial,cont deque=mutex,split idle=park threads=2 timeout=60 */
#include "child.h"
#include <stdatomic.h>

enum { FORKS = 150 };

static atomic_int over;

static void task(void *closure, struct scheduler *s)
{
}

static void run(void)
{
    CHECK_EQ(sched_init(2, 4, task, NULL), 0);
}

static void *runs(void *arg)
{
    while (!over)
        run();
    return arg;
}

static void in_the_child(void)
{
    alarm(20); /* a hang ends the child */
    run();
}

int main(void)
{
    pthread_t threads[2];
    pthread_atfork(NULL, NULL, in_the_child);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, runs, NULL), 0);
    for (int i = 0; i < FORKS; i++) {
        int status;
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0)
            _exit(0);
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK_EQ(status, 0);
    }
    over = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
