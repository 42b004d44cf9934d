/* One worker spawns copies that mostly others run, for long: their memory is used again, so that
 * the process does not grow; and when the run has ended it goes back.
 * ctest: matrix idle=park threads=2 kind=lifo,fifo deque=mutex args=1000000
 * ctest: matrix idle=park threads=4 kind=steal deque=split args=4000000 timeout=60
 * ctest: matrix idle=park threads=2 kind=steal deque=chaselev,mutex args=1000000 timeout=60 */
#include "proc.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { CHUNK = 20000, RUNS = 3 };

static long n, spawned;
static _Atomic long ran;
static long most; /* kB */

struct argument {
    long i;
    char filling[88];
};

static void leaf(void *copy, struct scheduler *s)
{
    const struct argument *argument = copy;
    CHECK_EQ(argument->filling[87], (char)argument->i);
    atomic_fetch_add_explicit(&ran, 1, memory_order_relaxed);
}

static void chunk(void *closure, struct scheduler *s)
{
    struct argument argument = {.i = 0};
    for (int i = 0; i < CHUNK; i++) {
        argument.i = spawned++;
        argument.filling[87] = (char)argument.i;
        CHECK_EQ(sched_spawn_copy(leaf, &argument, sizeof argument, s), 0);
    }
    for (unsigned turns = 0; ran < spawned;) /* the others run them all */
        spin(&turns);
    if (spawned > n / 2) {
        long now_kb = status_kb("VmRSS");
        most = now_kb > most ? now_kb : most;
    }
    if (spawned < n)
        CHECK_EQ(sched_spawn(chunk, closure, s), 0);
}

int main(int argc, char **argv)
{
    CHECK(argc > 1);
    n = atol(argv[1]) / SMALLER / CHUNK * CHUNK;
    long before = status_kb("VmRSS");
    for (int run = 0; run < RUNS; run++) {
        spawned = 0;
        ran = 0;
        CHECK_EQ(sched_init(2, 10, chunk, NULL), 0);
        CHECK_EQ(ran, n);
        /* 20,000 copies take 2.6 MB, and as much more while they lie with others. */
        if (most - before > 16 << 10)
            CHECK_EQ(most - before, 0);
    }
    if (status_kb("VmRSS") - before > 6 << 10)
        CHECK_EQ(status_kb("VmRSS") - before, 0);
    return 0;
}
