/* nulls: calls with NULL for the scheduler. */
#include "case.h"
#include "child.h"
#include "leave.h"
#include "null.h"
#include "stats_line.h"
#include "proc.h"
#include "seccomp.h"
#include <sched_tasks.h>
#include <stdatomic.h>

/* null_exit: exit, _exit and quick_exit end a process that has the default pool: at once while
 * tasks of it run, also by such a task. Exit handlers may use it, those that were registered before
 * its first use, too. If no task is left at exit, the statistics are written.
 * ctest: static debug
 * ctest: matrix deque=split,mutex,ring idle=park,spin threads=1,4
 * ctest: env=SCHED_WARM=0
 * ctest: env=SCHED_WARM=0 env=SCHED_KIND=serial */
enum { USED, BUSY, BY_TASK, DEEDS };
enum { ATTEMPTS = 20 };

static void handler(void)
{
    if (way == 0)
        null_works();
}

static void exit_body(void *deed)
{
    static atomic_int runs;
    sched_group g = SCHED_GROUP_INIT;
    int what = *(int *)deed;
    if (what == USED)
        CHECK_EQ(atexit(handler), 0);
    null_works();
    if (what == USED)
        CHECK_EQ(atexit(handler), 0);
    if (what == BUSY) {
        CHECK_EQ(sched_spawn(compute, (void *)&runs, NULL), 0);
        for (unsigned turns = 0; !runs;)
            spin(&turns);
    }
    if (what == BY_TASK) {
        CHECK_EQ(sched_group_spawn(&g, leave_task, NULL, NULL), 0);
        sched_group_wait(&g, NULL);
    }
    leave(NULL);
}

/* The workers have had time to see that no task is left. */
static void rests_and_exits(void *unused)
{
    null_works();
    struct sched_stats stats, before = {.tasks = 0};
    for (struct patience p = patience_of(20); is_patient(&p);) {
        pause_us(20000);
        CHECK_EQ(sched_stats(NULL, &stats, sizeof stats), 0);
        if (stats.tasks > 0 && stats.tasks == before.tasks && stats.parks == before.parks)
            break;
        before = stats;
    }
    exit(0);
}

CASE(null_exit)
{
    for (int deed = USED; deed < DEEDS; deed++)
        for (way = 0; way < WAYS_OUT; way++) {
            in_child(exit_body, &deed);
            CHECK_CHILD_EXITED(40 + way);
        }
    /* A busy machine may keep a worker from its last step for longer than exit waits for it. */
    const char *line = "";
    for (int attempt = 0; line[0] == 0 && attempt < ATTEMPTS; attempt++) {
        gather_stats();
        in_child(rests_and_exits, NULL);
        line = gathered_stats();
        CHECK_CHILD_EXITED(0);
    }
    CHECK(stat_number(line, "tasks") > 0);
    CHECK_EQ(stat_number(line, "threads"), threads_of(sched_default_threads()));
    CHECK(strchr(line, '\n') == line + strlen(line) - 1); /* one */
}

/* null_fork: fork() beside the default pool, busy or not, or in a task of it: the child makes a
 * pool of its own at the next use, and the parent's pool continues. A wait in the child for the
 * parent's tasks fails, since their run has ended there.
 * ctest: static debug
 * ctest: matrix deque=split,mutex,chaselev idle=park,spin threads=1,4 */
static sched_sem never = SCHED_SEM_INIT(0);
static sched_group waiting = SCHED_GROUP_INIT;
static atomic_int released;

static void wait_for_release(void *closure, struct scheduler *s)
{
    while (!released)
        sched_task_yield(s);
}

static void in_the_child(void *arg)
{
    CHECK_EQ(thread_count(), 1);
    if (waiting.state) {
        CHECK_ERRNO(sched_group_wait(&waiting, NULL), EINVAL);
        CHECK_ERRNO(sched_sem_wait(&never, NULL), EINVAL);
    }
    null_works();
    CHECK(thread_count() > 1);
    CHECK(sched_worker_count(NULL) >= threads_of(sched_default_threads()));
    null_works();
}

/* A child that exits, and one of it. */
static void in_a_grandchild(void *arg)
{
    in_the_child(arg);
    waiting.state = 0;
    CHECK_IN_CHILD(in_the_child, NULL);
    exit(0);
}

static void forks(void *closure, struct scheduler *s)
{
    CHECK_IN_CHILD(in_the_child, NULL);
    null_works();
}

static void fork_within(void)
{
    sched_task t;
    sched_fork(&t, forks, NULL, NULL);
    sched_join(&t, NULL);
}

