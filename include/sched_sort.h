/* sched_sort.h: a parallel sort with the comparison compiled in, for elements that may be copied.
 *
 *     SCHED_SORT(sort_longs, long, *a < *b)
 *     SCHED_SORT(sort_words, const char *, strcmp(*a, *b) < 0)
 *
 *     sort_longs(numbers, n, NULL);
 *
 * SCHED_SORT(f, T, LESS) defines a static function
 *
 *     int f(T *base, size_t n, struct scheduler *s)
 *
 * which sorts the n elements from base on, and returns 0: this sort cannot fail. s is the caller's,
 * or NULL as sched_tasks.h says. A call is a suspension point. LESS is an expression: true if *a
 * belongs before *b, where a and b are of type const T *. With a comparison cmp for qsort, LESS is
 * cmp(a, b) < 0. LESS must be a strict weak ordering: false for equal elements, and if a is before
 * b and b before c, then a is before c. If LESS is not an order, the sort ends and loses no
 * element, but the elements are not sorted. Any worker may evaluate LESS, which must not wait or
 * jump away; a C++ exception that leaves it ends the process. Elements are copied by assignment, so
 * T must not be an array or const at its top level. Equal elements may be exchanged;
 * SCHED_STABLE_SORT, in sched_stable_sort.h, defines a stable sort.
 *
 * Nothing is allocated. The caller alone sorts small inputs. Cost: n log n comparisons even in the
 * worst case; n if the elements are already in order or, if there are more than 20, in the opposite
 * order; n log d for d different elements. One worker makes the first pass over all elements, two
 * make the second, and so on: with more than some 8 workers sched_sort takes less time.
 *
 * (The sort is a quicksort. Branches on elements are not predictable, so its partition has none: it
 * is the cyclic Lomuto partition of L. Bergdoll and O. Peters's ipnsort, 2024. Equal elements and
 * bad pivots are treated as in O. Peters, "Pattern-defeating quicksort", 2021. Large elements are
 * divided in blocks: S. Edelkamp and A. Weiss, "BlockQuicksort", 2016.) */

#ifndef LIBSCHED_SCHED_SORT_H
#define LIBSCHED_SCHED_SORT_H

#ifdef __GNUC__
#pragma GCC system_header /* as in sched_inline.h */
#endif
#include "sched_typed.h"

/* A part with at least SCHED_SORT_TASK_ elements is sorted by tasks. A part with at most
 * SCHED_SORT_SMALL_ elements is sorted without a partition. */
#define SCHED_SORT_TASK_ 2048
#define SCHED_SORT_SMALL_ 20
/* The most elements whose order one of several workers checks at a time. */
#define SCHED_SORT_LOOK_ 16384
/* The most bytes of elements behind a long run that are sorted alone, with as many bytes of the
 * stack. */
#define SCHED_SORT_TAIL_ 4096
/* Elements up to this size are cheap to copy. */
#define SCHED_SORT_CHEAP_ 64

/* The number of elements that are compared with the next one, or exchanged, at a time. */
#define SCHED_SORT_BLOCK_ 32
/* The number of large elements at each end that are compared with a pivot at a time. */
#define SCHED_SORT_SIDE_ 64

/* True for numbers, whose comparison takes next to nothing. */
#ifdef __GNUC__
#define SCHED_SORT_IS_NUMBER_(T)                                                                   \
    (__builtin_classify_type(*(T *)0) == __builtin_classify_type(0)                                \
     || __builtin_classify_type(*(T *)0) == __builtin_classify_type(0.0))
#else
#define SCHED_SORT_IS_NUMBER_(T) 0
#endif
/* The number of elements that one worker checks alone, since to wake another one takes longer. */
#define SCHED_SORT_ALONE_(T) (SCHED_SORT_IS_NUMBER_(T) ? 131072 : SCHED_SORT_LOOK_)

/* True for numbers that many processors compare faster with vectors. (With SSE2, which all x86-64
 * have, numbers of 64 bits are slower than one by one.) */
