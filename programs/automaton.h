/* automaton.h: finds the lines that match an expression (expression.h).
 *
 * The tree of the expression becomes a nondeterministic automaton (K. Thompson, 1968). A searcher makes the states of
 * the deterministic automaton when it first meets them, and forgets all of them when its tables are full. So each
 * byte of a text is read once, whatever the pattern is; the automaton tells that a line matches, not where. A state
 * is a set of nodes that wait for the next byte, and the kind of the byte before: assertions such as ^ and \< are
 * decided when the next byte is known.
 *
 * Most patterns contain a string that each match must contain, or a few of which it must contain one. Those whose
 * bytes are rarest are looked for first (literal.h), and the automaton reads only the lines that have one. */

#ifndef AUTOMATON_H
#define AUTOMATON_H

#include "expression.h"
#include "literal.h"

enum { NODES = 30000, STATES = 2048, ITEMS = 1 << 20 };

struct node {
    enum { READ, SPLIT, ASSERT, ACCEPT } type;
    uint16_t out, other;   /* other: SPLIT */
    const struct tree *at; /* READ, ASSERT */
};

struct automaton {
    struct node *nodes;
    size_t count;
    uint16_t start;
    bool looks_back;        /* a node asks for the kind of the byte before */
    bool filtered, exact;   /* each match passes the filter; each line that passes it matches */
    struct filter filter;
};

/* --- the nondeterministic automaton ------------------------------------------------------------------------------- */

static uint16_t add_node(struct automaton *a, int type, uint16_t out, uint16_t other, const struct tree *at)
{
    if (a->count == NODES)
        return 0;
    struct node *n = &a->nodes[a->count];
    n->type = type, n->out = out, n->other = other, n->at = at;
    return a->count++;
}

/* The node with which a match of t begins, after which `next` goes on. */
static uint16_t emit(struct automaton *a, const struct tree *t, uint16_t next)
{
    for (; t->type == SEQUENCE; t = t->left)
        next = emit(a, t->right, next);
    if (a->count == NODES || t->type == EMPTY)
        return next;
    switch (t->type) {
    case SET: return add_node(a, READ, next, 0, t);
    case ASSERTION:
        a->looks_back |= t->assertion != LINE_END && t->assertion != NO_WORD_AFTER;
        return add_node(a, ASSERT, next, 0, t);
    case CHOICE: {
        uint16_t left = emit(a, t->left, next);
        return add_node(a, SPLIT, left, emit(a, t->right, next), NULL);
    }
    default:
        if (t->most == FOREVER) {
            uint16_t loop = add_node(a, SPLIT, 0, next, NULL);
            a->nodes[loop].out = emit(a, t->left, loop);
            next = loop;
        } else {
            uint16_t end = next;
            for (int i = t->least; i < t->most && a->count < NODES; i++)
                next = add_node(a, SPLIT, emit(a, t->left, next), end, NULL);
        }
        for (int i = 0; i < t->least && a->count < NODES; i++)
            next = emit(a, t->left, next);
        return next;
    }
}

/* --- the filter --------------------------------------------------------------------------------------------------- */

/* The byte that a set has: 1 if it is one, or a letter in both cases; with its fold. */
static bool single(const struct tree *t, unsigned char *byte, unsigned char *fold)
{
    int count = 0;
    unsigned char found[2] = {0, 0};
    for (unsigned i = 0; t->type == SET && i < 256; i++)
        if (in_set(t, i)) {
            if (count == 2)
                return false;
            found[count++] = i;
        }
    *byte = found[count - (count > 0)], *fold = count == 2 ? 0x20 : 0; /* upper case comes first */
    return count == 1 || (count == 2 && (found[0] ^ found[1]) == 0x20 && isalpha(found[1]));
}

/* Follows what each match contains: `l` is the string of bytes that ends here. `exact` becomes false if a line that
 * contains the string need not match. */
