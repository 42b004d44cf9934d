/* throws: exceptions in tasks. */
#include "case.h"
#include "child.h"
#include "aside.h"
#include "where.h"
#include "retaken.h"
#include <atomic>
#include <exception>
#include <sched_tasks.h>
#include <stdexcept>
#include <initializer_list>
#include <string>

/* cont_throw: Kind cont: a task that handles an exception spawns, and goes on in its handler, in
 * another thread perhaps; the child throws and catches meanwhile, and has none at first.
 * ctest: matrix with=calls */
enum { CONT_THROW_ROUNDS = 300, DEPTH = 4 };

static std::atomic<int> cont_throw_caught;

static void cont_throw_throws(void *closure, struct scheduler *s)
{
    long depth = (long)closure;
    CHECK(std::current_exception() == nullptr);
    try {
        throw depth;
    } catch (long mine) {
        if (depth > 0) {
            CHECK_EQ(sched_spawn(cont_throw_throws, (void *)(depth - 1), s), 0);
            sched_task t;
            sched_fork(&t, cont_throw_throws, (void *)(depth - 1), s);
            sched_join(&t, s);
        }
        try {
            throw;
        } catch (long again) {
            CHECK_EQ(again, depth);
            CHECK_EQ(mine, depth);
            cont_throw_caught++;
        }
    }
    CHECK(std::current_exception() == nullptr);
}

CASE(cont_throw)
{
    for (int i = 0; i < CONT_THROW_ROUNDS; i++) {
        cont_throw_caught = 0;
        CHECK_EQ(sched_init(4, 4, cont_throw_throws, (void *)(long)DEPTH), 0);
        CHECK_EQ(cont_throw_caught, (1 << (DEPTH + 1)) - 1);
    }
}

/* suspend_throw: C++ exceptions and tasks that wait: one is thrown and caught on any stack; a task
 * may wait in a handler, and goes on in it, in another thread perhaps, while other tasks throw and
 * catch. One that leaves a task which has waited ends the process with a message.
 * ctest: static debug
 * ctest: matrix deque=mutex,split,chaselev idle=park
 * ctest: matrix deque=mutex,split idle=park join=help */
enum { TASKS = 30, SUSPEND_THROW_ROUNDS = 20 };

static int ended;

static void fork_child(void *closure, struct scheduler *)
{
    try {
        throw 2;
    } catch (int two) {
        __atomic_fetch_add(static_cast<int *>(closure), two, __ATOMIC_SEQ_CST);
    }
}

static void suspend_throw_throws(void *closure, struct scheduler *s)
{
    int me = *static_cast<int *>(closure), sum = 0;
    for (int i = 0; i < SUSPEND_THROW_ROUNDS; i++) {
        try {
            sched_task_yield(s);
            throw std::runtime_error(std::to_string(me));
        } catch (const std::runtime_error &e) {
            CHECK_EQ(atoi(e.what()), me);
            sched_task_yield(s);
            CHECK_EQ(atoi(e.what()), me);
            try {
                sched_group g = SCHED_GROUP_INIT;
                CHECK_EQ(sched_group_spawn(&g, fork_child, &sum, s), 0);
                CHECK_EQ(sched_group_wait(&g, s), 0);
                throw;
            } catch (const std::runtime_error &again) {
                sched_task_yield(s);
                CHECK_EQ(atoi(again.what()), me);
                CHECK(std::current_exception() != nullptr);
            }
        }
        CHECK(std::current_exception() == nullptr);
    }
    CHECK_EQ(sum, 2 * SUSPEND_THROW_ROUNDS);
    __atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
}

static void suspend_throw_root(void *, struct scheduler *s)
{
    static int number[TASKS];
    for (int i = 0; i < TASKS; i++) {
        number[i] = 1000 + i;
        CHECK_EQ(sched_spawn(suspend_throw_throws, &number[i], s), 0);
    }
    try {
        throw 7;
    } catch (int seven) {
        int inner = 0;
        CHECK_EQ(sched_init(2, 4, fork_child, &inner), 0);
        CHECK_EQ(inner, 2);
        change_thread(s);
        CHECK_EQ(seven, 7);
        CHECK(std::current_exception() != nullptr);
    }
}

