/* The caller of exit may hold what the destructor of a thread-local variable waits for: the process ends all the same,
 * though threads with such variables rest. After the library's handler of exit they do not end, however long the
 * other handlers take, so no destructor runs beside those; a run in such a handler leaves none either.
 * ctest: static
 * ctest: matrix kind=lifo,steal,cont idle=park deque=mutex,split threads=2,4 */
#include "child.h"
#include "warm.h"
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static atomic_int destroyed, exiting;

/* The threads' time must not be up before the library's handler of exit. */
enum { WARM_MS = 100, ATTEMPTS = 20 };
static double began, reached;

static void destroy(void *value)
{
    pthread_mutex_lock(&lock);
    atomic_fetch_add(&destroyed, 1);
    pthread_mutex_unlock(&lock);
    if (exiting)
        check_say("<destroyed>");
}

static void set_key(struct party *party, int i)
{
    if (thread_id() != (int)getpid())
        CHECK_EQ(pthread_setspecific(key, party), 0);
}

static void run(void)
{
    struct party party = {.guests = threads_of(4), .look = set_key};
    give_party(&party);
}

/* Called after the library's handler. */
static void late(void)
{
    if (reached == 0)
        reached = now();
    exiting = 1;
    pause_us(2500 * WARM_MS); /* the threads' time would be up */
    check_say(reached - began < 0.8e-3 * WARM_MS ? "<late>" : "<too late>");
}

static void late_run(void)
{
    reached = now();
    run();
}

static void holds(void *runs_late)
{
    alarm(20); /* a deadlock ends the child */
    CHECK_EQ(pthread_key_create(&key, destroy), 0);
    setenv("SCHED_WARM", "1min", 1);
    if (runs_late)
        atexit(late_run);
    run();
    CHECK_EQ(pthread_mutex_lock(&lock), 0);
    exit(7);
}

static void lasts(void *runs_late)
{
    alarm(20);
    CHECK_EQ(pthread_key_create(&key, destroy), 0);
    atexit(late);
    if (runs_late)
        atexit(late_run);
    setenv("SCHED_WARM", "100ms", 1);
    began = now();
    run();
    exit(7);
}

/* A thread that waits in a destructor keeps no other from a run, and no exit. */
static void waits(void *arg)
{
    alarm(20);
    CHECK_EQ(pthread_key_create(&key, destroy), 0);
    setenv("SCHED_WARM", "1ms", 1);
    CHECK_EQ(pthread_mutex_lock(&lock), 0);
    for (int i = 0; i < 5; i++) {
        run();
        pause_us(3000);
    }
    exit(7);
}

int main(void)
{
    static int yes;
    void (*bodies[])(void *) = {holds, lasts, waits};
    for (int i = 0; i < 6; i++) {
        int attempt = 1;
        do
            in_child(bodies[i % 3], i / 3 ? &yes : NULL);
        while (strstr(child.said, "<too late>") != NULL && attempt++ < ATTEMPTS);
        CHECK(!WIFSIGNALED(child.status)); /* SIGALRM: it hung */
        CHECK_CHILD_EXITED(7);
        CHECK(strstr(child.said, "<destroyed>") == NULL);
        if (i % 3 == 1)
            CHECK_CHILD_SAID("<late>");
    }
    return 0;
}
