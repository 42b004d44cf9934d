/* The members of sched_options do what they say; a line names each that is refused; the environment wins over them;
 * size is that of the caller's version of the struct. */
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
    static const char *const deques[] = {"", "split", "chaselev", "ring", "mutex", "spin", "sem", "queue", "fair", "adaptive"};
    for (int i = 1; i <= 9; i++) {
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

static void creates(void *arg)
{
    CHECK_NO_POOL(&options, EINVAL);
}

/* There is no such pool, and a line says which member is wrong, its value and what is accepted. */
static void check_refused(const char *says, const char *accepted)
{
    options.size = sizeof options;
    in_child(creates, NULL);
    CHECK_CHILD_EXITED(0);
    CHECK_CHILD_SAID("libsched: sched_pool_create: options.");
    CHECK_CHILD_SAID(says);
    CHECK_CHILD_SAID(accepted);
    CHECK_EQ(count_lines(child.said), 1);
    memset(&options, 0, sizeof options);
}

static void refused(void)
{
    static const struct {
        int *member;
        const char *name, *accepted;
    } members[] = {
        {&options.kind, "options.kind is ", "SCHED_KIND_STEAL to SCHED_KIND_SERIAL, which are 1 to 5"},
        {&options.deque, "options.deque is ", "SCHED_DEQUE_SPLIT to SCHED_DEQUE_ADAPTIVE, which are 1 to 9"},
        {&options.idle, "options.idle is ", "SCHED_IDLE_PARK to SCHED_IDLE_SPIN, which are 1 to 4"},
        {&options.overflow, "options.overflow is ", "SCHED_OVERFLOW_GROW to SCHED_OVERFLOW_REFUSE, which are 1 to 4"},
    };
    for (size_t m = 0; m < sizeof members / sizeof *members; m++) {
        for (int bad = 0; bad < 4; bad++) {
            char says[64];
            *members[m].member = (int[]){-1, 10, INT_MAX, INT_MIN}[bad];
            snprintf(says, sizeof says, "%s%d;", members[m].name, *members[m].member);
            check_refused(says, members[m].accepted);
        }
    }
    options.nthreads = 4097;
    check_refused("options.nthreads is 4097", "at most 4096");
    options.kind = SCHED_KIND_SERIAL + 1;
    check_refused("options.kind is 6", "1 to 5");
    options.blocking = 65537;
    check_refused("options.blocking is 65537", "1 to 65536");
    options.kind = SCHED_KIND_LIFO;
    options.deque = SCHED_DEQUE_CHASELEV;
    check_refused("options.deque is SCHED_DEQUE_CHASELEV: not with SCHED_KIND_LIFO;",
                  "accepted: SCHED_DEQUE_MUTEX SCHED_DEQUE_SPIN SCHED_DEQUE_SEM SCHED_DEQUE_FAIR SCHED_DEQUE_ADAPTIVE");
    options.overflow = SCHED_OVERFLOW_HALF;
    check_refused("options.overflow is SCHED_OVERFLOW_HALF: not with SCHED_KIND_STEAL SCHED_DEQUE_SPLIT;",
                  "accepted: SCHED_OVERFLOW_GROW SCHED_OVERFLOW_REFUSE");
    options.deque = SCHED_DEQUE_RING;
    options.overflow = SCHED_OVERFLOW_GROW;
    check_refused("options.overflow is SCHED_OVERFLOW_GROW: not with SCHED_KIND_STEAL SCHED_DEQUE_RING;",
                  "accepted: SCHED_OVERFLOW_HALF SCHED_OVERFLOW_ONE SCHED_OVERFLOW_REFUSE");
}

static atomic_int began, refused_one;

static void begins(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_block_begin(s), 0);
    began = 1;
    while (!refused_one)
        pause_us(1000);
    CHECK_EQ(sched_block_end(s), 0);
}

static void is_refused(void *closure, struct scheduler *s)
{
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
