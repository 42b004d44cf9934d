/* SCHED_OVERFLOW=refuse makes qlen a limit: the spawn beyond it gives -1 with EAGAIN and
 * changes nothing; every accepted task runs.
 * ctest: matrix kind=lifo,fifo,steal,serial idle=park threads=1 overflow=refuse
 * ctest: matrix kind=lifo,fifo,steal,serial idle=park threads=4 overflow=refuse */
#include "marks.h"

static atomic_long accepted;
static long limit;

static void leaf(void *closure, struct scheduler *s)
{
    mark((long)closure);
}

/* With one thread the queue is empty now and nobody takes from it: exactly `limit` fit. */
static void fill(void *closure, struct scheduler *s)
{
    for (long i = 0; i < limit; i++)
        CHECK_EQ(sched_spawn(leaf, (void *)i, s), 0);
    for (int again = 0; again < 3; again++)
        CHECK_ERRNO(sched_spawn(leaf, (void *)limit, s), EAGAIN);
    accepted = limit;
}

/* With several, only that none is lost. */
static void push(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 20000; i++) {
        errno = 0;
        if (sched_spawn(leaf, (void *)(long)accepted, s) == 0)
            accepted++;
        else
            CHECK_EQ(errno, EAGAIN);
    }
}

int main(void)
{
    static const int lengths[] = {1, 2, 7, 64, 1000};
    for (int i = 0; i < 5; i++) {
        limit = lengths[i];
        accepted = 0;
        CHECK_EQ(sched_init(1, lengths[i], threads_of(1) == 1 ? fill : push, NULL), 0);
        CHECK(accepted >= limit);
        check_marks(accepted);
    }
    return 0;
}
