/* Tasks whose sections end while their worker is busy continue in the order in which the sections ended. And a task
 * that then begins and ends sections without blocking gives way: at the end of its first one, each of the others has
 * continued.
 * ctest: static debug
 * ctest: matrix kind=lifo,fifo,steal,cont threads=1
 * ctest: matrix kind=steal,lifo deque=mutex,split idle=park threads=1 env=SCHED_JOIN=help */
#include "block.h"
#include <semaphore.h>

enum { TASKS = 8, ROUNDS = 20 };

static sem_t go[TASKS];
static atomic_int within, awake[TASKS], continued, ended;
static int thread[TASKS], asked[TASKS], got[TASKS];

/* True if the thread sleeps in the kernel. */
static int sleeps(int id)
{
    char path[64], line[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", id);
    FILE *file = fopen(path, "r");
    if (!file)
        return 1; /* it has ended, since no task needs it */
    CHECK(fgets(line, sizeof line, file) != NULL);
    fclose(file);
    const char *state = strrchr(line, ')');
    CHECK(state != NULL);
    return state[2] == 'S';
}

static void asks(void *closure, struct scheduler *s)
{
    long me = (long)closure;
    begin(s);
    thread[me] = thread_id();
    atomic_fetch_add(&within, 1);
    while (sem_wait(&go[me]) != 0)
        CHECK_EQ(get_errno(), EINTR);
    awake[me] = 1;
    end(s);
    got[atomic_fetch_add(&continued, 1)] = (int)me;
    for (int i = 0; i < ROUNDS; i++) {
        begin(s);
        end(s);
        CHECK_EQ(continued, TASKS);
    }
    atomic_fetch_add(&ended, 1);
}

static void root(void *closure, struct scheduler *s)
{
    spawn_all(TASKS, asks, s);
    while (within < TASKS)
        sched_task_yield(s);
    /* The worker is this task's. A thread that sleeps after it was awake has ended its section, and stands in line. */
    for (int i = 0; i < TASKS; i++) {
        int next = asked[i] = i * 3 % TASKS;
        CHECK_EQ(sem_post(&go[next]), 0);
        while (!awake[next] || !sleeps(thread[next]))
            pause_us(100);
    }
    CHECK_EQ(continued, 0);
}

int main(void)
{
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sem_init(&go[i], 0, 0), 0);
    run(1, root);
    CHECK_EQ(ended, TASKS);
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(got[i], asked[i]);
    return 0;
}
