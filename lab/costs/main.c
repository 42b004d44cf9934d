/* costs.c: what the calls of a scheduler cost, one by one: the prices with which the simulator
 * replays programs. All by the public interface, so that the same binary measures each kind, and the
 * recorder's stand-in, whose own cost is in every recording already.
 *
 *   costs alone       one worker: push, run, fork, flood
 *   costs together    two workers: thief and robbed, where there are thieves; wake, waker; the same
 *                     at the beginning of a run: first wake, first waker
 *   costs lone        SCHED_IDLE=spin, two workers: late
 *   costs searching   SCHED_IDLE=spin, many workers: search
 *   costs vain        SCHED_IDLE=spin, two workers: vain
 *   costs empty       init, for as many workers as SCHED_THREADS says
 *   costs contended   SCHED_THREADS=1, and 2: spawns and forks, by how long tasks think
 *   costs machine     no scheduler: line
 *
 * Where SCHED_THREADS is not named it must not be set: it overrides the numbers of workers that these
 * modes ask for, one and two in turn.
 *
 * A line `name=nanoseconds` for each. Others who use the machine, or the other half of a core, only add
 * to what a loop takes: of what does the same each time the least sample counts. A sample of these is as
 * long as a run of the programs that are predicted, and there are as many of them in a process: the
 * least of many short ones would be less than any run can be. What is different each time has
 * the lower quartile, wake-ups that of many short samples, thefts and searches in vain that of some long ones;
 * contention has the median. */

#define _GNU_SOURCE /* for processor sets */
#include "../bench_c/measure.h"

#include <pthread.h>
#include <sched_tasks.h>
#include <stdatomic.h>

static double now_ns(void)
{
    return 1e9 * bench_now();
}

/* The lower quartile: half of those that nobody interrupted, if as many were. */
static double typical(double *x, long n)
{
    bench_sort(x, n);
    return bench_quantile(x, n, 0.25);
}

/* But for the first, which finds cold memory. */
static double least(const double *x, long n)
{
    double min = x[1];
    for (long i = 2; i < n; i++)
        if (x[i] < min)
            min = x[i];
    return min;
}

static void print(const char *name, double nanoseconds)
{
    printf("%s=%.3f\n", name, nanoseconds);
}

static void run(int threads, taskfunc f)
{
    if (sched_init(threads, 0, f, NULL) != 0)
        bench_die("sched_init");
}

static void spawn(taskfunc f, struct scheduler *s)
{
    if (sched_spawn(f, NULL, s) != 0)
        bench_die("sched_spawn");
}

/* --- alone: spawns in batches, of memory that is warm ---------------------------- */

enum { BATCH = 64, BATCHES = 4096, RUNS = 5 };

static long left, batches; /* of the batch, of the sample */
static int spawning;
static double pushing;     /* ns */

static void batch(void *closure, struct scheduler *s);

/* The last task of a batch, whichever that is, begins the next; but where a spawn runs the task at
 * once it is within the spawner's loop, which does, so that no batch is within another. */
static void empty(void *closure, struct scheduler *s)
{
    (void)closure;
    if (--left == 0 && --batches > 0 && !spawning)
        batch(NULL, s);
}

static void batch(void *closure, struct scheduler *s)
{
    (void)closure;
    double start = now_ns();
    spawning = 1;
    do {
        left = BATCH;
        for (int i = 0; i < BATCH; i++)
            spawn(empty, s);
    } while (left == 0 && batches > 0);
    spawning = 0;
    pushing += now_ns() - start;
}

static double first_begun, last_ended;

static void batches_task(void *closure, struct scheduler *s)
{
    first_begun = now_ns();
    batch(closure, s);
}

static void measure_batches(void)
{
    double push[RUNS], rest[RUNS], tasks = BATCH * BATCHES;
    for (int i = 0; i < RUNS; i++) {
        batches = BATCHES;
        pushing = 0;
        run(1, batches_task);
        double all = now_ns() - first_begun;
        if (pushing > all)
            pushing = all; /* each spawn runs the task, and the last one the next batch */
        push[i] = pushing / tasks;
        rest[i] = (all - pushing) / tasks;
    }
    print("push", least(push, RUNS));
    print("run", least(rest, RUNS));
}

/* --- alone: a flood, into memory that is fresh ------------------------------------ */

/* Of these lengths, by four. */
enum { SHORTEST_FLOOD = 1 << 14, LONGEST_FLOOD = 1 << 18 };

