/* urgency: tasks with a level: SCHED_URGENT and SCHED_BACKGROUND. */
#include "case.h"
#include "null.h"
#include "pool.h"
#include "sync.h"
#include <pthread.h>
#include <sched_tasks.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { MOST_THREADS = 64 };

/* Tasks that keep all workers busy, until `released`. The one that comes last calls `when_held`. */
static int workers;
static atomic_int held, released;
static taskfunc when_held;

static void holds(void *closure, struct scheduler *s)
{
    if (++held == workers && when_held) {
        when_held(closure, s);
        released = 1;
    }
    while (!released)
        pause_us(100);
}

static void hold_all(struct scheduler *s)
{
    held = released = 0;
    CHECK_TIMES(workers, sched_spawn_at(SCHED_NORMAL, holds, NULL, s));
}

static void wait_until_held(void)
{
    struct patience patience = patience_of(60);
    while (held != workers)
        CHECK((pause_us(100), is_patient(&patience)));
}

/* Ordinary tasks, and urgent ones, which keep their workers until each worker has one. */
static atomic_int normal_begun, urgent_begun, background_begun;

COUNTING_TASK(normal, normal_begun)
COUNTING_TASK(background, background_begun)

static void urgent(void *closure, struct scheduler *s)
{
    int all = workers;
    if (urgent_begun < all)
        CHECK_EQ(normal_begun + background_begun, 0);
    urgent_begun++;
    while (urgent_begun < all)
        pause_us(100);
}

/* urgent_first: Urgent tasks that a task adds begin before ten thousand ordinary ones that it has added before and after, at
 * each worker.
 * ctest: static debug
 * ctest: matrix */
enum { ORDINARY = 10000 / SMALLER };

static void adds_urgent(void *closure, struct scheduler *s)
{
    for (int i = 0; i < ORDINARY; i++) {
        CHECK_EQ(sched_spawn_at(SCHED_NORMAL, normal, NULL, s), 0);
        if (i % (ORDINARY / 10) == 0)
            CHECK_EQ(sched_spawn_at(SCHED_BACKGROUND, background, NULL, s), 0);
        if (i < workers * 10 && i % 10 == 0)
            CHECK_EQ(sched_spawn_at(SCHED_URGENT, urgent, NULL, s), 0);
    }
    CHECK_EQ(normal_begun + urgent_begun + background_begun, 0);
}

static void first_root(void *closure, struct scheduler *s)
{
    when_held = adds_urgent;
    hold_all(s);
}

CASE(urgent_first)
{
    workers = threads_of(2);
    run(2, first_root);
    CHECK_EQ(urgent_begun, workers);
    CHECK_EQ(normal_begun, ORDINARY);
    CHECK_EQ(background_begun, 10);
}

/* urgent_outside: Urgent tasks from outside, by a call, in a group, or as a node that an event starts, begin before all others,
 * from wherever those come.
 * ctest: static debug
 * ctest: matrix */
static sched_event starts_nodes;
static sched_node nodes[MOST_THREADS];
static sched_group urgent_group = SCHED_GROUP_INIT;
static int way;

static void add_urgent(struct sched_pool *pool, int i)
{
    struct scheduler *s = sched_pool_scheduler(pool);
    switch (way) {
    case 0:
        CHECK_EQ(sched_pool_submit_at(pool, SCHED_URGENT, urgent, NULL), 0);
        break;
    case 1:
        CHECK_EQ(sched_spawn_at(SCHED_URGENT, urgent, NULL, s), 0);
        break;
    case 2:
        CHECK_EQ(sched_group_spawn_at(&urgent_group, SCHED_URGENT, urgent, NULL, s), 0);
        break;
    case 3:
        CHECK_EQ(sched_node_init(&nodes[i], urgent, NULL), 0);
        CHECK_EQ(sched_node_level(&nodes[i], SCHED_BACKGROUND), 0);
        CHECK_EQ(sched_node_level(&nodes[i], SCHED_URGENT), 0);
        CHECK_EQ(sched_node_ready(&nodes[i], s), 0);
        break;
    default:
        CHECK_EQ(sched_node_init(&nodes[i], urgent, NULL), 0);
        CHECK_EQ(sched_node_level(&nodes[i], SCHED_URGENT), 0);
        CHECK_EQ(sched_node_group(&nodes[i], &urgent_group), 0);
        CHECK_EQ(sched_after(&nodes[i], &starts_nodes), 0);
        CHECK_EQ(sched_node_ready(&nodes[i], s), 0);
    }
}

