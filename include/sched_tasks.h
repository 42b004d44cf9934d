/* sched_tasks.h: what libsched offers beyond the course's sched.h.
 *
 * Made from src/ffi by `make headers`; not to be edited.
 *
 * Each function that takes an s also accepts NULL. In a task, NULL means the task's own run;
 * elsewhere it means the default pool of the process. The first use makes this pool, as the
 * SCHED_* variables say, with sched_default_threads() workers. The pool sleeps while it has no
 * tasks, and ends with the process; exit waits for its tasks for a tenth of a second at most. So
 * main can simply call
 *
 *     if (sched_for(0, n, 0, scale, a, NULL) != 0)
 *         err(1, "sched_for");
 *
 * Functions that only wait (sched_join, sched_group_wait, sched_mutex_lock and so on),
 * sched_task_yield and sched_worker_index never make the pool. If the pool cannot be made, a
 * function fails as sched_pool_create does. A child made by fork makes its own pool at the next
 * use. Cost: the first use takes some hundred microseconds, for the threads. Each later use outside
 * of a task takes some hundred nanoseconds more than a use within a task, and also the time of a
 * wake-up if no worker is awake and the work is long enough. A use within a task takes some
 * nanoseconds more than one with s.
 *
 * A suspension point is a call in which a task may be suspended with its stack. Afterwards it may
 * be resumed on another thread, where errno and thread-local variables are that thread's: see
 * libsched(7), SUSPENSION POINTS. No function may be called in a signal handler, unless its comment
 * says that it is async-signal-safe. */

#ifndef LIBSCHED_SCHED_TASKS_H
#define LIBSCHED_SCHED_TASKS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "sched.h"

/* The version of this header, for #if and for messages: 10000 times the first number, 100 times
 * the second, and the third. The library that runs may have another: see sched_version(). */
#define SCHED_VERSION_NUMBER 10100
#define SCHED_VERSION_STRING "1.1.0"

/* The result says whether the work was accepted. A caller that ignores the result may lose work. */
#ifdef __GNUC__
#define SCHED_MUST_USE __attribute__((warn_unused_result))
#else
#define SCHED_MUST_USE
#endif

/* A group without tasks. */
#define SCHED_GROUP_INIT { 0, 0, 0, 0 }
/* An unlocked mutex; a condition variable; a semaphore with n units; a barrier for n. */
#define SCHED_MUTEX_INIT { 0, 0, 0 }
#define SCHED_COND_INIT { 0, 0, 0 }
#define SCHED_SEM_INIT(n) { (size_t)(n), 0, 0 }
#define SCHED_BARRIER_INIT(n) { (size_t)(n), 0, 0, 0, 0 }
/* A graph without nodes. */
#define SCHED_GRAPH_INIT { { 0, 0, 0, 0 }, 0, 0, 0, 0, 0 }
/* A timer that is not pending. */
#define SCHED_TIMER_INIT { { 0, 0 }, 0, 0, 0, 0, 0, 0, 0, 0 }

/* A time in nanoseconds of CLOCK_MONOTONIC, or a length of time. */
typedef int64_t sched_time;
/* As a deadline: none. */
#define SCHED_FOREVER INT64_MAX
#define SCHED_SECOND ((sched_time)1000000000)
#define SCHED_MILLISECOND ((sched_time)1000000)
#define SCHED_MICROSECOND ((sched_time)1000)

/* What a task does at an address: see sched_group_spawn_after. */
#define SCHED_IN 1
#define SCHED_OUT 2
#define SCHED_INOUT (SCHED_IN | SCHED_OUT)

/* When a task begins: see sched_spawn_at. */
enum { SCHED_URGENT = 1, SCHED_BACKGROUND = 2 };
#ifndef SCHED_NORMAL /* Linux' policy, which glibc 2.41 defines, is 0 as well */
enum { SCHED_NORMAL = 0 };
#endif

typedef struct sched_task sched_task;
typedef struct sched_group sched_group;
typedef struct sched_mutex sched_mutex;
typedef struct sched_cond sched_cond;
typedef struct sched_sem sched_sem;
typedef struct sched_barrier sched_barrier;
typedef struct sched_timer sched_timer;
typedef struct sched_node sched_node;
typedef struct sched_graph sched_graph;
typedef struct sched_dep sched_dep;
typedef struct sched_channel sched_channel;

/* A struct and a function may have the same name: sched_stats. In C++ gcc's -Wshadow warns of
 * that. */
#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif

/* The most bytes that sched_spawn_copy copies. */
#define SCHED_COPY_MAX 256

/* Values of the member kind of sched_options. They mean what the words of SCHED_KIND mean. */
#define SCHED_KIND_STEAL 1
#define SCHED_KIND_LIFO 2
#define SCHED_KIND_FIFO 3
#define SCHED_KIND_CONT 4
#define SCHED_KIND_SERIAL 5

/* A bounded queue of elements of one size, between any number of sending and receiving tasks and
 * threads. */
struct sched_channel;

/* A scheduler that lives until it is destroyed. */
struct sched_pool;

/* The descriptor of a forked task. The task that forks declares it, and does not touch it until
 * sched_join has returned. */
struct sched_task {
  size_t state;
  void *closure;
  size_t f;
  size_t check;
};

/* A group is a set of tasks that a program waits for together. SCHED_GROUP_INIT is a group without
 * tasks, and sched_group_init makes one. A group must not be copied, and must live until
 * sched_group_wait has returned. */
struct sched_group {
  size_t state;
  size_t waiter;
  size_t cancelled;
  void *awaiter;
};

/* The body of a loop. It does the work for each number from lo to hi - 1. */
typedef void (*sched_range)(size_t lo, size_t hi, void *ctx, struct scheduler *s);

/* The body of a scan. It adds the numbers lo to hi - 1 to the value at acc and, if before is not
 * NULL, writes their results. */
typedef void (*sched_scan_body)(size_t lo,
                                size_t hi,
                                void *acc,
                                const void *before,
                                void *ctx,
                                struct scheduler *s);

/* A mutex for tasks: a task that has to wait is suspended, and its worker runs other tasks.
 * Waiting tasks and threads get the mutex in the order in which they came, but others may overtake
 * the oldest of them, at most 4096 times. SCHED_MUTEX_INIT is an unlocked mutex. A mutex need not
 * be destroyed; it must not be copied while it is in use. */
struct sched_mutex {
  size_t state;
  void *queue;
  size_t holder;
};

/* A condition variable, to be used with a mutex. SCHED_COND_INIT is one that nobody waits for. */
struct sched_cond {
  void *first;
  void *last;
  size_t lock;
};

/* A counting semaphore; SCHED_SEM_INIT(n) is one with n units. */
struct sched_sem {
  size_t state;
  void *first;
  void *last;
};

/* A barrier; SCHED_BARRIER_INIT(n) is one for n tasks or threads. */
struct sched_barrier {
  size_t size;
  size_t arrived;
  void *first;
  void *last;
  size_t lock;
};

/* A timer spawns a function at a given time. SCHED_TIMER_INIT is a timer that is not pending. A
 * timer must not be copied or freed from its start until its function begins, or until
 * sched_timer_cancel has returned 0. */
struct sched_timer {
  void *links[2];
  sched_time deadline;
  size_t slot;
  void *claim;
  size_t shard;
  void *f;
  void *closure;
  void *worker;
  size_t state;
};

/* A node is a task that begins after other nodes have ended. sched_node_init makes a node. A node
 * must not be copied, and must live until it has ended: until a successor has begun,
 * sched_group_wait for its group has returned, or its run has ended. */
struct sched_node {
  size_t before;
  void *after;
  void *room[8];
  void *f;
  void *closure;
  void *worker;
  void *group;
  size_t edges;
  void *chunk;
};

/* An event is a node without a function. sched_event_init makes an event, and the program ends it
 * by sched_event_end. An event must not be copied. It may be freed when sched_event_wait has
 * returned in all its callers, and when its successors have begun. */
typedef struct sched_node sched_event;

/* What a task of sched_group_spawn_after does at an address: SCHED_IN (it reads there), SCHED_OUT
 * (it writes there) or SCHED_INOUT (both). The address stands for an object of any size; only
 * equal addresses are the same object. */
struct sched_dep {
  const void *address;
  int how;
};

/* A graph consists of nodes and edges that are made once and run any number of times.
 * SCHED_GRAPH_INIT is a graph without nodes, and sched_graph_init makes such a graph. A graph must
 * not be copied. */
struct sched_graph {
  size_t group[4];
  size_t state;
  size_t roots;
  void *first;
  void *last;
  size_t nodes;
};

/* The options of a pool. Each member except size may be 0, which means the default. */
struct sched_options {
  /* sizeof (struct sched_options): later versions may have more members. */
  size_t size;
  /* SCHED_KIND_STEAL and so on. */
  int kind;
  /* The nthreads of sched_init. */
  int nthreads;
  /* The qlen of sched_init. */
  int qlen;
  /* Must be 0. */
  int reserved;
  /* Values of environment variables, separated by blanks, for instance "SCHED_DEQUE=ring
   * SCHED_IDLE=spin"; each variable of libsched(7) whose value is not the name of a file.
   * sched_pool_create only reads the text. */
  const char *settings;
  /* How many tasks may be in blocking sections at once; at most 65536. */
  size_t blocking;
};

/* What all workers of a run did together. */
struct sched_stats {
  /* Tasks that were run. */
  size_t tasks;
  /* Searches that took a task from another worker's queue. */
  size_t steals;
  /* Tasks that these searches took. */
  size_t stolen_tasks;
  /* Searches that found nothing anywhere. */
  size_t failed_steals;
  /* Sleeps without a time limit, which only a wake-up ends. */
  size_t parks;
  /* Sleeps for a limited time. */
  size_t naps;
  /* Sleepers woken by workers. */
  size_t wakes;
  /* The most tasks that a worker found in its queue; in kinds lifo and fifo, in the shared
   * queue. */
  size_t queue_peak;
  /* Workers that have a thread, or would get one if there were tasks for it. */
  size_t threads;
  /* Workers for which no thread could be created. */
  size_t threads_missing;
  /* Time since the run began. */
  double seconds;
};

