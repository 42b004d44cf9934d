/* The scenes. */
#include "scene.h"

enum { ELEMENTS = LOOP_ELEMENTS };

static void run(void)
{
    if (DONE(sched_init(3, 8, whole, NULL), ENOMEM))
        note_missing(NULL);
}

/* Its argument is a copy. */
static void run_pointed(void *copy, struct scheduler *s)
{
    run_job(*(struct job **)copy, s);
}

static void pool(void)
{
    struct sched_options options = {.size = sizeof options, .nthreads = 3, .qlen = 8};
    struct sched_pool *pool = NULL;
    if (!DONE((pool = sched_pool_create(&options)) != NULL ? 0 : -1, ENOMEM, EAGAIN))
        return;
    for (int i = 0; i < 10; i++) {
        struct job *job = new_job(), *copied = new_job();
        job->accepted = DONE(sched_pool_submit(pool, run_job, job), EAGAIN);
        copied->accepted = DONE(sched_pool_submit_copy(pool, run_pointed, &copied, sizeof copied), EAGAIN);
    }
    DONE(sched_pool_run(pool, whole, NULL), EAGAIN);
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    note_missing(NULL);
}

/* NULL outside of a task: the pool is made by the call that needs it first. */
static void default_pool(void)
{
    static int array[ELEMENTS];
    struct job *job = new_job(), *in_group = new_job(), *forked = new_job();
    sched_group g = SCHED_GROUP_INIT;
    sched_task t;
    forked->accepted = 1;
    sched_fork(&t, run_job, forked, NULL);
    sched_join(&t, NULL);
    CHECK_EQ(forked->ran, 1);
    job->accepted = DONE(sched_spawn(run_job, job, NULL), EAGAIN, ENOMEM);
    in_group->accepted = DONE(sched_group_spawn(&g, run_job, in_group, NULL), EAGAIN, ENOMEM);
    CHECK_EQ(sched_group_wait(&g, NULL), 0);
    use_loops(array, NULL);
    struct patience p = patience_of(50);
    while (job->ran < job->accepted && is_patient(&p))
        pause_us(20);
}

/* Longer queues than are kept ready, and stacks: some of this many tasks wait. */
enum { FLOOD = 20000, MAPPED = 600000, WAITING = 40, CROWD = 20000 };

static atomic_long flooded;

static void drop(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
    flooded++;
}

static void wait_at_gate(void *closure, struct scheduler *s)
{
    wait_foreign(s);
    drop(closure, s);
}

struct flood {
    long waiting, tasks, accepted;
};

static long spawn_up_to(long n, taskfunc f, struct scheduler *s)
{
    long accepted = 0;
    while (accepted < n && DONE(sched_spawn(f, NULL, s), EAGAIN))
        accepted++;
    return accepted;
}

static void pour(void *arg, struct scheduler *s)
{
    struct flood *flood = arg;
    flooded = 0;
    flood->accepted = spawn_up_to(flood->waiting, wait_at_gate, s) + spawn_up_to(flood->tasks, drop, s);
}

static void flood_of(long waiting, long tasks)
{
    struct flood flood = {waiting, tasks, 0};
    if (!DONE(sched_init(3, 8, pour, &flood), ENOMEM))
        return;
    CHECK_EQ(flooded, flood.accepted);
    note_missing(NULL);
}

static void flood(void)
{
    flood_of(WAITING, FLOOD);
}

static void large_flood(void)
{
    flood_of(WAITING, MAPPED);
}

/* Far more stacks at once than anything else needs. */
static void crowd(void)
{
    flood_of(CROWD, WAITING);
}

/* Runs that write all files that a run can write; an error in a file does not fail the run; the
 * files have relative names, and later runs begin in a folder where nobody can write. */
static void files(void)
{
    setenv("SCHED_STATS", "json", 1);
    setenv("SCHED_STATS_FILE", "stats", 1);
    setenv("SCHED_TRACE", "trace.json", 1);
    setenv("SCHED_TRACE_SIZE", "4K", 1);
    setenv("SCHED_PROFILE", "json", 1);
    setenv("SCHED_WATCHDOG", "20ms", 1);
    DONE(sched_init(3, 8, whole, NULL), ENOMEM);
    note_missing(NULL);
    if (chdir("/proc") == 0) {
        DONE(sched_init(3, 8, whole, NULL), ENOMEM);
        note_missing(NULL);
    }
}

const struct scene scenes[] = {
    {"run", run, 0}, {"pool", pool, 0}, {"default", default_pool, 0}, {"flood", flood, 0},
    {"large-flood", large_flood, 0}, {"files", files, 0}, {"crowd", crowd, 1},
    {"talk", talk, 0},
};
const int scene_count = sizeof scenes / sizeof *scenes;
