/* mutex.c: tasks and threads that enter n sections of one mutex, together. Each begins the next section as soon as its
 * last one has ended. -d TASKS+THREADS-NS says who they are and how long a section is: 8+8-0, eight tasks and eight
 * threads of the program's own, with sections of a few instructions.
 *
 * most_passed says how often others got the mutex while one waited for it, at most; least_share is what the one with
 * the fewest sections had of an equal share.
 *
 * For comparison -d pthread-TASKS+THREADS-NS: as many threads, and a pthread mutex. */

#include "bench.h"

#include <pthread.h>
#include <sched_tasks.h>
#include <stdatomic.h>

enum { MOST = 256 };

static long tasks, threads, turns;
static int bare;
static atomic_long ready;

static sched_mutex ours = SCHED_MUTEX_INIT;
static pthread_mutex_t theirs = PTHREAD_MUTEX_INITIALIZER;
/* Under the mutex. */
static struct {
    long left, most_passed;
    long entered[MOST];
    uint64_t sum;
} shared;
/* The number of sections that have begun. A task or thread reads it before it waits. */
static atomic_long begun;

static void lock(struct scheduler *s)
{
    if (bare ? pthread_mutex_lock(&theirs) != 0 : sched_mutex_lock(&ours, s) != 0)
        bench_die("lock");
}

static void unlock(void)
{
    if (bare ? pthread_mutex_unlock(&theirs) != 0 : sched_mutex_unlock(&ours) != 0)
        bench_die("unlock");
}

static void enters(long who, struct scheduler *s)
{
    for (int go_on = 1; go_on;) {
        long before = atomic_load_explicit(&begun, memory_order_relaxed);
        lock(s);
        long now = atomic_load_explicit(&begun, memory_order_relaxed);
        go_on = shared.left > 0;
        if (go_on) {
            if (shared.most_passed < now - before)
                shared.most_passed = now - before;
            shared.left--;
            shared.entered[who]++;
            shared.sum = bench_turns(shared.sum, turns);
            atomic_store_explicit(&begun, now + 1, memory_order_relaxed);
        }
        unlock();
    }
}

static void task(void *closure, struct scheduler *s)
{
    enters((long)(intptr_t)closure, s);
}

static void first_task(void *closure, struct scheduler *s)
{
    (void)closure;
    for (long i = 0; i < tasks; i++)
        bench_spawn(task, (void *)(intptr_t)i, s);
}

static void *thread(void *closure)
{
    /* All threads are there when the first section begins. */
    atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < (bare ? tasks + threads : threads))
        sched_yield();
    enters((long)(intptr_t)closure, NULL);
    return NULL;
}

static void all(const struct bench *b)
{
    pthread_t t[MOST];
    for (long i = bare ? 0 : tasks; i < tasks + threads; i++)
        bench_check(pthread_create(&t[i], NULL, thread, (void *)(intptr_t)i), "pthread_create");
    if (!bare && tasks > 0)
        bench_init(b, first_task, NULL);
    for (long i = bare ? 0 : tasks; i < tasks + threads; i++)
        bench_check(pthread_join(t[i], NULL), "pthread_join");
}

static const struct bench_about about = {
    "mutex", "sections of one mutex", 1L << 20, 1, 1L << 40,
    "[pthread-]TASKS+THREADS-NS, such as 8+8-0 (default): who enters, and how long a section is",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    const char *data = b.data != NULL ? b.data : "8+8-0";
    long ns;
    int end = 0;
    bare = strncmp(data, "pthread-", 8) == 0;
    if (sscanf(data + (bare ? 8 : 0), "%ld+%ld-%ld%n", &tasks, &threads, &ns, &end) != 3
        || data[(bare ? 8 : 0) + end] != '\0' || tasks < 0 || threads < 0 || ns < 0
        || tasks + threads < 1 || tasks + threads > MOST)
        bench_refuse(&b, data, "[pthread-]TASKS+THREADS-NS is wanted");
    if (bare)
        b.serial = 1;

    for (int r = 0; r < b.repetitions; r++) {
        memset(&shared, 0, sizeof shared);
        shared.left = b.n;
        begun = ready = 0;
        turns = (long)((double)ns / bench_calibrate(4));

        bench_clock_start(&b);
        all(&b);
        bench_clock_stop(&b);

        long sum = 0, least = b.n;
        for (long i = 0; i < tasks + threads; i++) {
            sum += shared.entered[i];
            if (least > shared.entered[i])
                least = shared.entered[i];
        }
        int right = sum == b.n && shared.sum == bench_turned(0, (uint64_t)(b.n * turns));
        bench_field(&b, "ns_a_section", 1e9 * b.wall / (double)b.n);
        bench_field(&b, "most_passed", (double)shared.most_passed);
        bench_field(&b, "least_share", (double)(least * (tasks + threads)) / (double)b.n);
        bench_line(&b, b.n, bench_mix((uint64_t)sum), right);
    }
    return bench_end(&b);
}
