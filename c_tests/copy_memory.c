/* Memory ends (RLIMIT_AS): a copy that cannot be made, or queued, gives -1 with EAGAIN, and every
 * accepted task still runs with its copy whole.
 * ctest: matrix few kind=lifo,fifo,steal,serial idle=park threads=1 timeout=60
 * ctest: matrix few idle=park threads=2 kind=steal timeout=60 */
#include "child.h"
#include "proc.h"
#include <sched_tasks.h>
#include <stdatomic.h>

static atomic_long ran, sum;
static long accepted, expected, refused;
static atomic_int flooded;

struct argument {
    long i, filling[20], last;
};

static void leaf(void *copy, struct scheduler *s)
{
    const struct argument *argument = copy;
    while (!flooded) /* memory must end: nobody works before that */
        pause_us(1000);
    CHECK_EQ(argument->last, -argument->i);
    atomic_fetch_add_explicit(&sum, argument->i, memory_order_relaxed);
    atomic_fetch_add_explicit(&ran, 1, memory_order_relaxed);
}

static void flood(void *closure, struct scheduler *s)
{
    struct argument argument = {.i = 0};
    while (refused < 100 && accepted < 10000000) {
        argument.i = accepted;
        argument.last = -accepted;
        errno = 0;
        if (sched_spawn_copy(leaf, &argument, sizeof argument, s) == 0)
            expected += accepted++;
        else {
            CHECK_EQ(errno, EAGAIN);
            refused++;
        }
    }
    flooded = 1;
}

static void *stranger(void *s)
{
    errno = 0;
    flood(NULL, s);
    return NULL;
}

/* By a thread that is no worker. */
static void flood_from_outside(void *closure, struct scheduler *s)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, stranger, s), 0);
    pthread_join(thread, NULL);
}

static void body(void *arg)
{
    rlim_t bytes = (rlim_t)(status_kb("VmSize") + (64 << 10)) * 1024;
    struct rlimit limit = {bytes, bytes};
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    CHECK_EQ(sched_init(2, 10, arg ? flood_from_outside : flood, NULL), 0);
    CHECK_EQ(refused, 100);
    CHECK(accepted > 1000);
    CHECK_EQ(ran, accepted);
    CHECK_EQ(sum, expected);
}

int main(void)
{
    in_child(body, NULL);
    CHECK_CHILD_EXITED(0);
    in_child(body, "");
    CHECK_CHILD_EXITED(0);
    return 0;
}
