/* SCHED_PROFILE with a longest path through more functions than have a part of their own in it: the function in which the
 * path spends most is named with nearly all of its time, however late the path meets it; what is told of each function is
 * true of what its tasks have measured; and the chain has the functions in the order of the path.
 * ctest: matrix few deque=split,mutex idle=park threads=1,2 timeout=60
 * ctest: matrix few idle=park threads=2 join=help */
#include "child.h"
#include "stats_line.h"
#include <sched_tasks.h>
#include <sys/mman.h>

enum { STEPS = 26, PARTS = 12, TURNS = 20, UNIT_US = 100, TURN = 10, ATTEMPTS = 100 };

/* How long the tasks of each function computed, in nanoseconds, and how many there were. The last two functions take turns.
 * The memory is shared with the child. */
static struct found {
    long ns[STEPS + 2];
} *found;

static void compute(int function, int units)
{
    double t0 = now(), t = t0;
    while (t - t0 < 1e-6 * UNIT_US * units)
        t = now();
    found->ns[function] += (long)(1e9 * (t - t0));
}

static void next(int function, long turns, struct scheduler *s);

/* A function for each step, which spawns the one that follows. */
#define STEP(number)                                                   \
    void step_##number(void *closure, struct scheduler *s)             \
    {                                                                  \
        (void)closure;                                                 \
        compute(1##number - 100, 1);                                   \
        next(1##number - 100, 0, s);                                   \
    }
#define ALL_STEPS(X)                                                                                             \
    X(00) X(01) X(02) X(03) X(04) X(05) X(06) X(07) X(08) X(09) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) \
    X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25)
ALL_STEPS(STEP)

/* Two functions that take turns. */
void heavy_one(void *closure, struct scheduler *s)
{
    compute(STEPS, TURN);
    next(STEPS, (long)closure, s);
}

void heavy_two(void *closure, struct scheduler *s)
{
    compute(STEPS + 1, TURN);
    next(STEPS + 1, (long)closure, s);
}

#define POINTER(number) step_##number,
static void (*const steps[])(void *, struct scheduler *) = {ALL_STEPS(POINTER) heavy_one, heavy_two};

#define NAME(number) "step_" #number,
static const char *const names[] = {ALL_STEPS(NAME) "heavy_one", "heavy_two"};

static void next(int function, long turns, struct scheduler *s)
{
    int to = function < STEPS ? function + 1 : STEPS + (function == STEPS);
    if (turns < TURNS)
        CHECK_EQ(sched_spawn(steps[to], (void *)(turns + (to >= STEPS)), s), 0);
}

static void run(void *format)
{
    setenv("SCHED_PROFILE", format, 1);
    CHECK_EQ(sched_init(2, 16, step_00, NULL), 0);
}

/* Where the function stands in an array of the line, or NULL. */
static const char *in(const char *array, const char *name)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "{\"name\":\"%s\"", name);
    const char *begin = strstr(child.said, array);
    CHECK(begin != NULL);
    const char *end = strchr(begin, ']'), *at = strstr(begin, wanted);
    return at < end ? at : NULL;
}

/* Whether what is told of the longest path is true of what the tasks have measured, which does not tell what the machine
 * did between two tasks. */
static int is_true(void)
{
    double span = (double)stat_number(child.said, "span_ns"), slack = 0.1 * span;
    for (int i = 0; i < STEPS + 2; i++) {
        const char *at = in("\"functions\"", names[i]);
        CHECK(at != NULL);
        double least = (double)stat_number(at, "in_span_ns"), most = (double)stat_number(at, "in_span_most_ns");
        double meant = (double)found->ns[i];
        if (least > meant + slack || most < meant - slack || (i >= STEPS && least < meant - slack))
            return 0;
    }
    return 1;
}

/* The chain has the functions in the order of the path, the others last, and its parts are the span. Returns whether it
 * goes through all tasks: if the machine stops one after its spawn for long, the longest path ends there. */
static int check_chain(void)
{
    const char *before = NULL;
    long long count = 0, sum = 0, tasks = 0;
    for (int i = 0; i <= STEPS + 2; i++) {
        const char *at = in("\"path\"", i < STEPS + 2 ? names[i] : "(others)");
        if (at == NULL && i >= STEPS)
            return 0;
        if (at == NULL)
            continue;
        CHECK(at > before);
        before = at;
        count++;
        sum += stat_number(at, "ns");
        tasks += stat_number(at, "tasks");
    }
    long long span = stat_number(child.said, "span_ns");
    CHECK(sum <= span && sum + PARTS + 1 >= span);
    return count == PARTS + 1 && tasks == STEPS + TURNS;
}

int main(void)
{
    found = mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(found != MAP_FAILED);
    for (int attempt = 1;; attempt++) {
        memset(found, 0, sizeof *found);
        CHECK_IN_CHILD(run, "json");
        if (check_chain() && is_true())
            break;
        CHECK(attempt < ATTEMPTS);
    }

    /* If the machine does something else during a step, that step has a part, and the table then
     * omits another step. */
    for (int attempt = 1;; attempt++) {
        CHECK_IN_CHILD(run, "1");
        if (strstr(child.said, " <= ") != NULL)
            break;
        CHECK(attempt < ATTEMPTS);
    }
    CHECK_CHILD_SAID("longest path: step_");
    CHECK_CHILD_SAID(" -> heavy_one >= ");
    CHECK_CHILD_SAID(" -> heavy_two >= ");
    CHECK_CHILD_SAID(" -> (others) ");
    return 0;
}
