/* expression.h: POSIX extended regular expressions and fixed strings, parsed to trees (automaton.h searches for
 * them).
 *
 * The leaves of a tree are sets of bytes: where texts are UTF-8, a set of characters becomes a choice between
 * sequences of sets of bytes. Beyond POSIX there are \w \W \s \S \b \B \< \>, as in GNU grep. */

#ifndef EXPRESSION_H
#define EXPRESSION_H

#include <ctype.h>
#include <stdbool.h>

#include "program.h"

enum { REPEAT = 32767, DEPTH = 500, LONGEST = 20000, FOREVER = -1, TOP = 0x10FFFF };

enum assertion { LINE_BEGIN, LINE_END, WORD_BEGIN, WORD_END, WORD_EDGE, NO_WORD_EDGE, NO_WORD_BEFORE, NO_WORD_AFTER };

struct tree {
    enum { EMPTY, SET, SEQUENCE, CHOICE, REPETITION, ASSERTION } type;
    struct tree *left, *right; /* SEQUENCE, CHOICE; left: REPETITION */
    int least, most;           /* REPETITION */
    enum assertion assertion;
    uint32_t set[8];           /* SET: a bit for each byte */
};

struct expression {
    bool fixed, ignore_case, words, utf8; /* to be set before patterns are added */
    struct tree *tree;
    size_t length;     /* of all patterns */
    const char *error; /* what is wrong with a pattern */
};

/* --- the tree ----------------------------------------------------------------------------------------------------- */

struct parser {
    struct expression *e;
    const unsigned char *p, *end;
    int depth;
};

static struct tree *make_tree(int type, struct tree *left, struct tree *right)
{
    struct tree *t = allocate(1, sizeof *t);
    t->type = type, t->left = left, t->right = right;
    return t;
}

static struct tree *make_assertion(enum assertion assertion)
{
    struct tree *t = make_tree(ASSERTION, NULL, NULL);
    t->assertion = assertion;
    return t;
}

static bool in_set(const struct tree *t, unsigned byte) { return t->set[byte / 32] >> byte % 32 & 1; }

static struct tree *make_set(unsigned lo, unsigned hi)
{
    struct tree *t = make_tree(SET, NULL, NULL);
    for (; lo <= hi; lo++)
        t->set[lo / 32] |= 1U << lo % 32;
    return t;
}

static struct tree *either(struct tree *a, struct tree *b)
{
    if (a != NULL && a->type == SET && b->type == SET) {
        for (int i = 0; i < 8; i++)
            a->set[i] |= b->set[i];
        return a;
    }
    return a == NULL ? b : make_tree(CHOICE, a, b);
}

static int utf8(uint32_t c, unsigned char *bytes)
{
    int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    for (int i = more; i > 0; i--, c >>= 6)
        bytes[i] = 0x80 | (c & 0x3F);
    bytes[0] = (more == 0 ? 0 : 0xFF00 >> (more + 1)) | c;
    return more + 1;
}

/* The characters lo to hi, added to those of t. A range is cut until its bytes are independent of each other: then it
 * is a sequence of sets of bytes. */
static struct tree *add_range(const struct expression *e, struct tree *t, uint32_t lo, uint32_t hi)
{
    static const uint32_t last[] = {0x7F, 0x7FF, 0xFFFF};
    if (!e->utf8)
        return either(t, make_set(lo, hi < 255 ? hi : 255));
    for (int i = 0; i < 3; i++)
        if (lo <= last[i] && last[i] < hi)
            return add_range(e, add_range(e, t, lo, last[i]), last[i] + 1, hi);
    if (hi <= 0x7F)
        return either(t, make_set(lo, hi));
    for (int i = 1; i < 4; i++) {
        uint32_t low = (1U << (6 * i)) - 1;
        if ((lo & ~low) == (hi & ~low))
            continue;
        if (lo & low)
            return add_range(e, add_range(e, t, lo, lo | low), (lo | low) + 1, hi);
        if ((hi & low) != low)
            return add_range(e, add_range(e, t, lo, (hi & ~low) - 1), hi & ~low, hi);
    }
    unsigned char from[4], to[4];
    int length = utf8(lo, from);
    utf8(hi, to);
    struct tree *sequence = make_set(from[0], to[0]);
    for (int i = 1; i < length; i++)
        sequence = make_tree(SEQUENCE, sequence, make_set(from[i], to[i]));
    return either(t, sequence);
}

/* Reads a character. */
static uint32_t character(struct parser *r)
{
    uint32_t c = *r->p++;
    if (!r->e->utf8 || c < 0xC2 || c > 0xF4)
        return c;
    int more = c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
    c &= 0x3F >> more;
    for (int i = 0; i < more; i++)
        if (r->end - r->p <= i || (r->p[i] & 0xC0) != 0x80)
            return r->p[-1]; /* not UTF-8: the byte alone */
        else
            c = c << 6 | (r->p[i] & 0x3F);
    r->p += more;
    return c;
}

