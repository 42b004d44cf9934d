/* nodes: sched_node and sched_event: tasks that begin after others have ended. */
#include "case.h"
#include "child.h"
#include "null.h"
#include "pool.h"
#include "proc.h"
#include "sync.h"
#include "where.h"
#include <pthread.h>
#include <sched_tasks.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static unsigned next_number(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return (unsigned)(*x >> 33);
}

/* node_order: The nodes of a random graph each run once, after all nodes before them, and see what those have written. Edges lead
 * from any earlier node, also from those that run or have ended; one node is behind all others, and one before all.
 * ctest: static debug
 * ctest: matrix refuse threads=1,4
 * ctest: matrix idle=park threads=2,8 */
enum { GRAPH = 4000 / SMALLER, MOST_EDGES = 12 };

static struct step {
    sched_node node;
    int before[MOST_EDGES], edges, ran;
    long long ways;
} steps[GRAPH];
static atomic_int steps_ran;

/* The number of ways through the graph, modulo a prime. */
static long long ways_to(const struct step *step)
{
    long long ways = step == &steps[0];
    for (int k = 0; k < step->edges; k++)
        ways += steps[step->before[k]].ways;
    return ways % 1000000007;
}

static void runs_step(void *closure, struct scheduler *s)
{
    struct step *step = closure;
    CHECK_EQ(step->ran++, 0);
    for (int k = 0; k < step->edges; k++)
        CHECK_EQ(steps[step->before[k]].ran, 1);
    step->ways = ways_to(step);
    steps_ran++;
}

static int is_step_ready(struct step *step, struct scheduler *s)
{
    int result = sched_node_ready(&step->node, s);
    CHECK(result == 0 || errno == EAGAIN);
    return result == 0;
}

static void builds_graph(void *closure, struct scheduler *s)
{
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < GRAPH; i++) {
        struct step *step = &steps[i];
        CHECK_EQ(sched_node_init(&step->node, runs_step, step), 0);
        step->edges = i == 0 ? 0 : 1 + (int)(next_number(&x) % (i < MOST_EDGES ? 1 : MOST_EDGES));
        for (int k = 0; k < step->edges; k++) {
            step->before[k] = k == 0 && i % 3 ? i - 1 : (int)(next_number(&x) % (unsigned)i);
            CHECK_EQ(sched_after(&step->node, &steps[step->before[k]].node), 0);
        }
        while (!is_step_ready(step, s)) /* the queue is full */
            sched_task_yield(s);
    }
}

CASE(node_order)
{
    run(2, builds_graph);
    CHECK_EQ(steps_ran, GRAPH);
    for (int i = 0; i < GRAPH; i++) {
        CHECK_EQ(steps[i].ran, 1);
        CHECK_EQ(steps[i].ways, ways_to(&steps[i]));
    }
}

/* node_fans: A node behind a thousand others begins after all of them; a thousand begin after one; again and again with the same
 * nodes, made anew.
 * ctest: static debug
 * ctest: matrix threads=1,4 */
enum { FAN = 1000 / SMALLER, FANS = 3 };

static sched_node first, last, fan[FAN];
static atomic_int fanned, first_ran, last_ran;

static void is_first(void *closure, struct scheduler *s)
{
    CHECK_EQ(fanned, 0);
    first_ran++;
}

static void is_between(void *closure, struct scheduler *s)
{
    CHECK_EQ(first_ran, 1);
    CHECK_EQ(last_ran, 0);
    fanned++;
}

static void is_last(void *closure, struct scheduler *s)
{
    CHECK_EQ(fanned, FAN);
    last_ran++;
}

