/* mandelbrot.c: a task a row: few tasks, coarse and of very different cost.
 *
 * Rows through the middle of the set take many times longer than those at its edge. What
 * counts is the balance between workers; the price of a spawn hardly shows. */

#include "bench.h"

enum { LIMIT = 400 }; /* iterations after which a point is said to be inside */

static long n;
static uint16_t *image;
static unsigned char *seen;

static void compute(long row, uint16_t *out)
{
    /* Exactly mirrored around 0: row r and row n - 1 - r have the same picture. */
    double ci = (double)(2 * row + 1 - n) * (1.5 / (double)n);
    for (long column = 0; column < n; column++) {
        double cr = (double)(2 * column + 1) * (1.5 / (double)n) - 2.0;
        double zr = 0, zi = 0;
        uint16_t k = 0;
        while (k < LIMIT && zr * zr + zi * zi <= 4.0) {
            double t = zr * zr - zi * zi + cr;
            zi = 2 * zr * zi + ci;
            zr = t;
            k++;
        }
        out[column] = k;
    }
}

static void row_task(void *closure, struct scheduler *s)
{
    (void)s;
    long row = (long)(intptr_t)closure;
    seen[row]++;
    compute(row, image + row * n);
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

/* Every row done once, the picture its own mirror image, every 16th row as computed here. */
static int check(uint16_t *again)
{
    size_t size = (size_t)n * sizeof *image;
    if (!bench_once(seen, n))
        return 0;
    for (long row = 0; row < n; row++) {
        if (memcmp(image + row * n, image + (n - 1 - row) * n, size) != 0)
            return 0;
        if (row % 16 == 0) {
            compute(row, again);
            if (memcmp(image + row * n, again, size) != 0)
                return 0;
        }
    }
    return 1;
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
    uint16_t *again = bench_alloc((size_t)n, sizeof *again);

    for (int r = 0; r < b.repetitions; r++) {
        memset(image, 0, (size_t)n * (size_t)n * sizeof *image);
        memset(seen, 0, (size_t)n);

        bench_run(&b, first_task, serial_run, NULL);

        uint64_t sum = 0;
        for (long i = 0; i < n * n; i++)
            sum += bench_mix(((uint64_t)i << 16) + image[i]);
        bench_line(&b, n + 1, sum, check(again));
    }
    free(image);
    free(seen);
    free(again);
    return bench_end(&b);
}
