/* The members of sched_options do what they say, each checked; the environment wins over them; size
 * is that of the caller's version of the struct. */
#include "child.h"
#include "pool.h"
#include "stats_line.h"
#include <stdatomic.h>
#include <stddef.h>

static struct sched_options options;

static const char *text_of(const char *line, const char *key)
{
    static char value[64];
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":\"", key);
    const char *at = strstr(line, quoted);
    CHECK(at != NULL);
    snprintf(value, sizeof value, "%s", at + strlen(quoted));
    value[strcspn(value, "\"")] = 0;
    return value;
}

static void live(void *arg)
{
    (void)arg;
    struct sched_pool *pool = sched_pool_create(&options);
    CHECK(pool != NULL);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* A pool with the options says of itself what is wanted; threads 0: whatever. */
static void check_says(const char *kind, const char *deque, const char *idle, int threads)
{
    options.size = sizeof options;
    gather_stats();
    in_child(live, NULL);
    char *line = gathered_stats();
    CHECK_CHILD_EXITED(0);
    CHECK_EQ(strcmp(text_of(line, "kind"), kind), 0);
    CHECK_EQ(strcmp(text_of(line, "deque"), deque), 0);
    CHECK_EQ(strcmp(text_of(line, "idle"), idle), 0);
    if (threads)
        CHECK_EQ(stat_number(line, "threads"), threads);
    memset(&options, 0, sizeof options);
}

static void values(void)
{
    check_says("steal", "split", "park", 0);
    static const char *const deques[] = {"", "split", "chaselev", "ring", "mutex", "spin", "sem", "queue"};
    for (int i = 1; i <= 7; i++) {
        options = (struct sched_options){.deque = i, .nthreads = i};
        check_says("steal", deques[i], "park", i);
    }
    options = (struct sched_options){.kind = SCHED_KIND_LIFO, .deque = SCHED_DEQUE_SEM};
    check_says("lifo", "sem", "park", 0);
    options = (struct sched_options){.kind = SCHED_KIND_FIFO, .idle = SCHED_IDLE_SPIN, .nthreads = 3};
    check_says("fifo", "mutex", "spin", 3);
    options = (struct sched_options){.kind = SCHED_KIND_SERIAL, .nthreads = 3};
    check_says("serial", "none", "park", 1);
    options = (struct sched_options){.kind = SCHED_KIND_STEAL, .idle = SCHED_IDLE_NAP,
                                     .deque = SCHED_DEQUE_CHASELEV, .nthreads = -1};
    check_says("steal", "chaselev", "nap", sched_default_threads());
    options = (struct sched_options){.idle = SCHED_IDLE_BACKOFF};
    check_says("steal", "split", "backoff", 0);
    options = (struct sched_options){.idle = SCHED_IDLE_PARK, .overflow = SCHED_OVERFLOW_GROW};
    check_says("steal", "split", "park", 0);
    options = (struct sched_options){.deque = SCHED_DEQUE_RING, .overflow = SCHED_OVERFLOW_ONE};
    check_says("steal", "ring", "park", 0);
    options = (struct sched_options){.deque = SCHED_DEQUE_SPIN, .overflow = SCHED_OVERFLOW_HALF};
    check_says("steal", "spin", "park", 0);
}

static void environment(void)
{
    setenv("SCHED_KIND", "lifo", 1);
    setenv("SCHED_IDLE", "nap", 1);
    setenv("SCHED_THREADS", "2", 1);
    options = (struct sched_options){.kind = SCHED_KIND_STEAL, .deque = SCHED_DEQUE_CHASELEV,
                                     .idle = SCHED_IDLE_SPIN, .nthreads = 5};
    check_says("lifo", "mutex", "nap", 2); /* a deque of another kind does not count */
    setenv("SCHED_KIND", "steal", 1);
    options = (struct sched_options){.deque = SCHED_DEQUE_CHASELEV};
    check_says("steal", "chaselev", "nap", 2);
    setenv("SCHED_DEQUE", "mutex", 1);
    options = (struct sched_options){.deque = SCHED_DEQUE_CHASELEV};
    check_says("steal", "mutex", "nap", 2);
    setenv("SCHED_DEQUE", "ring", 1); /* which does not grow: nor does an overflow of another deque count */
    options = (struct sched_options){.deque = SCHED_DEQUE_CHASELEV, .overflow = SCHED_OVERFLOW_GROW};
    check_says("steal", "ring", "nap", 2);
    setenv("SCHED_DEQUE", "nonesuch", 1);
    CHECK_NO_POOL(NULL, EINVAL);
    unsetenv("SCHED_KIND");
    unsetenv("SCHED_IDLE");
    unsetenv("SCHED_THREADS");
    unsetenv("SCHED_DEQUE");
    unsetenv("SCHED_STATS");
    unsetenv("SCHED_STATS_FILE");
}

static void refused(void)
{
    struct sched_options none = {.size = sizeof none}, o;
    int *const members[] = {&o.kind, &o.deque, &o.idle, &o.overflow};
    for (size_t m = 0; m < sizeof members / sizeof *members; m++) {
        o = none;
        for (int bad = 0; bad < 4; bad++) {
            *members[m] = (int[]){-1, 8, INT_MAX, INT_MIN}[bad];
            CHECK_NO_POOL(&o, EINVAL);
        }
    }
    o = none;
    o.nthreads = 4097;
    CHECK_NO_POOL(&o, EINVAL);
    o = none;
    o.kind = SCHED_KIND_SERIAL + 1;
    CHECK_NO_POOL(&o, EINVAL);
    o = none;
    o.kind = SCHED_KIND_LIFO;
    o.deque = SCHED_DEQUE_CHASELEV;
    CHECK_NO_POOL(&o, EINVAL);
    o = none;
    o.overflow = SCHED_OVERFLOW_HALF; /* not of the split deque */
    CHECK_NO_POOL(&o, EINVAL);
    o = none;
    o.deque = SCHED_DEQUE_RING;
    o.overflow = SCHED_OVERFLOW_GROW;
    CHECK_NO_POOL(&o, EINVAL);
}

static atomic_int began, refused_one;

static void begins(void *closure, struct scheduler *s)
{
    (void)closure;
    CHECK_EQ(sched_block_begin(s), 0);
    began = 1;
    while (!refused_one)
        pause_us(1000);
    CHECK_EQ(sched_block_end(s), 0);
}

static void is_refused(void *closure, struct scheduler *s)
{
    (void)closure;
    while (!began)
        sched_task_yield(s);
    CHECK_ERRNO(sched_block_begin(s), EAGAIN);
    refused_one = 1;
}

static void blocking(void)
{
    options = (struct sched_options){.size = sizeof options, .nthreads = 2, .blocking = 1};
    struct sched_pool *pool = sched_pool_create(&options);
    CHECK(pool != NULL);
    CHECK_EQ(sched_pool_submit(pool, begins, NULL), 0);
    CHECK_EQ(sched_pool_run(pool, is_refused, NULL), 0);
    CHECK_EQ(refused_one, 1);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    options.blocking = 65536;
    pool = sched_pool_create(&options);
    CHECK(pool != NULL);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    options.blocking++;
    CHECK_NO_POOL(&options, EINVAL);
}

static void sizes(void)
{
    struct {
        struct sched_options now;
        int later[4];
    } big = {.now = {.size = sizeof big, .nthreads = 2}};
    struct sched_pool *pool = sched_pool_create(&big.now);
    CHECK(pool != NULL);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    big.later[3] = 1; /* something that this version does not know */
    CHECK_NO_POOL(&big.now, EINVAL);
    big.now.size = 0;
    CHECK_NO_POOL(&big.now, EINVAL);
    big.now.size = offsetof(struct sched_options, blocking) - 1; /* of the first version's */
    CHECK_NO_POOL(&big.now, EINVAL);
    big.now.size = offsetof(struct sched_options, blocking);
    big.now.blocking = SIZE_MAX; /* not the caller's */
    pool = sched_pool_create(&big.now);
    CHECK(pool != NULL);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    big.now.blocking = 0;
    big.now.size = SIZE_MAX;
    CHECK_NO_POOL(&big.now, EINVAL);
    big.now.size = sizeof big.now;
    pool = sched_pool_create(&big.now);
    CHECK(pool != NULL);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

int main(void)
{
    values();
    environment();
    refused();
    blocking();
    sizes();
    return 0;
}