static void leaves(void *, struct scheduler *s)
{
    change_thread(s);
    sched_task_yield(s);
    throw std::runtime_error("thrown by a task");
}

/* A run whose caller would catch what its tasks throw. */
static void run_and_catch(taskfunc first, void *closure)
{
    try {
        sched_init(4, 4, first, closure);
    } catch (...) {
        check_say("caught by the caller\n");
        _exit(3);
    }
    check_say("sched_init came back\n");
}

static void suspend_throw_body(void *)
{
    run_and_catch(leaves, nullptr);
}

CASE(suspend_throw)
{
    CHECK_EQ(sched_init(4, 4, suspend_throw_root, nullptr), 0);
    CHECK_EQ(ended, TASKS);
    in_child(suspend_throw_body, nullptr);
    CHECK_CHILD_ABORTED("exception");
}

/* throw: A C++ exception that leaves a task aborts the process with a message, even when the caller
 * of sched_init would catch it. One that is caught inside a task is the task's own.
 * ctest: static
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
static void throw_throws(struct scheduler *)
{
    throw std::runtime_error("thrown by a task");
}

static void throw_body(void *deed)
{
    run_and_catch(seek_place, deed);
}

static int throw_caught;

static void inside(void *, struct scheduler *)
{
    try {
        throw 5;
    } catch (int five) {
        __atomic_fetch_add(&throw_caught, five, __ATOMIC_SEQ_CST);
    }
}

static void throw_root(void *, struct scheduler *s)
{
    CHECK_TIMES(20, sched_spawn(inside, nullptr, s));
}

CASE(throw)
{
    CHECK_EQ(sched_init(4, 4, throw_root, nullptr), 0);
    CHECK_EQ(throw_caught, 100);
    for (int caller = threads_of(4) == 1; caller < 2; caller++) {
        struct deed deed = {throw_throws, caller, nullptr};
        in_child(throw_body, &deed);
        CHECK_CHILD_ABORTED("exception");
    }
}

/* throw_through: A C++ exception that leaves a function which the library calls ends the process
 * with a message that says whose function it was; also where a task has a handler around the call
 * of the library. One rule for all functions, on any stack.
 * ctest: static debug
 * ctest: matrix deque=mutex,split idle=park threads=1,4
 * ctest: matrix deque=split,chaselev idle=park join=help threads=1,4 */
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

static void reduce(struct scheduler *s, decltype(&add) throw_through_body, decltype(&combine) combination)
{
    long zero = 0, sum;
    CHECK_EQ(sched_reduce(0, N, 1, sizeof sum, &zero, throw_through_body, combination, nullptr, &sum, s), 0);
}

static void do_reduce(struct scheduler *s)
{
    reduce(s, add_badly, combine);
}

static void do_combine(struct scheduler *s)
{
    reduce(s, add, combine_badly);
}

static void reduce_relaxed(struct scheduler *s, decltype(&add) throw_through_body, decltype(&combine) combination)
{
    long zero = 0, sum;
    CHECK_EQ(sched_reduce_relaxed(0, N, 1, sizeof sum, &zero, throw_through_body, combination, nullptr, &sum, s), 0);
}

static void do_reduce_relaxed(struct scheduler *s)
{
    reduce_relaxed(s, add_badly, combine);
}

static void scan_badly(size_t lo, size_t hi, void *acc, const void *before, void *ctx, struct scheduler *s)
{
    if (before)
        add_badly(lo, hi, acc, ctx, s);
}

