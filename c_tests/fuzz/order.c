/* order.c: the statement order. */
#include "order.h"

struct order;

/* The task at a place of the order. */
struct step {
    struct task task;
    struct order *order;
    int place;
    sched_node node;
};

/* An order of nodes. All of it is plain memory: its tasks have no other order than the one that is tested. */
struct order {
    const struct statement *now;
    struct shape shape;
    size_t run; /* how many runs have ended */
    struct step step[MOST_BLOCKS];
    uint64_t left[MOST_BLOCKS]; /* by the task at each place, in this run */
    sched_event gate; /* before the node at a place, and who ends it: a place, or one of enum ender */
    int gated, ender, is_open;
};

enum ender { CREATOR = MOST_BLOCKS, OTHER_TASK };

static void open_gate(struct order *order)
{
    CHECK_EQ(order->is_open++, 0);
    CHECK_EQ(sched_event_end(&order->gate), 0);
}

static void opens_gate(void *closure, struct scheduler *s)
{
    (void)s;
    open_gate(closure);
}

static void run_step(void *closure, struct scheduler *s)
{
    struct step *step = closure;
    struct order *order = step->order;
    struct task *task = &step->task;
    unsigned before = before_in_run(&order->shape, step->place, order->run);
    int runs = (int)order->run, ends_gate = order->ender == step->place, ends_early = drawn(order->now, EARLY_END, 0) % 2;
    CHECK_EQ(task->ended, runs);
    CHECK_EQ(task->begun++, runs);
    atomic_fetch_add_explicit(&task->totals->tasks, 1, memory_order_relaxed);
    for (int i = 0; i < MOST_BLOCKS; i++)
        if (before >> i & 1)
            CHECK_EQ(order->step[i].task.ended, runs + 1);
    if (order->gated == step->place)
        CHECK_EQ(order->is_open, 1);
    if (ends_gate && ends_early)
        open_gate(order);
    uint64_t value = execute(task->block, part(task->path, order->run), task, s);
    order->left[step->place] = left_at(value, before, order->left);
    CHECK_EQ(task->ended++, runs);
    if (ends_gate && !ends_early)
        open_gate(order);
}

static void begin_order(struct order *order, const struct statement *now, uint64_t path, struct task *task)
{
    *order = (struct order){.now = now, .shape = shape_of(now), .gated = -1, .ender = -1};
    for (int i = 0; i < now->blocks; i++) {
        struct step *step = &order->step[i];
        int block = order->shape.block[i];
        step->task = task_of(&now->block[block], part(path, (size_t)block), task);
        step->order = order;
        step->place = i;
        CHECK_EQ(sched_node_init(&step->node, run_step, step), 0);
    }
}

static void add_edges(struct order *order, int place, unsigned before)
{
    for (int i = 0; i < place; i++)
        if (before >> i & 1)
            CHECK_EQ(sched_after(&order->step[place].node, &order->step[i].node), 0);
}

/* The run is over: all have ended. What they have left. */
static uint64_t sum_of_run(struct order *order)
{
    uint64_t sum = 0;
    order->run++;
    for (int i = 0; i < order->now->blocks; i++) {
        CHECK_EQ(order->step[i].task.begun, order->run);
        CHECK_EQ(order->step[i].task.ended, order->run);
        sum += order->left[i];
    }
    return sum;
}

/* --- by nodes ----------------------------------------------------------- */

/* A gate before one of the nodes of every second order. It is ended by the task that creates the nodes when all are ready,
 * by another task, or by a node at an earlier place. */
static void add_gate(struct order *order)
{
    const struct statement *now = order->now;
    CHECK_EQ(sched_event_init(&order->gate), 0);
    if (drawn(now, GATED, 0) % 2)
        return;
    order->gated = (int)(drawn(now, GATED, 1) % (unsigned)now->blocks);
    int ender = (int)(drawn(now, ENDER, 0) % (unsigned)(order->gated + 2));
    order->ender = ender < order->gated ? ender : ender == order->gated ? CREATOR : OTHER_TASK;
}

/* A node with successors is perhaps in no group: who waits for its successors waits for it, too. */
static void join_group(struct order *order, int place, sched_group *group)
{
    int has_successors = 0;
    for (int i = place + 1; i < order->now->blocks; i++)
        has_successors |= order->shape.before[i] >> place & 1;
    if (!has_successors || drawn(order->now, IN_GROUP, (size_t)place) % 4)
        CHECK_EQ(sched_node_group(&order->step[place].node, group), 0);
}

static void wait_for_gate(struct order *order, struct scheduler *s)
{
    size_t how = drawn(order->now, WAIT, 0) % 4;
    if (how == 0)
        return;
    sched_time soon = sched_now() + (sched_time)(drawn(order->now, WAIT, 1) % 32) * SCHED_MICROSECOND;
    if (how == 1 || !in_time(sched_event_wait_until(&order->gate, soon, s), &order->step[0].task))
        CHECK_EQ(sched_event_wait(&order->gate, s), 0);
    CHECK_EQ(order->is_open, 1);
}

