/* The watchdog takes many short runs, each with a task that waits, for what they are, and not for one run in which no
 * task ends. (A later run is often at the address of an earlier one. The pool keeps the watchdog's thread alive.)
 * ctest: static sleeps */
#include "child.h"
#include "sync.h"

#define LIMIT 0.4 /* seconds, of the watchdog */

static sched_sem given;

static void waits(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_wait(&given, s), 0);
    CHECK_EQ(sched_sem_post(&given), 0); /* so that the wait is not the function's last act */
    CHECK_EQ(sched_sem_wait(&given, s), 0);
}

static void *gives(void *arg)
{
    pause_us(20000);
    CHECK_EQ(sched_sem_post(&given), 0);
    return NULL;
}

static void many_runs(void *arg)
{
    struct sched_options options = {.size = sizeof options, .nthreads = 1};
    double end = now() + 3 * LIMIT, longest = 0;
    setenv("SCHED_WATCHDOG", "400ms", 1);
    struct sched_pool *pool = sched_pool_create(&options);
    CHECK(pool != NULL);
    while (now() < end) {
        pthread_t thread;
        double before = now();
        CHECK_EQ(pthread_create(&thread, NULL, gives, NULL), 0);
        CHECK_EQ(sched_init(2, 10, waits, NULL), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        double took = now() - before;
        longest = took > longest ? took : longest;
    }
    CHECK_EQ(sched_pool_destroy(pool), 0);
    printf("%s", longest < LIMIT ? "each run was short\n" : "a run was long\n"); /* on a busy machine */
    fflush(stdout);
}

int main(void)
{
    in_child(many_runs, NULL);
    CHECK_CHILD_EXITED(0);
    CHECK(strcmp(child.said, "each run was short\n") == 0 || strstr(child.said, "a run was long\n") != NULL);
    return 0;
}
