/* sched_stable_sort.h: a stable sort with the comparison compiled in. sched_sort.h includes this
 * file.
 *
 *     SCHED_STABLE_SORT(sort_people, struct person, strcmp(a->name, b->name) < 0)
 *
 *     if (sort_people(people, n, NULL) != 0)
 *         perror("sort_people");
 *
 * SCHED_STABLE_SORT(f, T, LESS) defines a static function
 *
 *     int f(T *base, size_t n, struct scheduler *s)
 *
 * which sorts like the function that SCHED_SORT defines, with the same LESS and the same s, but
 * equal elements keep their order. It needs memory for n more elements or, if an element has 160
 * bytes or more, for two pointers for each and for one element in 64. It returns 0, or -1 with
 * errno ENOMEM if there is no memory: then the array is unchanged. Elements that are in order or in
 * strictly opposite order need no memory, nor do fewer than 21 elements. In C++, T must be
 * trivially copyable.
 *
 * How: several workers halve the array down to parts that fit into a cache of the processor. Each
 * part is sorted by partitions; then parts are merged, from the array to the room for the copy
 * (*the room*) and back.
 *
 * A partition compares each element with one pivot. Unlike those of a merge, its comparisons do not
 * wait for each other, and d different elements need log d passes. So partitions are faster than
 * merges, but the first is a serial pass over the whole array. Merges are divided between workers,
 * and take elements that are in order as they are. A part that begins with a long run, rising or
 * falling, is not partitioned: its rest is sorted and merged with the run. If pivot after pivot is
 * bad, the part is sorted by merges alone.
 *
 * No branch of a partition or of a merge depends on an element: the outcome of the comparison moves
 * pointers. A merge proceeds from both ends at once, so that two chains of comparisons and moves
 * run in parallel. It makes at most as many steps as the shorter run has elements, so no step tests
 * for the end of a run. If groups of elements stay together, the end of each group is searched by
 * steps of doubling length, and the group is copied. A large merge is split by rank into two.
 * (src/api/sort.rs names the sources; the partition with two targets is that of I. van den Hoven,
 * "fluxsort", 2021.)
 *
 * If LESS is not an order, no element is lost: a partition writes each element to one of two sides,
 * and a merge from one end takes each element once. In a merge from both ends the two fronts may
 * pass each other; the merge detects this, and is repeated from one end. A merge reads nothing
 * outside of its runs, since a step takes at most one element from each end of a run. Partitioning
 * ends, since bad partitions are counted.
 *
 * Large elements are sorted by pointers to them, and then moved once. The moves follow the cycles
 * of the permutation. Of each 64 places one element is saved, which cuts the cycles into paths that
 * several workers follow at the same time; one worker alone follows the cycles that are not cut. */

#ifndef LIBSCHED_SCHED_STABLE_SORT_H
#define LIBSCHED_SCHED_STABLE_SORT_H

#ifdef __GNUC__
#pragma GCC system_header /* as in sched_inline.h */
#endif
#include "sched_sort.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Parts up to this size are sorted by partitions: two of them fit into a cache of 1 MB. */
#define SCHED_STABLE_PART_BYTES_ 262144
/* The fewest elements that two workers merge together, and the most that one worker moves. */
#define SCHED_STABLE_MERGE_ 8192
/* Elements of at least this size are sorted by pointers. */
#define SCHED_STABLE_LARGE_ 160
/* The fewest elements of a run that is searched for groups, and of a group that pays. */
#define SCHED_STABLE_GROUPED_ 128
#define SCHED_STABLE_GROUP_ 8
/* The number of places of which one element is saved. */
#define SCHED_STABLE_SAVED_ 64

/* The number of halvings of n elements after which parts are small enough. It is even, so that the
 * merges end in the array. */
