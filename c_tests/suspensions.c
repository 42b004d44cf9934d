/* suspensions: tasks that wait, and where they continue. */
#include "case.h"
#include "aside.h"
#include "proc.h"
#include "seccomp.h"
#include "pool.h"
#include <stdatomic.h>
#include <sched_tasks.h>

/* suspend_nested: Runs within runs, and tasks that wait for those of another run: the outer's
 * within the inner, in a task or at its side, and a task of one run for a group whose tasks are
 * another run's.
 * ctest: matrix with=threads deque=mutex,split,chaselev idle=park,nap threads=4,16
 * ctest: matrix with=threads deque=mutex,split idle=park threads=4 join=help
 * ctest: matrix with=threads deque=mutex,split idle=park threads=4 trace env=SCHED_TRACE_LIVES=1 */
enum { TASKS = 8, ROUNDS = 30 / SMALLER };

static atomic_int outer_ran, inner_ran, done;

static void add(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    atomic_fetch_add((atomic_int *)closure, 1);
}

struct both {
    struct scheduler *outer;
    sched_group *of_outer;
};

/* A task of the inner run: forks, groups and yields there, and waits for the outer run's tasks. */
static void inside(void *closure, struct scheduler *s)
{
    struct both *both = closure;
    sched_group g = SCHED_GROUP_INIT;
    sched_task t;
    CHECK_TIMES(TASKS, sched_group_spawn(&g, add, &inner_ran, s));
    sched_fork(&t, add, &outer_ran, both->outer);
    change_thread(s);
    sched_task_yield(s);
    sched_join(&t, both->outer);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(sched_group_wait(both->of_outer, both->outer), 0);
}

static void has_run(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    struct both both = {s, &g};
    sched_task_yield(s);
    CHECK_TIMES(TASKS, sched_group_spawn(&g, add, &outer_ran, s));
    CHECK_EQ(sched_init(2, 4, inside, &both), 0);
    sched_task_yield(s);
    done++;
}

static void outer(void *closure, struct scheduler *s)
{
    CHECK_TIMES(3, sched_spawn(has_run, NULL, s));
}

/* A run beside: its tasks are in a group for which a task of the other run waits. */
static sched_group across;
static atomic_int ready, ended_across;

static void slow(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    pause_us(300);
    ended_across++;
}

static void beside(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_group_spawn(&across, slow, NULL, s), 0);
    CHECK_EQ(sched_group_spawn(&across, slow, NULL, s), 0);
    ready = 1;
}

static void *run_beside(void *arg)
{
    CHECK_EQ(sched_init(2, 4, beside, arg), 0);
    return arg;
}

static void waits_across(void *closure, struct scheduler *s)
{
    while (!ready)
        sched_task_yield(s);
    CHECK_EQ(sched_group_wait(&across, s), 0);
    CHECK_EQ(ended_across, 2);
}

CASE(suspend_nested)
{
    for (int i = 0; i < 3; i++) {
        outer_ran = inner_ran = done = 0;
        CHECK_EQ(sched_init(4, 4, outer, NULL), 0);
        CHECK_EQ(done, 3);
        CHECK_EQ(inner_ran, 3 * TASKS);
        CHECK_EQ(outer_ran, 3 * TASKS + 3);
    }
    for (int i = 0; i < ROUNDS; i++) {
        ready = ended_across = 0;
        pthread_t thread = begin_thread(run_beside, NULL);
        CHECK_EQ(sched_init(1, 4, waits_across, NULL), 0);
        CHECK_EQ(ended_across, 2);
        pthread_join(thread, NULL);
    }
}

/* suspended_many: 100,000 tasks, divided by SMALLER, that wait at once: each on a stack of its own,
 * in less than 1 GB, and all continue. Where the address space, or the number of mappings, ends
 * before that, a task that waits runs others on top of it, and none is lost.
 * ctest: matrix kind=steal deque=split idle=park threads=1,2 timeout=120
 * ctest: env=SCHED_STACK=64K timeout=120
 * ctest: matrix deque=mutex,split idle=park threads=1,2,4 args=space
 * ctest: matrix deque=mutex,split idle=park threads=1,2,4 args=space join=help
 * ctest: args=mappings timeout=120 */
enum { FEW = 5000 };

static int most = 100000 / SMALLER;
static long most_kb, mappings;
static atomic_int suspended_many_waiting, went_on, grouped;
static atomic_int all_there;
/* A task may lie on top of another, look among them, and must not wait for that. */
static int on_top;

static void wait_long(void *closure, struct scheduler *s)
{
    long here = 1 + (long)(intptr_t)closure;
    CHECK_EQ((uintptr_t)__builtin_frame_address(0) % 16, 0);
    if (++suspended_many_waiting == most && on_top)
        all_there = 1;
    while (!all_there)
        sched_task_yield(s);
    CHECK_EQ(here, 1 + (long)(intptr_t)closure);
    went_on++;
}