static void fans_root(void *closure, struct scheduler *s)
{
    for (int round = 0; round < FANS; round++) {
        sched_group group = SCHED_GROUP_INIT;
        first_ran = fanned = last_ran = 0;
        CHECK_EQ(sched_node_init(&first, is_first, NULL), 0);
        CHECK_EQ(sched_node_init(&last, is_last, NULL), 0);
        CHECK_EQ(sched_node_group(&last, &group), 0);
        for (int i = 0; i < FAN; i++) {
            CHECK_EQ(sched_node_init(&fan[i], is_between, NULL), 0);
            CHECK_EQ(sched_after(&fan[i], &first), 0);
            CHECK_EQ(sched_after(&last, &fan[i]), 0);
        }
        CHECK_EQ(sched_node_ready(&last, s), 0);
        for (int i = 0; i < FAN; i++)
            CHECK_EQ(sched_node_ready(&fan[i], s), 0);
        CHECK_EQ(last_ran + fanned + first_ran, 0);
        CHECK_EQ(sched_node_ready(&first, s), 0);
        CHECK_EQ(sched_group_wait(&group, s), 0);
        CHECK_EQ(last_ran, 1);
    }
}

CASE(node_fans)
{
    run(2, fans_root);
}

/* node_race: An edge that is added while the node before it ends: the node behind begins once, and sees what the other has written.
 * ctest: static debug
 * ctest: matrix
 * ctest: matrix deque=split,mutex idle=park threads=2,4 */
enum { RACES = 20000 / SMALLER };

static int race_value;
static atomic_int race_ran;

static void race_before(void *closure, struct scheduler *s)
{
    race_value = *(int *)closure;
}

static void race_after(void *closure, struct scheduler *s)
{
    CHECK_EQ(race_value, *(int *)closure);
    race_ran++;
}

static void race_root(void *closure, struct scheduler *s)
{
    for (int i = 1; i <= RACES; i++) {
        sched_group group = SCHED_GROUP_INIT;
        sched_node before, after;
        CHECK_EQ(sched_node_init(&before, race_before, &i), 0);
        CHECK_EQ(sched_node_init(&after, race_after, &i), 0);
        CHECK_EQ(sched_node_group(&before, &group), 0);
        CHECK_EQ(sched_node_group(&after, &group), 0);
        CHECK_EQ(sched_node_ready(&before, s), 0);
        for (volatile int k = 0; k < i % 64 * 8; k++)
            continue;
        CHECK_EQ(sched_after(&after, &before), 0);
        CHECK_EQ(sched_node_ready(&after, s), 0);
        CHECK_EQ(sched_group_wait(&group, s), 0);
        CHECK_EQ(race_ran, i);
    }
}

CASE(node_race)
{
    run(2, race_root);
}

/* node_group: A node's function is not called if its group is cancelled before it begins; the nodes
 * behind it nevertheless begin, and the wait for the group covers all nodes that were made ready.
 * ctest: static debug
 * ctest: matrix threads=1,2 */
static atomic_int group_ran, outside_ran;

static void in_group(void *closure, struct scheduler *s)
{
    group_ran++;
}

static void not_in_group(void *closure, struct scheduler *s)
{
    outside_ran++;
}

static void node_group_root(void *closure, struct scheduler *s)
{
    sched_group group = SCHED_GROUP_INIT, others = SCHED_GROUP_INIT;
    sched_node chain[3], outside;
    sched_event start;
    for (int cancelled = 0; cancelled < 2; cancelled++) {
        group_ran = outside_ran = 0;
        CHECK_EQ(sched_event_init(&start), 0);
        for (int i = 0; i < 3; i++) {
            CHECK_EQ(sched_node_init(&chain[i], in_group, NULL), 0);
            CHECK_EQ(sched_node_group(&chain[i], &group), 0);
            CHECK_EQ(sched_after(&chain[i], i ? &chain[i - 1] : &start), 0);
            CHECK_EQ(sched_node_ready(&chain[i], s), 0);
        }
        CHECK_EQ(sched_node_init(&outside, not_in_group, NULL), 0);
        CHECK_EQ(sched_node_group(&outside, &others), 0);
        CHECK_EQ(sched_after(&outside, &chain[2]), 0);
        CHECK_EQ(sched_node_ready(&outside, s), 0);
        CHECK_ERRNO(sched_group_wait_until(&group, 0, s), ETIMEDOUT);
        if (cancelled)
            sched_group_cancel(&group);
        CHECK_EQ(sched_event_end(&start), 0);
        if (cancelled)
            CHECK_ERRNO(sched_group_wait(&group, s), ECANCELED);
        else
            CHECK_EQ(sched_group_wait(&group, s), 0);
        CHECK_EQ(sched_group_wait(&others, s), 0);
        CHECK_EQ(group_ran, cancelled ? 0 : 3);
        CHECK_EQ(outside_ran, 1);
    }
}

