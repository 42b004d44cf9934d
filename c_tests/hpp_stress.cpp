/* sched.hpp: all of it at once, chosen at random: what is counted is right, and what was made is gone.
 * ctest: debug
 * ctest: matrix few */
#include "check.h"
#include "counted.hpp"
#include <sched.hpp>
#include <stdexcept>
#include <string>

static std::atomic<long> leaves;
static sched::mutex lock;
static long under_lock;

static unsigned next(unsigned seed)
{
    return (seed ^ (seed >> 15)) * 2654435761u + 12345;
}

/* A tree of 2^depth leaves, each made in one of several ways; some throw when all is counted. */
static void grow(int depth, unsigned seed)
{
    Counted counted;
    if (depth == 0) {
        leaves++;
        std::lock_guard<sched::mutex> guard(lock);
        under_lock++;
        return;
    }
    unsigned left = next(seed), right = next(left);
    switch (seed >> 8 & 7) {
    case 0:
    case 1:
        sched::fork_join([=] { grow(depth - 1, left); }, [=] { grow(depth - 1, right); });
        break;
    case 2: {
        sched::group g;
        g.spawn([=, c = Counted()] { grow(depth - 1, left); });
        g.spawn([=] { grow(depth - 1, right); });
        g.wait();
        break;
    }
    case 3:
        sched::parallel_for(0, 2, [=](int i) { grow(depth - 1, i ? right : left); }, 1);
        break;
    case 4: {
        std::string both = sched::parallel_reduce(0, 2, std::string(), [=](std::string &s, int i) {
            grow(depth - 1, i ? right : left);
            s += std::to_string(i);
        }, std::plus<>(), 1);
        CHECK(both == "01");
        break;
    }
    case 5:
        try {
            sched::fork_join([=] { grow(depth - 1, left); }, [=, c = Counted()] {
                grow(depth - 1, right);
                throw std::runtime_error("expected");
            });
            CHECK(!"no exception");
        } catch (const std::runtime_error &) {
            sched::yield();
        }
        break;
    case 6:
        sched::spawn([=, p = std::make_unique<int>(depth)] { grow(*p - 1, left); });
        grow(depth - 1, right);
        break;
    default: {
        sched::group g;
        for (int i = 0; i < 2; i++)
            g.spawn([=] {
                grow(depth - 1, i ? right : left);
                throw i;
            });
        try {
            g.wait();
            CHECK(!"no exception");
        } catch (int i) {
            CHECK(i == 0 || i == 1);
        }
    }
    }
}

int main()
{
    enum { DEPTH = SMALLER > 1 ? 5 : 8 };
    for (unsigned seed = 1; seed <= 10; seed++) {
        leaves = under_lock = 0;
        sched::run(4, [=] { grow(DEPTH, next(seed * 77)); });
        CHECK_EQ(leaves, 1 << DEPTH);
        CHECK_EQ(under_lock, 1 << DEPTH);
        CHECK_EQ(alive, 0);
    }
    return 0;
}