#ifdef __cplusplus
extern "C" {
#endif

/* Adds the task f(copy, s) to the run of s. copy points to a copy of the size bytes at arg, which
 * is made before f is called and before this function returns. The copy is aligned for any type. f
 * may change it; it is valid until f returns, and the program does not free it. In kind cont the
 * task is called first, as by sched_spawn.
 *
 * Returns 0, or -1 with errno, and nothing has changed: EINVAL (f is NULL, size is greater than
 * SCHED_COPY_MAX, arg is NULL and size is not 0, or the run of s has ended), EAGAIN (there is no
 * memory for the copy or for the queue to grow, or the queue already holds qlen tasks under
 * SCHED_OVERFLOW=refuse).
 * Suspension point in kind cont: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: from a task of the run of s, that of sched_spawn and some nanoseconds. Memory
 * is allocated only when more copies are in use at a time than ever before in the run.
 *
 * Example:
 *
 *     struct range { double *a; size_t lo, hi; } upper = { a, mid, hi };
 *     if (sched_spawn_copy(work, &upper, sizeof upper, s) != 0)
 *         work(&upper, s); */
SCHED_MUST_USE
int sched_spawn_copy(taskfunc f,
                     const void *arg,
                     size_t size,
                     struct scheduler *s);

/* Forks the task f(closure, s): any worker of the run of s may run it from now on, and
 * sched_join(t, s) waits for its end. The task that forks must call sched_join before it returns,
 * and t must live until sched_join has returned. Nothing is allocated. In kind cont the forked
 * task is called first, as by sched_spawn; in every kind it is called first if no queue has room
 * for it.
 *
 * sched_fork cannot fail. The process ends with a message if f is NULL, if the run of s has ended,
 * or if the library recognises a misuse of t: see libsched(7), DIAGNOSTICS. If s is NULL and the
 * default pool cannot be made, the task is run at once, with s NULL. The behaviour is undefined if
 * t is NULL; the debug library recognises that.
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe, for different t. Cost: from a task of the run of s, that of sched_spawn.
 *
 * Example:
 *
 *     static void fib(void *p, struct scheduler *s) {
 *         long *n = p;
 *         if (*n < 2)
 *             return;
 *         long a = *n - 1, b = *n - 2;
 *         sched_task t;
 *         sched_fork(&t, fib, &a, s);
 *         fib(&b, s);
 *         sched_join(&t, s);
 *         *n = a + b;
 *     } */
void sched_fork(struct sched_task *t,
                taskfunc f,
                void *closure,
                struct scheduler *s);

/* Waits until the task that was forked on t has ended. The caller then sees what the task has
 * written. If no worker has begun the task, it is called now. Otherwise the caller is suspended,
 * its stack is kept, and its worker runs other tasks. If SCHED_JOIN is help, or no memory is left
 * for another stack, the caller is not suspended: its worker runs other tasks on top of it, on the
 * same stack. A thread that is not a worker of the run calls the task on its own stack if nobody
 * has begun it, and sleeps otherwise. Tasks may be joined in any order; the reverse order of
 * forking is the fastest.
 *
 * s is the s that was given to sched_fork, or the caller's own s in the same run. sched_join
 * cannot fail. The process ends with a message if the library recognises one of these mistakes: t
 * was joined already, was forked on again before it was joined, or was copied; or a task has
 * returned without joining a task that it forked. See libsched(7), DIAGNOSTICS. The debug library
 * always recognises these mistakes. It also recognises a t that is NULL or was forked in another
 * run; with the other library the behaviour is then undefined.
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Cost: that of running a task from the worker's own queue; if another worker runs the task, the
 * time until the task has ended. */
void sched_join(struct sched_task *t,
                struct scheduler *s);

/* Lets other tasks run. The calling task continues after the tasks that are in the queue for all
 * workers at the time of the call; with SCHED_DEQUE=ring or queue, after the tasks in its own
 * worker's queue, as in Tokio (C. Lerche, 2019).
 *
 * s is the s of any worker of the run. If the calling thread is not a worker of that run, or if s
 * is NULL outside of a task, this is sched_yield(2). There are no errors: if there is no memory
 * for another stack, the call does nothing.
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: one or two switches of stacks, and two uses of a queue.
 *
 * Example: while (!done(job)) sched_task_yield(s); */
void sched_task_yield(struct scheduler *s);

/* Makes *g a group without tasks, as SCHED_GROUP_INIT does for a variable.
 *
 * Returns 0, or -1 with errno: EINVAL (g is NULL).
 * Not thread-safe: nobody may use the group at the same time. Cost: three stores. */
int sched_group_init(struct sched_group *g);

/* Adds the task f(closure, s) to the group and to the run of s. In kind cont the task is called
 * first, as by sched_spawn.
 *
 * Returns 0, or -1 with errno, and nothing has changed: EINVAL (g or f is NULL, or the run of s
 * has ended), EAGAIN (there is no memory, or the queue already holds qlen tasks under
 * SCHED_OVERFLOW=refuse).
 * Suspension point in kind cont: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. The group's own tasks, and the task that will wait for the group, may add tasks at
 * any time. Other callers may add tasks only while nobody waits for the group, or while they know
 * of a task of the group that has not ended. Cost: that of sched_spawn_copy, and two atomic
 * operations on the group.
 *
 * Example:
 *
 *     sched_group g = SCHED_GROUP_INIT;
 *     for (int i = 0; i < n; i++)
 *         if (sched_group_spawn(&g, work, &part[i], s) != 0)
 *             work(&part[i], s);
 *     sched_group_wait(&g, s); */
SCHED_MUST_USE
int sched_group_spawn(struct sched_group *g,
                      taskfunc f,
                      void *closure,
                      struct scheduler *s);

/* Adds the task f(copy, s) to the group and to the run of s. copy points to a copy of the size
 * bytes at arg, as in sched_spawn_copy. In kind cont the task is called first, as by sched_spawn.
 *
 * Returns 0, or -1 with errno, and nothing has changed: EINVAL (g or f is NULL, size is greater
 * than SCHED_COPY_MAX, arg is NULL and size is not 0, or the run of s has ended), EAGAIN (there is
 * no memory, or the queue already holds qlen tasks under SCHED_OVERFLOW=refuse).
 * Suspension point in kind cont: the task may be resumed on another thread, see libsched(7).
 * Thread-safe, under the conditions of sched_group_spawn. Cost: that of sched_group_spawn.
 *
 * Example:
 *
 *     sched_group g = SCHED_GROUP_INIT;
 *     for (size_t lo = 0; lo < n; lo += 1000) {
 *         struct range r = { a, lo, lo + 1000 < n ? lo + 1000 : n };
 *         if (sched_group_spawn_copy(&g, work, &r, sizeof r, s) != 0)
 *             work(&r, s);
 *     }
 *     sched_group_wait(&g, s); */
SCHED_MUST_USE
int sched_group_spawn_copy(struct sched_group *g,
                           taskfunc f,
                           const void *arg,
                           size_t size,
                           struct scheduler *s);

/* Waits until no task of the group is left. The caller then sees what the tasks have written, and
 * the group may be used again. A caller that is a task is suspended while it waits: its stack is
 * kept, and its worker runs other tasks on another stack. If SCHED_JOIN is help, or no memory is
 * left for another stack, the caller is not suspended: its worker runs other tasks on top of it,
 * on the same stack. A thread that is not a worker of the run first runs, on its own stack, the
 * tasks of the group that it has added itself and that nobody has begun; then it sleeps. s is the
 * s of any worker of the run. If a task of the group waits for the group, and so for itself, the
 * process ends with a message.
 *
 * Returns 0, or -1 with errno: ECANCELED (sched_group_cancel was called since the last wait),
 * EINVAL (g is NULL, or the run of s has ended and the group has tasks of a parent process).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: some nanoseconds if there is nothing to wait for. */
int sched_group_wait(struct sched_group *g,
                     struct scheduler *s);

/* Cancels the group: its tasks that have not begun are not run. Running tasks continue; they can
 * ask sched_group_cancelled whether the group is cancelled. The cancellation lasts until the next
 * wait for the group returns. The loops, reductions and scans that its tasks have called begin no
 * further part, and return -1 with ECANCELED.
 *
 * The sleeps of the group's tasks, their waits for descriptors, and their other waits that have a
 * deadline, fail with ECANCELED, whether they have begun or begin later. While a task of the group
 * waits for another group, the same applies to the tasks of that group, and so on from group to
 * group. Those groups are not cancelled otherwise. Joins, barriers, and other waits without a
 * deadline last as before.
 * Thread-safe, also outside of the run; async-signal-safe. Cost: an atomic operation and a fence;
 * a system call if tasks wait with deadlines. */
void sched_group_cancel(struct sched_group *g);

/* Returns 1 if the group was cancelled since the last wait, else 0.
 * Thread-safe and async-signal-safe. Cost: a load. */
int sched_group_cancelled(const struct sched_group *g);

/* Divides the numbers lo to hi - 1 into parts, and calls body(l, h, ctx, s) for each part, which
 * consists of the numbers l to h - 1. Each number is in exactly one part. The function returns
 * when all calls have returned; the caller then sees what they have written. Any worker of the run
 * may call body, in any order and at the same time as others; each call gets the s of its worker.
 * The body may itself fork, spawn and loop. Like a task, it must return; longjmp out of it is
 * undefined. If lo >= hi, body is not called.
 *
 * A part must not wait for another part, since one task may do both, one after the other.
 *
 * grain  0: the library chooses. The first part has one number; the size of the next ones depends
 *        on how many numbers are left and on whether workers are idle.
 *        More than 0: each part has exactly grain numbers, but the last one may have fewer.
 *
 * A thread that is not a worker of the run works on its own call, on its own stack, and the
 * workers help: see libsched(7), THREADS OUTSIDE.
 *
 * Returns 0, or -1 with errno: EINVAL (body is NULL, lo or hi is greater than PTRDIFF_MAX (a
 * negative argument converts to such a value), or the run of s has ended), EAGAIN (the caller is
 * not a worker of the run, and there is no memory to hand the work to one, or the queue already
 * holds qlen tasks under SCHED_OVERFLOW=refuse), ECANCELED (body has called sched_stop, or the
 * caller's task belongs to a group that is cancelled). Except with ECANCELED, nothing was called.
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: nothing is allocated. While no other worker takes a part, n numbers cost
 * about 2 log2(n) forks and 10 log2(n) calls of body, or n / grain calls if grain is not 0. Each
 * part that another worker takes costs a steal.
 *
 * Example:
 *
 *     static void scale(size_t lo, size_t hi, void *ctx, struct scheduler *s) {
 *         double *a = ctx;
 *         (void)s;
 *         for (size_t i = lo; i < hi; i++)
 *             a[i] *= 2;
 *     }
 *     ...
 *     if (sched_for(0, n, 0, scale, a, s) != 0)
 *         err(1, "sched_for"); */
SCHED_MUST_USE
int sched_for(size_t lo,
              size_t hi,
              size_t grain,
              sched_range body,
              void *ctx,
              struct scheduler *s);

/* Stops the innermost loop, reduction or scan of the caller, which is in the function body of
 * sched_for, sched_reduce, sched_reduce_relaxed or sched_scan, or in a function that this body
 * calls. No further part is begun; the parts that have begun are completed. Then the call of the
 * loop returns -1 with ECANCELED, even if no part was left out, and a reduction or a scan leaves
 * result as it was. A call without a loop has no effect. A task that the body forks or spawns is
 * not in the body: it must not call sched_stop for that loop.
 *
 * s  the s of the call of body, or NULL.
 *
 * A loop that a task of a group calls is also stopped by sched_group_cancel.
 * Cost: a store. A loop costs one load more for each part, whether or not it is stopped.
 *
 * Example: any number with a property.
 *
 *     static void look(size_t lo, size_t hi, void *found, struct scheduler *s) {
 *         for (size_t i = lo; i < hi; i++)
 *             if (has_property(i)) {
 *                 atomic_store((atomic_size_t *)found, i);
 *                 sched_stop(s);
 *                 return;
 *             }
 *     }
 *     ...
 *     if (sched_for(0, n, 0, look, &found, s) != 0 && errno == ECANCELED)
 *         printf("%zu\n", atomic_load(&found)); */
void sched_stop(struct scheduler *s);

/* Reduces the numbers lo to hi - 1 to one value of size bytes. The numbers are divided into parts
 * of grain numbers; the last part may have fewer. For each part, body(l, h, acc, ctx, s) adds the
 * numbers l to h - 1 to the value at acc, which is at first a copy of the identity. combine(into,
 * from, ctx) adds the value at from to the value at into; each is the value of one or several
 * parts, and the parts of from directly follow those of into. At the end the value of all parts is
 * copied to result; if lo >= hi, the identity is copied.
 *
 * The identity must be neutral: combined with any value, it leaves that value as it is (0 for a
 * sum, 1 for a product). It is copied for each part, so it is not a start value, and must not
 * change before the function returns.
 *
 * combine must be associative; it need not be commutative. The parts and the combinations depend
 * only on lo, hi, grain and size, not on the number or the speed of the workers. So the result is
 * the same each time, even if combine is only nearly associative, like the addition of
 * floating-point numbers. (This requires that the caller has the same floating-point modes as the
 * run.)
 *
 * grain  0: the library chooses from hi - lo and size; there are at most 1024 parts, or, if size
 *        is more than 128, at most 131072 / size or 64, whichever is more.
 *
 * A part must not wait for another part, since one task may reduce both, one after the other.
 *
 * The values are aligned for any type. Any worker of the run may call the two functions, at the
 * same time as others; each call of body gets the s of its worker. Both functions must return;
 * longjmp out of them is undefined.
 *
 * A thread that is not a worker of the run works on its own call, on its own stack, and the
 * workers help: see libsched(7), THREADS OUTSIDE.
 *
 * Returns 0. A failure returns -1 with errno, and leaves result as it was: EINVAL (body, combine,
 * identity or result is NULL, size is 0, lo or hi is greater than PTRDIFF_MAX (a negative argument
 * converts to such a value), or the run of s has ended), ENOMEM (size is greater than 128, and
 * there is no memory for a value; some parts may have been done), EAGAIN (the caller is not a
 * worker of the run, and there is no memory to hand the work to one, or the queue already holds
 * qlen tasks under SCHED_OVERFLOW=refuse), ECANCELED (body has called sched_stop, or the caller's
 * task belongs to a group that is cancelled; some parts may have been done).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: for each part a copy of the identity, a call of each function and, except for
 * some short parts, a fork; also an allocation if size is more than 128.
 *
 * Example:
 *
 *     static void add(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s) {
 *         const double *a = ctx;
 *         (void)s;
 *         for (size_t i = lo; i < hi; i++)
 *             *(double *)acc += a[i];
 *     }
 *     static void plus(void *into, const void *from, void *ctx) {
 *         (void)ctx;
 *         *(double *)into += *(const double *)from;
 *     }
 *     ...
 *     double zero = 0, sum;
 *     if (sched_reduce(0, n, 0, sizeof sum, &zero, add, plus, a, &sum, s) != 0)
 *         err(1, "sched_reduce"); */
SCHED_MUST_USE
int sched_reduce(size_t lo,
                 size_t hi,
                 size_t grain,
                 size_t size,
                 const void *identity,
                 void (*body)(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s),
                 void (*combine)(void *into, const void *from, void *ctx),
                 void *ctx,
                 void *result,
                 struct scheduler *s);

/* As sched_reduce, but the parts and the combinations depend on the course of the run: there is
 * one value, and another one for each part that another worker takes. The result is the same each
 * time if the operation is exact, as with integers. If combine is only nearly associative, like
 * the addition of floating-point numbers, the result may differ a little.
 *
 * body(l, h, acc, ctx, s) adds the numbers l to h - 1 to the value at acc, which is a copy of the
 * identity or stands for the numbers just before l. So body must add to the value and not replace
 * it, and the value must not depend on whether body gets numbers in one call or in two. combine
 * must be associative; it need not be commutative.
 *
 * grain  the same as in sched_for.
 *
 * The other arguments are those of sched_reduce. Returns 0. A failure returns -1 with errno, and
 * leaves result as it was: EINVAL (body, combine, identity or result is NULL, size is 0, lo or hi
 * is greater than PTRDIFF_MAX (a negative argument converts to such a value), or the run of s has
 * ended), ENOMEM (size is greater than 128, and there is no memory for a value; some parts may
 * have been done), EAGAIN (the caller is not a worker of the run, and there is no memory to hand
 * the work to one, or the queue already holds qlen tasks under SCHED_OVERFLOW=refuse), ECANCELED
 * (body has called sched_stop, or the caller's task belongs to a group that is cancelled; some
 * parts may have been done). A worker that has no memory for a value of its own takes no part.
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of sched_for. Each part that another worker takes also costs a copy of
 * the identity, an allocation and a call of combine.
 *
 * Example: the histogram of n bytes.
 *
 *     static void count(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s) {
 *         size_t *counts = acc;
 *         const unsigned char *bytes = ctx;
 *         (void)s;
 *         for (size_t i = lo; i < hi; i++)
 *             counts[bytes[i]]++;
 *     }
 *     static void add(void *into, const void *from, void *ctx) {
 *         (void)ctx;
 *         for (int i = 0; i < 256; i++)
 *             ((size_t *)into)[i] += ((const size_t *)from)[i];
 *     }
 *     ...
 *     size_t none[256] = {0}, counts[256];
 *     if (sched_reduce_relaxed(0, n, 0, sizeof counts, none, count, add, bytes, counts, s) != 0)
 *         err(1, "sched_reduce_relaxed"); */
SCHED_MUST_USE
int sched_reduce_relaxed(size_t lo,
                         size_t hi,
                         size_t grain,
                         size_t size,
                         const void *identity,
                         void (*body)(size_t lo,
                                      size_t hi,
                                      void *acc,
                                      void *ctx,
                                      struct scheduler *s),
                         void (*combine)(void *into, const void *from, void *ctx),
                         void *ctx,
                         void *result,
                         struct scheduler *s);

/* Sorts the n elements of size bytes at base in the order that cmp defines, as qsort(3) does, on
 * all workers of the run. This version is stable, but programs that rely on this should call
 * sched_stable_sort, which says so. The sort needs memory for n more elements or, if an element
 * has 160 bytes or more, for two pointers for each and for one element in 64. It takes O(n log n)
 * time in every case, less if the elements have few distinct values. An array that is already
 * sorted, or that is sorted strictly in the reverse order, takes n - 1 comparisons.
 *
 * Several threads may call cmp at the same time, with pointers to elements or to copies of them,
 * which are aligned like the elements. cmp must return; longjmp out of it is undefined. If its
 * results contradict each other, the order of the elements is unspecified.
 *
 * A thread that is not a worker of the run works on its own call, on its own stack, and the
 * workers help: see libsched(7), THREADS OUTSIDE.
 *
 * Returns 0. A failure returns -1 with errno, and leaves the array as it was: EINVAL (cmp is NULL,
 * size is 0, base is NULL and n is not 0, or the run of s has ended), ENOMEM (there is no memory
 * for the copies), EAGAIN (the caller is not a worker of the run, and there is no memory to hand
 * the work to one, or the queue already holds qlen tasks under SCHED_OVERFLOW=refuse).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe, for different arrays. Cost: with one worker that of qsort(3) or less.
 *
 * Example:
 *
 *     static int by_value(const void *a, const void *b) {
 *         int x = *(const int *)a, y = *(const int *)b;
 *         return (x > y) - (x < y);
 *     }
 *     ...
 *     if (sched_sort(a, n, sizeof *a, by_value, s) != 0)
 *         err(1, "sched_sort"); */
SCHED_MUST_USE
int sched_sort(void *base,
               size_t n,
               size_t size,
               int (*cmp)(const void *a, const void *b),
               struct scheduler *s);

/* Sorts as sched_sort does, and is stable: elements that compare equal keep their order.
 *
 * Returns 0. A failure returns -1 with errno, and leaves the array as it was: EINVAL (cmp is NULL,
 * size is 0, base is NULL and n is not 0, or the run of s has ended), ENOMEM (there is no memory
 * for the copies), EAGAIN (the caller is not a worker of the run, and there is no memory to hand
 * the work to one, or the queue already holds qlen tasks under SCHED_OVERFLOW=refuse).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe, for different arrays. Cost: that of sched_sort. */
SCHED_MUST_USE
int sched_stable_sort(void *base,
                      size_t n,
                      size_t size,
                      int (*cmp)(const void *a, const void *b),
                      struct scheduler *s);

/* Scans the numbers lo to hi - 1: computes, for each number, the value of all numbers up to it
 * (an inclusive scan) or before it (an exclusive scan). The numbers are divided into parts of
 * grain numbers; the last part may have fewer. Values have size bytes.
 *
 * body(l, h, acc, before, ctx, s) adds the numbers l to h - 1 to the value at acc, which is at
 * first a copy of the identity. If before is not NULL, it is the value of all numbers before l,
 * and body also writes the results of its numbers: the result of a number is the value at before
 * combined with the value at acc, as it is after the number was added to acc (inclusive) or before
 * it was added (exclusive). The program decides which, and where the results are; they may replace
 * the numbers' own data. body must leave the same value at acc whether before is NULL or not, and
 * must not change the value at before.
 *
 * For each part, body is called once with a value before, or first with before NULL and later with
 * a value. combine(into, from, ctx) adds the value of a part, at from, to the value of all parts
 * before it, at into. The value at into begins as a copy of the identity. combine is called once
 * for each part, in ascending order. At the end, the value of all parts is copied to result if
 * that is not NULL; if lo >= hi, the identity is copied.
 *
 * The identity must be neutral: combined with any value, it leaves that value as it is (0 for a
 * sum, 1 for a product). It is copied for each part, and must not change before the function
 * returns. combine must be associative; it need not be commutative. All values that body and
 * combine get depend only on lo, hi and grain (if it is 0, also on size), not on the number or the
 * speed of the workers. So the results are the same each time, even if combine is only nearly
 * associative, like the addition of floating-point numbers. (This requires that the caller has the
 * same floating-point modes as the run.)
 *
 * grain  the same as in sched_reduce.
 *
 * A part must not wait for another part, since one task may do both, one after the other.
 *
 * The values are aligned for any type. Any worker of the run may call the two functions, body at
 * the same time as others; each call of body gets the s of its worker. Both functions must return;
 * longjmp out of them is undefined.
 *
 * A thread that is not a worker of the run works on its own call, on its own stack, and the
 * workers help: see libsched(7), THREADS OUTSIDE.
 *
 * Returns 0. A failure returns -1 with errno, and leaves result as it was; except with ECANCELED,
 * nothing was called: EINVAL (body, combine or identity is NULL, size is 0, lo or hi is greater
 * than PTRDIFF_MAX (a negative argument converts to such a value), or the run of s has ended),
 * ENOMEM (size is greater than 128, and there is no memory for two values), EAGAIN (the caller is
 * not a worker of the run, and there is no memory to hand the work to one, or the queue already
 * holds qlen tasks under SCHED_OVERFLOW=refuse), ECANCELED (body has called sched_stop, or the
 * caller's task belongs to a group that is cancelled; some results may have been written).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: for each part a copy of the identity, and a call of each function; while no
 * other worker helps, that is all, and the data of each number is read once. A part that another
 * worker helps with costs a second call of body. A scan that others help with also allocates two
 * values for each part, at most a megabyte (or 32 values, if that is more); if there is no memory
 * for them, no other worker helps.
 *
 * Example: running sums in place.
 *
 *     static void add(size_t lo, size_t hi, void *acc, const void *before, void *ctx,
 *                     struct scheduler *s) {
 *         double *a = ctx, sum = 0;
 *         (void)s;
 *         for (size_t i = lo; i < hi; i++) {
 *             sum += a[i];
 *             if (before != NULL)
 *                 a[i] = *(const double *)before + sum;
 *         }
 *         *(double *)acc = sum;
 *     }
 *     static void plus(void *into, const void *from, void *ctx) {
 *         (void)ctx;
 *         *(double *)into += *(const double *)from;
 *     }
 *     ...
 *     double zero = 0, total;
 *     if (sched_scan(0, n, 0, sizeof zero, &zero, add, plus, a, &total, s) != 0)
 *         err(1, "sched_scan"); */
SCHED_MUST_USE
int sched_scan(size_t lo,
               size_t hi,
               size_t grain,
               size_t size,
               const void *identity,
               sched_scan_body body,
               void (*combine)(void *into, const void *from, void *ctx),
               void *ctx,
               void *result,
               struct scheduler *s);

/* Begins a blocking section. Until sched_block_end the calling task may block: in a system call,
 * on a pthread mutex, in a library that knows nothing of tasks. During the section another thread,
 * a kept one or a new one, takes over the task's worker, and the calling thread is not a worker of
 * the run: the tasks that it spawns or forks are queued behind those of the workers, a wait
 * (sched_join, sched_mutex_lock and so on) blocks the thread, and sched_worker_index returns -1.
 *
 * Sections may be nested; only the outermost one has an effect. The task that began a section must
 * end it before it returns; otherwise the process ends with a message. A run may be started in a
 * section. With SCHED_KIND=serial sections are also counted, but no other thread takes over the
 * worker.
 *
 * s is the s of any worker of the caller's run, or NULL. This function and sched_block_end do
 * nothing and return 0 if the calling thread is not a worker of the run of s, if the caller is a
 * task of another run that a task of the run of s has started, or if s is NULL outside of a task.
 *
 * Returns 0, errno unchanged, or -1 with errno, and no section has begun: EINVAL (the run of s has
 * ended), EAGAIN (no thread can be made, there is no memory for the task to have a stack of its
 * own or a place in a queue, or as many sections are open as SCHED_BLOCKING allows). The limit is
 * 512, unless SCHED_BLOCKING or the member blocking of sched_options sets another. After EAGAIN
 * the task must not call sched_block_end. It may still block; then its worker blocks with it, and
 * fewer workers run tasks during that time. The first time that the limit refuses a section, a
 * line on standard error says so.
 * Thread-safe. Cost: some microseconds if a kept thread is woken; some fifty microseconds if a
 * thread is made; some ten nanoseconds if a thread is already on its way. (A thread that comes
 * after the section has ended watches the worker, as long as further sections follow, each within
 * some hundred microseconds of the one before. It takes over the worker when a section lasts some
 * hundred microseconds, at most a millisecond.) A section within a section costs some nanoseconds.
 *
 * Example:
 *
 *     int began = sched_block_begin(s) == 0;
 *     ssize_t n = read(fd, buffer, sizeof buffer);
 *     if (began)
 *         sched_block_end(s); */
int sched_block_begin(struct scheduler *s);

/* Ends the section that the calling task began last. The task continues at once if a worker of
 * the run has no thread at this moment, and no other task waits at the end of a section.
 * Otherwise it waits for its turn: the tasks that have ended sections continue in the
 * order in which their sections ended, before the other tasks in the queue for all workers. (After
 * every 61 of these tasks one of the other tasks has a turn, and at each worker one of its own
 * tasks.) errno keeps its value even if the thread changes. But a compiler may have kept the
 * address of the old thread's errno, so the function that calls sched_block_end should not read
 * errno itself.
 *
 * Returns 0, errno unchanged, or -1 with errno: EPERM (the task is not in a section), EINVAL (the
 * run of s has ended). sched_block_begin says what happens if the caller is not a task of the run.
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: some ten nanoseconds if the task continues at once; otherwise two switches of
 * stacks, two uses of the queue for all workers, and the time until a worker takes the task from
 * that queue. If every worker runs a task then, one of these tasks must end or wait first. */
int sched_block_end(struct scheduler *s);

/* Initialises m as an unlocked mutex, like SCHED_MUTEX_INIT. Returns 0, or -1 with errno: EINVAL
 * (m is NULL). */
int sched_mutex_init(struct sched_mutex *m);

/* Locks the mutex. While another task or thread holds it, the calling task waits, and its worker
 * runs other tasks; a thread that is not a worker sleeps. s is the s of any worker of the caller's
 * run. Several runs and pools, and threads without a run, may use the same mutex. A thread without
 * a run passes NULL as s, which makes no pool. If a task locks a mutex that it already holds, the
 * process ends with a message, since the task would wait for itself.
 *
 * Returns 0, or -1 with errno: EINVAL (m is NULL, or the mutex is locked and the run of s has
 * ended).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: an atomic operation if the mutex is free, two if others wait for it; a wait
 * costs a microsecond of spinning, and one or two switches of stacks.
 *
 * Example:
 *
 *     static sched_mutex m = SCHED_MUTEX_INIT;
 *     ...
 *     sched_mutex_lock(&m, s);
 *     insert(table, key);         (which may fork, join, yield)
 *     sched_mutex_unlock(&m); */
int sched_mutex_lock(struct sched_mutex *m,
                     struct scheduler *s);

/* Locks the mutex if it is free, even if others wait for it. The holder is not recorded, so the
 * library does not notice if another task or thread unlocks the mutex. Returns 0, or -1 with
 * errno: EBUSY (the mutex is locked), EINVAL (m is NULL).
 * Thread-safe. Cost: an atomic operation. */
int sched_mutex_trylock(struct sched_mutex *m);

/* Unlocks the mutex. If tasks or threads wait for it, the one that has waited longest is woken and
 * competes for it with those that come. If it was overtaken 4096 times, or for longer than about a
 * millisecond, it gets the mutex directly. The caller must be the task or thread that has locked
 * the mutex. Otherwise the process ends with a message, unless the mutex was locked by
 * sched_mutex_trylock, which records no holder. (If one task is to lock and another to unlock, use
 * a semaphore.)
 *
 * Returns 0, or -1 with errno: EPERM (the mutex is not locked), EINVAL (m is NULL).
 * Thread-safe, not async-signal-safe. Cost: an atomic operation, if nobody waits. */
int sched_mutex_unlock(struct sched_mutex *m);

/* Initialises c as a condition variable that nobody waits for, like SCHED_COND_INIT. Returns 0, or
 * -1 with errno: EINVAL (c is NULL). */
int sched_cond_init(struct sched_cond *c);

/* Unlocks the mutex, which the caller holds, waits until the condition variable is signalled, and
 * locks the mutex again. There are no spurious wake-ups. But others may have held the mutex since
 * the signal, so a program must test in a loop the state that it waits for.
 *
 * Returns 0, or -1 with errno, and nothing has changed: EINVAL (c or m is NULL, or the run of s
 * has ended), EPERM (nobody has locked m).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: one or two switches of stacks.
 *
 * Example:
 *
 *     sched_mutex_lock(&m, s);
 *     while (length == 0)
 *         sched_cond_wait(&not_empty, &m, s);
 *     item = queue[--length];
 *     sched_mutex_unlock(&m); */
int sched_cond_wait(struct sched_cond *c,
                    struct sched_mutex *m,
                    struct scheduler *s);

/* Makes the task or thread that has waited longest, if any, wait for the mutex instead, behind
 * those that already wait for it; it wakes when its turn comes. A program must hold the mutex
 * while it changes the state that others wait for; it may unlock the mutex before the signal.
 *
 * Returns 0, or -1 with errno: EINVAL (c is NULL).
 * Thread-safe. Cost: a load, if nobody waits. */
int sched_cond_signal(struct sched_cond *c);

/* Does what sched_cond_signal does, for all waiting tasks and threads in the order in which they
 * came.
 *
 * Returns 0, or -1 with errno: EINVAL (c is NULL).
 * Thread-safe. Cost: a load, if nobody waits. */
int sched_cond_broadcast(struct sched_cond *c);

/* Initialises sem as a semaphore with n units, like SCHED_SEM_INIT(n). Returns 0, or -1 with
 * errno: EINVAL (sem is NULL, or n is greater than SIZE_MAX / 2). */
int sched_sem_init(struct sched_sem *sem, size_t n);

/* Takes a unit. While there is none, the calling task waits as in sched_mutex_lock. Waiting tasks
 * and threads get units in the order in which they came.
 *
 * Returns 0, or -1 with errno: EINVAL (sem is NULL, or there is no unit and the run of s has
 * ended).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: an atomic operation if there is a unit; a wait costs one or two switches of
 * stacks.
 *
 * Example: at most four tasks at a time call the database.
 *
 *     static sched_sem free_connections = SCHED_SEM_INIT(4);
 *     ...
 *     sched_sem_wait(&free_connections, s);
 *     query(...);
 *     sched_sem_post(&free_connections); */
int sched_sem_wait(struct sched_sem *sem,
                   struct scheduler *s);

/* Takes a unit if there is one. Returns 0, or -1 with errno: EAGAIN (there is no unit), EINVAL
 * (sem is NULL).
 * Thread-safe. Cost: an atomic operation. */
int sched_sem_trywait(struct sched_sem *sem);

/* Adds a unit; the task or thread that has waited longest, if any, gets it, and nobody overtakes
 * it. (So a mutex is faster where it suffices.)
 *
 * Returns 0, or -1 with errno: EOVERFLOW (there are SIZE_MAX / 2 units), EINVAL (sem is NULL).
 * Thread-safe, not async-signal-safe. Cost: an atomic operation, if nobody waits. */
int sched_sem_post(struct sched_sem *sem);

/* Initialises b as a barrier for n tasks or threads, like SCHED_BARRIER_INIT(n). Returns 0, or -1
 * with errno: EINVAL (b is NULL, or n is 0). */
int sched_barrier_init(struct sched_barrier *b,
                       size_t n);

/* Waits, as in sched_mutex_lock, until n tasks or threads have come; then all continue, and the
 * barrier is ready for the next n. The tasks need not be on different workers: any number of tasks
 * can meet on one worker.
 *
 * Returns 1 to one of the n, 0 to the others; or -1 with errno: EINVAL (b is NULL, the run of s
 * has ended, or the barrier is for 0 tasks).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: one or two switches of stacks, and a lock for some instructions.
 *
 * Example:
 *
 *     for (int step = 0; step < steps; step++) {
 *         relax(grid, part, step);
 *         if (sched_barrier_wait(&all, s) == 1)
 *             printf("step %d done\n", step);
 *     } */
int sched_barrier_wait(struct sched_barrier *b,
                       struct scheduler *s);

/* The time of CLOCK_MONOTONIC in nanoseconds, to which all deadlines refer. This clock does not
 * advance while the machine is suspended, and nobody sets it.
 * Thread-safe and async-signal-safe. Cost: some twenty nanoseconds. */
sched_time sched_now(void);

/* Sleeps for ns nanoseconds: the calling task is suspended, and its worker runs other tasks. A
 * thread that is not in a task sleeps. If ns is 0 or negative, the call returns at once. If ns is
 * positive, a task yields at least once, however short the time is. If the sum of ns and the
 * present time is SCHED_FOREVER or more, only a cancellation ends the sleep.
 *
 * Returns 0 when the time has passed; or -1 with errno: ECANCELED (the caller's group is
 * cancelled: see sched_group_cancel(3)), ENOMEM (there is no memory), EINVAL (the run of s has
 * ended).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of a suspension, and some hundred nanoseconds. If a worker is idle, the
 * task is resumed with the delay of a thread that sleeps in nanosleep(2). If all workers are busy,
 * the task is resumed in the next turn of tasks from outside, within about a millisecond, or when
 * the running tasks end: see libsched(7), THREADS OUTSIDE.
 *
 * Example:
 *
 *     while (!ready(device))
 *         sched_sleep(10 * SCHED_MILLISECOND, s); */
int sched_sleep(sched_time ns,
                struct scheduler *s);

/* As sched_sleep, until the time deadline. If it has passed, the call returns at once.
 *
 * Returns 0 when the time has passed; or -1 with errno: ECANCELED (the caller's group is
 * cancelled: see sched_group_cancel(3)), ENOMEM (there is no memory), EINVAL (the run of s has
 * ended).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of sched_sleep. */
int sched_sleep_until(sched_time deadline, struct scheduler *s);

/* As sched_mutex_lock, but waits no longer than until deadline; if that has passed, this is
 * sched_mutex_trylock. Tasks and threads that wait with a deadline get the mutex in the order in
 * which they came. Together they have one place in the queue of those that wait without a
 * deadline.
 *
 * Returns 0, or -1 with errno, and nothing has changed: ETIMEDOUT (the deadline has passed),
 * ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)), ENOMEM (there is no
 * memory), EINVAL (m is NULL, or the mutex is locked and the run of s has ended).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: an atomic operation if the mutex is free; a wait takes a lock of the library
 * twice, and one or two switches of stacks.
 *
 * Example:
 *
 *     if (sched_mutex_lock_until(&m, sched_now() + SCHED_SECOND, s) != 0)
 *         return busy(); */
int sched_mutex_lock_until(struct sched_mutex *m,
                           sched_time deadline,
                           struct scheduler *s);

/* As sched_cond_wait, but waits for the signal no longer than until deadline. In each case the
 * caller holds the mutex afterwards: it waits for the mutex without a deadline. If the deadline
 * has passed before the call, the call fails without unlocking the mutex.
 *
 * Returns 0, or -1 with errno: ETIMEDOUT (the deadline has passed), ECANCELED (the caller's group
 * is cancelled: see sched_group_cancel(3)), ENOMEM (there is no memory), EINVAL (c or m is NULL,
 * or the run of s has ended), EPERM (nobody has locked m). After ETIMEDOUT and ECANCELED others
 * may have held the mutex meanwhile; after the other errors nothing has changed.
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of sched_cond_wait, and some hundred nanoseconds.
 *
 * Example:
 *
 *     sched_time deadline = sched_now() + SCHED_SECOND;
 *     sched_mutex_lock(&m, s);
 *     while (length == 0)
 *         if (sched_cond_wait_until(&not_empty, &m, deadline, s) != 0)
 *             break; */
int sched_cond_wait_until(struct sched_cond *c,
                          struct sched_mutex *m,
                          sched_time deadline,
                          struct scheduler *s);

/* As sched_sem_wait, but waits no longer than until deadline; if that has passed, this is
 * sched_sem_trywait. A unit that is posted is never lost: either this call takes it and returns 0,
 * or it remains for others.
 *
 * Returns 0, or -1 with errno, and nothing has changed: ETIMEDOUT (the deadline has passed),
 * ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)), ENOMEM (there is no
 * memory), EINVAL (sem is NULL, or there is no unit and the run of s has ended).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of sched_sem_wait, and some hundred nanoseconds for a wait. */
int sched_sem_wait_until(struct sched_sem *sem,
                         sched_time deadline,
                         struct scheduler *s);

/* As sched_group_wait, but waits no longer than until deadline; if that has passed, this asks
 * whether the group has tasks. After a failure tasks may be left: the caller must wait for the
 * group again before it frees the group's memory. A thread that is not a worker runs no tasks of
 * the group.
 *
 * Returns 0 if no task of the group is left; or -1 with errno: ETIMEDOUT (the deadline has
 * passed), ECANCELED (no task is left, and sched_group_cancel was called since the last wait; or
 * tasks may be left, and the caller's own group is cancelled), ENOMEM (there is no memory), EINVAL
 * (g is NULL, or the run of s has ended and the group has tasks of a parent process).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of sched_group_wait, and some hundred nanoseconds for a wait.
 *
 * Example: cancel what has not ended after a second.
 *
 *     if (sched_group_wait_until(&g, sched_now() + SCHED_SECOND, s) != 0) {
 *         sched_group_cancel(&g);
 *         sched_group_wait(&g, s);
 *     } */
int sched_group_wait_until(struct sched_group *g,
                           sched_time deadline,
                           struct scheduler *s);

/* Makes *t a timer that is not pending, as SCHED_TIMER_INIT does for a variable.
 *
 * Returns 0, or -1 with errno: EINVAL (t is NULL).
 * Not thread-safe: nobody may use the timer at the same time. Cost: some stores. */
int sched_timer_init(struct sched_timer *t);

/* Spawns the task f(closure, s) at the time deadline, once, in the run of s; at once if that has
 * passed. The run does not end while a timer is pending: sched_init, sched_pool_wait and
 * sched_pool_destroy wait for its task or its cancellation. As soon as f begins, the timer may be
 * started again, also by f, or freed. The task belongs to no group.
 *
 * Returns 0, or -1 with errno, and nothing has changed: EBUSY (the timer is pending, or its
 * function has not begun), EINVAL (t or f is NULL, or the run of s has ended), ENOMEM (there is no
 * memory). If there is no memory at the deadline, the task is spawned as soon as there is.
 * Thread-safe. Cost: some fifty nanoseconds, however many timers are pending; nothing is
 * allocated. The task begins with the delay of a sleeping task that is resumed: see
 * sched_sleep.
 *
 * Example:
 *
 *     static void expire(void *connection, struct scheduler *s);
 *     ...
 *     sched_timer_start(&c->idle, sched_now() + 30 * SCHED_SECOND, expire, c, s);
 *     ...
 *     if (sched_timer_cancel(&c->idle) == 0)
 *         close_connection(c);       (otherwise expire does it) */
SCHED_MUST_USE
int sched_timer_start(struct sched_timer *t,
                      sched_time deadline,
                      taskfunc f,
                      void *closure,
                      struct scheduler *s);

/* Cancels the timer, from any task or thread.
 *
 * Returns 0 if its function will not run: the timer may be started again, or freed. Otherwise -1
 * with errno: EALREADY (the timer was not pending, or its task has been spawned), EINVAL (t is
 * NULL).
 * Thread-safe. Cost: some thirty nanoseconds. */
int sched_timer_cancel(struct sched_timer *t);

/* Makes a channel that holds up to capacity elements of size bytes each. With a capacity of 0 each
 * element passes from a sender directly to a receiver, and the sender waits for it.
 *
 * Returns the channel, or NULL with errno: EINVAL (capacity times size is greater than
 * PTRDIFF_MAX), ENOMEM (there is no memory).
 * Thread-safe. Cost: two allocations.
 *
 * Example:
 *
 *     struct sched_channel *lines = sched_channel_create(64, sizeof (char *));
 *     ...
 *     sched_channel_send(lines, &line, s);        (in the reading task)
 *     ...
 *     char *line;                                 (in each working task)
 *     while (sched_channel_receive(lines, &line, s) == 0)
 *         work(line); */
struct sched_channel *sched_channel_create(size_t capacity,
                                           size_t size);

/* Sends a copy of *element. While the channel is full, the calling task waits as in
 * sched_mutex_lock. Waiting senders are served in the order in which they came, and elements are
 * received in the order in which they were sent.
 *
 * Returns 0, or -1 with errno, and nothing was sent: EPIPE (the channel is closed), EINVAL (c is
 * NULL, or element is NULL and the size of elements is not 0, or the channel is full and the run
 * of s has ended).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: a lock for some instructions, and the copy; a wait costs one or two switches
 * of stacks. */
int sched_channel_send(struct sched_channel *c,
                       const void *element,
                       struct scheduler *s);

/* As sched_channel_send, but waits no longer than until deadline; if that has passed, the element
 * is sent only if the channel is not full or a receiver waits.
 *
 * Returns 0, or -1 with errno, and nothing was sent: EPIPE (the channel is closed), ETIMEDOUT (the
 * deadline has passed), ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)),
 * ENOMEM (there is no memory), EINVAL (c is NULL, or element is NULL and the size of elements is
 * not 0, or the channel is full and the run of s has ended).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of sched_channel_send, and some hundred nanoseconds for a wait. */
int sched_channel_send_until(struct sched_channel *c,
                             const void *element,
                             sched_time deadline,
                             struct scheduler *s);

/* Receives the oldest element into *element. While there is none, the calling task waits as in
 * sched_mutex_lock. Waiting receivers get elements in the order in which they came.
 *
 * Returns 0, or -1 with errno: EPIPE (the channel is closed, and all its elements were received),
 * EINVAL (c is NULL, or element is NULL and the size of elements is not 0, or the channel is empty
 * and the run of s has ended).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of sched_channel_send. */
int sched_channel_receive(struct sched_channel *c,
                          void *element,
                          struct scheduler *s);

/* As sched_channel_receive, but waits no longer than until deadline; if that has passed, an
 * element is received only if there is one.
 *
 * Returns 0, or -1 with errno, and nothing was received: EPIPE (the channel is closed, and all its
 * elements were received), ETIMEDOUT (the deadline has passed), ECANCELED (the caller's group is
 * cancelled: see sched_group_cancel(3)), ENOMEM (there is no memory), EINVAL (c is NULL, or
 * element is NULL and the size of elements is not 0, or the channel is empty and the run of s has
 * ended).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of sched_channel_send, and some hundred nanoseconds for a wait. */
int sched_channel_receive_until(struct sched_channel *c,
                                void *element,
                                sched_time deadline,
                                struct scheduler *s);

/* Closes the channel: from now on nothing can be sent, and those that wait to send fail with
 * EPIPE. The elements in the channel can still be received; then those that receive fail with
 * EPIPE. A second call has no effect.
 * Thread-safe. Cost: a lock for some instructions, and the waking of those that wait. */
void sched_channel_close(struct sched_channel *c);

/* Frees the channel and the elements in it. NULL is accepted. Nobody may use the channel at the
 * same time or afterwards: if tasks or threads wait for it, the process ends with a message. */
void sched_channel_destroy(struct sched_channel *c);

/* Makes *n a node with the task f(closure, s), which is not ready yet. A node that has ended may
 * be made anew.
 *
 * Returns 0, or -1 with errno: EINVAL (n or f is NULL).
 * Not thread-safe: nobody may use the node at the same time. Cost: some stores.
 *
 * Example:
 *
 *     sched_node left, right, both;
 *     sched_node_init(&left, work, &l);
 *     sched_node_init(&right, work, &r);
 *     sched_node_init(&both, merge, &all);
 *     sched_after(&both, &left);
 *     sched_after(&both, &right);
 *     if (sched_node_ready(&both, s) != 0)
 *         return -1;
 *     ...                                 (then sched_node_ready for the other two) */
int sched_node_init(struct sched_node *n,
                    taskfunc f,
                    void *closure);

/* Puts the node into the group: when sched_node_ready is called, the group counts it as a task, as
 * sched_group_spawn does, until the node has ended. If the group is cancelled before the node
 * begins, its function is not called, and its successors begin as if it had ended.
 *
 * Returns 0, or -1 with errno: EINVAL (n or g is NULL, or n is an event, or in a graph), EBUSY
 * (the node was made ready).
 * Not thread-safe: nobody may use the node at the same time. Cost: a store. */
int sched_node_group(struct sched_node *n,
                     struct sched_group *g);

/* Makes before a predecessor of n: n begins after before has ended, and sees what before has
 * written. If before has ended already, the call has no effect. A node may have any number of
 * predecessors, which are nodes and events, and of successors. The nodes of a circle never begin.
 *
 * Returns 0, or -1 with errno, and nothing has changed: EINVAL (n or before is NULL, n is an
 * event, both are the same, or they are not in the same graph and one is in a graph), EBUSY (n was
 * made ready, or its graph runs), ENOMEM (there is no memory; the first four calls for a node
 * allocate nothing).
 * Thread-safe, except that only one thread at a time may use n. before must not have been freed.
 * Cost: an atomic operation on n and one on before. The fifth call for a node, the ninth, the
 * seventeenth and so on allocate memory, which is freed when the node begins. */
int sched_after(struct sched_node *n,
                struct sched_node *before);

/* Makes the node ready: it is spawned in the run of s, as by sched_spawn, when all its
 * predecessors have ended. Until then the run does not end.
 *
 * Returns 0, or -1 with errno, and nothing has changed: EINVAL (n is NULL, an event or in a graph,
 * or the run of s has ended), EBUSY (the node is ready already), EAGAIN (no predecessor is left,
 * and there is no memory, or the queue already holds qlen tasks under SCHED_OVERFLOW=refuse).
 * Suspension point in kind cont: the task may be resumed on another thread, see libsched(7).
 * Thread-safe, except that only one thread at a time may use n. Cost: that of sched_spawn. If a
 * predecessor has not ended, the end of the last one spawns n; if the queue is full then, n goes
 * to the tasks from outside. The end of a node costs an atomic operation for each successor. */
SCHED_MUST_USE
int sched_node_ready(struct sched_node *n,
                     struct scheduler *s);

/* Makes *e an event that has not ended. An event that has ended may be made anew when nobody uses
 * it any more.
 *
 * Returns 0, or -1 with errno: EINVAL (e is NULL).
 * Not thread-safe: nobody may use the event at the same time. Cost: some stores. */
int sched_event_init(sched_event *e);

/* Ends the event. The tasks and threads that wait for it continue, and its successors begin when
 * they have no other predecessor left. All of them see what the caller has written.
 *
 * Returns 0, or -1 with errno: EINVAL (e is NULL, or is not an event), EALREADY (it has ended).
 * Thread-safe. Cost: some atomic operations, and a lock of the run for each successor that can
 * begin. Such a successor goes to the tasks from outside: see libsched(7), THREADS OUTSIDE. */
int sched_event_end(sched_event *e);

/* Waits until the event has ended. The calling task waits as in sched_group_wait; any number of
 * tasks and threads may wait.
 *
 * Returns 0, or -1 with errno: EINVAL (e is NULL, or is not an event, or the run of s has ended
 * and the event has not).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: some nanoseconds if the event has ended. */
int sched_event_wait(sched_event *e, struct scheduler *s);

/* As sched_event_wait, but waits no longer than until deadline; if that has passed, the call only
 * tells whether the event has ended.
 *
 * Returns 0, or -1 with errno: ETIMEDOUT (the deadline has passed), ECANCELED (the caller's group
 * is cancelled: see sched_group_cancel(3)), ENOMEM (there is no memory), EINVAL (e is NULL, or is
 * not an event, or the run of s has ended and the event has not).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: that of sched_event_wait, and some hundred nanoseconds for a wait. */
int sched_event_wait_until(sched_event *e,
                           sched_time deadline,
                           struct scheduler *s);

/* Adds the task f(closure, s) to the group and to the run of s, as sched_group_spawn does. The
 * task begins after tasks that earlier calls for the same group have added: for each of its n
 * addresses, after the last task that writes there and, if it writes there itself, after all tasks
 * that read there since. The tasks have the effect of being called one after the other, in
 * the order of the calls. Tasks of sched_group_spawn, and of other groups, have no part in this.
 *
 * Returns 0, or -1 with errno, and nothing has changed: EINVAL (g or f is NULL, deps is NULL and n
 * is not 0, a member how is none of the three, or the run of s has ended), EAGAIN (there is no
 * memory).
 * Suspension point in kind cont: the task may be resumed on another thread, see libsched(7).
 * Thread-safe, under the conditions of sched_group_spawn. Cost: that of sched_node_ready, and a
 * lock, under which each address is looked up; the task's end takes no lock. A task uses 192 bytes
 * until it has ended, and an address 100 to 130 bytes; later tasks of the
 * group use them again. If the queue is full, the task goes to the tasks from outside.
 *
 * Example:
 *
 *     for (int k = 1; k < n; k++) {
 *         sched_dep deps[] = { { &a[k - 1], SCHED_IN }, { &a[k], SCHED_INOUT } };
 *         if (sched_group_spawn_after(&g, add_former, &a[k], 2, deps, s) != 0)
 *             return -1;
 *     } */
SCHED_MUST_USE
int sched_group_spawn_after(struct sched_group *g,
                            taskfunc f,
                            void *closure,
                            size_t n,
                            const struct sched_dep *deps,
                            struct scheduler *s);

/* Makes *graph a graph without nodes, as SCHED_GRAPH_INIT does for a variable.
 *
 * Returns 0, or -1 with errno: EINVAL (graph is NULL).
 * Not thread-safe: nobody may use the graph at the same time. Cost: some stores. */
int sched_graph_init(struct sched_graph *graph);

/* Puts a node into the graph: one that sched_node_init has made, without edges, and that is in no
 * group. sched_after then adds edges between nodes of the graph, and sched_graph_run runs them. A
 * node of a graph must not be passed to sched_node_ready or sched_node_group, and must live as
 * long as the graph is used.
 *
 * Returns 0, or -1 with errno, and nothing has changed: EINVAL (graph or n is NULL, or n is an
 * event, or in a graph), EBUSY (the graph runs, or n has an edge, is in a group, or was made
 * ready).
 * Not thread-safe: nobody may use the node, or change the graph, at the same time. Cost: some
 * stores. */
int sched_graph_add(struct sched_graph *graph,
                    struct sched_node *n);

/* Runs each node of the graph once, in the run of s, and returns when all have ended. A node
 * begins when all its predecessors have ended, and sees what they have written. The graph may be
 * run again, also in another run, and may be changed between two runs. If the caller is not a task
 * of the run, it works on the graph itself, as in sched_for.
 *
 * The first run after a change looks for circles. If the graph has one, the call writes a line to
 * stderr that names the functions of its nodes, and fails.
 *
 * Returns 0, or -1 with errno: ECANCELED (sched_graph_cancel was called; the functions of some
 * nodes were perhaps not called), and, if no node was run: EINVAL (graph is NULL, or the run of s
 * has ended), EBUSY (the graph runs), EDEADLK (the graph has a circle), ENOMEM (memory could not
 * be allocated; only the first run after a change allocates).
 * Suspension point: the task may be resumed on another thread, see libsched(7).
 * Thread-safe; but nobody may change the graph at the same time. Cost: that of sched_spawn for
 * each node, and an atomic operation for each edge. The first run after a change also sorts the
 * nodes.
 *
 * Example:
 *
 *     sched_graph graph = SCHED_GRAPH_INIT;
 *     sched_node load, filter, store;
 *     sched_node_init(&load, load_frame, &frame);
 *     ...                                 (and the other two; then sched_graph_add for all three)
 *     sched_after(&filter, &load);
 *     sched_after(&store, &filter);
 *     while (has_frame())
 *         if (sched_graph_run(&graph, s) != 0)
 *             return -1; */
SCHED_MUST_USE
int sched_graph_run(struct sched_graph *graph,
                    struct scheduler *s);

/* Cancels the run of the graph that is in progress: the functions of its nodes that have not begun
 * are not called, and sched_graph_run returns -1 with ECANCELED. sched_group_cancel(3) says what
 * else a cancellation reaches. If the graph does not run, the next run is cancelled.
 *
 * Returns 0, or -1 with errno: EINVAL (graph is NULL).
 * Thread-safe; async-signal-safe. Cost: an atomic operation and a fence. */
int sched_graph_cancel(struct sched_graph *graph);

/* Writes the graph to an open file in the language of graphviz's dot(1): a box for each node, with
 * the name of its function, and an arrow from each predecessor to each successor. If the graph has
 * a circle, the nodes and edges of one are red.
 *
 * Returns 0, or -1 with errno: EINVAL (graph or file is NULL), EBUSY (the graph runs), ENOMEM
 * (there is no memory), or an error of fwrite(3).
 * Not thread-safe: nobody may run or change the graph at the same time. Cost: some microseconds
 * for each node, and some hundred for each function that it has not looked up. */
int sched_graph_dot(struct sched_graph *graph,
                    FILE *file);

/* Takes all nodes out of the graph, and frees the memory that the library has allocated for the
 * edges of nodes with more than four predecessors. It has allocated nothing else. The nodes may be
 * made anew.
 *
 * Returns 0, or -1 with errno: EINVAL (graph is NULL), EBUSY (the graph runs).
 * Not thread-safe: nobody may use the graph or its nodes at the same time. Cost: that of free(3)
 * for each such node. */
int sched_graph_destroy(struct sched_graph *graph);

/* Creates a pool: a run that stays open, with or without tasks, until sched_pool_destroy. It has
 * nthreads threads of its own; the library may create some of them later, when there are tasks for
 * them. While there are no tasks, the threads wait as SCHED_IDLE says. If options is NULL, the
 * pool is like the run of sched_init(0, 0, ...). The environment variables override the options,
 * as they override the arguments of sched_init.
 *
 * Returns the pool, or NULL with errno: EINVAL (a member of options has an invalid value, two
 * settings do not suit each other, size is 0 or less than the size of the struct in version 1.0.0,
 * a member is set that this version does not know, or an environment variable is refused), ENOMEM
 * (there is no memory, or less than 18 KiB are left of the calling thread's stack), EAGAIN (no
 * thread could be made). After EINVAL a line on standard error says what is refused. If only some
 * of the threads can be created, the pool runs with those.
 * Thread-safe. Cost: some microseconds if threads of an earlier run are kept (SCHED_WARM);
 * otherwise that of creating a thread.
 *
 * Example:
 *
 *     struct sched_options options = { .size = sizeof options, .nthreads = 4 };
 *     struct sched_pool *pool = sched_pool_create(&options);
 *     if (pool == NULL)
 *         err(1, "sched_pool_create");
 *     for (int i = 0; i < n; i++)
 *         if (sched_pool_submit(pool, work, &part[i]) != 0)
 *             err(1, "sched_pool_submit");
 *     sched_pool_wait(pool);
 *     sched_pool_destroy(pool); */
SCHED_MUST_USE
struct sched_pool *sched_pool_create(const struct sched_options *options);

/* Adds the task f(closure, s) to the pool and waits, as sched_pool_wait does, until no task is
 * left in the pool. It also waits for tasks that other threads add during the wait. Several
 * threads may call it at the same time.
 *
 * Returns 0, or -1 with errno: EINVAL (pool or f is NULL, or this process was made by fork after
 * the pool was created), EDEADLK (the caller is a task of the pool, or of a run for which a task
 * of the pool waits, perhaps indirectly, and would wait forever), EAGAIN (there is no memory, or
 * the pool already holds qlen tasks from outside under SCHED_OVERFLOW=refuse). After an error the
 * task has not been added.
 * Thread-safe. Cost: that of sched_pool_submit, and of waking this thread when no task is left. */
SCHED_MUST_USE
int sched_pool_run(struct sched_pool *pool,
                   taskfunc f,
                   void *closure);

/* Adds the task f(closure, s) to the pool. The task may spawn further tasks with its s. If a task
 * of the pool calls this function, it acts like sched_spawn.
 *
 * Returns 0, or -1 with errno, and nothing has changed: EINVAL (pool or f is NULL, or this process
 * was made by fork after the pool was created), EAGAIN (there is no memory, or the pool already
 * holds qlen tasks from outside under SCHED_OVERFLOW=refuse).
 * Suspension point in kind cont, for a task of the pool: see sched_spawn.
 * Thread-safe. Cost: from outside of the pool two locks, and perhaps the waking of a worker. */
SCHED_MUST_USE
int sched_pool_submit(struct sched_pool *pool,
                      taskfunc f,
                      void *closure);

/* Adds the task f(copy, s) to the pool. copy points to a copy of the size bytes at arg, as in
 * sched_spawn_copy.
 *
 * Returns 0, or -1 with errno, and nothing has changed: EINVAL (pool or f is NULL, size is greater
 * than SCHED_COPY_MAX, arg is NULL and size is not 0, or this process was made by fork after the
 * pool was created), EAGAIN (there is no memory, or the pool already holds qlen tasks from outside
 * under SCHED_OVERFLOW=refuse).
 * Suspension point in kind cont, for a task of the pool: see sched_spawn.
 * Thread-safe. Cost: that of sched_pool_submit; from outside of the pool also an allocation.
 *
 * Example:
 *
 *     struct request r;
 *     while (receive(&r))
 *         if (sched_pool_submit_copy(pool, serve, &r, sizeof r) != 0)
 *             reject(&r); */
SCHED_MUST_USE
int sched_pool_submit_copy(struct sched_pool *pool,
                           taskfunc f,
                           const void *arg,
                           size_t size);

/* Returns the s of the pool, with which any thread may call sched_for, sched_reduce, the sorts,
 * sched_group_spawn, sched_group_wait, sched_fork, sched_join, sched_spawn, and the functions of
 * mutexes and of the other objects. A thread that is not a worker of the pool works on its own
 * loops, reductions, sorts and joins, on its own stack, and the workers of the pool help: see
 * libsched(7), THREADS OUTSIDE. The s is the same in each call, and is valid until
 * sched_pool_destroy.
 *
 * Returns the s, or NULL with errno: EINVAL (pool is NULL, or this process was made by fork after
 * the pool was created).
 * Thread-safe. Cost: some nanoseconds.
 *
 * Example:
 *
 *     struct scheduler *s = sched_pool_scheduler(pool);
 *     if (sched_for(0, n, 0, scale, a, s) != 0)
 *         err(1, "sched_for"); */
struct scheduler *sched_pool_scheduler(struct sched_pool *pool);

/* Waits until, at one moment after the call, no task is left in the pool: none is running, waiting
 * or queued, and no timer is pending. The caller then sees what the tasks have written. If threads
 * keep adding tasks, that moment may never come.
 *
 * Returns 0, or -1 with errno: EINVAL (pool is NULL, or this process was made by fork after the
 * pool was created), EDEADLK (the caller is a task of the pool, or of a run for which a task of
 * the pool waits, perhaps indirectly, and would wait forever).
 * Thread-safe. Cost: if no task is left, a lock. */
int sched_pool_wait(struct sched_pool *pool);

/* As sched_pool_wait, but waits no longer than until deadline; if that has passed, this asks
 * whether the pool has tasks. A pending timer of the pool counts as a task.
 *
 * Returns 0, or -1 with errno: ETIMEDOUT (the deadline has passed), ECANCELED (the caller's group
 * is cancelled, which is noticed within about a millisecond), EINVAL (pool is NULL, or this
 * process was made by fork after the pool was created), EDEADLK (the caller is a task of the pool,
 * or of a run for which a task of the pool waits, perhaps indirectly, and would wait forever).
 * Thread-safe. Cost: that of sched_pool_wait. */
int sched_pool_wait_until(struct sched_pool *pool,
                          sched_time deadline);

/* Destroys the pool. Waits until no task is left in it; then ends its threads, or keeps them for
 * the next run (SCHED_WARM), and frees the pool. While the function waits, the pool's own tasks
 * may add tasks; other threads must not use the pool any more.
 *
 * Returns 0, or -1 with errno: EINVAL (pool is NULL, or this process was made by fork after the
 * pool was created), EDEADLK (the caller is a task of the pool, or of a run for which a task of
 * the pool waits, perhaps indirectly, and would wait forever). After an error nothing has changed;
 * in a child made by fork the memory of its parent's pool stays allocated.
 * Cost: that of waiting for the threads. */
int sched_pool_destroy(struct sched_pool *pool);

/* Adds the task f(closure, s) to the run of s with a level:
 *
 * SCHED_NORMAL: as sched_spawn. SCHED_URGENT: the task begins before all others that are queued in
 * the run, as soon as one worker's task ends, joins, is suspended, or is between two parts of a
 * loop, a reduction or a sort. Urgent tasks begin in the order in which they were added. If they
 * are added without end, other tasks may never begin. SCHED_BACKGROUND: the task begins when a
 * worker finds no other task; behind workers that always find one, a background task begins at
 * least once in about a tenth of a second.
 *
 * The level tells when the task begins, and nothing else: the tasks that it spawns,
 * and the task itself once it has waited, are ordinary tasks. The run does not end before its
 * background tasks have ended.
 *
 * Returns 0, or -1 with errno, and nothing has changed: EINVAL (level is none of the three, f is
 * NULL, or the run of s has ended), EAGAIN (there is no memory, or the queue for all workers
 * already holds qlen tasks under SCHED_OVERFLOW=refuse).
 * No suspension point, also in kind cont: the task is queued.
 * Thread-safe. Cost: a lock and a fence; for an urgent task also some hundred nanoseconds of each
 * worker; for the first background task a thread of the library, which lasts as long as the run.
 *
 * Example:
 *
 *     if (sched_spawn_at(SCHED_URGENT, answer, request, s) != 0)
 *         answer(request, s); */
SCHED_MUST_USE
int sched_spawn_at(int level,
                   taskfunc f,
                   void *closure,
                   struct scheduler *s);

/* As sched_group_spawn, with a level: see sched_spawn_at. In a cancelled group the task is not
 * run, and leaves the group when it would have begun.
 *
 * Returns 0, or -1 with errno, and nothing has changed: EINVAL (level is none of the three, g or f
 * is NULL, or the run of s has ended), EAGAIN (there is no memory, or the queue for all workers
 * already holds qlen tasks under SCHED_OVERFLOW=refuse).
 * No suspension point, also in kind cont: the task is queued.
 * Thread-safe, under the conditions of sched_group_spawn. Cost: that of sched_spawn_at, and that
 * of a copied argument.
 *
 * Example:
 *
 *     for (int i = 0; i < n; i++)
 *         if (sched_group_spawn_at(&g, SCHED_BACKGROUND, compress, &part[i], s) != 0)
 *             compress(&part[i], s); */
SCHED_MUST_USE
int sched_group_spawn_at(struct sched_group *g,
                         int level,
                         taskfunc f,
                         void *closure,
                         struct scheduler *s);

/* Gives the task of the node a level: see sched_spawn_at. The task is queued with this level when
 * the node is ready and its predecessors have ended. The last call before sched_node_ready counts.
 *
 * Returns 0, or -1 with errno, and nothing has changed: EBUSY (the node was made ready), EINVAL
 * (n is NULL or an event, or level is none of the three).
 * Not thread-safe: nobody may use the node at the same time. Cost: some loads and a store.
 *
 * Example:
 *
 *     sched_node_init(&n, show, &frame);
 *     sched_node_level(&n, SCHED_URGENT);
 *     if (sched_node_ready(&n, s) != 0)
 *         show(&frame, s); */
int sched_node_level(struct sched_node *n,
                     int level);

/* As sched_pool_submit, with a level: see sched_spawn_at.
 *
 * Returns 0, or -1 with errno, and nothing has changed: EINVAL (level is none of the three, pool
 * or f is NULL, or this process was made by fork after the pool was created), EAGAIN (there is no
 * memory, or the pool already holds qlen tasks from outside under SCHED_OVERFLOW=refuse).
 * No suspension point, also in kind cont: the task is queued.
 * Thread-safe. Cost: that of sched_spawn_at, and perhaps the waking of a worker.
 *
 * Example:
 *
 *     if (sched_pool_submit_at(pool, SCHED_URGENT, answer, request) != 0)
 *         reject(request); */
SCHED_MUST_USE
int sched_pool_submit_at(struct sched_pool *pool,
                         int level,
                         taskfunc f,
                         void *closure);

/* As sched_timer_start, with a level: see sched_spawn_at. The task is queued with this level at
 * the time deadline.
 *
 * Returns 0, or -1 with errno, and nothing has changed: EBUSY (the timer is pending, or its
 * function has not begun), EINVAL (level is none of the three, t or f is NULL, or the run of s has
 * ended), ENOMEM (there is no memory). If there is no memory at the deadline, the task is spawned
 * as soon as there is.
 * Thread-safe. Cost: that of sched_timer_start, and at the deadline that of sched_spawn_at.
 *
 * Example:
 *
 *     sched_time soon = sched_now() + 10 * SCHED_MILLISECOND;
 *     if (sched_timer_start_at(&t, SCHED_URGENT, soon, poll_device, d, s) != 0)
 *         err(1, "sched_timer_start_at"); */
SCHED_MUST_USE
int sched_timer_start_at(struct sched_timer *t,
                         int level,
                         sched_time deadline,
                         taskfunc f,
                         void *closure,
                         struct scheduler *s);

/* Writes to out what all workers of the run of s have done so far. size is sizeof (struct
 * sched_stats). A later version of the struct may have more members: the library writes size
 * bytes, with 0 for each member that it does not know.
 *
 * While tasks run, the counts lag a little: each worker counts the tasks of its own queue 61 at a
 * time, and when it finds the queue empty; and the counts of different workers are not read at the
 * same moment. When no task is left (in a pool, after sched_pool_wait), tasks, steals and
 * stolen_tasks are exact. Idle workers, which search and sleep, still change the other members.
 *
 * Returns 0, or -1 with errno: EINVAL (out is NULL, size is less than that of the struct in the
 * first version that has it, or the run of s has ended). After an error nothing was written.
 * Thread-safe, also for threads that are not workers. Cost: some nanoseconds for each worker; it
 * hardly disturbs the workers. */
int sched_stats(struct scheduler *s,
                struct sched_stats *out,
                size_t size);

/* Writes to out what the workers did in the last run that ended on the calling thread, in
 * sched_init or in sched_pool_destroy. The counts are exact. size means the same as in
 * sched_stats.
 *
 * Returns 0, or -1 with errno: EINVAL (out is NULL, or size is less than that of the struct in the
 * first version that has it), ENOENT (no run has ended on this thread). After an error
 * nothing was written. Thread-safe. Cost: some nanoseconds.
 *
 * Example:
 *
 *     struct sched_stats stats;
 *     sched_init(0, 0, root, NULL);
 *     if (sched_last_stats(&stats, sizeof stats) == 0)
 *         printf("%zu tasks in %g s\n", stats.tasks, stats.seconds); */
int sched_last_stats(struct sched_stats *out,
                     size_t size);

/* Tells which worker of the run of s the calling thread is: a number from 0 to
 * sched_worker_count(s) - 1. s is the s of any worker of that run. No two threads have the same
 * number at the same time. But a task may be resumed on another thread, so its number may change
 * at each suspension point (libsched(7)) and in sched_block_begin, and in no other call.
 *
 * To keep a value for each worker, index an array of sched_worker_count(s) elements. Between two
 * calls that may change the number, only the calling task uses the element of its number, so it
 * needs neither atomics nor locks. After such a call the element may be another task's: ask for
 * the number again, and keep no pointer to the element across the call. (sched_reduce needs no
 * numbers.)
 *
 * Returns the number, or -1 with errno: EINVAL (the run of s has ended, the calling thread is not
 * a worker of it, or s is NULL and the caller is not a task). Between sched_block_begin and
 * sched_block_end the thread of a task is not a worker, except in kind serial. A thread from
 * outside that works on its own call in a pool (libsched(7), THREADS OUTSIDE) counts as a worker
 * during the call, and keeps its number in a blocking section. If a thread beside the workers runs
 * the calling task (libsched(7), THREADS OUTSIDE), the task first waits for a worker.
 * Thread-safe. Cost: a nanosecond or two.
 *
 * Example:
 *
 *     sched_join(&t, s);
 *     struct part *mine = &part[sched_worker_index(s)];   (until the next such call)
 *     mine->visits++;
 *     if (mine->best < value)
 *         mine->best = value; */
int sched_worker_index(struct scheduler *s);

/* Tells how many numbers sched_worker_index can return in the run of s. There is one for each
 * worker, even if no thread could be created for it. A pool of any kind but serial, including the
 * default pool, also has one for each place of a thread from outside (libsched(7), THREADS
 * OUTSIDE): as many places as workers, but at least 8 and at most 64. The number does not change
 * during the run.
 *
 * Returns the number, or -1 with errno: EINVAL (the run of s has ended).
 * Thread-safe, also for threads that are not workers. Cost: from a task of the run, a nanosecond
 * or two. */
int sched_worker_count(struct scheduler *s);

/* Returns the version of the running library, such as "1.1.0". The result is never NULL; the
 * program must not free it. Thread-safe and async-signal-safe. */
const char *sched_version(void);

#ifdef __cplusplus
}
#endif

#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif
