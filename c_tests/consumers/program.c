/* A program of somebody who has found libsched by another build system: its headers, a run with tasks, its version. */

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sched_tasks.h>

enum { N = 1000 };

static void add(size_t lo, size_t hi, void *part, void *ctx, struct scheduler *s)
{
    (void)ctx;
    (void)s;
    for (size_t i = lo; i < hi; i++)
        *(size_t *)part += i;
}

static void plus(void *part, const void *right, void *ctx)
{
    (void)ctx;
    *(size_t *)part += *(const size_t *)right;
}

int main(void)
{
    size_t zero = 0, sum;
    if (strcmp(sched_version(), SCHED_VERSION_STRING) != 0) {
        printf("the library is %s, its headers are %s\n", sched_version(), SCHED_VERSION_STRING);
        return 1;
    }
    if (sched_reduce(0, N, 0, sizeof sum, &zero, add, plus, NULL, &sum, NULL) != 0) {
        perror("sched_reduce");
        return 1;
    }
    printf("sum %zu\n", sum);
    return sum != (size_t)N * (N - 1) / 2;
}
