/* literal.h: looks for a string of bytes, and counts lines, 16 bytes at a time where the processor can (SSE2).
 *
 * To find a string, its two rarest bytes are compared at 16 positions at once; where both are there, all bytes are.
 * */

#ifndef LITERAL_H
#define LITERAL_H

#include <stdbool.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "program.h"

/* A string of bytes; a byte of a text is compared after | fold. */
struct literal {
    unsigned char bytes[64], fold[64];
    size_t length, first, second; /* where its two rarest bytes are */
    int score;
};

/* How rare a byte is in texts and programs, roughly. */
static int rarity(unsigned char byte)
{
    static const char common[] = " etaonirsldcup\tmf_hg,b.y-()\"v=;:/0w1*2x>k<#I'3AETSRCN48OL65P{}D9zjq&M7";
    const char *at = byte != '\0' ? strchr(common, byte) : NULL;
    return at != NULL ? (int)(at - common) + 1 : (int)sizeof common + 10;
}

static void rate(struct literal *l, struct literal *best)
{
    l->first = l->second = 0;
    for (size_t i = 1; i < l->length; i++) {
        if (rarity(l->bytes[i]) > rarity(l->bytes[l->first]))
            l->second = l->first, l->first = i;
        else if (l->second == l->first || rarity(l->bytes[i]) > rarity(l->bytes[l->second]))
            l->second = i;
    }
    l->score = l->length == 0 ? 0 : rarity(l->bytes[l->first]) + (int)l->length;
    if (l->length > 1)
        l->score += rarity(l->bytes[l->second]);
    if (l->score > best->score)
        *best = *l;
    l->length = 0;
}

static bool literal_at(const struct literal *l, const unsigned char *p)
{
    for (size_t i = 0; i < l->length; i++)
        if ((p[i] | l->fold[i]) != l->bytes[i])
            return false;
    return true;
}

/* Where the literal first is in a text, or NULL. */
static const unsigned char *literal_find(const struct literal *l, const unsigned char *p, const unsigned char *end)
{
    if ((size_t)(end - p) < l->length)
        return NULL;
    const unsigned char *last = end - l->length;
#ifdef __SSE2__
    __m128i first = _mm_set1_epi8((char)l->bytes[l->first]), first_fold = _mm_set1_epi8((char)l->fold[l->first]);
    __m128i second = _mm_set1_epi8((char)l->bytes[l->second]), second_fold = _mm_set1_epi8((char)l->fold[l->second]);
    for (; last - p >= 15; p += 16) {
        __m128i a = _mm_loadu_si128((const void *)(p + l->first)), b = _mm_loadu_si128((const void *)(p + l->second));
        a = _mm_cmpeq_epi8(_mm_or_si128(a, first_fold), first);
        b = _mm_cmpeq_epi8(_mm_or_si128(b, second_fold), second);
        for (unsigned mask = _mm_movemask_epi8(_mm_and_si128(a, b)); mask != 0; mask &= mask - 1)
            if (literal_at(l, p + __builtin_ctz(mask)))
                return p + __builtin_ctz(mask);
    }
#endif
    for (; p <= last; p++) {
        if (l->fold[l->first] == 0 && (p = memchr(p + l->first, l->bytes[l->first], last - p + 1)) == NULL)
            return NULL;
        else if (l->fold[l->first] == 0)
            p -= l->first;
        if (literal_at(l, p))
            return p;
    }
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
