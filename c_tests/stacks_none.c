/* Where address space is limited, more tasks wait than there are stacks: others run on top of those that wait, and a line
 * on standard error says so, once. The tasks end when all are woken.
 * ctest: static
 * ctest: matrix deque=split,mutex idle=park threads=2 */
#include "child.h"
#include <sched_tasks.h>

enum { TASKS = 60, MORE = 120 << 20 };

static sched_sem wake;
static int begun, over;

static void waits(void *closure, struct scheduler *s)
{
    __atomic_add_fetch(&begun, 1, __ATOMIC_RELEASE);
    CHECK_EQ(sched_sem_wait(&wake, s), 0);
    over++;
}

static void root(void *closure, struct scheduler *s)
{
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_spawn(waits, closure, s), 0);
}

static void *wakes(void *unused)
{
    struct patience p = patience_of(30);
    while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) < TASKS) {
        CHECK(is_patient(&p));
        pause_us(1000);
    }
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_sem_post(&wake), 0);
    return unused;
}

static void run(void *unused)
{
    pthread_t thread;
    char line[256];
    unsigned long pages;
    FILE *in = fopen("/proc/self/statm", "r");
    CHECK(in != NULL && fgets(line, sizeof line, in) != NULL && sscanf(line, "%lu", &pages) == 1);
    fclose(in);
    CHECK_EQ(sched_sem_init(&wake, 0), 0);
    CHECK_EQ(pthread_create(&thread, NULL, wakes, unused), 0);
    rlim_t bytes = pages * (rlim_t)sysconf(_SC_PAGESIZE) + MORE;
    struct rlimit limit = {bytes, bytes};
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    CHECK_EQ(sched_init(1, 64, root, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(over, TASKS);
}

int main(void)
{
    unsetenv("SCHED_THREADS"); /* one worker, so that `over` is its own */
    unsetenv("SCHED_STACK");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip("the sanitizer needs address space");
#endif
    in_child(run, NULL);
    CHECK_CHILD_EXITED(0);
    CHECK_EQ(count_said("no stack of "), 1);
    CHECK_CHILD_SAID("SCHED_STACK");
    return 0;
}
