/* sched.h: a task scheduler for C programs (libsched).
 *
 * The interface of Juliusz Chroboczek's systems-programming course (2018): a run is
 * started by sched_init with one task; tasks create tasks with sched_spawn; sched_init
 * returns when every one of them has ended.
 *
 * This header bears the name of POSIX's <sched.h>, which <pthread.h> includes. It
 * therefore passes every inclusion on to the next sched.h of the search path, before and
 * outside its own guard, so that POSIX's declarations stay reachable whichever header
 * comes first. */

#if defined __GNUC__
#pragma GCC system_header /* #include_next is an extension: no pedantic warning for it */
#include_next <sched.h>
#endif

#ifndef LIBSCHED_SCHED_H
#define LIBSCHED_SCHED_H

#ifdef __cplusplus
extern "C" {
#endif

/* A running scheduler. Tasks receive a pointer to it and pass it to sched_spawn. The
 * pointer is valid in every task and thread until sched_init returns. */
struct scheduler;

/* A task: called once as f(closure, s), on any thread of the scheduler. The library
 * neither reads nor frees the closure. A task must return: pthread_exit, cancellation and
 * C++ exceptions abort the process with a message; a longjmp out of a task is undefined. */
typedef void (*taskfunc)(void *closure, struct scheduler *s);

/* The number of processors this process may use: its affinity mask, capped by the
 * tightest processor quota of its cgroup and all its ancestors, rounded up; at least 1.
 * Thread-safe. Cost: a system call; the quota is read again at most ten times a second. */
int sched_default_threads(void);

/* Runs f(closure, s) and every task spawned from it, on nthreads threads of which the
 * caller is one, and returns when all have ended.
 *
 * nthreads  at most 4096; 0 or less means sched_default_threads().
 * qlen      the number of queued tasks to make room for; 0 or less means a default. Queues
 *           grow beyond it, unless SCHED_OVERFLOW=refuse makes it a limit.
 *
 * Returns 0, or -1 with errno, and nothing has run: EINVAL (f is NULL, nthreads is greater
 * than 4096, or an environment variable is refused), or ENOMEM (there is no memory, or less than
 * 18 KiB are left of the calling thread's stack). A line on standard error explains a variable
 * that is refused, and a stack that is too small. A file of SCHED_STATS_FILE or SCHED_TRACE that
 * cannot be written, or cannot be compressed because zlib is missing, is not an error; a line on
 * standard error says so. If some threads cannot be created, the run continues with the others.
 * A task that calls sched_init keeps its worker's thread until the new run has ended.
 * Thread-safe: runs are independent.
 * Cost: some microseconds; a thread is made, or one that an earlier run left is woken, when
 * there is a task for it. */
int sched_init(int nthreads, int qlen, taskfunc f, void *closure);

/* Adds the task f(closure, s) to the run of s; it will run exactly once. To be called from
 * a task of s, or from any thread during the run. In kind cont the task is called first, on
 * a stack of its own, and the caller continues when the task has returned or waits, or when
 * another worker takes the caller. In the other kinds the task is queued.
 *
 * If s is NULL, the run is that of the calling task; outside of a task it is the default pool of
 * the process (libsched(7)), whose threads run the task. exit(3) waits for the task for a tenth
 * of a second at most.
 *
 * Returns 0, or -1 with errno; then nothing has changed, and the task is still the caller's:
 * EINVAL (f is NULL, or the run of s has ended), EAGAIN (there is no memory for the queue to grow,
 * or the queue already holds qlen tasks under SCHED_OVERFLOW=refuse).
 * Suspension point in kind cont: the task may be resumed on another thread, see libsched(7).
 * Thread-safe. Cost: from a task of s, some nanoseconds and no allocation. */
int sched_spawn(taskfunc f, void *closure, struct scheduler *s);

#ifdef __cplusplus
}
#endif

#endif