CASE(null_fork)
{
    in_child(in_the_child, NULL); /* before the first use */
    CHECK_CHILD_EXITED(0);
    null_works();
    CHECK_IN_CHILD(in_a_grandchild, NULL);
    fork_within();
    CHECK_TIMES(3, sched_group_spawn(&waiting, wait_for_release, NULL, NULL));
    CHECK_IN_CHILD(in_a_grandchild, NULL);
    fork_within();
    released = 1;
    CHECK_EQ(sched_group_wait(&waiting, NULL), 0);
    null_works();
}

/* null_main: Each function that takes an s takes NULL. From main the default pool does the work; it
 * is made at the first use, by any number of threads. In a task NULL means the task's run.
 * ctest: static debug
 * ctest: matrix deque=split,mutex,chaselev,ring idle=park,spin threads=1,2,4 */
enum { N = 500, THREADS = 6 };

static atomic_int main_ran;
static sched_mutex m = SCHED_MUTEX_INIT;
static sched_cond changed = SCHED_COND_INIT;
static sched_sem main_sem = SCHED_SEM_INIT(0);
static sched_barrier both = SCHED_BARRIER_INIT(2);
static sched_group group = SCHED_GROUP_INIT;
static long counted, turn;

static void count(void *closure, struct scheduler *s)
{
    CHECK(s != NULL);
    atomic_fetch_add(&main_ran, 1);
}

/* Waited for at the end. */
static void late(void *closure, struct scheduler *s)
{
    CHECK(s != NULL);
    CHECK_EQ(sched_sem_post(&main_sem), 0);
}

static void count_copy(void *copy, struct scheduler *s)
{
    CHECK_EQ(*(long *)copy, 77);
    count(copy, s);
    CHECK_EQ(sched_sem_post(&main_sem), 0);
}

static void count_locked(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&m, NULL), 0);
    counted++;
    sched_task_yield(NULL);
    counted++;
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    count(closure, s);
}

static void answer(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    while (turn != 1)
        CHECK_EQ(sched_cond_wait(&changed, &m, NULL), 0);
    turn = 2;
    CHECK_EQ(sched_cond_signal(&changed), 0);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    CHECK(sched_barrier_wait(&both, NULL) >= 0);
}

/* True in the program's own threads, which keep their places in a section. */
static _Thread_local int is_outside;

/* A task: NULL is its own run. */
static void within(void *closure, struct scheduler *s)
{
    int *at = closure;
    *at = sched_worker_index(s);
    CHECK(*at >= 0);
    CHECK_EQ(sched_worker_index(NULL), *at);
    CHECK_EQ(sched_worker_count(NULL), sched_worker_count(s));
    CHECK_EQ(sched_spawn(late, NULL, NULL), 0);
    null_works();
    sched_task t;
    sched_fork(&t, count, NULL, NULL);
    sched_join(&t, s);
    sched_fork(&t, count, NULL, s);
    sched_join(&t, NULL);
    if (sched_block_begin(NULL) == 0) {
        CHECK_EQ(sched_worker_index(s) < 0, !is_outside && has_threads());
        CHECK_EQ(sched_spawn(late, NULL, NULL), 0); /* a task in a section has its run */
        CHECK_EQ(sched_block_end(NULL), 0);
    }
    CHECK_ERRNO(sched_block_end(NULL), EPERM);
}

/* The same check in a run with one worker, within the caller's run if the caller is a task. */
static void inner(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_worker_count(NULL), sched_worker_count(s));
    CHECK_EQ(sched_worker_index(NULL), sched_worker_index(s));
    count(closure, s);
}

static void starts_a_run(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_init(1, 4, inner, closure), 0);
}

static void plus(void *into, const void *from, void *ctx)
{
    *(long *)into += *(const long *)from;
}

static void fold(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    for (size_t i = lo; i < hi; i++)
        *(long *)acc += (long)i;
}

static int downwards(const void *a, const void *b)
{
    return *(const int *)b - *(const int *)a;
}

static void main_all(void)
{
    static const long argument = 77, zero;
    long sum = 0;
    int numbers[3 * N];
    int before = main_ran;

    null_works();
    CHECK_EQ(sched_reduce(0, N, 3, sizeof sum, &zero, fold, plus, NULL, &sum, NULL), 0);
    CHECK_EQ(sum, N * (N - 1) / 2);
    for (int i = 0; i < 3 * N; i++)
        numbers[i] = i * 7 % (3 * N);
    CHECK_EQ(sched_sort(numbers, 3 * N, sizeof *numbers, downwards, NULL), 0);
    for (int i = 1; i < 3 * N; i++)
        CHECK(numbers[i - 1] >= numbers[i]);

    sched_task tasks[20];
    for (int i = 0; i < 20; i++)
        sched_fork(&tasks[i], count, NULL, NULL);
    for (int i = 0; i < 20; i++)
        sched_join(&tasks[i], NULL);
    CHECK_EQ(main_ran - before, 20);

    sched_group g = SCHED_GROUP_INIT;
    CHECK_TIMES(N, sched_group_spawn(&g, count_locked, NULL, NULL));
    CHECK_EQ(sched_group_wait(&g, NULL), 0);
    CHECK_EQ(main_ran - before, 20 + N);

    CHECK_TIMES(10, sched_spawn_copy(count_copy, &argument, sizeof argument, NULL));
    CHECK_TIMES(10, sched_sem_wait(&main_sem, NULL));
    CHECK_EQ(main_ran - before, 30 + N);

    turn = 0;
    CHECK_EQ(sched_group_spawn(&group, answer, NULL, NULL), 0);
    CHECK_EQ(sched_mutex_lock(&m, NULL), 0);
    turn = 1;
    CHECK_EQ(sched_cond_broadcast(&changed), 0);
    while (turn != 2)
        CHECK_EQ(sched_cond_wait(&changed, &m, NULL), 0);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    CHECK(sched_barrier_wait(&both, NULL) >= 0);
    CHECK_EQ(sched_group_wait(&group, NULL), 0);

    int at = -1;
    CHECK_EQ(sched_group_spawn(&group, starts_a_run, NULL, NULL), 0);
    CHECK_EQ(sched_group_wait(&group, NULL), 0);
    CHECK_EQ(main_ran - before, 31 + N);
    sched_fork(tasks, within, &at, NULL);
    sched_join(tasks, NULL);
    CHECK(at >= 0);
    CHECK_EQ(sched_sem_wait(&main_sem, NULL), 0);
    CHECK_EQ(sched_sem_wait(&main_sem, NULL), 0);
}

static void *first_of_many(void *arrived)
{
    is_outside = 1;
    atomic_fetch_add((atomic_int *)arrived, 1);
    for (unsigned turns = 0; *(atomic_int *)arrived < THREADS;)
        spin(&turns);
    null_works();
    return NULL;
}

CASE(null_main)
{
    pthread_t threads[THREADS];
    atomic_int arrived = 0;
    struct sched_stats stats;

    is_outside = 1;
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, first_of_many, (void *)&arrived), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);

    CHECK(sched_worker_count(NULL) >= threads_of(sched_default_threads())); /* and the places of guests */
    CHECK_ERRNO(sched_worker_index(NULL), EINVAL); /* main is not a worker */
    sched_task_yield(NULL);
    CHECK_EQ(sched_block_begin(NULL), 0);
    CHECK_EQ(sched_block_end(NULL), 0);
    main_all();
    main_all();
    CHECK_EQ(sched_stats(NULL, &stats, sizeof stats), 0);
    CHECK((int)stats.tasks >= 2 * (31 + N));
    CHECK_EQ(stats.threads, threads_of(sched_default_threads()));
    if (sched_last_stats(&stats, sizeof stats) == 0)
        CHECK_EQ(stats.threads, threads_of(1)); /* a run within a task; the pool's run has not ended */
    else
        CHECK_EQ(errno, ENOENT);
}

/* null_pinned: The default pool has the processors of the process, whichever thread uses it first:
 * a thread that is pinned to one processor, another one while main is pinned, or one of a process
 * that is confined as a whole. Its threads may use these processors.
 * ctest: matrix few kind=steal,lifo,cont idle=park threads=4 */
static cpu_set_t pinned_all, one;
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
    CHECK_EQ(sched_setaffinity(0, sizeof pinned_all, (cpu_set_t *)mask), 0);
    looked = 0;
    CHECK_EQ(sched_spawn(look, &seen, NULL), 0);
    while (!looked) /* a wait for a group would run the task in this thread */
        pause_us(200);
    printf("%d %d\n", seen.workers, seen.processors);
    fflush(stdout);
    return NULL;
}

static void pinned_thread(void *arg)
{
    run_thread(first_use, &one);
}

static void pinned_main(void *arg)
{
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    run_thread(first_use, &pinned_all);
}

/* Main and the thread are pinned. */
static void all_pinned(void *arg)
{
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    run_thread(first_use, &one);
}

static void check_said(void (*body)(void *), int workers, int processors)
{
    int said_workers, said_processors;
    CHECK_IN_CHILD(body, NULL);
    CHECK_EQ(sscanf(child.said, "%d %d", &said_workers, &said_processors), 2);
    CHECK_EQ(said_workers, workers);
    CHECK_EQ(said_processors, processors);
}

