/* The created threads block every signal but the synchronous ones, SIGPROF, and those of a write that
 * the caller accepts; the caller keeps its mask, its name and its affinity, before, during and after
 * the run.
 * ctest: matrix deque=mutex,split,chaselev idle=park,nap threads=1,4,16 */
#include "proc.h"
#include <stdatomic.h>

static atomic_int checked, got_signals;
static int pid, cpus;
static unsigned long long mine; /* the caller's mask, as /proc shows it */

/* The value of a line "Name: …" of /proc/self/task/TID/status. */
static void status_of(int tid, const char *key, char *value, size_t size)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    *value = 0;
    while (fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':') {
            char *from = line + strlen(key) + 1;
            from += strspn(from, " \t");
            from[strcspn(from, "\n")] = 0;
            snprintf(value, size, "%s", from);
        }
    fclose(file);
    CHECK(*value != 0);
}

/* While it creates the threads the caller may block all signals, so that they inherit it:
 * seen from another thread its mask must come to be as before. */
static void caller_is_as_before(void)
{
    char value[128];
    cpu_set_t set;
    unsigned long long blocked = 0;
    status_of(pid, "Name", value, sizeof value);
    CHECK(strcmp(value, "the caller") == 0);
    for (struct patience p = patience_of(20); is_patient(&p); pause_us(500)) {
        status_of(pid, "SigBlk", value, sizeof value);
        blocked = strtoull(value, NULL, 16);
        if (blocked == mine || thread_id() == pid)
            break;
    }
    CHECK_EQ(blocked, mine);
    CHECK_EQ(sched_getaffinity(pid, sizeof set, &set), 0);
    CHECK_EQ(CPU_COUNT(&set), cpus);
}

static void created_is_right(void)
{
    static const int open[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGTRAP,
                               SIGSYS,  SIGABRT, SIGPROF, SIGPIPE, SIGXFSZ};
    sigset_t mask;
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
    for (int sig = 1; sig <= 64; sig++) {
        int blocked = 1;
        for (size_t i = 0; i < sizeof open / sizeof *open; i++)
            blocked &= sig != open[i];
        if (sig == SIGPIPE && mine >> (SIGPIPE - 1) & 1)
            blocked = 1;
        if (sig == SIGKILL || sig == SIGSTOP || sig == 32 || sig == 33)
            continue; /* cannot be blocked; the C library's own */
        if (sigismember(&mask, sig) != blocked) {
            char text[80];
            snprintf(text, sizeof text, "signal %d blocked: %d, expected %d\n", sig, !blocked, blocked);
            check_say(text);
            _exit(1);
        }
    }
}

static void on_signal(int sig)
{
    atomic_fetch_add(&got_signals, 1);
    if (thread_id() != pid) {
        check_say("a signal for the process reached a created thread\n");
        _exit(1);
    }
}

static void each(void *closure, struct scheduler *s)
{
    if (thread_id() != pid)
        created_is_right();
    caller_is_as_before();
    CHECK_EQ(kill(pid, SIGUSR1), 0);
    atomic_fetch_add(&checked, 1);
    pause_us(100);
}

static void root(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 30; i++)
        CHECK_EQ(sched_spawn(each, closure, s), 0);
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t mask;
    cpu_set_t set;

    pid = (int)getpid();
    CHECK_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    cpus = CPU_COUNT(&set);
    CHECK_EQ(pthread_setname_np(pthread_self(), "the caller"), 0);
    CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
    sigemptyset(&mask);
    static const int added[] = {SIGUSR2, SIGPIPE}; /* the second time kept threads take over the new mask */
    for (size_t i = 0; i < sizeof added / sizeof *added; i++) {
        sigaddset(&mask, added[i]);
        mine |= 1ull << (added[i] - 1);
        CHECK_EQ(pthread_sigmask(SIG_SETMASK, &mask, NULL), 0);
        checked = got_signals = 0;

        caller_is_as_before();
        CHECK_EQ(sched_init(4, 4, root, NULL), 0);
        CHECK_EQ(checked, 30);
        CHECK(got_signals > 0);
        caller_is_as_before();
    }
    return 0;
}
