/* times: SCHED_PROFILE. */
#include "case.h"
#include "child.h"
#include "stats_line.h"
#include <math.h>
#include <sched_tasks.h>
#include <stdatomic.h>
#include <sys/mman.h>

/* profile: SCHED_PROFILE=json: the work, the span and the burdened span are within 5 % of those of
 * programs whose closed form is known. Each task measures itself how long it takes, and carries
 * along the lengths of the longest paths that lead to it; so the closed form is that of the run,
 * however busy the machine is. SCHED_PROFILE_BURDEN makes each move of a task as long as a
 * computation: so a move that is missing shows, unless the machine does something else for so long
 * that it does not. The speed-ups follow from these three.
 * ctest: matrix few deque=split,mutex idle=park threads=1,2 timeout=60
 * ctest: matrix few idle=park threads=2 join=help */
enum { SPIN_US = 300 / SMALLER + 100, PROFILE_ATTEMPTS = 200, DISTURBED = 3, BURDEN = 1000 * SPIN_US };

/* The measurements of the tasks, in nanoseconds. The memory is shared with the child. */
static struct found {
    _Atomic long work, span, burdened, unit, computations;
} *found;

/* The longest path that leads to a point, and the longest one with a burden for each move. */
struct path {
    long span, burdened;
};

static int is_cont(void)
{
    const char *kind = getenv("SCHED_KIND");
    return kind != NULL && strcmp(kind, "cont") == 0;
}

static void add(struct path *path, long ns)
{
    path->span += ns;
    path->burdened += ns;
}

/* The path continues in a new task, which may move to another worker. In kind cont the new task is
 * called at once, and the rest of its spawner may move. */
static struct path branch(struct path *path)
{
    struct path there = *path;
    *(is_cont() ? &path->burdened : &there.burdened) += BURDEN;
    return there;
}

/* Computes for some time. Returns how long that was, from `*since` on if that is not NULL, and sets `*since` to the end. */
static long compute_since(double *since)
{
    double t0 = now(), t = t0;
    while (t - t0 < 1e-6 * SPIN_US)
        t = now();
    long ns = (long)(1e9 * (t - (since == NULL ? t0 : *since)));
    found->work += ns;
    found->computations++;
    if (since != NULL)
        *since = t;
    return ns;
}

static long profile_compute(void)
{
    return compute_since(NULL);
}

/* A call of sched_spawn that wakes a thread may take long, and belongs to its task; but in kind cont the new task is
 * called meanwhile. */
static void spawned(double *since)
{
    if (is_cont())
        *since = now();
}

/* The task's work since then. */
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

static void ends(struct path path)
{
    at_least(&found->span, path.span);
    at_least(&found->burdened, path.burdened);
}

static void ends_after(struct path path, long ns)
{
    add(&path, ns);
    ends(path);
}

static long longer(long a, long b)
{
    return a > b ? a : b;
}

/* The path meets another one, over `moves` moves. */
static void meet(struct path *path, struct path other, int moves)
{
    path->span = longer(path->span, other.span);
    path->burdened = longer(path->burdened, other.burdened + (long)moves * BURDEN);
}

/* A task of a chain or tree. */
struct node {
    struct path path;
    int depth, children;
    int parts, last_parts; /* how often it computes, and its children do */
};

static void node(void *closure, struct scheduler *s)
{
    double since = now();
    struct node next = *(struct node *)closure;
    for (int i = 0; i < next.parts; i++)
        add(&next.path, compute_since(&since));
    next.parts = next.last_parts;
    if (next.depth-- > 0)
        for (int i = 0; i < next.children; i++) {
            struct node child = next;
            child.path = branch(&next.path);
            CHECK_EQ(sched_spawn_copy(node, &child, sizeof child, s), 0);
            spawned(&since);
            if (next.children > 2)
                add(&next.path, compute_since(&since));
            else {
                add(&next.path, rest(since));
                since = now();
            }
        }
    ends_after(next.path, rest(since));
}

static void first_of_chain(void *unused, struct scheduler *s)
{
    struct node first = {{0, 0}, 30, 1, 1, 1};
    node(&first, s);
}

static void first_of_tree(void *unused, struct scheduler *s)
{
    struct node first = {{0, 0}, 5, 2, 1, 1};
    node(&first, s);
}

static void first_of_flood(void *unused, struct scheduler *s)
{
    struct node first = {{0, 0}, 1, 20, 1, 6};
    node(&first, s);
}

