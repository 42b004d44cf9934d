/* Races for ThreadSanitizer, and the same accesses without a race: races.sh runs this. The argument says in which
 * tasks the race is. The tasks of a race wait for each other without ordering anything, so that two workers run them. */
#define _POSIX_C_SOURCE 200809L
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sched_tasks.h"

static int shared, here, ordered;
static struct sched_mutex lock, others[2];

/* Returns when two tasks have come. (A yield would take locks of the queues, which order the tasks.) */
static void meet(void)
{
    const struct timespec time = {0, 100000};
    if (ordered)
        return;
    __atomic_fetch_add(&here, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&here, __ATOMIC_RELAXED) < 2)
        nanosleep(&time, NULL);
}

static void write_shared(void *closure, struct scheduler *s)
{
    (void)closure;
    meet();
    if (ordered)
        sched_mutex_lock(&lock, s);
    shared++;
    if (ordered)
        sched_mutex_unlock(&lock);
}

static void write_locked(void *mutex, struct scheduler *s)
{
    meet();
    sched_mutex_lock(mutex, s);
    shared++;
    sched_mutex_unlock(mutex);
}

static void write_range(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (; lo < hi; lo++)
        write_shared(ctx, s);
}

static void spawn(void *closure, struct scheduler *s)
{
    (void)closure;
    sched_spawn(write_shared, NULL, s);
    sched_spawn(write_shared, NULL, s);
}

static void fork_one(void *closure, struct scheduler *s)
{
    struct sched_task task;
    (void)closure;
    sched_fork(&task, write_shared, NULL, s);
    write_shared(NULL, s);
    sched_join(&task, s);
    shared++; /* after the join, in order */
}

static void group(void *closure, struct scheduler *s)
{
    static struct sched_group tasks;
    (void)closure;
    if (sched_group_spawn(&tasks, write_shared, NULL, s) || sched_group_spawn(&tasks, write_shared, NULL, s))
        abort();
    sched_group_wait(&tasks, s);
    shared++;
}

static void loop(void *closure, struct scheduler *s)
{
    (void)closure;
    if (sched_for(0, 2, 1, write_range, NULL, s))
        abort();
    shared++;
}

/* Each task holds a mutex of its own. */
static void mutex(void *closure, struct scheduler *s)
{
    (void)closure;
    sched_spawn(write_locked, &others[0], s);
    sched_spawn(write_locked, &others[ordered ? 0 : 1], s);
}

static void pool(void *closure, struct scheduler *s)
{
    struct sched_pool *made = sched_pool_create(NULL);
    (void)closure;
    (void)s;
    if (!made || sched_pool_submit(made, write_shared, NULL) || sched_pool_submit(made, write_shared, NULL)
        || sched_pool_wait(made))
        abort();
    shared++;
    if (sched_pool_destroy(made))
        abort();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        taskfunc task;
    } races[] = {{"spawn", spawn}, {"fork", fork_one}, {"group", group},
                 {"for", loop},    {"mutex", mutex},   {"pool", pool}};
    const char *wanted = argc > 1 ? argv[1] : "ordered";
    size_t i;
    ordered = !strcmp(wanted, "ordered");
    sched_mutex_init(&lock);
    sched_mutex_init(&others[0]);
    sched_mutex_init(&others[1]);
    for (i = 0; i < sizeof races / sizeof *races; i++) {
        if (!ordered && strcmp(wanted, races[i].name))
            continue;
        if (races[i].task == pool)
            pool(NULL, NULL);
        else if (sched_init(2, 16, races[i].task, NULL)) {
            perror("sched_init");
            return 1;
        }
        shared++; /* after the end of the run, in order */
    }
    return 0;
}
