/* The program's own handlers with SA_ONSTACK, inside a run: they have as much stack as a thread gives, and where the
 * program has an alternate stack of its own, they run on that. After the run the thread has the one that it had.
 * ctest: static
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
#include "check.h"
#include "where.h"

enum { KIB = 1024, OWN = 256 * KIB };

/* SIGPROF: the threads that the library makes leave it open, too. */
static size_t needed;
static char *own;
static volatile int handled;
static volatile char sink;

static __attribute__((noinline)) void use_stack(size_t bytes)
{
    char room[bytes];
    memset(room, 0x5a, bytes);
    sink = room[bytes / 2];
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    char here;
    if (own)
        CHECK(&here >= own && &here < own + OWN);
    use_stack(needed);
    handled++;
}

/* What is in the frames of the task, and of the caller of sched_init, stays as it is. */
static void raises(struct scheduler *s)
{
    volatile unsigned char frame[4 * KIB];
    int before = handled;
    memset((void *)frame, 0xa5, sizeof frame);
    CHECK_EQ(raise(SIGPROF), 0);
    CHECK_EQ(handled, before + 1);
    for (size_t i = 0; i < sizeof frame; i++)
        CHECK_EQ(frame[i], 0xa5);
}

static __attribute__((noinline)) void run_with_frame(struct deed *deed)
{
    volatile unsigned char frame[64 * KIB];
    memset((void *)frame, 0x3c, sizeof frame);
    CHECK_EQ(sched_init(4, 4, seek_place, deed), 0);
    for (size_t i = 0; i < sizeof frame; i++)
        CHECK_EQ(frame[i], 0x3c);
}

int main(void)
{
    static const size_t sizes[] = {14 * KIB, 60 * KIB, 1024 * KIB};
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_ONSTACK | SA_SIGINFO};
    stack_t mine = {.ss_size = OWN}, after;
    CHECK_EQ(sigaction(SIGPROF, &action, NULL), 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        needed = sizes[i];
        for (int caller = threads_of(4) == 1; caller < 2; caller++) {
            volatile int done = 0;
            struct deed deed = {raises, caller, &done};
            run_with_frame(&deed);
            CHECK(done);
            CHECK_EQ(sigaltstack(NULL, &after), 0);
            CHECK(after.ss_flags & SS_DISABLE);
        }
    }
    CHECK((mine.ss_sp = malloc(OWN)) != NULL);
    CHECK_EQ(sigaltstack(&mine, NULL), 0);
    own = mine.ss_sp;
    needed = 200 * KIB;
    volatile int done = 0;
    struct deed deed = {raises, 1, &done};
    run_with_frame(&deed);
    CHECK(done);
    CHECK_EQ(sigaltstack(NULL, &after), 0);
    CHECK(after.ss_sp == mine.ss_sp && after.ss_size == mine.ss_size);
    return 0;
}
