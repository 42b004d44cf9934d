/* SCHED_WATCHDOG: the text says in which system call a worker's thread sleeps, and a thread in a blocking section; and it
 * has the names of C++ functions as they are written.
 * ctest: static sleeps
 * ctest: matrix few idle=park threads=2 */
#include "shown.h"

namespace shop {
static void naps(void *, struct scheduler *)
{
    has_begun = 1;
    while (!may_end)
        pause_us(100000);
}

static void blocks(void *, struct scheduler *s)
{
    CHECK_EQ(sched_block_begin(s), 0);
    naps(NULL, s);
    CHECK_EQ(sched_block_end(s), 0);
}
}

static void a_task(void *)
{
    shows(2, shop::naps, ": runs a task (shop::naps), which sleeps in ", "nanosleep");
}

static void a_section(void *)
{
    shows(2, shop::blocks, " (shop::blocks) is in a blocking section, and sleeps in ", "nanosleep");
}

int main(void)
{
    if (access("/proc/self/syscall", R_OK) != 0)
        skip("the kernel does not tell the system calls of threads");
    in_child(a_task, NULL);
    CHECK_CHILD_EXITED(0);
    in_child(a_section, NULL);
    CHECK_CHILD_EXITED(0);
    return 0;
}
