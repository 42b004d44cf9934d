/* reduces: sched_reduce. */
#include "case.h"
#include "reductions.h"
#include <sched_tasks.h>
#include <stdatomic.h>

/* reduce: sched_reduce: the parts are those of the grain from lo on; values are combined in their
 * order, so that the operation need not commute; the brackets are the same under each kind, with
 * any number of workers, and each time. Values of any size; the result is written at the end.
 * ctest: static
 * ctest: matrix refuse threads=1,4
 * ctest: matrix idle=park threads=2,16
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
/* --- permutations: composition does not commute --------------------------------- */

enum { POINTS = 13, REDUCE_MOST = 5000 / SMALLER };

struct permutation {
    unsigned char to[POINTS];
};

static const struct permutation IDENTITY = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};

static void then(struct permutation *p, const struct permutation *q)
{
    for (int i = 0; i < POINTS; i++)
        p->to[i] = q->to[p->to[i]];
}

/* The permutation of number i: a swap that depends on it. */
static void apply(struct permutation *p, size_t i)
{
    struct permutation q = IDENTITY;
    size_t a = i * 7 % POINTS, b = (i * i + 3) % POINTS;
    unsigned char t = q.to[a];
    q.to[a] = q.to[b];
    q.to[b] = t;
    then(p, &q);
}

static void compose(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    CHECK(ctx == (void *)&IDENTITY);
    CHECK_EQ((uintptr_t)acc % _Alignof(max_align_t), 0);
    CHECK(memcmp(acc, &IDENTITY, sizeof IDENTITY) == 0);
    for (size_t i = lo; i < hi; i++)
        apply(acc, i);
}

static void after(void *into, const void *from, void *ctx)
{
    CHECK(ctx == (void *)&IDENTITY);
    then(into, from);
}

static void permute(size_t lo, size_t hi, size_t grain, struct scheduler *s)
{
    struct permutation expected = IDENTITY, result = {{99}};
    for (size_t i = lo; i < hi; i++)
        apply(&expected, i);
    CHECK_EQ(sched_reduce(lo, hi, grain, sizeof result, &IDENTITY, compose, after,
                          (void *)&IDENTITY, &result, s), 0);
    CHECK(memcmp(&result, &expected, sizeof result) == 0);
}

/* --- the tree: a hash of the brackets ----------------------------------------------- */

struct tree {
    size_t lo, hi; /* the numbers that it stands for */
    uint64_t hash;
};

static void leaf(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    struct tree *tree = acc;
    size_t grain = *(size_t *)ctx;
    CHECK_EQ(tree->hash, 42);
    if (grain > 0)
        CHECK(hi - lo <= grain && lo % grain == 0);
    *tree = (struct tree){lo, hi, (lo * 31 + hi) * 2654435761u};
}

static void bracket(void *into, const void *from, void *ctx)
{
    struct tree *left = into;
    const struct tree *right = from;
    CHECK_EQ(left->hi, right->lo);
    left->hash = (left->hash * 6364136223846793005u) ^ (right->hash + 1442695040888963407u);
    left->hi = right->hi;
}

/* The tree as documented nowhere, but the same everywhere. */
static struct tree drawn(size_t from, size_t to, size_t n, size_t grain)
{
    struct tree tree = {0, 0, 42};
    if (to - from == 1) {
        leaf(from * grain, (from + 1) * grain < n ? (from + 1) * grain : n, &tree, &grain, NULL);
        return tree;
    }
    size_t middle = from + (to - from) / 2;
    struct tree right = drawn(middle, to, n, grain);
    tree = drawn(from, middle, n, grain);
    bracket(&tree, &right, NULL);
    return tree;
}

static void draw(size_t n, size_t grain, struct scheduler *s)
{
    struct tree none = {0, 0, 42}, tree;
    CHECK_EQ(sched_reduce(0, n, grain, sizeof tree, &none, leaf, bracket, &grain, &tree, s), 0);
    CHECK_EQ(tree.lo, 0);
    CHECK_EQ(tree.hi, n);
    if (grain == 0) /* at most 1024 parts, and one for each number of a short range */
        grain = (n + 1023) / 1024;
    CHECK_EQ(tree.hash, drawn(0, n / grain + (n % grain > 0), n, grain).hash);
}

/* --- floating point ---------------------------------------------------------------------- */

static void harmonic(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    for (size_t i = lo; i < hi; i++)
        *(float *)acc += 1.0f / (float)(i + 1);
}

static void plus(void *into, const void *from, void *ctx)
{
    *(float *)into += *(const float *)from;
}

