/* loops: sched_for. */
#include "case.h"
#include "marks.h"
#include "child.h"
#include "proc.h"
#include <sched_tasks.h>
#include <stdatomic.h>
#include <string.h>

/* for: sched_for: each number of the range is in exactly one part, in the order of numbers within a
 * part; with a grain each part has that many numbers, from lo on. The caller sees their writes when
 * the call returns. Also empty ranges, and ranges at the end of the type.
 * ctest: static
 * ctest: matrix refuse threads=1,4
 * ctest: matrix idle=park threads=2,16
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
struct for_loop {
    size_t lo, hi, grain;
    long plain[64]; /* the first numbers, written without atomics */
    atomic_long parts;
};

static void for_part(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    struct for_loop *loop = ctx;
    CHECK(s != NULL);
    CHECK(loop->lo <= lo && lo < hi && hi <= loop->hi);
    if (loop->grain > 0) {
        CHECK_EQ((lo - loop->lo) % loop->grain, 0);
        CHECK(hi - lo == loop->grain || hi == loop->hi);
        CHECK(hi - lo <= loop->grain);
    }
    for (size_t i = lo; i < hi; i++) {
        mark((long)(i - loop->lo));
        if (i - loop->lo < 64)
            loop->plain[i - loop->lo] = (long)(i - loop->lo) + 1;
    }
    atomic_fetch_add(&loop->parts, 1);
}

static void loop_over(size_t lo, size_t n, size_t grain, struct scheduler *s)
{
    struct for_loop loop = {lo, lo + n, grain, {0}, 0};
    CHECK_EQ(sched_for(lo, lo + n, grain, for_part, &loop, s), 0);
    for (size_t i = 0; i < 64 && i < n; i++)
        CHECK_EQ(loop.plain[i], i + 1);
    if (grain > 0)
        CHECK_EQ(loop.parts, n / grain + (n % grain > 0));
    check_marks((long)n);
}

static void for_root(void *closure, struct scheduler *s)
{
    static const size_t sizes[] = {1, 2, 3, 7, 8, 64, 65, 1000, 4097, 100000 / SMALLER};
    static const size_t grains[] = {0, 0, 1, 2, 3, 10, 64, 1000, 99999, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof grains / sizeof *grains; k++) {
            if (grains[k] > 0 && sizes[i] / grains[k] > 5000)
                continue;
            loop_over(0, sizes[i], grains[k], s);
            loop_over(12345, sizes[i], grains[k], s);
            loop_over(PTRDIFF_MAX - sizes[i], sizes[i], grains[k], s);
        }
    for (size_t grain = 0; grain < 3; grain++) {
        CHECK_EQ(sched_for(0, 0, grain, for_part, NULL, s), 0);
        CHECK_EQ(sched_for(7, 7, grain, for_part, NULL, s), 0);
        CHECK_EQ(sched_for(8, 7, grain, for_part, NULL, s), 0);
        CHECK_EQ(sched_for(PTRDIFF_MAX, 0, grain, for_part, NULL, s), 0);
    }
    loop_over(3, 1000000 / SMALLER, 0, s);
    loop_over(3, 1000000 / SMALLER, 1000, s);
}

CASE(for)
{
    CHECK_EQ(sched_init(4, 10, for_root, NULL), 0);
}

/* for_given_back: A loop whose body leaves tasks in the queue: the loop waits for units that it has
 * offered, its own worker gives them back, and the loop may continue with them on another worker,
 * which is then the owner. All units are done once, and so are all tasks.
 * ctest: debug matrix kind=steal deque=split,chaselev idle=park,spin threads=2,4 */
enum { GIVEN_BACK_LOOPS = 2000 / SMALLER, UNITS = 24 };

static atomic_int given_back_units[UNITS], tasks;
static sched_group group = SCHED_GROUP_INIT;

static void given_back_task(void *closure, struct scheduler *s)
{
    for (volatile int turn = 0; turn < 500; turn++)
        ;
    tasks++;
}

