/* SCHED_WARM says how long threads are kept: they end when it is over, without a further call;
 * with 0 they have ended, their thread-local data destroyed, when sched_init returns; a run that
 * wants none kept takes none and leaves alone those that rest.
 * ctest: static
 * ctest: matrix idle=park deque=mutex,split threads=4 */
#include "child.h"
#include "warm.h"
#include <stdatomic.h>

static pthread_key_t key;
static atomic_int destroyed;

static void destroy(void *value)
{
    atomic_fetch_add(&destroyed, 1);
}

static void set_key(struct party *party, int i)
{
    CHECK_EQ(pthread_setspecific(key, party), 0);
}

static void none(void *arg)
{
    setenv("SCHED_WARM", "0", 1);
    CHECK_EQ(pthread_key_create(&key, destroy), 0);
    struct party party = {.guests = threads_of(4), .look = set_key};
    for (int run = 1; run <= 20; run++) {
        give_party(&party);
        CHECK_EQ(destroyed, run * (party.guests - 1)); /* the caller lives on */
    }
    CHECK(threads_become(1));
}

static void some(void *time)
{
    struct party party = {.guests = threads_of(4)};
    if (time)
        setenv("SCHED_WARM", time, 1);
    give_party(&party);
    CHECK(threads_become(1));
    give_party(&party); /* again, on new ones */
    CHECK(threads_become(1));
}

/* Beside threads that rest for a minute. */
static void none_beside(void *arg)
{
    struct party first = {.guests = threads_of(4)}, second = first;
    setenv("SCHED_WARM", "1min", 1);
    give_party(&first);
    setenv("SCHED_WARM", "0", 1);
    give_party(&second);
    for (int i = 0; i < second.guests; i++)
        CHECK(second.thread[i] == (int)getpid() || !party_had(&first, second.thread[i]));
    CHECK(threads_become(first.guests));
    setenv("SCHED_WARM", "100ms", 1);
    give_party(&second); /* takes those, and keeps them for less long */
    for (int i = 0; i < second.guests; i++)
        CHECK_EQ(party_had(&first, second.thread[i]), 1);
    CHECK(threads_become(1));
}

int main(void)
{
    static const char *const times[] = {NULL, "", "100ms", "500us", "1us", "0ms", "0min"};
    in_child(none, NULL);
    CHECK_CHILD_EXITED(0);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        in_child(some, (void *)(uintptr_t)times[i]);
        CHECK_CHILD_EXITED(0);
    }
    in_child(none_beside, NULL);
    CHECK_CHILD_EXITED(0);
    return 0;
}
