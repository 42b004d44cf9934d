/* C++ exceptions and tasks that wait: one is thrown and caught on any stack; a task may wait in a handler,
 * and goes on in it, in another thread perhaps, while other tasks throw and catch. One that leaves a
 * task which has waited ends the process with a message.
 * ctest: static debug
 * ctest: matrix deque=mutex,split,chaselev idle=park
 * ctest: matrix deque=mutex,split idle=park join=help */
#include "aside.h"
#include "child.h"
#include <stdexcept>
#include <string>

enum { TASKS = 30, ROUNDS = 20 };

static int ended;

static void fork_child(void *closure, struct scheduler *)
{
    try {
        throw 2;
    } catch (int two) {
        __atomic_fetch_add(static_cast<int *>(closure), two, __ATOMIC_SEQ_CST);
    }
}

static void throws(void *closure, struct scheduler *s)
{
    int me = *static_cast<int *>(closure), sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
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
    CHECK_EQ(sum, 2 * ROUNDS);
    __atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
}

static void root(void *, struct scheduler *s)
{
    static int number[TASKS];
    for (int i = 0; i < TASKS; i++) {
        number[i] = 1000 + i;
        CHECK_EQ(sched_spawn(throws, &number[i], s), 0);
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

static void body(void *)
{
    try {
        sched_init(4, 4, leaves, nullptr);
    } catch (...) {
        check_say("caught by the caller\n");
        _exit(3);
    }
    check_say("sched_init came back\n");
}

int main()
{
    CHECK_EQ(sched_init(4, 4, root, nullptr), 0);
    CHECK_EQ(ended, TASKS);
    in_child(body, nullptr);
    CHECK_CHILD_ABORTED("exception");
    return 0;
}