static void required(const struct tree *t, struct literal *l, struct filter *best, bool *exact, int depth)
{
    unsigned char byte, fold;
    switch (t->type) {
    case EMPTY: return;
    case ASSERTION: *exact = false; return;
    case SEQUENCE:
        required(t->left, l, best, exact, depth);
        required(t->right, l, best, exact, depth);
        return;
    case SET:
        if (!single(t, &byte, &fold))
            break;
        if (l->length == sizeof l->bytes) {
            filter_try(best, l);
            *exact = false;
        }
        l->bytes[l->length] = byte, l->fold[l->length++] = fold;
        return;
    case REPETITION:
        filter_try(best, l);
        if (t->least > 0)
            required(t->left, l, best, exact, depth);
        break;
    case CHOICE:
        if (depth < LITERALS) {
            struct filter left = {.count = 0}, right = {.count = 0};
            struct literal ours = {.length = 0};
            required(t->left, &ours, &left, exact, depth + 1);
            filter_try(&left, &ours);
            required(t->right, &ours, &right, exact, depth + 1);
            filter_try(&right, &ours);
            filter_try_either(best, &left, &right);
        }
    }
    *exact = false;
    filter_try(best, l);
}

/* Makes the automaton of an expression; false if it would be too large. */
static bool automaton_make(struct automaton *a, const struct expression *e)
{
    struct tree *t = e->tree;
    if (e->words)
        t = make_tree(SEQUENCE, make_assertion(NO_WORD_BEFORE), make_tree(SEQUENCE, t, make_assertion(NO_WORD_AFTER)));
    *a = (struct automaton){.nodes = allocate(NODES, sizeof *a->nodes), .exact = true};
    a->start = emit(a, t, add_node(a, ACCEPT, 0, 0, NULL));
    struct literal last = {.length = 0};
    required(t, &last, &a->filter, &a->exact, 0);
    filter_try(&a->filter, &last);
    a->filtered = a->filter.score >= 20; /* frequent bytes would only cost time */
    return a->count < NODES;
}

/* --- the deterministic automaton ---------------------------------------------------------------------------------- */

/* What the byte before or the next byte is. */
enum kind { OTHER, WORD, LINE };

enum { UNKNOWN = 0, MATCHED = 1 << 8, BEGIN = 2 << 8 }; /* states as they stand in the table: 256 times the number */

struct state {
    uint32_t first, count; /* its items */
    enum kind before;
};

/* One for each worker: its table grows as it reads. */
struct searcher {
    const struct automaton *a;
    uint32_t *next; /* for each state and byte the next state; MATCHED: the line matches */
    struct state states[STATES];
    uint16_t index[2 * STATES]; /* a hash table of states, 0 is a free place */
    uint16_t *items, *stack;
    uint32_t *mark, now; /* which nodes were met */
    size_t count, used;  /* states, items */
};

static enum kind kind_of(unsigned char byte)
{
    return byte == '\n' ? LINE : byte == '_' || (byte < 0x80 && isalnum(byte)) ? WORD : OTHER;
}

static bool holds(enum assertion assertion, enum kind before, enum kind next)
{
    switch (assertion) {
    case LINE_BEGIN: return before == LINE;
    case LINE_END: return next == LINE;
    case WORD_BEGIN: return before != WORD && next == WORD;
    case WORD_END: return before == WORD && next != WORD;
    case WORD_EDGE: return (before == WORD) != (next == WORD);
    case NO_WORD_EDGE: return (before == WORD) == (next == WORD);
    case NO_WORD_BEFORE: return before != WORD;
    default: return next != WORD;
    }
}

/* The state whose `count` items stand behind those in use: it is there already, or is made. */
static uint32_t state_of(struct searcher *d, size_t count, enum kind before)
{
    uint16_t *items = d->items + d->used;
    uint32_t hash = 2166136261U + before;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ items[i]) * 16777619U;
    hash ^= hash >> 15;
    for (;; hash++) {
        uint16_t number = d->index[hash % (2 * STATES)];
        struct state *s = &d->states[number];
        if (number == 0) {
            number = d->index[hash % (2 * STATES)] = d->count++;
            d->states[number] = (struct state){d->used, count, before};
            d->used += count;
            return (uint32_t)number << 8;
        }
        if (s->count == count && s->before == before && memcmp(d->items + s->first, items, count * sizeof *items) == 0)
            return (uint32_t)number << 8;
    }
}

static void searcher_clear(struct searcher *d)
{
    memset(d->next, 0, d->count << 8 << 2);
    memset(d->index, 0, sizeof d->index);
    d->count = 2, d->used = 1;
    d->items[1] = d->a->start;
    state_of(d, 1, d->a->looks_back ? LINE : OTHER); /* it gets the number 2: BEGIN */
}

