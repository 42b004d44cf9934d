/* A program compiled with stack protector and fortified functions works, where its tasks wait and
 * continue in other threads, too; and what these find on the stack of a task ends the process with
 * their message.
 * ctest: cflags=-fstack-protector-all,-U_FORTIFY_SOURCE,-D_FORTIFY_SOURCE=2
 * ctest: matrix few idle=park threads=1,4 */
#include "child.h"
#include <sched_tasks.h>

enum { DEEP = 9, TASKS = 1 << DEEP, ROOM = 64 };

static volatile size_t beyond = 16; /* unknown to the compiler */

/* Waits with a guarded frame on its stack, and returns through it on the thread that it continued
 * in. */
static void tree(void *closure, struct scheduler *s)
{
    long *n = closure, left = *n - 1, right = *n - 1;
    char room[ROOM];
    memset(room, (int)*n, sizeof room);
    if (*n == 0) {
        *n = 1;
        return;
    }
    sched_task t;
    sched_fork(&t, tree, &left, s);
    tree(&right, s);
    sched_task_yield(s);
    sched_join(&t, s);
    for (size_t i = 0; i < sizeof room; i++)
        CHECK_EQ(room[i], *n);
    *n = left + right;
}

static void smash(void *closure, struct scheduler *s)
{
    char room[ROOM];
    sched_task_yield(s);
    for (volatile char *p = room; p < room + sizeof room + beyond; p++)
        *p = 'x';
}

static void overflow(void *closure, struct scheduler *s)
{
    char room[ROOM], from[2 * ROOM] = "";
    sched_task_yield(s);
    memcpy(room, from, sizeof room + beyond);
    CHECK(room[0] == 0);
}

static void run(void *f)
{
    CHECK_EQ(sched_init(2, 0, *(taskfunc *)f, NULL), 0);
}

int main(void)
{
    long n = DEEP;
    CHECK_EQ(sched_init(2, 0, tree, &n), 0);
    CHECK_EQ(n, TASKS);

    taskfunc wrong[] = {smash, overflow};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        in_child(run, &wrong[i]);
        CHECK(WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGABRT);
        CHECK(strstr(child.said, i == 0 ? "stack smashing detected" : "buffer overflow detected"));
    }
    return 0;
}