static long flood_length;
static unsigned char touched[LONGEST_FLOOD];

/* Tasks have data: beside a long queue that is one more that does not stay in the cache. */
static void touch(void *closure, struct scheduler *s)
{
    (void)s;
    touched[(intptr_t)closure]++;
}

static void flood(void *closure, struct scheduler *s)
{
    (void)closure;
    first_begun = now_ns();
    for (long i = 0; i < flood_length; i++)
        if (sched_spawn(touch, (void *)(intptr_t)i, s) != 0)
            bench_die("sched_spawn");
}

static void measure_flood(void)
{
    for (long n = SHORTEST_FLOOD; n <= LONGEST_FLOOD; n *= 4) {
        double all[RUNS];
        flood_length = n;
        for (int i = 0; i < RUNS; i++) {
            run(1, flood);
            all[i] = (now_ns() - first_begun) / (double)n;
        }
        char name[32];
        snprintf(name, sizeof name, "flood %ld", n);
        print(name, least(all, RUNS));
    }
}

/* --- alone: forks and joins -------------------------------------------------------- */

/* Of a tree as uneven as those of programs: branches whose pattern repeats cost less. Three eighths of
 * the leaves are below one side of each node. */
enum { LEAVES = 1 << 18 };

struct forks {
    long leaves, seen;
};

static inline void fork_or_end(struct forks *f, taskfunc itself, struct scheduler *s)
{
    f->seen = 1;
    if (f->leaves == 1)
        return;
    long fewer = f->leaves * 3 / 8 + (f->leaves == 2);
    struct forks other = {fewer, 0}, own = {f->leaves - fewer, 0};
    sched_task t;
    sched_fork(&t, itself, &other, s);
    itself(&own, s);
    sched_join(&t, s);
    f->seen = own.seen + other.seen;
}

static void forks(void *closure, struct scheduler *s)
{
    fork_or_end(closure, forks, s);
}

static void forks_task(void *closure, struct scheduler *s)
{
    first_begun = now_ns();
    forks(closure, s);
    last_ended = now_ns();
}

static void measure_forks(void)
{
    double all[RUNS];
    for (int i = 0; i < RUNS; i++) {
        struct forks root = {LEAVES, 0};
        if (sched_init(1, 0, forks_task, &root) != 0 || root.seen != LEAVES)
            bench_die("a tree of forks");
        all[i] = (last_ended - first_begun) / (LEAVES - 1);
    }
    print("fork", least(all, RUNS));
}

/* --- a run of nothing ---------------------------------------------------------------- */

enum { EMPTY = 31 };

static void nothing(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
}

static void measure_empty(void)
{
    double all[EMPTY];
    for (int i = 0; i < EMPTY; i++) {
        double start = now_ns();
        run(0, nothing);
        all[i] = now_ns() - start;
    }
    print("init", typical(all, EMPTY));
}

/* --- tasks that others take --------------------------------------------------------- */

enum { TAKEN = LONGEST_FLOOD, THEFTS = 9 };

static struct scheduler *owner;   /* the worker that spawns */
static _Alignas(128) long kept;   /* tasks that it ran ... */
static _Alignas(128) long stolen; /* ... and those that the other ran */
static atomic_int ready;

static void counted(void *closure, struct scheduler *s)
{
    (void)closure;
    if (s == owner)
        kept++;
    else
        stolen++;
}

static void is_ready(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
    ready = 1;
}

/* With another worker, from when that has come. (Under cont, whose spawn runs the task here: it will come.) */
static void wait_for_other(struct scheduler *s)
{
    ready = sched_worker_count(s) == 1;
    if (!ready)
        spawn(is_ready, s);
    while (!ready)
        ;
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

/* A flood of empty tasks, as long as the longest of those alone, by one worker and by two. Of the time
 * of the two the one who spawns needs what it needs alone for all its spawns, and for the tasks that it
 * keeps; what is left it loses by the thefts. The thief spends all on thefts but for what the tasks
 * take. (Of shorter floods the growth of the queue would be most.) */
static void measure_steals(void)
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
        if (thefts > 10 && kept > 0) {
            thief[n] = (all - a_run * (double)stolen) / thefts;
            robbed[n++] = (all - a_push * TAKEN - a_run * (double)kept) / thefts;
        }
    }
    if (n > 0) { /* nobody steals from a queue that all share, or on one processor */
        print("thief", typical(thief, n));
        print("robbed", typical(robbed, n));
    }
}

