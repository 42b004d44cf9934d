/* From some allocation of a run on each fails, for each of them: a blocking section either does not begin, with EAGAIN, or it can be ended:
 * the end waits for nobody's memory.
 * ctest: matrix idle=park threads=1,2,4 timeout=60 */
#include "alloc.h"
#include "child.h"
#include <sched_tasks.h>

enum { SECTIONS = 5, MOST = 400 };

static atomic_int began;

static void section(struct scheduler *s)
{
    if (sched_block_begin(s) != 0) {
        CHECK_EQ(get_errno(), EAGAIN);
        return;
    }
    began++;
    pause_us(1000); /* another thread takes over the worker */
    CHECK_EQ(sched_block_end(s), 0);
}

static void task(void *closure, struct scheduler *s)
{
    for (int i = 0; i < SECTIONS; i++)
        section(s);
}

static void from(void *allocations)
{
    CHECK_EQ(sched_init(3, 8, task, NULL), 0); /* its threads are kept */
    CHECK_EQ(began, SECTIONS);
    left = *(long *)allocations;
    errno = 0;
    int result = sched_init(3, 8, task, NULL);
    int error = errno, was = failed;
    left = LONG_MAX;
    if (result != 0)
        CHECK_EQ(error, ENOMEM);
    CHECK_EQ(sched_init(3, 8, task, NULL), 0);
    CHECK(began >= 2 * SECTIONS);
    _exit(was ? 0 : 4);
}

int main(void)
{
    long n = 0;
    do {
        in_child(from, &n);
        CHECK(WIFEXITED(child.status));
        if (WEXITSTATUS(child.status) != 4)
            CHECK_CHILD_EXITED(0);
    } while (WEXITSTATUS(child.status) != 4 && ++n < MOST);
    CHECK(n > 0 && n < MOST);
    return 0;
}
