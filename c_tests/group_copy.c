/* sched_group_spawn_copy and sched_pool_submit_copy: each task has a copy of its own, of 0 to SCHED_COPY_MAX bytes,
 * aligned for any type, made before the call returns; a group waits for its own, and cancels them. What they refuse,
 * with EINVAL, changes nothing.
 * ctest: static debug
 * ctest: matrix deque=split,mutex,chaselev,ring idle=park threads=1,2,4 */
#include "null.h"
#include "pool.h"

struct message {
    unsigned char first, rest[SCHED_COPY_MAX - 1];
};

static atomic_long sum;
static sched_group cancelled = SCHED_GROUP_INIT;
static struct sched_pool *pool;

static void fill(struct message *m, size_t size, unsigned char first)
{
    memset(m, 255, sizeof *m);
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)m)[i] = (unsigned char)(first + i);
}

/* The first byte says how long it is. */
static void check(void *copy, struct scheduler *s)
{
    unsigned char *bytes = copy;
    CHECK_EQ((uintptr_t)copy % _Alignof(max_align_t), 0);
    for (int i = 0; i < bytes[0]; i++) {
        CHECK_EQ(bytes[i], (unsigned char)(bytes[0] + i));
        if (i > 0)
            bytes[i] = 0; /* it is the task's */
    }
    atomic_fetch_add(&sum, bytes[0]);
}

static void check_most(void *copy, struct scheduler *s)
{
    unsigned char *bytes = copy;
    for (int i = 0; i < SCHED_COPY_MAX; i++)
        CHECK_EQ(bytes[i], (unsigned char)(1 + i));
    atomic_fetch_add(&sum, 1);
}

static void nothing(void *copy, struct scheduler *s)
{
    atomic_fetch_add(&sum, 1);
}

static void never(void *copy, struct scheduler *s)
{
    CHECK(!"called");
}

static void copies(sched_group *g, struct scheduler *s)
{
    struct message m;
    long wanted = sum;
    for (int size = 1; size < 256; size++) {
        fill(&m, (size_t)size, (unsigned char)size);
        CHECK_EQ(sched_group_spawn_copy(g, check, &m, (size_t)size, s), 0);
        memset(&m, 0, sizeof m);
        wanted += size;
    }
    fill(&m, sizeof m, 1);
    CHECK_EQ(sched_group_spawn_copy(g, check_most, &m, SCHED_COPY_MAX, s), 0);
    CHECK_EQ(sched_group_spawn_copy(g, nothing, NULL, 0, s), 0);
    CHECK_EQ(sched_group_wait(g, s), 0);
    CHECK_EQ(sum, wanted + 2);
}

static void in_pool(void)
{
    struct message m;
    sum = 0;
    long wanted = 0;
    for (int size = 1; size < 256; size++) {
        fill(&m, (size_t)size, (unsigned char)size);
        CHECK_EQ(sched_pool_submit_copy(pool, check, &m, (size_t)size), 0);
        wanted += size;
    }
    fill(&m, sizeof m, 1);
    CHECK_EQ(sched_pool_submit_copy(pool, check_most, &m, SCHED_COPY_MAX), 0);
    CHECK_EQ(sched_pool_submit_copy(pool, nothing, NULL, 0), 0);
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(sum, wanted + 2);
}

static void errors(sched_group *g, struct scheduler *s)
{
    char byte = 0;
    CHECK_ERRNO(sched_group_spawn_copy(NULL, never, &byte, 1, s), EINVAL);
    CHECK_ERRNO(sched_group_spawn_copy(g, NULL, &byte, 1, s), EINVAL);
    CHECK_ERRNO(sched_group_spawn_copy(g, never, NULL, 1, s), EINVAL);
    CHECK_ERRNO(sched_group_spawn_copy(g, never, &byte, SCHED_COPY_MAX + 1, s), EINVAL);
    CHECK_ERRNO(sched_group_spawn_copy(g, never, &byte, SIZE_MAX, s), EINVAL);
    CHECK_EQ(sched_group_wait(g, s), 0);
}

static void root(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    *(struct scheduler **)closure = s;
    copies(&g, s);
    errors(&g, s);
    sched_group_cancel(&cancelled);
    for (int i = 0; i < 10; i++)
        CHECK_EQ(sched_group_spawn_copy(&cancelled, never, &i, sizeof i, s), 0);
    CHECK_ERRNO(sched_group_wait(&cancelled, s), ECANCELED);
}

int main(void)
{
    sched_group g = SCHED_GROUP_INIT;
    struct scheduler *ended;
    char byte = 0;
    CHECK_EQ(sched_init(4, 10, root, &ended), 0);
    CHECK_ERRNO(sched_group_spawn_copy(&g, never, &byte, 1, ended), EINVAL);
    CHECK_EQ(sched_group_wait(&g, ended), 0);
    copies(&g, NULL); /* from outside */
    errors(&g, NULL);
    pool = pool_of(4);
    in_pool();
    CHECK_ERRNO(sched_pool_submit_copy(NULL, never, &byte, 1), EINVAL);
    CHECK_ERRNO(sched_pool_submit_copy(pool, NULL, &byte, 1), EINVAL);
    CHECK_ERRNO(sched_pool_submit_copy(pool, never, NULL, 1), EINVAL);
    CHECK_ERRNO(sched_pool_submit_copy(pool, never, &byte, SCHED_COPY_MAX + 1), EINVAL);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    return 0;
}
