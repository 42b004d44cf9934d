/* A task that would wait for a pool, while a task of that pool waits for it, perhaps through other pools and runs, gets
 * EDEADLK, and its task is not added; everybody else's wait ends. So does the call of a guest, a thread outside that is in a
 * loop of the pool. Of two that would wait for each other one is refused. No wait is refused that could end.
 * ctest: static sleeps
 * ctest: matrix refuse threads=1,4 */
#include "pool.h"
#include <stdatomic.h>

enum { POOLS = 3, ROUNDS = 300 / SMALLER };

static struct sched_pool *pools[POOLS];
static atomic_int ran, refused;

static void count(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&ran, 1);
}

/* What a chain of waits ends with. */
enum how { BY_RUN, BY_WAIT, BY_DESTROY, WAYS };

struct chain {
    int at, pools;
    enum how how;
    int by_wait, in_section, in_run;
};

static void may_be_refused(int rc)
{
    if (rc == 0)
        return;
    CHECK_EQ(rc, -1);
    CHECK_EQ(get_errno(), EDEADLK);
    atomic_fetch_add(&refused, 1);
}

static void waits_for_first(enum how how)
{
    set_errno(0);
    switch (how) {
    case BY_RUN:
        may_be_refused(sched_pool_run(pools[0], count, NULL));
        break;
    case BY_WAIT:
        may_be_refused(sched_pool_wait(pools[0]));
        break;
    default:
        may_be_refused(sched_pool_destroy(pools[0]));
    }
}

static void link_in_chain(void *closure, struct scheduler *s);

static void next(struct chain *chain)
{
    int at = ++chain->at;
    if (at == chain->pools)
        waits_for_first(chain->how);
    else if (chain->by_wait) {
        CHECK_EQ(sched_pool_submit(pools[at], link_in_chain, chain), 0);
        set_errno(0);
        may_be_refused(sched_pool_wait(pools[at]));
    } else
        CHECK_EQ(sched_pool_run(pools[at], link_in_chain, chain), 0);
}

/* Not the first task of its run, so that another worker may run it. */
static void within(void *closure, struct scheduler *s)
{
    next(closure);
}

static void spawns_within(void *closure, struct scheduler *s)
{
    struct timespec shortly = {0, 2000000};
    CHECK_EQ(sched_spawn(within, closure, s), 0);
    nanosleep(&shortly, NULL);
}

static void link_in_chain(void *closure, struct scheduler *s)
{
    struct chain *chain = closure;
    const int in_section = chain->in_section;
    if (in_section)
        CHECK_EQ(sched_block_begin(s), 0);
    if (chain->in_run)
        CHECK_EQ(sched_init(2, 4, spawns_within, chain), 0);
    else
        next(chain);
    if (in_section)
        CHECK_EQ(sched_block_end(s), 0);
}

static void link_of_guest(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    link_in_chain(ctx, s);
}

static void circles(int by_guest)
{
    int n = refused;
    for (int length = 1; length <= POOLS; length++)
        for (int how = 0; how < WAYS; how++)
            for (int way = 0; way < 8; way++) {
                struct chain chain = {0, length, how, way & 1, way >> 1 & 1, way >> 2 & 1};
                /* After a submission the last wait may be the first to begin; then another closes the circle. */
                if (chain.by_wait && how == BY_DESTROY)
                    continue;
                ran = 0;
                if (by_guest)
                    CHECK_EQ(sched_for(0, 1, 1, link_of_guest, &chain, sched_pool_scheduler(pools[0])), 0);
                else
                    CHECK_EQ(sched_pool_run(pools[0], link_in_chain, &chain), 0);
                for (int i = 1; i < POOLS; i++)
                    CHECK_EQ(sched_pool_wait(pools[i]), 0);
                CHECK_EQ(refused, ++n);
                CHECK(ran == 0 || (ran == 1 && chain.by_wait && how == BY_RUN));
            }
}

