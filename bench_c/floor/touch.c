/* touch.c: what fresh memory costs a flood of tasks. It writes once to each place of 16 bytes, the size of a queued
 * task, in memory that the process has never touched; in huge pages, where the kernel gives them. No scheduler takes
 * part. A flood of as many tasks touches as much memory. */

#define _DEFAULT_SOURCE /* madvise */
#include "../measure.h"

#include <sys/mman.h>

enum { PLACE = 16, HUGE_PAGE = 2 << 20 };

static const struct bench_about about = {
    "touch", "places", 10000000, 1, 1L << 32, NULL,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    size_t size = (size_t)b.n * PLACE, mapped = size + HUGE_PAGE;

    for (int r = 0; r < b.repetitions; r++) {
        char *start = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (start == MAP_FAILED)
            bench_die("mmap");
        char *places = start + (HUGE_PAGE - (uintptr_t)start % HUGE_PAGE) % HUGE_PAGE;
        madvise(places, size, MADV_HUGEPAGE); /* a refusal does no harm */

        bench_clock_start(&b);
        for (size_t at = 0; at < size; at += PLACE)
            *(volatile char *)(places + at) = 1;
        bench_clock_stop(&b);

        bench_print(&b, "floor", 1, b.n, bench_mix((uint64_t)b.n), places[size - PLACE] == 1);
        munmap(start, mapped);
    }
    return bench_end(&b);
}