static void given_back_body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (size_t i = lo; i < hi; i++) {
        given_back_units[i]++;
        CHECK_EQ(sched_group_spawn(&group, given_back_task, NULL, s), 0);
        for (volatile int turn = 0; turn < 1500; turn++)
            ;
    }
}

static void given_back_root(void *closure, struct scheduler *s)
{
    for (int loop = 1; loop <= GIVEN_BACK_LOOPS; loop++) {
        CHECK_EQ(sched_for(0, UNITS, 0, given_back_body, NULL, s), 0);
        for (int i = 0; i < UNITS; i++)
            CHECK_EQ(given_back_units[i], loop);
        CHECK_EQ(sched_group_wait(&group, s), 0);
        CHECK_EQ(tasks, loop * UNITS);
    }
}

CASE(for_given_back)
{
    CHECK_EQ(sched_init(0, 64, given_back_root, NULL), 0);
}

/* for_huge: A loop over as many numbers as there can be: each number is in exactly one part, also
 * after thefts, whose measured pace is beyond all numbers.
 * ctest: debug matrix with=deques deque=split idle=park threads=1,2,4 */
static _Atomic size_t numbers;

static void huge_count(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    atomic_fetch_add(&numbers, hi - lo);
    if (hi - lo == 1)
        pause_us(1); /* so that thieves come */
}

static void huge_root(void *closure, struct scheduler *s)
{
    for (int round = 0; round < 20; round++) {
        numbers = 0;
        CHECK_EQ(sched_for(0, PTRDIFF_MAX, 0, huge_count, NULL, s), 0);
        CHECK_EQ(numbers, (size_t)PTRDIFF_MAX);
    }
}

CASE(for_huge)
{
    CHECK_EQ(sched_init(4, 10, huge_root, NULL), 0);
}

/* for_nested: sched_for within sched_for, beside forks and spawns of the bodies, from several tasks
 * of one run at once: each index once, and a loop waits for its own parts only, whatever else is
 * queued.
 * ctest: matrix threads=1,4
 * ctest: matrix idle=park threads=2,16 */
enum { NESTED_OUTER = 60, NESTED_INNER = 300, NESTED_LOOPS = 5 };

static atomic_long spawned, forked, nested_over;

static void nested_count(void *counter, struct scheduler *s)
{
    atomic_fetch_add((atomic_long *)counter, 1);
}

struct row {
    long start;
    long sum[NESTED_INNER];
};

static void inner(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    struct row *row = ctx;
    for (size_t k = lo; k < hi; k++) {
        if (k % 16 == 0) {
            sched_task t;
            sched_fork(&t, nested_count, &forked, s);
            CHECK_EQ(sched_spawn(nested_count, &spawned, s), 0);
            sched_join(&t, s);
        }
        row->sum[k] = row->start + (long)k;
        mark(row->start + (long)k);
    }
}

static void outer(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (size_t i = lo; i < hi; i++) {
        struct row row = {((long)(intptr_t)ctx * NESTED_OUTER + (long)i) * NESTED_INNER, {0}};
        CHECK_EQ(sched_for(0, NESTED_INNER, i % 3 * 5, inner, &row, s), 0);
        for (long k = 0; k < NESTED_INNER; k++)
            CHECK_EQ(row.sum[k], row.start + k);
    }
}

static void one_loop(void *number, struct scheduler *s)
{
    CHECK_EQ(sched_for(0, NESTED_OUTER, (size_t)number % 2, outer, number, s), 0);
    atomic_fetch_add(&nested_over, 1);
}

static void nested_root(void *closure, struct scheduler *s)
{
    for (intptr_t i = 0; i < NESTED_LOOPS; i++)
        CHECK_EQ(sched_spawn(one_loop, (void *)i, s), 0);
}

CASE(for_nested)
{
    CHECK_EQ(sched_init(4, 10, nested_root, NULL), 0);
    CHECK_EQ(nested_over, NESTED_LOOPS);
    CHECK_EQ(forked, NESTED_LOOPS * NESTED_OUTER * (NESTED_INNER / 16 + 1));
    CHECK_EQ(spawned, forked);
    check_marks((long)NESTED_LOOPS * NESTED_OUTER * NESTED_INNER);
}

