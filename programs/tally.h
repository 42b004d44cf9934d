/* tally.h: how often words are in a text: a hash table with open addressing, and the bytes of the words. */

#ifndef TALLY_H
#define TALLY_H

#include <stdbool.h>

#include "program.h"

static unsigned char fold[256]; /* 0: this byte is in no word; else the byte, in lower case if that is wanted */

struct word {
    unsigned long long count; /* 0: a free place */
    size_t text;              /* where it is in the text of the table */
    uint32_t hash, length;
};

/* All zero is one without words. */
struct tally {
    struct word *table; /* open addressing; `room` is a power of 2, or 0 */
    size_t room, used;
    char *text;
    size_t text_size, text_room;
    unsigned long long lines, words, bytes;
};

static void tally_grow(struct tally *t)
{
    struct word *old = t->table;
    size_t room = t->room;
    t->room = room == 0 ? 1024 : 2 * room;
    t->table = allocate(t->room, sizeof *t->table);
    for (size_t i = 0; i < room; i++)
        if (old[i].count > 0) {
            size_t at = old[i].hash & (t->room - 1);
            while (t->table[at].count > 0)
                at = (at + 1) & (t->room - 1);
            t->table[at] = old[i];
        }
    free(old);
}

static bool equal(const char *text, const unsigned char *word, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] != fold[word[i]])
            return false;
    return true;
}

/* `count` more of a word. */
static void tally_word(struct tally *t, const unsigned char *word, size_t length, uint32_t hash,
                       unsigned long long count)
{
    if (2 * t->used >= t->room)
        tally_grow(t);
    size_t at = hash & (t->room - 1);
    for (struct word *w; (w = &t->table[at])->count > 0; at = (at + 1) & (t->room - 1))
        if (w->hash == hash && w->length == length && equal(t->text + w->text, word, length)) {
            w->count += count;
            return;
        }
    if (t->text_room - t->text_size < length)
        t->text = reallocate(t->text, t->text_room = 2 * t->text_room + length + 4096, 1);
    t->table[at] = (struct word){count, t->text_size, hash, (uint32_t)length};
    for (size_t i = 0; i < length; i++)
        t->text[t->text_size++] = (char)fold[word[i]];
    t->used++;
}

/* Adds one tally to another, and frees its memory. Both are sums: the larger one may as well be the one that stays.
 * */
static void tally_add(struct tally *a, struct tally b)
{
    if (b.used > a->used) {
        struct tally c = *a;
        *a = b, b = c;
    }
    for (size_t i = 0; i < b.room; i++)
        if (b.table[i].count > 0)
            tally_word(a, (const unsigned char *)b.text + b.table[i].text, b.table[i].length, b.table[i].hash,
                       b.table[i].count);
    free(b.table);
    free(b.text);
    a->lines += b.lines, a->words += b.words, a->bytes += b.bytes;
}

/* Counts the words of p[0..size) that begin before `limit`. Returns how far it came: to a word that has no end here,
 * unless the text ends here, or to `size` or the first byte behind `limit` that is in no word. */
static size_t tally_words(struct tally *t, const unsigned char *p, size_t size, size_t limit, bool ends)
{
    for (size_t at = 0;;) {
        while (at < size && fold[p[at]] == 0)
            at++;
        size_t begin = at;
        uint32_t hash = 2166136261U;
        if (begin >= limit || begin == size)
            return begin;
        for (unsigned char c; at < size && (c = fold[p[at]]) != 0; at++)
            hash = (hash ^ c) * 16777619U;
        if (at == size && !ends)
            return begin;
        tally_word(t, p + begin, at - begin, hash ^ hash >> 15, 1);
    }
}

#endif