static struct tree *literal_character(struct parser *r)
{
    const unsigned char *first = r->p;
    uint32_t c = character(r);
    struct tree *t = make_set(*first, *first);
    if (r->e->ignore_case && c < 0x80 && isalpha((int)c))
        return either(t, make_set(c ^ 0x20, c ^ 0x20));
    while (++first < r->p)
        t = make_tree(SEQUENCE, t, make_set(*first, *first));
    return t;
}

/* A set of characters while a bracket expression is read: ranges. */
struct ranges {
    uint32_t (*range)[2];
    size_t count;
};

static void add(struct ranges *set, uint32_t lo, uint32_t hi)
{
    set->range = reallocate(set->range, set->count + 1, sizeof *set->range);
    set->range[set->count][0] = lo, set->range[set->count++][1] = hi;
}

static int by_begin(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The tree of a set, or of its complement; a line's end is in neither. */
static struct tree *tree_of(struct parser *r, struct ranges *set, bool complement)
{
    for (size_t i = 0, n = set->count; r->e->ignore_case && i < n; i++)
        for (uint32_t c = set->range[i][0]; c <= set->range[i][1] && c < 0x80; c++)
            if (isalpha((int)c))
                add(set, c ^ 0x20, c ^ 0x20);
    struct tree *t = make_tree(SET, NULL, NULL);
    if (complement) {
        uint32_t next = 0, top = r->e->utf8 ? TOP : 255;
        add(set, '\n', '\n');
        qsort(set->range, set->count, sizeof *set->range, by_begin);
        for (size_t i = 0; i < set->count; i++) {
            if (set->range[i][0] > next)
                t = add_range(r->e, t, next, set->range[i][0] - 1);
            if (set->range[i][1] >= next)
                next = set->range[i][1] + 1;
        }
        if (next <= top)
            t = add_range(r->e, t, next, top);
    } else {
        for (size_t i = 0; i < set->count; i++)
            t = add_range(r->e, t, set->range[i][0], set->range[i][1]);
    }
    free(set->range);
    return t;
}

static void add_class(struct ranges *set, int (*belongs)(int), int more)
{
    for (int c = 0; c < 0x80; c++)
        if ((belongs(c) || c == more) && c != '\n')
            add(set, c, c);
}

static bool class_named(struct ranges *set, const unsigned char *name, size_t length)
{
    static const struct {
        const char *name;
        int (*belongs)(int);
    } classes[] = {{"alpha", isalpha}, {"digit", isdigit}, {"alnum", isalnum}, {"upper", isupper},
                   {"lower", islower}, {"space", isspace}, {"blank", isblank}, {"punct", ispunct},
                   {"print", isprint}, {"graph", isgraph}, {"cntrl", iscntrl}, {"xdigit", isxdigit}};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strlen(classes[i].name) == length && memcmp(classes[i].name, name, length) == 0) {
            add_class(set, classes[i].belongs, -1);
            return true;
        }
    return false;
}

/* Behind the [ of a bracket expression. */
static struct tree *bracket(struct parser *r)
{
    struct ranges set = {NULL, 0};
    bool complement = r->p < r->end && *r->p == '^';
    r->p += complement;
    for (const unsigned char *first = r->p; r->p < r->end && (*r->p != ']' || r->p == first);) {
        uint32_t bound[2];
        int which = 0;
        for (;; which++) { /* a character, or two with a - between them */
            unsigned char sort = *r->p == '[' && r->end - r->p > 1 ? r->p[1] : 0;
            const unsigned char *close = NULL;
            if (sort == ':' || sort == '.' || sort == '=') {
                for (close = r->p + 2; close < r->end - 1 && (close[0] != sort || close[1] != ']'); close++)
                    ;
                if (close >= r->end - 1)
                    goto unmatched;
            }
            if (sort == ':' && close != NULL) {
                if (!class_named(&set, r->p + 2, close - r->p - 2))
                    r->e->error = "there is no such class of characters";
                r->p = close + 2;
                break;
            }
            if (close != NULL)
                r->p += 2;
            bound[which] = character(r);
            if (close != NULL && r->p != close)
                r->e->error = "[. .] and [= =] are supported with one character";
            if (close != NULL)
                r->p = close + 2;
            if (which == 1 || r->end - r->p < 2 || *r->p != '-' || r->p[1] == ']') {
                if (bound[which] < bound[0])
                    r->e->error = "a range in [ ] ends before it begins";
                else
                    add(&set, bound[0], bound[which]);
                break;
            }
            r->p++;
        }
    }
    if (r->p < r->end) {
        r->p++;
        return tree_of(r, &set, complement);
    }
unmatched:
    r->e->error = "a [ has no ]";
    r->p = r->end;
    return make_tree(EMPTY, NULL, NULL);
}

static struct tree *choice(struct parser *r);

