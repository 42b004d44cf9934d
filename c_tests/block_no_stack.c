/* There is memory for one task's stack only, which the first worker gets. The other workers, and a thread that takes
 * over a worker while a task blocks on that stack, run on their threads' own stacks. One of them goes on with that task
 * when its section has ended on a thread without a worker.
 * ctest: matrix deque=mutex,split idle=park threads=1,2,4 env=SCHED_STACK=256M timeout=60 */
#include "block.h"
#include "child.h"
#include "proc.h"

enum { TASKS = 20, RUNS = 3 };

static atomic_int elsewhere, ended;
static long sleep_us = 2000;

static void sleeps(void *closure, struct scheduler *s)
{
    int here = thread_id();
    int began = sched_block_begin(s) == 0;
    CHECK(began || errno == EAGAIN);
    pause_us(sleep_us);
    if (began)
        end(s);
    elsewhere += thread_id() != here;
    ended++;
}

static void first(void *closure, struct scheduler *s)
{
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_spawn(sleeps, NULL, s), 0);
    sleeps(closure, s);
}

static void with_one_stack(void *arg)
{
    /* Half of it may be stacks. */
    rlim_t bytes = (rlim_t)(status_kb("VmSize") + (700 << 10)) * 1024;
    struct rlimit limit = {bytes, bytes};
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    /* On a busy machine no other thread may come while a task sleeps: then they sleep for longer. */
    struct patience p = patience_of(30);
    for (int i = 1; i <= RUNS || (elsewhere == 0 && !kind_is("serial") && is_patient(&p)); i++) {
        CHECK_EQ(sched_init(1, 4, first, NULL), 0);
        CHECK_EQ(ended, i * (TASKS + 1));
        sleep_us += i < RUNS ? 0 : 1000;
    }
    CHECK(elsewhere > 0 || kind_is("serial"));
}

int main(void)
{
    in_child(with_one_stack, NULL);
    CHECK_CHILD_PASSED();
    return 0;
}