/* Computes before a fork, in both branches, and after the join. */
struct forked {
    struct path path;
    int depth;
};

static void fork_and_join(void *closure, struct scheduler *s)
{
    struct forked *f = closure, here, there;
    sched_task t;
    add(&f->path, profile_compute());
    if (f->depth == 0)
        return;
    there.depth = f->depth - 1;
    here.depth = f->depth / 3;
    there.path = branch(&f->path);
    here.path = f->path;
    sched_fork(&t, fork_and_join, &there, s);
    fork_and_join(&here, s);
    add(&here.path, profile_compute());
    sched_join(&t, s);
    f->path = here.path;
    meet(&f->path, there.path, 1);
    add(&f->path, profile_compute());
}

static void forks(void *unused, struct scheduler *s)
{
    struct forked first = {{0, 0}, 5};
    fork_and_join(&first, s);
    ends(first.path);
}

/* Forks many tasks, of which the first is the longest, and joins them in the order of the forks. */
static void joins_in_order(void *unused, struct scheduler *s)
{
    enum { N = 10 };
    struct forked there[N];
    sched_task t[N];
    struct path path = {0, 0};
    add(&path, profile_compute());
    for (int i = 0; i < N; i++) {
        there[i] = (struct forked){branch(&path), i == 0 ? 3 : 0};
        sched_fork(&t[i], fork_and_join, &there[i], s);
    }
    for (int i = 0; i < N; i++) {
        sched_join(&t[i], s);
        meet(&path, there[i].path, 1);
        add(&path, profile_compute());
    }
    ends(path);
}

static void profile_group(void *unused, struct scheduler *s)
{
    enum { N = 8 };
    struct path path = {0, 0};
    for (int round = 0; round < 3; round++) {
        sched_group g = SCHED_GROUP_INIT;
        struct forked there[N];
        add(&path, profile_compute());
        for (int i = 0; i < N; i++) {
            there[i] = (struct forked){branch(&path), i % 2};
            CHECK_EQ(sched_group_spawn(&g, fork_and_join, &there[i], s), 0);
        }
        add(&path, profile_compute());
        CHECK_EQ(sched_group_wait(&g, s), 0);
        for (int i = 0; i < N; i++)
            meet(&path, there[i].path, 1);
        add(&path, profile_compute());
    }
    ends(path);
}

/* The units of a loop are parallel; those of one call count as equally long. To each of them leads a path over as many
 * halves as the loop has when it is halved down to one unit, and so many joins lead from there. */
enum { UNITS = 60, HALVINGS = 6 };

static void body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    long path = 0;
    for (size_t i = lo; i < hi; i++)
        path += profile_compute();
    at_least(&found->unit, path / (long)(hi - lo));
}

static void loop(void *unused, struct scheduler *s)
{
    struct path path = {0, 0};
    add(&path, profile_compute() + profile_compute());
    CHECK_EQ(sched_for(0, UNITS, 0, body, NULL, s), 0);
    add(&path, found->unit + profile_compute());
    path.burdened += 2 * HALVINGS * (long)BURDEN;
    ends(path);
}

/* An accumulator is the path that leads to it. The upper half of a range is a task: so to each unit leads a move for each
 * upper half that it lies in (in kind cont for each lower one), and each combination joins one. */
enum { REDUCED = 32 };

static void reduce_body(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    struct path *path = acc;
    *path = *(struct path *)ctx;
    for (size_t half = REDUCED / 2; half > 0; half /= 2)
        if (((lo & half) == 0) == is_cont())
            path->burdened += BURDEN;
    add(path, profile_compute());
}

static void combine(void *into, const void *from, void *ctx)
{
    meet(into, *(const struct path *)from, 1);
    add(into, profile_compute());
}

static void reduction(void *unused, struct scheduler *s)
{
    struct path path = {0, 0}, zero = {0, 0}, result;
    add(&path, profile_compute());
    CHECK_EQ(sched_reduce(0, REDUCED, 1, sizeof zero, &zero, reduce_body, combine, &path, &result, s), 0);
    ends_after(result, profile_compute());
}

/* A path leads through a semaphore only where a task had to wait for it. */
static void wait_or_pass(sched_sem *sem, struct path *path, const struct path *posted, double *since, struct scheduler *s)
{
    add(path, rest(*since));
    if (sched_sem_trywait(sem) != 0) {
        CHECK_EQ(sched_sem_wait(sem, s), 0);
        meet(path, *posted, 1);
    }
    *since = now();
}