#define SCHED_SORT_IS_NARROW_(T) (SCHED_SORT_IS_NUMBER_(T) && sizeof(T) <= 4)

#ifdef __GNUC__
#define SCHED_SORT_RESTRICT_ __restrict__
#else
#define SCHED_SORT_RESTRICT_
#endif

/* The number of bad pivots that are allowed for n elements. */
SCHED_TYPED_FN_ int sched_sort_limit_(size_t n)
{
    int limit = 1;
    for (; n > 1; n /= 2)
        limit++;
    return limit;
}

/* T may be a type like char *, which must not stand in a declaration of several names. */
#define SCHED_SORT(f, T, ...)                                                                      \
    typedef T f##_element_;                                                                        \
    SCHED_SORT_BY_(f, f##_element_, (__VA_ARGS__))

/* The functions of both sorts. */
#define SCHED_SORT_COMMON_(f, T, LESS)                                                             \
    SCHED_TYPED_FN_ int f##_less_(const T *a, const T *b) SCHED_TYPED_NOEXCEPT_                    \
    {                                                                                              \
        return LESS ? 1 : 0;                                                                       \
    }                                                                                              \
                                                                                                   \
    SCHED_TYPED_FN_ void f##_swap_(T *one, T *other)                                               \
    {                                                                                              \
        T kept = *one;                                                                             \
        *one = *other;                                                                             \
        *other = kept;                                                                             \
    }                                                                                              \
                                                                                                   \
    SCHED_TYPED_STATIC_ void f##_by_insertion_(T *v, size_t n)                                     \
    {                                                                                              \
        size_t i, j;                                                                               \
        for (i = 1; i < n; i++) {                                                                  \
            if (f##_less_(&v[i], &v[i - 1])) {                                                     \
                T kept = v[i];                                                                     \
                for (j = i; j > 0 && f##_less_(&kept, &v[j - 1]); j--)                             \
                    v[j] = v[j - 1];                                                               \
                v[j] = kept;                                                                       \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Each element's place is the number of elements before it: no branch depends on an element.  \
     * (If LESS is not an order, with NaNs for instance, two may get the same place.) */           \
    SCHED_TYPED_STATIC_ void f##_by_rank_(T *v, size_t n)                                          \
    {                                                                                              \
        T sorted[SCHED_SORT_SMALL_];                                                               \
        unsigned char rank[SCHED_SORT_SMALL_];                                                     \
        unsigned places = 0;                                                                       \
        size_t i, j;                                                                               \
        for (i = 0; i < n; i++) {                                                                  \
            unsigned before = (unsigned)i;                                                         \
            for (j = 0; j < i; j++) {                                                              \
                unsigned moves = (unsigned)f##_less_(&v[i], &v[j]);                                \
                rank[j] = (unsigned char)(rank[j] + moves);                                        \
                before -= moves;                                                                   \
            }                                                                                      \
            rank[i] = (unsigned char)before;                                                       \
        }                                                                                          \
        for (i = 0; i < n; i++) {                                                                  \
            sorted[rank[i]] = v[i];                                                                \
            places |= 1u << rank[i];                                                               \
        }                                                                                          \
        if (places != (1u << n) - 1) {                                                             \
            f##_by_insertion_(v, n);                                                               \
            return;                                                                                \
        }                                                                                          \
        for (i = 0; i < n; i++)                                                                    \
            v[i] = sorted[i];                                                                      \
    }                                                                                              \
                                                                                                   \
    SCHED_TYPED_FN_ const T *f##_median_(const T *a, const T *b, const T *c)                       \
    {                                                                                              \
        if (f##_less_(a, b))                                                                       \
            return f##_less_(b, c) ? b : f##_less_(a, c) ? c : a;                                  \
        return f##_less_(a, c) ? a : f##_less_(b, c) ? c : b;                                      \
    }                                                                                              \
                                                                                                   \
    /* True if one of the steps from v[0] to v[SCHED_SORT_BLOCK_] does not rise, or with `falls`   \
     * does not fall strictly. There is no branch for each step, so that a compiler uses           \
     * vectors. */                                                                                 \
    SCHED_TYPED_FN_ int f##_breaks_(const T *v, int falls)                                         \
    {                                                                                              \
        int i, breaks = 0;                                                                         \
        if (falls)                                                                                 \
            for (i = 0; i < SCHED_SORT_BLOCK_; i++)                                                \
                breaks |= !f##_less_(&v[i + 1], &v[i]);                                            \
        else                                                                                       \
            for (i = 0; i < SCHED_SORT_BLOCK_; i++)                                                \
                breaks |= f##_less_(&v[i + 1], &v[i]);                                             \
        return breaks;                                                                             \
    }                                                                                              \
                                                                                                   \
    /* The number of steps from v[0] to v[n] that rise, or with `falls` fall strictly, before the  \
     * first that does not. In most inputs this is one of the first few steps. */                  \
    SCHED_TYPED_STATIC_ size_t f##_steps_alone_(const T *v, size_t n, int falls)                   \
    {                                                                                              \
        size_t i = 0;                                                                              \
        if (SCHED_SORT_IS_NARROW_(T)) {                                                            \
            while (i < n && i < 8 && f##_less_(&v[i + 1], &v[i]) == falls)                         \
                i++;                                                                               \
            if (i == 8)                                                                            \
                while (n - i >= SCHED_SORT_BLOCK_ && !f##_breaks_(v + i, falls))                   \
                    i += SCHED_SORT_BLOCK_;                                                        \
        }                                                                                          \
        if (falls)                                                                                 \
            while (i < n && f##_less_(&v[i + 1], &v[i]))                                           \
                i++;                                                                               \
        else                                                                                       \
            while (i < n && !f##_less_(&v[i + 1], &v[i]))                                          \
                i++;                                                                               \
        return i;                                                                                  \
    }                                                                                              \
                                                                                                   \
    SCHED_TASK(size_t, f##_steps_, const T *, v, size_t, n, int, falls)                            \
    {                                                                                              \
        size_t i, half = n / 2;                                                                    \
        f##_steps__task upper;                                                                     \
        if (n <= SCHED_SORT_LOOK_)                                                                 \
            return f##_steps_alone_(v, n, falls);                                                  \
        SCHED_FORK(f##_steps_, &upper, v + half, n - half, falls);                                 \
        i = SCHED_CALL(f##_steps_, v, half, falls);                                                \
        half = SCHED_JOIN(f##_steps_, &upper);                                                     \
        return i < n / 2 ? i : i + half;                                                           \
    }                                                                                              \
                                                                                                   \
    /* Exchanges two blocks, and reverses each of them. */                                         \
    SCHED_TYPED_FN_ void f##_exchange_(T *SCHED_SORT_RESTRICT_ v, T *SCHED_SORT_RESTRICT_ other)   \
    {                                                                                              \
        int i;                                                                                     \
        for (i = 0; i < SCHED_SORT_BLOCK_; i++) {                                                  \
            T kept = v[i];                                                                         \
            v[i] = other[SCHED_SORT_BLOCK_ - 1 - i];                                               \
            other[SCHED_SORT_BLOCK_ - 1 - i] = kept;                                               \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Exchanges v[0] to v[n - 1] with end[-1] to end[-n]. */                                      \
    SCHED_TYPED_STATIC_ void f##_reverse_alone_(T *v, T *end, size_t n)                            \
    {                                                                                              \
        for (; n >= SCHED_SORT_BLOCK_; n -= SCHED_SORT_BLOCK_) {                                   \
            end -= SCHED_SORT_BLOCK_;                                                              \
            f##_exchange_(v, end);                                                                 \
            v += SCHED_SORT_BLOCK_;                                                                \
        }                                                                                          \
        for (; n > 0; n--)                                                                         \
            f##_swap_(v++, --end);                                                                 \
    }                                                                                              \
                                                                                                   \
    SCHED_VOID_TASK(f##_reverse_, T *, v, T *, end, size_t, n)                                     \
    {                                                                                              \
        size_t half = n / 2;                                                                       \
        f##_reverse__task inner;                                                                   \
        if (n <= SCHED_SORT_LOOK_) {                                                               \
            f##_reverse_alone_(v, end, n);                                                         \
            return;                                                                                \
        }                                                                                          \
        SCHED_FORK(f##_reverse_, &inner, v + half, end - half, n - half);                          \
        SCHED_CALL(f##_reverse_, v, end, half);                                                    \
        SCHED_JOIN(f##_reverse_, &inner);                                                          \
    }                                                                                              \
                                                                                                   \
    /* The length of the run at the front. If all elements are in strictly opposite order,         \
     * reverses them and returns n; a shorter falling run counts as 1. For most inputs the check   \
     * ends early. */                                                                              \
    SCHED_TYPED_STATIC_ size_t f##_look_(T *base, size_t n, struct scheduler *s)                   \
    {                                                                                              \
        size_t steps = n > 0 ? n - 1 : 0, i;                                                       \
        size_t look = steps <= SCHED_SORT_ALONE_(T) ? steps : SCHED_SORT_LOOK_;                    \
        int falls = steps > 0 && f##_less_(&base[1], &base[0]);                                    \
        i = f##_steps_alone_(base, look, falls);                                                   \
        if (i == look && i < steps)                                                                \
            i += f##_steps_(base + i, steps - i, falls, s);                                        \
        if (!falls)                                                                                \
            return i + 1;                                                                          \
        if (i < steps)                                                                             \
            return 1;                                                                              \
        if (steps > SCHED_SORT_ALONE_(T))                                                          \
            f##_reverse_(base, base + n, n / 2, s);                                                \
        else                                                                                       \
            f##_reverse_alone_(base, base + n, n / 2);                                             \
        return n;                                                                                  \
    }                                                                                              \
                                                                                                   \
    /* Merges the run v with a short run behind it, from the end on; the room has space for the    \
     * short run. Each step moves the last element of the short run and the elements that belong   \
     * behind it. */                                                                               \
    SCHED_TYPED_STATIC_ void f##_append_(T *v, size_t n, size_t more, T *room)                     \
    {                                                                                              \
        T *to = v + n + more;                                                                      \
        size_t i;                                                                                  \
        for (i = 0; i < more; i++)                                                                 \
            room[i] = v[n + i];                                                                    \
        while (more > 0) {                                                                         \
            const T *last = &room[more - 1];                                                       \
            size_t step = 1, from = n, low, middle; /* all from v[from] on belong behind *last */  \
            while (step <= from && f##_less_(last, &v[from - step])) {                             \
                from -= step;                                                                      \
                step *= 2;                                                                         \
            }                                                                                      \
            low = step <= from ? from - step + 1 : 0; /* v[low - 1] does not belong there */       \
            while (low < from) {                                                                   \
                middle = low + (from - low) / 2;                                                   \
                if (f##_less_(last, &v[middle]))                                                   \
                    from = middle;                                                                 \
                else                                                                               \
                    low = middle + 1;                                                              \
            }                                                                                      \
            while (n > from)                                                                       \
                *--to = v[--n];                                                                    \
            *--to = room[--more];                                                                  \
        }                                                                                          \
    }

#define SCHED_SORT_BY_(f, T, LESS)                                                                 \
    SCHED_SORT_COMMON_(f, T, LESS)                                                                 \
                                                                                                   \
    /* Sorts the indices of the elements, and then copies each element once, to its place. */      \
    SCHED_TYPED_STATIC_ void f##_by_places_(T *v, size_t n)                                        \
    {                                                                                              \
        unsigned char from[SCHED_SORT_SMALL_]; /* v[from[i]] belongs at v[i] */                    \
        size_t i, j, gap;                                                                          \
        for (i = 0; i < n; i++) {                                                                  \
            for (j = i; j > 0 && f##_less_(&v[i], &v[from[j - 1]]); j--)                           \
                from[j] = from[j - 1];                                                             \
            from[j] = (unsigned char)i;                                                            \
        }                                                                                          \
        for (i = 0; i < n; i++) {                                                                  \
            if (from[i] != i) {                                                                    \
                T kept = v[i];                                                                     \
                for (gap = i; (j = from[gap]) != i; gap = j) {                                     \
                    v[gap] = v[j];                                                                 \
                    from[gap] = (unsigned char)gap;                                                \
                }                                                                                  \
                v[gap] = kept;                                                                     \
                from[gap] = (unsigned char)gap;                                                    \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    /* Heapsort, for parts in which pivot after pivot was bad. */                                  \
    SCHED_TYPED_STATIC_ void f##_by_heap_(T *v, size_t n)                                          \
    {                                                                                              \
        size_t start = n / 2, end = n, at, child;                                                  \
        while (end > 1) {                                                                          \
            if (start > 0)                                                                         \
                start--;                                                                           \
            else                                                                                   \
                f##_swap_(&v[0], &v[--end]);                                                       \
            for (at = start; (child = 2 * at + 1) < end; at = child) {                             \
                if (child + 1 < end && f##_less_(&v[child], &v[child + 1]))                        \
                    child++;                                                                       \
                if (!f##_less_(&v[at], &v[child]))                                                 \
                    break;                                                                         \
                f##_swap_(&v[at], &v[child]);                                                      \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Moves a pivot to v[0]: the median of 3 elements, or in a large part a median of medians. */ \
    SCHED_TYPED_STATIC_ void f##_choose_(T *v, size_t n)                                           \
    {                                                                                              \
        size_t step = n / 8;                                                                       \
        const T *pivot = &v[n / 2];                                                                \
        if (n > 128) {                                                                             \
            const T *low = f##_median_(&v[step / 2], &v[step], &v[2 * step]);                      \
            const T *high = f##_median_(&v[6 * step], &v[7 * step], &v[n - 1 - step / 2]);         \
            const T *middle = f##_median_(&v[3 * step], pivot, &v[5 * step]);                      \
            pivot = f##_median_(low, middle, high);                                                \
        } else {                                                                                   \
            pivot = f##_median_(&v[step], pivot, &v[n - 1 - step]);                                \
        }                                                                                          \
        f##_swap_(&v[0], &v[pivot - v]);                                                           \
    }                                                                                              \
                                                                                                   \
    SCHED_TYPED_FN_ int f##_is_before_(const T *a, const T *pivot, int equals)                     \
    {                                                                                              \
        return equals ? !f##_less_(pivot, a) : f##_less_(a, pivot);                                \
    }                                                                                              \
                                                                                                   \
    /* Moves the elements that belong before *pivot, with `equals` also those that equal it, to    \
     * the front of v, and returns their number. n is not 0. v[gap] is free: its element has been  \
     * copied. */                                                                                  \
    SCHED_TYPED_FN_ size_t f##_divide_cheap_(T *v, size_t n, const T *pivot, int equals)           \
    {                                                                                              \
        size_t left = 0, gap = 0, i;                                                               \
        T first = v[0], kept = *pivot;                                                             \
        for (i = 1; i < n; i++) {                                                                  \
            T here = v[i];                                                                         \
            v[gap] = v[left];                                                                      \
            v[left] = here;                                                                        \
            gap = i;                                                                               \
            left += (size_t)f##_is_before_(&here, &kept, equals);                                  \
        }                                                                                          \
        v[gap] = v[left];                                                                          \
        v[left] = first;                                                                           \
        return left + (size_t)f##_is_before_(&first, &kept, equals);                               \
    }                                                                                              \
                                                                                                   \
    /* Exchanges the elements v[low[i]] with the elements end[-1 - high[i]], i < n, n > 0, in one  \
     * cycle instead of pair by pair: this copies each element once. */                            \
    SCHED_TYPED_FN_ void f##_exchange_some_(T *v, const unsigned char *low, T *end,                \
                                            const unsigned char *high, size_t n)                   \
    {                                                                                              \
        T kept = v[low[0]], *gap = &v[low[0]];                                                     \
        size_t i;                                                                                  \
        for (i = 0; i + 1 < n; i++) {                                                              \
            *gap = *(end - 1 - high[i]);                                                           \
            gap = &v[low[i + 1]];                                                                  \
            *(end - 1 - high[i]) = *gap;                                                           \
        }                                                                                          \
        *gap = *(end - 1 - high[i]);                                                               \
        *(end - 1 - high[i]) = kept;                                                               \
    }                                                                                              \
                                                                                                   \
    /* Like divide_cheap_, but copies only elements that change sides. Blocks at both ends are     \
     * compared without branches, so that the processor fetches several elements at a time. */     \
    SCHED_TYPED_FN_ size_t f##_divide_large_(T *v, size_t n, const T *pivot, int equals)           \
    {                                                                                              \
        unsigned char low_wrong[SCHED_SORT_SIDE_], high_wrong[SCHED_SORT_SIDE_];                   \
        size_t low = 0, high = n, i, lows = 0, highs = 0, low_at = 0, high_at = 0, both;           \
        while (high - low > 2 * SCHED_SORT_SIDE_) {                                                \
            if (lows == 0) {                                                                       \
                for (i = 0, low_at = 0; i < SCHED_SORT_SIDE_; i++) {                               \
                    low_wrong[lows] = (unsigned char)i;                                            \
                    lows += (size_t)!f##_is_before_(&v[low + i], pivot, equals);                   \
                }                                                                                  \
            }                                                                                      \
            if (highs == 0) {                                                                      \
                for (i = 0, high_at = 0; i < SCHED_SORT_SIDE_; i++) {                              \
                    high_wrong[highs] = (unsigned char)i;                                          \
                    highs += (size_t)f##_is_before_(&v[high - 1 - i], pivot, equals);              \
                }                                                                                  \
            }                                                                                      \
            both = lows < highs ? lows : highs;                                                    \
            if (both > 0)                                                                          \
                f##_exchange_some_(v + low, low_wrong + low_at, v + high, high_wrong + high_at,    \
                                   both);                                                          \
            low_at += both;                                                                        \
            high_at += both;                                                                       \
            lows -= both;                                                                          \
            highs -= both;                                                                         \
            low += lows == 0 ? SCHED_SORT_SIDE_ : 0;                                               \
            high -= highs == 0 ? SCHED_SORT_SIDE_ : 0;                                             \
        }                                                                                          \
        for (;;) {                                                                                 \
            while (low < high && f##_is_before_(&v[low], pivot, equals))                           \
                low++;                                                                             \
            while (low < high && !f##_is_before_(&v[high - 1], pivot, equals))                     \
                high--;                                                                            \
            if (low >= high)                                                                       \
                return low;                                                                        \
            f##_swap_(&v[low++], &v[--high]);                                                      \
        }                                                                                          \
    }                                                                                              \
    SCHED_TYPED_FN_ size_t f##_divide_(T *v, size_t n, int equals)                                 \
    {                                                                                              \
        return sizeof(T) <= SCHED_SORT_CHEAP_ ? f##_divide_cheap_(v + 1, n - 1, v, equals)         \
                                              : f##_divide_large_(v + 1, n - 1, v, equals);        \
    }                                                                                              \
                                                                                                   \
    /* Either sorts v and returns 1, or divides v, so that v[*middle] is in its place, and         \
     * returns 0. With `follows`, v[-1] exists, and no element of v belongs before it. */          \
    SCHED_TYPED_STATIC_ int f##_step_(T **v, size_t *n, int *limit, int follows, size_t *middle)   \
    {                                                                                              \
        while (*n > SCHED_SORT_SMALL_) {                                                           \
            if (*limit == 0) {                                                                     \
                f##_by_heap_(*v, *n);                                                              \
                return 1;                                                                          \
            }                                                                                      \
            f##_choose_(*v, *n);                                                                   \
            if (follows && !f##_less_(*v - 1, *v)) {                                               \
                /* The pivot equals v[-1], so the elements that equal it are in their places. */   \
                size_t done = f##_divide_(*v, *n, 1) + 1;                                          \
                *v += done;                                                                        \
                *n -= done;                                                                        \
                continue;                                                                          \
            }                                                                                      \
            *middle = f##_divide_(*v, *n, 0);                                                      \
            f##_swap_(*v, *v + *middle);                                                           \
            if (*middle < *n / 8 || *n - *middle < *n / 8) {                                       \
                /* Breaks a pattern that may have made the pivot bad. */                           \
                T *after = *v + *middle + 1;                                                       \
                size_t more = *n - *middle - 1;                                                    \
                --*limit;                                                                          \
                if (*middle > SCHED_SORT_SMALL_)                                                   \
                    f##_swap_(*v + *middle / 4, *v + *middle / 2);                                 \
                if (more > SCHED_SORT_SMALL_)                                                      \
                    f##_swap_(after + more / 4, after + more / 2);                                 \
            }                                                                                      \
            return 0;                                                                              \
        }                                                                                          \
        if (SCHED_SORT_IS_NUMBER_(T))                                                              \
            f##_by_rank_(*v, *n);                                                                  \
        else if (sizeof(T) > SCHED_SORT_CHEAP_)                                                    \
            f##_by_places_(*v, *n);                                                                \
        else                                                                                       \
            f##_by_insertion_(*v, *n);                                                             \
        return 1;                                                                                  \
    }                                                                                              \
                                                                                                   \
    SCHED_TYPED_STATIC_ void f##_serial_(T *v, size_t n, int limit, int follows)                   \
    {                                                                                              \
        size_t middle;                                                                             \
        while (!f##_step_(&v, &n, &limit, follows, &middle)) {                                     \
            f##_serial_(v, middle, limit, follows);                                                \
            v += middle + 1;                                                                       \
            n -= middle + 1;                                                                       \
            follows = 1;                                                                           \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    SCHED_VOID_TASK(f##_part_, T *, v, size_t, n, int, limit, int, follows)                        \
    {                                                                                              \
        size_t middle;                                                                             \
        f##_part__task before;                                                                     \
        if (n < SCHED_SORT_TASK_) {                                                                \
            f##_serial_(v, n, limit, follows);                                                     \
            return;                                                                                \
        }                                                                                          \
        if (f##_step_(&v, &n, &limit, follows, &middle))                                           \
            return;                                                                                \
        SCHED_FORK(f##_part_, &before, v, middle, limit, follows);                                 \
        SCHED_CALL(f##_part_, v + middle + 1, n - middle - 1, limit, 1);                           \
        SCHED_JOIN(f##_part_, &before);                                                            \
    }                                                                                              \
                                                                                                   \
    /* Sorts a short tail alone. */                                                                \
    SCHED_TYPED_STATIC_ void f##_tail_(T *base, size_t run, size_t n)                              \
    {                                                                                              \
        T room[SCHED_SORT_TAIL_ / sizeof(T) + 1];                                                  \
        f##_serial_(base + run, n - run, sched_sort_limit_(n - run), 0);                           \
        f##_append_(base, run, n - run, room);                                                     \
    }                                                                                              \
                                                                                                   \
    SCHED_TYPED_STATIC_ int f(T *base, size_t n, struct scheduler *s)                              \
    {                                                                                              \
        size_t run = f##_look_(base, n, s);                                                        \
        if (run >= n)                                                                              \
            return 0;                                                                              \
        if (n - run <= SCHED_SORT_TAIL_ / sizeof(T) && n - run <= n / 16)                          \
            f##_tail_(base, run, n);                                                               \
        else if (n < SCHED_SORT_TASK_)                                                             \
            f##_serial_(base, n, sched_sort_limit_(n), 0);                                         \
        else                                                                                       \
            f##_part_(base, n, sched_sort_limit_(n), 0, s);                                        \
        return 0;                                                                                  \
    }

#include "sched_stable_sort.h"

#endif
