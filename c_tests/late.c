/* A worker spawns tasks and then computes without touching the scheduler until all have run: the
 * others reach every one of them, a thousand or a single one, also where membarrier is denied.
 * ctest: matrix kind=steal threads=2,4
 * ctest: matrix kind=lifo,fifo threads=2
 * ctest: matrix kind=steal deque=split,chaselev threads=2 args=fenced */
#include "fenced.h"
#include <stdatomic.h>

static atomic_int ran;

static void leaf(void *closure, struct scheduler *s)
{
    CHECK(thread_id() != *(int *)closure);
    atomic_fetch_add(&ran, 1);
}

static void root(void *closure, struct scheduler *s)
{
    static const int batches[] = {1, 1000, 2, 1, 3, 1000, 17, 1};
    int me = thread_id();
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        int wanted = ran + batches[i];
        for (int k = 0; k < batches[i]; k++)
            CHECK_EQ(sched_spawn(leaf, &me, s), 0);
        /* No system call here, as in a loop that computes: the kernel shares the processors. */
        for (struct patience p = patience_of(20); atomic_load_explicit(&ran, memory_order_relaxed) < wanted;)
            if (!is_patient(&p)) {
                char text[80];
                snprintf(text, sizeof text, "%d of %d tasks were not reached\n", wanted - ran, batches[i]);
                check_say(text);
                _exit(1);
            }
        if (i % 2) /* the others go to sleep meanwhile */
            pause_us(5000);
    }
}

static void run(void)
{
    CHECK_EQ(sched_init(2, 4, root, NULL), 0);
    CHECK_EQ(ran, 2025);
}

int main(int argc, char **argv)
{
    run_or_run_fenced(run, argc);
    return 0;
}
