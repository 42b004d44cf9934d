/* A task that detaches its thread, one that the library made: threads that are kept do not mind;
 * with SCHED_WARM=0 it aborts the process with a message, since nobody can wait for that thread.
 * ctest: static
 * ctest: matrix deque=mutex,split,chaselev kind=lifo,fifo,steal,cont idle=park,nap threads=2,4 */
#include "child.h"
#include "where.h"

static void detach(struct scheduler *s)
{
    int error = pthread_detach(pthread_self());
    CHECK(error == 0 || error == EINVAL); /* detached already */
}

static void kept(void *deed)
{
    for (int i = 0; i < 3; i++) {
        *((struct deed *)deed)->done = 0;
        CHECK_EQ(sched_init(4, 4, seek_place, deed), 0);
    }
    exit(0);
}

static void body(void *deed)
{
    setenv("SCHED_WARM", "0", 1);
    sched_init(4, 4, seek_place, deed);
    check_say("sched_init came back");
}

int main(void)
{
    static volatile int done;
    struct deed detaches = {detach, 0, &done};
    in_child(kept, &detaches);
    CHECK_CHILD_EXITED(0);
    in_child(body, &detaches);
    CHECK_CHILD_ABORTED("detach");
    return 0;
}