/* for_on_top: A task that waits for the end of its loop or reduction runs parts of it that others
 * have taken and not begun, on top of itself. It must not run any other task there, since it may
 * hold a lock that the other task wants: here each unit of an outer loop holds the mutex while it
 * runs an inner loop, whose units yield, wait for a task, and run loops of their own.
 * ctest: debug matrix idle=park,spin threads=2,4 join=suspend
 * ctest: matrix few threads=1,16 join=suspend */
enum { ROUNDS = 240 / SMALLER, ON_TOP_OUTER = 6, ON_TOP_INNER = 16, INNERMOST = 4 };

static sched_mutex lock = SCHED_MUTEX_INIT;
static atomic_int on_top_units, innermost;
static int in_order; /* guarded by the lock */

static void turns(int n)
{
    for (volatile int turn = 0; turn < n; turn++)
        ;
}

static void innermost_body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    turns(200);
    innermost += (int)(hi - lo);
}

static void post(void *semaphore, struct scheduler *s)
{
    CHECK_EQ(sched_sem_post(semaphore), 0);
}

static void unit(size_t i, struct scheduler *s)
{
    turns(i > ON_TOP_INNER / 2 ? 4000 : 500); /* thieves take the upper half, and are the last to end */
    switch (i % 8) {
    case 3:
        sched_task_yield(s);
        break;
    case 5:
        CHECK_EQ(sched_for(0, INNERMOST, 1, innermost_body, NULL, s), 0);
        break;
    case 7: {
        sched_sem semaphore;
        CHECK_EQ(sched_sem_init(&semaphore, 0), 0);
        CHECK_EQ(sched_spawn(post, &semaphore, s), 0);
        CHECK_EQ(sched_sem_wait(&semaphore, s), 0);
        break;
    }
    default:
        break;
    }
    on_top_units++;
}

static void inner_body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (size_t i = lo; i < hi; i++)
        unit(i, s);
}

static void inner_sum(size_t lo, size_t hi, void *sum, void *ctx, struct scheduler *s)
{
    for (size_t i = lo; i < hi; i++) {
        unit(i, s);
        *(size_t *)sum += i;
    }
}

static void on_top_add(void *into, const void *from, void *ctx)
{
    *(size_t *)into += *(const size_t *)from;
}

static void outer_body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (size_t i = lo; i < hi; i++) {
        CHECK_EQ(sched_mutex_lock(&lock, s), 0);
        const int before = in_order++;
        const size_t none = 0;
        size_t sum = none;
        switch (i % 3) {
        case 0:
            CHECK_EQ(sched_for(0, ON_TOP_INNER, 0, inner_body, NULL, s), 0);
            break;
        case 1:
            CHECK_EQ(sched_reduce(0, ON_TOP_INNER, 0, sizeof sum, &none, inner_sum, on_top_add, NULL, &sum, s), 0);
            CHECK_EQ(sum, (size_t)ON_TOP_INNER * (ON_TOP_INNER - 1) / 2);
            break;
        default:
            CHECK_EQ(sched_reduce_relaxed(0, ON_TOP_INNER, 0, sizeof sum, &none, inner_sum, on_top_add, NULL, &sum, s), 0);
            CHECK_EQ(sum, (size_t)ON_TOP_INNER * (ON_TOP_INNER - 1) / 2);
        }
        CHECK_EQ(in_order, before + 1);
        CHECK_EQ(sched_mutex_unlock(&lock), 0);
    }
}

static void on_top_root(void *closure, struct scheduler *s)
{
    for (int round = 1; round <= ROUNDS; round++) {
        CHECK_EQ(sched_for(0, ON_TOP_OUTER, 1, outer_body, NULL, s), 0);
        CHECK_EQ(in_order, round * ON_TOP_OUTER);
        CHECK_EQ(on_top_units, round * ON_TOP_OUTER * ON_TOP_INNER);
        CHECK_EQ(innermost, round * ON_TOP_OUTER * ON_TOP_INNER / 8 * INNERMOST);
    }
}

