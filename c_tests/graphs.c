/* graphs: sched_graph: nodes and edges that are made once and run any number of times. */
#include "case.h"
#include "child.h"
#include "null.h"
#include "pool.h"
#include "sync.h"
#include "where.h"
#include <pthread.h>
#include <sched_tasks.h>
#include <stdatomic.h>
#include <stdlib.h>

static unsigned next_number(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return (unsigned)(*x >> 33);
}

enum { STEPS = 400 / SMALLER + 10, MOST_EDGES = 9, RUNS = 30 / SMALLER + 2 };

/* A random graph. Each node computes something from what its predecessors have computed in the same run. */
struct step {
    sched_node node;
    struct step *before[MOST_EDGES];
    int edges, ran;
    unsigned value;
};

struct plan {
    sched_graph graph;
    struct step steps[STEPS];
    unsigned seed;
};

static unsigned value_of(const struct step *step)
{
    unsigned value = (unsigned)step->ran;
    for (int k = 0; k < step->edges; k++)
        value = value * 31 + step->before[k]->value;
    return value;
}

static void does_step(void *closure, struct scheduler *s)
{
    struct step *step = closure;
    step->ran++;
    for (int k = 0; k < step->edges; k++)
        CHECK_EQ(step->before[k]->ran, step->ran);
    step->value = value_of(step);
    if (step->value % 64 == 0)
        sched_task_yield(s);
}

/* The nodes are added from the last to the first, so the library must find the order itself. */
static void make_plan(struct plan *plan)
{
    uint64_t x = 88172645463325252u + plan->seed;
    CHECK_EQ(sched_graph_init(&plan->graph), 0);
    for (int i = STEPS - 1; i >= 0; i--) {
        struct step *step = &plan->steps[i];
        step->edges = step->ran = 0;
        CHECK_EQ(sched_node_init(&step->node, does_step, step), 0);
        CHECK_EQ(sched_graph_add(&plan->graph, &step->node), 0);
    }
    for (int i = 1; i < STEPS; i++) {
        struct step *step = &plan->steps[i];
        for (int edges = (int)(next_number(&x) % (MOST_EDGES + 1)); step->edges < edges; step->edges++) {
            struct step *before = &plan->steps[i - 1 - (int)(next_number(&x) % (i < 20 ? (unsigned)i : 20))];
            step->before[step->edges] = before;
            CHECK_EQ(sched_after(&step->node, &before->node), 0);
        }
    }
}

static void check_plan(const struct plan *plan, int runs)
{
    for (int i = 0; i < STEPS; i++) {
        CHECK_EQ(plan->steps[i].ran, runs);
        CHECK_EQ(plan->steps[i].value, value_of(&plan->steps[i]));
    }
}

static void run_plan(struct plan *plan, struct scheduler *s)
{
    make_plan(plan);
    for (int i = 1; i <= RUNS; i++) {
        CHECK_EQ(sched_graph_run(&plan->graph, s), 0);
        check_plan(plan, i);
    }
    CHECK_EQ(sched_graph_destroy(&plan->graph), 0);
}

/* graph_runs: Each run of a graph runs each node once, after all its predecessors, whose results of this run it sees; and returns
 * after all of them.
 * ctest: static debug
 * ctest: matrix refuse threads=1,4
 * ctest: matrix idle=park threads=2,8 */
static struct plan plan;

static void runs_root(void *closure, struct scheduler *s)
{
    run_plan(&plan, s);
    run_plan(&plan, s); /* made anew */
}

CASE(graph_runs)
{
    run(2, runs_root);
}

/* graph_outside: Threads outside run graphs of their own at the same time, in the default pool and in one of their own.
 * ctest: static debug
 * ctest: matrix deque=split,mutex idle=park threads=1,4 */
enum { THREADS = 4 };
static struct plan plans[THREADS];

static void *runs_outside(void *closure)
{
    struct plan *mine = closure;
    struct sched_pool *pool = NULL;
    mine->seed = (unsigned)(mine - plans);
    run_plan(mine, NULL);
    pool = sched_pool_create(NULL);
    CHECK(pool != NULL);
    run_plan(mine, sched_pool_scheduler(pool));
    CHECK_EQ(sched_pool_destroy(pool), 0);
    return NULL;
}

CASE(graph_outside)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, runs_outside, &plans[i]), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

/* graph_changes: Between two runs a graph gets more nodes and edges; a node with an edge is refused, as is an edge from or to a node
 * of another graph, or of none. While it runs the graph is refused whatever would change it, and a second run.
 * ctest: static debug
 * ctest: matrix threads=1,2 */