CASE(node_group)
{
    run(2, node_group_root);
}

/* event: An event that a thread outside ends: tasks and threads that wait for it go on, and so do the nodes behind it; the run does
 * not end before. A deadline ends a wait, and a cancelled group one with a deadline. An event that has ended waits for nobody.
 * ctest: static debug
 * ctest: matrix threads=1,2 */
enum { EVENT_WAITERS = 20 };

static sched_event opened;
static atomic_int event_waiters, event_nodes;
static int event_value;

static void waits_for_event(void *closure, struct scheduler *s)
{
    if ((intptr_t)closure % 2)
        CHECK_ERRNO(sched_event_wait_until(&opened, sched_now() + SCHED_MILLISECOND / 10, s), ETIMEDOUT);
    event_waiters++;
    CHECK_EQ(sched_event_wait(&opened, s), 0);
    CHECK_EQ(event_value, 7);
    event_waiters++;
}

static void *waits_in_thread(void *arg)
{
    waits_for_event(arg, NULL);
    return NULL;
}

static void *opens(void *arg)
{
    while (event_waiters < EVENT_WAITERS + 2)
        pause_us(100);
    event_value = 7;
    CHECK_EQ(sched_event_end(&opened), 0);
    CHECK_ERRNO(sched_event_end(&opened), EALREADY);
    return NULL;
}

static void behind_event(void *closure, struct scheduler *s)
{
    CHECK_EQ(event_value, 7);
    event_nodes++;
}

static void waits_cancelled(void *closure, struct scheduler *s)
{
    CHECK_ERRNO(sched_event_wait_until(closure, sched_now() + 100 * SCHED_SECOND, s), ECANCELED);
}

static void waits_cancelled_forever(void *closure, struct scheduler *s)
{
    CHECK_ERRNO(sched_event_wait_until(closure, SCHED_FOREVER, s), ECANCELED);
}

static void event_root(void *closure, struct scheduler *s)
{
    static sched_node behind[3];
    sched_group group = SCHED_GROUP_INIT;
    sched_event never;
    CHECK_EQ(sched_event_init(&never), 0);
    CHECK_EQ(sched_group_spawn(&group, waits_cancelled, &never, s), 0);
    CHECK_EQ(sched_group_spawn(&group, waits_cancelled_forever, &never, s), 0);
    sched_task_yield(s);
    sched_group_cancel(&group);
    CHECK_ERRNO(sched_group_wait(&group, s), ECANCELED);
    for (intptr_t i = 0; i < EVENT_WAITERS; i++)
        CHECK_EQ(sched_spawn(waits_for_event, (void *)i, s), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(sched_node_init(&behind[i], behind_event, NULL), 0);
        CHECK_EQ(sched_after(&behind[i], &opened), 0);
        CHECK_EQ(sched_node_ready(&behind[i], s), 0);
    }
}

CASE(event)
{
    pthread_t threads[3];
    CHECK_EQ(sched_event_init(&opened), 0);
    CHECK_EQ(pthread_create(&threads[0], NULL, opens, NULL), 0);
    for (intptr_t i = 0; i < 2; i++)
        CHECK_EQ(pthread_create(&threads[1 + i], NULL, waits_in_thread, (void *)i), 0);
    run(2, event_root);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(event_waiters, 2 * (EVENT_WAITERS + 2));
    CHECK_EQ(event_nodes, 3);
    CHECK_EQ(sched_event_wait(&opened, NULL), 0);
    CHECK_EQ(sched_event_wait_until(&opened, 0, NULL), 0);
}