/* The nodes are made ready in another order than their own, and some of their edges are added at the last moment: from
 * nodes that are not ready yet, run, or have ended. */
static uint64_t by_nodes(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    struct order order;
    sched_group group = SCHED_GROUP_INIT;
    sched_event last;
    int turn[MOST_BLOCKS];
    begin_order(&order, now, path, task);
    add_gate(&order);
    CHECK_EQ(sched_event_init(&last), 0);
    permute(turn, now, TURN);
    for (int i = 0; i < now->blocks; i++) {
        join_group(&order, i, &group);
        if (drawn(now, EDGES_LATE, (size_t)i) % 2 == 0)
            add_edges(&order, i, order.shape.before[i]);
    }
    if (order.ender == OTHER_TASK && !accepted(sched_group_spawn(&group, opens_gate, &order, s)))
        open_gate(&order);
    for (int i = 0; i < now->blocks; i++) {
        sched_node *node = &order.step[turn[i]].node;
        if (drawn(now, EDGES_LATE, (size_t)turn[i]) % 2)
            add_edges(&order, turn[i], order.shape.before[turn[i]]);
        if (order.gated == turn[i])
            CHECK_EQ(sched_after(node, &order.gate), 0);
        if (!accepted(sched_node_ready(node, s))) {
            CHECK_EQ(sched_after(node, &last), 0);
            CHECK_EQ(sched_node_ready(node, s), 0); /* the queue does not matter any more */
        }
        if (drawn(now, PAUSE, (size_t)i) % 8 == 0)
            sched_task_yield(s);
    }
    if (order.ender == CREATOR)
        open_gate(&order);
    CHECK_EQ(sched_event_end(&last), 0);
    if (order.gated >= 0)
        wait_for_gate(&order, s);
    CHECK_EQ(sched_group_wait(&group, s), 0);
    return path + sum_of_run(&order);
}

/* --- by a graph --------------------------------------------------------- */

static uint64_t by_graph(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    struct order order;
    sched_graph graph;
    uint64_t value = path;
    int turn[MOST_BLOCKS];
    begin_order(&order, now, path, task);
    CHECK_EQ(sched_graph_init(&graph), 0);
    permute(turn, now, TURN);
    for (int i = 0; i < now->blocks; i++)
        CHECK_EQ(sched_graph_add(&graph, &order.step[turn[i]].node), 0);
    for (size_t run = 0; run < order.shape.runs; run++) {
        for (int i = 0; i < now->blocks; i++) {
            unsigned has = run == 0 ? 0 : before_in_run(&order.shape, i, run - 1);
            add_edges(&order, i, before_in_run(&order.shape, i, run) & ~has);
        }
        CHECK_EQ(sched_graph_run(&graph, s), 0);
        value += sum_of_run(&order);
    }
    CHECK_EQ(sched_graph_destroy(&graph), 0);
    return value;
}

/* --- by addresses ------------------------------------------------------- */

struct user {
    struct task task;
    struct use use[MOST_USES];
    int uses;
    uint64_t *cell;
};

/* While the task runs, nobody else writes at its addresses. */
static void use_cells(void *closure, struct scheduler *s)
{
    struct user *user = closure;
    uint64_t before[MOST_USES], value = cells_read(user->use, user->uses, user->cell);
    for (int i = 0; i < user->uses; i++)
        before[i] = user->cell[user->use[i].cell];
    run_awaited(&user->task, s);
    for (int i = 0; i < user->uses; i++)
        CHECK_EQ(user->cell[user->use[i].cell], before[i]);
    write_cells(value + user->task.value, user->use, user->uses, user->cell);
}

static uint64_t by_addresses(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    struct user user[MOST_BLOCKS];
    uint64_t cell[CELLS] = {0}, value = path;
    sched_group group = SCHED_GROUP_INIT;
    for (int i = 0; i < now->blocks; i++) {
        sched_dep dep[MOST_USES];
        user[i] = (struct user){.task = task_of(&now->block[i], part(path, (size_t)i), task), .cell = cell};
        user[i].uses = uses_of(now, i, user[i].use);
        for (int k = 0; k < user[i].uses; k++) {
            struct use use = user[i].use[k];
            dep[k] = (sched_dep){&cell[use.cell], use.reads && use.writes ? SCHED_INOUT : use.reads ? SCHED_IN : SCHED_OUT};
        }
        CHECK_EQ(sched_group_spawn_after(&group, use_cells, &user[i], (size_t)user[i].uses, dep, s), 0);
    }
    CHECK_EQ(sched_group_wait(&group, s), 0);
    for (int i = 0; i < now->blocks; i++)
        value += value_of_ended(&user[i].task);
    for (int i = 0; i < CELLS; i++)
        value = mix(value + cell[i]);
    return value;
}

uint64_t do_order(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    switch (by_what(now)) {
    case BY_NODES:
        return by_nodes(now, path, task, s);
    case BY_ADDRESSES:
        return by_addresses(now, path, task, s);
    case BY_GRAPH:
        return by_graph(now, path, task, s);
    case ORDERS:
        break;
    }
    abort();
}