/* --- where workers contend for a queue's lock ---------------------------------------------- */

/* Spawns by one task, and a tree of forks, whose tasks think for a while. */
enum { CONTENDED = 1 << 15, CONTESTS = 7 };

static const long thinks[] = {0, 16, 64, 256}; /* as THINKS in simulator/src/prices.rs */
static long thinking;

/* Between nothing and twice the average, by the task's number. */
static void think(uint64_t task)
{
    if (thinking == 0)
        return;
    uint64_t hash = task * 0x9e3779b97f4a7c15, y = 1;
    long times = (long)(((hash ^ hash >> 32) & 0xffff) * (uint64_t)(2 * thinking + 1) >> 16);
    for (long i = 0; i < times; i++) {
        y = y * 3 + 1;
        __asm__ volatile("" : "+r"(y));
    }
}

static void thinker(void *closure, struct scheduler *s)
{
    (void)s;
    think((uint64_t)(uintptr_t)closure);
}

static void spawn_thinkers(void *closure, struct scheduler *s)
{
    (void)closure;
    first_begun = now_ns();
    for (long i = 0; i < CONTENDED; i++)
        if (sched_spawn(thinker, (void *)(intptr_t)i, s) != 0)
            bench_die("sched_spawn");
}

static void forked_thinkers(void *closure, struct scheduler *s)
{
    struct forks *f = closure;
    think((uint64_t)(uintptr_t)f + (uint64_t)f->leaves);
    fork_or_end(f, forked_thinkers, s);
}

static void fork_thinkers(void *closure, struct scheduler *s)
{
    struct forks root = {CONTENDED, 0};
    (void)closure;
    first_begun = now_ns();
    forked_thinkers(&root, s);
    last_ended = now_ns();
}

/* Of one worker, or of two that contend. Others who use the machine may keep one away, and then the
 * other is faster: so the median of all. */
static void measure_contention(void)
{
    for (size_t t = 0; t < sizeof thinks / sizeof *thinks; t++) {
        double spawning_ns[CONTESTS], forking_ns[CONTESTS];
        thinking = thinks[t];
        for (int i = 0; i < CONTESTS; i++) {
            run(0, spawn_thinkers);
            spawning_ns[i] = (now_ns() - first_begun) / CONTENDED;
            run(0, fork_thinkers);
            forking_ns[i] = (last_ended - first_begun) / (CONTENDED - 1);
        }
        char name[32];
        bench_sort(spawning_ns, CONTESTS);
        snprintf(name, sizeof name, "spawns %ld", thinking);
        print(name, spawning_ns[CONTESTS / 2]);
        bench_sort(forking_ns, CONTESTS);
        snprintf(name, sizeof name, "forks %ld", thinking);
        print(name, forking_ns[CONTESTS / 2]);
    }
}

/* --- from a spawn to its start on another worker -------------------------------------------- */

enum { WAKES = 100, PAUSE = 300000, SHORT_PAUSE = 2000, REST = 1000000 };

static int pause_before = PAUSE;

static double first_mark[WAKES], second_mark[WAKES];
static _Alignas(128) atomic_long marks;
static double asked;

/* Of a spawned task and the rest of its spawner, one goes on here, at once. The other goes on
 * elsewhere: until then the first does nothing else. */
static void mark(long i)
{
    double now = now_ns();
    if (atomic_fetch_add(&marks, 1) == 2 * i)
        first_mark[i] = now - asked;
    else
        second_mark[i] = now - asked;
    while (marks < 2 * (i + 1))
        ;
}

static void marked(void *closure, struct scheduler *s)
{
    (void)s;
    mark((long)(intptr_t)closure);
}

static void wait_ns(double nanoseconds)
{
    double start = now_ns();
    while (now_ns() < start + nanoseconds)
        ;
}

/* The i-th, with another worker. */
static void wake(long i, struct scheduler *s)
{
    marks = 2 * i;
    asked = now_ns();
    if (sched_spawn(marked, (void *)(intptr_t)i, s) != 0)
        bench_die("sched_spawn");
    mark(i);
}

static void wake_all(void *closure, struct scheduler *s)
{
    (void)closure;
    for (long i = 0; i < WAKES; i++) {
        wait_ns(pause_before);
        wake(i, s);
    }
}

static void wake_first(void *closure, struct scheduler *s)
{
    wake((long)(intptr_t)closure, s);
}