/* event_freed: Whoever has waited for an event may free it at once, and so may a node behind it.
 * ctest: static debug
 * ctest: matrix deque=split,mutex idle=park threads=1,2,4 */
enum { FREED = 4000 / SMALLER };

static void frees_event(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_event_wait(closure, s), 0);
    memset(closure, 0xa5, sizeof(sched_event));
    free(closure);
}

struct frees {
    sched_node node;
    sched_event *event;
};

static void frees_both(void *closure, struct scheduler *s)
{
    struct frees *frees = closure;
    memset(frees->event, 0x5a, sizeof(sched_event));
    free(frees->event);
}

static void ends_event(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_event_end(closure), 0);
}

static void freed_root(void *closure, struct scheduler *s)
{
    for (int i = 0; i < FREED; i++) {
        sched_group group = SCHED_GROUP_INIT;
        sched_event *event = malloc(sizeof *event);
        struct frees *frees = malloc(sizeof *frees);
        CHECK(event && frees);
        CHECK_EQ(sched_event_init(event), 0);
        CHECK_EQ(sched_group_spawn(&group, ends_event, event, s), 0);
        if (i % 2) {
            CHECK_EQ(sched_group_spawn(&group, frees_event, event, s), 0);
        } else {
            frees->event = event;
            CHECK_EQ(sched_node_init(&frees->node, frees_both, frees), 0);
            CHECK_EQ(sched_node_group(&frees->node, &group), 0);
            CHECK_EQ(sched_after(&frees->node, event), 0);
            CHECK_EQ(sched_node_ready(&frees->node, s), 0);
        }
        CHECK_EQ(sched_group_wait(&group, s), 0);
        free(frees);
    }
}

CASE(event_freed)
{
    run(2, freed_root);
}

/* node_runs: The nodes of one graph belong to several runs; each runs in its own, which does not end, or rest, before. A thread
 * outside builds it, and waits for a group in the default pool.
 * ctest: static
 * ctest: matrix threads=1,2 */
enum { RUNS = 3, IN_RUNS = 300 };

static struct placed {
    sched_node node;
    struct sched_pool *pool;
    int at;
} placed[IN_RUNS];
static atomic_int placed_ran;

static void runs_in_its_run(void *closure, struct scheduler *s)
{
    struct placed *it = closure;
    if (it->pool)
        CHECK(sched_pool_scheduler(it->pool) != NULL);
    CHECK_EQ(placed_ran++, it->at);
}

CASE(node_runs)
{
    struct sched_pool *pools[RUNS] = {pool_of(1), pool_of(2), NULL};
    sched_group group = SCHED_GROUP_INIT;
    sched_event start;
    CHECK_EQ(sched_event_init(&start), 0);
    for (int i = 0; i < IN_RUNS; i++) {
        struct placed *it = &placed[i];
        it->pool = pools[i % RUNS];
        it->at = i;
        CHECK_EQ(sched_node_init(&it->node, runs_in_its_run, it), 0);
        CHECK_EQ(sched_node_group(&it->node, &group), 0);
        CHECK_EQ(sched_after(&it->node, i ? &placed[i - 1].node : &start), 0);
        CHECK_EQ(sched_node_ready(&it->node, it->pool ? sched_pool_scheduler(it->pool) : NULL), 0);
    }
    CHECK_EQ(placed_ran, 0);
    CHECK_EQ(sched_event_end(&start), 0);
    CHECK_EQ(sched_group_wait(&group, NULL), 0);
    CHECK_EQ(placed_ran, IN_RUNS);
    CHECK_EQ(sched_pool_destroy(pools[0]), 0);
    CHECK_EQ(sched_pool_destroy(pools[1]), 0);
}

