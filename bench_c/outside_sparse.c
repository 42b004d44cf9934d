/* outside_sparse.c: threads of the program's own, outside of any task, hand over jobs of 10 us, and
 * sleep for 200 us after each: outside.h. Ways:
 *
 *   pool    sched_pool_submit
 *   spawn   sched_spawn with NULL, so into the default pool
 *   list    no scheduler: a list, a mutex, a condition, and threads that wait for it. So does -s */

#include "bench.h"
#include "outside.h"

#include <sched_tasks.h>

static struct sched_pool *pool;

static void task(void *closure, struct scheduler *s)
{
    (void)s;
    sparse_job(closure);
}

static void hand_to_pool(struct sparse_job *job)
{
    if (sched_pool_submit(pool, task, job) != 0)
        bench_die("sched_pool_submit");
}

static void hand_to_default(struct sparse_job *job)
{
    bench_spawn(task, job, NULL);
}

/* --- the list ---------------------------------------------------------------------- */

struct entry {
    struct entry *next;
    struct sparse_job *job;
};

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    struct entry *first, **end;
    int over, threads;
    pthread_t thread[OUTSIDE_MOST_THREADS];
} list = {.mutex = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};

static void hand_to_list(struct sparse_job *job)
{
    struct entry *entry = bench_alloc(1, sizeof *entry);
    entry->next = NULL;
    entry->job = job;
    pthread_mutex_lock(&list.mutex);
    *list.end = entry;
    list.end = &entry->next;
    pthread_mutex_unlock(&list.mutex);
    pthread_cond_signal(&list.filled);
}

static void *list_worker(void *closure)
{
    (void)closure;
    for (;;) {
        pthread_mutex_lock(&list.mutex);
        while (list.first == NULL && !list.over)
            pthread_cond_wait(&list.filled, &list.mutex);
        struct entry *entry = list.first;
        if (entry != NULL && (list.first = entry->next) == NULL)
            list.end = &list.first;
        pthread_mutex_unlock(&list.mutex);
        if (entry == NULL)
            return NULL;
        sparse_job(entry->job);
        free(entry);
    }
}

static void list_start(int threads)
{
    list.end = &list.first;
    list.threads = threads < OUTSIDE_MOST_THREADS ? threads : OUTSIDE_MOST_THREADS;
    for (int i = 0; i < list.threads; i++)
        bench_check(pthread_create(&list.thread[i], NULL, list_worker, NULL), "pthread_create");
}

static void list_end(void)
{
    pthread_mutex_lock(&list.mutex);
    list.over = 1;
    pthread_mutex_unlock(&list.mutex);
    pthread_cond_broadcast(&list.filled);
    for (int i = 0; i < list.threads; i++)
        bench_check(pthread_join(list.thread[i], NULL), "pthread_join");
}

/* ----------------------------------------------------------------------------------- */

static void (*hand)(struct sparse_job *);

static void hand_all(long lo, long hi)
{
    for (long i = lo; i < hi; i++)
        sparse_hand(i, hand);
}

static const struct bench_about about = {
    "outside_sparse", "jobs of all threads", 3000, 1, 10000000,
    "WAY-THREADS: pool, spawn or list (no scheduler); pool-1 is the default",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    struct outside o = outside_new(&b, b.serial ? "list-1" : "pool-1");
    b.serial = b.serial || strcmp(o.way, "list") == 0;
    if (!b.serial && strcmp(o.way, "pool") != 0 && strcmp(o.way, "spawn") != 0)
        bench_refuse(&b, b.data, "pool, spawn or list is wanted");
    sparse_new(&b);
    bench_default_pool(&b);
    if (b.serial) {
        hand = hand_to_list;
        list_start(b.threads > 0 ? b.threads : sched_default_threads());
    } else if (strcmp(o.way, "pool") == 0) {
        hand = hand_to_pool;
        struct sched_options options = {.size = sizeof options, .nthreads = b.threads};
        pool = sched_pool_create(&options);
        if (pool == NULL)
            bench_die("sched_pool_create");
    } else {
        hand = hand_to_default;
    }

    for (int r = 0; r < b.repetitions; r++) {
        sparse_clear();

        outside_run(&b, o.threads, hand_all, sparse_wait);

        int right = sparse_right(&b);
        if (b.serial)
            bench_field(&b, "workers", list.threads);
        bench_line(&b, b.n, bench_mix((uint64_t)b.n), right);
    }
    if (b.serial)
        list_end();
    if (pool != NULL && sched_pool_destroy(pool) != 0)
        bench_die("sched_pool_destroy");
    free(sparse.jobs);
    return bench_end(&b);
}