CASE(for_on_top)
{
    CHECK_EQ(sched_init(0, 64, on_top_root, NULL), 0);
}

/* for_shapes: Loops with the same body, long enough to be measured: each one is divided as the last
 * one took its time, but takes its time elsewhere. The body gets each number once, whatever was
 * expected; a reduction gets them in ascending order.
 * ctest: static debug
 * ctest: matrix kind=steal,cont,lifo deque=split idle=park threads=1,2,4 */
enum { MOST = 3000, SHAPES_LOOPS = 10, TURNS = 200000 };

enum shape { EVEN, RISING, FALLING, ONE, END, SHAPES };

struct shapes_loop {
    enum shape shape;
    size_t first, numbers;
};

static atomic_uchar calls[MOST];
static _Atomic unsigned sink;

static void compute(size_t turns)
{
    unsigned x = 1;
    for (size_t i = 0; i < turns; i++) {
        x = x * 1664525 + 1013904223;
        __asm__ volatile("" : "+r"(x));
    }
    sink = x;
}

/* The turns of a number. The turns of all numbers are about TURNS. */
static size_t turns_of(const struct shapes_loop *loop, size_t number)
{
    size_t n = loop->numbers, i = number - loop->first, mean = TURNS / n;
    switch (loop->shape) {
    case RISING: return 2 * mean * i / n;
    case FALLING: return 2 * mean * (n - i) / n;
    case ONE: return i == n / 3 ? TURNS : 0;
    case END: return i >= n - n / 16 ? 16 * mean : 0;
    default: return mean;
    }
}

static void shapes_body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    const struct shapes_loop *loop = ctx;
    for (size_t i = lo; i < hi; i++) {
        atomic_fetch_add(&calls[i - loop->first], 1);
        compute(turns_of(loop, i));
    }
}

struct stretch {
    size_t lo, hi; /* no numbers: both are 0 */
};

static void append(void *into, const void *from, void *ctx)
{
    struct stretch *left = into;
    const struct stretch *right = from;
    if (left->lo == left->hi) {
        *left = *right;
    } else if (right->lo != right->hi) {
        CHECK_EQ(left->hi, right->lo);
        left->hi = right->hi;
    }
}

static void shapes_add(size_t lo, size_t hi, void *into, void *ctx, struct scheduler *s)
{
    append(into, &(struct stretch){lo, hi}, NULL);
    shapes_body(lo, hi, ctx, s);
}

static void check_calls(const struct shapes_loop *loop)
{
    for (size_t i = 0; i < loop->numbers; i++)
        CHECK_EQ(calls[i], 1);
    memset(calls, 0, sizeof calls);
}

static void shapes_root(void *closure, struct scheduler *s)
{
    static const size_t grains[] = {0, 0, 1, 7}, numbers[] = {MOST, MOST, MOST, 100, 17, 2};
    for (int k = 0; k < SHAPES * SHAPES_LOOPS; k++) {
        struct shapes_loop loop = {(enum shape)(k / SHAPES_LOOPS), (size_t)k, numbers[k % 6]};
        size_t lo = loop.first, hi = lo + loop.numbers, grain = grains[k % 4];

        CHECK_EQ(sched_for(lo, hi, grain, shapes_body, &loop, s), 0);
        check_calls(&loop);

        const struct stretch none = {0, 0};
        struct stretch all;
        CHECK_EQ(sched_reduce_relaxed(lo, hi, grain, sizeof all, &none, shapes_add, append, &loop, &all, s), 0);
        check_calls(&loop);
        CHECK_EQ(all.lo, lo);
        CHECK_EQ(all.hi, hi);
    }
}

CASE(for_shapes)
{
    CHECK_EQ(sched_init(4, 10, shapes_root, NULL), 0);
}

