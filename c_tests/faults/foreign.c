/* A thread that is not the library's: it holds what tasks wait for, and uses a run from outside. Each of its waits has
 * one waiting task, and no task waits for another: so the scenes end even where there is no memory for stacks, and tasks
 * run on top of those that wait. */
#include "scene.h"

enum want { MUTEX, COND, SEM, BARRIER, OUTSIDE, WANTS };

static atomic_int wanted[WANTS];
static struct scheduler *_Atomic of_run;
static sched_mutex held = SCHED_MUTEX_INIT, guard = SCHED_MUTEX_INIT;
static sched_cond changed = SCHED_COND_INIT;
static sched_sem units = SCHED_SEM_INIT(0), answered = SCHED_SEM_INIT(0);
static sched_barrier both = SCHED_BARRIER_INIT(2);
static int is_true;
static atomic_int got, holds; /* got: a task has had the mutex; holds: the thread has it */

static void use_run_from_outside(struct scheduler *s)
{
    static int array[LOOP_ELEMENTS];
    struct job *job = new_job(), *in_group = new_job();
    sched_group g = SCHED_GROUP_INIT;
    sched_task t;
    job->accepted = DONE(sched_spawn(run_job, job, s), EAGAIN);
    in_group->accepted = DONE(sched_group_spawn(&g, run_job, in_group, s), EAGAIN);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(in_group->ran, in_group->accepted);
    job = new_job();
    job->accepted = 1;
    sched_fork(&t, run_job, job, s);
    sched_join(&t, s);
    CHECK_EQ(job->ran, 1);
    use_loops(array, s);
}

static void supply(enum want want)
{
    switch (want) {
    case MUTEX:
        holds = 0;
        CHECK_EQ(sched_mutex_unlock(&held), 0);
        break;
    case COND:
        CHECK_EQ(sched_mutex_lock(&guard, NULL), 0);
        is_true = 1;
        CHECK_EQ(sched_mutex_unlock(&guard), 0);
        CHECK_EQ(sched_cond_signal(&changed), 0);
        CHECK_EQ(sched_cond_broadcast(&changed), 0);
        break;
    case SEM: CHECK_EQ(sched_sem_post(&units), 0); break;
    case BARRIER: CHECK(sched_barrier_wait(&both, NULL) >= 0); break;
    default:
        use_run_from_outside(of_run);
        CHECK_EQ(sched_sem_post(&answered), 0);
    }
}

static void *foreign(void *arg)
{
    CHECK_EQ(sched_mutex_lock(&held, NULL), 0);
    (void)arg;
    holds = 1;
    for (;;) {
        for (int i = 0; i < WANTS; i++)
            while (wanted[i] > 0) {
                wanted[i]--; /* before it is supplied: then the next one may be wanted at once */
                supply((enum want)i);
            }
        if (got) { /* not waited for above: the task may lie below one that waits for this thread */
            got = 0;
            CHECK_EQ(sched_mutex_lock(&held, NULL), 0);
            holds = 1;
        }
        pause_us(20);
    }
    return NULL;
}

void begin_foreign(void)
{
    begin_thread(foreign, NULL);
    while (!holds)
        pause_us(20);
}

static void wait_mutex(void *job, struct scheduler *s)
{
    wanted[MUTEX] = 1;
    CHECK_EQ(sched_mutex_lock(&held, s), 0);
    CHECK_ERRNO(sched_mutex_trylock(&held), EBUSY);
    CHECK_EQ(sched_mutex_unlock(&held), 0);
    got = 1;
    run_job(job, s);
}

static void wait_cond(void *job, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&guard, s), 0);
    is_true = 0;
    wanted[COND] = 1;
    while (!is_true)
        CHECK_EQ(sched_cond_wait(&changed, &guard, s), 0);
    CHECK_EQ(sched_mutex_unlock(&guard), 0);
    run_job(job, s);
}

void wait_foreign(struct scheduler *s)
{
    wanted[SEM]++;
    CHECK_EQ(sched_sem_wait(&units, s), 0);
}

static void wait_sem(void *job, struct scheduler *s)
{
    wait_foreign(s);
    run_job(job, s);
}

static void wait_barrier(void *job, struct scheduler *s)
{
    wanted[BARRIER] = 1;
    CHECK(sched_barrier_wait(&both, s) >= 0);
    run_job(job, s);
}

/* One task waits for each. In the end the foreign thread uses the run of s. */
void meet_foreign(struct scheduler *s)
{
    static const taskfunc waits[] = {wait_mutex, wait_cond, wait_sem, wait_barrier};
    sched_group g = SCHED_GROUP_INIT;
    while (!holds)
        pause_us(20);
    for (int i = 0; i < 4; i++) {
        struct job *job = new_job();
        job->accepted = DONE(sched_group_spawn(&g, waits[i], job, s), EAGAIN);
    }
    CHECK_EQ(sched_group_wait(&g, s), 0);
    of_run = s;
    wanted[OUTSIDE] = 1;
    CHECK_EQ(sched_sem_wait(&answered, s), 0);
}
