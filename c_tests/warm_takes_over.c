/* A thread that is kept is to the next run like a new one: it has the affinity and the rounding
 * mode that the caller has then, its own signal mask and name, whatever tasks have changed.
 * ctest: static libs=m
 * ctest: matrix idle=park deque=mutex,split,chaselev threads=4 env=SCHED_WARM=1min
 * ctest: matrix kind=steal deque=split idle=nap,backoff,spin threads=16 env=SCHED_WARM=1min */
#include "warm.h"
#include "modes.h"
#include <sys/prctl.h>

static cpu_set_t wanted;
static int rounding, pid;
static int seen[MOST_WORKERS];

/* One name per worker, and each thread's mask blocks what it should. */
static void name_is_right(int guests)
{
    char name[32] = "";
    int worker = 0, end = 0;
    CHECK_EQ(prctl(PR_GET_NAME, name), 0);
    if (thread_id() == pid) {
        CHECK(strcmp(name, "the caller") == 0);
        return;
    }
    if (sscanf(name, "sched/%d%n", &worker, &end) != 1 || name[end]) {
        check_say(name);
        check_failed(__FILE__, __LINE__, "the name is sched/N");
    }
    CHECK(worker > 0 && worker < guests);
    CHECK_EQ(__atomic_fetch_add(&seen[worker], 1, __ATOMIC_SEQ_CST), 0);
}

static void look(struct party *party, int i)
{
    cpu_set_t mask;
    sigset_t signals;
    CHECK_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
    CHECK(CPU_EQUAL(&mask, &wanted));
    CHECK_EQ(mode_now(), rounding);
    name_is_right(party->guests);
    if (thread_id() == pid)
        return;
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, &signals), 0);
    CHECK(sigismember(&signals, SIGUSR1));
    CHECK(!sigismember(&signals, SIGPROF));

    /* What is changed here is not seen by the next run. */
    sigemptyset(&signals);
    sigaddset(&signals, SIGPROF);
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, &signals, NULL), 0);
    fesetround(FE_TOWARDZERO);
    for (int cpu = 0, kept = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &mask) && kept++)
            CPU_CLR(cpu, &mask);
    CHECK_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
    CHECK_EQ(prctl(PR_SET_NAME, "renamed"), 0);
}

int main(void)
{
    static const int roundings[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD};
    cpu_set_t all;
    int most = threads_of(4);

    pid = (int)getpid();
    setenv("SCHED_WARM", "1min", 1);
    CHECK_EQ(prctl(PR_SET_NAME, "the caller"), 0);
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    int cpu = 0;
    for (int run = 0; run < 40; run++) {
        /* In turn: all processors, then each alone. */
        wanted = all;
        if (run % 4) {
            do
                cpu = (cpu + 1) % CPU_SETSIZE;
            while (!CPU_ISSET(cpu, &all));
            CPU_ZERO(&wanted);
            CPU_SET(cpu, &wanted);
        }
        CHECK_EQ(sched_setaffinity(0, sizeof wanted, &wanted), 0);
        rounding = roundings[run % 3];
        fesetround(rounding);
        memset(seen, 0, sizeof seen);
        struct party party = {.guests = most - (most > 3 && run % 5 == 0), .look = look};
        /* SCHED_THREADS says how many there are, if it is set. */
        if (getenv("SCHED_THREADS"))
            party.guests = most;
        give_party(&party);
        CHECK_EQ(mode_now(), rounding);
        for (int worker = 1; worker < party.guests; worker++)
            CHECK_EQ(seen[worker], 1);
    }
    return 0;
}
