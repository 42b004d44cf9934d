/* The thread that has made a pool forks tasks by an s of the pool's, and joins them, without being a task: the pool's
 * workers run them, and the thread itself those that nobody has begun, except in kind serial. It may call sched_for,
 * too. By NULL they are the default pool's.
 * ctest: static debug
 * ctest: matrix deque=split,mutex,chaselev,ring idle=park,spin threads=1,2,4 */
#include "null.h"
#include "pool.h"

#include "fib.h"

enum { N = 100 };

static int main_thread;
static atomic_int foreign;

static void keep(void *closure, struct scheduler *s)
{
    *(struct scheduler **)closure = s;
}

static void forked(void *n, struct scheduler *s)
{
    foreign += thread_id() == main_thread;
    fib(n, s);
}

static void forks(struct scheduler *s, int backwards)
{
    static sched_task tasks[N];
    static long numbers[N];
    for (int i = 0; i < N; i++) {
        numbers[i] = 10;
        sched_fork(&tasks[i], forked, &numbers[i], s);
    }
    for (int i = 0; i < N; i++) {
        int at = backwards ? N - 1 - i : i;
        sched_join(&tasks[at], s);
        CHECK_EQ(numbers[at], 55);
    }
    if (kind_is("serial"))
        CHECK_EQ(foreign, 0);
}

int main(void)
{
    struct scheduler *s;
    main_thread = thread_id();
    struct sched_pool *pool = pool_of(4);
    CHECK_EQ(sched_pool_run(pool, keep, &s), 0);
    for (int round = 0; round < 4; round++) {
        forks(s, round % 2);
        forks(NULL, round % 2);
    }
    atomic_long sum = 0;
    CHECK_EQ(sched_for(0, NUMBERS, 7, null_add, (void *)&sum, s), 0);
    CHECK_EQ(sum, NUMBERS * (NUMBERS - 1) / 2);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    forks(NULL, 0);
    return 0;
}
