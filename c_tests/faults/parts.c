/* The parts of the scenes: jobs, calls that may fail, and loops. */
#include "scene.h"

struct outcome *outcome;
enum phase phase;
int injected = ENOMEM;

enum { MOST_JOBS = 4096 };
static struct job jobs[MOST_JOBS];
static atomic_int used;

struct job *new_job(void)
{
    int at = used++;
    CHECK(at < MOST_JOBS);
    return &jobs[at];
}

void run_job(void *arg, struct scheduler *s)
{
    struct job *job = arg;
    (void)s;
    job->ran++;
}

void check_jobs(void)
{
    for (int i = 0; i < used; i++)
        CHECK_EQ(jobs[i].ran, jobs[i].accepted);
    memset(jobs, 0, sizeof jobs);
    used = 0;
}

int succeeded(const char *call, int result, int error, int repeated, const int *allowed)
{
    if (result != -1)
        return 1;
    char text[256];
    int documented = 0;
    for (; *allowed; allowed++)
        documented |= *allowed == error;
    const char *wrong = phase == STRICT ? "fails although nothing does" : repeated ? "fails again"
                        : !documented ? "fails with an errno that is not documented" : NULL;
    if (wrong) {
        snprintf(text, sizeof text, "%s: %s (errno %d)\n", call, wrong, error);
        check_say(text);
        _exit(1);
    }
    outcome->errors++;
    return 0;
}

void note_missing(struct scheduler *s)
{
    struct sched_stats stats;
    if (s != NULL)
        CHECK_EQ(sched_stats(s, &stats, sizeof stats), 0);
    else if (sched_last_stats(&stats, sizeof stats) != 0)
        return; /* no run has ended yet */
    if ((int)stats.threads_missing > outcome->missing)
        outcome->missing = (int)stats.threads_missing;
}

/* --- loops ------------------------------------------------------------------------- */

enum { LARGE = 200, NUMBERS = 500 };

struct large {
    long sum;
    char rest[LARGE - sizeof(long)];
};

static void count(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    (void)s;
    atomic_fetch_add((atomic_long *)ctx, (long)(hi - lo));
}

static void add(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    (void)ctx;
    (void)s;
    for (size_t i = lo; i < hi; i++)
        ((struct large *)acc)->sum += (long)i;
}

static void plus(void *into, const void *from, void *ctx)
{
    (void)ctx;
    ((struct large *)into)->sum += ((const struct large *)from)->sum;
}

static void scan(size_t lo, size_t hi, void *acc, const void *before, void *ctx, struct scheduler *s)
{
    if (before)
        CHECK_EQ(((const struct large *)before)->sum, (long)(lo * (lo - 1) / 2));
    add(lo, hi, acc, ctx, s);
}

static int by_value(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

void use_loops(int *array, struct scheduler *s)
{
    atomic_long counted = 0;
    struct large none = {0}, sum = {.sum = -1};
    uint64_t x = 88172645463325252u;

    if (DONE(sched_for(0, NUMBERS, 0, count, &counted, s), EAGAIN, ENOMEM))
        CHECK_EQ(counted, NUMBERS);
    else
        CHECK_EQ(counted, 0);
    if (DONE(sched_reduce(0, NUMBERS, 50, sizeof sum, &none, add, plus, NULL, &sum, s), EAGAIN, ENOMEM))
        CHECK_EQ(sum.sum, NUMBERS * (NUMBERS - 1) / 2);
    else
        CHECK_EQ(sum.sum, -1);
    sum.sum = -1;
    if (DONE(sched_reduce_relaxed(0, NUMBERS, 50, sizeof sum, &none, add, plus, NULL, &sum, s), EAGAIN, ENOMEM))
        CHECK_EQ(sum.sum, NUMBERS * (NUMBERS - 1) / 2);
    else
        CHECK_EQ(sum.sum, -1);
    sum.sum = -1;
    if (DONE(sched_scan(0, NUMBERS, 10, sizeof sum, &none, scan, plus, NULL, &sum, s), EAGAIN, ENOMEM))
        CHECK_EQ(sum.sum, NUMBERS * (NUMBERS - 1) / 2);
    else
        CHECK_EQ(sum.sum, -1);
    for (int i = 0; i < LOOP_ELEMENTS; i++)
        array[i] = (int)(next_random(&x) % 100000);
    int first = array[0];
    if (DONE(sched_sort(array, LOOP_ELEMENTS, sizeof *array, by_value, s), EAGAIN, ENOMEM)) {
        for (int i = 1; i < LOOP_ELEMENTS; i++)
            CHECK(array[i - 1] <= array[i]);
    } else
        CHECK_EQ(array[0], first);
}
