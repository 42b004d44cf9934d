/* Memory ends (RLIMIT_AS): a spawn that cannot be queued gives -1 with EAGAIN and every
 * accepted task still runs; a run that cannot even start gives -1 with ENOMEM.
 * ctest: timeout=60
 * ctest: matrix kind=lifo,fifo,steal,serial idle=park threads=1 timeout=60
 * ctest: matrix kind=lifo,fifo,steal,serial idle=park threads=2 deque=mutex,split,chaselev timeout=60 */
#include "child.h"
#include "proc.h"
#include <stdatomic.h>

static atomic_long ran;
static long accepted, refused;
static atomic_int flooded;

static void leaf(void *closure, struct scheduler *s)
{
    while (!flooded) /* the queue must fill: nobody works before that */
        pause_us(1000);
    atomic_fetch_add_explicit(&ran, 1, memory_order_relaxed);
}

static void flood(void *closure, struct scheduler *s)
{
    while (refused < 100 && accepted < 40000000) {
        errno = 0;
        if (sched_spawn(leaf, NULL, s) == 0)
            accepted++;
        else {
            CHECK_EQ(errno, EAGAIN);
            refused++;
        }
    }
    flooded = 1;
}

static void limit_to(long more_kb)
{
    rlim_t bytes = (rlim_t)(status_kb("VmSize") + more_kb) * 1024;
    struct rlimit limit = {bytes, bytes};
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}

static void little(void *arg)
{
    limit_to(48 * 1024);
    CHECK_EQ(sched_init(2, 10, flood, NULL), 0);
    CHECK_EQ(refused, 100);
    CHECK(accepted > 1000);
    CHECK_EQ(ran, accepted);
}

static void never(void *closure, struct scheduler *s)
{
    check_say("it ran\n");
    _exit(5);
}

static void *volatile taken; /* else a compiler need not ask for it */

static void nothing(void *arg)
{
    limit_to(0);
    for (size_t size = 1 << 20; size >= 8; size /= 2)
        while ((taken = malloc(size)) != NULL)
            continue;
    CHECK_ERRNO(sched_init(2, 1000000, never, NULL), ENOMEM);
    CHECK_ERRNO(sched_init(1, 1000000, never, NULL), ENOMEM);
}

int main(void)
{
    in_child(little, NULL);
    CHECK_CHILD_EXITED(0);
    in_child(nothing, NULL);
    CHECK_CHILD_EXITED(0);
    return 0;
}