/* node_errors: Bad calls fail, and change nothing.
 * ctest: static debug
 * ctest: matrix threads=1 */
static void errors_root(void *closure, struct scheduler *s)
{
    sched_group group = SCHED_GROUP_INIT;
    sched_node n, before;
    sched_event e;
    CHECK_ERRNO(sched_node_init(NULL, in_group, NULL), EINVAL);
    CHECK_ERRNO(sched_node_init(&n, NULL, NULL), EINVAL);
    CHECK_ERRNO(sched_event_init(NULL), EINVAL);
    CHECK_EQ(sched_node_init(&n, in_group, NULL), 0);
    CHECK_EQ(sched_node_init(&before, in_group, NULL), 0);
    CHECK_EQ(sched_event_init(&e), 0);
    CHECK_ERRNO(sched_after(&n, NULL), EINVAL);
    CHECK_ERRNO(sched_after(NULL, &n), EINVAL);
    CHECK_ERRNO(sched_after(&n, &n), EINVAL);
    CHECK_ERRNO(sched_after(&e, &n), EINVAL);
    CHECK_ERRNO(sched_node_group(NULL, &group), EINVAL);
    CHECK_ERRNO(sched_node_group(&n, NULL), EINVAL);
    CHECK_ERRNO(sched_node_group(&e, &group), EINVAL);
    CHECK_ERRNO(sched_node_ready(NULL, s), EINVAL);
    CHECK_ERRNO(sched_node_ready(&e, s), EINVAL);
    CHECK_ERRNO(sched_event_end(NULL), EINVAL);
    CHECK_ERRNO(sched_event_end(&n), EINVAL);
    CHECK_ERRNO(sched_event_wait(NULL, s), EINVAL);
    CHECK_ERRNO(sched_event_wait(&n, s), EINVAL);
    CHECK_ERRNO(sched_event_wait_until(&n, 0, s), EINVAL);
    group_ran = 0;
    CHECK_EQ(sched_node_group(&n, &group), 0);
    CHECK_EQ(sched_after(&n, &before), 0);
    CHECK_EQ(sched_node_ready(&n, s), 0);
    CHECK_ERRNO(sched_node_ready(&n, s), EBUSY);
    CHECK_ERRNO(sched_after(&n, &e), EBUSY);
    CHECK_ERRNO(sched_node_group(&n, &group), EBUSY);
    CHECK_ERRNO(sched_event_wait_until(&e, 0, s), ETIMEDOUT);
    CHECK_EQ(group_ran, 0);
    CHECK_EQ(sched_node_ready(&before, s), 0);
    CHECK_EQ(sched_group_wait(&group, s), 0);
    CHECK_EQ(group_ran, 2);
    CHECK_ERRNO(sched_node_ready(&n, s), EBUSY); /* it has ended */
}

CASE(node_errors)
{
    run(1, errors_root);
}

/* node_debug: Debug builds of the library find a node whose memory was freed or used for something else after it was made ready:
 * the process ends with a message.
 * ctest: debug=only
 * ctest: matrix few idle=park threads=1,4 */
static void ends_changed_node(void *change, struct scheduler *s)
{
    static sched_node node;
    static sched_event event;
    CHECK_EQ(sched_event_init(&event), 0);
    CHECK_EQ(sched_node_init(&node, nothing, NULL), 0);
    CHECK_EQ(sched_after(&node, &event), 0);
    CHECK_EQ(sched_node_ready(&node, s), 0);
    switch (*(int *)change) {
    case 1:
        node.closure = &node;
        break;
    case 2:
        memset(&node.room, 0, sizeof node - offsetof(sched_node, room));
        break;
    }
    CHECK_EQ(sched_event_end(&event), 0);
}

static void runs_changed_node(void *change)
{
    sched_init(2, 100, ends_changed_node, change);
}