/* for_spread: A loop without a grain keeps all workers busy: a few long iterations go to a worker
 * each at once, and where one part is much longer than the others these are taken meanwhile. (Each
 * loop takes milliseconds: after a loop that was short for a wake-up, the next one with this body
 * begins alone.)
 * ctest: matrix idle=park threads=2,4 */
enum { LONG_US = 3000 }; /* longer than any wake-up that the library records */

static atomic_int inside;

/* Ends when this many are in it at the same time. */
static void meet(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    int all = *(int *)ctx;
    for (size_t i = lo; i < hi; i++) {
        atomic_fetch_add(&inside, 1);
        while (inside < all)
            pause_us(50);
        pause_us(LONG_US);
    }
}

static atomic_long done;

/* The first ends after all others. */
static void last_of_all(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    long n = *(long *)ctx;
    for (size_t i = lo; i < hi; i++) {
        while (i == 0 && done < n - 1)
            pause_us(50);
        if (i == 0)
            pause_us(LONG_US);
        atomic_fetch_add(&done, 1);
    }
}

static void spread_root(void *closure, struct scheduler *s)
{
    int workers = *(int *)closure;
    for (int round = 0; round < 20; round++) {
        inside = 0;
        CHECK_EQ(sched_for(0, (size_t)workers, 0, meet, &workers, s), 0);
        for (size_t grain = 0; grain < 2; grain++) {
            long n = 1000;
            done = 0;
            CHECK_EQ(sched_for(0, (size_t)n, grain, last_of_all, &n, s), 0);
            CHECK_EQ(done, n);
        }
    }
}

CASE(for_spread)
{
    int workers = threads_of(4);
    if (workers > 1)
        CHECK_EQ(sched_init(4, 10, spread_root, &workers), 0);
}

/* loops_errors: sched_for, the reductions and sched_sort refuse with EINVAL, and call and change
 * nothing: NULL where something must be, a size of 0, numbers that were negative before they became
 * a size_t, the s of a run that has ended, that of the parent in a forked child.
 * ctest: static
 * ctest: matrix few idle=park threads=1,4 */
static struct scheduler *kept;
static int errors_array[3] = {3, 1, 2}, zero, result = 77;

static void errors_body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    (void)lo, (void)hi, (void)ctx, (void)s;
    CHECK(!"called");
}

static void fold(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    errors_body(lo, hi, ctx, s);
}

static void combine(void *into, const void *from, void *ctx)
{
    (void)into, (void)from, (void)ctx;
    CHECK(!"called");
}

static int errors_compare(const void *a, const void *b)
{
    (void)a, (void)b;
    CHECK(!"called");
    return 0;
}

/* Both kinds of reductions. */
static void refused(size_t size, const void *identity, void (*errors_body)(size_t, size_t, void *, void *, struct scheduler *),
                    void (*combination)(void *, const void *, void *), void *to, struct scheduler *s)
{
    CHECK_ERRNO(sched_reduce(0, 10, 1, size, identity, errors_body, combination, NULL, to, s), EINVAL);
    CHECK_ERRNO(sched_reduce_relaxed(0, 10, 1, size, identity, errors_body, combination, NULL, to, s), EINVAL);
}

/* Negative numbers in one of the two arguments, or both; also an empty range. */
static void negative(struct scheduler *s)
{
    static const long bounds[][2] = {{0, -5}, {-5, 0}, {-5, -1}, {-1, -5}, {7, LONG_MIN}, {LONG_MIN, LONG_MAX}};
    for (int i = 0; i < 6; i++) {
        size_t lo = (size_t)bounds[i][0], hi = (size_t)bounds[i][1];
        for (size_t grain = 0; grain < 2; grain++) {
            CHECK_ERRNO(sched_for(lo, hi, grain, errors_body, NULL, s), EINVAL);
            CHECK_ERRNO(sched_reduce(lo, hi, grain, sizeof zero, &zero, fold, combine, NULL, &result, s), EINVAL);
            CHECK_ERRNO(sched_reduce_relaxed(lo, hi, grain, sizeof zero, &zero, fold, combine, NULL, &result, s), EINVAL);
        }
    }
    CHECK_EQ(result, 77);
}

