/* scans: sched_scan. */
#include "case.h"
#include "child.h"
#include "proc.h"
#include "pool.h"
#include <pthread.h>
#include <sched_tasks.h>
#include <stdatomic.h>
#include <sys/resource.h>

/* scan: sched_scan: the parts are those of the grain from lo on; each is scanned after at most one call without a value
 * before; values are combined in their order, once for each part, so that the operation need not commute. Inclusive,
 * exclusive and in place, as the body decides. The result is the value of all numbers, or not wanted.
 * ctest: static debug
 * ctest: matrix refuse threads=1,4
 * ctest: matrix idle=park threads=2,16
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
enum { MOST = 5000 / SMALLER };

/* A stretch of numbers, and a hash that does not commute. */
struct stretch {
    size_t lo, hi; /* no numbers: both are 0 */
    uint64_t hash, power;
};

static const struct stretch NONE = {0, 0, 0, 1};
enum { FACTOR = 1000003 };

static void append(struct stretch *stretch, size_t i)
{
    if (stretch->hi == stretch->lo)
        stretch->lo = i;
    else
        CHECK_EQ(stretch->hi, i);
    stretch->hash = stretch->hash * FACTOR + (i * 31 + 7);
    stretch->power *= FACTOR;
    stretch->hi = i + 1;
}

static void join(struct stretch *left, const struct stretch *right)
{
    if (left->hi == left->lo)
        *left = *right;
    else if (right->hi > right->lo) {
        CHECK_EQ(left->hi, right->lo);
        left->hash = left->hash * right->power + right->hash;
        left->power *= right->power;
        left->hi = right->hi;
    }
}

struct all {
    size_t lo, hi, grain;
    uint64_t *results;       /* of each number, inclusive and exclusive */
    atomic_uchar *calls;     /* calls for each part: without a value before; times 16: with one */
    size_t combined;         /* the end of the parts that are combined */
};

static void scan(size_t lo, size_t hi, void *acc, const void *before, void *ctx, struct scheduler *s)
{
    struct all *all = ctx;
    struct stretch sum;
    CHECK(lo < hi && all->lo <= lo && hi <= all->hi);
    CHECK_EQ((uintptr_t)acc % _Alignof(max_align_t), 0);
    CHECK_EQ((uintptr_t)before % _Alignof(max_align_t), 0);
    CHECK(memcmp(acc, &NONE, sizeof NONE) == 0);
    CHECK(sched_worker_index(s) >= 0);
    CHECK_EQ((lo - all->lo) % all->grain, 0);
    CHECK(hi == all->hi || hi - lo == all->grain);
    atomic_fetch_add(&all->calls[(lo - all->lo) / all->grain], before ? 16 : 1);
    if (before) {
        const struct stretch *until = before;
        CHECK_EQ(until->hi, lo > all->lo ? lo : 0);
        CHECK_EQ(until->lo, lo > all->lo ? all->lo : 0);
    }
    sum = NONE;
    for (size_t i = lo; i < hi; i++) {
        uint64_t *results = all->results + 2 * (i - all->lo);
        struct stretch result = NONE;
        if (before) {
            join(&result, before);
            join(&result, &sum);
            results[0] = result.hash;
        }
        append(&sum, i);
        if (before) {
            result = *(const struct stretch *)before;
            join(&result, &sum);
            results[1] = result.hash;
        }
    }
    memcpy(acc, &sum, sizeof sum);
}

static void combine(void *into, const void *from, void *ctx)
{
    struct all *all = ctx;
    const struct stretch *right = from;
    CHECK_EQ(right->lo, all->combined);
    CHECK_EQ(((struct stretch *)into)->hi, right->lo > all->lo ? right->lo : 0);
    all->combined = right->hi;
    join(into, from);
}

