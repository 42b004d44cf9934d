/* sched_tasks.h: what libsched offers beyond the course's sched.h.
 *
 * Made from src/ffi by `make headers`; not to be edited.
 *
 * Each function that takes an s also accepts NULL. In a task, NULL means the task's own run;
 * elsewhere it means the default pool of the process. The first use makes this pool, as the
 * SCHED_* variables say, with sched_default_threads() workers. The pool sleeps while it has no
 * tasks, and ends with the process; exit does not wait for its tasks. So main may say
 *
 *     if (sched_for(0, n, 0, scale, a, NULL) != 0)
 *         err(1, "sched_for");
 *
 * Functions that only wait (sched_join, sched_group_wait, sched_mutex_lock and so on),
 * sched_task_yield and sched_worker_index do not make the pool. If the pool cannot be made, a
 * function fails as sched_pool_create does. A child made by fork makes its own pool at the next
 * use. Cost: the first use takes some hundred microseconds, for the threads; each later use
 * outside of a task some ten microseconds, to hand the work to a worker and to wake it; a use
 * within a task some nanoseconds.
 *
 * A suspension point is a call in which a task may be suspended with its stack. Afterwards it may
 * go on in another thread, where errno and thread-local variables are that thread's: see
 * libsched(7), SUSPENSION POINTS. No function may be called in a signal handler, unless its comment
 * says that it is async-signal-safe. */

#ifndef LIBSCHED_SCHED_TASKS_H
#define LIBSCHED_SCHED_TASKS_H

#include <stddef.h>
#include "sched.h"

/* The version of this header, for #if and for messages: 10000 times the first number, 100 times
 * the second, and the third. The library that runs may be another: sched_version(). */
#define SCHED_VERSION_NUMBER 10000
#define SCHED_VERSION_STRING "1.0.0"

/* The result says whether the work was accepted: a caller that does not look may lose it. */
#ifdef __GNUC__
#define SCHED_MUST_USE __attribute__((warn_unused_result))
#else
#define SCHED_MUST_USE
#endif

/* A group without tasks. */
#define SCHED_GROUP_INIT { 0, 0, 0 }
/* A free mutex; a condition; a semaphore with n units; a barrier of n. */
#define SCHED_MUTEX_INIT { 0, 0, 0 }
#define SCHED_COND_INIT { 0, 0, 0 }
#define SCHED_SEM_INIT(n) { (size_t)(n), 0, 0 }
#define SCHED_BARRIER_INIT(n) { (size_t)(n), 0, 0, 0, 0 }

typedef struct sched_task sched_task;
typedef struct sched_group sched_group;
typedef struct sched_mutex sched_mutex;
typedef struct sched_cond sched_cond;
typedef struct sched_sem sched_sem;
typedef struct sched_barrier sched_barrier;

/* The most bytes that sched_spawn_copy copies. */
#define SCHED_COPY_MAX 256

/* Values for sched_options: what the words of SCHED_KIND mean. */
#define SCHED_KIND_STEAL 1
#define SCHED_KIND_LIFO 2
#define SCHED_KIND_FIFO 3
#define SCHED_KIND_CONT 4
#define SCHED_KIND_SERIAL 5

/* Of SCHED_DEQUE. */
#define SCHED_DEQUE_SPLIT 1
#define SCHED_DEQUE_CHASELEV 2
#define SCHED_DEQUE_RING 3
#define SCHED_DEQUE_MUTEX 4
#define SCHED_DEQUE_SPIN 5
#define SCHED_DEQUE_SEM 6
#define SCHED_DEQUE_QUEUE 7

/* Of SCHED_IDLE. */
#define SCHED_IDLE_PARK 1
#define SCHED_IDLE_NAP 2
#define SCHED_IDLE_BACKOFF 3
#define SCHED_IDLE_SPIN 4

/* Of SCHED_OVERFLOW. */
#define SCHED_OVERFLOW_GROW 1
#define SCHED_OVERFLOW_ONE 2
#define SCHED_OVERFLOW_HALF 3
#define SCHED_OVERFLOW_REFUSE 4

