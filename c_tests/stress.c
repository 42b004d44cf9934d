/* Random trees, floods, forks, groups, foreign spawns and nested runs for some seconds, each task marked:
 * none lost, none run twice. Prints how many were checked.
 * ctest: args=-d,0.5
 * ctest: matrix deque=mutex idle=nap threads=4 args=-d,0.2 */
#include "marks.h"
#include <sched_tasks.h>

enum { MOST = 1 << 18 };

static atomic_long next_mark; /* marks given out in this round */
static long budget;
static atomic_int strangers;
static int may_refuse; /* SCHED_OVERFLOW=refuse */
static struct scheduler *volatile outer_run;

static void *of(long i)
{
    return (void *)i;
}

static void leaf(void *closure, struct scheduler *s)
{
    mark((long)closure);
}

/* A spawn that is refused leaves the task with the caller, who runs it. */
static void run_if_refused(int rc, taskfunc f, long i, struct scheduler *s)
{
    if (rc == 0)
        return;
    CHECK(may_refuse && get_errno() == EAGAIN);
    f(of(i), s);
}

static void give(taskfunc f, long i, struct scheduler *s)
{
    run_if_refused(sched_spawn(f, of(i), s), f, i, s);
}

/* Takes the next free mark, -1 when the round has enough. */
static long take(void)
{
    long i = atomic_fetch_add(&next_mark, 1);
    if (i < budget)
        return i;
    atomic_fetch_sub(&next_mark, 1);
    return -1;
}

/* The mark is the seed of the shape below: 0 to 4 children, some slow, some deep. */
static void branch(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    uint64_t x = (uint64_t)i * 0x9E3779B97F4A7C15u + 1;
    mark(i);
    uint64_t dice = next_random(&x);
    int children = i < 8 ? 4 : (int)(dice % 5);
    for (int c = 0; c < children; c++) {
        long child = take();
        if (child < 0)
            break;
        give(c % 3 == 2 ? leaf : branch, child, s);
    }
    if (dice % 4096 == 0)
        pause_us(200);
    if (dice % 4096 == 1)
        sched_yield();
}

static void flood(void *closure, struct scheduler *s)
{
    mark((long)closure);
    for (long i; (i = take()) >= 0;)
        give(leaf, i, s);
}

static void *stranger(void *arg)
{
    for (long i; (i = take()) >= 0;) {
        give(i % 4 ? leaf : branch, i, outer_run);
        if (i % 1024 == 0)
            pause_us(100);
    }
    atomic_fetch_sub(&strangers, 1);
    return NULL;
}

/* Its worker keeps the run open until the strangers are gone. */
static void hosts(void *closure, struct scheduler *s)
{
    pthread_t threads[2];
    int made = 0;
    mark((long)closure);
    outer_run = s;
    strangers = 2;
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[made], NULL, stranger, NULL) == 0)
            made++;
        else
            atomic_fetch_sub(&strangers, 1);
    while (strangers > 0)
        pause_us(100);
    for (int i = 0; i < made; i++)
        pthread_join(threads[i], NULL);
}

static void nests(void *closure, struct scheduler *s)
{
    mark((long)closure);
    for (int i = 0; i < 2; i++) {
        long child = take(), inner = take();
        if (child >= 0)
            give(branch, child, s);
        if (inner >= 0)
            CHECK_EQ(sched_init(2, 8, branch, of(inner)), 0);
    }
}

/* Like branch, but its children are forked and joined in any order, or belong to a group; some are
 * spawned. */
static void forks(void *closure, struct scheduler *s)
{
    enum { MOST_CHILDREN = 4 };
    sched_task tasks[MOST_CHILDREN];
    sched_group g = SCHED_GROUP_INIT;
    long i = (long)closure;
    uint64_t x = (uint64_t)i * 0x9E3779B97F4A7C15u + 1;
    uint64_t dice = next_random(&x);
    int children = i < 8 ? MOST_CHILDREN : (int)(dice % (MOST_CHILDREN + 1)), forked = 0, grouped = 0;
    for (int c = 0; c < children; c++) {
        long child = take();
        if (child < 0)
            break;
        if (dice / 8 % 4 == 0) {
            run_if_refused(sched_group_spawn(&g, forks, of(child), s), forks, child, s);
            grouped = 1;
        } else if (dice / 32 % 8 == 0) {
            give(branch, child, s);
        } else {
            sched_fork(&tasks[forked++], forks, of(child), s);
        }
    }
    if (dice % 1024 == 0)
        pause_us(200);
    for (int k = 0; k < forked; k++)
        sched_join(&tasks[dice / 256 % 2 ? k : forked - 1 - k], s);
    if (grouped)
        CHECK_EQ(sched_group_wait(&g, s), 0);
    mark(i);
}

int main(int argc, char **argv)
{
    static const struct {
        taskfunc f;
        long budget;
    } shapes[] = {
        {branch, 20000}, {flood, 30000}, {hosts, 4000}, {nests, 3000}, {forks, 20000}, {branch, 50}, {leaf, 1}, {flood, MOST},
    };
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    double seconds = 1;
    uint64_t seed = 1;
    long checked = 0, rounds = 0;

    for (int option; (option = getopt(argc, argv, "d:r:")) != -1;)
        if (option == 'd')
            seconds = atof(optarg);
        else if (option == 'r')
            seed = strtoull(optarg, NULL, 10) + 1;
        else
            return 2;

    const char *overflow = getenv("SCHED_OVERFLOW");
    may_refuse = overflow && strcmp(overflow, "refuse") == 0;
    for (double end = now() + seconds; rounds == 0 || now() < end; rounds++) {
        int shape = (int)(rounds < SHAPES ? rounds : (long)(next_random(&seed) % SHAPES));
        budget = shapes[shape].budget;
        if (budget > 1000)
            budget -= (long)(next_random(&seed) % (uint64_t)(budget / 2));
        next_mark = 1;
        CHECK_EQ(sched_init((int)(next_random(&seed) % 6), (int)(next_random(&seed) % 100), shapes[shape].f, of(0)), 0);
        long n = next_mark;
        check_marks(n);
        checked += n;
    }
    printf("checked %ld tasks in %ld runs\n", checked, rounds);
    return 0;
}