static void ended(struct scheduler *s)
{
    CHECK_ERRNO(sched_for(0, 10, 0, errors_body, NULL, s), EINVAL);
    CHECK_ERRNO(sched_for(0, 0, 0, errors_body, NULL, s), EINVAL);
    refused(sizeof zero, &zero, fold, combine, &result, s);
    CHECK_ERRNO(sched_sort(errors_array, 3, sizeof *errors_array, errors_compare, s), EINVAL);
    CHECK_ERRNO(sched_sort(errors_array, 0, sizeof *errors_array, errors_compare, s), EINVAL);
    CHECK_EQ(result, 77);
    CHECK(errors_array[0] == 3 && errors_array[1] == 1 && errors_array[2] == 2);
}

static void errors_root(void *closure, struct scheduler *s)
{
    kept = s;
    CHECK_ERRNO(sched_for(0, 10, 0, NULL, NULL, s), EINVAL);
    CHECK_ERRNO(sched_for(10, 0, 0, NULL, NULL, s), EINVAL);
    refused(0, &zero, fold, combine, &result, s);
    refused(sizeof zero, NULL, fold, combine, &result, s);
    refused(sizeof zero, &zero, NULL, combine, &result, s);
    refused(sizeof zero, &zero, fold, NULL, &result, s);
    refused(sizeof zero, &zero, fold, combine, NULL, s);
    negative(s);
    CHECK_ERRNO(sched_sort(NULL, 3, sizeof *errors_array, errors_compare, s), EINVAL);
    CHECK_ERRNO(sched_sort(errors_array, 3, 0, errors_compare, s), EINVAL);
    CHECK_ERRNO(sched_sort(errors_array, 3, sizeof *errors_array, NULL, s), EINVAL);
    CHECK_ERRNO(sched_for(0, 10, 0, NULL, NULL, NULL), EINVAL);
    CHECK_ERRNO(sched_sort(errors_array, 3, 0, errors_compare, NULL), EINVAL);
    /* A call without work is not an error. */
    CHECK_EQ(sched_for(10, 10, 0, errors_body, NULL, s), 0);
    CHECK_EQ(sched_sort(NULL, 0, sizeof *errors_array, errors_compare, s), 0);
    CHECK_EQ(sched_sort(errors_array, 1, sizeof *errors_array, errors_compare, s), 0);

    pid_t pid = fork();
    if (pid == 0) {
        ended(s);
        _exit(0);
    }
    CHECK_EQ(wait_for(pid), 0);
}

static void *errors_stranger(void *s)
{
    ended(s);
    return NULL;
}

CASE(loops_errors)
{
    CHECK_EQ(sched_init(4, 10, errors_root, NULL), 0);
    ended(kept);
    run_thread(errors_stranger, kept);
}

/* loops_foreign: sched_for, sched_reduce and sched_sort with another worker's s, from a task; and
 * from a thread that is not a worker, while the run continues: the workers do all the work, so each
 * body runs on a worker.
 * ctest: sleeps
 * ctest: matrix idle=park,nap threads=1,4 */
enum { FOREIGN_N = 20000, STRANGERS = 3 };

static atomic_int foreign_over;
static atomic_long on_strangers;
static struct scheduler *_Atomic shared;
static __thread int is_stranger;

static void foreign_body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    int *a = ctx;
    CHECK(s != NULL);
    atomic_fetch_add(&on_strangers, is_stranger);
    for (size_t i = lo; i < hi; i++)
        a[i] = (int)(i * 7919 % FOREIGN_N);
}

static void foreign_add(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    const int *a = ctx;
    for (size_t i = lo; i < hi; i++)
        *(long *)acc += a[i];
    atomic_fetch_add(&on_strangers, is_stranger);
}

