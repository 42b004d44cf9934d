/* C++: closures as tasks, with values, and an exception that comes out of the run. */
#include <sched.hpp>
#include <cstdio>
#include <stdexcept>
#include <string>

static long fib(int n)
{
    if (n < 2)
        return n;
    auto [a, b] = sched::fork_join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
    return a + b;
}

int main()
{
    std::string letters = sched::parallel_reduce( /* outside of a run: on the default pool */
        'a', 'k', std::string(), [](std::string &s, char c) { s += c; }, std::plus<>());
    std::printf("Hello, %s!\n", letters.c_str());
    try {
        sched::run(0, [] {
            sched::spawn([text = std::string("a task")] { throw std::runtime_error("from " + text); });
            std::printf("fib(20) is %ld\n", fib(20));
        });
    } catch (const std::runtime_error &e) {
        std::printf("Hello, exception %s!\n", e.what());
        return 0;
    }
    return 1;
}
