/* SCHED_KIND=serial: one thread, the caller's, whatever was asked for; the order of a
 * stack, or with SCHED_SEED a random one that the same seed repeats.
 * ctest: env=SCHED_KIND=serial
 * ctest: env=SCHED_KIND=serial env=SCHED_THREADS=16 */
#include "marks.h"
#include "proc.h"

enum { N = 300 };

static long order[N], count;

static void task(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    CHECK(on_caller());
    CHECK_EQ(thread_count(), 1);
    mark(i);
    CHECK(count < N);
    order[count++] = i;
    for (long child = 3 * i + 1; child <= 3 * i + 3 && child < N; child++)
        CHECK_EQ(sched_spawn(task, (void *)child, s), 0);
}

static void run(const char *seed, long into[N])
{
    if (seed)
        setenv("SCHED_SEED", seed, 1);
    else
        unsetenv("SCHED_SEED");
    count = 0;
    CHECK_EQ(sched_init(8, 1, task, (void *)0), 0);
    CHECK_EQ(count, N);
    check_marks(N);
    memcpy(into, order, sizeof order);
    /* A task never runs before the one that spawned it. */
    long when[N];
    for (long i = 0; i < N; i++)
        when[order[i]] = i;
    for (long i = 1; i < N; i++)
        CHECK(when[i] > when[(i - 1) / 3]);
}

int main(void)
{
    static const char *const seeds[] = {"1", "2", "3", "12345678901234567890"};
    static long plain[N], again[N], first[4][N];

    run(NULL, plain);
    long stack[N], depth = 1, at = 0;
    stack[0] = 0;
    while (depth > 0) {
        long i = stack[--depth];
        CHECK_EQ(plain[at++], i);
        for (long child = 3 * i + 1; child <= 3 * i + 3 && child < N; child++)
            stack[depth++] = child;
    }
    for (int i = 0; i < 4; i++) {
        run(seeds[i], first[i]);
        CHECK(memcmp(first[i], plain, sizeof plain) != 0);
        for (int j = 0; j < i; j++)
            CHECK(memcmp(first[i], first[j], sizeof plain) != 0);
    }
    for (int i = 0; i < 4; i++) {
        run(seeds[i], again);
        CHECK_EQ(memcmp(again, first[i], sizeof again), 0);
    }
    run(NULL, again);
    CHECK_EQ(memcmp(again, plain, sizeof again), 0);
    return 0;
}