static void post(sched_sem *sem, const struct path *path, struct path *posted)
{
    *posted = *path;
    CHECK_EQ(sched_sem_post(sem), 0);
}

/* A token goes round: nothing is parallel, unless the machine stops a task between its post and its next wait for so long
 * that the token has come round, and the task does not wait. */
enum { STAGES = 4, ROUNDS = 8 };

static sched_sem turn[STAGES];
static struct path token[STAGES]; /* that leads to the last post of each */
static atomic_int waiting;

static void stage(void *closure, struct scheduler *s)
{
    long i = (long)closure, next = (i + 1) % STAGES;
    struct path path = {0, is_cont() ? i * BURDEN : BURDEN};
    double since = now();
    if (++waiting == STAGES) {
        add(&path, compute_since(&since)); /* by then the others wait */
        post(&turn[i], &path, &token[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        wait_or_pass(&turn[i], &path, &token[i], &since, s);
        add(&path, compute_since(&since));
        post(&turn[next], &path, &token[next]);
    }
    ends_after(path, rest(since));
}

static void ring(void *unused, struct scheduler *s)
{
    for (long i = 0; i < STAGES; i++) {
        CHECK_EQ(sched_sem_init(&turn[i], 0), 0);
        CHECK_EQ(sched_spawn(stage, (void *)i, s), 0);
    }
}

/* Items go through stages that work at the same time. Each stage has a place for one item, which the stage before it
 * fills, and which is free again when the stage has begun to work on the item. */
enum { DEPTH = 3, ITEMS = 12 };
static struct place {
    sched_sem full, free;
    struct path filled, freed; /* the paths that lead to the last post of each */
} place[DEPTH];

static void pipe_stage(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    struct path path = {0, is_cont() ? i * BURDEN : BURDEN};
    double since = now();
    for (int item = 0; item < ITEMS; item++) {
        if (i > 0) {
            wait_or_pass(&place[i].full, &path, &place[i].filled, &since, s);
            post(&place[i].free, &path, &place[i].freed);
        }
        add(&path, compute_since(&since));
        if (i == 1)
            add(&path, compute_since(&since)); /* the slow one */
        if (i + 1 < DEPTH) {
            wait_or_pass(&place[i + 1].free, &path, &place[i + 1].freed, &since, s);
            post(&place[i + 1].full, &path, &place[i + 1].filled);
        }
    }
    ends_after(path, rest(since));
}

static void pipeline(void *unused, struct scheduler *s)
{
    for (long i = 0; i < DEPTH; i++) {
        CHECK_EQ(sched_sem_init(&place[i].full, 0), 0);
        CHECK_EQ(sched_sem_init(&place[i].free, 1), 0);
    }
    for (long i = 0; i < DEPTH; i++)
        CHECK_EQ(sched_spawn(pipe_stage, (void *)i, s), 0);
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
    {"group", profile_group},
    {"loop", loop},
    {"reduction", reduction},
    {"ring", ring},
    {"pipeline", pipeline},
};

static void profile_run(void *program)
{
    char burden[32];
    snprintf(burden, sizeof burden, "%dus", SPIN_US);
    setenv("SCHED_PROFILE", "json", 1);
    setenv("SCHED_PROFILE_BURDEN", burden, 1);
    CHECK_EQ(sched_init(2, 16, ((const struct program *)program)->first, NULL), 0);
}

static int is_near(double value, double meant)
{
    return value > 0.95 * meant && value < 1.05 * meant;
}

/* Graham's bound. */
static double greedy(double work, double span, double workers)
{
    return work / (work / workers + span * (workers - 1) / workers);
}

static void check_speedups(double work, double span, double burdened)
{
    const char *at = strstr(child.said, "\"speedup\":[");
    CHECK(at != NULL);
    for (int workers = 1; workers <= 1024; workers *= 2) {
        int n;
        double least, least_burdened, most;
        at = strstr(at, "{\"workers\":");
        CHECK(at != NULL);
        CHECK_EQ(sscanf(at, "{\"workers\":%d,\"least\":%lf,\"least_burdened\":%lf,\"most\":%lf}", &n, &least, &least_burdened,
                        &most), 4);
        CHECK_EQ(n, workers);
        CHECK(is_near(least, greedy(work, span, workers)));
        CHECK(is_near(least_burdened, greedy(work, burdened, workers)));
        CHECK(is_near(most, work / span < workers ? work / span : workers));
        at++;
    }
}

static void check(struct program program)
{
    for (int attempt = 1;; attempt++) {
        memset(found, 0, sizeof *found);
        CHECK_IN_CHILD(profile_run, &program);
        double work = (double)stat_number(child.said, "work_ns"), span = (double)stat_number(child.said, "span_ns");
        double burdened = (double)stat_number(child.said, "burdened_span_ns");
        CHECK(is_near((double)stat_number(child.said, "burden_ns"), BURDEN));
        int are_near = is_near(work, (double)found->work) && is_near(span, (double)found->span) &&
                       is_near(burdened, (double)found->burdened);
        int is_undisturbed = (double)found->work < 1.3 * 1000 * SPIN_US * (double)found->computations;
        int same_moves = fabs(burdened - span - (double)(found->burdened - found->span)) < BURDEN / 2;
        if (are_near && (is_undisturbed ? same_moves : attempt >= DISTURBED)) {
            check_speedups(work, span, burdened);
            return;
        }
        if (attempt == PROFILE_ATTEMPTS) {
            char text[300];
            snprintf(text, sizeof text,
                     "%s: work %.0f ns, measured %.0f; span %.0f ns, measured %.0f; burdened %.0f ns, measured %.0f\n",
                     program.name, (double)found->work, work, (double)found->span, span, (double)found->burdened, burdened);
            check_say(text);
            _exit(1);
        }
    }
}

CASE(profile)
{
    found = mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(found != MAP_FAILED);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        check(programs[i]);
}

/* profile_section: SCHED_PROFILE: a task waits for a group in a blocking section. The path to the
 * end of the group's tasks ends there: it does not come back in another task whose group lies at
 * the same address.
 * ctest: matrix few deque=split,mutex idle=park threads=1,2 timeout=60 */
enum { LONG_US = 20000, SHORT_US = 500, AFTER_US = 10000, PROFILE_SECTION_ATTEMPTS = 100 };

static sched_group profile_section_group = SCHED_GROUP_INIT;
static long after_ns;

static long profile_section_compute(int us)
{
    double t0 = now();
    while (now() - t0 < 1e-6 * us)
        ;
    return (long)(1e9 * (now() - t0));
}

static void part(void *us, struct scheduler *s)
{
    long took = profile_section_compute((int)(intptr_t)us);
    if ((intptr_t)us == LONG_US)
        fprintf(stderr, "\"long\":%ld\n", took);
}

static void waits_in_a_section(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_group_spawn(&profile_section_group, part, (void *)(intptr_t)LONG_US, s), 0);
    CHECK_EQ(sched_block_begin(s), 0);
    CHECK_EQ(sched_group_wait(&profile_section_group, s), 0);
    CHECK_EQ(sched_block_end(s), 0);
}

static void goes_on(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_group_spawn(&profile_section_group, part, (void *)(intptr_t)SHORT_US, s), 0);
    CHECK_EQ(sched_group_wait(&profile_section_group, s), 0);
    after_ns = profile_section_compute(AFTER_US);
    fprintf(stderr, "\"after\":%ld\n", after_ns);
}

static void profile_section_run(void *unused)
{
    setenv("SCHED_PROFILE", "json", 1);
    struct sched_pool *pool = sched_pool_create(NULL);
    CHECK(pool != NULL);
    CHECK_EQ(sched_pool_run(pool, waits_in_a_section, NULL), 0);
    CHECK_EQ(sched_pool_run(pool, goes_on, NULL), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* True if the span has room for the long part alone, and not for what the second task has done, too. Both are as long as
 * they were: what disturbs the machine makes them longer. */
static int span_is_right(void)
{
    CHECK_IN_CHILD(profile_section_run, NULL);
    long span = stat_number(child.said, "span_ns"), after = stat_number(child.said, "after");
    long part = stat_number(child.said, "long");
    CHECK(after >= 1000L * AFTER_US && part >= 1000L * LONG_US);
    return span >= part && span < part + after / 2;
}

CASE(profile_section)
{
    int attempts = 1;
    while (!span_is_right())
        CHECK(attempts++ < PROFILE_SECTION_ATTEMPTS);
}
