/* futex denied by seccomp: slower, the same results, and it ends. The C library's own locks
 * need futexes, so the spin lock takes their place; the statistics say so, but for a queue, which stays one.
 * The library's own locks look again from time to time instead.
 * ctest: matrix idle=park threads=1,2,4 timeout=60 */
#include "child.h"
#include "seccomp.h"
#include "stats_line.h"

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
    pause_us(5000);
    ran = 0;
    CHECK_EQ(sched_spawn(node, (void *)0, s), 0);
    while (!__atomic_load_n(&ran, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void body(void *error)
{
    static const long calls[] = {SYS_futex, 449 /* waitv */, 454, 455, 456 /* wake, wait, requeue */};
    deny(calls, 5, (unsigned)(long)error);
    for (int round = 1; round <= 3; round++) {
        CHECK_EQ(sched_init(4, 4, node, (void *)8), 0);
        CHECK_EQ(ran, 511 * round);
    }
    if (threads_of(4) > 1)
        CHECK_EQ(sched_init(4, 4, wait_for_child, NULL), 0);
}

static void check_deque(const char *line)
{
    const char *asked = getenv("SCHED_DEQUE");
    char wanted[32];
    if (asked && (strcmp(asked, "mutex") == 0 || strcmp(asked, "sem") == 0))
        asked = "spin";
    snprintf(wanted, sizeof wanted, "\"deque\":\"%s\"", asked ? asked : "none");
    CHECK(strstr(line, wanted) != NULL);
}

int main(void)
{
    static const int errors[] = {EPERM, ENOSYS};
    for (int i = 0; i < 2; i++) {
        gather_stats();
        in_child_without_futex(body, (void *)(long)errors[i]);
        char *lines = gathered_stats();
        CHECK_CHILD_PASSED();
        check_deque(lines);
    }
    return 0;
}
