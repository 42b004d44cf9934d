/* sched_reduce: the parts are those of the grain from lo on; values are combined in their order,
 * so that the operation need not commute; the brackets are the same under each kind, with any
 * number of workers, and each time. Values of any size; the result is written at the end.
 * ctest: static
 * ctest: matrix refuse threads=1,4
 * ctest: matrix idle=park threads=2,16
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
#include "reductions.h"

/* --- permutations: composition does not commute --------------------------------- */

enum { POINTS = 13, MOST = 5000 / SMALLER };

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
    size_t lo, hi; /* what it stands for */
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

static void root(void *closure, struct scheduler *s)
{
    static const size_t sizes[] = {1, 2, 3, 17, MOST / 5, MOST};
    static const size_t grains[] = {0, 1, 2, 5, 64, MOST - 1, SIZE_MAX};
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

int main(void)
{
    CHECK_EQ(sched_init(4, 10, root, NULL), 0);
    return 0;
}
