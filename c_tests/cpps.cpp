/* cpps: sched_tasks.h from C++. */
#include "case.h"
#include "shown.h"
#include <atomic>
#include <exception>
#include <sched_tasks.h>
#include <type_traits>

/* cont_refused_cpp: Kind cont beside C++'s runtime: forks nested deeper than the queue has room. A
 * refused one is called at once, as in C (fork_full), and an exception that its forker handles is
 * the same one afterwards.
 * ctest: matrix with=calls overflow=refuse */
enum { DEPTH = 40, QLEN = 5, ROUNDS = 50 };

static std::atomic<int> begun;

static void nest(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    begun++;
    if (i == 1)
        return;
    try {
        throw i;
    } catch (long) {
        sched_task t;
        sched_fork(&t, nest, (void *)(i - 1), s);
        if (threads_of(2) == 1)
            CHECK_EQ(begun, DEPTH);
        sched_join(&t, s);
        try {
            throw;
        } catch (long again) {
            CHECK_EQ(again, i);
        }
    }
}

CASE(cont_refused_cpp)
{
    for (int i = 0; i < ROUNDS; i++) {
        begun = 0;
        CHECK_EQ(sched_init(2, QLEN, nest, (void *)(long)DEPTH), 0);
        CHECK_EQ(begun, DEPTH);
    }
}

/* copy_cpp: sched_tasks.h in C++: a class that can be copied byte by byte, and a lambda, as tasks.
 * ctest: static
 * ctest: matrix few deque=mutex,split idle=park threads=1,4 */
static long sum;

template <class F> static void call(void *copy, struct scheduler *s)
{
    (*static_cast<F *>(copy))(s);
}

template <class F> static int spawn(const F &f, struct scheduler *s)
{
    static_assert(std::is_trivially_copyable<F>::value && sizeof f <= SCHED_COPY_MAX, "");
    return sched_spawn_copy(call<F>, &f, sizeof f, s);
}

struct alignas(16) Range {
    long low, high;

    void operator()(struct scheduler *s)
    {
        if (high - low == 1) {
            __atomic_fetch_add(&sum, low, __ATOMIC_RELAXED);
            return;
        }
        long middle = low + (high - low) / 2;
        CHECK_EQ(spawn(Range{low, middle}, s), 0);
        low = middle;
        (*this)(s);
    }
};

static void copy_cpp_root(void *, struct scheduler *s)
{
    long n = 1000;
    CHECK_EQ(spawn([n](struct scheduler *s) { CHECK_EQ(spawn(Range{0, n}, s), 0); }, s), 0);
    n = 5;
}

CASE(copy_cpp)
{
    CHECK_EQ(sched_init(4, 10, copy_cpp_root, nullptr), 0);
    CHECK_EQ(sum, 999 * 1000 / 2);
}

/* group_cpp: Forks and groups in C++, with lambdas.
 * ctest: static
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
#pragma GCC diagnostic error "-Wmissing-field-initializers"

struct Group {
    sched_group group = SCHED_GROUP_INIT;
    struct scheduler *s;

    explicit Group(struct scheduler *s) : s(s) {}
    Group(const Group &) = delete;
    ~Group() { CHECK_EQ(sched_group_wait(&group, s), 0); }

    template <class F> void spawn(F &f)
    {
        auto call = [](void *closure, struct scheduler *) { (*static_cast<F *>(closure))(); };
        CHECK_EQ(sched_group_spawn(&group, call, &f, s), 0);
    }
};

static void fib(void *closure, struct scheduler *s)
{
    long &n = *static_cast<long *>(closure);
    if (n < 2)
        return;
    long a = n - 1, b = n - 2;
    sched_task t;
    sched_fork(&t, fib, &a, s);
    fib(&b, s);
    sched_join(&t, s);
    n = a + b;
}

static void group_cpp_root(void *closure, struct scheduler *s)
{
    long n = 15, sum = 0;
    auto add = [&sum] { __atomic_fetch_add(&sum, 1, __ATOMIC_RELAXED); };
    fib(&n, s);
    CHECK_EQ(n, 610);
    {
        Group group(s);
        for (int i = 0; i < 100; i++)
            group.spawn(add);
    }
    CHECK_EQ(sum, 100);
    *static_cast<bool *>(closure) = true;
}

CASE(group_cpp)
{
    bool done = false;
    CHECK_EQ(sched_init(4, 10, group_cpp_root, &done), 0);
    CHECK(done);
}

/* pool_cpp: Pools, options and statistics from C++: struct sched_stats beside the function of that
 * name.
 * ctest: static */
