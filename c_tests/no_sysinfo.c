/* sysinfo refused by a sandbox: how much memory there is cannot be found then, which is no limit on stacks. 600 tasks that
 * meet twice, so that none can end on top of another, all end.
 * ctest: matrix kind=steal,lifo,cont deque=mutex,split idle=park threads=1,4 */
#include "child.h"
#include "seccomp.h"
#include "sync.h"

enum { TASKS = 600 };

static sched_barrier all;
static atomic_int ended;

static void meets(void *closure, struct scheduler *s)
{
    CHECK(sched_barrier_wait(&all, s) >= 0);
    CHECK(sched_barrier_wait(&all, s) >= 0);
    ended++;
}

static void root(void *closure, struct scheduler *s)
{
    spawn_all(TASKS, meets, s);
}

static void body(void *error)
{
    static const long calls[] = {SYS_sysinfo};
    alarm(20); /* a deadlock ends the child */
    deny(calls, 1, *(unsigned *)error);
    CHECK_EQ(sched_barrier_init(&all, TASKS), 0);
    CHECK_EQ(sched_init(4, 4, root, NULL), 0);
    CHECK_EQ(ended, TASKS);
}

int main(void)
{
    unsigned errors[] = {EPERM, ENOSYS};
    for (int i = 0; i < 2; i++) {
        in_child(body, &errors[i]);
        CHECK_CHILD_PASSED();
    }
    return 0;
}
