/* fork; call; join: fib without a cut-off. Each forked task is counted once, whoever ran it.
 * ctest: static debug
 * ctest: matrix refuse stats=2584
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace stats=2584 */
#include "check.h"
#include "fib.h"

enum { N = 17, FIB_N = 1597 }; /* fib(N) forks fib(N + 1) - 1 tasks */

int main(void)
{
    long n = N;
    CHECK_EQ(sched_init(4, 10, fib, &n), 0);
    CHECK_EQ(n, FIB_N);
    return 0;
}