static void scan_range(size_t lo, size_t hi, size_t grain, int wants_result, struct scheduler *s)
{
    size_t n = hi > lo ? hi - lo : 0, each = grain ? grain : (n + 1023) / 1024;
    size_t parts = n ? (n - 1) / each + 1 : 0;
    struct all all = {lo, hi, each, calloc(2 * n + 1, sizeof(uint64_t)), calloc(parts + 1, 1), lo};
    struct stretch result = {7, 7, 7, 7}, expected = NONE;
    CHECK(all.results && all.calls);
    CHECK_EQ(sched_scan(lo, hi, grain, sizeof result, &NONE, scan, combine, &all, wants_result ? &result : NULL, s), 0);
    for (size_t i = 0; i < n; i++) {
        CHECK_EQ(all.results[2 * i], expected.hash);
        append(&expected, lo + i);
        CHECK_EQ(all.results[2 * i + 1], expected.hash);
    }
    for (size_t i = 0; i < parts; i++)
        CHECK(all.calls[i] == 16 || all.calls[i] == 17);
    if (n > 0)
        CHECK_EQ(all.combined, hi);
    if (wants_result)
        CHECK(memcmp(&result, &expected, sizeof result) == 0);
    else
        CHECK_EQ(result.lo, 7);
    free(all.results);
    free(all.calls);
}

/* Values of any size, with nothing written behind them. */
static void count_bytes(size_t lo, size_t hi, void *acc, const void *before, void *ctx, struct scheduler *s)
{
    const size_t *size = ctx;
    unsigned char *bytes = acc;
    CHECK_EQ((uintptr_t)acc % _Alignof(max_align_t), 0);
    for (size_t k = 0; k < *size; k++) {
        bytes[k] = (unsigned char)(bytes[k] + (hi - lo) * (k + 1));
        if (before)
            CHECK_EQ(((const unsigned char *)before)[k], (unsigned char)((lo - 5) * (k + 1)));
    }
}

static void join_bytes(void *into, const void *from, void *ctx)
{
    for (size_t k = 0; k < *(size_t *)ctx; k++)
        ((unsigned char *)into)[k] = (unsigned char)(((unsigned char *)into)[k] + ((const unsigned char *)from)[k]);
}

static void scan_sized(size_t size, struct scheduler *s)
{
    unsigned char *zero = calloc(1, size), *result = malloc(size + 1);
    CHECK(zero && result);
    result[size] = 77;
    CHECK_EQ(sched_scan(5, 1005, 3, size, zero, count_bytes, join_bytes, &size, result, s), 0);
    for (size_t k = 0; k < size; k++) {
        CHECK_EQ(result[k], (unsigned char)(1000 * (k + 1)));
        CHECK_EQ(zero[k], 0);
    }
    CHECK_EQ(result[size], 77);
    /* The result may be where the identity is. */
    CHECK_EQ(sched_scan(5, 1005, 3, size, zero, count_bytes, join_bytes, &size, zero, s), 0);
    CHECK(memcmp(zero, result, size) == 0);
    free(zero);
    free(result);
}

static void scan_root(void *closure, struct scheduler *s)
{
    static const size_t sizes[] = {1, 2, 3, 4, 17, MOST / 5, MOST};
    static const size_t grains[] = {0, 1, 2, 5, 64, MOST - 1, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof grains / sizeof *grains; k++) {
            scan_range(0, sizes[i], grains[k], 1, s);
            scan_range(PTRDIFF_MAX - sizes[i], PTRDIFF_MAX, grains[k], 0, s);
        }
    scan_range(5, 5, 0, 1, s);
    scan_range(9, 3, 1, 1, s);
    scan_range(9, 3, 0, 0, s);
    for (int round = 0; round < 20 / SMALLER + 1; round++)
        scan_range(3, 100000 / SMALLER, round % 2 ? 0 : 40, 1, s);
    for (size_t size = 1; size < 300; size += 1 + size / 20)
        scan_sized(size, s);
    scan_sized(100000 / SMALLER, s);
}

CASE(scan)
{
    CHECK_EQ(sched_init(4, 10, scan_root, NULL), 0);
    scan_range(0, 10000, 0, 1, NULL); /* from main, in the default pool */
}

/* scan_same: the results of a scan of floating-point numbers are the same, bit for bit, under each
 * kind, with any number of workers, each time, in place or not; and each is as documented: the
 * value before the part, combined with the value of the part's numbers so far.
 * ctest: matrix threads=1,4
 * ctest: matrix idle=park threads=2,16 */
enum { SAME = 30000 };

static float same_expected[SAME], same_results[SAME];

static float term(size_t i)
{
    return 1.0f / (float)(i % 1000 + 1);
}

