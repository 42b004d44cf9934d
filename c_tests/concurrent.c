/* sched_init from several threads at once: independent runs.
 * ctest: matrix */
#include "marks.h"

enum { CALLERS = 3, RUNS = 3, N = 100 };

static void task(void *closure, struct scheduler *s)
{
    long i = (long)closure, base = i - i % N, at = i % N;
    mark(i);
    for (long child = 3 * at + 1; child <= 3 * at + 3 && child < N; child++)
        CHECK_EQ(sched_spawn(task, (void *)(base + child), s), 0);
}

static void *caller(void *arg)
{
    for (long run = 0; run < RUNS; run++) {
        long base = ((long)arg * RUNS + run) * N;
        CHECK_EQ(sched_init(3, 10, task, (void *)base), 0);
        for (long i = 0; i < N; i++)
            CHECK_EQ(marks[base + i], 1);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[CALLERS];
    for (long i = 0; i < CALLERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, caller, (void *)i), 0);
    for (int i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
    check_marks(CALLERS * RUNS * N);
    return 0;
}
