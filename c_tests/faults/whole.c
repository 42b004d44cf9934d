/* The task that uses the interface: spawns, copies, forks and joins, typed tasks, groups, loops, waits, blocking
 * sections, runs within runs, and the counts. */
#include "scene.h"

enum { SPAWNED = 24, ELEMENTS = LOOP_ELEMENTS };

struct copy {
    struct job *job;
    unsigned char bytes[SCHED_COPY_MAX - sizeof(struct job *)];
};

static void check_copy(void *arg, struct scheduler *s)
{
    struct copy *copy = arg;
    CHECK_EQ(copy->bytes[0], 7);
    CHECK_EQ(copy->bytes[15], 9);
    run_job(copy->job, s);
}

static void spawn_two(void *job, struct scheduler *s)
{
    for (int i = 0; i < 2; i++) {
        struct job *below = new_job();
        below->accepted = DONE(sched_spawn(run_job, below, s), EAGAIN);
    }
    run_job(job, s);
}

static void spawn(struct scheduler *s)
{
    struct copy copy = {NULL, {[0] = 7, [15] = 9}};
    for (int i = 0; i < SPAWNED; i++) {
        struct job *job = new_job();
        job->accepted = DONE(sched_spawn(spawn_two, job, s), EAGAIN);
        copy.job = new_job();
        size_t size = i % 2 ? sizeof copy : 24;
        atomic_int ok = DONE(sched_spawn_copy(check_copy, &copy, size, s), EAGAIN);
        copy.job->accepted = ok;
    }
}

struct node {
    struct job *job;
    int depth;
};

static void fork_two(void *arg, struct scheduler *s)
{
    struct node *node = arg;
    if (node->depth > 0) {
        struct node a = {new_job(), node->depth - 1}, b = {new_job(), node->depth - 1};
        sched_task t;
        a.job->accepted = b.job->accepted = 1;
        (sched_fork)(&t, fork_two, &a, s);
        fork_two(&b, s);
        sched_task_yield(s);
        (sched_join)(&t, s);
        CHECK_EQ(a.job->ran, 1);
    }
    run_job(node->job, s);
}

SCHED_TASK(long, typed_fib, long, n)
{
    if (n < 2)
        return n;
    typed_fib_task a;
    SCHED_FORK(typed_fib, &a, n - 1);
    long b = SCHED_CALL(typed_fib, n - 2);
    return SCHED_JOIN(typed_fib, &a) + b;
}

static void fork_and_join(struct scheduler *s)
{
    struct node top = {new_job(), 5};
    top.job->accepted = 1;
    fork_two(&top, s);
    CHECK_EQ(typed_fib(10, s), 55);
}

static void idle(void *job, struct scheduler *s)
{
    pause_us(200); /* others come for the rest of the group */
    run_job(job, s);
}

static void group(struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    struct copy copy = {NULL, {[0] = 7, [15] = 9}};
    for (int i = 0; i < 6; i++) {
        struct job *job = new_job();
        job->accepted = DONE(sched_group_spawn(&g, idle, job, s), EAGAIN);
        copy.job = new_job();
        copy.job->accepted = DONE(sched_group_spawn_copy(&g, check_copy, &copy, 40, s), EAGAIN);
    }
    CHECK_EQ(sched_group_wait(&g, s), 0);
    sched_group_cancel(&g);
    CHECK_EQ(sched_group_cancelled(&g), 1);
    CHECK_ERRNO(sched_group_wait(&g, s), ECANCELED);
}

static void block(void *job, struct scheduler *s)
{
    /* A task that got no stack of its own when it began can begin no section as long as it runs. */
    int began = TRIED(1, sched_block_begin(s), EAGAIN);
    pause_us(100);
    if (began)
        CHECK_EQ(sched_block_end(s), 0);
    run_job(job, s);
}

static void count_workers(struct scheduler *s)
{
    struct sched_stats stats;
    CHECK(sched_worker_count(s) >= 1);
    CHECK(sched_worker_index(s) < sched_worker_count(s));
    CHECK_EQ(sched_stats(s, &stats, sizeof stats), 0);
    CHECK(sched_default_threads() >= 1);
}

void whole(void *closure, struct scheduler *s)
{
    static int array[ELEMENTS];
    struct job *within = new_job(), *in_section = new_job();
    (void)closure;
    spawn(s);
    fork_and_join(s);
    group(s);
    use_loops(array, s);
    in_section->accepted = DONE(sched_spawn(block, in_section, s), EAGAIN);
    within->accepted = DONE(sched_init(2, 4, run_job, within), ENOMEM);
    meet_foreign(s);
    count_workers(s);
    note_missing(s);
}
