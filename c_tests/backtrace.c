/* In gdb the backtrace of a task shows its frames down to the first of its stack and no further.
 * The same holds for a task that has waited. gdb reports no error.
 * ctest: timeout=60
 * ctest: env=SCHED_THREADS=1 timeout=60 */
#include "aside.h"
#include "child.h"

__attribute__((noinline)) void breaks_here(int *at)
{
    *(volatile int *)at = 1;
}

__attribute__((noinline)) void inner_frame(int *at)
{
    breaks_here(at);
    __asm__ volatile("" ::: "memory"); /* so that the call is not a jump */
}

static void task_frame(void *closure, struct scheduler *s)
{
    change_thread(s);
    sched_task_yield(s);
    inner_frame(closure);
    __asm__ volatile("" ::: "memory");
}

static void debugged(void *self)
{
    setenv("DEBUGINFOD_URLS", "", 1);
    execlp("gdb", "gdb", "-nx", "-batch", "-ex", "set breakpoint pending on", "-ex", "break breaks_here",
           "-ex", "run run", "-ex", "backtrace", "-ex", "kill", self, (char *)NULL);
    skip("no gdb here");
}

int main(int argc, char **argv)
{
    char self[4096];
    int at = 0;
    if (argc > 1) {
        CHECK_EQ(sched_init(2, 4, task_frame, &at), 0);
        return 0;
    }
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(n > 0);
    self[n] = 0;
    in_child(debugged, self);
    CHECK_CHILD_PASSED();
    if (strstr(child.said, "ptrace") != NULL || strstr(child.said, "Could not trace") != NULL)
        skip("gdb may not trace here");
    CHECK_CHILD_SAID("inner_frame");
    CHECK_CHILD_SAID("task_frame");
    CHECK_CHILD_SAID("run_loop");
    CHECK(strstr(child.said, "corrupt") == NULL && strstr(child.said, "Cannot access") == NULL);
    return 0;
}