CASE(node_debug)
{
    for (int change = 0; change < 3; change++) {
        in_child(runs_changed_node, &change);
        if (change == 0)
            CHECK_CHILD_EXITED(0);
        else
            CHECK_CHILD_ABORTED("the memory of a sched_node was freed or used for something else");
    }
}

/* spawn_after: Tasks that are ordered by what they read and write have the effect of being called one after the other, in the order
 * of the calls: a random program of reads and writes, which the root also computes itself. Some tasks have one address twice.
 * ctest: static debug
 * ctest: matrix threads=1,4
 * ctest: matrix idle=park threads=2,8 */
enum { CELLS = 24, ACTIONS = 6000 / SMALLER, MOST_READ = 7 };

static struct action {
    int to, from[MOST_READ], reads, only_out;
} actions[ACTIONS];
static unsigned cells[CELLS], expected[CELLS];
static atomic_int acted;

static void act_on(const struct action *it, unsigned *on)
{
    unsigned sum = it->only_out ? 3 : on[it->to];
    for (int k = 0; k < it->reads; k++)
        sum = sum * 31 + on[it->from[k]];
    on[it->to] = sum;
}

static void acts(void *closure, struct scheduler *s)
{
    if (acted++ % 64 == 0)
        sched_task_yield(s);
    act_on(closure, cells);
}

static void spawns_actions(void *closure, struct scheduler *s)
{
    sched_group group = SCHED_GROUP_INIT;
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < CELLS; i++)
        cells[i] = expected[i] = (unsigned)i;
    for (int i = 0; i < ACTIONS; i++) {
        struct action *it = &actions[i];
        sched_dep deps[MOST_READ + 2];
        size_t n = 0;
        it->to = (int)(next_number(&x) % CELLS);
        it->reads = (int)(next_number(&x) % (MOST_READ + 1));
        it->only_out = next_number(&x) % 4 == 0;
        for (int k = 0; k < it->reads; k++) {
            it->from[k] = (int)(next_number(&x) % CELLS);
            deps[n++] = (sched_dep){&cells[it->from[k]], SCHED_IN};
        }
        deps[n++] = (sched_dep){&cells[it->to], it->only_out ? SCHED_OUT : SCHED_INOUT};
        if (i % 5 == 0)
            deps[n++] = (sched_dep){&cells[it->to], SCHED_IN};
        CHECK_EQ(sched_group_spawn_after(&group, acts, it, n, deps, s), 0);
        act_on(it, expected);
        if (i % 1000 == 999)
            CHECK_EQ(sched_group_wait(&group, s), 0);
    }
    CHECK_EQ(sched_group_wait(&group, s), 0);
    CHECK_EQ(acted, ACTIONS);
    for (int i = 0; i < CELLS; i++)
        CHECK_EQ(cells[i], expected[i]);
}

CASE(spawn_after)
{
    run(2, spawns_actions);
}

/* spawn_after_threads: Several threads and tasks add tasks with the same two addresses, in either order, at the same time: none
 * waits for ever, no two writers run at once, and a cancelled group ends.
 * ctest: static
 * ctest: matrix deque=split,mutex idle=park threads=1,2,4 */
enum { ADDERS = 3, ADDED = 600 / SMALLER };

static sched_group added_to = SCHED_GROUP_INIT;
static int both[2], inside;
static long added_sum;

static void adds_up(void *closure, struct scheduler *s)
{
    CHECK_EQ(inside++, 0);
    added_sum++;
    inside--;
}

static void *adder(void *arg)
{
    for (int i = 0; i < ADDED; i++) {
        int which = (i + (int)(intptr_t)arg) % 2;
        sched_dep deps[] = {{&both[which], SCHED_INOUT}, {&both[!which], SCHED_INOUT}};
        CHECK_EQ(sched_group_spawn_after(&added_to, adds_up, NULL, 2, deps, NULL), 0);
    }
    return NULL;
}