/* A scheduler that lives until it is destroyed. */
struct sched_pool;

/* A forked task: to be declared where it is forked, and left alone until it is joined. */
struct sched_task {
  size_t state;
  void *closure;
  size_t f;
  size_t check;
};

/* Tasks that are waited for together; SCHED_GROUP_INIT is one without tasks. It must stay where it
 * is until sched_group_wait has returned: it must be neither copied nor gone. */
struct sched_group {
  size_t state;
  size_t waiter;
  size_t cancelled;
};

/* The body of a loop: to be done for each number from lo to hi - 1. */
typedef void (*sched_range)(size_t lo, size_t hi, void *ctx, struct scheduler *s);

/* A mutex for tasks: a task that has to wait is suspended, and its worker goes on with other tasks.
 * Those that wait get the mutex in the order in which they came. SCHED_MUTEX_INIT is a free mutex.
 * Nothing has to be freed; a mutex in use must not be copied. */
struct sched_mutex {
  size_t state;
  void *queue;
  size_t holder;
};

/* A condition, to be used with a mutex; SCHED_COND_INIT is one that nobody waits for. */
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

/* A barrier; SCHED_BARRIER_INIT(n) is one of n. */
struct sched_barrier {
  size_t size;
  size_t arrived;
  void *first;
  void *last;
  size_t lock;
};

/* What a pool is to be. All members but size may be 0, for the default. */
struct sched_options {
  /* sizeof (struct sched_options): later versions may have more members. */
  size_t size;
  /* SCHED_KIND_STEAL and so on. */
  int kind;
  /* As for sched_init. */
  int nthreads;
  /* As for sched_init. */
  int qlen;
  /* SCHED_DEQUE_SPLIT and so on. */
  int deque;
  /* SCHED_IDLE_PARK and so on. */
  int idle;
  /* SCHED_OVERFLOW_GROW and so on. */
  int overflow;
  /* How many tasks may be in blocking sections at once; at most 65536. */
  size_t blocking;
};

/* What all workers of a run did together. */
struct sched_stats {
  /* Tasks run. */
  size_t tasks;
  /* Searches that took a task from another worker's queue. */
  size_t steals;
  /* Tasks that came by them. */
  size_t stolen_tasks;
  /* Searches that found nothing anywhere. */
  size_t failed_steals;
  /* Sleeps that only a wake-up ends. */
  size_t parks;
  /* Sleeps that time ends. */
  size_t naps;
  /* Sleepers woken by workers. */
  size_t wakes;
  /* Most tasks that a worker found in its queue (shared queue: in the queue). */
  size_t queue_peak;
  /* Workers that have a thread, or would get one if there were tasks for it. */
  size_t threads;
  /* Workers for whom no thread could be made. */
  size_t threads_missing;
  /* Since the run began. */
  double seconds;
};

