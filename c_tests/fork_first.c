/* fork() at any moment of the process's first sched_init, in another thread: the child's
 * own sched_init works.
 * ctest:
 * ctest: env=SCHED_KIND=lifo */
#include "child.h"

enum { TRIES = 60 };

static void task(void *closure, struct scheduler *s)
{
    *(volatile int *)closure = 1;
}

static void *runner(void *arg)
{
    int ran = 0;
    CHECK_EQ(sched_init(2, 4, task, &ran), 0);
    CHECK(ran);
    return arg;
}

static void *bystander(void *arg)
{
    for (;;)
        pause();
    return arg;
}

/* A process of its own, where nobody has called the library before. */
static void body(void *delay)
{
    int status;
    pthread_t thread;
    for (int i = 0; i < 2; i++) /* with more threads membarrier takes longer to register */
        CHECK_EQ(pthread_create(&thread, NULL, bystander, NULL), 0);
    CHECK_EQ(pthread_create(&thread, NULL, runner, NULL), 0);
    for (double end = now() + 1e-6 * (double)(long)delay; now() < end;)
        ;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        runner(NULL);
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(!WIFSIGNALED(status)); /* SIGALRM: it hung */
    CHECK_EQ(status, 0);
    pthread_join(thread, NULL);
}

int main(void)
{
    for (long i = 0; i < TRIES; i++) { /* 0 to 3.5 ms, denser at the start */
        in_child(body, (void *)(i * i));
        CHECK_CHILD_EXITED(0);
    }
    return 0;
}
