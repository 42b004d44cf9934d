/* mandelbrot.c: a task for each row: few and long tasks, of very different cost.
 *
 * Rows through the middle of the set take many times longer than those at its edge. The balance between workers
 * decides; the price of a spawn hardly shows. */

#include "bench.h"
#include "kernels.h"

static long n;
static uint16_t *image;
static unsigned char *seen;

static void row_task(void *closure, struct scheduler *s)
{
    (void)s;
    long row = (long)(intptr_t)closure;
    seen[row]++;
    mandelbrot_row(n, row, image + row * n);
}

static void first_task(void *closure, struct scheduler *s)
{
    (void)closure;
    for (long row = 0; row < n; row++)
        bench_spawn(row_task, (void *)(intptr_t)row, s);
}

static void serial_run(void *closure)
{
    (void)closure;
    for (long row = 0; row < n; row++)
        row_task((void *)(intptr_t)row, NULL);
}

static const struct bench_about about = {
    "mandelbrot", "rows and columns", 640, 1, 32768, NULL,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    n = b.n;
    image = bench_alloc((size_t)n * (size_t)n, sizeof *image);
    seen = bench_alloc((size_t)n, 1);

    for (int r = 0; r < b.repetitions; r++) {
        memset(image, 0, (size_t)n * (size_t)n * sizeof *image);
        memset(seen, 0, (size_t)n);

        bench_run(&b, first_task, serial_run, NULL);

        uint64_t sum;
        int right = mandelbrot_right(image, seen, n, &sum);
        bench_line(&b, n + 1, sum, right);
    }
    free(image);
    free(seen);
    return bench_end(&b);
}