static sched_graph changing = SCHED_GRAPH_INIT, other = SCHED_GRAPH_INIT;
static sched_node one, two, three, lone, of_other;
static atomic_int ones, twos, threes;

static void is_one(void *closure, struct scheduler *s)
{
    CHECK_ERRNO(sched_graph_run(&changing, s), EBUSY);
    CHECK_ERRNO(sched_graph_add(&changing, &lone), EBUSY);
    if (twos > 0)
        CHECK_ERRNO(sched_after(&one, &two), EBUSY);
    CHECK_ERRNO(sched_graph_dot(&changing, stdout), EBUSY);
    CHECK_ERRNO(sched_graph_destroy(&changing), EBUSY);
    ones++;
}

static void is_two(void *closure, struct scheduler *s)
{
    CHECK_EQ(ones, twos + 1);
    twos++;
}

static void is_three(void *closure, struct scheduler *s)
{
    CHECK_EQ(ones, threes + 1);
    threes++;
}

static void changes_root(void *closure, struct scheduler *s)
{
    sched_group group = SCHED_GROUP_INIT;
    sched_event event;
    CHECK_EQ(sched_event_init(&event), 0);
    CHECK_EQ(sched_node_init(&one, is_one, NULL), 0);
    CHECK_EQ(sched_node_init(&two, is_two, NULL), 0);
    CHECK_EQ(sched_node_init(&three, is_three, NULL), 0);
    CHECK_EQ(sched_node_init(&lone, nothing, NULL), 0);
    CHECK_EQ(sched_node_init(&of_other, nothing, NULL), 0);
    CHECK_EQ(sched_graph_run(&changing, s), 0); /* it is empty */
    CHECK_EQ(sched_graph_add(&changing, &one), 0);
    CHECK_EQ(sched_graph_add(&other, &of_other), 0);
    CHECK_EQ(sched_graph_run(&changing, s), 0);
    CHECK_EQ(sched_graph_add(&changing, &two), 0);
    CHECK_EQ(sched_after(&two, &one), 0);
    twos = 1;
    CHECK_EQ(sched_graph_run(&changing, s), 0);
    CHECK_EQ(twos, 2);
    CHECK_ERRNO(sched_graph_add(&changing, &one), EINVAL);
    CHECK_ERRNO(sched_graph_add(&other, &one), EINVAL);
    CHECK_ERRNO(sched_graph_add(&changing, &event), EINVAL);
    CHECK_ERRNO(sched_after(&lone, &one), EINVAL);
    CHECK_ERRNO(sched_after(&one, &lone), EINVAL);
    CHECK_ERRNO(sched_after(&one, &event), EINVAL);
    CHECK_ERRNO(sched_after(&one, &of_other), EINVAL);
    CHECK_ERRNO(sched_node_ready(&one, s), EINVAL);
    CHECK_ERRNO(sched_node_group(&one, &group), EINVAL);
    CHECK_EQ(sched_after(&three, &lone), 0);
    CHECK_ERRNO(sched_graph_add(&changing, &three), EBUSY);
    CHECK_ERRNO(sched_graph_add(&changing, &lone), EBUSY);
    CHECK_EQ(sched_node_init(&three, is_three, NULL), 0);
    CHECK_EQ(sched_node_init(&lone, nothing, NULL), 0);
    CHECK_EQ(sched_graph_add(&changing, &three), 0);
    CHECK_EQ(sched_after(&three, &one), 0);
    threes = 2;
    CHECK_EQ(sched_graph_run(&changing, s), 0);
    CHECK_EQ(ones + twos + threes, 9);
    CHECK_ERRNO(sched_graph_init(NULL), EINVAL);
    CHECK_ERRNO(sched_graph_add(NULL, &lone), EINVAL);
    CHECK_ERRNO(sched_graph_add(&changing, NULL), EINVAL);
    CHECK_ERRNO(sched_graph_run(NULL, s), EINVAL);
    CHECK_ERRNO(sched_graph_cancel(NULL), EINVAL);
    CHECK_ERRNO(sched_graph_dot(NULL, stdout), EINVAL);
    CHECK_ERRNO(sched_graph_dot(&changing, NULL), EINVAL);
    CHECK_ERRNO(sched_graph_destroy(NULL), EINVAL);
    CHECK_EQ(sched_graph_destroy(&changing), 0);
    CHECK_EQ(sched_graph_run(&changing, s), 0); /* it is empty */
}

CASE(graph_changes)
{
    run(2, changes_root);
}

