/* loops.c: the statements for, reduce and sort. */
#include "program.h"

struct loop {
    const struct statement *now;
    struct range range;
    uint64_t path;
    struct task *task;
    unsigned char *done; /* of each number */
    atomic_ullong value;
};

/* False if the loop was refused, or has left parts out because the group of its caller was cancelled. */
static int is_whole(int result)
{
    return !(result != 0 && get_errno() == ECANCELED) && accepted(result);
}

static void loop_body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    struct loop *loop = ctx;
    size_t n = loop->range.n, grain = loop->range.grain;
    CHECK(lo < hi && hi <= n);
    CHECK(grain == 0 || hi - lo == grain || hi == n);
    for (size_t i = lo; i < hi; i++) {
        CHECK_EQ(loop->done[i]++, 0);
        uint64_t value = execute(block_of(loop->now, i), part(loop->path, i), loop->task, s);
        atomic_fetch_add_explicit(&loop->value, value, memory_order_relaxed);
    }
}

uint64_t loop_over(const struct statement *now, struct range range, uint64_t path, struct task *task, struct scheduler *s)
{
    struct loop loop = {now, range, path, task, calloc(range.n + 1, 1), 0};
    CHECK(loop.done != NULL);
    if (!is_whole(sched_for(0, range.n, range.grain, loop_body, &loop, s)))
        for (size_t i = 0; i < range.n; i++) {
            if (loop.done[i])
                continue;
            loop.done[i] = 1;
            loop.value += execute(block_of(now, i), part(path, i), task, s);
        }
    for (size_t i = 0; i < range.n; i++)
        CHECK_EQ(loop.done[i], 1);
    free(loop.done);
    return loop.value;
}

/* Larger values than the library keeps on stacks, in every third reduction. */
struct wide {
    struct map map;
    char rest[144];
};

static void reduce_body(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    struct map map = *(struct map *)acc;
    (void)s;
    for (size_t i = lo; i < hi; i++)
        map = after(map_of(*(uint64_t *)ctx, i), map);
    *(struct map *)acc = map;
}

static void combine(void *into, const void *from, void *ctx)
{
    (void)ctx;
    *(struct map *)into = after(*(const struct map *)from, *(struct map *)into);
}

/* What it would write depends on the value before, which it checks. */
static void scan_body(size_t lo, size_t hi, void *acc, const void *before, void *ctx, struct scheduler *s)
{
    if (before) {
        struct map until = {1, 0};
        reduce_body(0, lo, &until, ctx, s);
        CHECK(memcmp(&until, before, sizeof until) == 0);
    }
    reduce_body(lo, hi, acc, ctx, s);
}

uint64_t do_reduce(const struct statement *now, uint64_t path, struct scheduler *s)
{
    struct wide identity = {{1, 0}, {0}}, result = identity;
    size_t n = now->n[0], size = n % 3 == 0 ? sizeof(struct wide) : sizeof(struct map);
    int outcome = n % 2 == 1
        ? sched_reduce_relaxed(0, n, now->n[1], size, &identity, reduce_body, combine, &path, &result, s)
        : n % 4 == 2
        ? sched_scan(0, n, now->n[1], size, &identity, scan_body, combine, &path, &result, s)
        : sched_reduce(0, n, now->n[1], size, &identity, reduce_body, combine, &path, &result, s);
    if (!is_whole(outcome))
        reduce_body(0, n, &result, &path, s);
    return value_of_map(result.map);
}

struct element {
    unsigned key;
    unsigned place;
};

static int by_key(const void *a, const void *b)
{
    unsigned x = ((const struct element *)a)->key, y = ((const struct element *)b)->key;
    return (x > y) - (x < y);
}

uint64_t do_sort(const struct statement *now, uint64_t path, struct scheduler *s)
{
    size_t n = now->n[0];
    struct element *array = calloc(n + 1, sizeof *array);
    unsigned char *seen = calloc(n + 1, 1);
    CHECK(array != NULL && seen != NULL);
    for (size_t i = 0; i < n; i++)
        array[i] = (struct element){part(now->n[1], i) % (n / 4 + 2), (unsigned)i};
    if (accepted(sched_sort(array, n, sizeof *array, by_key, s)))
        for (size_t i = 0; i < n; i++) {
            CHECK(array[i].place < n);
            CHECK_EQ(seen[array[i].place]++, 0);
            CHECK_EQ(array[i].key, part(now->n[1], array[i].place) % (n / 4 + 2));
            if (i > 0) /* also stable */
                CHECK(array[i - 1].key < array[i].key
                      || (array[i - 1].key == array[i].key && array[i - 1].place < array[i].place));
        }
    free(array);
    free(seen);
    return path;
}