static void reduce_root(void *closure, struct scheduler *s)
{
    static const size_t sizes[] = {1, 2, 3, 17, REDUCE_MOST / 5, REDUCE_MOST};
    static const size_t grains[] = {0, 1, 2, 5, 64, REDUCE_MOST - 1, SIZE_MAX};
    float first = 0, zero = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof grains / sizeof *grains; k++) {
            permute(0, sizes[i], grains[k], s);
            permute(PTRDIFF_MAX - sizes[i], PTRDIFF_MAX, grains[k], s);
            draw(sizes[i], grains[k], s);
        }
    permute(5, 5, 0, s);
    permute(9, 3, 1, s);
    draw(100000 / SMALLER, 0, s);
    for (size_t size = 1; size < 300; size += 1 + size / 20)
        sized(sched_reduce, size, s);
    sized(sched_reduce, 100000 / SMALLER, s);
    for (int round = 0; round < 20 / SMALLER; round++) {
        float sum = -1;
        CHECK_EQ(sched_reduce(0, 30000, 0, sizeof sum, &zero, harmonic, plus, NULL, &sum, s), 0);
        if (round == 0)
            first = sum;
        CHECK(sum == first && sum > 10.8f && sum < 10.95f);
    }
    /* The result may be where the identity is. */
    _Alignas(max_align_t) struct permutation both = IDENTITY, expected = IDENTITY;
    compose(0, 100, &expected, (void *)&IDENTITY, s);
    CHECK_EQ(sched_reduce(0, 100, 7, sizeof both, &both, compose, after, (void *)&IDENTITY, &both,
                          s), 0);
    CHECK(memcmp(&both, &expected, sizeof both) == 0);
}

CASE(reduce)
{
    CHECK_EQ(sched_init(4, 10, reduce_root, NULL), 0);
}

/* reduce_nested: Loops and reductions within each other's bodies need little of a stack: a level
 * takes less than 5 KiB, whichever of them it is. (With several workers, one that helps runs tasks
 * of other levels on top.)
 * ctest: matrix few idle=park threads=1 */
enum { LEVELS = 12 };

static size_t below(size_t level, struct scheduler *s);

static void loop(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    size_t *sums = ctx;
    for (size_t i = lo; i < hi; i++)
        sums[i + 1] = below(sums[0], s);
}

static void nested_part(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    for (size_t i = lo; i < hi; i++)
        *(size_t *)acc += below(*(size_t *)ctx, s);
}

static void nested_add(void *into, const void *from, void *ctx)
{
    *(size_t *)into += *(const size_t *)from;
}

/* How many calls there are at the last level: two for each of the level before. */
static size_t below(size_t level, struct scheduler *s)
{
    size_t next = level + 1, sums[3] = {next, 0, 0}, none = 0, sum = 0;
    if (level == LEVELS)
        return 1;
    if (level % 6 == 0) {
        CHECK_EQ(sched_for(0, 2, 0, loop, sums, s), 0);
        return sums[1] + sums[2];
    }
    if (level % 6 == 1)
        CHECK_EQ(sched_reduce(0, 2, 0, sizeof sum, &none, nested_part, nested_add, &next, &sum, s), 0);
    else
        CHECK_EQ(sched_reduce_relaxed(0, 2, 0, sizeof sum, &none, nested_part, nested_add, &next, &sum, s), 0);
    return sum;
}

static void nested_root(void *closure, struct scheduler *s)
{
    CHECK_EQ(below(0, s), 1 << LEVELS);
}

CASE(reduce_nested)
{
    CHECK_EQ(setenv("SCHED_STACK", "64K", 1), 0);
    CHECK_EQ(sched_init(1, 100, nested_root, NULL), 0);
}

/* reduce_relaxed: sched_reduce_relaxed: each value stands for numbers that follow on each other,
 * and values are combined in their order, so that the operation need not commute; the parts are
 * those of the grain, if there is one; one worker alone has one value, unless its queue overflows.
 * Values of any size; the result is written at the end.
 * ctest: static
 * ctest: matrix refuse threads=1,4
 * ctest: matrix idle=park threads=2,16
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
enum { RELAXED_MOST = 5000 / SMALLER };

static atomic_long relaxed_combinations;

/* --- stretches: what follows on what, and a hash that does not commute --------------------- */

struct stretch {
    size_t lo, hi; /* no numbers: both are 0 */
    uint64_t hash, power;
};

static const struct stretch NONE = {0, 0, 0, 1};
enum { FACTOR = 1000003 };

