/* A task that detaches its thread, one that the library made, aborts the process with a
 * message that says so: nobody could wait for that thread.
 * ctest: static
 * ctest: matrix deque=mutex,split,chaselev kind=lifo,fifo,steal idle=park,nap threads=2,4 */
#include "child.h"
#include "where.h"

static void detach(struct scheduler *s)
{
    (void)s;
    CHECK_EQ(pthread_detach(pthread_self()), 0);
}

static void body(void *deed)
{
    sched_init(4, 4, seek_place, deed);
    check_say("sched_init came back");
}

int main(void)
{
    static volatile int done;
    struct deed detaches = {detach, 0, &done};
    in_child(body, &detaches);
    CHECK_CHILD_ABORTED("detach");
    return 0;
}
