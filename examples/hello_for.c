/* A parallel loop: its iterations are divided among the workers that are idle. */
#include <sched_tasks.h>
#include <stdio.h>

enum { N = 1000000 };

static double squares[N];

/* Iterations lo to hi - 1; the library chooses how many are done in one call. */
static void square(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    (void)ctx;
    (void)s;
    for (size_t i = lo; i < hi; i++)
        squares[i] = (double)i * (double)i;
}

static void start(void *closure, struct scheduler *s)
{
    if (sched_for(0, N, 0, square, closure, s) == 0)
        printf("Hello, %d iterations! The last is %.0f.\n", N, squares[N - 1]);
}

int main(void)
{
    return sched_init(0, 0, start, NULL) < 0;
}
