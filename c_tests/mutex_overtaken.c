/* Whoever waits for a mutex, a task or a thread, is overtaken at most 4096 times while it is the oldest of those that
 * wait: one with k before it at most 4096 * (k + 1) times.
 * ctest: static debug
 * ctest: matrix idle=park
 * ctest: matrix idle=park threads=1 join=help */
#include "proc.h"
#include "sync.h"

enum { TASKS = 5, THREADS = 3, BOTH = TASKS + THREADS, ROUNDS = 20, BOUND = 4096 };

static sched_mutex m = SCHED_MUTEX_INIT;
static atomic_int came, ended;
static long overtaken[BOTH]; /* how often main has had the mutex while each waited */
static long sections;        /* of main, in this round */

static void waits(long i, struct scheduler *s)
{
    came++;
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    overtaken[i] = sections;
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    ended++;
}

static void task(void *closure, struct scheduler *s)
{
    waits((long)closure, s);
}

static void root(void *closure, struct scheduler *s)
{
    spawn_all(TASKS, task, s);
}

static void *runs(void *arg)
{
    run(2, root);
    return NULL;
}

static void *thread(void *arg)
{
    waits((long)arg, NULL);
    return NULL;
}

/* True if all other threads of the process sleep. */
static int others_sleep(void)
{
    char path[64], line[512];
    int sleep = 1;
    DIR *dir = opendir("/proc/self/task");
    CHECK(dir != NULL);
    for (struct dirent *e; sleep && (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] == '.' || atol(e->d_name) == getpid())
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", e->d_name);
        FILE *file = fopen(path, "r");
        size_t n = file == NULL ? 0 : fread(line, 1, sizeof line - 1, file);
        line[n] = '\0';
        char *name_end = strrchr(line, ')');
        sleep = name_end == NULL || strncmp(name_end, ") S", 3) == 0;
        if (file != NULL)
            fclose(file);
    }
    closedir(dir);
    return sleep;
}

/* Waits until all have come, and sleep: then each of them waits for the mutex. */
static void wait_for_all(void)
{
    for (struct patience p = patience_of(20); is_patient(&p); pause_us(200))
        if (came == BOTH && others_sleep() && (pause_us(1000), others_sleep()))
            return;
    puts("the threads do not come to rest");
    exit(77);
}

static int compare(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    long all = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS], runner;
        came = ended = 0;
        CHECK_EQ(sched_mutex_lock(&m, NULL), 0);
        CHECK_EQ(pthread_create(&runner, NULL, runs, NULL), 0);
        for (long i = 0; i < THREADS; i++)
            CHECK_EQ(pthread_create(&threads[i], NULL, thread, (void *)(TASKS + i)), 0);
        wait_for_all();
        sections = 0;
        CHECK_EQ(sched_mutex_unlock(&m), 0);
        while (ended < BOTH) {
            CHECK_EQ(sched_mutex_lock(&m, NULL), 0);
            sections++;
            CHECK_EQ(sched_mutex_unlock(&m), 0);
        }
        for (int i = 0; i < THREADS; i++)
            CHECK_EQ(pthread_join(threads[i], NULL), 0);
        CHECK_EQ(pthread_join(runner, NULL), 0);
        qsort(overtaken, BOTH, sizeof overtaken[0], compare);
        for (long k = 0; k < BOTH; k++)
            CHECK(overtaken[k] <= BOUND * (k + 1));
        all += overtaken[0];
    }
    CHECK(all > 0); /* in one of the rounds main was faster than the first that it woke */
    return 0;
}
