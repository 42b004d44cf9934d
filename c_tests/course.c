/* A program compiled with the course's own header, which knows nothing of this library,
 * links and runs; the header's static inline decides what sched_default_threads is there.
 * ctest: header=course static
 * ctest: header=course matrix idle=park threads=2 */
#include "sched.h"
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#undef NDEBUG

struct work {
    int *a;
    int lo, hi;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sorted_tasks;

static int by_value(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* The manner of the course's programs: the closure is the task's to free, rc >= 0. */
static void sort(void *closure, struct scheduler *s)
{
    struct work *w = closure;
    int *a = w->a, lo = w->lo, hi = w->hi;
    free(w);
    if (hi - lo <= 64) {
        qsort(a + lo, (size_t)(hi - lo), sizeof *a, by_value);
        pthread_mutex_lock(&lock);
        sorted_tasks++;
        pthread_mutex_unlock(&lock);
        return;
    }
    int pivot = a[lo + (hi - lo) / 2], i = lo, j = hi - 1;
    while (i <= j) {
        while (a[i] < pivot)
            i++;
        while (a[j] > pivot)
            j--;
        if (i <= j) {
            int t = a[i];
            a[i++] = a[j];
            a[j--] = t;
        }
    }
    struct work *left = malloc(sizeof *left), *right = malloc(sizeof *right);
    assert(left && right);
    *left = (struct work){a, lo, j + 1};
    *right = (struct work){a, i, hi};
    int rc = sched_spawn(sort, left, s);
    assert(rc >= 0);
    rc = sched_spawn(sort, right, s);
    assert(rc >= 0);
}

int main(void)
{
    enum { N = 20000 };
    int *a = malloc(N * sizeof *a);
    struct work *all = malloc(sizeof *all);
    assert(a && all && sched_default_threads() >= 1);
    for (int i = 0; i < N; i++)
        a[i] = i * 7919 % N;
    *all = (struct work){a, 0, N};
    int rc = sched_init(-1, (N + 127) / 128, sort, all);
    assert(rc >= 0);
    assert(sorted_tasks > 1);
    for (int i = 0; i < N; i++)
        if (a[i] != i) {
            printf("a[%d] is %d\n", i, a[i]);
            return 1;
        }
    free(a);
    return 0;
}