CASE(urgent_outside)
{
    struct sched_pool *pool = pool_of(2);
    struct scheduler *s = sched_pool_scheduler(pool);
    workers = threads_of(2);
    CHECK(workers <= MOST_THREADS);
    for (way = 0; way < 5; way++) {
        normal_begun = urgent_begun = 0;
        hold_all(s);
        wait_until_held();
        CHECK_EQ(sched_event_init(&starts_nodes), 0);
        CHECK_TIMES(100, sched_pool_submit(pool, normal, NULL));
        for (int i = 0; i < workers; i++)
            add_urgent(pool, i);
        CHECK_EQ(sched_event_end(&starts_nodes), 0);
        CHECK_EQ(sched_pool_submit(pool, normal, NULL), 0);
        CHECK_EQ(urgent_begun + normal_begun, 0);
        released = 1;
        CHECK_EQ(sched_group_wait(&urgent_group, s), 0);
        CHECK_EQ(sched_pool_wait(pool), 0);
        CHECK_EQ(urgent_begun, workers);
        CHECK_EQ(normal_begun, 101);
    }
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* urgent_timer: An urgent timer's task begins before others that were queued before. The test cannot know when the task is
 * queued, so it tries several times.
 * ctest: static
 * ctest: matrix threads=1 */
static int timer_after;

static void note_timer(void *closure, struct scheduler *s)
{
    timer_after = normal_begun;
}

static int timer_is_first(struct sched_pool *pool, int level)
{
    sched_timer timer = SCHED_TIMER_INIT;
    struct scheduler *s = sched_pool_scheduler(pool);
    normal_begun = 0;
    hold_all(s);
    wait_until_held();
    CHECK_TIMES(100, sched_pool_submit(pool, normal, NULL));
    CHECK_EQ(sched_timer_start_at(&timer, level, sched_now(), note_timer, NULL, s), 0);
    CHECK_ERRNO(sched_timer_start_at(&timer, level, 0, note_timer, NULL, s), EBUSY);
    pause_us(3000);
    released = 1;
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(normal_begun, 100);
    CHECK_ERRNO(sched_timer_cancel(&timer), EALREADY);
    return timer_after == 0;
}

CASE(urgent_timer)
{
    struct sched_pool *pool = pool_of(1);
    struct patience patience = patience_of(60);
    workers = 1;
    while (!timer_is_first(pool, SCHED_URGENT))
        CHECK(is_patient(&patience));
    for (int i = 0; i < 3; i++) {
        CHECK(!timer_is_first(pool, SCHED_NORMAL));
        CHECK(!timer_is_first(pool, SCHED_BACKGROUND));
    }
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* urgent_amid: Urgent tasks begin beside a tree of forks and joins, and a loop, that end only then, and beside a flood of
 * ordinary tasks from outside.
 * ctest: static debug
 * ctest: matrix with=threads */
enum { AMID = 20 };

static atomic_int in_trees, in_loops, amid;

COUNTING_TASK(counts_amid, amid)

static void tree(void *closure, struct scheduler *s)
{
    int depth = (int)(intptr_t)closure;
    if (depth == 0)
        return;
    sched_task t;
    sched_fork(&t, tree, (void *)(intptr_t)(depth - 1), s);
    tree((void *)(intptr_t)(depth - 1), s);
    sched_join(&t, s);
}

static void grows(void *closure, struct scheduler *s)
{
    in_trees++;
    while (amid < AMID)
        tree((void *)(intptr_t)8, s);
}

static void part(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    in_loops = 1;
    if (amid >= 2 * AMID)
        sched_stop(s);
}

static void loops(void *closure, struct scheduler *s)
{
    while (amid < 2 * AMID) {
        int result = sched_for(0, 1000, 1, part, NULL, s);
        CHECK(result == 0 || get_errno() == ECANCELED);
    }
}

static void add_amid(struct sched_pool *pool)
{
    for (int i = 0; i < AMID; i++) {
        int before = amid;
        struct patience patience = patience_of(60);
        CHECK_EQ(sched_pool_submit(pool, nothing, NULL), 0);
        CHECK_EQ(sched_pool_submit_at(pool, SCHED_URGENT, counts_amid, NULL), 0);
        while (amid == before)
            CHECK((pause_us(10), is_patient(&patience)));
    }
}

CASE(urgent_amid)
{
    struct sched_pool *pool = pool_of(2);
    struct patience patience = patience_of(60);
    CHECK_EQ(sched_pool_submit(pool, grows, NULL), 0);
    while (!in_trees)
        CHECK((pause_us(100), is_patient(&patience)));
    add_amid(pool);
    CHECK_EQ(sched_pool_submit(pool, loops, NULL), 0);
    while (!in_loops)
        CHECK((pause_us(100), is_patient(&patience)));
    add_amid(pool);
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(amid, 2 * AMID);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* background_last: With one worker, background tasks begin after all others that are queued, also after those from outside. The
 * test may be stopped for so long that a task ages, so it tries several times.
 * ctest: static debug
 * ctest: matrix threads=1 */
static int normal_before;

static void notes_normal(void *closure, struct scheduler *s)
{
    normal_before = normal_begun;
    background_begun++;
}

static void spawns_normal(void *closure, struct scheduler *s)
{
    int left = (int)(intptr_t)closure;
    normal_begun++;
    if (left > 0)
        CHECK_EQ(sched_spawn(spawns_normal, (void *)(intptr_t)(left - 1), s), 0);
}

/* The background task is added by a task before the others, or by a thread. */
static void adds_background(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn_at(SCHED_BACKGROUND, notes_normal, NULL, s), 0);
    CHECK_TIMES(50, sched_spawn_at(SCHED_NORMAL, spawns_normal, (void *)(intptr_t)1, s));
}

static int background_is_last(struct sched_pool *pool, int by_thread)
{
    struct scheduler *s = sched_pool_scheduler(pool);
    normal_begun = background_begun = 0;
    when_held = by_thread ? NULL : adds_background;
    if (!by_thread) {
        hold_all(s);
    } else {
        hold_all(s);
        wait_until_held();
        adds_background(NULL, s);
        released = 1;
    }
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(normal_begun, 100);
    CHECK_EQ(background_begun, 1);
    return normal_before == 100;
}

CASE(background_last)
{
    struct sched_pool *pool = pool_of(1);
    struct patience patience = patience_of(60);
    workers = 1;
    for (int by_thread = 0; by_thread < 2; by_thread++)
        while (!background_is_last(pool, by_thread))
            CHECK(is_patient(&patience));
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* background_yield: A task that yields while only background tasks are queued continues.
 * ctest: static
 * ctest: matrix threads=1 */
static int yield_continued;

static void yields(void *closure, struct scheduler *s)
{
    background_begun = 0;
    CHECK_EQ(sched_spawn_at(SCHED_BACKGROUND, background, NULL, s), 0);
    for (int i = 0; i < 200; i++)
        sched_task_yield(s);
    yield_continued = background_begun == 0;
}

CASE(background_yield)
{
    struct patience patience = patience_of(60);
    while (!yield_continued) {
        CHECK_EQ(sched_init(1, 10, yields, NULL), 0);
        CHECK_EQ(background_begun, 1);
        CHECK(is_patient(&patience));
    }
}

/* background_ends: A run does not end, and a pool does not rest, before its background tasks have run, and those that these
 * have added. A task waits for a group of such tasks.
 * ctest: static debug
 * ctest: matrix */
enum { DEEP = 6 };

static void spreads(void *closure, struct scheduler *s)
{
    int depth = (int)(intptr_t)closure;
    background_begun++;
    for (int i = 0; i < 2 && depth > 0; i++)
        CHECK_EQ(sched_spawn_at(SCHED_BACKGROUND, spreads, (void *)(intptr_t)(depth - 1), s), 0);
}

static void waits_for_background(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    sched_node n;
    normal_begun = 0;
    CHECK_TIMES(10, sched_group_spawn_at(&g, SCHED_BACKGROUND, normal, NULL, s));
    CHECK_EQ(sched_node_init(&n, normal, NULL), 0);
    CHECK_EQ(sched_node_level(&n, SCHED_BACKGROUND), 0);
    CHECK_EQ(sched_node_group(&n, &g), 0);
    CHECK_EQ(sched_node_ready(&n, s), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(normal_begun, 11);
    spreads((void *)(intptr_t)DEEP, s);
}

CASE(background_ends)
{
    struct sched_pool *pool = pool_of(2);
    run(2, waits_for_background);
    CHECK_EQ(background_begun, (2 << DEEP) - 1);
    background_begun = 0;
    CHECK_EQ(sched_pool_submit_at(pool, SCHED_BACKGROUND, waits_for_background, NULL), 0);
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(background_begun, (2 << DEEP) - 1);
    CHECK_EQ(sched_pool_submit_at(pool, SCHED_BACKGROUND, spreads, (void *)(intptr_t)DEEP), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_EQ(background_begun, 2 * ((2 << DEEP) - 1));
}

/* background_aged: Background tasks begin beside ordinary ones that never end otherwise, in each worker: tasks that follow each
 * other and, in kinds with threads, trees of forks and joins.
 * ctest: static
 * ctest: matrix timeout=60 */
static void endless(void *closure, struct scheduler *s)
{
    if (background_begun < (has_threads() ? 2 : 3))
        CHECK_EQ(sched_spawn_at(SCHED_NORMAL, endless, NULL, s), 0);
}

static void endless_tree(void *closure, struct scheduler *s)
{
    while (background_begun < 3)
        tree((void *)(intptr_t)6, s);
}

static void aged_root(void *closure, struct scheduler *s)
{
    CHECK_TIMES(2 * workers, sched_spawn_at(SCHED_NORMAL, endless, NULL, s));
    CHECK_TIMES(3, sched_spawn_at(SCHED_BACKGROUND, background, NULL, s));
    for (int i = 0; i < workers && has_threads(); i++)
        CHECK_EQ(sched_spawn_at(SCHED_NORMAL, endless_tree, NULL, s), 0);
}

CASE(background_aged)
{
    workers = threads_of(2);
    run(2, aged_root);
    CHECK_EQ(background_begun, 3);
}

/* levels_cancel: In a cancelled group no task of any level is run, and the group ends.
 * ctest: static debug
 * ctest: matrix */
static void adds_cancelled(void *closure, struct scheduler *s)
{
    sched_group *g = closure;
    for (int i = 0; i < 30; i++)
        CHECK_EQ(sched_group_spawn_at(g, i % 3, normal, NULL, s), 0);
    sched_group_cancel(g);
}

CASE(levels_cancel)
{
    struct sched_pool *pool = pool_of(1);
    struct scheduler *s = sched_pool_scheduler(pool);
    sched_group g = SCHED_GROUP_INIT;
    workers = threads_of(1);
    hold_all(s);
    wait_until_held();
    adds_cancelled(&g, s);
    released = 1;
    CHECK_ERRNO(sched_group_wait(&g, s), ECANCELED);
    CHECK_EQ(normal_begun, 0);
    adds_cancelled(&g, s);
    CHECK_ERRNO(sched_group_wait(&g, s), ECANCELED);
    CHECK_EQ(sched_group_spawn_at(&g, SCHED_URGENT, normal, NULL, s), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* levels_flood: Threads and tasks add tasks of all levels at the same time, with copies of them in groups: each runs once.
 * ctest: static debug
 * ctest: matrix */
enum { ADDERS = 3, ADDED = 2000 / SMALLER };

static atomic_long flooded;

static void flood_leaf(void *closure, struct scheduler *s)
{
    flooded += (long)(intptr_t)closure;
}

static void flood_node(void *closure, struct scheduler *s)
{
    long n = (long)(intptr_t)closure;
    flooded += n;
    CHECK_EQ(sched_spawn_at((int)(n % 3), flood_leaf, closure, s), 0);
    if (n % 7 == 0)
        sched_task_yield(s);
    if (n % 5 == 0)
        CHECK_EQ(sched_spawn(flood_leaf, closure, s), 0);
}

static void *floods(void *at)
{
    struct scheduler *s = at;
    sched_group g = SCHED_GROUP_INIT;
    for (long n = 1; n <= ADDED; n++) {
        CHECK_EQ(sched_spawn_at((int)(n / 2 % 3), flood_node, (void *)n, s), 0);
        CHECK_EQ(sched_group_spawn_at(&g, (int)(n % 3), flood_leaf, (void *)n, s), 0);
        if (n % 500 == 0)
            CHECK_EQ(sched_group_wait(&g, s), 0);
    }
    CHECK_EQ(sched_group_wait(&g, s), 0);
    return NULL;
}

static void flood_task(void *closure, struct scheduler *s)
{
    floods(s);
}

CASE(levels_flood)
{
    struct sched_pool *pool = pool_of(2);
    struct scheduler *s = sched_pool_scheduler(pool);
    pthread_t threads[ADDERS];
    long sum = (long)ADDED * (ADDED + 1) / 2, fives = 0;
    for (long n = 5; n <= ADDED; n += 5)
        fives += n;
    for (int i = 0; i < ADDERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, floods, s), 0);
    CHECK_EQ(sched_pool_submit(pool, flood_task, NULL), 0);
    for (int i = 0; i < ADDERS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_EQ(flooded, (ADDERS + 1) * (3 * sum + fives));
}

/* levels_refused: Under SCHED_OVERFLOW=refuse the queue for all workers counts tasks of all levels, but not those of timers and
 * of nodes that others start.
 * ctest: static
 * ctest: matrix overflow=refuse threads=1 refuse */
static int refused_ran;

COUNTING_TASK(counts_refused, refused_ran)

CASE(levels_refused)
{
    struct sched_options options = {.size = sizeof options, .nthreads = 1, .qlen = 4, .settings = "SCHED_OVERFLOW=refuse"};
    struct sched_pool *pool = sched_pool_create(&options);
    struct scheduler *s = sched_pool_scheduler(pool);
    sched_group g = SCHED_GROUP_INIT;
    sched_event e;
    sched_node n;
    workers = 1;
    for (int round = 0; round < 3; round++) {
        refused_ran = 0;
        hold_all(s);
        wait_until_held();
        CHECK_EQ(sched_event_init(&e), 0);
        CHECK_EQ(sched_node_init(&n, counts_refused, NULL), 0);
        CHECK_EQ(sched_node_level(&n, round), 0);
        CHECK_EQ(sched_after(&n, &e), 0);
        CHECK_EQ(sched_node_ready(&n, s), 0);
        CHECK_EQ(sched_pool_submit_at(pool, SCHED_URGENT, counts_refused, NULL), 0);
        CHECK_EQ(sched_pool_submit_at(pool, SCHED_BACKGROUND, counts_refused, NULL), 0);
        CHECK_EQ(sched_pool_submit(pool, counts_refused, NULL), 0);
        CHECK_EQ(sched_group_spawn_at(&g, SCHED_URGENT, counts_refused, NULL, s), 0);
        for (int level = 0; level < 3; level++) {
            CHECK_ERRNO(sched_pool_submit_at(pool, level, counts_refused, NULL), EAGAIN);
            CHECK_ERRNO(sched_group_spawn_at(&g, level, counts_refused, NULL, s), EAGAIN);
        }
        CHECK_ERRNO(sched_pool_submit(pool, counts_refused, NULL), EAGAIN);
        CHECK_EQ(sched_event_end(&e), 0);
        CHECK_EQ(refused_ran, 0);
        released = 1;
        CHECK_EQ(sched_group_wait(&g, s), 0);
        CHECK_EQ(sched_pool_wait(pool), 0);
        CHECK_EQ(refused_ran, 5);
    }
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* levels_null: Without an s the tasks belong to the default pool.
 * ctest: static
 * ctest: matrix few */
CASE(levels_null)
{
    sched_group g = SCHED_GROUP_INIT;
    sched_timer timers[3] = {SCHED_TIMER_INIT, SCHED_TIMER_INIT, SCHED_TIMER_INIT};
    struct patience patience = patience_of(60);
    for (int i = 0; i < 30; i++) {
        CHECK_EQ(sched_spawn_at(i % 3, normal, NULL, NULL), 0);
        CHECK_EQ(sched_group_spawn_at(&g, i % 3, normal, NULL, NULL), 0);
    }
    for (int level = 0; level < 3; level++)
        CHECK_EQ(sched_timer_start_at(&timers[level], level, sched_now() + 1000, normal, NULL, NULL), 0);
    CHECK_EQ(sched_group_wait(&g, NULL), 0);
    while (normal_begun < 63)
        CHECK((pause_us(100), is_patient(&patience)));
}

/* levels_mistaken: A level that does not exist, and what else is wrong, is refused, and nothing has changed.
 * ctest: static debug */
static void note_scheduler(void *at, struct scheduler *s)
{
    *(struct scheduler **)at = s;
}

CASE(levels_mistaken)
{
    struct sched_pool *pool = pool_of(1);
    struct scheduler *s = sched_pool_scheduler(pool), *ended;
    sched_group g = SCHED_GROUP_INIT;
    sched_timer t = SCHED_TIMER_INIT;
    sched_event e;
    sched_node n;
    const int wrong[] = {-1, 3, INT_MAX, INT_MIN};
    CHECK_EQ(sched_event_init(&e), 0);
    CHECK_EQ(sched_node_init(&n, nothing, NULL), 0);
    for (int i = 0; i < 4; i++) {
        CHECK_ERRNO(sched_spawn_at(wrong[i], nothing, NULL, s), EINVAL);
        CHECK_ERRNO(sched_group_spawn_at(&g, wrong[i], nothing, NULL, s), EINVAL);
        CHECK_ERRNO(sched_node_level(&n, wrong[i]), EINVAL);
        CHECK_ERRNO(sched_pool_submit_at(pool, wrong[i], nothing, NULL), EINVAL);
        CHECK_ERRNO(sched_timer_start_at(&t, wrong[i], 0, nothing, NULL, s), EINVAL);
    }
    CHECK_EQ(sched_init(1, 1, note_scheduler, &ended), 0);
    for (int level = 0; level < 3; level++) {
        CHECK_ERRNO(sched_spawn_at(level, NULL, NULL, s), EINVAL);
        CHECK_ERRNO(sched_spawn_at(level, nothing, NULL, ended), EINVAL);
        CHECK_ERRNO(sched_group_spawn_at(NULL, level, nothing, NULL, s), EINVAL);
        CHECK_ERRNO(sched_group_spawn_at(&g, level, NULL, NULL, s), EINVAL);
        CHECK_ERRNO(sched_group_spawn_at(&g, level, nothing, NULL, ended), EINVAL);
        CHECK_EQ(sched_group_wait(&g, s), 0);
        CHECK_ERRNO(sched_node_level(NULL, level), EINVAL);
        CHECK_ERRNO(sched_node_level(&e, level), EINVAL);
        CHECK_ERRNO(sched_pool_submit_at(NULL, level, nothing, NULL), EINVAL);
        CHECK_ERRNO(sched_pool_submit_at(pool, level, NULL, NULL), EINVAL);
        CHECK_ERRNO(sched_timer_start_at(NULL, level, 0, nothing, NULL, s), EINVAL);
        CHECK_ERRNO(sched_timer_start_at(&t, level, 0, NULL, NULL, s), EINVAL);
        CHECK_ERRNO(sched_timer_start_at(&t, level, 0, nothing, NULL, ended), EINVAL);
        CHECK_ERRNO(sched_timer_cancel(&t), EALREADY);
    }
    CHECK_EQ(sched_after(&n, &e), 0);
    CHECK_EQ(sched_node_ready(&n, s), 0);
    CHECK_ERRNO(sched_node_level(&n, SCHED_URGENT), EBUSY);
    CHECK_EQ(sched_event_end(&e), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}