static void append(struct stretch *stretch, size_t lo, size_t hi)
{
    if (stretch->hi == stretch->lo)
        stretch->lo = lo;
    else
        CHECK_EQ(stretch->hi, lo);
    for (size_t i = lo; i < hi; i++) {
        stretch->hash = stretch->hash * FACTOR + (i * 31 + 7);
        stretch->power *= FACTOR;
    }
    stretch->hi = hi;
}

struct grain {
    size_t lo, hi, grain;
};

static void body(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    const struct grain *all = ctx;
    CHECK(lo < hi && all->lo <= lo && hi <= all->hi);
    CHECK_EQ((uintptr_t)acc % _Alignof(max_align_t), 0);
    CHECK(sched_worker_index(s) >= 0);
    if (all->grain > 0) {
        CHECK_EQ((lo - all->lo) % all->grain, 0);
        CHECK(hi == all->hi || hi - lo == all->grain);
    }
    append(acc, lo, hi);
}

static void relaxed_combine(void *into, const void *from, void *ctx)
{
    struct stretch *left = into;
    const struct stretch *right = from;
    const struct grain *all = ctx;
    CHECK(left->lo < left->hi && right->lo < right->hi);
    CHECK_EQ(left->hi, right->lo);
    CHECK(all->lo <= left->lo && right->hi <= all->hi);
    left->hash = left->hash * right->power + right->hash;
    left->power *= right->power;
    left->hi = right->hi;
    relaxed_combinations++;
}

static void relaxed_reduce(size_t lo, size_t hi, size_t grain, struct scheduler *s)
{
    struct grain all = {lo, hi, grain};
    struct stretch expected = NONE, result = {7, 7, 7, 7};
    if (lo < hi)
        append(&expected, lo, hi);
    CHECK_EQ(sched_reduce_relaxed(lo, hi, grain, sizeof result, &NONE, body, relaxed_combine, &all, &result, s), 0);
    CHECK_EQ(result.lo, expected.lo);
    CHECK_EQ(result.hi, expected.hi);
    CHECK_EQ(result.hash, expected.hash);
    CHECK_EQ(result.power, expected.power);
}

static void relaxed_root(void *closure, struct scheduler *s)
{
    static const size_t sizes[] = {1, 2, 3, 17, RELAXED_MOST / 5, RELAXED_MOST};
    static const size_t grains[] = {0, 1, 2, 5, 64, RELAXED_MOST - 1, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof grains / sizeof *grains; k++) {
            relaxed_reduce(0, sizes[i], grains[k], s);
            relaxed_reduce(PTRDIFF_MAX - sizes[i], PTRDIFF_MAX, grains[k], s);
        }
    relaxed_reduce(5, 5, 0, s);
    relaxed_reduce(9, 3, 1, s);
    for (int round = 0; round < 20; round++)
        relaxed_reduce(3, 200000 / SMALLER, 0, s);
    for (size_t size = 1; size < 300; size += 1 + size / 20)
        sized(sched_reduce_relaxed, size, s);
    sized(sched_reduce_relaxed, 100000 / SMALLER, s);
    /* The result may be where the identity is. */
    struct grain all = {0, 5000, 7};
    struct stretch both = NONE, expected = NONE;
    append(&expected, 0, 5000);
    CHECK_EQ(sched_reduce_relaxed(0, 5000, 7, sizeof both, &both, body, relaxed_combine, &all, &both, s), 0);
    CHECK_EQ(both.hash, expected.hash);
    /* A worker whose offers have overflowed into the global queue may find there one that it does not wait for. */
    const char *overflow = getenv("SCHED_OVERFLOW");
    int overflows = overflow != NULL && (strcmp(overflow, "one") == 0 || strcmp(overflow, "half") == 0);
    if (threads_of(4) == 1 && !overflows)
        CHECK_EQ(relaxed_combinations, 0);
}

CASE(reduce_relaxed)
{
    CHECK_EQ(sched_init(4, 10, relaxed_root, NULL), 0);
}

/* reduce_spread: A reduction keeps all workers busy: a few long parts go to a worker each at once,
 * and where one part is much longer than the others these are taken meanwhile, except up to seven
 * short ones beside it. (Each reduction takes milliseconds: after one that was short for a wake-up,
 * the next one with this body begins alone.)
 * ctest: matrix idle=park threads=2,4 */
enum { SPREAD_PARTS = 1000, LATE = 700, BESIDE = 7, LONG_US = 3000 };

static atomic_int inside;
static atomic_long done, spread_combinations;

/* Ends when this many are in it at the same time. */
static void meet(size_t lo, size_t hi, void *into, void *ctx, struct scheduler *s)
{
    int all = *(int *)ctx;
    CHECK_EQ(hi - lo, 1);
    atomic_fetch_add(&inside, 1);
    while (inside < all)
        pause_us(50);
    pause_us(LONG_US);
    *(long *)into += (long)lo;
}

