/* program.h: a small language of tasks, and what its interpreter shares between its files. Each file calls those above
 * it alone: parse.c, predict.c, task.c, loops.c, together.c, order.c, meet.c, outside.c, statements.c, main.c. From below a
 * statement is executed by `execute_statement`.
 *
 * A program is a block. A block is statements between braces; a statement is a word, its numbers, and its blocks:
 *
 *     work N                    computes, and counts at the index of its worker
 *     yield N                   yields N times
 *     sleep US                  sleeps for US microseconds
 *     alarm US                  sends the process a signal in US microseconds, whose handler does nothing
 *     lock M {...}              with mutex M of the run locked                                     leaves only
 *     within M US {...}         as lock, but tries with a deadline first                          leaves only
 *     block US {...}            in a blocking section, in which the thread also sleeps             leaves only
 *     spawn {...}  copy {...}   a task that nobody waits for
 *     fork ORDER {...}...       the first block beside tasks with the others, joined in some order: 0 is the
 *                               reverse order of forking, 1 the order of forking, other numbers any order
 *     group {...}...            a task of a group for each block
 *     crowd W {...}...          a group with a task for each block, for which W tasks wait, too           leaves only
 *     meanwhile {...}...        a task for each block, which all begin while this one and they compute, if there are workers;
 *                               this one has joined another task by then, which ended before the others were added
 *     order HOW SEED {...}...   a task for each block, in an acyclic order that SEED gives: nodes (0), tasks of a group that
 *                               read and write at few addresses (1), or the nodes of a graph that runs twice (2)
 *     cancel AFTER {...}...     a group that is cancelled when AFTER of its tasks have been added
 *     for N GRAIN {...}         a loop
 *     reduce N GRAIN            a reduction or a scan whose combination does not commute
 *     sort N SEED               a sort
 *     sem UNITS {...}...        a task for each block, at most UNITS of which go on at a time      leaves only
 *     barrier ROUNDS {...}...   a task for each block, which meet after each round                 leaves only
 *     pipe P C ROOM N           P producers and C consumers of N items, in a queue with ROOM for so many
 *     channel S R ROOM N        S senders and R receivers of N items, in a channel with ROOM for so many, some with deadlines
 *     stream W R HOW N          W writers and R readers of N items, in a pipe (HOW is 0) or a pair of sockets, some with deadlines
 *     foreign T HOW WHERE {...}...   T threads, each of which adds the tasks: spawned (0), grouped (1), forked (2), or as
 *                               parts of a loop (3), after a sort and a reduction (4); in this run (0), by NULL in the
 *                               default pool (1), or in a pool of their own (2)
 *     pool T {...}...           a pool of T threads with a task for each block
 *     run T QLEN {...}          a run in a task
 *     up {...}                  a task in the run around this one
 *     repeat N {...}            the block N times
 *
 * "Leaves only": the blocks have only work, yield, sleep, alarm, block, and lock and within with a higher M.
 *
 * # Why no program can wait for ever
 *
 * A statement waits for tasks that it has itself created, for a mutex, a unit, a round or an item. Draw an arrow from
 * each task that cannot go on to each task that it needs:
 *
 * - A task that waits for tasks that it has created needs them. They began later than it, or have not begun: then they
 *   are in a queue, from which any worker that has nothing else to do takes them.
 * - A task needs those that run on top of it, under SCHED_JOIN=help or where a spawn was refused and the caller runs the
 *   task itself. They began later, too.
 * - A task of `crowd` that waits, too, needs the tasks of the group. These execute leaves, and so need only what the
 *   next point says. (If other tasks could run on top of them, the waiting one might.)
 * - The tasks of a gang (`meanwhile`) compute until all of them have begun. So while one of them computes, a worker must be
 *   free to begin the others.
 *   The tasks of a run that compute at one time are fewer than the workers of the run, and they hold nothing. So each other
 *   worker either ends its task, or takes another task while its own one waits. A worker that has nothing else to do
 *   finds the tasks that have not begun.
 * - A task of `order` that has not begun needs those before it, and perhaps a task that ends an event for it. One task creates
 *   all of these and makes them ready. Until then it waits for none of them, and needs only what runs on top of it. If
 *   sched_node_ready is refused because the queue is full, the creator adds an event as a further predecessor of the
 *   node, and ends it when all nodes are ready. No other call refuses such a task: if the queue is full, it goes to the
 *   tasks from outside, which any worker takes. Therefore the first task in the order that has not ended has begun, or
 *   is in a queue; the task that ends the event counts as the first of all. Only the creator waits for these tasks, and
 *   they began later than it. A task of the order that has begun needs none of the others, so it does not matter which
 *   of them run on top of each other.
 * - A task that waits for a mutex, a unit, a round or an item needs the holders of the mutex or the unit, those who have
 *   not come to the barrier, or the other side of the pipe. These execute leaves: no task runs on top of them, and they
 *   wait for nothing but mutexes, in the order of their numbers. Those who have not begun are in a queue, because the
 *   task that creates them opens a gate only when the last of them is queued. The creator itself waits for nothing
 *   before, and the number of those that meet is the number of those that were accepted.
 *
 * A cycle has no arrow of the last sort, since it would have to continue from a task that needs
 * only holders of higher mutexes. Along the other arrows the time of the beginning grows. So there
 * is no cycle, and some task can continue. A worker is there to do so: a thread of a run is kept
 * only by another run or pool that a task waits for, whose tasks began later, too, and use none of
 * the objects of the run around: each run has mutexes of its own.
 *
 * # What is checked
 *
 * Each block has a value that follows from the program alone (predict.c). A task that others wait for leaves its value
 * in plain memory, which the waiter reads; the others add theirs to a sum. The number of tasks, the sum and the value
 * of the program must be those predicted. The program also checks:
 * - A task begins once. It has ended when another task has waited for it.
 * - One task at a time holds a mutex, and one at a time has the index of a worker.
 * - A task of `order` begins after those before it have ended, and sees what they have left in plain memory. Where tasks
 *   read and write at addresses, they leave there what they leave if they are called one after the other.
 * - At most as many tasks hold units of a semaphore as the semaphore has units.
 * - At a barrier no task is a round ahead of the others.
 * - If a group is cancelled, its tasks that have not begun do not begin. A sleep or a wait fails with ECANCELED only in
 *   tasks of a cancelled group, and in those that they have created. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "../check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { MOST_BLOCKS = 8, MUTEXES = 3, MOST_WORKERS = 64, MOST_ITEMS = 4096 };

enum word {
    WORK, YIELD, SLEEP, ALARM, LOCK, WITHIN, BLOCK, SPAWN, COPY, FORK, GROUP, CROWD, MEANWHILE, ORDER, CANCEL, FOR, REDUCE, SORT, SEM,
    BARRIER, PIPE, CHANNEL, STREAM, FOREIGN, POOL, RUN, UP, REPEAT, WORDS
};

/* How the threads of `foreign` add tasks, and the run that these are in. */
enum how { SPAWNED, GROUPED, FORKED, LOOPED, SORTED, HOWS };
enum where { HERE, IN_DEFAULT, IN_POOL, WHERES };