#ifdef __cplusplus
extern "C" {
#endif

/* Adds the task f(copy, s) to the run of s, where copy points to a copy of the size bytes at arg.
 * The copy is made before f is called or the function returns, is aligned for any type, and is
 * valid until f returns, which may change it. Nothing is to be freed. In kind cont the task is
 * called first, as by sched_spawn.
 *
 * Returns 0, or -1 with errno, and nothing has changed: EINVAL (f is NULL, size is greater than
 * SCHED_COPY_MAX, arg is NULL and size is not 0, or the run of s has ended), EAGAIN (there is no
 * memory for the copy or for the queue to grow, or the queue holds qlen tasks already under
 * SCHED_OVERFLOW=refuse).
 * Suspension point in kind cont: the task may go on in another thread, see libsched(7).
 * Thread-safe. Cost: from a task of s, that of sched_spawn and some nanoseconds; no allocation,
 * once as many copies have been in use at the same time.
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
 * sched_join(t, s) waits for its end. t is to live until sched_join has returned, which the task
 * that forks must call before it returns. Nothing is allocated. The task is called first in kind
 * cont, as by sched_spawn, and in every kind if no queue has room for it.
 *
 * sched_fork cannot fail. If f is NULL or the run of s has ended, the process ends with a message,
 * and so it does after mistakes with t that the library recognises: see libsched(7), DIAGNOSTICS.
 * If s is NULL and the default pool cannot be made, the task is run at once, with s NULL. A t that
 * is NULL is undefined; the debug library finds it.
 * Suspension point: the task may go on in another thread, see libsched(7).
 * Thread-safe, for different t. Cost: from a task of s that of sched_spawn.
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

/* Waits until the task forked on t has ended: what it wrote is then seen. If nobody has begun it,
 * it is called now. Otherwise the caller is suspended with its stack, and its worker goes on with
 * other tasks; with SCHED_JOIN=help, and where there is no memory for another stack, the worker
 * runs them on top of the caller. A thread that is no worker of the run sleeps. Tasks may be
 * joined in any order; the reverse order of forking is the quickest.
 *
 * s is that of sched_fork, or the caller's own of the same run. sched_join cannot fail. The
 * process ends with a message if t was joined already, forked on anew before it was joined, or
 * copied, and if a task has returned without joining what it forked, as far as the library
 * recognises that: see libsched(7), DIAGNOSTICS. The debug library always recognises it, and also
 * a t that is NULL or was forked in another run, which is undefined otherwise.
 * Suspension point: the task may go on in another thread, see libsched(7).
 * Cost: that of running a task from the worker's own queue; if another worker runs the task, the
 * time until it has ended. */
void sched_join(struct sched_task *t,
                struct scheduler *s);

/* Lets other tasks run: the calling task goes on when its turn has come, behind those that are
 * queued by then for all workers; with SCHED_DEQUE=ring or queue, behind those of its own worker,
 * as in Tokio (C. Lerche, 2019).
 *
 * s is any worker's of the run; from a thread that is none, and with s NULL outside of a task,
 * this is sched_yield(2). There are no errors: with no memory for a stack to go on with, nothing
 * happens.
 * Suspension point: the task may go on in another thread, see libsched(7).
 * Thread-safe. Cost: a switch of stacks, or two, and the queue.
 *
 * Example: while (!done(job)) sched_task_yield(s); */
void sched_task_yield(struct scheduler *s);

/* Adds the task f(closure, s) to the group and to the run of s. In kind cont the task is called
 * first, as by sched_spawn.
 *
 * Returns 0, or -1 with errno, and nothing has changed: EINVAL (g or f is NULL, or the run of s
 * has ended), EAGAIN (there is no memory, or the queue holds qlen tasks already under
 * SCHED_OVERFLOW=refuse).
 * Suspension point in kind cont: the task may go on in another thread, see libsched(7).
 * Thread-safe. The group's own tasks, and the task that will wait for it, may add tasks at any
 * time; others only while nobody waits for the group, or while it certainly has a task that has not
 * ended. Cost: that of sched_spawn_copy, and two atomic operations on the group.
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

/* Adds the task f(copy, s) to the group and to the run of s, where copy points to a copy of the
 * size bytes at arg, as sched_spawn_copy makes it. In kind cont the task is called first, as by
 * sched_spawn.
 *
 * Returns 0, or -1 with errno, and nothing has changed: EINVAL (g or f is NULL, size is greater
 * than SCHED_COPY_MAX, arg is NULL and size is not 0, or the run of s has ended), EAGAIN (there is
 * no memory, or the queue holds qlen tasks already under SCHED_OVERFLOW=refuse).
 * Suspension point in kind cont: the task may go on in another thread, see libsched(7).
 * Thread-safe, as sched_group_spawn is. Cost: that of sched_group_spawn.
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

/* Waits until no task of the group is left: what they wrote is then seen, and the group may be
 * used anew. The caller is suspended with its stack, and its worker goes on with other tasks; with
 * SCHED_JOIN=help, and where there is no memory for another stack, the worker runs them on top of
 * the caller. A thread that is no worker of the run sleeps. s may be any worker's of the run. A
 * task of the group that waits for the group waits for itself: the process ends with a message.
 *
 * Returns 0, or -1 with errno: ECANCELED (sched_group_cancel was called since the last wait),
 * EINVAL (g is NULL, or the run of s has ended and tasks are left: they are a parent process's).
 * Suspension point: the task may go on in another thread, see libsched(7).
 * Thread-safe. Cost: some nanoseconds if there is nothing to wait for. */
int sched_group_wait(struct sched_group *g,
                     struct scheduler *s);

/* Cancels the group: its tasks that have not begun are not run, and those that run may ask by
 * sched_group_cancelled. The group is no longer cancelled when somebody has waited for it. Groups
 * that its tasks use are groups of their own, and are not cancelled.
 * Thread-safe, also from outside of the run; async-signal-safe. Cost: a store. */
void sched_group_cancel(struct sched_group *g);

/* 1 if the group was cancelled since the last wait, else 0.
 * Thread-safe and async-signal-safe. Cost: a load. */
int sched_group_cancelled(const struct sched_group *g);

/* Calls body(l, h, ctx, s) for parts l to h - 1 of the numbers lo to hi - 1, each of which is in
 * exactly one part, and returns when all calls have; what they wrote is then seen. Parts are done
 * by any worker of the run, in any order, several at a time; a call gets the s of its worker. The
 * body may fork, spawn and loop in turn. Like a task, it must return; longjmp out of it is
 * undefined. If lo >= hi nothing is called.
 *
 * grain  0: the library chooses, beginning with one number, by how much is left and by whether
 *        workers are idle.
 *        More: each part has exactly so many numbers; the last one may have fewer.
 *
 * If the calling thread is no worker of the run, the workers do all the work while the thread
 * sleeps. Returns 0, or -1 with errno, and nothing was called: EINVAL (body is NULL, lo or hi is
 * greater than PTRDIFF_MAX, as a negative number becomes, or the run of s has ended), EAGAIN (the
 * caller is no worker of the run, and there is no memory to hand the work to one, or the queue
 * holds qlen tasks already under SCHED_OVERFLOW=refuse).
 * Suspension point: the task may go on in another thread, see libsched(7).
 * Thread-safe. Cost: nothing is allocated. While no other worker takes a part, n numbers cost
 * about 2 log2(n) forks and 10 log2(n) calls of body, or n / grain calls with a grain; each part
 * that another worker takes costs a steal.
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

/* Reduces the numbers lo to hi - 1 to one value of size bytes. The numbers are cut into parts of
 * grain numbers; the last part may have fewer. For each part, body(l, h, acc, ctx, s) adds the
 * numbers l to h - 1 to the value at acc, which begins as a copy of the identity. combine(into,
 * from, ctx) adds the value at from, which stands for one or several parts, to the value at into,
 * which stands for the parts just before those. At the end the value of all parts is copied to
 * result; if lo >= hi, it is the identity.
 *
 * combine must be associative; it need not be commutative. Which parts there are, and which values
 * are combined, depends on lo, hi, grain and size alone, not on the number of workers or on their
 * speed. So the result is the same each time, even if combine is only nearly associative, as the
 * addition of floating-point numbers is, provided that the caller has the floating-point modes of
 * the run.
 *
 * grain  0: chosen from hi - lo and size, so that there are at most 1024 parts.
 *
 * The values are aligned for any type. Calls are made by any worker of the run, several at a time;
 * a call of body gets the s of its worker. Both functions must return; longjmp out of them is
 * undefined.
 *
 * If the calling thread is no worker of the run, the workers do all the work while the thread
 * sleeps. Returns 0, or -1 with errno, result unchanged: EINVAL (body, combine, identity or result
 * is NULL, size is 0, lo or hi is greater than PTRDIFF_MAX, as a negative number becomes, or the
 * run of s has ended), ENOMEM (size is greater than 128, and there is no memory for a value; some
 * parts may have been done), EAGAIN (the caller is no worker of the run, and there is no memory to
 * hand the work to one, or the queue holds qlen tasks already under SCHED_OVERFLOW=refuse).
 * Suspension point: the task may go on in another thread, see libsched(7).
 * Thread-safe. Cost: for each part a fork, a copy of the identity and a call of each function; an
 * allocation, if size is more than 128.
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

/* Sorts the n elements of size bytes at base in the order that cmp defines, as qsort(3) does, on
 * all workers of the run. The sort is stable: elements that compare equal keep their order. It
 * needs memory for n more elements, and O(n log n) time in every case; n - 1 comparisons if the
 * elements are in order, or strictly in the reverse order.
 *
 * cmp is called by several threads at once, with pointers to elements or to copies of them that
 * are aligned like the elements. It must return; longjmp out of it is undefined. If its answers
 * contradict each other, the elements end in some order.
 *
 * If the calling thread is no worker of the run, the workers do all the work while the thread
 * sleeps. Returns 0, or -1 with errno, the array unchanged: EINVAL (cmp is NULL, size is 0, base
 * is NULL and n is not 0, or the run of s has ended), ENOMEM (there is no memory for the copies),
 * EAGAIN (the caller is no worker of the run, and there is no memory to hand the work to one, or
 * the queue holds qlen tasks already under SCHED_OVERFLOW=refuse).
 * Suspension point: the task may go on in another thread, see libsched(7).
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

/* Begins a blocking section: what follows in the calling task may block (a system call, a pthread
 * mutex, a library that knows nothing of tasks), and another thread takes its worker's place
 * meanwhile, one that is kept or a new one. The calling thread is no worker of the run until
 * sched_block_end: its spawns and forks go behind those of the workers, its waits (sched_join,
 * sched_mutex_lock and so on) block it, and sched_worker_index gives -1.
 *
 * Sections may be nested; the outermost counts. Each is to be ended by the task that began it,
 * before it returns: if not, the process ends with a message. A run may be started in a section.
 * With SCHED_KIND=serial a section is counted, and blocks.
 *
 * s is any worker's of the run. If the calling thread is no worker of it, or if the caller is a
 * task of another run that a task of it has started, this and sched_block_end do nothing and
 * return 0. NULL is the caller's own run; outside of a task nothing is done.
 *
 * Returns 0, errno unchanged, or -1 with errno, and no section has begun: EINVAL (the run of s has
 * ended), EAGAIN (no thread can be made, there is no memory for the task to have a stack of its
 * own, or as many sections are open as SCHED_BLOCKING allows). The limit is 512, unless that
 * variable or the member blocking of sched_options says otherwise. After EAGAIN the task may block
 * all the same, and its worker with it, so that fewer workers run tasks meanwhile; sched_block_end
 * must not follow.
 * Thread-safe. Cost: some microseconds if a kept thread is woken, some fifty if one is made, some
 * ten nanoseconds if one is already on its way. (A thread that comes after its section has ended
 * watches the worker while more sections follow, each within some hundred microseconds of the one
 * before, and takes the worker's place when a section lasts about as long.) A section within a
 * section costs some nanoseconds.
 *
 * Example:
 *
 *     int began = sched_block_begin(s) == 0;
 *     ssize_t n = read(fd, buffer, sizeof buffer);
 *     if (began)
 *         sched_block_end(s); */
int sched_block_begin(struct scheduler *s);

/* Ends the section that the calling task began last. The task goes on, as a worker's again: at
 * once, if no other thread has come to its worker yet; else when its turn has come, behind the
 * tasks that are queued by then for all workers. errno goes with the task, but a compiler may have
 * remembered where it was: a function that reads it after this is best not the one that called
 * this.
 *
 * Returns 0, errno unchanged, or -1 with errno: EPERM (the task is in no section), EINVAL (the run
 * of s has ended). sched_block_begin says what happens if the caller is not a task of the run.
 * Suspension point: the task may go on in another thread, see libsched(7).
 * Thread-safe. Cost: some ten nanoseconds if nobody has come; else two switches of stacks, the
 * queue of all workers, and the time until a worker takes the task from it. */
int sched_block_end(struct scheduler *s);

/* Makes m a free mutex, as SCHED_MUTEX_INIT does. Returns 0, or -1 with errno: EINVAL (m is NULL). */
int sched_mutex_init(struct sched_mutex *m);

/* Locks the mutex. While another task or thread holds it, the calling task waits, and its worker
 * goes on with other tasks; a thread that is no worker sleeps. s is any worker's of the caller's
 * run. The mutex may be used by several runs and pools, and by threads that have no run, which
 * pass NULL for s; no pool is made for that. A task that holds the mutex and locks it again would
 * wait for itself: the process ends with a message.
 *
 * Returns 0, or -1 with errno: EINVAL (m is NULL, or the mutex is locked and the run of s has
 * ended).
 * Suspension point: the task may go on in another thread, see libsched(7).
 * Thread-safe. Cost: if it is free, an atomic operation; to wait, one or two switches of stacks.
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

/* Locks the mutex if it is free. The holder is not recorded: an unlock by another task or thread
 * is then not detected. Returns 0, or -1 with errno: EBUSY (the mutex is locked), EINVAL (m is
 * NULL).
 * Thread-safe. Cost: an atomic operation. */
int sched_mutex_trylock(struct sched_mutex *m);

/* Unlocks the mutex; the task or thread that has waited longest holds it now. The caller must be
 * the one that has locked it: if another has, by sched_mutex_lock, the process ends with a
 * message. (What one task takes and another gives back is a semaphore.)
 *
 * Returns 0, or -1 with errno: EPERM (the mutex is not locked), EINVAL (m is NULL).
 * Thread-safe, not async-signal-safe. Cost: an atomic operation, if nobody waits. */
int sched_mutex_unlock(struct sched_mutex *m);

/* Makes c a condition that nobody waits for, as SCHED_COND_INIT does. Returns 0, or -1 with errno:
 * EINVAL (c is NULL). */
int sched_cond_init(struct sched_cond *c);

/* Unlocks the mutex, which the caller holds, waits until the condition is signalled, and locks the
 * mutex again. There are no spurious wake-ups; but others may have held the mutex since the
 * signal, so a program looks in a loop at what it waits for.
 *
 * Returns 0, or -1 with errno, nothing changed: EINVAL (c or m is NULL, or the run of s has
 * ended), EPERM (nobody has locked m).
 * Suspension point: the task may go on in another thread, see libsched(7).
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

/* Wakes the task or thread that has waited longest, if any: it gets the mutex when its turn has
 * come, behind those that already wait for the mutex. What is waited for must be changed while the
 * mutex is held; the mutex may be unlocked before the signal.
 *
 * Returns 0, or -1 with errno: EINVAL (c is NULL).
 * Thread-safe. Cost: a load, if nobody waits. */
int sched_cond_signal(struct sched_cond *c);

/* Wakes all that wait, in their order, as sched_cond_signal wakes one.
 *
 * Returns 0, or -1 with errno: EINVAL (c is NULL).
 * Thread-safe. Cost: a load, if nobody waits. */
int sched_cond_broadcast(struct sched_cond *c);

/* Makes sem a semaphore with n units, as SCHED_SEM_INIT(n) does. Returns 0, or -1 with errno:
 * EINVAL (sem is NULL, or n is greater than SIZE_MAX / 2). */
int sched_sem_init(struct sched_sem *sem, size_t n);

/* Takes a unit; while there is none, the calling task waits as in sched_mutex_lock. Those that
 * wait get units in the order in which they came.
 *
 * Returns 0, or -1 with errno: EINVAL (sem is NULL, or there is no unit and the run of s has
 * ended).
 * Suspension point: the task may go on in another thread, see libsched(7).
 * Thread-safe. Cost: if there is one, an atomic operation; to wait, one or two switches of stacks.
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

/* Adds a unit; the task or thread that has waited longest, if any, gets it.
 *
 * Returns 0, or -1 with errno: EOVERFLOW (there are SIZE_MAX / 2 units), EINVAL (sem is NULL).
 * Thread-safe, not async-signal-safe. Cost: an atomic operation, if nobody waits. */
int sched_sem_post(struct sched_sem *sem);

/* Makes b a barrier of n, as SCHED_BARRIER_INIT(n) does. Returns 0, or -1 with errno: EINVAL (b is
 * NULL, or n is 0). */
int sched_barrier_init(struct sched_barrier *b,
                       size_t n);

/* Waits, as in sched_mutex_lock, until n tasks or threads have come; then all go on, and the
 * barrier is ready for the next n. The tasks need not be on different workers: any number of them
 * can meet on one worker.
 *
 * Returns 1 to one of the n, 0 to the others; or -1 with errno: EINVAL (b is NULL, the run of s
 * has ended, or the barrier is of 0).
 * Suspension point: the task may go on in another thread, see libsched(7).
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

/* Makes a pool: a run that goes on, with or without tasks, until sched_pool_destroy. It has
 * nthreads threads of its own, some of which may be made later, when there are tasks for them.
 * Without tasks they sleep as SCHED_IDLE says. With options NULL all is as in sched_init(0, 0,
 * ...). The environment variables win over the options, as they do over the arguments of
 * sched_init.
 *
 * Returns the pool, or NULL with errno: EINVAL (a member of options has a value that it cannot
 * have, the deque is not of the kind, the overflow is not of the deque, size is 0 or less than the
 * struct of version 1.0.0, a member is set that this version does not know, or an environment
 * variable is refused), ENOMEM (there is no memory, or less than 18 KiB are left of the calling
 * thread's stack), EAGAIN (no thread could be made). After EINVAL a line on standard error says
 * what is refused. If some threads can be made, the pool has those.
 * Thread-safe. Cost: some microseconds where threads are kept from a run before (SCHED_WARM), else
 * that of making a thread.
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
 * left in the pool: tasks that other threads add meanwhile are waited for, too. Several threads
 * may call it at the same time.
 *
 * Returns 0, or -1 with errno: EINVAL (pool or f is NULL, or this is a child made by fork of the
 * process whose pool it is), EDEADLK (a task of the pool has called it, and would wait for
 * itself), EAGAIN (there is no memory, or the pool holds qlen tasks from outside already under
 * SCHED_OVERFLOW=refuse). After an error the task has not run and will not.
 * Thread-safe. Cost: that of sched_pool_submit, and of waking this thread when all is done. */
SCHED_MUST_USE
int sched_pool_run(struct sched_pool *pool,
                   taskfunc f,
                   void *closure);

/* Adds the task f(closure, s) to the pool; the task may spawn further ones by its s. A task of the
 * pool may call it, too: then it is like sched_spawn.
 *
 * Returns 0, or -1 with errno, and nothing has changed: EINVAL (pool or f is NULL, or this is a
 * child made by fork of the process whose pool it is), EAGAIN (there is no memory, or the pool
 * holds qlen tasks from outside already under SCHED_OVERFLOW=refuse).
 * Suspension point in kind cont, for a task of the pool: see sched_spawn.
 * Thread-safe. Cost: from outside two locks, and perhaps the waking of a worker. */
SCHED_MUST_USE
int sched_pool_submit(struct sched_pool *pool,
                      taskfunc f,
                      void *closure);

/* Adds the task f(copy, s) to the pool, where copy points to a copy of the size bytes at arg, as
 * sched_spawn_copy makes it.
 *
 * Returns 0, or -1 with errno, and nothing has changed: EINVAL (pool or f is NULL, size is greater
 * than SCHED_COPY_MAX, arg is NULL and size is not 0, or this is a child made by fork of the
 * process whose pool it is), EAGAIN (there is no memory, or the pool holds qlen tasks from outside
 * already under SCHED_OVERFLOW=refuse).
 * Suspension point in kind cont, for a task of the pool: see sched_spawn.
 * Thread-safe. Cost: that of sched_pool_submit, and from outside an allocation.
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

/* Waits until, at one moment after the call, no task is left in the pool: none runs and none is
 * queued. What the tasks wrote is then seen. If threads go on adding tasks, that moment may never
 * come.
 *
 * Returns 0, or -1 with errno: EINVAL (pool is NULL, or this is a child made by fork of the
 * process whose pool it is), EDEADLK (a task of the pool has called it, and would wait for
 * itself).
 * Thread-safe. Cost: if no task is left, a lock. */
int sched_pool_wait(struct sched_pool *pool);

/* Waits until no task is left in the pool, ends its threads, or keeps them for the next run
 * (SCHED_WARM), and frees it. Its own tasks may add tasks meanwhile; other threads must not use
 * the pool any more.
 *
 * Returns 0, or -1 with errno: EINVAL (pool is NULL, or this is a child made by fork of the
 * process whose pool it is), EDEADLK (a task of the pool has called it, and would wait for
 * itself). After an error nothing has changed; in a child made by fork the memory of its parent's
 * pool stays. Cost: that of waiting for the threads. */
int sched_pool_destroy(struct sched_pool *pool);

/* Tells what the workers of the run of s have done so far, all together. size is sizeof (struct
 * sched_stats), which may have more members in a later version: only size bytes are written, and a
 * member that the library does not know is 0.
 *
 * While tasks run, the counts are a little late: each worker adds the tasks that it took from its
 * own queue 61 at a time, or when it finds the queue empty, and the workers are not read at one
 * moment. When no task is left (in a pool, after sched_pool_wait) the counts are exact, except
 * that workers that search or go to sleep still change theirs.
 *
 * Returns 0, or -1 with errno: EINVAL (out is NULL, size is less than that of the struct in the
 * first version that has it, or the run of s has ended). After an error nothing was written.
 * Thread-safe, also for threads that are no workers. Cost: some nanoseconds for each worker; the
 * workers are hardly disturbed. */
int sched_stats(struct scheduler *s,
                struct sched_stats *out,
                size_t size);

/* Tells what the last run did that ended on the calling thread: by sched_init, or a pool's by
 * sched_pool_destroy. The counts are exact. size is as for sched_stats.
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

/* The number of the worker that the calling thread is in the run of s, which may be any worker's of
 * that run: from 0 to sched_worker_count(s) - 1. No two threads have the same number at the same
 * time. But a task may go on in another thread: its number may change at each suspension point
 * (libsched(7)) and in sched_block_begin, and in no other call.
 *
 * To keep a value for each worker, index an array of sched_worker_count(s) elements. From one such
 * call to the next, the element of the current number is the task's alone, without atomics or
 * locks. Afterwards it may be another task's: ask for the number again, and keep no pointer to the
 * element across the call. (sched_reduce needs no numbers.)
 *
 * Returns it, or -1 with errno: EINVAL (the run of s has ended, the calling thread is no worker of
 * it, or, with s NULL, in no task). Between sched_block_begin and sched_block_end the thread of a
 * task is no worker, except in kind serial.
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

/* The number of workers of the run of s, including those for which no thread could be made. It
 * does not change while the run goes on.
 *
 * Returns it, or -1 with errno: EINVAL (the run of s has ended).
 * Thread-safe, also for threads that are no workers. Cost: from a task of the run a nanosecond or
 * two. */
int sched_worker_count(struct scheduler *s);

/* The version of the library that runs, such as "1.0.0": numbers and points. Never NULL, and not
 * to be freed. Async-signal-safe. */
const char *sched_version(void);

#ifdef __cplusplus
}
#endif

#endif
