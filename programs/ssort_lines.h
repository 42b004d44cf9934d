/* ssort_lines.h: the lines that ssort sorts, and their order: by bytes, by the locale, by numbers. */

#ifndef SSORT_LINES_H
#define SSORT_LINES_H

#include "program.h"

#include <ctype.h>
#include <endian.h>

enum {
    LONG = 0xffff,   /* in line.length: so many bytes, or more */
    SLACK = 64,      /* bytes behind each text that may be read, and overwritten */
    NONE = 256,      /* no character */
};

/* 16 bytes, two of which fill a register pair: an address has 48 bits in a process that does not ask for more. */
struct line {
    uint64_t prefix;                  /* smaller: the line comes first; equal: compare_rest decides */
    uint64_t start : 48, length : 16; /* of the text */
};

static struct {
    int reverse, unique, stable, numeric;
    int collate;            /* lines are compared by strcoll(3) */
    int decimal, thousands; /* characters of numbers */
    size_t skip;            /* so many bytes all lines begin with: the prefix is what follows */
    char end;               /* of each line */
} set = {.decimal = '.', .thousands = NONE, .end = '\n'};

static const char *text_of(const struct line *l)
{
    return (const char *)(uintptr_t)l->start;
}

static size_t length_of(const struct line *l)
{
    if (l->length < LONG)
        return l->length;
    const char *text = text_of(l);
    return (size_t)((const char *)rawmemchr(text + LONG, set.end) - text);
}

/* Compares by the locale. strcoll(3) stops at a zero: what stands between zeros is compared one by one. Rejected: to
 * compare keys made by strxfrm(3). In glibc 2.36 they contradict strcoll for one line of 200 with many signs, such as
 * "$$O" and "$+$o" in en_US, and then the order is not that of sort(1). */
static int collate(const struct line *a, const struct line *b)
{
    size_t m = length_of(a), n = length_of(b);
    if (m == n && memcmp(text_of(a), text_of(b), m) == 0)
        return 0;
    if (m == 0 || n == 0)
        return m == 0 ? -1 : 1;
    char some[512], *x = m + n + 2 <= sizeof some ? some : allocate(m + n + 2, 1), *y = x + m + 1;
    memcpy(x, text_of(a), m);
    memcpy(y, text_of(b), n);
    x[m] = y[n] = '\0';
    int order = 0;
    for (size_t i = 0, j = 0; order == 0 && (i <= m || j <= n); i += strlen(x + i) + 1, j += strlen(y + j) + 1)
        order = i > m ? -1 : j > n ? 1 : strcoll(x + i, y + j);
    if (x != some)
        free(x);
    return order;
}

struct number {
    const char *at, *end;
    size_t whole; /* digits before the point, without zeros at the beginning */
    int negative, fraction;
};

static struct number number_in(const struct line *l)
{
    struct number x = {.at = text_of(l)};
    x.end = x.at + length_of(l);
    while (x.at < x.end && (isblank((unsigned char)*x.at) || *x.at == '\n'))
        x.at++;
    x.negative = x.at < x.end && *x.at == '-';
    for (x.at += x.negative; x.at < x.end && (*x.at == '0' || *x.at == set.thousands);)
        x.at++;
    for (const char *p = x.at; p < x.end && (isdigit((unsigned char)*p) || *p == set.thousands); p++)
        x.whole += *p != set.thousands;
    return x;
}

/* The next digit of the number, or -1. */
static int next_digit(struct number *x)
{
    for (; x->at < x->end; x->at++) {
        if (isdigit((unsigned char)*x->at))
            return *x->at++ - '0';
        if (x->fraction || (*x->at != set.decimal && *x->at != set.thousands))
            break;
        x->fraction = *x->at == set.decimal;
    }
    x->at = x->end;
    return -1;
}

/* The sign, how many digits stand before the point, and the first 15 digits. */
static uint64_t number_prefix(struct number x)
{
    uint64_t most = 4095, size = x.whole < most ? x.whole << 50 : most << 50;
    uint64_t digits = 0;
    for (int i = 0; i < 15 && x.whole < most; i++) {
        int digit = next_digit(&x);
        digits = 10 * digits + (digit > 0 ? (uint64_t)digit : 0);
    }
    return x.negative ? (1ULL << 63) - (size | digits) : (1ULL << 63) + (size | digits);
}

static int compare_numbers(struct number x, struct number y)
{
    int order = (x.whole > y.whole) - (x.whole < y.whole), some = x.whole + y.whole != 0;
    for (int a = 0, b = 0; order == 0 && (a >= 0 || b >= 0);) {
        a = next_digit(&x), b = next_digit(&y);
        order = (a > 0 ? a : 0) - (b > 0 ? b : 0);
        some |= a > 0;
    }
    if (x.negative != y.negative)
        return order == 0 && !some ? 0 : x.negative ? -1 : 1; /* -0 is 0 */
    return x.negative ? -order : order;
}

static int compare_bytes(const struct line *a, const struct line *b, size_t from)
{
    size_t m = length_of(a), n = length_of(b), least = m < n ? m : n;
    int order = least > from ? memcmp(text_of(a) + from, text_of(b) + from, least - from) : 0;
    return order != 0 ? order : (m > n) - (m < n);
}

/* The order of lines whose prefixes are equal, but for -r. */
static int compare_rest(const struct line *a, const struct line *b)
{
    int order = set.numeric ? compare_numbers(number_in(a), number_in(b)) : 0;
    if (order != 0 || (set.numeric && (set.stable || set.unique)))
        return order;
    return set.collate ? collate(a, b) : compare_bytes(a, b, set.numeric ? 0 : set.skip + sizeof a->prefix);
}

static int compare(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    if (x->prefix != y->prefix)
        return x->prefix < y->prefix ? -1 : 1;
    int order = compare_rest(x, y);
    return set.reverse ? -order : order;
}

static void set_prefix(struct line *l)
{
    l->prefix = 0;
    if (set.numeric) {
        l->prefix = number_prefix(number_in(l));
    } else if (!set.collate) {
        size_t length = length_of(l);
        if (length > set.skip) {
            memcpy(&l->prefix, text_of(l) + set.skip, sizeof l->prefix);
            l->prefix = be64toh(l->prefix);
            if (length - set.skip < sizeof l->prefix) /* what follows the line does not count */
                l->prefix &= ~(UINT64_MAX >> 8 * (length - set.skip));
        }
    }
    if (set.reverse)
        l->prefix = ~l->prefix;
}

static struct line make_line(const char *text, size_t length)
{
    struct line l = {.start = (uintptr_t)text, .length = length < LONG ? length : LONG};
    set_prefix(&l);
    return l;
}

/* Finds the lines that end before `end`, but no more than `most`. *text becomes the start of the rest. */
static size_t split(const char **text, const char *end, struct line *line, size_t most)
{
    size_t n = 0;
    for (const char *stop; n < most && (stop = memchr(*text, set.end, (size_t)(end - *text))) != NULL; *text = stop + 1)
        line[n++] = make_line(*text, (size_t)(stop - *text));
    return n;
}

#endif
