/* refusals: SCHED_OVERFLOW=refuse. */
#include "case.h"
#include "marks.h"
#include "sync.h"
#include "child.h"

/* refuse: SCHED_OVERFLOW=refuse makes qlen a limit: the spawn beyond it gives -1 with EAGAIN and
 * changes nothing; every accepted task runs.
 * ctest: matrix without=calls idle=park threads=1 overflow=refuse
 * ctest: matrix without=calls idle=park threads=4 overflow=refuse */
static atomic_long refuse_accepted;
static long refuse_limit;

/* With one thread the queue is empty now and nobody takes from it: exactly `limit` fit. */
static void refuse_fill(void *closure, struct scheduler *s)
{
    for (long i = 0; i < refuse_limit; i++)
        CHECK_EQ(sched_spawn(mark_number, (void *)i, s), 0);
    for (int again = 0; again < 3; again++)
        CHECK_ERRNO(sched_spawn(mark_number, (void *)refuse_limit, s), EAGAIN);
    refuse_accepted = refuse_limit;
}

/* With several threads, checks only that no task is lost. */
static void push(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 20000; i++) {
        errno = 0;
        if (sched_spawn(mark_number, (void *)(long)refuse_accepted, s) == 0)
            refuse_accepted++;
        else
            CHECK_EQ(errno, EAGAIN);
    }
}

CASE(refuse)
{
    static const int lengths[] = {1, 2, 7, 64, 1000};
    for (int i = 0; i < 5; i++) {
        refuse_limit = lengths[i];
        refuse_accepted = 0;
        CHECK_EQ(sched_init(1, lengths[i], threads_of(1) == 1 ? refuse_fill : push, NULL), 0);
        CHECK(refuse_accepted >= refuse_limit);
        check_marks(refuse_accepted);
    }
}

/* refuse_suspended: SCHED_OVERFLOW=refuse, and tasks that wait: whenever a task yields, is woken by
 * a semaphore, or is to continue after a join, the queues are as full as they can be, and spawns
 * are refused. But no continuing task is refused.
 * ctest: matrix with=threads deque=mutex,split,ring,chaselev idle=park threads=1,2,4 env=SCHED_OVERFLOW=refuse
 * ctest: matrix with=threads deque=mutex,split idle=spin threads=1,4 env=SCHED_OVERFLOW=refuse
 * ctest: matrix deque=mutex,split idle=park threads=1,4 env=SCHED_OVERFLOW=refuse env=SCHED_JOIN=help */
enum { BODIES = 20, YIELDS = 3, TRIES = 2000 };

static struct {
    sched_sem sem;
    atomic_int begun, posted, over;
} of[BODIES];

static int suspended_limit;
static atomic_int suspended_accepted, suspended_ran, refused, bodies, made;

APART int is_accepted(taskfunc f, void *closure, struct scheduler *s)
{
    set_errno(0);
    if (sched_spawn(f, closure, s) == 0)
        return 1;
    CHECK_EQ(get_errno(), EAGAIN);
    refused++;
    return 0;
}

COUNTING_TASK(suspended_leaf, suspended_ran)

/* Spawns until one task is refused; others may take the tasks out as fast. (In cont what waits in
 * the queue are spawners.) */
APART void suspended_fill(struct scheduler *s)
{
    int tries = spawn_calls() ? 1 : TRIES;
    while (tries-- > 0 && is_accepted(suspended_leaf, NULL, s))
        suspended_accepted++;
}

APART void yields(struct scheduler *s)
{
    suspended_fill(s);
    sched_task_yield(s);
}

static void suspended_child(void *closure, struct scheduler *s)
{
    intptr_t i = (intptr_t)closure;
    of[i].begun = 1;
    CHECK_EQ(sched_sem_wait(&of[i].sem, s), 0);
    suspended_fill(s); /* the waiting task is to continue now */
    of[i].over++;
}

/* For cont: spawners, each in the middle of the one before, until one is refused. */
static void post_deep(void *closure, struct scheduler *s)
{
    intptr_t i = (intptr_t)closure;
    while (!of[i].posted)
        if (!is_accepted(post_deep, closure, s) && !atomic_exchange(&of[i].posted, 1))
            CHECK_EQ(sched_sem_post(&of[i].sem), 0);
}

static void post(void *closure, struct scheduler *s)
{
    intptr_t i = (intptr_t)closure;
    for (int n = 0; n < YIELDS; n++)
        yields(s);
    while (!of[i].begun)
        sched_task_yield(s);
    if (spawn_calls()) {
        post_deep(closure, s);
    } else {
        suspended_fill(s);
        CHECK_EQ(sched_sem_post(&of[i].sem), 0);
    }
    suspended_fill(s);
}

static void body(void *closure, struct scheduler *s)
{
    intptr_t i = (intptr_t)closure;
    sched_task t;
    if (!is_accepted(post, closure, s)) /* nor soon, perhaps: continuing tasks also take room */
        CHECK_EQ(sched_sem_post(&of[i].sem), 0);
    sched_fork(&t, suspended_child, closure, s);
    while (!of[i].begun) /* without more tasks, which would be run before it */
        sched_task_yield(s);
    suspended_fill(s);
    sched_join(&t, s);
    CHECK_EQ(of[i].over, 1);
    for (int n = 0; n < YIELDS; n++)
        yields(s);
    bodies++;
}