static void do_scan(struct scheduler *s)
{
    long zero = 0;
    CHECK_EQ(sched_scan(0, N, 1, sizeof zero, &zero, scan_badly, combine, nullptr, nullptr, s), 0);
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

static void do_timer(struct scheduler *s)
{
    static sched_timer timer = SCHED_TIMER_INIT;
    CHECK_EQ(sched_timer_start(&timer, sched_now() + SCHED_MILLISECOND, task, nullptr, s), 0);
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
    {do_scan, "a body or a combination of sched_scan;"},
    {do_sort, "a comparison of sched_sort;"},
    {do_sort_few, "a comparison of sched_sort;"},
    {do_join, "a task of sched_fork;"},
    {do_join_first, "a task of sched_fork;"},
    {do_group, "a task of sched_group_spawn;"},
    {do_copy, "a task of sched_spawn_copy;"},
    {do_timer, "the function of a timer;"},
    {do_spawn, "a task;"},
    {do_yield, "a task;"},
    {do_wait_in_for, "a task;"},
    {do_section, "a body of sched_for;"},
    {do_run, "a task of sched_fork;"},
    {do_pool_in_task, "a task of sched_fork;"},
    {join_retaken, "a task of sched_fork;"},
};

enum { DEEDS = sizeof deeds / sizeof *deeds };

static void throw_through_root(void *deed, struct scheduler *s)
{
    try {
        deeds[*static_cast<int *>(deed)].act(s);
    } catch (...) {
        caught_by_task();
    }
}

static void throw_through_body(void *deed)
{
    run_and_catch(throw_through_root, deed);
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

CASE(throw_through)
{
    for (int deed = 0; deed < DEEDS; deed++) {
        in_child(throw_through_body, &deed);
        check_said(deed, deeds[deed].left);
    }
    for (thrower = 0; thrower < FORKS; thrower++) {
        int last = DEEDS - 1;
        in_child(throw_through_body, &last);
        check_said(last, deeds[last].left);
    }
    in_child(on_pool, nullptr);
    check_said(-1, "a task of sched_fork;");
}

/* From here on the compiler puts spawns, forks and joins into the program. */
#include <sched_sort.h>

/* sort_throw: A C++ exception that leaves the comparison of SCHED_SORT or SCHED_STABLE_SORT ends
 * the process, also where the caller would catch it and compares itself. One that is caught inside
 * is the comparison's own.
 * ctest: matrix few idle=park threads=1,4 */
static bool sort_throw_throws(int a, int b)
{
    if (a + b > 0)
        throw 5;
    return a < b;
}

static bool catches(int a, int b)
{
    try {
        throw a < b;
    } catch (bool less) {
        return less;
    }
}

SCHED_SORT(sort_throws, int, sort_throw_throws(*a, *b))
SCHED_STABLE_SORT(sort_stable_throws, int, sort_throw_throws(*a, *b))
SCHED_SORT(sort_catches, int, catches(*a, *b))
SCHED_STABLE_SORT(sort_stable_catches, int, catches(*a, *b))

struct sort_throw_deed {
    size_t n;
    bool stable;
};

static int numbers[5000];

static void sort_throw_body(void *p)
{
    sort_throw_deed *d = static_cast<sort_throw_deed *>(p);
    try {
        if (!d->stable)
            sort_throws(numbers, d->n, nullptr);
        else if (sort_stable_throws(numbers, d->n, nullptr) != 0)
            _exit(4);
    } catch (...) {
        _exit(3);
    }
}

static void fill(size_t n)
{
    for (size_t i = 0; i < n; i++)
        numbers[i] = static_cast<int>(i * 7919 % n);
}

CASE(sort_throw)
{
    for (size_t n : {10, 1000, 5000}) {
        for (bool stable : {false, true}) {
            fill(n);
            sort_throw_deed d = {n, stable};
            in_child(sort_throw_body, &d);
            CHECK_CHILD_ABORTED("");
            if (!stable)
                sort_catches(numbers, n, nullptr);
            else
                CHECK_EQ(sort_stable_catches(numbers, n, nullptr), 0);
            for (size_t i = 0; i < n; i++)
                CHECK_EQ(numbers[i], i);
        }
    }
}