struct statement;
struct meeting;

struct block {
    struct statement *first;
};

struct statement {
    enum word word;
    size_t n[4];
    int blocks;
    struct block block[MOST_BLOCKS];
    struct statement *next;
};

/* The numbers of a loop. */
struct range {
    size_t n, grain;
};

/* The block for the number i of a loop. */
static inline const struct block *block_of(const struct statement *now, size_t i)
{
    return &now->block[i % (unsigned)now->blocks];
}

/* The work that each thread of `foreign` does by itself: a loop that comes to each block several
 * times, a sort, a reduction. */
static inline struct range foreign_loop(const struct statement *now)
{
    return (struct range){3 * (unsigned)now->blocks, now->n[1] % 2};
}

enum { FOREIGN_SORTED = 500, FOREIGN_TERMS = 100 };

/* Reads the next program of the text; NULL: there is none. A mistake ends the process with status 2. */
struct block *parse(const char **text);
void free_program(struct block *program);

/* The totals of a program. */
struct totals {
    atomic_size_t tasks; /* that have begun */
    atomic_ullong sum;   /* of the values of tasks that nobody waits for */
};

/* A run: the objects that its tasks share. */
struct context {
    struct context *outer;
    struct scheduler *outer_s; /* of the run around, in which a task waits for this one */
    struct sched_group *all;   /* in the default pool, which does not end: the spawned tasks */
    int in_default;            /* this or a run around it is in the default pool */
    sched_mutex mutex[MUTEXES];
    size_t locked[MUTEXES];   /* changed by the holder of the mutex alone */
    atomic_size_t locks[MUTEXES];
    atomic_int *computing;    /* tasks that compute until others have begun; all contexts of the default pool share one */
    atomic_int own_computing;
    size_t visits[MOST_WORKERS]; /* changed by the worker of that index alone */
    atomic_size_t visited;
};

