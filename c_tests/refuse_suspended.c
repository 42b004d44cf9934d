/* SCHED_OVERFLOW=refuse, and tasks that wait: whenever one yields, is woken by a semaphore, or is to go on after a
 * join, the queues are as full as they can be made, and spawns are refused; none of those that go on is.
 * ctest: matrix kind=lifo,fifo,steal,cont deque=mutex,split,ring,chaselev idle=park threads=1,2,4 env=SCHED_OVERFLOW=refuse
 * ctest: matrix kind=lifo,fifo,steal,cont deque=mutex,split idle=spin threads=1,4 env=SCHED_OVERFLOW=refuse
 * ctest: matrix deque=mutex,split idle=park threads=1,4 env=SCHED_OVERFLOW=refuse env=SCHED_JOIN=help */
#include "sync.h"

enum { BODIES = 20, YIELDS = 3, TRIES = 2000 };

static struct {
    sched_sem sem;
    atomic_int begun, posted, over;
} of[BODIES];

static int limit;
static atomic_int accepted, ran, refused, bodies, made;

APART int is_accepted(taskfunc f, void *closure, struct scheduler *s)
{
    set_errno(0);
    if (sched_spawn(f, closure, s) == 0)
        return 1;
    CHECK_EQ(get_errno(), EAGAIN);
    refused++;
    return 0;
}

static void leaf(void *closure, struct scheduler *s)
{
    ran++;
}

/* Until one is refused; others may take them out as fast. (In cont what waits in the queue are spawners.) */
APART void fill(struct scheduler *s)
{
    int tries = kind_is("cont") ? 1 : TRIES;
    while (tries-- > 0 && is_accepted(leaf, NULL, s))
        accepted++;
}

APART void yields(struct scheduler *s)
{
    fill(s);
    sched_task_yield(s);
}

static void child(void *closure, struct scheduler *s)
{
    intptr_t i = (intptr_t)closure;
    of[i].begun = 1;
    CHECK_EQ(sched_sem_wait(&of[i].sem, s), 0);
    fill(s); /* who waits for this is to go on now */
    of[i].over++;
}

/* For cont: a spawner in each one's middle, until one is refused. */
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
    if (kind_is("cont")) {
        post_deep(closure, s);
    } else {
        fill(s);
        CHECK_EQ(sched_sem_post(&of[i].sem), 0);
    }
    fill(s);
}

static void body(void *closure, struct scheduler *s)
{
    intptr_t i = (intptr_t)closure;
    sched_task t;
    if (!is_accepted(post, closure, s)) /* nor soon, perhaps: those that go on take room, too */
        CHECK_EQ(sched_sem_post(&of[i].sem), 0);
    sched_fork(&t, child, closure, s);
    while (!of[i].begun) /* without more tasks, which would be run before it */
        sched_task_yield(s);
    fill(s);
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

int main(void)
{
    static const int lengths[] = {1, 2, 7, 64};
    for (int n = 0; n < 4; n++) {
        limit = lengths[n];
        for (int i = 0; i < BODIES; i++) {
            CHECK_EQ(sched_sem_init(&of[i].sem, 0), 0);
            of[i].begun = of[i].posted = of[i].over = 0;
        }
        accepted = ran = refused = bodies = made = 0;
        CHECK_EQ(sched_init(1, limit, chain, NULL), 0);
        CHECK_EQ(bodies, BODIES);
        CHECK_EQ(ran, accepted);
        CHECK(refused > 0 || threads_of(1) > 1);
    }
    return 0;
}