static struct tree *escape(struct parser *r)
{
    static const char letters[] = "<>bB";
    static const enum assertion assertions[] = {WORD_BEGIN, WORD_END, WORD_EDGE, NO_WORD_EDGE};
    struct ranges set = {NULL, 0};
    if (r->p == r->end) {
        r->e->error = "a \\ ends the pattern";
        return make_tree(EMPTY, NULL, NULL);
    }
    const char *letter = *r->p != '\0' ? strchr(letters, *r->p) : NULL;
    if (letter != NULL) {
        r->p++;
        return make_assertion(assertions[letter - letters]);
    }
    if (*r->p == 'w' || *r->p == 'W' || *r->p == 's' || *r->p == 'S') {
        bool word = (*r->p | 0x20) == 'w';
        add_class(&set, word ? isalnum : isspace, word ? '_' : -1);
        return tree_of(r, &set, isupper(*r->p++));
    }
    if (isdigit(*r->p))
        r->e->error = "references to groups (\\1) are not supported";
    else if (isalpha(*r->p))
        r->e->error = "\\ stands before a letter that has no meaning after it";
    return literal_character(r);
}

static struct tree *atom(struct parser *r)
{
    struct tree *t;
    if (strchr("*+?{", *r->p) != NULL && *r->p != '\0')
        return make_tree(EMPTY, NULL, NULL); /* nothing is repeated */
    switch (*r->p) {
    case '(':
        r->p++;
        if (++r->depth > DEPTH)
            r->e->error = "groups are nested too deeply";
        t = r->e->error == NULL ? choice(r) : make_tree(EMPTY, NULL, NULL);
        r->depth--;
        if (r->p < r->end)
            r->p++;
        else if (r->e->error == NULL)
            r->e->error = "a ( has no )";
        return t;
    case '[': return r->p++, bracket(r);
    case '.': return r->p++, tree_of(r, &(struct ranges){NULL, 0}, true);
    case '^': return r->p++, make_assertion(LINE_BEGIN);
    case '$': return r->p++, make_assertion(LINE_END);
    case '\\': return r->p++, escape(r);
    default: return literal_character(r);
    }
}

/* {3}, {3,}, {,5} or {3,5} at p: its length, or 0 if this is none. */
static size_t interval(const struct parser *r, int *least, int *most)
{
    const unsigned char *p = r->p + 1;
    int bound[2] = {0, FOREVER};
    bool comma = false;
    for (int i = 0; i < 2; i++) {
        for (; p < r->end && isdigit(*p); p++)
            bound[i] = (bound[i] < 0 ? 0 : bound[i] > REPEAT ? REPEAT : bound[i]) * 10 + (*p - '0');
        if (i == 0 && p < r->end && *p == ',')
            comma = true, p++;
        else
            break;
    }
    if (p == r->end || *p != '}' || p == r->p + 1 || (comma && p == r->p + 2))
        return 0;
    *least = bound[0], *most = comma ? bound[1] : bound[0];
    return p + 1 - r->p;
}

static struct tree *piece(struct parser *r)
{
    int least, most;
    bool plain = *r->p == '{' && interval(r, &least, &most) == 0;
    struct tree *t = plain ? literal_character(r) : atom(r);
    for (size_t length; r->p < r->end; r->p += length) {
        length = 1, least = 0, most = FOREVER;
        if (*r->p == '+')
            least = 1;
        else if (*r->p == '?')
            most = 1;
        else if (*r->p != '*' && (*r->p != '{' || (length = interval(r, &least, &most)) == 0))
            break;
        if (least > REPEAT || most > REPEAT || (most != FOREVER && most < least))
            r->e->error = "the numbers in { } are not in order, or too large";
        t = make_tree(REPETITION, t, NULL);
        t->least = least, t->most = most;
    }
    return t;
}

static struct tree *choice(struct parser *r)
{
    struct tree *t = NULL;
    for (;; r->p++) {
        struct tree *sequence = NULL;
        while (r->p < r->end && *r->p != '|' && *r->p != ')') {
            struct tree *next = piece(r);
            sequence = sequence == NULL ? next : make_tree(SEQUENCE, sequence, next);
        }
        if (sequence == NULL)
            sequence = make_tree(EMPTY, NULL, NULL);
        t = t == NULL ? sequence : make_tree(CHOICE, t, sequence);
        if (r->p == r->end || *r->p == ')')
            return t;
    }
}

/* Adds a pattern: lines that match one of those added are to be found. */
static void expression_add(struct expression *e, const char *pattern, size_t length)
{
    struct parser r = {e, (const unsigned char *)pattern, (const unsigned char *)pattern + length, 0};
    struct tree *t = NULL;
    if ((e->length += length + 1) > LONGEST) {
        e->error = "the pattern is too long";
        return;
    }
    if (e->fixed) {
        while (r.p < r.end)
            t = t == NULL ? literal_character(&r) : make_tree(SEQUENCE, t, literal_character(&r));
        t = t == NULL ? make_tree(EMPTY, NULL, NULL) : t;
    } else {
        t = choice(&r);
        if (r.p < r.end && e->error == NULL)
            e->error = "a ) has no (";
    }
    e->tree = e->tree == NULL ? t : make_tree(CHOICE, e->tree, t);
}

#endif
