/* A reduction: each worker counts letters in an array of its own; arrays are added where workers have shared the text. */
#include <sched_tasks.h>
#include <stdio.h>

enum { N = 10000000, LETTERS = 26 };

static char text[N];

/* Adds the letters lo to hi - 1 to the counts at acc, which stand for none or for the letters just before lo. */
static void count(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    long *counts = acc;
    (void)ctx, (void)s;
    for (size_t i = lo; i < hi; i++)
        counts[text[i] - 'a']++;
}

static void add(void *into, const void *from, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < LETTERS; i++)
        ((long *)into)[i] += ((const long *)from)[i];
}

int main(void)
{
    const long none[LETTERS] = {0};
    long counts[LETTERS];
    for (size_t i = 0; i < N; i++)
        text[i] = "helloworld"[i % 10];
    if (sched_reduce_relaxed(0, N, 0, sizeof counts, none, count, add, NULL, counts, NULL) != 0) {
        perror("sched_reduce_relaxed");
        return 1;
    }
    printf("Hello, %ld times l!\n", counts['l' - 'a']);
    return 0;
}