/* Who has rested since the last run is farther from being awake than who slept within a run. */
static void measure_wakes(void)
{
    run(2, wake_all);
    print("wake", typical(second_mark, WAKES));
    print("waker", typical(first_mark, WAKES));
    for (long i = 0; i < WAKES; i++) {
        wait_ns(REST);
        if (sched_init(2, 0, wake_first, (void *)(intptr_t)i) != 0)
            bench_die("sched_init");
    }
    print("first wake", typical(second_mark, WAKES));
    print("first waker", typical(first_mark, WAKES));
}

/* Of a thief that has just begun to search. */
static void measure_late(void)
{
    pause_before = SHORT_PAUSE;
    run(2, wake_all);
    print("late", typical(second_mark, WAKES));
}

/* --- a line of memory, from one processor to another -------------------------------------- */

enum { TURNS = 200, SAMPLES = 151 };

static cpu_set_t processors; /* that this thread had before it started another */

/* Keeps a thread on the first, or the last, of the processors that we have. */
static void keep_on(pthread_t t, int last)
{
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && (last || CPU_COUNT(&one) == 0)) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
        }
    pthread_setaffinity_np(t, sizeof one, &one);
}

/* On another processor than this one, if there are two. */
static pthread_t start_thread(void *f(void *))
{
    pthread_t t;
    cpu_set_t all;
    int known = sched_getaffinity(0, sizeof all, &all) == 0;
    errno = pthread_create(&t, NULL, f, NULL);
    if (errno != 0)
        bench_die("pthread_create");
    keep_on(t, 1);
    keep_on(pthread_self(), 0);
    if (known)
        processors = all;
    return t;
}

static void end_thread(pthread_t t)
{
    errno = pthread_join(t, NULL);
    if (errno != 0)
        bench_die("pthread_join");
    pthread_setaffinity_np(pthread_self(), sizeof processors, &processors);
}

static _Alignas(128) atomic_int turn;

static void take_turns(int first)
{
    for (int mine = first; mine < TURNS; mine += 2) {
        for (long tries = 1; turn != mine; tries++)
            if (tries % 4096 == 0)
                sched_yield(); /* both may be on one processor */
        turn = mine + 1;
    }
}

static void *other_side(void *closure)
{
    (void)closure;
    take_turns(1);
    return NULL;
}

static void measure_line(void)
{
    double all[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        turn = -1;
        pthread_t t = start_thread(other_side);
        wait_ns(PAUSE / 2); /* until it waits for its turn */
        double start = now_ns();
        turn = 0;
        take_turns(0);
        while (turn != TURNS)
            sched_yield();
        all[i] = (now_ns() - start) / TURNS;
        end_thread(t);
    }
    print("line", typical(all, SAMPLES));
}

/* --- searches that find nothing ------------------------------------------------------------ */

enum { SEARCHES = 9, SEARCHING = 3000000 };

static double processor_ns(clockid_t clock)
{
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        bench_die("clock_gettime");
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* The processor time of all other threads, of which each does nothing else. */
static void searching(void *closure, struct scheduler *s)
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

/* --- what these cost the worker whose deque they look at ----------------------------------------- */

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

/* Of an owner that has one task at a time, or its rest, and does not give that away. How many searches
 * there were the statistics say. */
static void measure_vain(void)
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
        if (stats.failed_steals > LONE / 256) /* of fewer, what differs by chance would be most */
            beside[n++] = more / (double)stats.failed_steals;
    }
    if (n > 0) /* the other worker was there */
        print("vain", typical(beside, n));
}

/* --------------------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
    const char *mode = argc == 2 ? argv[1] : "";
    bench_calibrate(16); /* the processor is awake from here on */
    if (strcmp(mode, "alone") == 0) {
        measure_batches();
        measure_flood();
        measure_forks();
    } else if (strcmp(mode, "together") == 0) {
        measure_steals();
        measure_wakes();
    } else if (strcmp(mode, "lone") == 0) {
        measure_late();
    } else if (strcmp(mode, "searching") == 0) {
        run(0, searching);
    } else if (strcmp(mode, "vain") == 0) {
        measure_vain();
    } else if (strcmp(mode, "empty") == 0) {
        measure_empty();
    } else if (strcmp(mode, "contended") == 0) {
        measure_contention();
    } else if (strcmp(mode, "machine") == 0) {
        measure_line();
    } else {
        fprintf(stderr, "usage: costs alone, together, lone, searching, vain, empty, contended or machine\n");
        return 2;
    }
    return 0;
}
