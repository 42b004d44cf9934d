/* A thread that is no worker may spawn into a running scheduler: accepted and run, also
 * while the workers sleep.
 * ctest: matrix
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
#include "marks.h"

enum { THREADS = 2, N = 500 };

static struct scheduler *_Atomic run;
static atomic_int gone;

static void task(void *closure, struct scheduler *s)
{
    mark((long)closure);
}

static void *stranger(void *arg)
{
    long base = (long)arg * N;
    while (!run)
        sched_yield();
    for (long i = 0; i < N; i++) {
        CHECK_EQ(sched_spawn(task, (void *)(base + i), run), 0);
        if (i == N / 2)
            pause_us(3000);
    }
    atomic_fetch_add(&gone, 1);
    return NULL;
}

/* Keeps the run going until the strangers are through, and burns nothing meanwhile. */
static void root(void *closure, struct scheduler *s)
{
    run = s;
    while (gone < THREADS)
        pause_us(200);
}

int main(void)
{
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, stranger, (void *)i), 0);
    CHECK_EQ(sched_init(4, 10, root, NULL), 0);
    check_marks(THREADS * N);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
