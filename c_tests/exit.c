/* A task that calls exit, _exit or quick_exit ends the process at once, from the caller's
 * thread and from another; the handlers run once.
 * ctest: static
 * ctest: matrix kind=lifo,fifo,steal,cont deque=mutex idle=park,spin threads=4 */
#include "child.h"
#include "leave.h"
#include "where.h"

static void handler(void)
{
    check_say("<handler>");
}

static void quick_handler(void)
{
    check_say("<quick>");
}

static void body(void *deed)
{
    atexit(handler);
    at_quick_exit(quick_handler);
    sched_init(4, 4, seek_place, deed);
    check_say("sched_init came back");
}

static int said(const char *word)
{
    int n = 0;
    for (const char *at = child.said; (at = strstr(at, word)) != NULL; at++)
        n++;
    return n;
}

int main(void)
{
    for (int round = 0; round < 3; round++)
        for (int caller = 0; caller < 2; caller++)
            for (way = 0; way < WAYS_OUT; way++) {
                struct deed deed = {leave, caller, NULL};
                in_child(body, &deed);
                CHECK_CHILD_EXITED(40 + way);
                CHECK_EQ(said("<handler>"), way == 0);
                CHECK_EQ(said("<quick>"), way == 2);
                CHECK_EQ(said("came back"), 0);
            }
    return 0;
}