CASE(spawn_after_threads)
{
    pthread_t threads[ADDERS];
    sched_dep wrong[] = {{both, 0}, {both, 4}, {both, SCHED_IN | 8}};
    for (intptr_t i = 0; i < ADDERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, adder, (void *)i), 0);
    for (int i = 0; i < ADDERS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(sched_group_wait(&added_to, NULL), 0);
    CHECK_EQ(added_sum, ADDERS * ADDED);
    for (int i = 0; i < 3; i++)
        CHECK_ERRNO(sched_group_spawn_after(&added_to, adds_up, NULL, 1, &wrong[i], NULL), EINVAL);
    CHECK_ERRNO(sched_group_spawn_after(&added_to, adds_up, NULL, 1, NULL, NULL), EINVAL);
    CHECK_ERRNO(sched_group_spawn_after(&added_to, NULL, NULL, 0, NULL, NULL), EINVAL);
    CHECK_ERRNO(sched_group_spawn_after(NULL, adds_up, NULL, 0, NULL, NULL), EINVAL);
    CHECK_EQ(sched_group_spawn_after(&added_to, adds_up, NULL, 0, NULL, NULL), 0);
    CHECK_EQ(sched_group_wait(&added_to, NULL), 0);
    CHECK_EQ(added_sum, ADDERS * ADDED + 1);
}

/* spawn_after_grids: Several groups at once, each with an address for each cell of a grid, and one that all of its tasks read: the
 * tasks of each have the effect of being called one after the other, and a task that names all cells of a row begins after them.
 * ctest: static debug
 * ctest: matrix threads=1,4
 * ctest: matrix idle=park threads=2,8 */
enum { GRIDS = 24, SIDE = 24, SWEEPS = 3 };

static struct grid {
    unsigned cells[SIDE][SIDE], sums[SIDE], step;
    atomic_int readers;
} grids[GRIDS];

static void sets_cell(void *closure, struct scheduler *s)
{
    unsigned *cell = closure;
    struct grid *grid = &grids[(cell - grids[0].cells[0]) / (ptrdiff_t)(sizeof *grid / sizeof *cell)];
    CHECK(grid->readers++ >= 0);
    *cell = grid->step * (cell[0] + 3 * cell[-1] + 5 * cell[-SIDE]);
    grid->readers--;
}

static void sums_row(void *closure, struct scheduler *s)
{
    unsigned *sum = closure;
    struct grid *grid = &grids[(sum - grids[0].cells[0]) / (ptrdiff_t)(sizeof *grid / sizeof *sum)];
    for (int j = 0; j < SIDE; j++)
        *sum = 7 * *sum + grid->cells[sum - grid->sums][j];
}

static void sets_step(void *closure, struct scheduler *s)
{
    struct grid *grid = closure;
    CHECK_EQ(grid->readers, 0);
    CHECK_EQ(atomic_fetch_sub(&grid->readers, 1000), 0); /* no task of the grid that reads may run meanwhile */
    grid->step++;
    grid->readers += 1000;
}

static void clears_grid(struct grid *grid)
{
    memset(grid, 0, sizeof *grid);
    grid->step = 1;
    for (int i = 0; i < SIDE; i++)
        grid->cells[i][0] = grid->cells[0][i] = (unsigned)i + 1;
}

