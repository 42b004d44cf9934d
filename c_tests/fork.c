/* fork() in a task, or beside a running scheduler: the child may sched_init anew, the
 * parent's s is EINVAL there, and the parent's run goes on unharmed. A child that returns
 * from the forked task aborts with a message.
 * ctest: matrix deque=mutex,split,chaselev idle=park,nap threads=1,4 */
#include "child.h"
#include "nodes.h"
#include "where.h"

static struct scheduler *_Atomic running;
static atomic_int forked_beside;

/* What a child does with the run of its parent, and with one of its own. */
static void fork_from(struct scheduler *s)
{
    pid_t pid = fork();
    if (pid == 0) {
        CHECK_ERRNO(sched_spawn(node, (void *)3, s), EINVAL);
        run_nodes();
        CHECK_ERRNO(sched_spawn(node, (void *)3, s), EINVAL);
        CHECK_EQ(sched_init(2, 4, node, (void *)4), 0);
        CHECK_EQ(ran, 63 + 31);
        _exit(9);
    }
    int status = wait_for(pid);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 9);
    CHECK_EQ(sched_spawn(node, (void *)4, s), 0); /* the parent's run goes on */
}

static void in_task(void *deed)
{
    volatile int done = 0;
    ((struct deed *)deed)->done = &done;
    ran = 0;
    CHECK_EQ(sched_init(4, 4, seek_place, deed), 0);
    CHECK_EQ(ran, 31);
    CHECK_EQ(sched_init(4, 4, node, (void *)6), 0);
    CHECK_EQ(ran, 31 + 127);
}

static void busy(void *closure, struct scheduler *s)
{
    running = s;
    for (int i = 0; !forked_beside; i++) {
        if (i % 8 == 0) /* some traffic on the queues at the moment of the fork */
            CHECK_EQ(sched_spawn(node, (void *)0, s), 0);
        pause_us(20);
    }
}

static void *forker(void *arg)
{
    while (!running)
        pause_us(50);
    for (int i = 0; i < 3; i++)
        fork_from(running);
    forked_beside = 1;
    return arg;
}

static void beside(void *arg)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, forker, NULL), 0);
    CHECK_EQ(sched_init(4, 4, busy, NULL), 0);
    pthread_join(thread, NULL);
    CHECK(ran > 3 * 31);
}

static void fork_and_return(struct scheduler *s)
{
    pid_t pid = fork();
    if (pid == 0)
        return;
    int status = wait_for(pid);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
        check_say("<the child did not abort>");
    CHECK_EQ(sched_spawn(node, (void *)4, s), 0);
}

int main(void)
{
    int alone = threads_of(4) == 1;
    for (int caller = alone; caller < 2; caller++) {
        struct deed deed = {fork_from, caller, NULL};
        in_child(in_task, &deed);
        CHECK_CHILD_EXITED(0);
    }
    in_child(beside, NULL);
    CHECK_CHILD_EXITED(0);
    for (int caller = alone; caller < 2; caller++) {
        struct deed deed = {fork_and_return, caller, NULL};
        in_child(in_task, &deed);
        CHECK_CHILD_EXITED(0);
        CHECK(strstr(child.said, "did not abort") == NULL);
        CHECK_CHILD_SAID("fork");
    }
    return 0;
}
