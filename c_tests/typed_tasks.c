/* typed_tasks: sched_typed.h and sched_inline.h. */
#include "case.h"
#include "typed_fib.h"
#include "child.h"
#include <sched_typed.h>
#include <stdatomic.h>
#include <sched_inline.h>

/* typed: sched_typed.h: tasks with arguments and results, by value; of 1 to 8 parameters, without a
 * result, and of functions that call each other; joined in both orders; from inside and outside of
 * tasks; among sched_fork, sched_spawn, and waits after which a task may continue in another
 * thread.
 * ctest: static debug
 * ctest: matrix few threads=1,2,4,16 */
enum { TYPED_FORKED = 1000, LEAVES = 4096 / SMALLER };

/* --- parameters and results ---------------------------------------------------- */

typedef struct {
    double x, y, z;
} vector;

typedef long (*function)(long);

static long negated(long n)
{
    return -n;
}

SCHED_TASK(vector, scaled, vector, v, double, by)
{
    vector w = {v.x * by, v.y * by, v.z * by};
    return w;
}

SCHED_TASK(char, three, char, a, short, b, unsigned char, c)
{
    return (char)(a + b + c);
}

SCHED_TASK(double, four, float, a, double, b, long, c, const char *, d)
{
    return a + b + (double)c + d[0];
}

SCHED_TASK(long, five, long, a, long, b, long, c, long, d, long, e)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e;
}

SCHED_TASK(long, six, long, a, long, b, long, c, long, d, long, e, function, f)
{
    return f(a + 2 * b + 3 * c + 4 * d + 5 * e);
}

SCHED_TASK(int, seven, int, a, int, b, int, c, int, d, int, e, int, f, int, g)
{
    return a - b + c - d + e - f + g;
}

SCHED_TASK(long, eight, char, a, short, b, int, c, long, d, char, e, short, f, int, g, long, h)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

SCHED_VOID_TASK(store, long *, where, long, value)
{
    *where = value;
}

SCHED_VOID_TASK(all_kinds, int, backwards)
{
    scaled_task t2;
    three_task t3;
    four_task t4;
    five_task t5;
    six_task t6;
    seven_task t7;
    eight_task t8;
    store_task t0;
    long stored = 0;
    vector v = {1, 2, 3}, w;
    SCHED_FORK(store, &t0, &stored, 77);
    SCHED_FORK(scaled, &t2, v, 2.0);
    SCHED_FORK(three, &t3, 1, 2, 3);
    SCHED_FORK(four, &t4, 0.5f, 0.25, 3, "a");
    SCHED_FORK(five, &t5, 1, 2, 3, 4, 5);
    SCHED_FORK(six, &t6, 1, 2, 3, 4, 5, negated);
    SCHED_FORK(seven, &t7, 7, 6, 5, 4, 3, 2, 1);
    SCHED_FORK(eight, &t8, 1, 2, 3, 4, 5, 6, 7, 8);
    v.x = 0; /* the arguments are copies */
    if (backwards) {
        CHECK_EQ(SCHED_JOIN(eight, &t8), 204);
        CHECK_EQ(SCHED_JOIN(seven, &t7), 4);
        CHECK_EQ(SCHED_JOIN(six, &t6), -55);
        CHECK_EQ(SCHED_JOIN(five, &t5), 55);
        CHECK(SCHED_JOIN(four, &t4) == 3.75 + 'a');
        CHECK_EQ(SCHED_JOIN(three, &t3), 6);
        w = SCHED_JOIN(scaled, &t2);
        SCHED_JOIN(store, &t0);
    } else {
        SCHED_JOIN(store, &t0);
        w = SCHED_JOIN(scaled, &t2);
        CHECK_EQ(SCHED_JOIN(three, &t3), 6);
        CHECK(SCHED_JOIN(four, &t4) == 3.75 + 'a');
        CHECK_EQ(SCHED_JOIN(five, &t5), 55);
        CHECK_EQ(SCHED_JOIN(six, &t6), -55);
        CHECK_EQ(SCHED_JOIN(seven, &t7), 4);
        CHECK_EQ(SCHED_JOIN(eight, &t8), 204);
    }
    CHECK_EQ(stored, 77);
    CHECK(w.x == 2 && w.y == 4 && w.z == 6);
    SCHED_CALL(store, &stored, 78);
    CHECK_EQ(stored, 78);
}

/* --- tasks that call each other ------------------------------------------------ */

