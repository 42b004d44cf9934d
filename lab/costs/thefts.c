/* thefts.c: what two workers cost each other: thefts, and searches in vain. */

#define _GNU_SOURCE /* for the clocks of processor time */
#include "costs.h"

static atomic_int ready;

static void is_ready(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
    ready = 1;
}

/* Returns when the other worker runs tasks, if the run has two. (Kind cont runs the spawned task here at once; the
 * other worker will come.) */
static void wait_for_other(struct scheduler *s)
{
    ready = sched_worker_count(s) == 1;
    if (!ready)
        spawn(is_ready, s);
    while (!ready)
        ;
}

/* --- tasks that others take ------------------------------------------------------------------------ */

enum { TAKEN = LONGEST_FLOOD, THEFTS = 9 };

static struct scheduler *owner;   /* the worker that spawns */
static _Alignas(128) long kept;   /* tasks that the owner ran ... */
static _Alignas(128) long stolen; /* ... and tasks that the thief ran */
static double first_begun, last_ended, pushing;

static void counted(void *closure, struct scheduler *s)
{
    (void)closure;
    if (s == owner)
        kept++;
    else
        stolen++;
}

static void spawn_all(void *closure, struct scheduler *s)
{
    (void)closure;
    owner = s;
    wait_for_other(s);
    first_begun = now_ns();
    for (int i = 0; i < TAKEN; i++)
        spawn(counted, s);
    pushing = now_ns() - first_begun;
}

/* A flood of empty tasks, by one worker and then by two. It is as long as the longest flood of
 * `alone`: in a shorter one the growth of the queue would take most of the time. In the run with
 * two workers, the spawner needs as much time for its spawns and for the tasks that it keeps as it
 * needs alone; it loses the rest of its time by the thefts. The thief spends all its time on
 * thefts, except what the stolen tasks take.
 *
 * The last sentence is false of a thief that finds nothing most of the time. Kind cont has hardly
 * anything to steal: divided by the dozen thefts of an unusual run, among thousands of searches in
 * vain, the time of the flood would make a theft cost a millisecond. So a run counts only if it
 * had more thefts than searches in vain, and a result is printed only if most runs count. */
void measure_steals(void)
{
    double push[THEFTS], rest[THEFTS], thief[THEFTS], robbed[THEFTS];
    for (int i = 0; i < THEFTS; i++) {
        run(1, spawn_all);
        push[i] = pushing / TAKEN;
        rest[i] = (now_ns() - first_begun - pushing) / TAKEN;
    }
    double a_push = typical(push, THEFTS), a_run = typical(rest, THEFTS);
    long n = 0;
    for (int i = 0; i < THEFTS; i++) {
        kept = stolen = 0;
        run(2, spawn_all);
        double all = now_ns() - first_begun;
        struct sched_stats stats;
        if (sched_last_stats(&stats, sizeof stats) != 0)
            bench_die("sched_last_stats");
        double thefts = (double)stats.steals;
        if (stats.steals > stats.failed_steals && kept > 0) {
            thief[n] = (all - a_run * (double)stolen) / thefts;
            robbed[n++] = (all - a_push * TAKEN - a_run * (double)kept) / thefts;
        }
    }
    if (n > THEFTS / 2) { /* not from a shared queue, in kind cont, or on one processor */
        print("thief", typical(thief, n));
        print("robbed", typical(robbed, n));
    }
}

/* --- searches that find nothing -------------------------------------------------------------------- */

enum { SEARCHES = 9, SEARCHING = 3000000 };

static double processor_ns(clockid_t clock)
{
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        bench_die("clock_gettime");
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* The processor time of all other threads, which do nothing but search. */
void searching(void *closure, struct scheduler *s)
{
    (void)closure;
    double all[SEARCHES];
    long n = 0;
    for (int i = 0; i < SEARCHES; i++) {
        struct sched_stats before, after;
        sched_stats(s, &before, sizeof before);
        double process = processor_ns(CLOCK_PROCESS_CPUTIME_ID);
        double own = processor_ns(CLOCK_THREAD_CPUTIME_ID);
        double start = now_ns();
        while (now_ns() < start + SEARCHING)
            ;
        process = processor_ns(CLOCK_PROCESS_CPUTIME_ID) - process;
        own = processor_ns(CLOCK_THREAD_CPUTIME_ID) - own;
        sched_stats(s, &after, sizeof after);
        if (after.failed_steals > before.failed_steals)
            all[n++] = (process - own) / (double)(after.failed_steals - before.failed_steals);
    }
    if (n == 0)
        bench_die("nobody searched");
    print("search", typical(all, n));
}

/* --- what such searches cost the owner of the deque ------------------------------------------------ */

enum { LONE = 1 << 18, VAIN_RUNS = 9 };

static void lone_forks(void *closure, struct scheduler *s)
{
    (void)closure;
    wait_for_other(s);
    first_begun = now_ns();
    for (int i = 0; i < LONE; i++) {
        sched_task t;
        sched_fork(&t, nothing, NULL, s);
        sched_join(&t, s);
    }
    last_ended = now_ns();
}

/* The owner has one task at a time and gives none away. The statistics say how many searches there were. */
void measure_vain(void)
{
    double alone[VAIN_RUNS], beside[VAIN_RUNS];
    long n = 0;
    for (int i = 0; i < VAIN_RUNS; i++) {
        run(1, lone_forks);
        alone[i] = last_ended - first_begun;
    }
    double usual = typical(alone, VAIN_RUNS);
    for (int i = 0; i < VAIN_RUNS; i++) {
        struct sched_stats stats;
        run(2, lone_forks);
        if (sched_last_stats(&stats, sizeof stats) != 0)
            bench_die("sched_last_stats");
        double more = last_ended - first_begun - usual;
        if (stats.failed_steals > LONE / 256) /* with fewer, the difference would be mostly chance */
            beside[n++] = more / (double)stats.failed_steals;
    }
    if (n > 0) /* the other worker was there */
        print("vain", typical(beside, n));
}
