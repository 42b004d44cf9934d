/* threads: their number and their names. */
#include "case.h"
#include "child.h"
#include "seccomp.h"
#include "stats_line.h"
#include "crowd.h"
#include "proc.h"
#include <stdatomic.h>

/* threads_missing: If some threads cannot be created, the run continues with the others and
 * completes, and the statistics say how many are missing.
 * ctest: timeout=60
 * ctest: matrix deque=mutex idle=park threads=4 */
enum { NOBODY = 61357, ATTEMPTS = 50 }; /* a user with no process here */

static atomic_int threads_missing_ran;

static void node(void *closure, struct scheduler *s)
{
    long depth = (long)closure;
    atomic_fetch_add(&threads_missing_ran, 1);
    pause_us(200); /* a thread is only made when there is a task for it */
    for (int i = 0; i < 2 && depth > 0; i++)
        CHECK_EQ(sched_spawn(node, (void *)(depth - 1), s), 0);
}

static void run(void)
{
    CHECK_EQ(sched_init(4, 4, node, (void *)8), 0);
    CHECK_EQ(threads_missing_ran, 511);
}

static void none_at_all(void *arg)
{
    no_threads();
    run();
}

/* Runs as another user, with this many threads allowed beside the caller's. */
static void only(void *more)
{
    struct rlimit limit = {1 + (rlim_t)(long)more, 1 + (rlim_t)(long)more};
    if (setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0)
        skip("cannot become another user");
    CHECK_EQ(setrlimit(RLIMIT_NPROC, &limit), 0);
    run();
}

static int missing(void (*body)(void *), long arg)
{
    gather_stats();
    in_child(body, (void *)arg);
    char *line = gathered_stats();
    if (WIFEXITED(child.status) && WEXITSTATUS(child.status) == 77)
        return -1;
    CHECK_CHILD_EXITED(0);
    CHECK_EQ(stat_number(line, "tasks"), 511);
    return (int)stat_number(line, "threads_missing");
}

CASE(threads_missing)
{
    int wanted = threads_of(4) - 1, tried = 0;
    int got = missing(none_at_all, 0);
    if (got >= 0) {
        CHECK_EQ(got, wanted);
        tried++;
    }
    for (int k = 0; k <= wanted; k++) {
        /* Threads that a process before this one left dying may still count. And a thread that was made looks for
         * work, so that no other is wanted, though others keep it from the processors for as long as the run. */
        for (int i = 0; i < ATTEMPTS && (got = missing(only, k)) >= 0 && got < wanted - k; i++)
            continue;
        if (got < 0)
            break;
        CHECK(got >= wanted - k);
        tried++;
    }
    if (!tried)
        skip("neither seccomp nor a limit on threads can be had here");
}

/* threads_var: SCHED_THREADS=N has N threads whatever the program asks, auto the default count, and
 * 0 or -1 in the program mean the default.
 * ctest: sleeps
 * ctest: matrix deque=mutex,split,chaselev idle=park threads=1 */
struct asks {
    const char *variable; /* NULL: unset */
    int nthreads;
    int wanted; /* 0: the default count */
};

static void try(void *arg)
{
    const struct asks *asks = arg;
    unsetenv("SCHED_THREADS");
    if (asks->variable)
        setenv("SCHED_THREADS", asks->variable, 1);
    int wanted = asks->wanted ? asks->wanted : sched_default_threads();
    check_crowd(asks->nthreads, !has_threads() ? 1 : wanted);
    CHECK(threads_become(1));
}

CASE(threads_var)
{
    static struct asks all[] = {
        {NULL, 3, 3},   {NULL, 1, 1},   {NULL, 0, 0},   {NULL, -1, 0},  {NULL, -7, 0}, {NULL, 16, 16},
        {"3", 1, 3},    {"3", 16, 3},   {"1", 16, 1},   {"5", 0, 5},    {"5", -1, 5},  {"auto", 7, 0},
        {"auto", 1, 0}, {"auto", 0, 0},
    };
    CHECK(sched_default_threads() >= 1);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        CHECK_IN_CHILD(try, &all[i]);
}

/* default_threads: sched_default_threads() follows the affinity mask: 1 on one processor, never
 * more than the mask; 0, -1 and auto in a run follow it, too.
 * ctest: static
 * ctest: matrix deque=mutex,split,chaselev idle=park threads=1 */