/* Part `ctx` ends after all others, except those beside it if it comes late. */
static void last_of_all(size_t lo, size_t hi, void *into, void *ctx, struct scheduler *s)
{
    size_t last = *(size_t *)ctx;
    CHECK_EQ(hi - lo, 1);
    while (lo == last && done < SPREAD_PARTS - 1 - (last > 0 ? BESIDE : 0))
        pause_us(50);
    if (lo == last)
        pause_us(LONG_US);
    *(long *)into += (long)lo;
    atomic_fetch_add(&done, 1);
}

static void spread_add(void *into, const void *from, void *ctx)
{
    *(long *)into += *(const long *)from;
    atomic_fetch_add(&spread_combinations, 1);
}

static void spread_reduce(reduction *by, int workers, struct scheduler *s)
{
    const long none = 0;
    long sum = -1;
    inside = 0;
    spread_combinations = 0;
    CHECK_EQ(by(0, (size_t)workers, 1, sizeof none, &none, meet, spread_add, &workers, &sum, s), 0);
    CHECK_EQ(sum, workers * (workers - 1L) / 2);
    CHECK_EQ(spread_combinations, workers - 1); /* each worker had one part */
    /* Where the parts are those of a loop, the owner keeps some microseconds of them for itself. */
    for (size_t last = 0; last <= (by == sched_reduce ? LATE : 0); last += LATE) {
        done = 0;
        CHECK_EQ(by(0, SPREAD_PARTS, 1, sizeof none, &none, last_of_all, spread_add, &last, &sum, s), 0);
        CHECK_EQ(sum, SPREAD_PARTS * (SPREAD_PARTS - 1L) / 2);
        CHECK_EQ(done, SPREAD_PARTS);
    }
}

static void spread_root(void *closure, struct scheduler *s)
{
    int workers = *(int *)closure;
    for (int round = 0; round < 20; round++) {
        spread_reduce(sched_reduce, workers, s);
        spread_reduce(sched_reduce_relaxed, workers, s);
    }
}

CASE(reduce_spread)
{
    int workers = threads_of(4);
    if (workers > 1)
        CHECK_EQ(sched_init(4, 10, spread_root, &workers), 0);
}

/* reduce_waits: Each part of a reduction gets the s of the worker that runs it, also where the part
 * before, or a combination, has waited and gone on with another worker.
 * ctest: matrix idle=park threads=2,4 */
enum { WAITS_PARTS = 1000, OTHERS = 8, WAITS_MOST = 64, ROUNDS = 200 / SMALLER };

static _Atomic(struct scheduler *) s_of[WAITS_MOST]; /* of each worker, as its tasks got it */
static atomic_int over;
static __thread unsigned calls;

static void wait_seldom(void)
{
    if (++calls % 13 == 0)
        sched_task_yield(NULL);
}

static void waits_part(size_t lo, size_t hi, void *into, void *ctx, struct scheduler *s)
{
    CHECK_EQ(hi - lo, 1);
    int i = sched_worker_index(NULL);
    CHECK(i >= 0 && i < WAITS_MOST);
    struct scheduler *here = s_of[i];
    if (here != NULL)
        CHECK(s == here);
    *(long *)into += (long)lo;
    if (lo % 3 == 0)
        wait_seldom();
}

static void waits_combine(void *into, const void *from, void *ctx)
{
    wait_seldom();
    *(long *)into += *(const long *)from;
}

/* Something to run while the others wait. */
static void other(void *closure, struct scheduler *s)
{
    s_of[sched_worker_index(s)] = s;
    for (int i = 0; i < 100; i++)
        sched_task_yield(NULL);
    atomic_fetch_add(&over, 1);
}

static void waits_root(void *closure, struct scheduler *s)
{
    const long none = 0;
    for (int round = 0; round < ROUNDS; round++) {
        long sum = -1;
        CHECK_TIMES(OTHERS, sched_spawn(other, NULL, s));
        reduction *by = round % 2 ? sched_reduce : sched_reduce_relaxed;
        CHECK_EQ(by(0, WAITS_PARTS, 1, sizeof none, &none, waits_part, waits_combine, NULL, &sum, s), 0);
        CHECK_EQ(sum, WAITS_PARTS * (WAITS_PARTS - 1L) / 2);
    }
}

CASE(reduce_waits)
{
    CHECK_EQ(sched_init(4, 100, waits_root, NULL), 0);
    CHECK_EQ(over, ROUNDS * OTHERS);
}
