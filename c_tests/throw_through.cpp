/* A C++ exception that leaves a function which the library calls ends the process with a message that says whose function
 * it was; also where a task has a handler around the call of the library. One rule for all functions, on any stack.
 * ctest: static debug
 * ctest: matrix deque=mutex,split idle=park threads=1,4
 * ctest: matrix deque=split,chaselev idle=park join=help threads=1,4 */
#include "child.h"
#include <sched_tasks.h>
#include "retaken.h"

enum { N = 3000 };

/* Nearly each of them throws: some on the stack of the caller, others on another worker's. */
static void fail()
{
    throw std::runtime_error("thrown by a function of the program");
}

static void caught_by_task()
{
    check_say("caught by the task\n");
    _exit(3);
}

static void task(void *, struct scheduler *)
{
    fail();
}

static void loop_body(size_t, size_t hi, void *all, struct scheduler *)
{
    if (all || hi == N)
        fail();
}

static void add(size_t, size_t, void *, void *, struct scheduler *) {}

static void add_badly(size_t, size_t, void *, void *, struct scheduler *)
{
    fail();
}

static void combine(void *, const void *, void *) {}

static void combine_badly(void *, const void *, void *)
{
    fail();
}

static int compare_badly(const void *, const void *)
{
    fail();
    return 0;
}

static void do_for(struct scheduler *s)
{
    static char all;
    CHECK_EQ(sched_for(0, N, 0, loop_body, &all, s), 0);
}

static void do_last_of_for(struct scheduler *s)
{
    CHECK_EQ(sched_for(0, N, 1, loop_body, nullptr, s), 0);
}

static void reduce(struct scheduler *s, decltype(&add) body, decltype(&combine) combination)
{
    long zero = 0, sum;
    CHECK_EQ(sched_reduce(0, N, 1, sizeof sum, &zero, body, combination, nullptr, &sum, s), 0);
}

static void do_reduce(struct scheduler *s)
{
    reduce(s, add_badly, combine);
}

static void do_combine(struct scheduler *s)
{
    reduce(s, add, combine_badly);
}

static void reduce_relaxed(struct scheduler *s, decltype(&add) body, decltype(&combine) combination)
{
    long zero = 0, sum;
    CHECK_EQ(sched_reduce_relaxed(0, N, 1, sizeof sum, &zero, body, combination, nullptr, &sum, s), 0);
}

static void do_reduce_relaxed(struct scheduler *s)
{
    reduce_relaxed(s, add_badly, combine);
}

static void do_sort(struct scheduler *s)
{
    static long a[2 * N];
    CHECK_EQ(sched_sort(a, 2 * N, sizeof *a, compare_badly, s), 0);
}

static void do_sort_few(struct scheduler *s)
{
    static long a[4];
    CHECK_EQ(sched_sort(a, 4, sizeof *a, compare_badly, s), 0);
}

static void do_join(struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, task, nullptr, s);
    sched_join(&t, s);
}

/* In an order in which none is at the end of the queue. */
static void do_join_first(struct scheduler *s)
{
    sched_task t[2];
    sched_fork(&t[0], task, nullptr, s);
    sched_fork(&t[1], task, nullptr, s);
    sched_join(&t[0], s);
    sched_join(&t[1], s);
}

static void do_group(struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    CHECK_EQ(sched_group_spawn(&g, task, nullptr, s), 0);
    sched_group_wait(&g, s);
}

static void wait_for_ever(struct scheduler *s)
{
    static sched_sem never = SCHED_SEM_INIT(0);
    sched_sem_wait(&never, s);
}

static void do_copy(struct scheduler *s)
{
    CHECK_EQ(sched_spawn_copy(task, "", 1, s), 0);
    wait_for_ever(s);
}

static void do_spawn(struct scheduler *s)
{
    CHECK_EQ(sched_spawn(task, nullptr, s), 0);
    wait_for_ever(s);
}

