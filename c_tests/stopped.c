/* SIGSTOP in the middle of everything, and SIGCONT a second later, several times: nothing is lost, and the process ends.
 * ctest: sleeps
 * ctest: matrix kind=steal,fifo,cont deque=split,mutex idle=park,nap threads=4 timeout=120 */
#include "child.h"
#include "marks.h"
#include <sched_tasks.h>
#include <sys/mman.h>

enum { N = 2000, ROUNDS_SEEN = 3, STOPS = 3 };

static int *rounds; /* shared with the child */
static sched_mutex mutex = SCHED_MUTEX_INIT;
static long in_mutex;

/* A tree of tasks that wait, sleep, lock and yield. */
static void task(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    sched_group children = SCHED_GROUP_INIT;
    for (long child = 3 * i + 1; child <= 3 * i + 3 && child < N; child++)
        CHECK_EQ(sched_group_spawn(&children, task, (void *)child, s), 0);
    if (i % 64 == 0 && sched_block_begin(s) == 0) {
        pause_us(200);
        CHECK_EQ(sched_block_end(s), 0);
    }
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    in_mutex++;
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
    sched_task_yield(s);
    CHECK_EQ(sched_group_wait(&children, s), 0);
    mark(i);
}

/* Runs until the parent, which ends it by SIGTERM, has seen enough. */
static void run_for_ever(void)
{
    for (;;) {
        in_mutex = 0;
        CHECK_EQ(sched_init(4, 16, task, (void *)0), 0);
        CHECK_EQ(in_mutex, N);
        check_marks(N);
        __atomic_add_fetch(rounds, 1, __ATOMIC_SEQ_CST);
    }
}

static void wait_for_rounds(pid_t pid, int more)
{
    int wanted = __atomic_load_n(rounds, __ATOMIC_SEQ_CST) + more, status;
    for (struct patience p = patience_of(60); __atomic_load_n(rounds, __ATOMIC_SEQ_CST) < wanted; pause_us(1000)) {
        CHECK(is_patient(&p));
        CHECK_EQ(waitpid(pid, &status, WNOHANG), 0);
    }
}

int main(void)
{
    int status;
    rounds = mmap(NULL, sizeof *rounds, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(rounds != MAP_FAILED);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        run_for_ever();
    wait_for_rounds(pid, 1);
    for (int stop = 0; stop < STOPS; stop++) {
        CHECK_EQ(kill(pid, SIGSTOP), 0);
        CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
        CHECK(WIFSTOPPED(status));
        int seen = *rounds;
        pause_us(stop == 0 ? 1100000 : 300000);
        CHECK_EQ(*rounds, seen);
        CHECK_EQ(kill(pid, SIGCONT), 0);
        wait_for_rounds(pid, ROUNDS_SEEN);
    }
    CHECK_EQ(kill(pid, SIGTERM), 0);
    status = wait_for(pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    return 0;
}