SCHED_TASK_DECL(int, is_odd, unsigned, n)
SCHED_VOID_TASK_DECL(count_down, unsigned *, n)

SCHED_TASK(int, is_even, unsigned, n)
{
    if (n == 0)
        return 1;
    is_odd_task t;
    SCHED_FORK(is_odd, &t, n - 1);
    return SCHED_JOIN(is_odd, &t);
}

SCHED_TASK_IMPL(int, is_odd, unsigned, n)
{
    return n == 0 ? 0 : SCHED_CALL(is_even, n - 1);
}

SCHED_VOID_TASK_IMPL(count_down, unsigned *, n)
{
    if (*n > 0) {
        --*n;
        SCHED_CALL(count_down, n);
    }
}

/* --- more tasks than the queue has room for at first ---------------------------- */

SCHED_TASK(long, square, long, n)
{
    return n * n;
}

SCHED_TASK(long, squares, int, backwards)
{
    square_task *t = malloc(TYPED_FORKED * sizeof *t);
    CHECK(t != NULL);
    for (int i = 0; i < TYPED_FORKED; i++)
        SCHED_FORK(square, &t[i], i);
    long sum = 0;
    for (int i = 0; i < TYPED_FORKED; i++) {
        int at = backwards ? TYPED_FORKED - 1 - i : i;
        long value = SCHED_JOIN(square, &t[at]);
        CHECK_EQ(value, (long)at * at);
        sum += value;
    }
    free(t);
    return sum;
}

/* --- among other calls ---------------------------------------------------------- */

static sched_mutex mutex = SCHED_MUTEX_INIT;
static sched_sem units = SCHED_SEM_INIT(0);
static long leaves, typed_spawned;

static void leaf(void *closure, struct scheduler *s)
{
    __atomic_fetch_add((long *)closure, 1, __ATOMIC_RELAXED);
}

static void posts(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_post(&units), 0);
}

/* Before each fork, call and join something changes the queue or may suspend the task: it spawns, waits, yields, leaves
 * its worker for a section, or starts a run of its own. */
static void disturb(unsigned n, struct scheduler *s)
{
    switch (n % 8) {
    case 0:
        CHECK_EQ(sched_spawn(leaf, &typed_spawned, s), 0);
        break;
    case 1:
        CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
        sched_task_yield(s);
        CHECK_EQ(sched_mutex_unlock(&mutex), 0);
        break;
    case 2:
        sched_task_yield(s);
        break;
    case 3:
        CHECK_EQ(sched_spawn(posts, NULL, s), 0);
        CHECK_EQ(sched_sem_wait(&units, s), 0);
        break;
    case 4: {
        sched_task t;
        long here = 0;
        (sched_fork)(&t, leaf, &here, s);
        (sched_join)(&t, s);
        CHECK_EQ(here, 1);
        break;
    }
    case 5:
        sched_block_begin(s);
        if (n % 64 == 5)
            usleep(10);
        sched_block_end(s);
        break;
    case 6:
        if (n % 128 == 6)
            CHECK_EQ(sched_init(2, 4, leaf, &leaves), 0);
        break;
    }
}

SCHED_TASK(long, disturbed, unsigned, from, unsigned, to)
{
    if (to - from == 1)
        return from;
    unsigned middle = from + (to - from) / 2;
    disturbed_task a, b;
    disturb(from, SCHED_SELF);
    SCHED_FORK(disturbed, &a, from, middle);
    disturb(from + 3, SCHED_SELF);
    SCHED_FORK(disturbed, &b, middle, to);
    disturb(from + 5, SCHED_SELF);
    long more = to - from > 2 ? SCHED_CALL(fib, from % 8) : 0;
    disturb(to, SCHED_SELF);
    long sum = from % 3 ? SCHED_JOIN(disturbed, &a) : 0;
    disturb(to + 1, SCHED_SELF);
    sum += SCHED_JOIN(disturbed, &b);
    disturb(to + 2, SCHED_SELF);
    sum += from % 3 ? 0 : SCHED_JOIN(disturbed, &a);
    CHECK_EQ(fib(from % 8, SCHED_SELF), SCHED_CALL(fib, from % 8));
    CHECK_EQ(fib(from % 5, NULL), SCHED_CALL(fib, from % 5));
    (void)more;
    return sum;
}