static void same_body(size_t lo, size_t hi, void *acc, const void *before, void *ctx, struct scheduler *s)
{
    float *data = ctx, sum = 0;
    for (size_t i = lo; i < hi; i++) {
        sum += data[i];
        if (before)
            data[i] = *(const float *)before + sum;
    }
    *(float *)acc = sum;
}

static void same_plus(void *into, const void *from, void *ctx)
{
    *(float *)into += *(const float *)from;
}

static void same_scan(size_t grain, struct scheduler *s)
{
    float zero = 0, total = -1, before = 0;
    size_t each = grain ? grain : (SAME + 1023) / 1024;
    for (size_t lo = 0; lo < SAME; lo += each) {
        float sum = 0;
        for (size_t i = lo; i < lo + each && i < SAME; i++) {
            sum += term(i);
            same_expected[i] = before + sum;
        }
        before += sum;
    }
    for (size_t i = 0; i < SAME; i++)
        same_results[i] = term(i);
    CHECK_EQ(sched_scan(0, SAME, grain, sizeof zero, &zero, same_body, same_plus, same_results, &total, s), 0);
    CHECK(memcmp(same_results, same_expected, sizeof same_results) == 0);
    CHECK(total == before);
}

static void same_root(void *closure, struct scheduler *s)
{
    for (int round = 0; round < 40 / SMALLER; round++) {
        same_scan(0, s);
        same_scan(7, s);
        same_scan(1000, s);
    }
}

CASE(scan_same)
{
    CHECK_EQ(sched_init(0, 64, same_root, NULL), 0);
    same_scan(0, NULL);
}

/* scan_helped: while the worker that began is in a part, the others take the parts behind it, except the last. From a
 * pool's s, too. (Each scan takes milliseconds: after one that was short for a wake-up, the next one with this body begins
 * alone.)
 * ctest: matrix with=threads idle=park threads=2,4 */
enum { HELPED = 64, LONG_US = 3000 };

static atomic_int folded;

/* The first part ends when a quarter of the others has been folded. */
static void until_helped(size_t lo, size_t hi, void *acc, const void *before, void *ctx, struct scheduler *s)
{
    long *results = ctx;
    CHECK_EQ(hi - lo, 1);
    if (!before) {
        CHECK(lo > 0 && lo < HELPED - 1);
        folded++;
    }
    while (lo == 0 && folded < HELPED / 4)
        pause_us(50);
    if (lo == 0)
        pause_us(LONG_US);
    *(long *)acc += (long)lo;
    if (before)
        results[lo] = *(const long *)before + *(long *)acc;
}

static void long_plus(void *into, const void *from, void *ctx)
{
    *(long *)into += *(const long *)from;
}

static void helped_scan(struct scheduler *s)
{
    long zero = 0, total = 77, results[HELPED];
    folded = 0;
    CHECK_EQ(sched_scan(0, HELPED, 1, sizeof zero, &zero, until_helped, long_plus, results, &total, s), 0);
    for (long i = 0; i < HELPED; i++)
        CHECK_EQ(results[i], i * (i + 1) / 2);
    CHECK_EQ(total, HELPED * (HELPED - 1L) / 2);
    CHECK(folded >= HELPED / 4);
}

static void helped_root(void *closure, struct scheduler *s)
{
    for (int round = 0; round < 50; round++)
        helped_scan(s);
}