static void look(void *closure, struct scheduler *s)
{
    while (suspended_many_waiting < most)
        sched_task_yield(s);
    most_kb = status_kb("VmRSS");
    mappings = mapping_count();
    all_there = 1;
}

COUNTING_TASK(member, grouped)

/* Each waits for a group. */
static void wait_for_group(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    CHECK_EQ(sched_group_spawn(&g, member, NULL, s), 0);
    CHECK_EQ(sched_group_spawn(&g, member, NULL, s), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
}

static void suspended_many_root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(look, NULL, s), 0);
    for (intptr_t i = 0; i < most; i++)
        CHECK_EQ(sched_spawn(wait_long, (void *)i, s), 0);
    CHECK_TIMES(FEW, sched_spawn(wait_for_group, NULL, s));
}

CASE(suspended_many)
{
    const char *what = argc > 1 ? argv[1] : "";
    on_top = argc > 1;
    if (strcmp(what, "space") == 0) {
        most = FEW;
        limit_space(300 << 10);
    } else if (strcmp(what, "mappings") == 0) {
        most = 24000; /* of which 16,000 have stacks of their own; the others lie on those */
        no_guards();
    }
    CHECK_EQ(sched_init(2, 10, suspended_many_root, NULL), 0);
    CHECK_EQ(went_on, most);
    CHECK_EQ(grouped, 2 * FEW);
    CHECK(most_kb < 1000000);
    if (*what == 0)
        CHECK(mappings < 1000 || mappings > most); /* one for all, or two each */
}

/* suspension_points: A call that libsched(7) does not list as a suspension point returns in the
 * thread that made it, and no other task runs in that thread meanwhile, though some are queued and
 * the call wakes some. In kind serial no call moves a task to another thread.
 * ctest: matrix few */
enum { FILLERS = 50, WAITERS = 4 };

static __thread int ran_here;
static sched_sem empty = SCHED_SEM_INIT(0);
static sched_mutex m = SCHED_MUTEX_INIT;
static sched_cond c = SCHED_COND_INIT;
static int wait_for_cond; /* with m held */
static int caller;

__attribute__((noinline)) static int count_here(int more)
{
    ran_here += more;
    __asm__ volatile("" ::: "memory");
    return ran_here;
}

/* Neither the thread changes in the call, nor does another task run in it. */
#define STAYS(call)                                                                                \
    do {                                                                                           \
        int thread_ = thread_id(), count_ = count_here(0);                                         \
        call;                                                                                      \
        CHECK_EQ(thread_id(), thread_);                                                            \
        CHECK_EQ(count_here(0), count_);                                                           \
    } while (0)

/* Checks the thread in kind serial. */
#define ONE_THREAD() CHECK(has_threads() || thread_id() == caller)

static void filler(void *closure, struct scheduler *s)
{
    count_here(1);
    ONE_THREAD();
}

static void waits_sem(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_wait(&empty, s), 0);
    count_here(1);
    ONE_THREAD();
}

static void waits_cond(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    wait_for_cond++;
    CHECK_EQ(sched_cond_wait(&c, &m, s), 0);
    wait_for_cond--;
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    count_here(1);
    ONE_THREAD();
}

static int suspension_points_waiting(struct scheduler *s)
{
    int n;
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    n = wait_for_cond;
    STAYS(CHECK_EQ(sched_mutex_unlock(&m), 0));
    return n;
}

static void add_fillers(struct scheduler *s)
{
    CHECK_TIMES(FILLERS, sched_spawn(filler, NULL, s));
}

/* Calls that add a task: suspension points in kind cont. */
static void adds(struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    sched_task t;
    char byte = 0;
    STAYS(CHECK_EQ(sched_spawn(filler, NULL, s), 0));
    STAYS(CHECK_EQ(sched_spawn_copy(filler, &byte, 1, s), 0));
    STAYS(CHECK_EQ(sched_group_spawn(&g, filler, NULL, s), 0));
    STAYS(CHECK_EQ(sched_group_spawn_copy(&g, filler, &byte, 1, s), 0));
    STAYS(sched_fork(&t, filler, NULL, s));
    sched_join(&t, s);
    CHECK_EQ(sched_group_wait(&g, s), 0);
}

