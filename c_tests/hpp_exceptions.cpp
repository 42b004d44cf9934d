/* sched.hpp: an exception that leaves a task of spawn comes out of the run of that task, once all tasks of the run have
 * ended. Outside of a run it calls std::terminate. A task may wait while an exception is under way.
 * ctest: static debug
 * ctest: matrix few */
#include "child.h"
#include <sched.hpp>
#include <stdexcept>
#include <string>

enum { TASKS = 50 };

static std::atomic<int> ended;

struct Ends {
    ~Ends() { ended++; }
};

/* The text of what comes out of a run of f. */
template <class F> static std::string out_of_run(int threads, F f)
{
    try {
        sched::run(threads, f);
    } catch (const std::runtime_error &e) {
        CHECK_EQ(std::uncaught_exceptions(), 0);
        return e.what();
    }
    CHECK(std::current_exception() == nullptr);
    return "none";
}

static void nested(int depth, const char *text)
{
    Ends ends;
    if (depth == 0)
        throw std::runtime_error(text);
    sched::spawn([=] { nested(depth - 1, text); });
    sched::yield();
}

static void from_tasks(int threads)
{
    ended = 0;
    CHECK(out_of_run(threads, [] { nested(10, "deep"); }) == "deep");
    CHECK_EQ(ended, 11);

    /* All tasks still run, and one of the exceptions comes out. */
    ended = 0;
    std::string text = out_of_run(threads, [] {
        for (int i = 0; i < TASKS; i++)
            sched::spawn([i, p = std::make_unique<int>(i)] {
                Ends ends;
                sched::yield();
                if (*p % 2)
                    throw std::runtime_error("task " + std::to_string(i));
            });
        throw std::runtime_error("task -1");
    });
    CHECK_EQ(text.compare(0, 5, "task "), 0);
    int number = atoi(text.c_str() + 5);
    CHECK(number == -1 || number % 2 == 1);
    CHECK_EQ(ended, TASKS);
    CHECK(out_of_run(threads, [] { sched::spawn([] {}); }) == "none");
}

/* Each exception comes out of the run of its own task. */
static void from_runs(int threads)
{
    ended = 0;
    std::string inner[TASKS], outer = out_of_run(threads, [&] {
        for (int i = 0; i < TASKS; i++)
            sched::spawn([=, &inner] {
                std::string mine = "inner " + std::to_string(i);
                inner[i] = out_of_run(2, [&] { sched::spawn([&] { nested(2, mine.c_str()); }); });
                if (i == 7)
                    throw std::runtime_error("outer");
            });
    });
    CHECK(outer == "outer");
    for (int i = 0; i < TASKS; i++)
        CHECK(inner[i] == "inner " + std::to_string(i));
}

/* Waits in its destructor, and in the handler. */
static void waiting(int threads)
{
    struct Waits {
        ~Waits()
        {
            sched::fork_join([] { sched::yield(); }, [] { sched::yield(); });
            try {
                sched::yield();
                throw std::runtime_error("inner");
            } catch (const std::runtime_error &e) {
                sched::yield();
                CHECK_EQ(strcmp(e.what(), "inner"), 0);
            }
            CHECK_EQ(std::uncaught_exceptions(), 1);
        }
    };
    sched::run(threads, [] {
        sched::parallel_for(0, (int)TASKS, [](int i) {
            try {
                Waits waits;
                throw std::runtime_error(std::to_string(i));
            } catch (const std::runtime_error &e) {
                sched::yield();
                CHECK_EQ(atoi(e.what()), i);
                try {
                    sched::fork_join([&] { throw; }, [] { sched::yield(); });
                } catch (const std::runtime_error &again) {
                    CHECK_EQ(atoi(again.what()), i);
                }
            }
        }, 1);
    });
}

static void thrown_on_pool(void *)
{
    std::set_terminate([] {
        check_say("terminated\n");
        _exit(3);
    });
    sched::spawn([] { throw 1; });
    pause_us(10000000);
}

int main()
{
    for (int threads : {1, 4}) {
        from_tasks(threads);
        from_runs(threads);
        waiting(threads);
    }
    in_child(thrown_on_pool, nullptr);
    CHECK_CHILD_EXITED(3);
    return 0;
}
