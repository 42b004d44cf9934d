/* A cancelled group: tasks that have not begun do not, those that run may ask, and the next wait, no
 * other, returns ECANCELED when all are over; then the group is as new. Other groups are not cancelled.
 * ctest: static debug
 * ctest: matrix */
#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { N = 200 };

static sched_group g, other;
static atomic_int ran, asked, begun;

static void count(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&ran, 1);
}

static void asks(void *closure, struct scheduler *s)
{
    begun = 1;
    for (unsigned turns = 0; !sched_group_cancelled(&g);)
        spin(&turns);
    asked = 1;
}

static void cancels(void *closure, struct scheduler *s)
{
    count(closure, s);
    sched_group_cancel(&g);
}

static void *stranger(void *arg)
{
    while (!begun)
        pause_us(50);
    sched_group_cancel(&g);
    return NULL;
}

static void spawn(sched_group *group, taskfunc f, int n, struct scheduler *s)
{
    for (int i = 0; i < n; i++)
        CHECK_EQ(sched_group_spawn(group, f, NULL, s), 0);
}

static void as_new(struct scheduler *s)
{
    CHECK_EQ(sched_group_cancelled(&g), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    ran = 0;
    spawn(&g, count, 10, s);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(ran, 10);
    ran = 0;
}

static void root(void *closure, struct scheduler *s)
{
    pthread_t thread;
    as_new(s);

    /* Before any of its tasks: none runs. The other group's do. */
    sched_group_cancel(&g);
    CHECK_EQ(sched_group_cancelled(&g), 1);
    CHECK_EQ(sched_group_cancelled(&other), 0);
    spawn(&g, count, N, s);
    CHECK_ERRNO(sched_group_wait(&g, s), ECANCELED);
    CHECK_EQ(ran, 0);
    as_new(s);
    spawn(&other, count, N, s);
    sched_group_cancel(&g);
    CHECK_EQ(sched_group_wait(&other, s), 0);
    CHECK_EQ(ran, N);

    /* Without tasks, and twice: once is said. */
    sched_group_cancel(&g);
    CHECK_ERRNO(sched_group_wait(&g, s), ECANCELED);
    as_new(s);

    /* By one of its own: that one ran, perhaps not all. With one worker the others had not begun. */
    spawn(&g, cancels, N, s);
    CHECK_ERRNO(sched_group_wait(&g, s), ECANCELED);
    CHECK(ran >= 1 && ran <= N);
    if (threads_of(4) == 1)
        CHECK_EQ(ran, 1);
    as_new(s);

    /* From outside, while one runs that ends when it is told. */
    begun = asked = 0;
    CHECK_EQ(pthread_create(&thread, NULL, stranger, NULL), 0);
    spawn(&g, asks, 1, s);
    CHECK_ERRNO(sched_group_wait(&g, s), ECANCELED);
    CHECK_EQ(asked, 1);
    pthread_join(thread, NULL);
    as_new(s);
}

int main(void)
{
    for (int i = 0; i < 3; i++)
        CHECK_EQ(sched_init(4, 10, root, NULL), 0);
    return 0;
}
