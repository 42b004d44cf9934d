/* Threads whose time is up at the very moment a run wants them, or a fork or the process's end
 * comes: every run is complete, every child works and ends, and in the end no thread is left.
 * ctest: static
 * ctest: matrix kind=lifo,steal,cont idle=park deque=mutex,split threads=2,4 timeout=60 */
#include "child.h"
#include "proc.h"
#include <stdatomic.h>

enum { CALLERS = 2, RUNS = 300, FORKS = 15, TASKS = 6 };

static atomic_int left;

static void leaf(void *closure, struct scheduler *s)
{
    atomic_fetch_add((atomic_int *)closure, 1);
}

static void root(void *closure, struct scheduler *s)
{
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_spawn(leaf, closure, s), 0);
}

static void run(void)
{
    atomic_int ran = 0;
    CHECK_EQ(sched_init(4, 4, root, &ran), 0);
    CHECK_EQ(ran, TASKS);
}

static void *caller(void *arg)
{
    uint64_t x = 88172645463325252u + (uintptr_t)arg;
    for (int i = 0; i < RUNS; i++) {
        run();
        /* About as long as the threads are kept. */
        double end = now() + 1e-6 * (double)(next_random(&x) % 300);
        while (i % 4 && now() < end)
            sched_yield();
    }
    atomic_fetch_sub(&left, 1);
    return NULL;
}

static void fork_one(void)
{
    int status;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        run();
        run();
        exit(7);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(!WIFSIGNALED(status)); /* SIGALRM: it hung */
    CHECK_EQ(status, 7 << 8);
}

static void body(void *ends_early)
{
    pthread_t threads[CALLERS];
    atomic_store(&left, CALLERS);
    for (long i = 0; i < CALLERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, caller, (void *)i), 0);
    if (ends_early) {
        pause_us(3000 + 100 * (long)ends_early);
        exit(8); /* while runs begin and end */
    }
    for (int i = 0; i < FORKS && left > 0; i++)
        fork_one();
    for (int i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
    CHECK(threads_become(1));
}

int main(void)
{
    setenv("SCHED_WARM", "150us", 1);
    in_child(body, NULL);
    CHECK_CHILD_EXITED(0);
    for (long i = 1; i <= 8; i++) {
        in_child(body, (void *)i);
        CHECK_CHILD_EXITED(8);
    }
    return 0;
}
