/* latetask.c: tasks whose spawner does not come back to them for n milliseconds.
 *
 * The first task spawns 1,000 tasks and then computes without touching the scheduler. If a spawn publishes its task,
 * another worker runs all of them meanwhile; if the spawner keeps its tasks private until it is asked, another worker
 * must ask. first_us: from the end of the first spawn to the start of the task that starts first, in microseconds
 * (negative: it started before its spawn was over). before_end: tasks that others had run when the computation ended;
 * all 1,000 where there is another worker. */

#include "bench.h"

#include <pthread.h>

enum { TASKS = 1000 };

static double spawned, ended;     /* the clock after the first spawn, and after computing */
static pthread_t spawner;
static volatile uint64_t answer;  /* the result of the computation; never read */

/* One cache line for each task. */
static struct {
    double start;
    unsigned count;
    int elsewhere; /* true if it ran on another thread than its spawner */
    char pad[48];
} seen[TASKS];

static void late(void *closure, struct scheduler *s)
{
    (void)s;
    long i = (long)(intptr_t)closure;
    seen[i].start = bench_now();
    seen[i].elsewhere = !pthread_equal(pthread_self(), spawner);
    seen[i].count++;
}

static void compute(double seconds)
{
    double start = bench_now();
    uint64_t y = 1;
    do {
        answer = y = bench_turns(y, 1000);
    } while (bench_now() - start < seconds);
    ended = bench_now();
}

static void first_task(void *closure, struct scheduler *s)
{
    spawner = pthread_self();
    for (long i = 0; i < TASKS; i++) {
        bench_spawn(late, (void *)(intptr_t)i, s);
        if (i == 0)
            spawned = bench_now();
    }
    compute(*(double *)closure);
}

static void serial_run(void *closure)
{
    spawner = pthread_self();
    spawned = bench_now();
    compute(*(double *)closure);
    for (long i = 0; i < TASKS; i++)
        late((void *)(intptr_t)i, NULL);
}

static const struct bench_about about = {
    "latetask", "milliseconds of computing after 1,000 spawns", 1000, 1, 1000000, NULL,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    double seconds = 1e-3 * (double)b.n;

    for (int r = 0; r < b.repetitions; r++) {
        memset(seen, 0, sizeof seen);

        bench_run(&b, first_task, serial_run, &seconds);

        int right = 1, before_end = 0;
        double first = seen[0].start;
        for (int i = 0; i < TASKS; i++) {
            right = right && seen[i].count == 1;
            before_end += seen[i].elsewhere && seen[i].start < ended;
            if (seen[i].start < first)
                first = seen[i].start;
        }
        bench_field(&b, "first_us", 1e6 * (first - spawned));
        bench_field(&b, "before_end", before_end);
        bench_line(&b, TASKS + 1, bench_mix(TASKS), right);
    }
    return bench_end(&b);
}
