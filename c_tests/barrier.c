/* As many tasks as there are workers may all wait for each other, run after run: each worker runs
 * one of them, however many there are for a processor.
 * ctest: matrix kind=lifo,fifo,steal,cont idle=park threads=2,4,16,64
 * ctest: matrix kind=lifo,steal,cont deque=mutex,split idle=nap,backoff,spin threads=16,64
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
#include "check.h"

enum { RUNS = 10, ROUNDS = 3 };

static pthread_barrier_t barrier;
static int waited;

static void guest(void *closure, struct scheduler *s)
{
    for (int round = 0; round < ROUNDS; round++)
        pthread_barrier_wait(&barrier);
    __atomic_fetch_add(&waited, 1, __ATOMIC_RELAXED);
}

static void root(void *closure, struct scheduler *s)
{
    for (long i = 1; i < (long)closure; i++)
        CHECK_EQ(sched_spawn(guest, NULL, s), 0);
    guest(NULL, s);
}

/* Out of the same deque only the last spawner's: each spawns one more, then waits. */
static void chain(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    if (left > 1)
        CHECK_EQ(sched_spawn(chain, (void *)(left - 1), s), 0);
    guest(NULL, s);
}

int main(void)
{
    long workers = threads_of(4);
    CHECK_EQ(pthread_barrier_init(&barrier, NULL, (unsigned)workers), 0);
    for (int run = 1; run <= RUNS; run++) {
        CHECK_EQ(sched_init(4, 4, run % 2 ? root : chain, (void *)workers), 0);
        CHECK_EQ(waited, run * workers);
    }
    return 0;
}
