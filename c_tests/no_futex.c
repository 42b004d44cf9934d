/* futex denied by seccomp: slower, the same results, and it ends. For the lock-free deque
 * and the spin locks only: the C library's own locks need futexes.
 * ctest: timeout=60
 * ctest: env=SCHED_DEQUE=spin timeout=60
 * ctest: env=SCHED_KIND=lifo env=SCHED_DEQUE=spin timeout=60
 * ctest: env=SCHED_KIND=fifo env=SCHED_DEQUE=spin timeout=60
 * ctest: env=SCHED_KIND=serial timeout=60 */
#include "child.h"
#include "seccomp.h"

struct set_up {
    int error, nthreads;
};

static int ran;

static void node(void *closure, struct scheduler *s)
{
    long depth = (long)closure;
    __atomic_fetch_add(&ran, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2 && depth > 0; i++)
        CHECK_EQ(sched_spawn(node, (void *)(depth - 1), s), 0);
    if (depth == 4) /* long enough for the others to go to sleep */
        for (double end = now() + 0.0002; now() < end;)
            ;
}

/* Needs another worker, which may be asleep by then. */
static void wait_for_child(void *closure, struct scheduler *s)
{
    (void)closure;
    pause_us(5000);
    ran = 0;
    CHECK_EQ(sched_spawn(node, (void *)0, s), 0);
    while (!__atomic_load_n(&ran, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void body(void *arg)
{
    static const long calls[] = {SYS_futex, 449 /* waitv */, 454, 455, 456 /* wake, wait, requeue */};
    const struct set_up *up = arg;
    deny(calls, 5, (unsigned)up->error);
    for (int round = 1; round <= 3; round++) {
        CHECK_EQ(sched_init(up->nthreads, 4, node, (void *)8), 0);
        CHECK_EQ(ran, 511 * round);
    }
    if (up->nthreads > 1 && !kind_is("serial"))
        CHECK_EQ(sched_init(up->nthreads, 4, wait_for_child, NULL), 0);
}

int main(void)
{
    static struct set_up ups[] = {{EPERM, 1}, {EPERM, 2}, {EPERM, 4}, {ENOSYS, 1}, {ENOSYS, 2}, {ENOSYS, 4}};
    for (int i = 0; i < 6; i++) {
        in_child(body, &ups[i]);
        if (WIFEXITED(child.status) && WEXITSTATUS(child.status) == 77)
            skip(child.said);
        CHECK_CHILD_EXITED(0);
    }
    return 0;
}