static void pool_cpp_task(void *closure, struct scheduler *s)
{
    *static_cast<int *>(closure) = sched_worker_count(s);
}

CASE(pool_cpp)
{
    struct sched_options options = {};
    struct sched_stats stats;
    int count = 0;
    options.size = sizeof options;
    options.kind = SCHED_KIND_FIFO;
    options.nthreads = 3;
    struct sched_pool *pool = sched_pool_create(&options);
    CHECK(pool != nullptr);
    CHECK_EQ(sched_pool_run(pool, pool_cpp_task, &count), 0);
    CHECK(count >= 3); /* and the places of threads from outside */
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_EQ(sched_last_stats(&stats, sizeof stats), 0);
    CHECK_EQ(stats.tasks, 1);
}

/* sync_cpp: Mutex, condition, semaphore and barrier in C++, initialised by their macros.
 * ctest: static
 * ctest: matrix few idle=park threads=2 */
struct shared {
    sched_mutex m = SCHED_MUTEX_INIT;
    sched_cond c = SCHED_COND_INIT;
    sched_sem sem = SCHED_SEM_INIT(0);
    sched_barrier b = SCHED_BARRIER_INIT(2);
    int count = 0;
};

static void sync_cpp_task(void *closure, struct scheduler *s)
{
    shared *p = static_cast<shared *>(closure);
    CHECK_EQ(sched_mutex_lock(&p->m, s), 0);
    p->count++;
    CHECK_EQ(sched_cond_signal(&p->c), 0);
    CHECK_EQ(sched_mutex_unlock(&p->m), 0);
    CHECK(sched_barrier_wait(&p->b, s) >= 0);
    CHECK_EQ(sched_sem_post(&p->sem), 0);
}

static void sync_cpp_root(void *, struct scheduler *s)
{
    shared here;
    int n = 1;
    sched_sem other = SCHED_SEM_INIT(n);
    CHECK_EQ(sched_sem_wait(&other, s), 0);
    CHECK_EQ(sched_spawn(sync_cpp_task, &here, s), 0);
    CHECK_EQ(sched_mutex_lock(&here.m, s), 0);
    while (here.count == 0)
        CHECK_EQ(sched_cond_wait(&here.c, &here.m, s), 0);
    CHECK_EQ(sched_mutex_unlock(&here.m), 0);
    CHECK(sched_barrier_wait(&here.b, s) >= 0);
    CHECK_EQ(sched_sem_wait(&here.sem, s), 0);
}

CASE(sync_cpp)
{
    CHECK_EQ(sched_init(2, 10, sync_cpp_root, nullptr), 0);
}

/* watchdog_sleeps: SCHED_WATCHDOG: the text says in which system call a worker's thread sleeps, and
 * a thread in a blocking section; and it has the names of C++ functions as they are written.
 * ctest: static sleeps
 * ctest: matrix few idle=park threads=2 */
namespace shop {
static void naps(void *, struct scheduler *)
{
    has_begun = 1;
    while (!may_end)
        pause_us(100000);
}

static void blocks(void *, struct scheduler *s)
{
    CHECK_EQ(sched_block_begin(s), 0);
    naps(NULL, s);
    CHECK_EQ(sched_block_end(s), 0);
}
}

static void a_task(void *)
{
    shows(2, shop::naps, ": runs a task (shop::naps), which sleeps in ", "nanosleep");
}

static void a_section(void *)
{
    shows(2, shop::blocks, " (shop::blocks) is in a blocking section, and sleeps in ", "nanosleep");
}

CASE(watchdog_sleeps)
{
    if (access("/proc/self/syscall", R_OK) != 0)
        skip("the kernel does not tell the system calls of threads");
    CHECK_IN_CHILD(a_task, NULL);
    CHECK_IN_CHILD(a_section, NULL);
}
