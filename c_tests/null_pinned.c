/* The default pool has the processors of the process, whichever thread uses it first: a thread that is pinned to one
 * processor, another one while main is pinned, or one of a process that is confined as a whole. Its threads may use
 * these processors.
 * ctest: matrix few kind=steal,lifo,cont idle=park threads=4 */
#include "child.h"
#include <sched_tasks.h>
#include <stdatomic.h>

static cpu_set_t all, one;
static atomic_int looked;

struct seen {
    int workers, processors;
};

static void look(void *closure, struct scheduler *s)
{
    struct seen *seen = (struct seen *)closure;
    cpu_set_t mine;
    struct sched_stats stats;
    CHECK_EQ(sched_stats(s, &stats, sizeof stats), 0);
    seen->workers = (int)(stats.threads + stats.threads_missing);
    CHECK_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
    seen->processors = CPU_COUNT(&mine);
    looked = 1;
}

/* Uses the default pool, from a thread with this mask. */
static void *first_use(void *mask)
{
    struct seen seen = {0, 0};
    CHECK_EQ(sched_setaffinity(0, sizeof all, (cpu_set_t *)mask), 0);
    looked = 0;
    CHECK_EQ(sched_spawn(look, &seen, NULL), 0);
    while (!looked) /* a wait for a group would run the task in this thread */
        pause_us(200);
    printf("%d %d\n", seen.workers, seen.processors);
    fflush(stdout);
    return NULL;
}

static void in_thread(cpu_set_t *mask)
{
    pthread_t t;
    CHECK_EQ(pthread_create(&t, NULL, first_use, mask), 0);
    pthread_join(t, NULL);
}

static void pinned_thread(void *arg)
{
    in_thread(&one);
}

static void pinned_main(void *arg)
{
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    in_thread(&all);
}

/* Main is pinned, too, and so is the thread. */
static void all_pinned(void *arg)
{
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    in_thread(&one);
}

static void check_said(void (*body)(void *), int workers, int processors)
{
    int said_workers, said_processors;
    in_child(body, NULL);
    CHECK_CHILD_EXITED(0);
    CHECK_EQ(sscanf(child.said, "%d %d", &said_workers, &said_processors), 2);
    CHECK_EQ(said_workers, workers);
    CHECK_EQ(said_processors, processors);
}

int main(void)
{
    int number = threads_of(0);
    const char *threads = getenv("SCHED_THREADS");
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < 2)
        skip("there is one processor");
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    check_said(pinned_thread, threads ? number : sched_default_threads(), CPU_COUNT(&all));
    check_said(pinned_main, threads ? number : sched_default_threads(), CPU_COUNT(&all));
    check_said(all_pinned, threads ? number : 1, 1);
    unsetenv("SCHED_THREADS");
    check_said(pinned_thread, sched_default_threads(), CPU_COUNT(&all));
    check_said(pinned_main, sched_default_threads(), CPU_COUNT(&all));
    check_said(all_pinned, 1, 1);
    return 0;
}
