/* SCHED_OVERFLOW=refuse: a copy beyond qlen is refused with EAGAIN, which costs no memory;
 * every accepted one runs.
 * ctest: matrix kind=lifo,fifo,steal,serial idle=park threads=1 overflow=refuse
 * ctest: matrix kind=lifo,fifo,steal,serial idle=park threads=4 overflow=refuse */
#include "marks.h"
#include "proc.h"
#include <sched_tasks.h>

enum { TRIES = 200000 };

struct argument {
    long i;
    char filling[100];
};

static long accepted, limit;

static void leaf(void *copy, struct scheduler *s)
{
    const struct argument *argument = copy;
    for (size_t k = 0; k < sizeof argument->filling; k++)
        CHECK_EQ(argument->filling[k], (char)argument->i);
    mark(argument->i);
}

static void root(void *closure, struct scheduler *s)
{
    struct argument argument;
    long before = status_kb("VmRSS");
    for (int i = 0; i < TRIES; i++) {
        argument.i = accepted;
        memset(argument.filling, (char)accepted, sizeof argument.filling);
        errno = 0;
        if (sched_spawn_copy(leaf, &argument, sizeof argument, s) == 0)
            accepted++;
        else
            CHECK_EQ(errno, EAGAIN);
    }
    /* One that is lost at each refusal would take 25 MB; the marks take some. */
    CHECK(status_kb("VmRSS") - before < 6 << 10);
    if (threads_of(4) == 1)
        CHECK_EQ(accepted, limit);
    CHECK(accepted >= limit);
}

int main(void)
{
    static const int lengths[] = {1, 7, 1000};
    for (int i = 0; i < 3; i++) {
        limit = lengths[i];
        accepted = 0;
        CHECK_EQ(sched_init(4, lengths[i], root, NULL), 0);
        check_marks(accepted);
    }
    return 0;
}
