/* A task of an outer run that is run on top of a task of an inner run may wait by NULL: it goes on on its own run's thread,
 * though the inner run has other workers that could continue the stack on which it lies.
 * ctest: static debug
 * ctest: matrix kind=steal,lifo,fifo idle=park threads=2
 * ctest: matrix kind=cont idle=park threads=1 args=alone */
#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { ROUNDS = 20 };

static struct scheduler *outer;
static struct sched_group group;
static struct sched_sem sem;
static atomic_int waits, posts_begun;
static pthread_t thread;

/* Of the outer run, which has one worker. */
static void waits_by_null(void *unused, struct scheduler *s)
{
    CHECK(pthread_equal(pthread_self(), thread));
    waits = 1;
    CHECK_EQ(sched_sem_wait(&sem, NULL), 0);
    CHECK(pthread_equal(pthread_self(), thread));
    CHECK_EQ(sched_worker_index(s), 0);
}

/* Of the inner run, on its other worker. */
static void posts(void *unused, struct scheduler *s)
{
    posts_begun = 1;
    while (!waits)
        pause_us(100);
    pause_us(2000);
    CHECK_EQ(sched_sem_post(&sem), 0);
}

static void inner(void *unused, struct scheduler *s)
{
    if (!pthread_equal(pthread_self(), thread)) { /* the other worker was first */
        CHECK_EQ(sched_spawn(inner, NULL, s), 0);
        return;
    }
    CHECK_EQ(sched_spawn(posts, NULL, s), 0);
    while (!posts_begun)
        pause_us(100);
    CHECK_EQ(sched_group_spawn(&group, waits_by_null, NULL, outer), 0);
    CHECK_EQ(sched_group_wait(&group, outer), 0);
}

/* The only worker of the inner run: a thread of the program posts. The spawn leaves the task a stack for children, in
 * kind cont, when it waits. */
static void *posts_alone(void *unused)
{
    posts(unused, NULL);
    return NULL;
}

static void nothing(void *unused, struct scheduler *s)
{
}

static void inner_alone(void *unused, struct scheduler *s)
{
    pthread_t poster;
    CHECK_EQ(sched_spawn(nothing, NULL, s), 0);
    CHECK_EQ(pthread_create(&poster, NULL, posts_alone, NULL), 0);
    CHECK_EQ(sched_group_spawn(&group, waits_by_null, NULL, outer), 0);
    CHECK_EQ(sched_group_wait(&group, outer), 0);
    CHECK_EQ(sched_spawn(nothing, NULL, s), 0);
    CHECK_EQ(pthread_join(poster, NULL), 0);
}

static int is_alone;

static void starts_inner(void *unused, struct scheduler *s)
{
    outer = s;
    thread = pthread_self();
    CHECK_EQ(is_alone ? sched_init(1, 0, inner_alone, NULL) : sched_init(2, 0, inner, NULL), 0);
}

int main(int argc, char **argv)
{
    is_alone = argc > 1 && strcmp(argv[1], "alone") == 0;
    unsetenv("SCHED_THREADS"); /* the outer run has one worker, the inner one two */
    for (int i = 0; i < ROUNDS; i++) {
        group = (struct sched_group)SCHED_GROUP_INIT;
        CHECK_EQ(sched_sem_init(&sem, 0), 0);
        waits = posts_begun = 0;
        CHECK_EQ(sched_init(1, 0, starts_inner, NULL), 0);
    }
    return 0;
}