/* graph_cancel: After a cancellation no function is called any more, the run ends with ECANCELED, and the next one is whole again.
 * ctest: static debug
 * ctest: matrix threads=1,2 */
enum { LINE = 10 };
static sched_node line[LINE];
static sched_graph in_line = SCHED_GRAPH_INIT;
static int called;

static void called_once_more(void *closure, struct scheduler *s)
{
    if (++called == *(int *)closure)
        CHECK_EQ(sched_graph_cancel(&in_line), 0);
}

static void cancel_root(void *closure, struct scheduler *s)
{
    int last = LINE / 2;
    for (int i = 0; i < LINE; i++) {
        CHECK_EQ(sched_node_init(&line[i], called_once_more, &last), 0);
        CHECK_EQ(sched_graph_add(&in_line, &line[i]), 0);
        if (i > 0)
            CHECK_EQ(sched_after(&line[i], &line[i - 1]), 0);
    }
    for (int k = 0; k < 3; k++) {
        called = 0;
        CHECK_ERRNO(sched_graph_run(&in_line, s), ECANCELED);
        CHECK_EQ(called, LINE / 2);
        called = LINE;
        CHECK_EQ(sched_graph_run(&in_line, s), 0);
        CHECK_EQ(called, 2 * LINE);
    }
    called = 0;
    CHECK_EQ(sched_graph_cancel(&in_line), 0);
    CHECK_ERRNO(sched_graph_run(&in_line, s), ECANCELED);
    CHECK_EQ(called, 0);
}

CASE(graph_cancel)
{
    run(2, cancel_root);
}

/* graph_circle: A graph with a circle is refused, and a line names the functions in it; when the edge is gone, it runs. Its drawing
 * shows the circle, too.
 * ctest: static debug
 * ctest: matrix few idle=park threads=1 */
void first_on_circle(void *closure, struct scheduler *s)
{
}

void second_on_circle(void *closure, struct scheduler *s)
{
}

void before_circle(void *closure, struct scheduler *s)
{
}

void behind_circle(void *closure, struct scheduler *s)
{
}

static void circle_root(void *closure, struct scheduler *s)
{
    static sched_graph graph = SCHED_GRAPH_INIT;
    static sched_node before, first, second, behind, self;
    CHECK_EQ(sched_node_init(&before, before_circle, NULL), 0);
    CHECK_EQ(sched_node_init(&first, first_on_circle, NULL), 0);
    CHECK_EQ(sched_node_init(&second, second_on_circle, NULL), 0);
    CHECK_EQ(sched_node_init(&behind, behind_circle, NULL), 0);
    CHECK_EQ(sched_node_init(&self, nothing, NULL), 0);
    CHECK_EQ(sched_graph_add(&graph, &behind), 0);
    CHECK_EQ(sched_graph_add(&graph, &second), 0);
    CHECK_EQ(sched_graph_add(&graph, &before), 0);
    CHECK_EQ(sched_graph_add(&graph, &first), 0);
    CHECK_EQ(sched_graph_add(&graph, &self), 0);
    CHECK_EQ(sched_after(&behind, &second), 0);
    CHECK_EQ(sched_after(&first, &before), 0);
    CHECK_EQ(sched_after(&second, &first), 0);
    CHECK_EQ(sched_graph_dot(&graph, stdout), 0);
    CHECK_EQ(sched_graph_run(&graph, s), 0);
    CHECK_EQ(sched_after(&first, &second), 0);
    CHECK_ERRNO(sched_graph_run(&graph, s), EDEADLK);
    CHECK_ERRNO(sched_graph_run(&graph, s), EDEADLK);
    CHECK_ERRNO(sched_after(&self, &self), EINVAL);
    CHECK_EQ(sched_graph_dot(&graph, stdout), 0);
    CHECK_EQ(fflush(stdout), 0);
}

static void runs_circle(void *unused)
{
    CHECK_EQ(sched_init(1, 100, circle_root, NULL), 0);
}

CASE(graph_circle)
{
    CHECK_IN_CHILD(runs_circle, NULL);
    CHECK_CHILD_SAID("sched_graph_run: nodes wait for each other in a circle: ");
    CHECK_CHILD_SAID("on_circle(");
    CHECK_EQ(count_said("libsched: "), 2);
    CHECK_EQ(count_said("digraph {"), 2);
    CHECK_EQ(count_said(" -> n"), 3 + 4);
    CHECK_EQ(count_said("color=red"), 4);
    CHECK_EQ(count_said("label="), 2 * 5);
}