CASE(null_pinned)
{
    int number = threads_of(0);
    const char *threads = getenv("SCHED_THREADS");
    CHECK_EQ(sched_getaffinity(0, sizeof pinned_all, &pinned_all), 0);
    if (CPU_COUNT(&pinned_all) < 2)
        skip("there is one processor");
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &pinned_all))
            CPU_SET(cpu, &one);
    check_said(pinned_thread, threads ? number : sched_default_threads(), CPU_COUNT(&pinned_all));
    check_said(pinned_main, threads ? number : sched_default_threads(), CPU_COUNT(&pinned_all));
    check_said(all_pinned, threads ? number : 1, 1);
    unsetenv("SCHED_THREADS");
    check_said(pinned_thread, sched_default_threads(), CPU_COUNT(&pinned_all));
    check_said(pinned_main, sched_default_threads(), CPU_COUNT(&pinned_all));
    check_said(all_pinned, 1, 1);
}

/* null_refused: Where the default pool cannot be made the functions fail, and have done nothing: a
 * variable that is refused (EINVAL, with the line that names it), no thread to be had (EAGAIN).
 * sched_fork runs its task at once, with NULL for its s. When there is a thread again, all is well.
 * ctest: static debug */
static int refused_ran;

static void once(void *closure, struct scheduler *s)
{
    CHECK(s == NULL);
    *(int *)closure += 1;
}

static void refused_body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    (void)lo, (void)hi, (void)ctx, (void)s;
    refused_ran++;
}

static int compare(const void *a, const void *b)
{
    refused_ran++;
    return *(const int *)a - *(const int *)b;
}

static void refused(int error)
{
    static const int one = 1;
    int numbers[3] = {3, 1, 2}, forked = 0;
    struct sched_stats stats;
    sched_group g = SCHED_GROUP_INIT;
    CHECK_ERRNO(sched_spawn(once, NULL, NULL), error);
    CHECK_ERRNO(sched_spawn_copy(once, &one, sizeof one, NULL), error);
    CHECK_ERRNO(sched_group_spawn(&g, once, NULL, NULL), error);
    CHECK_ERRNO(sched_group_spawn_copy(&g, once, &one, sizeof one, NULL), error);
    CHECK_EQ(sched_group_wait(&g, NULL), 0); /* it has no tasks */
    CHECK_ERRNO(sched_for(0, 10, 0, refused_body, NULL, NULL), error);
    CHECK_ERRNO(sched_sort(numbers, 3, sizeof *numbers, compare, NULL), error);
    CHECK_ERRNO(sched_stats(NULL, &stats, sizeof stats), error);
    CHECK_ERRNO(sched_worker_count(NULL), error);
    CHECK_EQ(refused_ran, 0);
    for (int i = 1; i <= 3; i++) {
        sched_task t;
        sched_fork(&t, once, &forked, NULL);
        CHECK_EQ(forked, i);
        sched_join(&t, NULL);
    }
}

static void wrong_value(void *arg)
{
    setenv("SCHED_KIND", "wrong", 1);
    refused(EINVAL);
    unsetenv("SCHED_KIND");
    null_works();
}

static void no_thread(void *arg)
{
    no_threads();
    refused(EAGAIN);
}

CASE(null_refused)
{
    in_child(wrong_value, NULL);
    CHECK_CHILD_PASSED();
    CHECK_CHILD_SAID("SCHED_KIND=wrong");
    in_child(no_thread, NULL);
    CHECK_CHILD_PASSED();
}

/* null_waits: What waits, yields or asks for the caller's worker makes no default pool where NULL
 * is given for s: a process without tasks has no thread but its own.
 * ctest: static debug
 * ctest: matrix deque=split idle=park threads=4 */
static sched_sem waits_sem = SCHED_SEM_INIT(1);
static sched_barrier barrier = SCHED_BARRIER_INIT(2);
static sched_group g = SCHED_GROUP_INIT;

static void *other(void *closure)
{
    CHECK_EQ(sched_mutex_lock(&m, NULL), 0); /* contended */
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    CHECK(sched_barrier_wait(&barrier, NULL) >= 0);
    return NULL;
}

CASE(null_waits)
{
    CHECK_EQ(sched_mutex_lock(&m, NULL), 0);
    pthread_t thread = begin_thread(other, NULL);
    pause_us(2000);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    CHECK(sched_barrier_wait(&barrier, NULL) >= 0);
    pthread_join(thread, NULL);
    CHECK_EQ(sched_sem_wait(&waits_sem, NULL), 0);
    CHECK_EQ(sched_group_wait(&g, NULL), 0);
    sched_task_yield(NULL);
    CHECK_EQ(sched_block_begin(NULL), 0);
    CHECK_EQ(sched_block_end(NULL), 0);
    CHECK_ERRNO(sched_worker_index(NULL), EINVAL);
    CHECK(threads_become(1));
    null_works();
    CHECK(thread_count() > 1);
}
