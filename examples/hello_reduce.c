/* Reductions: a sum of floating-point numbers that is the same each time, and counts, which need no fixed order. */
#include <sched_tasks.h>
#include <stdio.h>

enum { N = 10000000, LETTERS = 26 };

static char text[N];

/* Adds the terms lo to hi - 1 to the sum at acc. */
static void add_terms(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    (void)ctx, (void)s;
    for (size_t i = lo; i < hi; i++)
        *(double *)acc += 1.0 / (double)(i + 1);
}

static void add_sums(void *into, const void *from, void *ctx)
{
    (void)ctx;
    *(double *)into += *(const double *)from;
}

/* Adds the letters lo to hi - 1 to the counts at acc. */
static void count(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    long *counts = acc;
    (void)ctx, (void)s;
    for (size_t i = lo; i < hi; i++)
        counts[text[i] - 'a']++;
}

static void add_counts(void *into, const void *from, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < LETTERS; i++)
        ((long *)into)[i] += ((const long *)from)[i];
}

int main(void)
{
    const double zero = 0; /* values begin as copies of this: it must be neutral */
    const long none[LETTERS] = {0};
    double sum;
    long counts[LETTERS];
    for (size_t i = 0; i < N; i++)
        text[i] = "helloworld"[i % 10];

    /* Up to 1024 parts, always the same, each with a sum of its own. NULL: in the default pool of the process. */
    if (sched_reduce(0, N, 0, sizeof sum, &zero, add_terms, add_sums, NULL, &sum, NULL) != 0)
        perror("sched_reduce");
    /* Additions of whole numbers are exact, so any parts will do: one array for each part that a worker takes. */
    else if (sched_reduce_relaxed(0, N, 0, sizeof counts, none, count, add_counts, NULL, counts, NULL) != 0)
        perror("sched_reduce_relaxed");
    else
        return printf("Hello, %.17g and %ld times l!\n", sum, counts['l' - 'a']) < 0;
    return 1;
}