static void plus(void *into, const void *from, void *ctx)
{
    *(long *)into += *(const long *)from;
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void all(struct scheduler *s)
{
    int *a = malloc(FOREIGN_N * sizeof *a);
    long sum = -1, zero = 0;
    CHECK(a != NULL);
    CHECK_EQ(sched_for(0, FOREIGN_N, 0, foreign_body, a, s), 0);
    CHECK_EQ(sched_reduce(0, FOREIGN_N, 0, sizeof sum, &zero, foreign_add, plus, a, &sum, s), 0);
    CHECK_EQ(sum, (long)FOREIGN_N * (FOREIGN_N - 1) / 2);
    CHECK_EQ(sched_reduce_relaxed(0, FOREIGN_N, 0, sizeof sum, &zero, foreign_add, plus, a, &sum, s), 0);
    CHECK_EQ(sum, (long)FOREIGN_N * (FOREIGN_N - 1) / 2);
    CHECK_EQ(sched_sort(a, FOREIGN_N, sizeof *a, compare, s), 0);
    for (int i = 0; i < FOREIGN_N; i++)
        CHECK_EQ(a[i], i);
    free(a);
}

static void *foreign_stranger(void *arg)
{
    is_stranger = 1;
    while (!shared)
        pause_us(50);
    for (int i = 0; i < 5 && foreign_over < STRANGERS; i++)
        all(shared);
    atomic_fetch_add(&foreign_over, 1);
    return arg;
}

static void sibling(void *closure, struct scheduler *s)
{
    all(closure); /* the parent's s, perhaps on another worker */
    all(s);
}

/* Keeps the run going by new tasks, so that the one worker finds what comes from outside; but not
 * where the youngest task, which would always be this one, runs first. */
static void busy(void *closure, struct scheduler *s)
{
    if (foreign_over < STRANGERS) {
        pause_us(100);
        CHECK_EQ(sched_spawn(busy, closure, s), 0);
    }
}

static void foreign_root(void *closure, struct scheduler *s)
{
    CHECK_TIMES(4, sched_spawn(sibling, s, s));
    shared = s;
    busy(closure, s);
}

CASE(loops_foreign)
{
    pthread_t threads[STRANGERS];
    if (shares_stack() && threads_of(4) == 1)
        foreign_over = STRANGERS;
    for (int i = 0; i < STRANGERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, foreign_stranger, NULL), 0);
    CHECK_EQ(sched_init(4, 10, foreign_root, NULL), 0);
    for (int i = 0; i < STRANGERS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(on_strangers, 0);
}

/* loops_memory: Memory ends (RLIMIT_AS): sched_sort and the reductions return -1 with ENOMEM, the
 * array and the result unchanged; small sorts, small values and loops need none. A relaxed
 * reduction does with memory for one value.
 * ctest: matrix few idle=park threads=1,4 */
enum { MEMORY_N = 40 << 20, LARGE = 16 << 20 };

static char *memory_array;

static void loop(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (size_t i = lo; i < hi; i++)
        ((char *)ctx)[i] = (char)(100 - i);
}

static void memory_count(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    *(long *)acc += (long)(hi - lo);
}

static int memory_compare(const void *a, const void *b)
{
    return *(const signed char *)a - *(const signed char *)b;
}

static void memory_root(void *closure, struct scheduler *s)
{
    char few[100];
    long sum = 0, zero = 0;
    memory_array[1] = 1;
    limit_space(24 << 10);
    for (int round = 0; round < 2; round++) {
        CHECK_ERRNO(sched_sort(memory_array, MEMORY_N, 1, memory_compare, s), ENOMEM);
        CHECK(memory_array[0] == 0 && memory_array[1] == 1 && memory_array[2] == 0);
        /* LARGE bytes are there once, not for all parts at once. */
        *(long *)(memory_array + LARGE) = 77;
        CHECK_ERRNO(sched_reduce(0, 1000, 0, LARGE, memory_array, memory_count, plus, NULL, memory_array + LARGE, s),
                    ENOMEM);
        CHECK_EQ(*(long *)(memory_array + LARGE), 77);
        CHECK_ERRNO(sched_reduce_relaxed(0, 1000, 0, 2 * LARGE, memory_array, memory_count, plus, NULL, memory_array + LARGE / 2, s),
                    ENOMEM);
        CHECK_EQ(*(long *)(memory_array + LARGE), 77);
        /* There is memory for one value at most; the workers' stacks need some, too. */
        int is_done = sched_reduce_relaxed(0, 1000, 0, LARGE, memory_array, memory_count, plus, NULL, memory_array + LARGE, s) == 0;
        if (!is_done)
            CHECK_EQ(errno, ENOMEM);
        CHECK_EQ(*(long *)(memory_array + LARGE), is_done ? *(long *)memory_array + 1000 : 77);
        CHECK_EQ(sched_reduce_relaxed(0, 1000, 0, sizeof sum, &zero, memory_count, plus, NULL, &sum, s), 0);
        CHECK_EQ(sum, 1000);
        CHECK_EQ(sched_reduce(0, 1000, 0, sizeof sum, &zero, memory_count, plus, NULL, &sum, s), 0);
        CHECK_EQ(sum, 1000);
        CHECK_EQ(sched_for(0, sizeof few, 0, loop, few, s), 0);
        CHECK_EQ(sched_sort(few, sizeof few, 1, memory_compare, s), 0);
        for (size_t i = 0; i < sizeof few; i++)
            CHECK_EQ(few[i], (char)i + 1);
    }
}

static void memory_body(void *arg)
{
    one_heap(); /* else a thread may be making one while root looks at the size */
    memory_array = calloc(MEMORY_N, 1);
    CHECK(memory_array != NULL);
    CHECK_EQ(sched_init(4, 10, memory_root, arg), 0);
}

CASE(loops_memory)
{
    CHECK_IN_CHILD(memory_body, NULL);
}

/* loops_refuse: SCHED_OVERFLOW=refuse: with queues that are full the caller does what it cannot
 * share, and parts are not cut smaller for it.
 * ctest: matrix without=calls idle=park threads=1,4 overflow=refuse */
enum { REFUSE_N = 100000, QLEN = 3 };

static atomic_long parts;

static void refuse_part(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (size_t i = lo; i < hi; i++)
        mark((long)i);
    atomic_fetch_add(&parts, 1);
}

static void refuse_add(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    *(size_t *)acc += hi - lo;
}

static void refuse_plus(void *into, const void *from, void *ctx)
{
    *(size_t *)into += *(const size_t *)from;
}

static void refuse_root(void *closure, struct scheduler *s)
{
    static int a[REFUSE_N];
    size_t sum = 0, zero = 0;
    for (int round = 0; round < 10; round++) {
        while (sched_spawn(nothing, NULL, s) == 0)
            ;
        CHECK_EQ(errno, EAGAIN);
        parts = 0;
        CHECK_EQ(sched_for(0, REFUSE_N, 0, refuse_part, NULL, s), 0);
        if (threads_of(4) == 1)
            CHECK(parts < 1000);
        check_marks(REFUSE_N);
        CHECK_EQ(sched_reduce(0, REFUSE_N, 0, sizeof sum, &zero, refuse_add, refuse_plus, NULL, &sum, s), 0);
        CHECK_EQ(sum, REFUSE_N);
        CHECK_EQ(sched_reduce_relaxed(0, REFUSE_N, 0, sizeof sum, &zero, refuse_add, refuse_plus, NULL, &sum, s), 0);
        CHECK_EQ(sum, REFUSE_N);
        for (int i = 0; i < REFUSE_N; i++)
            a[i] = (int)((long)i * 7919 % REFUSE_N);
        CHECK_EQ(sched_sort(a, REFUSE_N, sizeof *a, compare, s), 0);
        for (int i = 0; i < REFUSE_N; i++)
            CHECK_EQ(a[i], i);
    }
}

CASE(loops_refuse)
{
    CHECK_EQ(sched_init(4, QLEN, refuse_root, NULL), 0);
}