static void do_yield(struct scheduler *s)
{
    CHECK_EQ(sched_spawn(task, nullptr, s), 0);
    for (;;)
        sched_task_yield(s);
}

/* A loop whose body waits: other tasks' exceptions are not its own. */
static void waiting_body(size_t, size_t, void *, struct scheduler *s)
{
    wait_for_ever(s);
}

static void do_wait_in_for(struct scheduler *s)
{
    CHECK_EQ(sched_spawn(task, nullptr, s), 0);
    CHECK_EQ(sched_for(0, 2, 0, waiting_body, nullptr, s), 0);
}

static void do_section(struct scheduler *s)
{
    int began = sched_block_begin(s) == 0;
    CHECK_EQ(sched_for(0, N, 0, loop_body, &began, s), 0);
}

static void inner_root(void *, struct scheduler *s)
{
    do_join(s);
}

static void do_run(struct scheduler *)
{
    sched_init(2, 4, inner_root, nullptr);
}

static void do_pool_in_task(struct scheduler *)
{
    struct sched_pool *pool = sched_pool_create(nullptr);
    CHECK(pool != nullptr);
    CHECK_EQ(sched_pool_run(pool, inner_root, nullptr), 0);
}

static const struct {
    void (*act)(struct scheduler *);
    const char *left;
} deeds[] = {
    {do_for, "a body of sched_for;"},
    {do_last_of_for, "a body of sched_for;"},
    {do_reduce, "a body or a combination of sched_reduce;"},
    {do_combine, "a body or a combination of sched_reduce;"},
    {do_reduce_relaxed, "a body or a combination of sched_reduce_relaxed;"},
    {do_sort, "a comparison of sched_sort;"},
    {do_sort_few, "a comparison of sched_sort;"},
    {do_join, "a task of sched_fork;"},
    {do_join_first, "a task of sched_fork;"},
    {do_group, "a task of sched_group_spawn;"},
    {do_copy, "a task of sched_spawn_copy;"},
    {do_spawn, "a task;"},
    {do_yield, "a task;"},
    {do_wait_in_for, "a task;"},
    {do_section, "a body of sched_for;"},
    {do_run, "a task of sched_fork;"},
    {do_pool_in_task, "a task of sched_fork;"},
    {join_retaken, "a task of sched_fork;"},
};

enum { DEEDS = sizeof deeds / sizeof *deeds };

static void root(void *deed, struct scheduler *s)
{
    try {
        deeds[*static_cast<int *>(deed)].act(s);
    } catch (...) {
        caught_by_task();
    }
}

static void body(void *deed)
{
    try {
        sched_init(4, 16, root, deed);
    } catch (...) {
        check_say("caught by the caller\n");
        _exit(4);
    }
    check_say("sched_init came back\n");
}

/* Not from a task: the workers do it all. */
static void on_pool(void *)
{
    struct sched_pool *pool = sched_pool_create(nullptr);
    CHECK(pool != nullptr);
    try {
        CHECK_EQ(sched_pool_run(pool, inner_root, nullptr), 0);
    } catch (...) {
        caught_by_task();
    }
}

static void check_said(int deed, const char *left)
{
    char wanted[128];
    snprintf(wanted, sizeof wanted, "libsched: an exception left %s", left);
    if (!WIFSIGNALED(child.status) || WTERMSIG(child.status) != SIGABRT || !strstr(child.said, wanted)) {
        char text[64];
        snprintf(text, sizeof text, "deed %d:\n", deed);
        check_say(text);
        check_child(__FILE__, __LINE__, 0, wanted);
    }
}

int main()
{
    for (int deed = 0; deed < DEEDS; deed++) {
        in_child(body, &deed);
        check_said(deed, deeds[deed].left);
    }
    for (thrower = 0; thrower < FORKS; thrower++) {
        int last = DEEDS - 1;
        in_child(body, &last);
        check_said(last, deeds[last].left);
    }
    in_child(on_pool, nullptr);
    check_said(-1, "a task of sched_fork;");
    return 0;
}