/* A typed task within a section: its worker may belong to another thread meanwhile. */
static void in_section(struct scheduler *s)
{
    sched_block_begin(s);
    CHECK_EQ(fib(10, s), 55);
    sched_block_end(s);
    CHECK_EQ(fib(11, s), 89);
}

static void *foreign(void *s)
{
    CHECK_EQ(fib(12, s), 144);
    CHECK_EQ(sched_sem_post(&units), 0);
    return NULL;
}

static void typed_root(void *closure, struct scheduler *s)
{
    CHECK_EQ(fib(18, s), 2584);
    all_kinds(0, s);
    all_kinds(1, s);
    CHECK_EQ(is_even(301, s), 0);
    CHECK_EQ(is_odd(301, s), 1);
    unsigned n = 5;
    count_down(&n, s);
    CHECK_EQ(n, 0);
    CHECK_EQ(squares(0, s), 332833500);
    CHECK_EQ(squares(1, s), 332833500);
    CHECK_EQ(disturbed(0, LEAVES, s), (long)LEAVES * (LEAVES - 1) / 2);
    in_section(s);
    pthread_t thread = begin_thread(foreign, s);
    CHECK_EQ(sched_sem_wait(&units, s), 0); /* the worker runs the thread's tasks meanwhile */
    CHECK_EQ(pthread_join(thread, NULL), 0);
    leaf(closure, s);
}

CASE(typed)
{
    long done = 0;
    CHECK_EQ(sched_init(0, 0, typed_root, &done), 0);
    CHECK_EQ(done, 1);
    CHECK_EQ(fib(15, NULL), 610); /* in the default pool */
}

/* typed_closure: sched_typed.h: an object that begins with a descriptor may be the closure of
 * another task that is spawned between the fork and the join: each of the two tasks runs once.
 * ctest: static debug
 * ctest: matrix few threads=1,2,4 */
enum { ROUNDS = 2000 };

static atomic_int forked, closure_spawned;

SCHED_TASK(long, next, long, n)
{
    atomic_fetch_add(&forked, 1);
    return n + 1;
}

struct shared {
    next_task task;
    sched_sem done;
};

static void other(void *closure, struct scheduler *s)
{
    struct shared *shared = closure;
    atomic_fetch_add(&closure_spawned, 1);
    CHECK_EQ(sched_sem_post(&shared->done), 0);
}

SCHED_TASK(long, closure_root, long, rounds)
{
    long sum = 0;
    for (long i = 0; i < rounds; i++) {
        struct shared shared;
        CHECK_EQ(sched_sem_init(&shared.done, 0), 0);
        SCHED_FORK(next, &shared.task, i);
        CHECK_EQ(sched_spawn(other, &shared, SCHED_SELF), 0);
        sum += SCHED_JOIN(next, &shared.task);
        CHECK_EQ(sched_sem_wait(&shared.done, SCHED_SELF), 0);
    }
    return sum;
}

static void start(void *sum, struct scheduler *s)
{
    *(long *)sum = closure_root(ROUNDS, s);
}

CASE(typed_closure)
{
    long sum = 0;
    CHECK_EQ(sched_init(0, 0, start, &sum), 0);
    CHECK_EQ(sum, ROUNDS * (ROUNDS + 1L) / 2);
    CHECK_EQ(atomic_load(&forked), ROUNDS);
    CHECK_EQ(atomic_load(&closure_spawned), ROUNDS);
}

/* typed_misuse: sched_typed.h: descriptors that are forked on twice, joined twice or never end the
 * process with a message.
 * ctest: static debug
 * ctest: matrix kind=steal deque=split idle=park threads=1 */
SCHED_TASK(long, forks_twice, int, how)
{
    square_task t;
    SCHED_FORK(square, &t, 3);
    SCHED_FORK(square, &t, 4);
    long r = SCHED_JOIN(square, &t);
    return r + SCHED_JOIN(square, &t);
}

SCHED_TASK(long, joins_twice, int, how)
{
    square_task t;
    SCHED_FORK(square, &t, 3);
    long r = SCHED_JOIN(square, &t);
    return r + SCHED_JOIN(square, &t);
}

SCHED_TASK(long, forgets, int, how)
{
    square_task t;
    SCHED_FORK(square, &t, how);
    return 1;
}

static void misuse_root(void *misuse, struct scheduler *s)
{
    if (strcmp(misuse, "twice") == 0)
        forks_twice(0, s);
    else if (strcmp(misuse, "joined") == 0)
        joins_twice(0, s);
    else
        forgets(7, s);
}

