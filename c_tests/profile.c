/* SCHED_PROFILE=json: the work and the span are within 5 % of those of programs whose closed form is known. Each task
 * measures itself how long it takes, and carries along the length of the longest path that leads to it; so the closed
 * form is that of the run, however busy the machine is.
 * ctest: matrix deque=split,mutex idle=park threads=1,2 timeout=60
 * ctest: matrix idle=park threads=2 join=help */
#include "child.h"
#include "stats_line.h"
#include <sched_tasks.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { SPIN_US = 300 / SMALLER + 100, ATTEMPTS = 40 };

/* What the tasks have measured, in nanoseconds. The memory is shared with the child. */
static struct found {
    _Atomic long work, span, unit;
} *found;

/* Computes for some time. Returns how long that was, from `*since` on if that is not NULL, and sets `*since` to the end. */
static long compute_since(double *since)
{
    double t0 = now(), t = t0;
    while (t - t0 < 1e-6 * SPIN_US)
        t = now();
    long ns = (long)(1e9 * (t - (since == NULL ? t0 : *since)));
    found->work += ns;
    if (since != NULL)
        *since = t;
    return ns;
}

static long compute(void)
{
    return compute_since(NULL);
}

/* A call of sched_spawn that wakes a thread may take long, and belongs to its task; but in kind cont the new task is
 * called meanwhile. */
static void spawned(double *since)
{
    const char *kind = getenv("SCHED_KIND");
    if (kind != NULL && strcmp(kind, "cont") == 0)
        *since = now();
}

/* What the task has done since then. */
static long rest(double since)
{
    long ns = (long)(1e9 * (now() - since));
    found->work += ns;
    return ns;
}

static void at_least(_Atomic long *most, long value)
{
    long old = *most;
    while (old < value && !atomic_compare_exchange_weak(most, &old, value))
        ;
}

static void ends(long path)
{
    at_least(&found->span, path);
}

static long longer(long a, long b)
{
    return a > b ? a : b;
}

/* A task of a chain or tree. */
struct node {
    long path;
    int depth, children;
    int parts, last_parts; /* how often it computes, and its children do */
};

static void node(void *closure, struct scheduler *s)
{
    double since = now();
    struct node next = *(struct node *)closure;
    for (int i = 0; i < next.parts; i++)
        next.path += compute_since(&since);
    next.parts = next.last_parts;
    if (next.depth-- > 0)
        for (int i = 0; i < next.children; i++) {
            CHECK_EQ(sched_spawn_copy(node, &next, sizeof next, s), 0);
            spawned(&since);
            if (next.children > 2)
                next.path += compute_since(&since);
            else {
                next.path += rest(since);
                since = now();
            }
        }
    ends(next.path + rest(since));
}

static void first_of_chain(void *unused, struct scheduler *s)
{
    (void)unused;
    struct node first = {0, 30, 1, 1, 1};
    node(&first, s);
}

static void first_of_tree(void *unused, struct scheduler *s)
{
    (void)unused;
    struct node first = {0, 5, 2, 1, 1};
    node(&first, s);
}

static void first_of_flood(void *unused, struct scheduler *s)
{
    (void)unused;
    struct node first = {0, 1, 20, 1, 6};
    node(&first, s);
}

/* Computes before a fork, in both branches, and after the join. */
struct forked {
    long path;
    int depth;
};

static void fork_and_join(void *closure, struct scheduler *s)
{
    struct forked *f = closure, here, there;
    sched_task t;
    f->path += compute();
    if (f->depth == 0)
        return;
    there.depth = f->depth - 1;
    here.depth = f->depth / 3;
    here.path = there.path = f->path;
    sched_fork(&t, fork_and_join, &there, s);
    fork_and_join(&here, s);
    here.path += compute();
    sched_join(&t, s);
    f->path = longer(here.path, there.path) + compute();
}

static void forks(void *unused, struct scheduler *s)
{
    (void)unused;
    struct forked first = {0, 5};
    fork_and_join(&first, s);
    ends(first.path);
}

/* Forks many tasks, of which the first is the longest, and joins them in the order of the forks. */
static void joins_in_order(void *unused, struct scheduler *s)
{
    enum { N = 10 };
    struct forked there[N];
    sched_task t[N];
    (void)unused;
    long path = compute();
    for (int i = 0; i < N; i++) {
        there[i] = (struct forked){path, i == 0 ? 3 : 0};
        sched_fork(&t[i], fork_and_join, &there[i], s);
    }
    for (int i = 0; i < N; i++) {
        sched_join(&t[i], s);
        path = longer(path, there[i].path) + compute();
    }
    ends(path);
}