void begin_context(struct context *run, struct context *outer, struct scheduler *outer_s);
/* All tasks of the run have ended. */
void check_context(struct context *run);

/* A task of a program. */
struct task {
    const struct block *block;
    uint64_t path; /* its place in the program, on which its value depends */
    struct context *run;
    struct totals *totals;
    struct meeting *with; /* of tasks that meet */
    size_t rounds;
    uint64_t value;
    int begun, ended; /* not atomic: the order of these accesses is under test */
};

struct task task_of(const struct block *block, uint64_t path, const struct task *parent);
/* Functions of tasks of the library: for an awaited task, for a copy, and for a task with its own
 * memory. */
void run_awaited(void *task, struct scheduler *s);
void run_copied(void *task, struct scheduler *s);
void run_alone(void *task, struct scheduler *s);
/* The task has ended, and its value is there. */
uint64_t value_of_ended(const struct task *task);
/* Executes one statement; main sets it to do_statement. */
typedef uint64_t statement_function(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s);
extern statement_function *execute_statement;
/* Executes the block as a part of the task. */
uint64_t execute(const struct block *block, uint64_t path, struct task *task, struct scheduler *s);
/* Spawns the block as a task that nobody waits for. */
void spawn_alone(const struct block *block, uint64_t path, struct task *task, struct scheduler *s);
/* A copy of the task in memory of its own, for run_alone. */
struct task *new_task(struct task task);
/* Whether a call that adds a task has done so. If not, its queue is full. */
int accepted(int result);
/* Which tasks of a cancelled group run is open, and so is what those do that nobody waits for. They add it to totals
 * that nobody reads, which may outlive the group. */
extern struct totals unread;
/* Whether a call with a deadline has succeeded. If not, its deadline has passed, or the task's group is cancelled. */
int in_time(int result, const struct task *task);

/* The statements, by file: loops.c, together.c, order.c, meet.c, outside.c, statements.c. */
/* Executes the blocks, in turn, as the bodies of a loop; the sum of their values. */
uint64_t loop_over(const struct statement *now, struct range range, uint64_t path, struct task *task, struct scheduler *s);
uint64_t do_reduce(const struct statement *now, uint64_t path, struct scheduler *s);
uint64_t do_sort(const struct statement *now, uint64_t path, struct scheduler *s);
statement_function do_crowd, do_meanwhile, do_order, do_sem, do_barrier, do_pipe, do_channel, do_stream, do_foreign, do_pool, do_run, do_statement;

/* The value of the block, without the library; adds to the totals what its execution adds. */
uint64_t predict(const struct block *block, uint64_t path, struct totals *totals);

/* The values of the parts, for execution and prediction. */
static inline uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * 0x9E3779B97F4A7C15u;
    return x ^ (x >> 29);
}

static inline uint64_t part(uint64_t path, size_t i)
{
    return mix(path + i + 1);
}

static inline uint64_t compute(uint64_t path, size_t steps)
{
    for (size_t i = 0; i < steps; i++)
        path = path * 6364136223846793005u + 1442695040888963407u;
    return mix(path);
}

/* A map x -> ax + b of the reduction. */
struct map {
    uint64_t a, b;
};

static inline struct map after(struct map then, struct map first)
{
    return (struct map){then.a * first.a, then.a * first.b + then.b};
}

static inline struct map map_of(uint64_t path, size_t i)
{
    return (struct map){part(path, i) | 1, part(path, i) >> 7};
}

static inline uint64_t value_of_map(struct map map)
{
    return mix(map.a + mix(map.b));
}

/* The sum of the values of the items of a pipe. */
static inline uint64_t value_of_items(uint64_t path, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += part(path, i);
    return sum;
}

#endif