static struct searcher *searcher_make(const struct automaton *a)
{
    struct searcher *d = allocate(1, sizeof *d);
    d->a = a;
    d->next = allocate(STATES << 8, sizeof *d->next); /* the system gives the memory that is used */
    d->items = allocate(ITEMS + NODES, sizeof *d->items);
    d->stack = allocate(3 * NODES, sizeof *d->stack);
    d->mark = allocate(2 * NODES, sizeof *d->mark);
    searcher_clear(d);
    return d;
}

static int by_number(const void *a, const void *b) { return *(const uint16_t *)a - *(const uint16_t *)b; }

/* Finds out what follows a state: the nodes that can be reached without a byte, then those behind this byte. */
static __attribute__((noinline)) uint32_t follow(struct searcher *d, uint32_t from, unsigned char byte)
{
    const struct automaton *a = d->a;
    struct state s = d->states[from >> 8];
    enum kind next = kind_of(byte);
    uint32_t *met = d->mark, *added = d->mark + NODES, now = ++d->now;
    if (d->used + a->count > ITEMS || d->count == STATES) { /* the items of s stay where they are until this is over */
        memmove(d->items + ITEMS, d->items + s.first, s.count * sizeof *d->items);
        searcher_clear(d);
        s.first = ITEMS;
        from = UNKNOWN;
    }
    uint16_t *items = d->items + d->used;
    size_t depth = 0, count = 0;
    for (size_t i = 0; i < s.count; i++)
        d->stack[depth++] = d->items[s.first + i];
    while (depth > 0) {
        uint16_t number = d->stack[--depth];
        const struct node *n = &a->nodes[number];
        if (met[number] == now)
            continue;
        met[number] = now;
        if (n->type == ACCEPT) {
            d->next[from + byte] = MATCHED;
            return MATCHED;
        }
        if (n->type == SPLIT) {
            d->stack[depth++] = n->other;
            d->stack[depth++] = n->out;
        } else if (n->type == ASSERT) {
            if (holds(n->at->assertion, s.before, next))
                d->stack[depth++] = n->out;
        } else if (in_set(n->at, byte) && added[n->out] != now) {
            added[n->out] = now;
            items[count++] = n->out;
        }
    }
    uint32_t to = BEGIN;
    if (byte != '\n') {
        if (added[a->start] != now)
            items[count++] = a->start;
        qsort(items, count, sizeof *items, by_number);
        to = state_of(d, count, a->looks_back ? next : OTHER);
    }
    if (from != UNKNOWN)
        d->next[from + byte] = to;
    return to;
}

/* A byte of the first matching line of a text, or NULL. The text begins with a line's begin, and ends with '\n'. */
static const unsigned char *automaton_find(struct searcher *d, const unsigned char *p, const unsigned char *end)
{
    const uint32_t *next = d->next;
    uint32_t s = BEGIN;
    for (; p < end; p++) {
        uint32_t t = next[s + *p];
        if (t < BEGIN && (t == MATCHED || (t = follow(d, s, *p)) == MATCHED))
            return p;
        s = t;
        /* Most bytes that begin no match lead from BEGIN to BEGIN: then no load need wait for the one before. */
        if (t == BEGIN)
            while (end - p > 5 && next[BEGIN + p[1]] == BEGIN && next[BEGIN + p[2]] == BEGIN &&
                   next[BEGIN + p[3]] == BEGIN && next[BEGIN + p[4]] == BEGIN)
                p += 4;
    }
    return NULL;
}

/* The same, with the help of the filter. */
static const unsigned char *line_find(struct searcher *d, const unsigned char *p, const unsigned char *end)
{
    const struct automaton *a = d->a;
    if (!a->filtered)
        return automaton_find(d, p, end);
    while (p < end) {
        const unsigned char *hit = filter_find(&a->filter, p, end);
        if (hit == NULL || a->exact)
            return hit;
        const unsigned char *begin = memrchr(p, '\n', hit - p), *behind = memchr(hit, '\n', end - hit);
        hit = automaton_find(d, begin == NULL ? p : begin + 1, behind + 1);
        if (hit != NULL)
            return hit;
        p = behind + 1;
    }
    return NULL;
}

#endif