SCHED_TYPED_FN_ int sched_stable_levels_(size_t n, size_t size)
{
    int levels = 0;
    for (; n > 2048 && n > SCHED_STABLE_PART_BYTES_ / size; n = (n + 1) / 2)
        levels++;
    return (levels + 1) & ~1;
}

/* Memory for n objects of this size, and its aligned start. NULL if there is no memory. */
SCHED_TYPED_FN_ void *sched_stable_room_(size_t n, size_t size, size_t align, void **start)
{
    char *room;
    if (align < 64)
        align = 64;
    room = n > ((size_t)-1 - align) / size ? NULL : (char *)malloc(n * size + align);
    *start = room ? room + (align - (size_t)room % align) : NULL;
    if (!room)
        errno = ENOMEM;
    return room;
}

/* The place of the saved element in a block of SCHED_STABLE_SAVED_: not the same in all blocks,
 * since a permutation may have a period. */
SCHED_TYPED_FN_ size_t sched_stable_saved_(size_t block, size_t n)
{
    size_t left = n - block * SCHED_STABLE_SAVED_;
    size_t place = (block * 2654435761u >> 7) % SCHED_STABLE_SAVED_;
    return block * SCHED_STABLE_SAVED_ + (place < left ? place : 0);
}

#ifdef __GNUC__
/* Keeps the compiler from making the choice a branch. */
#define SCHED_STABLE_OPAQUE_(value) __asm__("" : "+r"(value))
#else
#define SCHED_STABLE_OPAQUE_(value) (void)(value)
#endif

#ifdef __GNUC__
#define SCHED_STABLE_MUST_USE_ __attribute__((warn_unused_result))
#else
#define SCHED_STABLE_MUST_USE_
#endif

