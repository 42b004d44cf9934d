/* alone.c: one worker: spawns in warm and in fresh memory, forks, and a run without work. */

#include "costs.h"

/* --- batches of spawns, with warm memory ----------------------------------------------------- */

enum { BATCH = 64, BATCHES = 4096, RUNS = 5 };

static long left, batches; /* tasks left of the batch, batches left of the sample */
static int spawning;
static double pushing;     /* ns */

static void batch(void *closure, struct scheduler *s);

/* The task of a batch that runs last begins the next batch. If a spawn runs its task at once, that task still runs
 * within the spawner's loop; then the loop begins the next batch, so that batches do not nest. */
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

void measure_batches(void)
{
    double push[RUNS], rest[RUNS], tasks = BATCH * BATCHES;
    for (int i = 0; i < RUNS; i++) {
        batches = BATCHES;
        pushing = 0;
        run(1, batches_task);
        double all = now_ns() - first_begun;
        if (pushing > all)
            pushing = all; /* each spawn runs its task, and the last task runs the next batch */
        push[i] = pushing / tasks;
        rest[i] = (all - pushing) / tasks;
    }
    print("push", least(push, RUNS));
    print("run", least(rest, RUNS));
}

/* --- a flood of spawns, into fresh memory ----------------------------------------------------- */

/* The lengths of the floods go from SHORTEST_FLOOD to LONGEST_FLOOD; each is four times the one before. */
enum { SHORTEST_FLOOD = 1 << 14 };

static long flood_length;
static unsigned char touched[LONGEST_FLOOD];

/* Tasks of programs have data. Beside a long queue the data do not stay in the cache. */
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

void measure_flood(void)
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

/* --- forks and joins --------------------------------------------------------------------------- */

enum { LEAVES = 1 << 18 };

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

void measure_forks(void)
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

/* --- an empty run ------------------------------------------------------------------------------ */

enum { EMPTY = 31 };

void measure_empty(void)
{
    double all[EMPTY];
    for (int i = 0; i < EMPTY; i++) {
        double start = now_ns();
        run(0, nothing);
        all[i] = now_ns() - start;
    }
    print("init", typical(all, EMPTY));
}