/* In cont each spawns the next in its own middle, until one is refused. */
static void chain(void *closure, struct scheduler *s)
{
    int i = made++;
    if (i < BODIES) {
        if (!is_accepted(chain, NULL, s))
            chain(NULL, s);
        body((void *)(intptr_t)i, s);
    }
}

CASE(refuse_suspended)
{
    static const int lengths[] = {1, 2, 7, 64};
    for (int n = 0; n < 4; n++) {
        suspended_limit = lengths[n];
        for (int i = 0; i < BODIES; i++) {
            CHECK_EQ(sched_sem_init(&of[i].sem, 0), 0);
            of[i].begun = of[i].posted = of[i].over = 0;
        }
        suspended_accepted = suspended_ran = refused = bodies = made = 0;
        CHECK_EQ(sched_init(1, suspended_limit, chain, NULL), 0);
        CHECK_EQ(bodies, BODIES);
        CHECK_EQ(suspended_ran, suspended_accepted);
        CHECK(refused > 0 || threads_of(1) > 1);
    }
}

/* refuse_unseen: SCHED_OVERFLOW=refuse, as the manual describes it: a caller that does not look at
 * the result of sched_spawn loses the refused tasks, without a message. The run ends like any
 * other, and the accepted tasks have run once each.
 * ctest: matrix without=calls idle=park threads=1 overflow=refuse
 * ctest: matrix without=calls idle=park threads=4 overflow=refuse */
enum { UNSEEN_QLEN = 8, N = 1000 };

static char unseen_ran[N];
static int unseen_accepted;

static void unseen_leaf(void *closure, struct scheduler *s)
{
    __atomic_fetch_add((char *)closure, 1, __ATOMIC_RELAXED);
}

static void careless(void *closure, struct scheduler *s)
{
    for (int i = 0; i < N; i++)
        sched_spawn(unseen_leaf, &unseen_ran[i], s);
}

static void careful(void *closure, struct scheduler *s)
{
    for (int i = 0; i < N; i++)
        if (sched_spawn(unseen_leaf, &unseen_ran[i], s) == 0)
            unseen_accepted++;
        else
            unseen_leaf(&unseen_ran[i], s);
}

static int sum(void)
{
    int n = 0;
    for (int i = 0; i < N; i++) {
        CHECK(unseen_ran[i] == 0 || unseen_ran[i] == 1);
        n += unseen_ran[i];
    }
    return n;
}

static void losing(void *unused)
{
    CHECK_EQ(sched_init(1, UNSEEN_QLEN, careless, NULL), 0);
    CHECK(sum() >= UNSEEN_QLEN);
    if (threads_of(1) == 1) /* the others take some meanwhile */
        CHECK_EQ(sum(), UNSEEN_QLEN);
}

CASE(refuse_unseen)
{
    CHECK_IN_CHILD(losing, NULL);
    CHECK_EQ(strlen(child.said), 0);

    CHECK_EQ(sched_init(1, UNSEEN_QLEN, careful, NULL), 0);
    CHECK_EQ(sum(), N);
    CHECK(unseen_accepted >= UNSEEN_QLEN);
}

/* refuse_yield: SCHED_OVERFLOW=refuse, and more tasks than a queue may hold that give way: they
 * take no room there from those that are spawned, so each that tries again after each of its turns
 * spawns at last.
 * ctest: matrix with=threads without=deques deque=mutex idle=park,nap threads=1,2,4 env=SCHED_OVERFLOW=refuse
 * ctest: matrix kind=steal deque=ring,queue idle=park threads=1,2,4 env=SCHED_OVERFLOW=refuse
 * ctest: matrix with=threads without=deques deque=spin idle=spin threads=2 env=SCHED_OVERFLOW=refuse env=SCHED_JOIN=help */
enum { TASKS = 10, YIELD_QLEN = 2 };

static atomic_int came, yield_ran;

static void spawn(taskfunc f, struct scheduler *s)
{
    set_errno(0);
    while (sched_spawn(f, NULL, s) != 0) {
        CHECK_EQ(get_errno(), EAGAIN);
        sched_task_yield(s);
    }
}

COUNTING_TASK(yield_leaf, yield_ran)

static void task(void *closure, struct scheduler *s)
{
    came++;
    while (came < TASKS)
        sched_task_yield(s);
    for (int i = 0; i < 3; i++)
        spawn(yield_leaf, s);
}

static void root(void *closure, struct scheduler *s)
{
    for (int i = 0; i < TASKS; i++)
        spawn(task, s);
}

CASE(refuse_yield)
{
    CHECK_EQ(sched_init(2, YIELD_QLEN, root, NULL), 0);
    CHECK_EQ(yield_ran, 3 * TASKS);
}
