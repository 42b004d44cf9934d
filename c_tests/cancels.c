/* cancels: sched_group_cancel and the waits of the group's tasks. */
#include "case.h"
#include "everywhere.h"

enum { SHORT = 200000 }; /* ns */

static int outcome(int rc)
{
    return rc == 0 ? 0 : get_errno();
}

static sched_group group = SCHED_GROUP_INIT;
static sched_mutex busy = SCHED_MUTEX_INIT, mutex = SCHED_MUTEX_INIT;
static sched_cond cond = SCHED_COND_INIT;
static sched_sem sem = SCHED_SEM_INIT(0), late = SCHED_SEM_INIT(0);
static struct sched_channel *empty_channel, *full_channel;
static atomic_int begun, cut, uncut;

/* The ways to cancel the group. */
static atomic_int handled;

static void on_signal(int number)
{
    sched_group_cancel(&group);
    handled = 1;
}

#ifdef __SANITIZE_THREAD__
static void *raises(void *arg)
{
    sigset_t none; /* a thread that a worker has made has the worker's mask */
    sigemptyset(&none);
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, &none, NULL), 0);
    CHECK_EQ(raise(SIGUSR1), 0);
    return arg;
}
#endif

static void *cancels(void *arg)
{
    sched_group_cancel(&group);
    return NULL;
}

static void *cancels_later(void *arg)
{
    pause_us(300);
    return cancels(arg);
}