/* --- two at once ----------------------------------------------------------------------- */

static atomic_int begun, refusals;

static void meets(void *closure, struct scheduler *s)
{
    unsigned turns = 0;
    for (atomic_fetch_add(&begun, 1); begun < 2;)
        spin(&turns);
    set_errno(0);
    if (sched_pool_run(closure, count, NULL) != 0) {
        CHECK_EQ(get_errno(), EDEADLK);
        atomic_fetch_add(&refusals, 1);
    }
}

static void two_at_once(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        begun = refusals = ran = 0;
        CHECK_EQ(sched_pool_submit(pools[0], meets, pools[1]), 0);
        CHECK_EQ(sched_pool_submit(pools[1], meets, pools[0]), 0);
        CHECK_EQ(sched_pool_wait(pools[0]), 0);
        CHECK_EQ(sched_pool_wait(pools[1]), 0);
        CHECK_EQ(refusals, 1);
        CHECK_EQ(ran, 1);
    }
}

/* --- a wait that is over --------------------------------------------------------------- */

static atomic_int was_there, returned;

static void is_there(void *closure, struct scheduler *s)
{
    was_there = 1;
}

static void waits_shortly(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_pool_run(pools[1], is_there, NULL), 0);
    returned = 1;
}

/* The refusal says that the other task waits until this one has ended. */
static void waits_back(void *closure, struct scheduler *s)
{
    set_errno(0);
    if (sched_pool_wait(pools[0]) != 0) {
        CHECK_EQ(get_errno(), EDEADLK);
        pause_us(300);
        CHECK_EQ(returned, 0);
    }
}

static void over(void)
{
    unsigned turns = 0;
    for (int i = 0; i < ROUNDS; i++) {
        was_there = returned = 0;
        CHECK_EQ(sched_pool_submit(pools[0], waits_shortly, NULL), 0);
        while (!was_there)
            spin(&turns);
        CHECK_EQ(sched_pool_wait(pools[1]), 0);
        CHECK_EQ(sched_pool_submit(pools[1], waits_back, NULL), 0);
        CHECK_EQ(sched_pool_wait(pools[0]), 0);
        CHECK_EQ(sched_pool_wait(pools[1]), 0);
        CHECK_EQ(returned, 1);
    }
}

/* --- what is no circle ----------------------------------------------------------------- */

static struct scheduler *first;

static void by_group(void *closure, struct scheduler *s)
{
    sched_group group = SCHED_GROUP_INIT;
    CHECK_EQ(sched_group_spawn(&group, count, NULL, first), 0);
    CHECK_EQ(sched_group_wait(&group, first), 0);
    CHECK_EQ(sched_spawn(count, NULL, s), 0);
    CHECK_EQ(sched_pool_run(pools[2], count, NULL), 0);
}

static void to_second(void *closure, struct scheduler *s)
{
    sched_group group = SCHED_GROUP_INIT;
    struct sched_stats stats;
    first = s;
    CHECK_EQ(sched_stats(s, &stats, sizeof stats), 0);
    CHECK_EQ(sched_group_spawn(&group, count, NULL, s), 0);
    /* With one worker, which waits for the second pool, the first could not run a task. */
    if (stats.threads > 1)
        CHECK_EQ(sched_pool_run(pools[1], by_group, closure), 0);
    CHECK_EQ(sched_group_wait(&group, s), 0);
}

static void no_circles(void)
{
    ran = 0;
    CHECK_EQ(sched_pool_run(pools[0], to_second, NULL), 0);
    CHECK(ran == 4 || ran == 1);
}

int main(void)
{
    for (int i = 0; i < POOLS; i++)
        pools[i] = pool_of(2);
    alarm(60);
    circles(0);
    circles(1);
    two_at_once();
    over();
    no_circles();
    for (int i = 0; i < POOLS; i++)
        CHECK_EQ(sched_pool_destroy(pools[i]), 0);
    return 0;
}
