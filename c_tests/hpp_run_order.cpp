/* sched.hpp: an exception of a task is thrown by the call of run that began the task's run. Here that call is made
 * before another one, and begins its run after the other's run has ended, with the same worker record.
 * ctest: matrix few */
#include "thrown.hpp"
#include <sched_tasks.h>
#include <atomic>
#include <thread>

static std::atomic<int> step; /* 1: the first call is made; 2: the run of the second has ended; 3: the first is over */
static thread_local bool is_first;

static void wait_for(int when)
{
    while (step < when)
        pause_us(100);
}

/* sched_init, as sched.hpp calls it. The first call's run begins when the second's has ended. */
static int begin(int workers, int qlen, taskfunc f, void *closure)
{
    if (is_first) {
        step = 1;
        wait_for(2);
    }
    return sched_init(workers, qlen, f, closure);
}
#define sched_init begin
#include <sched.hpp>
#undef sched_init

static struct scheduler *record_of_run()
{
    static struct scheduler *record;
    CHECK_EQ(sched_init(1, 0, [](void *, struct scheduler *s) { record = s; }, nullptr), 0);
    return record;
}

/* Runs until the record of the run before is the next one: they are used in turn. */
static void come_round()
{
    struct scheduler *first = record_of_run();
    int records = 1;
    while (record_of_run() != first)
        records++;
    for (int i = 2; i < records; i++)
        record_of_run();
}

struct Value {
    Value() = default;
    Value(Value &&other) : is_returned(true)
    {
        if (other.is_returned) { /* by run, whose tasks have ended */
            come_round();
            step = 2;
            wait_for(3);
        }
    }
    bool is_returned = false;
};

int main()
{
    std::thread first([] {
        is_first = true;
        CHECK_EQ(thrown_by<int>([] { sched::run(1, [] { sched::spawn([] { throw 7; }); }); }), 7);
        step = 3;
    });
    wait_for(1);
    sched::run(1, [] { return Value(); });
    first.join();
    return 0;
}
