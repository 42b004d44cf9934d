/* The process ends at once though threads rest: by exit, quick_exit, _exit and the return from
 * main, from the first thread, another one, and a task; a run in a handler of exit works, too.
 * ctest: static
 * ctest: matrix with=threads without=calls idle=park deque=mutex,split threads=4 */
#include "child.h"
#include "leave.h"
#include "where.h"
#include "warm.h"

static void run(void)
{
    struct party party = {.guests = threads_of(4)};
    give_party(&party);
}

static void handler(void)
{
    run();
    check_say("<handler>");
}

static void *leave_in_thread(void *arg)
{
    leave(NULL);
    return arg;
}

static void body(void *arg)
{
    const char *from = arg;
    alarm(20);
    if (strcmp(from, "early") == 0)
        atexit(handler); /* called after the library's own */
    setenv("SCHED_WARM", "1min", 1);
    run();
    if (strcmp(from, "late") == 0)
        atexit(handler);
    if (strcmp(from, "thread") == 0) {
        begin_thread(leave_in_thread, NULL);
        for (;;)
            pause();
    }
    if (strcmp(from, "task") == 0 || strcmp(from, "other task") == 0) {
        struct deed deed = {leave, *from == 't', NULL};
        sched_init(2, 4, seek_place, &deed); /* some of the resting threads take part */
    }
    leave(NULL);
}

int main(int argc, char **argv)
{
    static const char *const froms[] = {"main", "early", "late", "thread", "task", "other task"};
    if (argc > 1) {
        setenv("SCHED_WARM", "1min", 1);
        run();
        return 43;
    }
    for (size_t i = 0; i < sizeof froms / sizeof *froms; i++)
        for (way = 0; way < WAYS_OUT; way++) {
            in_child(body, (void *)(uintptr_t)froms[i]);
            CHECK_CHILD_EXITED(40 + way);
            if (way == 0 && (i == 1 || i == 2))
                CHECK_CHILD_SAID("<handler>");
        }
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        execl("/proc/self/exe", argv[0], "return", (char *)NULL);
        _exit(1);
    }
    CHECK_EQ(wait_for(pid), 43 << 8);
    return 0;
}
