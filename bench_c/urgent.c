/* urgent.c: tasks that a thread adds beside a flood of n tasks of 1 us, one every 200 us.
 *
 * The first task spawns the flood at once. Until the end of it all, a thread of the program's own adds tasks that note
 * when they begin. -d: the level of these tasks. start_us, p90_us, p99_us and most_us: the median time from the call to
 * the task's start, and other quantiles; `tasks` is their number. Serially the thread's tasks are called where they
 * would be added: the time of a look at the clock. */

#include "bench.h"
#include "outside.h"

#include <sched_tasks.h>

enum { PAUSE = 200, WORK = 1 }; /* us */

struct probe {
    double added, begun;
};

static struct flood flood;
static struct probe *probes;
static long most, added, turns, ended; /* of probes: most, added; of tasks of 1 us: turns; of the flood: ended */
static int level, is_outside;
static struct scheduler *of_run;

static void note(void *closure, struct scheduler *s)
{
    (void)s;
    ((struct probe *)closure)->begun = bench_now();
}

static void drop(void *closure, struct scheduler *s)
{
    (void)s;
    long i = (long)(intptr_t)closure;
    *flood_at(&flood, i) += (unsigned char)(bench_turns((uint64_t)i, turns) == bench_turned((uint64_t)i, (uint64_t)turns));
    __atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
}

static int add(struct probe *p, struct scheduler *s)
{
    p->added = bench_now();
    return is_outside ? sched_spawn(note, p, s) : sched_spawn_at(level, note, p, s);
}

/* The thread. The run lasts as long as tasks of the flood are left; a call that comes too late fails. */
static void *probe(void *closure)
{
    (void)closure;
    struct scheduler *s;
    while ((s = __atomic_load_n(&of_run, __ATOMIC_ACQUIRE)) == NULL)
        outside_sleep(PAUSE);
    while (added < most && __atomic_load_n(&ended, __ATOMIC_RELAXED) < flood.n && add(&probes[added], s) == 0) {
        added++;
        outside_sleep(PAUSE);
    }
    return NULL;
}

static void first_task(void *closure, struct scheduler *s)
{
    (void)closure;
    __atomic_store_n(&of_run, s, __ATOMIC_RELEASE);
    for (long i = 0; i < flood.n; i++)
        bench_spawn(drop, (void *)(intptr_t)i, s);
}

static void serial_run(void *closure)
{
    (void)closure;
    for (long i = 0; i < flood.n; i++) {
        drop((void *)(intptr_t)i, NULL);
        if (i % (PAUSE / WORK) == 0 && added < most) {
            probes[added].added = bench_now();
            note(&probes[added++], NULL);
        }
    }
}

static const struct bench_about about = {
    "urgent", "tasks of the flood", 1000000, 1, 1L << 28, "urgent (the default), normal, background, or spawn",
};

int main(int argc, char **argv)
{
    static const char *const levels[] = {"normal", "urgent", "background", "spawn"};
    struct bench b = bench_start(&about, argc, argv);
    const char *data = b.data != NULL ? b.data : "urgent";
    for (level = 0; level < 4 && strcmp(levels[level], data) != 0; level++)
        ;
    if (level == 4)
        bench_refuse(&b, data, "%s is wanted", about.data);
    is_outside = level == 3;
    turns = (long)((double)WORK * 1000 / bench_calibrate(64));
    flood = flood_new(b.n);
    most = b.n / (PAUSE / WORK) + 1;
    probes = (struct probe *)bench_alloc((size_t)most, sizeof *probes);
    double *us = (double *)bench_alloc((size_t)most, sizeof *us);

    for (int r = 0; r < b.repetitions; r++) {
        pthread_t thread;
        flood_clear(&flood);
        memset(probes, 0, (size_t)most * sizeof *probes);
        added = ended = 0;
        of_run = NULL;
        if (!b.serial)
            bench_check(pthread_create(&thread, NULL, probe, NULL), "pthread_create");

        bench_run(&b, first_task, serial_run, NULL);

        if (!b.serial)
            bench_check(pthread_join(thread, NULL), "pthread_join");
        uint64_t sum;
        int right = flood_right(&flood, &sum);
        for (long i = 0; i < added; i++) {
            right = right && probes[i].begun >= probes[i].added;
            us[i] = 1e6 * (probes[i].begun - probes[i].added);
        }
        bench_sort(us, added);
        bench_field(&b, "start_us", added > 0 ? bench_quantile(us, added, 0.5) : 0);
        bench_field(&b, "p90_us", added > 0 ? bench_quantile(us, added, 0.9) : 0);
        bench_field(&b, "p99_us", added > 0 ? bench_quantile(us, added, 0.99) : 0);
        bench_field(&b, "most_us", added > 0 ? us[added - 1] : 0);
        bench_field(&b, "probes", (double)added);
        bench_line(&b, b.n + added + 1, sum, right);
    }
    free(us);
    free(probes);
    free(flood.seen);
    return bench_end(&b);
}