static void group(void *unused, struct scheduler *s)
{
    enum { N = 8 };
    long path = 0;
    (void)unused;
    for (int round = 0; round < 3; round++) {
        sched_group g = SCHED_GROUP_INIT;
        struct forked there[N];
        path += compute();
        for (int i = 0; i < N; i++) {
            there[i] = (struct forked){path, i % 2};
            CHECK_EQ(sched_group_spawn(&g, fork_and_join, &there[i], s), 0);
        }
        path += compute();
        CHECK_EQ(sched_group_wait(&g, s), 0);
        for (int i = 0; i < N; i++)
            path = longer(path, there[i].path);
        path += compute();
    }
    ends(path);
}

/* The units of a loop are parallel; those of one call count as equally long. */
static void body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    (void)ctx;
    (void)s;
    long path = 0;
    for (size_t i = lo; i < hi; i++)
        path += compute();
    at_least(&found->unit, path / (long)(hi - lo));
}

static void loop(void *unused, struct scheduler *s)
{
    (void)unused;
    long path = compute() + compute();
    CHECK_EQ(sched_for(0, 60, 0, body, NULL, s), 0);
    path += found->unit + compute();
    ends(path);
}

/* An accumulator is the length of the path that leads to it. */
static void reduce_body(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    (void)lo;
    (void)hi;
    (void)s;
    *(long *)acc = *(long *)ctx + compute();
}

static void combine(void *into, const void *from, void *ctx)
{
    (void)ctx;
    *(long *)into = longer(*(long *)into, *(const long *)from) + compute();
}

static void reduction(void *unused, struct scheduler *s)
{
    (void)unused;
    long path = compute(), zero = 0, result;
    CHECK_EQ(sched_reduce(0, 32, 1, sizeof zero, &zero, reduce_body, combine, &path, &result, s), 0);
    ends(result + compute());
}

/* A token goes round: nothing is parallel. */
enum { STAGES = 4, ROUNDS = 8 };
static sched_sem turn[STAGES];
static atomic_int waiting;

static void stage(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    if (++waiting == STAGES) {
        compute(); /* by then the others wait */
        CHECK_EQ(sched_sem_post(&turn[i]), 0);
    }
    for (int round = 0; round < ROUNDS; round++) {
        CHECK_EQ(sched_sem_wait(&turn[i], s), 0);
        compute();
        long path = found->work;
        ends(path);
        double since = now();
        CHECK_EQ(sched_sem_post(&turn[(i + 1) % STAGES]), 0);
        ends(path + rest(since));
    }
}

static void ring(void *unused, struct scheduler *s)
{
    (void)unused;
    for (long i = 0; i < STAGES; i++) {
        CHECK_EQ(sched_sem_init(&turn[i], 0), 0);
        CHECK_EQ(sched_spawn(stage, (void *)i, s), 0);
    }
}

static const struct program {
    const char *name;
    taskfunc first;
} programs[] = {
    {"chain", first_of_chain},
    {"tree", first_of_tree},
    {"flood", first_of_flood},
    {"forks", forks},
    {"joins in order", joins_in_order},
    {"group", group},
    {"loop", loop},
    {"reduction", reduction},
    {"ring", ring},
};

static void run(void *program)
{
    setenv("SCHED_PROFILE", "json", 1);
    CHECK_EQ(sched_init(2, 16, ((const struct program *)program)->first, NULL), 0);
}

static int is_near(double value, double meant)
{
    return value > 0.95 * meant && value < 1.05 * meant;
}

static void check(struct program program)
{
    for (int attempt = 1;; attempt++) {
        memset(found, 0, sizeof *found);
        in_child(run, &program);
        CHECK_CHILD_EXITED(0);
        double work = (double)stat_number(child.said, "work_ns"), span = (double)stat_number(child.said, "span_ns");
        if (is_near(work, (double)found->work) && is_near(span, (double)found->span))
            return;
        if (attempt == ATTEMPTS) {
            char text[200];
            snprintf(text, sizeof text, "%s: work %.0f ns, measured %.0f; span %.0f ns, measured %.0f\n", program.name,
                     (double)found->work, work, (double)found->span, span);
            check_say(text);
            _exit(1);
        }
    }
}

int main(void)
{
    found = mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(found != MAP_FAILED);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        check(programs[i]);
    return 0;
}
