/* A process is not ended as deadlocked if what a task waits for lies in memory that another process shares, or if a
 * thread outside waits for something that may lie there: the state is shown, and the process goes on. If only other
 * things are awaited, shared memory changes nothing.
 * ctest: sleeps
 * ctest: matrix few join=suspend idle=park threads=2 */
#include "child.h"
#include "waits.h"
#include <sys/mman.h>

static sched_sem *shared;

static void waits_for_shared(void *closure, struct scheduler *s)
{
    STAYING(sched_sem_wait(shared, s));
}

static void in_task(void)
{
    sched_init(2, 10, waits_for_shared, NULL);
}

static void in_thread(void)
{
    struct sched_pool *pool = sched_pool_create(NULL);
    CHECK(pool != NULL);
    CHECK_EQ(sched_pool_submit(pool, wait_for_ever, NULL), 0);
    sched_sem_wait(shared, NULL);
}

static void elsewhere(void)
{
    sched_init(2, 10, wait_for_ever, NULL);
}

static void map_and_do(void (*body)(void))
{
    alarm(60);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    CHECK_EQ(sched_sem_init(shared, 0), 0);
    body();
}

static void ends(void *body)
{
    map_and_do(*(void (**)(void))body);
}

/* Reads what a process with the body says until it says `until`, then kills it; returns its status. */
static int until_said(void (*body)(void), const char *until)
{
    int said;
    child.said[0] = 0;
    pid_t pid = begin_child(ends, &body, &said);
    reads_until(said, until);
    pause_us(300000); /* it has time to end by itself */
    kill(pid, SIGKILL);
    close(said);
    return wait_for(pid);
}

int main(void)
{
#ifdef __SANITIZE_THREAD__
    skip("the sanitizer has a thread of its own, which might wake a task");
#endif
    void (*const bodies[])(void) = {in_task, in_thread}, (*other)(void) = elsewhere;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        child.status = until_said(bodies[i], "memory that another process shares");
        check_child(__FILE__, __LINE__, WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGKILL, "go on");
        CHECK_CHILD_SAID("perhaps a deadlock: 1 task waits, ");
    }
    in_child(ends, &other);
    CHECK_CHILD_ABORTED("deadlock: a task waits for ever");
    return 0;
}