static void body(void *misuse)
{
    sched_init(1, 0, misuse_root, misuse);
}

CASE(typed_misuse)
{
    static char twice[] = "twice", joined[] = "joined", never[] = "never";
    in_child(body, twice);
    CHECK_CHILD_ABORTED("libsched: sched_");
    in_child(body, joined);
    CHECK_CHILD_ABORTED("libsched: sched_");
    in_child(body, never);
    CHECK_CHILD_ABORTED("libsched: sched_fork");
}

/* typed_refused: sched_typed.h: where the default pool cannot be made, a call with NULL and all
 * that it forks run in the caller.
 * ctest: static debug */
SCHED_TASK(int, has_self, int, unused)
{
    return SCHED_SELF != NULL;
}

static void refused(void *arg)
{
    setenv("SCHED_KIND", "wrong", 1);
    CHECK_EQ(fib(15, NULL), 610);
    CHECK(!has_self(0, NULL));
    unsetenv("SCHED_KIND");
    CHECK_EQ(fib(15, NULL), 610);
    CHECK(has_self(0, NULL));
}

CASE(typed_refused)
{
    in_child(refused, NULL);
    CHECK_CHILD_PASSED();
}

/* inline: sched_inline.h: spawn, fork and join compiled into the program do what the library's do,
 * mixed with those, too; more tasks than the deque has room for at first, and joined in both
 * orders.
 * ctest: static
 * ctest: matrix few threads=1,2,4,16 stats=7599 */
enum { SPAWNED = 3000, INLINE_FORKED = 1000, FIB = 16 };

static long inline_spawned;

static void one(void *closure, struct scheduler *s)
{
    CHECK(closure == &inline_spawned && s != NULL);
    __atomic_fetch_add(&inline_spawned, 1, __ATOMIC_RELAXED);
}

static void inline_fib(void *closure, struct scheduler *s)
{
    long *n = closure;
    if (*n < 2)
        return;
    long a = *n - 1, b = *n - 2;
    sched_task t;
    if (*n % 3)
        sched_fork(&t, inline_fib, &a, s);
    else
        (sched_fork)(&t, inline_fib, &a, s);
    inline_fib(&b, s);
    if (*n % 2)
        sched_join(&t, s);
    else
        (sched_join)(&t, s);
    *n = a + b;
}

static void twice(void *closure, struct scheduler *s)
{
    *(long *)closure *= 2;
}

static void forks(void *closure, struct scheduler *s)
{
    int backwards = closure != NULL;
    static sched_task tasks[2][INLINE_FORKED];
    static long numbers[2][INLINE_FORKED];
    for (int i = 0; i < INLINE_FORKED; i++) {
        numbers[backwards][i] = i;
        sched_fork(&tasks[backwards][i], twice, &numbers[backwards][i], s);
    }
    for (int i = 0; i < INLINE_FORKED; i++) {
        int at = backwards ? INLINE_FORKED - 1 - i : i;
        sched_join(&tasks[backwards][at], s);
        CHECK_EQ(numbers[backwards][at], 2 * at);
    }
}

struct pair {
    taskfunc f;
    long n;
};

static void call(void *closure, struct scheduler *s)
{
    struct pair *pair = closure;
    pair->f(&pair->n, s);
    CHECK_EQ(pair->n, 2);
}

/* A literal's commas divide the arguments of a macro. */
static void literals(struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, call, &(struct pair){twice, 1}, s);
    sched_join((sched_task *[]){&t, NULL}[0], s);
    CHECK_EQ(sched_spawn((struct pair){one, 0}.f, &inline_spawned, s), 0);
}

static void inline_first(void *closure, struct scheduler *s)
{
    long n = FIB;
    CHECK_TIMES(SPAWNED, sched_spawn(one, &inline_spawned, s));
    inline_fib(&n, s);
    CHECK_EQ(n, 987);
    forks(NULL, s);
    forks(&n, s);
    literals(s);
    CHECK_ERRNO(sched_spawn(NULL, NULL, s), EINVAL);
    CHECK_ERRNO(sched_spawn(NULL, NULL, NULL), EINVAL);
    forks(NULL, NULL); /* the run of the calling task */
}

CASE(inline)
{
    CHECK_EQ(sched_init(0, 0, inline_first, NULL), 0);
    CHECK_EQ(inline_spawned, SPAWNED + 1);
}
