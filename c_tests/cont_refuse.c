/* Kind cont with SCHED_OVERFLOW=refuse: qlen is how many spawners may wait for their children on one worker; a
 * spawn beyond gives -1 with EAGAIN and calls nothing, and what was accepted has run.
 * ctest: matrix kind=cont idle=park threads=1 overflow=refuse */
#include "check.h"

enum { QLEN = 50 };

static long depth, deepest, refused, ran, accepted;

static void deeper(void *closure, struct scheduler *s)
{
    ran++;
    if (++depth > deepest)
        deepest = depth;
    for (int i = 0; i < 2 && accepted < 1000; i++) {
        errno = 0;
        if (sched_spawn(deeper, NULL, s) == 0) {
            accepted++;
        } else {
            CHECK_EQ(errno, EAGAIN);
            refused++;
        }
    }
    depth--;
}

int main(void)
{
    CHECK_EQ(sched_init(1, QLEN, deeper, NULL), 0);
    CHECK_EQ(deepest, QLEN + 1);
    CHECK(refused > 0);
    CHECK_EQ(ran, accepted + 1);
    return 0;
}