static void looks(struct scheduler *s)
{
    struct sched_stats stats;
    sched_group g = SCHED_GROUP_INIT;
    sched_sem one;
    sched_mutex free_one;
    sched_cond nobody;
    sched_barrier all;
    STAYS(CHECK(sched_worker_index(s) >= 0));
    STAYS(CHECK(sched_worker_count(s) > 0));
    STAYS(CHECK_EQ(sched_stats(s, &stats, sizeof stats), 0));
    STAYS((void)sched_last_stats(&stats, sizeof stats));
    STAYS(CHECK(sched_default_threads() > 0));
    STAYS(CHECK(sched_version() != NULL));
    STAYS(CHECK_EQ(sched_sem_init(&one, 1), 0));
    STAYS(CHECK_EQ(sched_sem_trywait(&one), 0));
    STAYS(CHECK_EQ(sched_mutex_init(&free_one), 0));
    STAYS(CHECK_EQ(sched_mutex_trylock(&free_one), 0));
    STAYS(CHECK_EQ(sched_mutex_unlock(&free_one), 0));
    STAYS(CHECK_EQ(sched_cond_init(&nobody), 0));
    STAYS(CHECK_EQ(sched_cond_signal(&nobody), 0));
    STAYS(CHECK_EQ(sched_barrier_init(&all, 1), 0));
    STAYS(sched_group_cancel(&g));
    STAYS(CHECK_EQ(sched_group_cancelled(&g), 1));
}

static void wakes(struct scheduler *s)
{
    for (int i = 0; i < WAITERS; i++)
        STAYS(CHECK_EQ(sched_sem_post(&empty), 0));
    while (suspension_points_waiting(s) < WAITERS)
        sched_task_yield(s);
    add_fillers(s);
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    STAYS(CHECK_EQ(sched_cond_signal(&c), 0));
    STAYS(CHECK_EQ(sched_cond_broadcast(&c), 0));
    STAYS(CHECK_EQ(sched_mutex_unlock(&m), 0));
}

/* These keep the thread. */
static void pools(struct scheduler *s)
{
    struct sched_pool *pool;
    STAYS(pool = pool_of(2));
    STAYS(CHECK_EQ(sched_pool_submit(pool, filler, NULL), 0));
    STAYS(CHECK_EQ(sched_pool_wait(pool), 0));
    STAYS(CHECK_EQ(sched_pool_destroy(pool), 0));
}

static void section(struct scheduler *s)
{
    int began;
    STAYS(began = sched_block_begin(s) == 0);
    if (began)
        CHECK_EQ(sched_block_end(s), 0);
    ONE_THREAD();
}

static void suspension_points_root(void *closure, struct scheduler *s)
{
    for (int i = 0; i < WAITERS; i++) {
        CHECK_EQ(sched_spawn(waits_sem, NULL, s), 0);
        CHECK_EQ(sched_spawn(waits_cond, NULL, s), 0);
    }
    for (int round = 0; round < 3; round++)
        sched_task_yield(s); /* lets the tasks run that are to wait */
    ONE_THREAD();
    add_fillers(s);
    looks(s);
    if (!spawn_calls())
        adds(s);
    add_fillers(s);
    wakes(s);
    add_fillers(s);
    section(s);
    add_fillers(s);
    ONE_THREAD();
}

/* Checks where the tasks of the pool are not the tasks of the run. */
static void with_pools(void *closure, struct scheduler *s)
{
    pools(s);
}

CASE(suspension_points)
{
    caller = thread_id();
    CHECK_EQ(sched_init(4, 10, suspension_points_root, NULL), 0);
    if (has_threads())
        CHECK_EQ(sched_init(4, 10, with_pools, NULL), 0);
}

/* stale: The s of a run that has ended: -1 with EINVAL, right after it and after many others, from
 * every worker's pointer; nothing is run.
 * ctest: matrix idle=park threads=1,4 */
enum { RUNS = 30, KEPT = 64 };

static struct scheduler *kept[RUNS][KEPT];
static atomic_int count, wrong;

COUNTING_TASK(never, wrong)

static void leaf(void *closure, struct scheduler *s)
{
    int at = atomic_fetch_add(&count, 1);
    CHECK(at < KEPT);
    kept[(long)closure][at] = s;
}

static void stale_root(void *closure, struct scheduler *s)
{
    CHECK_TIMES(KEPT - 1, sched_spawn(leaf, closure, s));
    leaf(closure, s);
}

static void *stranger(void *arg)
{
    CHECK_ERRNO(sched_spawn(never, NULL, arg), EINVAL);
    return NULL;
}

CASE(stale)
{
    for (long run = 0; run < RUNS; run++) {
        count = 0;
        CHECK_EQ(sched_init((int)run % 4 + 1, 1, stale_root, (void *)run), 0);
        CHECK_EQ(count, KEPT);
        for (long old = run; old >= 0; old -= 7)
            for (int i = 0; i < KEPT; i++)
                CHECK_ERRNO(sched_spawn(never, NULL, kept[old][i]), EINVAL);
        run_thread(stranger, kept[0][run]);
    }
    CHECK_EQ(wrong, 0);
}