/* Cancels the group once all n tasks have begun; every second time some of them may have begun to wait only later. */
static void cancel_when_begun(int n, int round, struct scheduler *s)
{
    pthread_t thread;
    while (begun < n)
        CHECK_EQ(sched_sleep(1000, s), 0);
    if (round % 2)
        CHECK_EQ(sched_sleep(SHORT, s), 0);
    switch (round / 2 % 4) {
    case 0:
        sched_group_cancel(&group);
        break;
    case 1: /* a thread of the program handles the signal; the library's threads do not */
        handled = 0;
        signal(SIGUSR1, on_signal);
#ifdef __SANITIZE_THREAD__ /* a worker would handle it only when it calls a function that the tool knows */
        CHECK_EQ(pthread_create(&thread, NULL, raises, NULL), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
#else
        CHECK_EQ(kill(getpid(), SIGUSR1), 0);
#endif
        while (!handled)
            sched_task_yield(s);
        break;
    default:
        CHECK_EQ(pthread_create(&thread, NULL, round / 2 % 4 == 2 ? cancels : cancels_later, NULL), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
}

/* cancel_waits: A cancellation ends all sleeps and waits with deadlines of the group's tasks with
 * ECANCELED, waits that have begun and waits that follow. A task, a thread outside or a signal's
 * handler may cancel. The objects are as if these waits had never begun. After the wait for the
 * group, the group can be used again.
 * ctest: static debug
 * ctest: matrix */
static void waits_late(void *its_sem, struct scheduler *s)
{
    CHECK_EQ(sched_sem_wait(its_sem, s), 0);
}

APART int wait_in_way(long way, struct scheduler *s)
{
    sched_time deadline = way % 2 ? SCHED_FOREVER : sched_now() + 1000 * SCHED_SECOND;
    int element = 5;
    switch (way / 2) {
    case 0:
        return outcome(sched_sleep(way % 2 ? INT64_MAX : 1000 * SCHED_SECOND, s));
    case 1:
        return outcome(sched_sleep_until(deadline, s));
    case 2:
        return outcome(sched_sem_wait_until(&sem, deadline, s));
    case 3:
        return outcome(sched_mutex_lock_until(&busy, deadline, s));
    case 4: {
        CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
        int error = outcome(sched_cond_wait_until(&cond, &mutex, deadline, s));
        CHECK_EQ(sched_mutex_unlock(&mutex), 0);
        return error;
    }
    case 5: {
        sched_group own = SCHED_GROUP_INIT;
        sched_sem own_sem = SCHED_SEM_INIT(0);
        CHECK_EQ(sched_group_spawn(&own, waits_late, &own_sem, s), 0);
        int error = outcome(sched_group_wait_until(&own, deadline, s));
        CHECK_EQ(sched_sem_post(&own_sem), 0);
        CHECK_EQ(sched_group_wait(&own, s), 0);
        return error;
    }
    case 6:
        return outcome(sched_channel_send_until(full_channel, &element, deadline, s));
    default:
        return outcome(sched_channel_receive_until(empty_channel, &element, deadline, s));
    }
}

enum { WAYS = 16 };

static void is_cut(void *closure, struct scheduler *s)
{
    begun++;
    CHECK_EQ(wait_in_way((long)closure, s), ECANCELED);
    CHECK_EQ(wait_in_way((long)closure, s), ECANCELED);
    CHECK_ERRNO(sched_sleep(0, s), ECANCELED);
    CHECK_EQ(sched_group_cancelled(&group), 1);
    cut++;
}

static void is_not_cut(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sleep(SHORT, s), 0);
    CHECK_EQ(sched_sem_wait_until(&sem, 0, s), -1);
    CHECK_EQ(get_errno(), ETIMEDOUT);
    uncut++;
}

static void waits_root(void *closure, struct scheduler *s)
{
    int element = 1;
    CHECK_EQ(sched_channel_send(full_channel, &element, s), 0);
    CHECK_EQ(sched_mutex_lock(&busy, s), 0);
    for (int round = 0; round < 16; round++) {
        sched_group other = SCHED_GROUP_INIT;
        begun = cut = uncut = 0;
        for (long way = 0; way < WAYS; way++)
            CHECK_EQ(sched_group_spawn(&group, is_cut, (void *)way, s), 0);
        CHECK_EQ(sched_group_spawn(&other, is_not_cut, NULL, s), 0);
        cancel_when_begun(WAYS, round, s);
        CHECK_ERRNO(sched_group_wait(&group, s), ECANCELED);
        CHECK_EQ(cut, WAYS);
        CHECK_EQ(sched_group_spawn(&group, is_not_cut, NULL, s), 0);
        CHECK_EQ(sched_group_wait(&group, s), 0);
        CHECK_EQ(sched_group_wait(&other, s), 0);
        CHECK_EQ(uncut, 2);

        CHECK_ERRNO(sched_sem_trywait(&sem), EAGAIN);
        CHECK_EQ(sched_cond_signal(&cond), 0);
        CHECK_EQ(sched_mutex_unlock(&busy), 0);
        CHECK_EQ(sched_mutex_trylock(&busy), 0);
        CHECK_EQ(sched_channel_receive(full_channel, &element, s), 0);
        CHECK_EQ(element, 1);
        CHECK_ERRNO(sched_channel_receive_until(full_channel, &element, 0, s), ETIMEDOUT);
        CHECK_EQ(sched_channel_send(full_channel, &element, s), 0);
    }
    CHECK_EQ(sched_mutex_unlock(&busy), 0);
}

CASE(cancel_waits)
{
    empty_channel = sched_channel_create(0, sizeof(int));
    full_channel = sched_channel_create(1, sizeof(int));
    CHECK(empty_channel != NULL && full_channel != NULL);
    run(3, waits_root);
    sched_channel_destroy(empty_channel);
    sched_channel_destroy(full_channel);
}

/* cancel_tree: A cancellation reaches the waits in groups for which the group's tasks wait, and so on: those that have begun,
 * those that begin later, and those in groups that are made and awaited after the cancellation. These groups are not cancelled
 * themselves. So one call takes down a tree of waiting tasks.
 * ctest: static debug
 * ctest: matrix */
enum { DEEP = 3, WIDE = 3, LEAVES = 27 };

static void leaf_waits(void *closure, struct scheduler *s)
{
    long me = begun++;
    if (me % 4 == 3)
        while (!sched_group_cancelled(&group))
            sched_task_yield(s);
    CHECK_EQ(wait_in_way(me % 6, s), ECANCELED);
    cut++;
}

/* The closure is twice the depth, and one more if the branch waits with a deadline. */
static void branch(void *closure, struct scheduler *s)
{
    long depth = (long)closure / 2, in_time = (long)closure % 2;
    sched_group own = SCHED_GROUP_INIT;
    for (long i = 0; i < WIDE; i++)
        CHECK_EQ(sched_group_spawn(&own, depth == 1 ? leaf_waits : branch, (void *)((depth - 1) * 2 + in_time), s), 0);
    if (in_time) {
        int error = outcome(sched_group_wait_until(&own, SCHED_FOREVER, s));
        CHECK(error == 0 || error == ECANCELED);
    }
    CHECK_EQ(sched_group_wait(&own, s), 0);
    uncut++;
}

static void branch_when_cancelled(void *closure, struct scheduler *s)
{
    begun++;
    while (!sched_group_cancelled(&group))
        sched_task_yield(s);
    branch(closure, s);
}

static void tree_root(void *closure, struct scheduler *s)
{
    for (int round = 0; round < 24; round++) {
        int later = round / 8 == 2;
        begun = cut = uncut = 0;
        CHECK_EQ(sched_group_spawn(&group, later ? branch_when_cancelled : branch, (void *)(DEEP * 2L + round % 2), s), 0);
        cancel_when_begun(later ? 1 : LEAVES, round, s);
        CHECK_ERRNO(sched_group_wait(&group, s), ECANCELED);
        CHECK_EQ(cut, LEAVES);
        CHECK_EQ(uncut, 1 + 3 + 9);
    }
}

CASE(cancel_tree)
{
    run(3, tree_root);
}

/* cancel_leaves_waits: A cancellation does not end joins, barriers and waits without a deadline; nor the waits of other groups
 * and of tasks without a group.
 * ctest: static debug
 * ctest: matrix */
static sched_barrier barrier = SCHED_BARRIER_INIT(3);
enum { PLAIN = 6 };

static void plain_child(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_wait(&late, s), 0);
}

static void waits_plainly(void *closure, struct scheduler *s)
{
    begun++;
    switch ((long)closure) {
    case 0:
        CHECK_EQ(sched_sem_wait(&late, s), 0);
        break;
    case 1:
        CHECK_EQ(sched_mutex_lock(&busy, s), 0);
        CHECK_EQ(sched_mutex_unlock(&busy), 0);
        break;
    case 2: {
        sched_group own = SCHED_GROUP_INIT;
        CHECK_EQ(sched_group_spawn(&own, plain_child, NULL, s), 0);
        CHECK_EQ(sched_group_wait(&own, s), 0);
        break;
    }
    case 3: {
        sched_task t;
        sched_fork(&t, plain_child, NULL, s);
        sched_join(&t, s);
        break;
    }
    default:
        CHECK(sched_barrier_wait(&barrier, s) >= 0);
    }
    uncut++;
}

static void plain_root(void *closure, struct scheduler *s)
{
    for (int round = 0; round < 8; round++) {
        begun = uncut = 0;
        CHECK_EQ(sched_mutex_lock(&busy, s), 0);
        for (long i = 0; i < PLAIN; i++)
            CHECK_EQ(sched_group_spawn(&group, waits_plainly, (void *)i, s), 0);
        cancel_when_begun(PLAIN, round, s);
        CHECK_EQ(sched_sleep(SHORT, s), 0);
        CHECK_EQ(uncut, 0);
        CHECK_TIMES(3, sched_sem_post(&late));
        CHECK_EQ(sched_mutex_unlock(&busy), 0);
        CHECK(sched_barrier_wait(&barrier, s) >= 0);
        CHECK_ERRNO(sched_group_wait(&group, s), ECANCELED);
        CHECK_EQ(uncut, PLAIN);
        CHECK_ERRNO(sched_sem_trywait(&late), EAGAIN);
    }
}

CASE(cancel_leaves_waits)
{
    run(3, plain_root);
}

/* cancel_pool_wait: A task of a cancelled group that waits for a pool with a deadline fails with
 * ECANCELED; the pool continues.
 * ctest: static debug
 * ctest: matrix few idle=park threads=2 */
static void *cancels_when_begun(void *arg)
{
    while (!begun)
        pause_us(300);
    return cancels(arg);
}

static void waits_for_pool(void *pool, struct scheduler *s)
{
    begun = 1;
    CHECK_ERRNO(sched_pool_wait_until(pool, SCHED_FOREVER), ECANCELED);
}

static void pool_root(void *pool, struct scheduler *s)
{
    for (int i = 0; i < 3; i++) {
        begun = 0;
        pthread_t thread = begin_thread(cancels_when_begun, NULL);
        CHECK_EQ(sched_group_spawn(&group, waits_for_pool, pool, s), 0);
        CHECK_ERRNO(sched_group_wait(&group, s), ECANCELED);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
}

CASE(cancel_pool_wait)
{
    struct sched_pool *pool = pool_of(1);
    CHECK_EQ(sched_pool_submit(pool, plain_child, NULL), 0);
    CHECK_EQ(sched_init(2, 10, pool_root, pool), 0);
    CHECK_EQ(sched_sem_post(&late), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* cancel_race: A unit that is posted at the moment of a cancellation is taken by a task whose wait returns 0, or remains. Groups
 * are freed as soon as the waits for them return, also while the library looks for the waits that are to be cut.
 * ctest: static debug
 * ctest: matrix
 * ctest: matrix deque=mutex,split idle=park threads=2,4 */
enum { ROUNDS = 1200 / SMALLER, TAKERS = 4 };
static atomic_int taken, asks;

static void takes(void *closure, struct scheduler *s)
{
    int error = outcome(sched_sem_wait_until(&sem, SCHED_FOREVER, s));
    CHECK(error == 0 || error == ECANCELED);
    taken += error == 0;
}

static void sleeps_below(void *closure, struct scheduler *s)
{
    uint64_t x = (uint64_t)sched_now();
    int error = outcome(sched_sleep((sched_time)(next_random(&x) % 30000), s));
    CHECK(error == 0 || error == ECANCELED);
}

/* Waits for a group on its own stack, with short deadlines. */
static void gives_up(void *closure, struct scheduler *s)
{
    sched_group own = SCHED_GROUP_INIT;
    uint64_t x = (uint64_t)sched_now();
    CHECK_TIMES(2, sched_group_spawn(&own, sleeps_below, NULL, s));
    for (int i = 0; i < 3; i++)
        sched_group_wait_until(&own, sched_now() + (sched_time)(next_random(&x) % 10000), s);
    CHECK_EQ(sched_group_wait(&own, s), 0);
}

/* Has the library look again and again. */
static void *cancels_others(void *arg)
{
    while (asks) {
        sched_group other = SCHED_GROUP_INIT;
        sched_group_cancel(&other);
        sched_group_wait(&other, NULL);
        sched_yield();
    }
    return NULL;
}

static void race_root(void *closure, struct scheduler *s)
{
    uint64_t x = 1;
    for (int round = 0; round < ROUNDS; round++) {
        sched_group *g = malloc(sizeof *g);
        CHECK(g != NULL);
        CHECK_EQ(sched_group_init(g), 0);
        int posted = (int)(next_random(&x) % 3), left = 0;
        taken = 0;
        for (int i = 0; i < TAKERS; i++)
            CHECK_EQ(sched_group_spawn(g, i % 2 ? gives_up : takes, NULL, s), 0);
        if (x % 2)
            CHECK_EQ(sched_sleep((sched_time)(next_random(&x) % 50000), s), 0);
        for (int i = 0; i < posted; i++) {
            CHECK_EQ(sched_sem_post(&sem), 0);
            if (i == 0)
                sched_group_cancel(g);
        }
        sched_group_cancel(g);
        CHECK_ERRNO(sched_group_wait(g, s), ECANCELED);
        memset(g, 0xff, sizeof *g);
        free(g);
        while (sched_sem_trywait(&sem) == 0)
            left++;
        CHECK_EQ(taken + left, posted);
    }
}

CASE(cancel_race)
{
    asks = 1;
    pthread_t thread = begin_thread(cancels_others, NULL);
    run(3, race_root);
    asks = 0;
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* cancel_ring: Groups that wait for each other in a circle, with deadlines, beside a cancelled group for which nobody waits yet:
 * other tasks' sleeps end, whichever threads look at the waits, and a cancellation of one group ends all waits of the circle.
 * ctest: static debug
 * ctest: matrix few join=suspend threads=1,4 */
enum { RING = 12, NAPS = 8000 / SMALLER };

static sched_group ring[RING];
static atomic_int napped;

static void waits_in_ring(void *closure, struct scheduler *s)
{
    sched_group *next = closure;
    begun++;
    while (begun < RING)
        CHECK_EQ(sched_sleep(SHORT, s), 0);
    int error = outcome(sched_group_wait_until(next, sched_now() + 100 * SCHED_SECOND, s));
    CHECK(error == ECANCELED || error == 0); /* 0: the task of the next group was cut before */
    cut++;
}

static void naps(void *closure, struct scheduler *s)
{
    for (int i = 0; i < NAPS; i++)
        CHECK_EQ(sched_sleep(SHORT / 10 + i % 7 * 1000, s), 0);
    napped++;
}

static void ring_root(void *closure, struct scheduler *s)
{
    begun = cut = napped = 0;
    for (int i = 0; i < RING; i++)
        CHECK_EQ(sched_group_init(&ring[i]), 0);
    for (int i = 0; i < RING; i++)
        CHECK_EQ(sched_group_spawn(&ring[i], waits_in_ring, &ring[(i + 1) % RING], s), 0);
    while (begun < RING)
        CHECK_EQ(sched_sleep(SHORT, s), 0);
    sched_group_cancel(&group);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(sched_group_spawn(&ring[i], naps, NULL, s), 0);
    while (napped < 4)
        CHECK_EQ(sched_sleep(SHORT, s), 0);
    CHECK_ERRNO(sched_group_wait(&group, s), ECANCELED);
    CHECK_EQ(cut, 0);
    sched_group_cancel(&ring[RING / 2]);
    for (int i = 0; i < RING; i++) {
        int error = outcome(sched_group_wait(&ring[i], s)); /* another wait may have ended the cancellation */
        CHECK(error == 0 || (error == ECANCELED && i == RING / 2));
    }
    CHECK_EQ(cut, RING);
}

CASE(cancel_ring)
{
    run(4, ring_root);
}

/* cancel_ladder: Two tasks of each group wait for the next one, so a wait is reached by as many ways as there are numbers of
 * 40 bits. Sleeps end beside another group's cancellation, and a cancellation of the first group reaches the last one's sleep.
 * ctest: static debug
 * ctest: matrix few join=suspend threads=1,2 */
enum { LEVELS = 40 };

static sched_group ladder[LEVELS + 1];

static void waits_for_next(void *closure, struct scheduler *s)
{
    begun++;
    CHECK_EQ(sched_group_wait((sched_group *)closure + 1, s), 0);
}

static void sleeps_last(void *closure, struct scheduler *s)
{
    begun++;
    CHECK_ERRNO(sched_sleep(SCHED_FOREVER, s), ECANCELED);
    cut++;
}

static void ladder_root(void *closure, struct scheduler *s)
{
    for (int round = 0; round < 3; round++) {
        begun = cut = 0;
        for (int i = 0; i <= LEVELS; i++)
            CHECK_EQ(sched_group_init(&ladder[i]), 0);
        CHECK_TIMES(2, sched_group_spawn(&ladder[LEVELS], sleeps_last, NULL, s));
        for (int i = LEVELS; i-- > 0;)
            CHECK_TIMES(2, sched_group_spawn(&ladder[i], waits_for_next, &ladder[i], s));
        while (begun < 2 * (LEVELS + 1))
            CHECK_EQ(sched_sleep(SHORT, s), 0);
        sched_group_cancel(&group);
        CHECK_TIMES(4, sched_sleep(SHORT, s));
        CHECK_ERRNO(sched_group_wait(&group, s), ECANCELED);
        CHECK_EQ(cut, 0);
        sched_group_cancel(&ladder[0]);
        CHECK_ERRNO(sched_group_wait(&ladder[0], s), ECANCELED);
        CHECK_EQ(cut, 2);
    }
}

CASE(cancel_ladder)
{
    run(2, ladder_root);
}

/* cancel_guest: A cancellation reaches the tasks of a group, or the nodes of a graph, for which a task of the cancelled group
 * waits, if these tasks run on the stack of a thread outside that waits for the cancelled group.
 * ctest: static debug
 * ctest: matrix few with=deques idle=park threads=1,2 */
static sched_group inner;
static sched_graph inner_graph = SCHED_GRAPH_INIT;
static sched_node inner_node;
static atomic_int releases;

/* Not for ever: where tasks are observed, as under race detectors, the workers run what the thread spawns. */
static void keeps_worker(void *arg, struct scheduler *s)
{
    begun++;
    for (int i = 0; i < 1000 && !releases; i++)
        pause_us(100);
}

static void waits_for_inner(void *by_graph, struct scheduler *s)
{
    if (by_graph != NULL) {
        CHECK_EQ(sched_node_init(&inner_node, sleeps_last, NULL), 0);
        CHECK_EQ(sched_graph_add(&inner_graph, &inner_node), 0);
        CHECK_EQ(sched_graph_run(&inner_graph, s), 0);
        sched_graph_destroy(&inner_graph);
    } else {
        CHECK_EQ(sched_group_init(&inner), 0);
        CHECK_EQ(sched_group_spawn(&inner, sleeps_last, NULL, s), 0);
        CHECK_EQ(sched_group_wait(&inner, s), 0);
    }
}

static void *cancels_when_all_have_begun(void *workers)
{
    while (begun <= (int)(intptr_t)workers)
        pause_us(100);
    pause_us(1000); /* now the last one sleeps */
    sched_group_cancel(&group);
    return NULL;
}

CASE(cancel_guest)
{
    int workers = threads_of(1);
    struct sched_pool *pool = pool_of(workers);
    struct scheduler *s = sched_pool_scheduler(pool);
    for (int by_graph = 0; by_graph < 2; by_graph++) {
        begun = cut = releases = 0;
        CHECK_TIMES(workers, sched_pool_submit(pool, keeps_worker, NULL));
        while (begun < workers)
            pause_us(100);
        pthread_t thread = begin_thread(cancels_when_all_have_begun, (void *)(intptr_t)workers);
        CHECK_EQ(sched_group_spawn(&group, waits_for_inner, by_graph ? "" : NULL, s), 0);
        CHECK_ERRNO(sched_group_wait(&group, s), ECANCELED);
        CHECK_EQ(cut, 1);
        releases = 1;
        CHECK_EQ(pthread_join(thread, NULL), 0);
        CHECK_EQ(sched_pool_wait(pool), 0);
    }
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* cancel_through: A cancellation reaches the tasks of a group for which a task of the cancelled group waits by the s of
 * another pool, whose tasks they are, or in a blocking section.
 * ctest: static debug
 * ctest: matrix few idle=park threads=2 */
static sched_group elsewhere;

static void waits_elsewhere(void *arg, struct scheduler *s)
{
    struct scheduler *theirs = sched_pool_scheduler(arg);
    CHECK(theirs != NULL);
    CHECK_EQ(sched_group_spawn(&elsewhere, sleeps_last, NULL, theirs), 0);
    CHECK_EQ(sched_group_wait(&elsewhere, theirs), 0);
}

static void waits_in_section(void *pool, struct scheduler *s)
{
    int in_section = sched_block_begin(s) == 0;
    waits_elsewhere(pool, s);
    if (in_section)
        CHECK_EQ(sched_block_end(s), 0);
}

static void through_root(void *pool, struct scheduler *s)
{
    for (int round = 0; round < 6; round++) {
        begun = cut = 0;
        CHECK_EQ(sched_group_init(&elsewhere), 0);
        CHECK_EQ(sched_group_spawn(&group, round % 2 ? waits_in_section : waits_elsewhere, pool, s), 0);
        while (begun < 1)
            CHECK_EQ(sched_sleep(SHORT, s), 0);
        if (round >= 2)
            CHECK_EQ(sched_sleep(SHORT, s), 0);
        sched_group_cancel(&group);
        CHECK_ERRNO(sched_group_wait(&group, s), ECANCELED);
        CHECK_EQ(cut, 1);
    }
}

CASE(cancel_through)
{
    struct sched_pool *pool = pool_of(1);
    CHECK_EQ(sched_init(2, 10, through_root, pool), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}
