/* tally.h: which tasks ran, in a few numbers that cost each task some nanoseconds.
 *
 * A round gives its tasks the numbers 1 to n. Each worker adds to a cell of its own how many tasks it ran, the sum of
 * their numbers and the sum of their squares. A task that is lost or runs twice changes the count; two mistakes that
 * leave the count as it was change the sum, unless they are of the same task; and so on with the squares. The
 * cells are indexed by sched_worker_index and are not atomic: two workers with the same number at the same time
 * would also lose counts. What is not a worker of the round's run (a foreign thread that ran a task whose spawn was
 * refused, a run within the run) adds to the atomic cell. */
#ifndef TALLY_H
#define TALLY_H

#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { TALLY_CELLS = 256 };

static struct tally_cell {
    _Alignas(64) uint64_t count;
    uint64_t sum, squares;
    uint64_t calls; /* of loop bodies */
} tally_cells[TALLY_CELLS];

static struct {
    _Atomic uint64_t count, sum, squares, calls;
} tally_shared;

/* The numbers of a part of a loop: count, sum and squares of lo to hi - 1, modulo 2^64. */
struct tally_part {
    uint64_t count, sum, squares;
};

/* 1 + ... + n and 1 + ... + n * n: the factor that 2 or 3 divides is divided before the product wraps. */
static inline struct tally_part tally_up_to(uint64_t n)
{
    uint64_t a = n, b = n + 1, c = 2 * n + 1;
    *(a % 2 == 0 ? &a : &b) /= 2;
    uint64_t sum = a * b;
    *(a % 3 == 0 ? &a : b % 3 == 0 ? &b : &c) /= 3;
    return (struct tally_part){n, sum, a * b * c};
}

static inline void tally_shared_add(struct tally_part part, uint64_t calls)
{
    atomic_fetch_add_explicit(&tally_shared.count, part.count, memory_order_relaxed);
    atomic_fetch_add_explicit(&tally_shared.sum, part.sum, memory_order_relaxed);
    atomic_fetch_add_explicit(&tally_shared.squares, part.squares, memory_order_relaxed);
    atomic_fetch_add_explicit(&tally_shared.calls, calls, memory_order_relaxed);
}

/* The task with this number has run, in the run of s. */
static inline void tally(uint64_t number, struct scheduler *s)
{
    int worker = sched_worker_index(s);
    if (worker < 0) {
        tally_shared_add((struct tally_part){1, number, number * number}, 0);
        return;
    }
    CHECK(worker < TALLY_CELLS);
    struct tally_cell *cell = &tally_cells[worker];
    cell->count++;
    cell->sum += number;
    cell->squares += number * number;
}

/* A part of a loop has run: the numbers lo to hi - 1, lo > 0. */
static inline void tally_range(uint64_t lo, uint64_t hi, struct scheduler *s)
{
    struct tally_part below = tally_up_to(lo - 1), part = tally_up_to(hi - 1);
    part.count -= below.count;
    part.sum -= below.sum;
    part.squares -= below.squares;
    int worker = sched_worker_index(s);
    if (worker < 0) {
        tally_shared_add(part, 1);
        return;
    }
    CHECK(worker < TALLY_CELLS);
    struct tally_cell *cell = &tally_cells[worker];
    cell->count += part.count;
    cell->sum += part.sum;
    cell->squares += part.squares;
    cell->calls++;
}

/* Checks that each of the tasks 1 to n ran once, and clears the tally. Returns how often a loop's body was called. */
static inline uint64_t tally_check(const char *what, uint64_t n)
{
    struct tally_part found = {tally_shared.count, tally_shared.sum, tally_shared.squares};
    uint64_t calls = tally_shared.calls;
    for (int i = 0; i < TALLY_CELLS; i++) {
        found.count += tally_cells[i].count;
        found.sum += tally_cells[i].sum;
        found.squares += tally_cells[i].squares;
        calls += tally_cells[i].calls;
        tally_cells[i] = (struct tally_cell){0};
    }
    tally_shared.count = tally_shared.sum = tally_shared.squares = tally_shared.calls = 0;
    struct tally_part all = tally_up_to(n);
    if (found.count != all.count || found.sum != all.sum || found.squares != all.squares) {
        char text[256];
        snprintf(text, sizeof text,
                 "%s: %llu tasks ran of %llu; the sum of their numbers is %llu, not %llu; of the squares %llu, not %llu\n",
                 what, (unsigned long long)found.count, (unsigned long long)n, (unsigned long long)found.sum,
                 (unsigned long long)all.sum, (unsigned long long)found.squares, (unsigned long long)all.squares);
        check_say(text);
        _exit(1);
    }
    return calls;
}

#endif