/* With a group, as tasks; without a group, by calls. */
static void sweeps_grid(struct grid *grid, sched_group *group, struct scheduler *s)
{
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (int i = 1; i < SIDE; i++) {
            sched_dep row[SIDE + 1] = {{&grid->sums[i], SCHED_INOUT}};
            for (int j = 0; j < SIDE; j++)
                row[j + 1] = (sched_dep){&grid->cells[i][j], SCHED_IN};
            for (int j = 1; j < SIDE; j++) {
                unsigned *cell = &grid->cells[i][j];
                sched_dep deps[] = {{cell - SIDE, SCHED_IN}, {cell - 1, SCHED_IN}, {&grid->step, SCHED_IN}, {cell, SCHED_INOUT}};
                if (group)
                    CHECK_EQ(sched_group_spawn_after(group, sets_cell, cell, 4, deps, s), 0);
                else
                    sets_cell(cell, s);
            }
            if (group)
                CHECK_EQ(sched_group_spawn_after(group, sums_row, &grid->sums[i], SIDE + 1, row, s), 0);
            else
                sums_row(&grid->sums[i], s);
        }
        sched_dep step = {&grid->step, SCHED_OUT};
        if (group)
            CHECK_EQ(sched_group_spawn_after(group, sets_step, grid, 1, &step, s), 0);
        else
            sets_step(grid, s);
    }
}

static void sweeps_as_tasks(void *closure, struct scheduler *s)
{
    sched_group group = SCHED_GROUP_INIT;
    sweeps_grid(closure, &group, s);
    CHECK_EQ(sched_group_wait(&group, s), 0);
}

static void grids_root(void *closure, struct scheduler *s)
{
    for (int k = 0; k < GRIDS; k++) {
        clears_grid(&grids[k]);
        CHECK_EQ(sched_spawn(sweeps_as_tasks, &grids[k], s), 0);
    }
}

CASE(spawn_after_grids)
{
    static struct grid results[GRIDS];
    run(2, grids_root);
    memcpy(results, grids, sizeof results);
    for (int k = 0; k < GRIDS; k++) {
        clears_grid(&grids[k]);
        sweeps_grid(&grids[k], NULL, NULL);
        CHECK_EQ(memcmp(&results[k], &grids[k], sizeof grids[k]), 0);
    }
}

/* spawn_after_memory: A group that always has tasks needs no more memory for new addresses, and for new readers of an address, than
 * the tasks do that have not ended; and the memory of many tasks goes back when they have ended.
 * ctest: matrix few idle=park threads=1,2 timeout=60 */
enum { FLOWED = 200000 / SMALLER, AT_ONCE = 50, LARGE_GROUPS = 20, IN_LARGE = 20000 / SMALLER };

static atomic_int flowed;
static char flow_of[FLOWED + 1];

static void flows(void *closure, struct scheduler *s)
{
    flowed++;
}

static void flow_root(void *closure, struct scheduler *s)
{
    sched_group group = SCHED_GROUP_INIT;
    long before = 0;
    flowed = 0;
    for (int i = 0; i < FLOWED; i++) {
        sched_dep deps[] = {{&flow_of[i], SCHED_OUT}, {&flow_of[FLOWED], SCHED_IN}};
        CHECK_EQ(sched_group_spawn_after(&group, flows, NULL, 2, deps, s), 0);
        while (i - flowed > AT_ONCE)
            sched_task_yield(s);
        if (i == 10 * AT_ONCE)
            before = status_kb("VmRSS");
    }
    long grown = status_kb("VmRSS") - before;
    if (grown > 1024) /* an entry for each address would need a dozen MB */
        CHECK_EQ(grown, 0);
    CHECK_EQ(sched_group_wait(&group, s), 0);

    before = status_kb("VmRSS");
    for (int k = 0; k < LARGE_GROUPS; k++) {
        static sched_group groups[LARGE_GROUPS];
        for (int i = 0; i < IN_LARGE; i++) {
            sched_dep dep = {&flow_of[i], SCHED_OUT};
            CHECK_EQ(sched_group_spawn_after(&groups[k], flows, NULL, 1, &dep, s), 0);
        }
        CHECK_EQ(sched_group_wait(&groups[k], s), 0);
    }
    grown = status_kb("VmRSS") - before;
    if (grown > 16 << 10) /* 5 MB each */
        CHECK_EQ(grown, 0);
}

CASE(spawn_after_memory)
{
    run(2, flow_root);
    CHECK_EQ(flowed, FLOWED + LARGE_GROUPS * IN_LARGE);
}