/* The stable sort of elements that are cheap to move. The caller gives the room. */
#define SCHED_STABLE_PARTS_(f, T)                                                                  \
    /* if_so or if_not, without a branch. */                                                       \
    SCHED_TYPED_FN_ const T *f##_pick_(int so, const T *if_so, const T *if_not)                    \
    {                                                                                              \
        size_t mask = 0 - (size_t)so;                                                              \
        SCHED_STABLE_OPAQUE_(mask);                                                                \
        return (const T *)((size_t)if_not ^ (((size_t)if_not ^ (size_t)if_so) & mask));            \
    }                                                                                              \
                                                                                                   \
    SCHED_TYPED_FN_ void f##_copy_(T *to, const T *from, size_t n)                                 \
    {                                                                                              \
        memcpy((void *)to, (const void *)from, n * sizeof(T));                                     \
    }                                                                                              \
                                                                                                   \
    /* Copies the elements at the front of the left run that do not belong behind *other, or, with \
     * `before`, those of the right run that belong before it. Returns their number. */            \
    SCHED_TYPED_FN_ size_t f##_front_(const T *run, size_t n, const T *other, int before)          \
    {                                                                                              \
        size_t low = 0, step = 1, high, middle;                                                    \
        while (step <= n - low                                                                     \
               && (before ? f##_less_(&run[low + step - 1], other)                                 \
                          : !f##_less_(other, &run[low + step - 1]))) {                            \
            low += step;                                                                           \
            step *= 2;                                                                             \
        }                                                                                          \
        high = step <= n - low ? low + step - 1 : n;                                               \
        while (low < high) {                                                                       \
            middle = low + (high - low) / 2;                                                       \
            if (before ? f##_less_(&run[middle], other) : !f##_less_(other, &run[middle]))         \
                low = middle + 1;                                                                  \
            else                                                                                   \
                high = middle;                                                                     \
        }                                                                                          \
        return low;                                                                                \
    }                                                                                              \
                                                                                                   \
    /* Merges group by group; short groups use up `patience`. Returns 0 if it is used up while     \
     * elements of both runs are left. */                                                          \
    SCHED_TYPED_STATIC_ int f##_groups_(const T **left, size_t *nl, const T **right, size_t *nr,   \
                                        T **to, long patience)                                     \
    {                                                                                              \
        while (*nl > 0 && *nr > 0) {                                                               \
            size_t from_left = f##_front_(*left, *nl, *right, 0), from_right;                      \
            f##_copy_(*to, *left, from_left);                                                      \
            *to += from_left;                                                                      \
            *left += from_left;                                                                    \
            *nl -= from_left;                                                                      \
            if (*nl == 0)                                                                          \
                break;                                                                             \
            from_right = f##_front_(*right, *nr, *left, 1);                                        \
            from_right += from_left + from_right == 0; /* the comparison contradicts itself */     \
            f##_copy_(*to, *right, from_right);                                                    \
            *to += from_right;                                                                     \
            *right += from_right;                                                                  \
            *nr -= from_right;                                                                     \
            if (from_left + from_right < 2 * SCHED_STABLE_GROUP_ && --patience < 0)                \
                return 0;                                                                          \
        }                                                                                          \
        f##_copy_(*to, *left, *nl);                                                                \
        f##_copy_(*to + *nl, *right, *nr);                                                         \
        return 1;                                                                                  \
    }                                                                                              \
                                                                                                   \
    /* True if the run seems to consist of groups of equal elements. */                            \
    SCHED_TYPED_FN_ int f##_grouped_(const T *run, size_t n)                                       \
    {                                                                                              \
        return n >= SCHED_STABLE_GROUPED_                                                          \
               && !f##_less_(&run[n / 2], &run[n / 2 + SCHED_STABLE_GROUP_]);                      \
    }                                                                                              \
                                                                                                   \
    /* Merges two runs on one worker. */                                                           \
    SCHED_TYPED_STATIC_ void f##_merge_alone_(const T *left, size_t nl, const T *right, size_t nr, \
                                              T *to)                                               \
    {                                                                                              \
        if (nl == 0 || nr == 0 || !f##_less_(right, &left[nl - 1])) {                              \
            f##_copy_(to, left, nl);                                                               \
            f##_copy_(to + nl, right, nr);                                                         \
            return;                                                                                \
        }                                                                                          \
        if (f##_less_(&right[nr - 1], left)) {                                                     \
            f##_copy_(to, right, nr);                                                              \
            f##_copy_(to + nr, left, nl);                                                          \
            return;                                                                                \
        }                                                                                          \
        if ((nl > 32 * nr || nr > 32 * nl || (f##_grouped_(left, nl) && f##_grouped_(right, nr)))  \
            && f##_groups_(&left, &nl, &right, &nr, &to, 8))                                       \
            return;                                                                                \
        while (nl >= 8 && nr >= 8) {                                                               \
            size_t steps = nl < nr ? nl : nr, k;                                                   \
            const T *l = left, *r = right, *end_l = left + nl, *end_r = right + nr;                \
            T *first = to, *end = to + nl + nr;                                                    \
            for (k = 0; k < steps; k++) {                                                          \
                int of_right = f##_less_(r, l), of_left = f##_less_(end_r - 1, end_l - 1);         \
                *first++ = *f##_pick_(of_right, r, l);                                             \
                r += of_right;                                                                     \
                l += 1 - of_right;                                                                 \
                *--end = *f##_pick_(of_left, end_l - 1, end_r - 1);                                \
                end_l -= of_left;                                                                  \
                end_r -= 1 - of_left;                                                              \
            }                                                                                      \
            if (l > end_l || r > end_r)                                                            \
                break; /* the comparison contradicts itself */                                     \
            left = l;                                                                              \
            right = r;                                                                             \
            nl = (size_t)(end_l - l);                                                              \
            nr = (size_t)(end_r - r);                                                              \
            to = first;                                                                            \
        }                                                                                          \
        while (!f##_groups_(&left, &nl, &right, &nr, &to, 1L << 30)) {                             \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Sorts few elements into another place: four by a network, the others by insertion. */       \
    SCHED_TYPED_STATIC_ void f##_few_to_(const T *v, T *to, size_t n)                              \
    {                                                                                              \
        size_t i = 1, j;                                                                           \
        if (n >= 4) {                                                                              \
            int one = f##_less_(&v[1], &v[0]), two = f##_less_(&v[3], &v[2]), low, high, swap;     \
            const T *a = v + one, *b = v + 1 - one, *c = v + 2 + two, *d = v + 3 - two, *x, *y;    \
            low = f##_less_(c, a);                                                                 \
            high = f##_less_(d, b);                                                                \
            to[0] = *f##_pick_(low, c, a);                                                         \
            to[3] = *f##_pick_(high, b, d);                                                        \
            x = f##_pick_(low, a, f##_pick_(high, c, b)); /* the two middle ones, in their order */\
            y = f##_pick_(high, d, f##_pick_(low, b, c));                                          \
            swap = f##_less_(y, x);                                                                \
            to[1] = *f##_pick_(swap, y, x);                                                        \
            to[2] = *f##_pick_(swap, x, y);                                                        \
            i = 4;                                                                                 \
        } else if (n > 0) {                                                                        \
            to[0] = v[0];                                                                          \
        }                                                                                          \
        for (; i < n; i++) {                                                                       \
            for (j = i; j > 0 && f##_less_(&v[i], &to[j - 1]); j--)                                \
                to[j] = to[j - 1];                                                                 \
            to[j] = v[i];                                                                          \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Sorts by merges alone, from v to v or to the room. */                                       \
    SCHED_TYPED_STATIC_ void f##_by_merging_(T *v, T *room, size_t n, int to_room)                 \
    {                                                                                              \
        size_t half = n / 2 & ~(size_t)3;                                                          \
        if (n < 8) {                                                                               \
            f##_few_to_(v, room, n);                                                               \
            if (!to_room)                                                                          \
                f##_copy_(v, room, n);                                                             \
            return;                                                                                \
        }                                                                                          \
        f##_by_merging_(v, room, half, !to_room);                                                  \
        f##_by_merging_(v + half, room + half, n - half, !to_room);                                \
        if (to_room)                                                                               \
            f##_merge_alone_(v, half, v + half, n - half, room);                                   \
        else                                                                                       \
            f##_merge_alone_(room, half, room + half, n - half, v);                                \
    }                                                                                              \
                                                                                                   \
    /* The pivot; in a large part a median of medians. */                                          \
    SCHED_TYPED_FN_ const T *f##_pivot_(const T *v, size_t n)                                      \
    {                                                                                              \
        size_t step = n / 8;                                                                       \
        const T *low, *high, *middle;                                                              \
        if (n <= 128)                                                                              \
            return f##_median_(&v[step], &v[n / 2], &v[n - 1 - step]);                             \
        low = f##_median_(&v[step / 2], &v[step], &v[2 * step]);                                   \
        high = f##_median_(&v[6 * step], &v[7 * step], &v[n - 1 - step / 2]);                      \
        middle = f##_median_(&v[3 * step], &v[n / 2], &v[5 * step]);                               \
        return f##_median_(low, middle, high);                                                     \
    }                                                                                              \
                                                                                                   \
    /* Moves the elements that belong before *pivot, with `equals` also those that equal it, to    \
     * the front, and returns their number. */                                                     \
    SCHED_TYPED_FN_ size_t f##_divide_(T *v, T *room, size_t n, const T *pivot, int equals)        \
    {                                                                                              \
        size_t before = 0, i;                                                                      \
        T kept = *pivot;                                                                           \
        for (i = 0; i < n; i++) {                                                                  \
            T here = v[i];                                                                         \
            v[before] = here;                                                                      \
            room[i - before] = here;                                                               \
            before += (size_t)(equals ? !f##_less_(&kept, &here) : f##_less_(&here, &kept));       \
        }                                                                                          \
        f##_copy_(v + before, room, n - before);                                                   \
        return before;                                                                             \
    }                                                                                              \
                                                                                                   \
    /* Either sorts v and returns 1, or divides v, so that no element from v[*middle] on belongs   \
     * before *pivot or before one in front, and returns 0. With `least`, no element of v belongs  \
     * before *least. */                                                                           \
    SCHED_TYPED_STATIC_ int f##_step_(T **v, T **room, size_t *n, int *limit, const T *least,      \
                                      T *pivot, size_t *middle)                                    \
    {                                                                                              \
        while (*n > SCHED_SORT_SMALL_ && *limit > 0) {                                             \
            size_t done;                                                                           \
            *pivot = *f##_pivot_(*v, *n);                                                          \
            if (!least || f##_less_(least, pivot)) {                                               \
                *middle = f##_divide_(*v, *room, *n, pivot, 0);                                    \
                if (*middle < *n / 8 || *n - *middle < *n / 8)                                     \
                    --*limit;                                                                      \
                if (*middle > 0)                                                                   \
                    return 0;                                                                      \
            }                                                                                      \
            done = f##_divide_(*v, *room, *n, pivot, 1);                                           \
            if (done < *n / 8)                                                                     \
                --*limit;                                                                          \
            *v += done;                                                                            \
            *room += done;                                                                         \
            *n -= done;                                                                            \
        }                                                                                          \
        if (*n <= SCHED_SORT_SMALL_ && SCHED_SORT_IS_NUMBER_(T))                                   \
            f##_by_rank_(*v, *n);                                                                  \
        else                                                                                       \
            f##_by_merging_(*v, *room, *n, 0);                                                     \
        return 1;                                                                                  \
    }                                                                                              \
                                                                                                   \
    SCHED_TYPED_STATIC_ void f##_serial_(T *v, T *room, size_t n, int limit, const T *least)       \
    {                                                                                              \
        size_t middle;                                                                             \
        T pivot, kept;                                                                             \
        while (!f##_step_(&v, &room, &n, &limit, least, &pivot, &middle)) {                        \
            f##_serial_(v, room, middle, limit, least);                                            \
            v += middle;                                                                           \
            room += middle;                                                                        \
            n -= middle;                                                                           \
            kept = pivot;                                                                          \
            least = &kept;                                                                         \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    SCHED_VOID_TASK(f##_part_, T *, v, T *, room, size_t, n, int, limit, const T *, least)         \
    {                                                                                              \
        size_t middle;                                                                             \
        T pivot;                                                                                   \
        f##_part__task before;                                                                     \
        if (n < SCHED_SORT_TASK_) {                                                                \
            f##_serial_(v, room, n, limit, least);                                                 \
            return;                                                                                \
        }                                                                                          \
        if (f##_step_(&v, &room, &n, &limit, least, &pivot, &middle))                              \
            return;                                                                                \
        SCHED_FORK(f##_part_, &before, v, room, middle, limit, least);                             \
        SCHED_CALL(f##_part_, v + middle, room + middle, n - middle, limit, &pivot);               \
        SCHED_JOIN(f##_part_, &before);                                                            \
    }                                                                                              \
                                                                                                   \
    /* The length of the run at the front. Reverses a falling run. */                              \
    SCHED_TYPED_STATIC_ size_t f##_run_at_(T *v, size_t n)                                         \
    {                                                                                              \
        int falls = n > 1 && f##_less_(&v[1], &v[0]);                                              \
        size_t length = n < 2 ? n : 1 + f##_steps_alone_(v, n - 1, falls);                         \
        if (falls)                                                                                 \
            f##_reverse_alone_(v, v + length, length / 2);                                         \
        return length;                                                                             \
    }                                                                                              \
                                                                                                   \
    /* Sorts a small array, or the elements that follow a run. */                                  \
    SCHED_VOID_TASK(f##_whole_, T *, v, T *, room, size_t, n)                                      \
    {                                                                                              \
        size_t run = f##_run_at_(v, n);                                                            \
        if (run >= n)                                                                              \
            return;                                                                                \
        if (run < n / 8 || run < 64) {                                                             \
            SCHED_CALL(f##_part_, v, room, n, 2 * sched_sort_limit_(n), NULL);                     \
            return;                                                                                \
        }                                                                                          \
        SCHED_CALL(f##_whole_, v + run, room + run, n - run);                                      \
        if (!f##_less_(&v[run], &v[run - 1]))                                                      \
            return;                                                                                \
        f##_merge_alone_(v, run, v + run, n - run, room);                                          \
        f##_copy_(v, room, n);                                                                     \
    }                                                                                              \
                                                                                                   \
    SCHED_VOID_TASK(f##_merge_, const T *, left, size_t, nl, const T *, right, size_t, nr, T *, to)\
    {                                                                                              \
        size_t k = (nl + nr) / 2, low = k > nr ? k - nr : 0, high = k < nl ? k : nl;               \
        f##_merge__task upper;                                                                     \
        if (nl + nr < SCHED_STABLE_MERGE_) {                                                       \
            f##_merge_alone_(left, nl, right, nr, to);                                             \
            return;                                                                                \
        }                                                                                          \
        while (low < high) { /* how many of the first k elements are from the left */              \
            size_t i = low + (high - low) / 2;                                                     \
            if (f##_less_(&right[k - i - 1], &left[i]))                                            \
                high = i;                                                                          \
            else                                                                                   \
                low = i + 1;                                                                       \
        }                                                                                          \
        SCHED_FORK(f##_merge_, &upper, left + low, nl - low, right + (k - low), nr - (k - low),    \
                   to + k);                                                                        \
        SCHED_CALL(f##_merge_, left, low, right, k - low, to);                                     \
        SCHED_JOIN(f##_merge_, &upper);                                                            \
    }                                                                                              \
                                                                                                   \
    SCHED_VOID_TASK(f##_move_, T *, to, const T *, from, size_t, n)                                \
    {                                                                                              \
        f##_move__task upper;                                                                      \
        if (n <= SCHED_STABLE_MERGE_) {                                                            \
            f##_copy_(to, from, n);                                                                \
            return;                                                                                \
        }                                                                                          \
        SCHED_FORK(f##_move_, &upper, to + n / 2, from + n / 2, n - n / 2);                        \
        SCHED_CALL(f##_move_, to, from, n / 2);                                                    \
        SCHED_JOIN(f##_move_, &upper);                                                             \
    }                                                                                              \
                                                                                                   \
    /* Sorts v. Returns 1 if the outcome is in the room: elements in order stay where they are. */ \
    SCHED_TASK(int, f##_halves_, T *, v, T *, room, size_t, n, int, levels)                        \
    {                                                                                              \
        size_t half = n / 2;                                                                       \
        int low, high;                                                                             \
        f##_halves__task upper;                                                                    \
        if (levels == 0) {                                                                         \
            SCHED_CALL(f##_whole_, v, room, n);                                                    \
            return 0;                                                                              \
        }                                                                                          \
        SCHED_FORK(f##_halves_, &upper, v + half, room + half, n - half, levels - 1);              \
        low = SCHED_CALL(f##_halves_, v, room, half, levels - 1);                                  \
        high = SCHED_JOIN(f##_halves_, &upper);                                                    \
        if (low && !high)                                                                          \
            SCHED_CALL(f##_move_, v, room, half);                                                  \
        if (high && !low)                                                                          \
            SCHED_CALL(f##_move_, v + half, room + half, n - half);                                \
        if (low && high) {                                                                         \
            if (!f##_less_(&room[half], &room[half - 1]))                                          \
                return 1;                                                                          \
            SCHED_CALL(f##_merge_, room, half, room + half, n - half, v);                          \
            return 0;                                                                              \
        }                                                                                          \
        if (!f##_less_(&v[half], &v[half - 1]))                                                    \
            return 0;                                                                              \
        SCHED_CALL(f##_merge_, v, half, v + half, n - half, room);                                 \
        return 1;                                                                                  \
    }                                                                                              \
                                                                                                   \
    SCHED_VOID_TASK(f##_sorted_, T *, v, T *, room, size_t, n)                                     \
    {                                                                                              \
        if (SCHED_CALL(f##_halves_, v, room, n, sched_stable_levels_(n, sizeof(T))))               \
            SCHED_CALL(f##_move_, v, room, n);                                                     \
    }

/* The stable sort by pointers: `by` is the function that SCHED_STABLE_PARTS_ defined for const T
 * *. */
#define SCHED_STABLE_BY_POINTERS_(f, by, T)                                                        \
    SCHED_VOID_TASK(f##_point_, const T **, pointers, const T *, v, size_t, n)                     \
    {                                                                                              \
        f##_point__task upper;                                                                     \
        size_t i;                                                                                  \
        if (n > SCHED_STABLE_MERGE_) {                                                             \
            SCHED_FORK(f##_point_, &upper, pointers + n / 2, v + n / 2, n - n / 2);                \
            SCHED_CALL(f##_point_, pointers, v, n / 2);                                            \
            SCHED_JOIN(f##_point_, &upper);                                                        \
        } else {                                                                                   \
            for (i = 0; i < n; i++)                                                                \
                pointers[i] = v + i;                                                               \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    SCHED_VOID_TASK(f##_save_, T *, saved, const T *, v, size_t, n, size_t, block, size_t, end)    \
    {                                                                                              \
        f##_save__task upper;                                                                      \
        if (end - block > 4) {                                                                     \
            size_t middle = block + (end - block) / 2;                                             \
            SCHED_FORK(f##_save_, &upper, saved, v, n, middle, end);                               \
            SCHED_CALL(f##_save_, saved, v, n, block, middle);                                     \
            SCHED_JOIN(f##_save_, &upper);                                                         \
        } else {                                                                                   \
            for (; block < end; block++)                                                           \
                saved[block] = v[sched_stable_saved_(block, n)];                                   \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Follows the paths from the saved elements of some blocks. A place that has got its element  \
     * gets the pointer NULL. */                                                                   \
    SCHED_VOID_TASK(f##_follow_, const T **, pointers, T *, v, T *, saved, size_t, n,              \
                    size_t, block, size_t, end)                                                    \
    {                                                                                              \
        f##_follow__task upper;                                                                    \
        if (end - block > 1) {                                                                     \
            size_t middle = block + (end - block) / 2;                                             \
            SCHED_FORK(f##_follow_, &upper, pointers, v, saved, n, middle, end);                   \
            SCHED_CALL(f##_follow_, pointers, v, saved, n, block, middle);                         \
            SCHED_JOIN(f##_follow_, &upper);                                                       \
        } else {                                                                                   \
            size_t hole = sched_stable_saved_(block, n), from;                                     \
            for (;;) {                                                                             \
                from = (size_t)(pointers[hole] - v);                                               \
                pointers[hole] = NULL;                                                             \
                if (from == sched_stable_saved_(from / SCHED_STABLE_SAVED_, n))                    \
                    break;                                                                         \
                v[hole] = v[from];                                                                 \
                hole = from;                                                                       \
            }                                                                                      \
            v[hole] = saved[from / SCHED_STABLE_SAVED_];                                           \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    SCHED_TYPED_STATIC_ void f##_close_(const T **pointers, T *v, size_t n)                        \
    {                                                                                              \
        size_t i, hole, from;                                                                      \
        for (i = 0; i < n; i++) {                                                                  \
            if (pointers[i] && pointers[i] != v + i) {                                             \
                T kept = v[i];                                                                     \
                for (hole = i; (from = (size_t)(pointers[hole] - v)) != i; hole = from) {          \
                    v[hole] = v[from];                                                             \
                    pointers[hole] = NULL;                                                         \
                }                                                                                  \
                v[hole] = kept;                                                                    \
                pointers[hole] = NULL;                                                             \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    SCHED_VOID_TASK(f##_indirect_, T *, v, T *, saved, const T **, pointers, size_t, n)            \
    {                                                                                              \
        size_t blocks = (n - 1) / SCHED_STABLE_SAVED_ + 1;                                         \
        SCHED_CALL(f##_point_, pointers, v, n);                                                    \
        SCHED_CALL(by##_sorted_, pointers, pointers + n, n);                                       \
        SCHED_CALL(f##_save_, saved, v, n, 0, blocks);                                             \
        SCHED_CALL(f##_follow_, pointers, v, saved, n, 0, blocks);                                 \
        f##_close_(pointers, v, n);                                                                \
    }                                                                                              \
                                                                                                   \
    SCHED_TYPED_STATIC_ int f##_by_pointers_(T *base, size_t n, size_t align, struct scheduler *s) \
    {                                                                                              \
        size_t blocks = (n - 1) / SCHED_STABLE_SAVED_ + 1;                                         \
        void *saved, *pointers, *room = sched_stable_room_(blocks, sizeof(T), align, &saved);      \
        void *more = room ? sched_stable_room_(n, 2 * sizeof(T *), 1, &pointers) : NULL;           \
        if (more)                                                                                  \
            f##_indirect_(base, (T *)saved, (const T **)pointers, n, s);                           \
        free(more);                                                                                \
        free(room);                                                                                \
        return more ? 0 : -1;                                                                      \
    }

#define SCHED_STABLE_SORT(f, T, ...)                                                               \
    typedef T f##_element_;                                                                        \
    typedef const f##_element_ *f##_pointer_;                                                      \
    struct f##_aligned_ {                                                                          \
        char first;                                                                                \
        f##_element_ then;                                                                         \
    };                                                                                             \
    SCHED_SORT_COMMON_(f, f##_element_, (__VA_ARGS__))                                             \
    SCHED_STABLE_PARTS_(f, f##_element_)                                                           \
    SCHED_SORT_COMMON_(f##_by_pointer_, f##_pointer_, f##_less_(*a, *b))                           \
    SCHED_STABLE_PARTS_(f##_by_pointer_, f##_pointer_)                                             \
    SCHED_STABLE_BY_POINTERS_(f, f##_by_pointer_, f##_element_)                                    \
    SCHED_STABLE_MUST_USE_                                                                         \
    SCHED_TYPED_STATIC_ int f(f##_element_ *base, size_t n, struct scheduler *s)                   \
    {                                                                                              \
        size_t align = sizeof(struct f##_aligned_) - sizeof(f##_element_), run, first = 0;         \
        void *room, *start;                                                                        \
        if (n <= SCHED_SORT_SMALL_) {                                                              \
            f##_by_insertion_(base, n);                                                            \
            return 0;                                                                              \
        }                                                                                          \
        run = f##_look_(base, n, s);                                                               \
        if (run >= n)                                                                              \
            return 0;                                                                              \
        if (sizeof(f##_element_) >= SCHED_STABLE_LARGE_)                                           \
            return f##_by_pointers_(base, n, align, s);                                            \
        if (n - run <= n / 64)                                                                     \
            first = run; /* a short tail is sorted alone */                                        \
        room = sched_stable_room_(n - first, sizeof(f##_element_), align, &start);                 \
        if (!room)                                                                                 \
            return -1;                                                                             \
        f##_sorted_(base + first, (f##_element_ *)start, n - first, s);                            \
        if (first > 0)                                                                             \
            f##_append_(base, first, n - first, (f##_element_ *)start);                            \
        free(room);                                                                                \
        return 0;                                                                                  \
    }

#endif