CASE(scan_helped)
{
    if (threads_of(4) > 1)
        CHECK_EQ(sched_init(4, 10, helped_root, NULL), 0);
    struct sched_pool *pool = pool_of(2);
    helped_root(NULL, sched_pool_scheduler(pool));
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* scan_nested: scans in the bodies of scans, in tasks and in loops; bodies and combinations that wait, so that the scan
 * continues on other workers, each part with the s of its worker.
 * ctest: matrix idle=park threads=1,4 */
enum { NESTED = SMALLER > 5 ? 10 : 40, LEVELS = 2 };

static __thread unsigned calls;

static void wait_seldom(void)
{
    if (++calls % 13 == 0)
        sched_task_yield(NULL);
}

static void nested_plus(void *into, const void *from, void *ctx)
{
    wait_seldom();
    *(long *)into += *(const long *)from;
}

static long nested_total(long level, struct scheduler *s);

static void nested_body(size_t lo, size_t hi, void *acc, const void *before, void *ctx, struct scheduler *s)
{
    long level = *(long *)ctx, sum = 0;
    for (size_t i = lo; i < hi; i++)
        sum += level < LEVELS ? nested_total(level + 1, i % 2 ? NULL : s) : 1;
    wait_seldom();
    if (before)
        CHECK_EQ(*(const long *)before % (sum / (long)(hi - lo)), 0);
    *(long *)acc = sum;
}

static long nested_total(long level, struct scheduler *s)
{
    long zero = 0, total = 77;
    CHECK_EQ(sched_scan(0, NESTED, level % 2, sizeof zero, &zero, nested_body, nested_plus, &level, &total, s), 0);
    return total;
}

static void nested_part(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (size_t i = lo; i < hi; i++)
        CHECK_EQ(nested_total(LEVELS - 1, s), NESTED * NESTED);
}

static void nested_root(void *closure, struct scheduler *s)
{
    CHECK_EQ(nested_total(0, s), NESTED * NESTED * NESTED);
    CHECK_EQ(sched_for(0, 20, 1, nested_part, NULL, s), 0);
}

static void nested_task(void *closure, struct scheduler *s)
{
    nested_part(0, 3, NULL, s);
}

CASE(scan_nested)
{
    sched_group group = SCHED_GROUP_INIT;
    CHECK_EQ(sched_init(4, 100, nested_root, NULL), 0);
    CHECK_TIMES(8, sched_group_spawn(&group, nested_task, NULL, NULL));
    CHECK_EQ(sched_group_wait(&group, NULL), 0);
}

/* scan_stopped: sched_stop in a body, and the cancellation of the caller's group, end a scan with ECANCELED; result is
 * as it was, and nothing is combined that was not computed.
 * ctest: matrix threads=1,4
 * ctest: matrix idle=park threads=2,16 */
enum { ENOUGH = 100 };

static const size_t endless = PTRDIFF_MAX;
static atomic_long parts;
static sched_group stopped_group;

static void stopped_body(size_t lo, size_t hi, void *acc, const void *before, void *ctx, struct scheduler *s)
{
    *(long *)acc = 1;
    if (atomic_fetch_add(&parts, 1) < ENOUGH)
        return;
    *(long *)acc = -1; /* no value */
    if (ctx == &stopped_group)
        sched_group_cancel(&stopped_group);
    else
        sched_stop(s);
}

static void stopped_plus(void *into, const void *from, void *ctx)
{
    if (ctx != &stopped_group && threads_of(4) == 1)
        CHECK_EQ(*(const long *)from, 1);
    *(long *)into += *(const long *)from;
}

static void stopped_scan(void *ctx, struct scheduler *s)
{
    long wide[40] = {0}, result[40] = {77};
    for (size_t size = sizeof(long); size <= sizeof wide; size = size * 40) {
        parts = 0;
        CHECK_ERRNO(sched_scan(0, endless, 1, size, wide, stopped_body, stopped_plus, ctx, result, s), ECANCELED);
        CHECK(parts > ENOUGH || ctx != NULL);
        if (threads_of(4) == 1 && ctx == NULL && s != NULL)
            CHECK_EQ(parts, ENOUGH + 1);
        CHECK_EQ(result[0], 77);
    }
}

static void member(void *closure, struct scheduler *s)
{
    stopped_scan(&stopped_group, s);
}

static void stopped_root(void *closure, struct scheduler *s)
{
    stopped_scan(NULL, s);
    CHECK_EQ(sched_group_spawn(&stopped_group, member, NULL, s), 0);
    CHECK_ERRNO(sched_group_wait(&stopped_group, s), ECANCELED);
    scan_range(0, 1000, 0, 1, s); /* the next scan is whole */
}

CASE(scan_stopped)
{
    CHECK_EQ(sched_init(4, 64, stopped_root, NULL), 0);
    stopped_scan(NULL, NULL);
}

/* scan_errors: bad arguments: EINVAL, nothing is called, and the result stays as it was.
 * ctest: matrix threads=1,4 */
static void never(size_t lo, size_t hi, void *acc, const void *before, void *ctx, struct scheduler *s)
{
    CHECK(!"called");
}

static void never_combined(void *into, const void *from, void *ctx)
{
    CHECK(!"called");
}

static struct scheduler *kept;

static void errors_root(void *closure, struct scheduler *s)
{
    static const long bounds[][2] = {{0, -5}, {-5, 0}, {-5, -1}, {-1, -5}, {7, LONG_MIN}, {LONG_MIN, LONG_MAX}};
    const long zero = 0;
    long result = 77;
    kept = s;
    CHECK_ERRNO(sched_scan(0, 9, 0, 0, &zero, never, never_combined, NULL, &result, s), EINVAL);
    CHECK_ERRNO(sched_scan(0, 9, 0, sizeof zero, NULL, never, never_combined, NULL, &result, s), EINVAL);
    CHECK_ERRNO(sched_scan(0, 9, 0, sizeof zero, &zero, NULL, never_combined, NULL, &result, s), EINVAL);
    CHECK_ERRNO(sched_scan(9, 0, 0, sizeof zero, &zero, never, NULL, NULL, &result, s), EINVAL);
    for (int i = 0; i < 6; i++)
        for (size_t grain = 0; grain < 2; grain++)
            CHECK_ERRNO(sched_scan((size_t)bounds[i][0], (size_t)bounds[i][1], grain, sizeof zero, &zero, never,
                                   never_combined, NULL, &result, s), EINVAL);
    CHECK_EQ(result, 77);
    CHECK_EQ(sched_scan(9, 9, 0, sizeof zero, &zero, never, never_combined, NULL, &result, s), 0);
    CHECK_EQ(result, 0);
}

CASE(scan_errors)
{
    long zero = 0, result = 77;
    CHECK_EQ(sched_init(4, 10, errors_root, NULL), 0);
    CHECK_ERRNO(sched_scan(0, 9, 0, sizeof zero, &zero, never, never_combined, NULL, &result, kept), EINVAL);
    CHECK_EQ(result, 77);
}

/* scan_memory: without memory for two large values a scan fails with ENOMEM and calls nothing; without memory for a
 * table of values, the caller does all parts. Small values need none. (RLIMIT_AS)
 * ctest: matrix few idle=park threads=1,4 */
enum { LARGE = 16 << 20, FITTING = 2 << 20 };

static char *large;

static void memory_body(size_t lo, size_t hi, void *acc, const void *before, void *ctx, struct scheduler *s)
{
    *(long *)acc = (long)(hi - lo);
    if (before)
        CHECK_EQ(*(const long *)before, (long)lo);
}

static void memory_root(void *closure, struct scheduler *s)
{
    long zero = 0, result = 77;
    limit_space(24 << 10);
    for (int round = 0; round < 2; round++) {
        *(long *)(large + LARGE) = 77;
        CHECK_ERRNO(sched_scan(0, 1000, 0, LARGE, large, never, never_combined, NULL, large + LARGE, s), ENOMEM);
        CHECK_EQ(*(long *)(large + LARGE), 77);
        CHECK_EQ(sched_scan(0, 1000, 0, FITTING, large, memory_body, long_plus, NULL, large + LARGE, s), 0);
        CHECK_EQ(*(long *)(large + LARGE), 1000);
        CHECK_EQ(sched_scan(0, 1000, 0, sizeof zero, &zero, memory_body, long_plus, NULL, &result, s), 0);
        CHECK_EQ(result, 1000);
    }
}

static void memory_child(void *arg)
{
    one_heap(); /* else a thread may be making one while root looks at the size */
    large = calloc(2 * LARGE, 1);
    CHECK(large != NULL);
    CHECK_EQ(sched_init(4, 10, memory_root, arg), 0);
}

CASE(scan_memory)
{
    CHECK_IN_CHILD(memory_child, NULL);
}

/* scan_refused: SCHED_OVERFLOW=refuse: while the queues are full, the caller does what it cannot share.
 * ctest: matrix without=calls idle=park threads=1,4 overflow=refuse */
static void refused_root(void *closure, struct scheduler *s)
{
    for (int round = 0; round < 10; round++) {
        while (sched_spawn(nothing, NULL, s) == 0)
            ;
        CHECK_EQ(errno, EAGAIN);
        scan_range(0, 3000, 1, 1, s);
    }
}

CASE(scan_refused)
{
    CHECK_EQ(sched_init(4, 3, refused_root, NULL), 0);
}
