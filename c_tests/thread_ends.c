/* A task that ends its thread, by pthread_exit or because it is cancelled, aborts the
 * process with a message that says so, on the caller's thread and on another.
 * ctest: static
 * ctest: matrix deque=mutex idle=park threads=1,4 */
#include "child.h"
#include "where.h"

static void by_exit(struct scheduler *s)
{
    pthread_exit(NULL);
}

static void by_cancel(struct scheduler *s)
{
    pthread_cancel(pthread_self());
    for (;;)
        pthread_testcancel();
}

static void body(void *deed)
{
    sched_init(4, 4, seek_place, deed);
    check_say("sched_init came back");
}

int main(void)
{
    for (int caller = threads_of(4) == 1; caller < 2; caller++) {
        struct deed exits = {by_exit, caller, NULL}, cancelled = {by_cancel, caller, NULL};
        in_child(body, &exits);
        CHECK_CHILD_ABORTED("pthread_exit");
        in_child(body, &cancelled);
        CHECK_CHILD_ABORTED("cancel");
    }
    return 0;
}
