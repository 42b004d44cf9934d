/* Kind cont: a task that was made to go on, and has others of its run behind it in the queue, returns in a
 * child process that it made by fork. That ends with a message, and none of the others goes on there.
 * ctest: debug
 * ctest: matrix kind=cont threads=1 */
#include "child.h"
#include <sched_tasks.h>

enum { WAITERS = 3 };

static sched_sem free_units;
static pid_t process;
static int went_on;

static void waits(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_wait(&free_units, s), 0);
    if (getpid() != process)
        check_say("a task of the parent's went on\n");
    went_on++;
}

static void root(void *closure, struct scheduler *s)
{
    int status;
    for (int i = 0; i < WAITERS; i++)
        CHECK_EQ(sched_spawn(waits, NULL, s), 0);
    for (int i = 0; i < WAITERS; i++)
        CHECK_EQ(sched_sem_post(&free_units), 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        return;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void run(void *arg)
{
    process = getpid();
    CHECK_EQ(sched_sem_init(&free_units, 0), 0);
    CHECK_EQ(sched_init(1, 4, root, NULL), 0);
    CHECK_EQ(went_on, WAITERS);
}

int main(void)
{
    in_child(run, NULL);
    CHECK_CHILD_PASSED();
    CHECK_CHILD_SAID("returned in a child");
    CHECK(strstr(child.said, "went on") == NULL);
    return 0;
}
