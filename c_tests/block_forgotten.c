/* A task that returns in a blocking section ends the process with a message, whatever kind of task it is; one
 * that returns in a child which it made there is told that.
 * ctest: static debug
 * ctest: matrix deque=mutex,split,ring threads=1,4
 * ctest: matrix deque=mutex,split idle=park threads=1,4 join=help */
#include "block.h"
#include "child.h"

static const char message[] = "a sched_block_end is missing";

static void forgets(void *closure, struct scheduler *s)
{
    begin(s);
}

static void forgets_outer(void *closure, struct scheduler *s)
{
    begin(s);
    begin(s);
    pause_us(1000);
    end(s);
}

static void nothing(void *closure, struct scheduler *s)
{
}

static void spawned(void *closure, struct scheduler *s)
{
    spawn_all(10, nothing, s);
    CHECK_EQ(sched_spawn(forgets, NULL, s), 0);
    spawn_all(10, nothing, s);
}

static void copied(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn_copy(forgets, message, sizeof message, s), 0);
}

static void forked(void *closure, struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, forgets, closure, s);
    pause_us(2000);
    sched_join(&t, s);
}

static void grouped(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    CHECK_EQ(sched_group_spawn(&g, forgets, closure, s), 0);
    sched_group_wait(&g, s);
}

static void body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    if (lo == 500)
        forgets(ctx, s);
}

static void looped(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_for(0, 1000, 1, body, closure, s), 0);
}

static void after_others(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 100; i++)
        block(10, s);
    forgets(closure, s);
}

static void in_a_run(void *closure, struct scheduler *s)
{
    begin(s);
    sched_init(2, 4, forgets, closure);
    end(s);
}

static void child_returns(void *closure, struct scheduler *s)
{
    begin(s);
    if (fork() == 0)
        return;
    _exit(0);
}

static void start(void *task)
{
    sched_init(2, 4, *(taskfunc *)task, NULL);
    check_say("sched_init came back\n");
}

int main(void)
{
    taskfunc ways[] = {forgets, forgets_outer, spawned, copied, forked, grouped, looped, after_others, in_a_run};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        in_child(start, &ways[i]);
        CHECK_CHILD_ABORTED("a sched_block_end is missing");
        CHECK(strstr(child.said, "came back") == NULL);
    }
    taskfunc returning = child_returns;
    in_child(start, &returning);
    CHECK_CHILD_SAID("returned in a child");
    return 0;
}