static void body(void *arg)
{
    cpu_set_t all, one;
    unsetenv("SCHED_THREADS");
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    int before = sched_default_threads();
    CHECK(before >= 1 && before <= CPU_COUNT(&all));

    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &all))
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
        CHECK_EQ(sched_default_threads(), 1);
    }
    check_crowd(0, 1);
    check_crowd(-1, 1);
    setenv("SCHED_THREADS", "auto", 1);
    check_crowd(6, 1);
    unsetenv("SCHED_THREADS");

    CHECK_EQ(sched_setaffinity(0, sizeof all, &all), 0);
    CHECK_EQ(sched_default_threads(), before);
    check_crowd(0, !has_threads() ? 1 : before);
}

CASE(default_threads)
{
    CHECK_IN_CHILD(body, NULL);
}

/* many_threads: 4096 threads are allowed, 4097 are not, also through SCHED_THREADS.
 * ctest: timeout=60 */
static atomic_long many_threads_ran;

COUNTING_TASK(many_threads_leaf, many_threads_ran)

static void many_threads_root(void *closure, struct scheduler *s)
{
    CHECK_TIMES(10000, sched_spawn(many_threads_leaf, NULL, s));
}

static void too_many(void *arg)
{
    CHECK_ERRNO(sched_init(1, 1, many_threads_root, NULL), EINVAL);
}

CASE(many_threads)
{
    CHECK_ERRNO(sched_init(4097, 0, many_threads_root, NULL), EINVAL);
    setenv("SCHED_THREADS", "4097", 1);
    CHECK_IN_CHILD(too_many, NULL);
    CHECK_CHILD_SAID("SCHED_THREADS");
    CHECK_EQ(many_threads_ran, 0);
    unsetenv("SCHED_THREADS");
    CHECK_EQ(sched_init(4096, 0, many_threads_root, NULL), 0);
    CHECK_EQ(many_threads_ran, 10000);
}

/* names: The created threads are named sched/1, sched/2, …; the caller's is left alone.
 * ctest: matrix with=threads deque=mutex,split,chaselev idle=park threads=1,4,16 */
static int wanted;
static atomic_int seen_all;
static char after[32];

/* A bit for each name that is there, -1 when a thread has a name of no kind. */
static long names(void)
{
    long seen = 0;
    DIR *dir = opendir("/proc/self/task");
    CHECK(dir != NULL);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        char path[300], name[32] = "";
        int worker, end = 0;
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
        FILE *file = fopen(path, "r");
        if (!file || !fgets(name, sizeof name, file)) {
            closedir(dir);
            return -1;
        }
        fclose(file);
        name[strcspn(name, "\n")] = 0;
        if (atoi(e->d_name) == (int)getpid()) {
            snprintf(after, sizeof after, "%s", name);
            seen |= 1;
        } else if (sscanf(name, "sched/%d%n", &worker, &end) == 1 && !name[end] && worker > 0 && worker < 60)
            seen |= 1l << worker;
        else
            seen = -1;
    }
    closedir(dir);
    return seen;
}

static void names_leaf(void *closure, struct scheduler *s)
{
    while (!seen_all)
        pause_us(200);
}

/* A thread starts when there is a task for it, and takes its name then: give them time, and look
 * again a little later. */
static void names_root(void *closure, struct scheduler *s)
{
    long all = (1l << wanted) - 1;
    for (int i = 1; i < wanted; i++)
        CHECK_EQ(sched_spawn(names_leaf, NULL, s), 0);
    for (struct patience p = patience_of(20); is_patient(&p) && names() != all;)
        pause_us(500);
    pause_us(1000);
    CHECK_EQ(names(), all);
    CHECK(strcmp(after, "names of a test") == 0);
    seen_all = 1;
}

CASE(names)
{
    CHECK_EQ(pthread_setname_np(pthread_self(), "names of a test"), 0);
    wanted = threads_of(4);
    CHECK_EQ(sched_init(4, 4, names_root, NULL), 0);
    CHECK(threads_become(1));
    CHECK_EQ(names(), 1);
    CHECK(strcmp(after, "names of a test") == 0);
}
