/* literal.h: looks for strings of bytes, and counts lines, 16 bytes at a time where the processor can (SSE2).
 *
 * To find a string, its two rarest bytes are compared at 16 positions at once; where both are there, all bytes are. */

#ifndef LITERAL_H
#define LITERAL_H

#include <stdbool.h>
#include <stddef.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "program.h"

enum { LITERALS = 8 };

/* A string of bytes; a byte of a text is compared after | fold. */
struct literal {
    unsigned char bytes[32], fold[32];
    size_t length, first, second; /* where its two rarest bytes are */
};

/* Strings, of which one must be there. */
struct filter {
    struct literal literals[LITERALS];
    size_t count, longest;
    int score; /* how rare they are */
};

/* How rare a byte is in texts and programs, roughly. */
static int rarity(unsigned char byte)
{
    static const char common[] = " etaonirsldcup\tmf_hg,b.y-()\"v=;:/0w1*2x>k<#I'3AETSRCN48OL65P{}D9zjq&M7";
    const char *at = byte != '\0' ? strchr(common, byte) : NULL;
    return at != NULL ? (int)(at - common) + 1 : (int)sizeof common + 10;
}

/* The literal l alone becomes the filter, if it is better. l is ready for the next one. */
static void filter_try(struct filter *f, struct literal *l)
{
    for (size_t i = l->first = l->second = 0; i < l->length; i++) {
        if (rarity(l->bytes[i]) > rarity(l->bytes[l->first]))
            l->second = l->first, l->first = i;
        else if (i > 0 && (l->second == l->first || rarity(l->bytes[i]) > rarity(l->bytes[l->second])))
            l->second = i;
    }
    int score = l->length == 0 ? 0 : rarity(l->bytes[l->first]) + (int)l->length;
    if (l->length > 1)
        score += rarity(l->bytes[l->second]);
    if (score > f->score) {
        f->literals[0] = *l;
        f->count = 1, f->longest = l->length, f->score = score;
    }
    l->length = 0;
}

/* The literals of both become the filter, if that is better. */
static void filter_try_either(struct filter *f, const struct filter *a, const struct filter *b)
{
    int score = (a->score < b->score ? a->score : b->score) - 2;
    if (a->count == 0 || b->count == 0 || a->count + b->count > LITERALS || score <= f->score)
        return;
    *f = *a;
    memcpy(f->literals + a->count, b->literals, b->count * sizeof *b->literals);
    f->count += b->count, f->score = score;
    f->longest = a->longest > b->longest ? a->longest : b->longest;
}

static bool literal_at(const struct literal *l, const unsigned char *p)
{
    for (size_t i = 0; i < l->length; i++)
        if ((p[i] | l->fold[i]) != l->bytes[i])
            return false;
    return true;
}

/* Where the first of the literals is in a text, or NULL. */
static const unsigned char *filter_find(const struct filter *f, const unsigned char *p, const unsigned char *end)
{
#ifdef __SSE2__
    __m128i byte[LITERALS][2], fold[LITERALS][2];
    for (size_t i = 0; i < f->count; i++) {
        const struct literal *l = &f->literals[i];
        byte[i][0] = _mm_set1_epi8((char)l->bytes[l->first]), byte[i][1] = _mm_set1_epi8((char)l->bytes[l->second]);
        fold[i][0] = _mm_set1_epi8((char)l->fold[l->first]), fold[i][1] = _mm_set1_epi8((char)l->fold[l->second]);
    }
    for (; end - p >= (ptrdiff_t)f->longest + 15; p += 16) {
        unsigned hits = 0;
        for (size_t i = 0; i < f->count; i++) {
            const struct literal *l = &f->literals[i];
            __m128i a = _mm_loadu_si128((const void *)(p + l->first));
            __m128i b = _mm_loadu_si128((const void *)(p + l->second));
            a = _mm_cmpeq_epi8(_mm_or_si128(a, fold[i][0]), byte[i][0]);
            b = _mm_cmpeq_epi8(_mm_or_si128(b, fold[i][1]), byte[i][1]);
            for (unsigned mask = _mm_movemask_epi8(_mm_and_si128(a, b)); mask != 0; mask &= mask - 1)
                if (literal_at(l, p + __builtin_ctz(mask))) {
                    hits |= mask & -mask;
                    break;
                }
        }
        if (hits != 0)
            return p + __builtin_ctz(hits);
    }
#endif
    for (; p < end; p++)
        for (const struct literal *l = f->literals; l < f->literals + f->count; l++)
            if ((size_t)(end - p) >= l->length && literal_at(l, p))
                return p;
    return NULL;
}

static unsigned long long count_lines(const unsigned char *p, const unsigned char *end)
{
    unsigned long long lines = 0;
#ifdef __SSE2__
    while (end - p >= 16) {
        __m128i sum = _mm_setzero_si128();
        for (int i = 0; i < 255 && end - p >= 16; i++, p += 16) /* each of the 16 sums fits into a byte */
            sum = _mm_sub_epi8(sum, _mm_cmpeq_epi8(_mm_loadu_si128((const void *)p), _mm_set1_epi8('\n')));
        sum = _mm_sad_epu8(sum, _mm_setzero_si128());
        lines += _mm_extract_epi16(sum, 0) + _mm_extract_epi16(sum, 4);
    }
#endif
    for (; p < end; p++)
        lines += *p == '\n';
    return lines;
}

#endif
