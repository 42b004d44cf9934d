/* ssort_runs.h: what ssort writes: the output, and sorted runs in temporary files, which are merged. */

#ifndef SSORT_RUNS_H
#define SSORT_RUNS_H

#include "blocking.h"
#include "ssort_lines.h"

#include <sys/mman.h>

enum {
    PART = 64 << 10, /* bytes of output that a task puts together */
    PARTS = 16,      /* parts that are written at once */
    FAN = 32,        /* so many runs of a level are merged into one of the next level */
};

static const char *folder;       /* of temporary files */
static struct progress progress; /* of the input, then of the output */

OWN_ERRNO static void must(int outcome)
{
    if (outcome != 0)
        fatal(errno, "a task");
}

static void *map(void *old, size_t old_size, size_t size)
{
    void *memory = old == NULL ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                               : mremap(old, old_size, size, MREMAP_MAYMOVE);
    if (memory == MAP_FAILED)
        no_memory();
    madvise(memory, size, MADV_HUGEPAGE);
    return memory;
}

/* --- output: a sched_for puts parts together, while a forked task writes those before ----------------------------- */

struct part {
    const struct line *line;
    size_t n, size, capacity;
    char *text;
};

struct batch {
    struct part part[PARTS];
    size_t parts;
    const struct line *begin, *previous; /* the first line of all, and the one before it, or NULL */
    int fd;
    const char *name; /* NULL: a temporary file */
};

static void fill_parts(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    struct batch *b = ctx;
    (void)s;
    for (struct part *p = &b->part[lo]; p < &b->part[hi]; p++) {
        if (p->capacity < p->size + SLACK) {
            free(p->text);
            p->text = allocate(p->capacity = p->size + SLACK, 1);
        }
        char *to = p->text;
        for (const struct line *l = p->line; l < p->line + p->n; l++) {
            const struct line *before = l == b->begin ? b->previous : l - 1;
            if (l + 24 < p->line + p->n)
                __builtin_prefetch((const char *)(uintptr_t)l[24].start);
            if (set.unique && before != NULL && compare(before, l) == 0)
                continue;
            size_t length = length_of(l);
            if (length < 16) /* a copy of constant size is an instruction or two */
                memcpy(to, text_of(l), 16);
            else
                memcpy(to, text_of(l), length);
            to[length] = set.end;
            to += length + 1;
        }
        p->size = (size_t)(to - p->text);
    }
}

static void write_parts(void *closure, struct scheduler *s)
{
    struct batch *b = closure;
    int began = sched_block_begin(s) == 0;
    for (struct part *p = b->part; p < b->part + b->parts; p++) {
        int error = write_all(b->fd, p->text, p->size, s); /* a section within this one is allowed */
        if (error != 0)
            fatal(error, "%s", b->name != NULL ? b->name : folder);
        if (b->name != NULL)
            progress_add(&progress, (double)p->size / (1 << 20));
    }
    if (began)
        sched_block_end(s);
}

static void emit(const struct line *line, size_t n, const struct line *previous, int fd, const char *name,
                 struct scheduler *s)
{
    static struct batch batch[2];
    sched_task writer;
    for (size_t i = 0, turn = 0; i < n || turn > 0; turn++) {
        struct batch *b = &batch[turn % 2];
        b->begin = line, b->previous = previous, b->fd = fd, b->name = name;
        for (b->parts = 0; b->parts < PARTS && i < n; b->parts++) {
            struct part *p = &b->part[b->parts];
            p->line = line + i;
            for (p->size = 0; i < n && p->size < PART; i++)
                p->size += length_of(&line[i]) + 1;
            p->n = (size_t)(line + i - p->line);
        }
        must(sched_for(0, b->parts, 1, fill_parts, b, s));
        if (turn > 0)
            sched_join(&writer, s);
        if (b->parts == 0)
            break;
        sched_fork(&writer, write_parts, b, s);
    }
}

/* --- runs --------------------------------------------------------------------------------------------------------- */

struct run { /* sorted lines in a temporary file, and the window of them that is in memory */
    int fd, level, ended;
    off_t at;
    char *text;
    size_t capacity, used, split; /* bytes: of the lines below `split` there are elements */
    struct line *line;
    size_t most, n, first, upto; /* elements; from first to upto - 1 they belong to this round */
};

static int temporary_file(void)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) { /* a file system without such files */
        char name[PATH_MAX];
        snprintf(name, sizeof name, "%s/ssortXXXXXX", folder);
        fd = mkstemp(name);
        if (fd < 0)
            fatal(errno, "a temporary file in %s", folder);
        unlink(name);
    }
    return fd;
}

/* Fills windows anew, behind what is left of them, as far as more than half of them was used. */
static void refill(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (struct run *r = (struct run *)ctx + lo; r < (struct run *)ctx + hi; r++) {
        if ((r->n > 0 && r->first <= r->n / 2) || (r->ended && r->split == r->used))
            continue;
        size_t start = r->first < r->n ? (size_t)(text_of(&r->line[r->first]) - r->text) : r->split;
        r->used -= start;
        memmove(r->text, r->text + start, r->used);
        const char *rest = r->text;
        for (r->n = 0;;) {
            size_t room = r->ended ? 0 : r->capacity - r->used;
            ssize_t n = read_some(r->fd, r->text + r->used, room, room, r->at, s);
            if (n < 0)
                fatal((int)-n, "%s", folder);
            r->ended |= (size_t)n < room;
            r->used += (size_t)n;
            r->at += n;
            r->n = split(&rest, r->text + r->used, r->line, r->most);
            if (r->n > 0 || r->ended)
                break;
            r->capacity *= 2; /* the line is longer than the window */
            rest = r->text = reallocate(r->text, r->capacity + SLACK, 1);
        }
        r->split = (size_t)(rest - r->text);
        r->first = 0;
    }
}

/* Whether the last line of a's window comes before that of b's. */
static int ends_before(const struct run *a, const struct run *b)
{
    return compare(&a->line[a->n - 1], &b->line[b->n - 1]) < 0;
}

/* The lines of the window that come before the bound; with `equal`, also those that are equal to it. */
static size_t lines_before(const struct run *r, const struct line *bound, int equal)
{
    size_t lo = r->first, hi = r->n;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        int order = compare(&r->line[middle], bound);
        if (order < 0 || (order == 0 && equal))
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

/* Merges k runs, in rounds, with about `memory` bytes, and closes them. What a run has not read yet comes behind its
 * window. So the smallest of the windows' last lines bounds a round: what comes before it has been read, in each run.
 * Equal lines stay in the order of the runs: where the bound stands in run b, lines equal to it belong to the round if
 * they are in b or in a run before b. The window of b is used up, so that each round comes further. */
static void merge(struct run *run, size_t k, int fd, const char *name, size_t memory, struct scheduler *s)
{
    size_t share = memory / k, most = 0;
    for (struct run *r = run; r < run + k; r++) {
        r->capacity = share / 4 + 1;
        r->text = allocate(r->capacity + SLACK, 1);
        r->most = share / 64 + 16; /* 48 bytes for each: here, below, and the room of sched_sort */
        r->line = allocate(r->most, sizeof *r->line);
        most += r->most;
    }
    struct line *merged = allocate(most, sizeof *merged), last;
    char *last_text = NULL;
    set.skip = 0;
    for (int more = 1, round = 0; more; round++) {
        must(sched_for(0, k, 1, refill, run, s));
        const struct run *bound = NULL;
        for (struct run *r = run; r < run + k; r++)
            if ((!r->ended || r->split < r->used) && (bound == NULL || ends_before(r, bound)))
                bound = r;
        size_t n = 0;
        for (struct run *r = run; r < run + k; r++) {
            r->upto = bound == NULL || r == bound ? r->n : lines_before(r, &bound->line[bound->n - 1], r < bound);
            memcpy(merged + n, r->line + r->first, (r->upto - r->first) * sizeof *merged);
            n += r->upto - r->first;
        }
        must(sched_sort(merged, n, sizeof *merged, compare, s));
        emit(merged, n, last_text != NULL ? &last : NULL, fd, name, s);
        if (set.unique && n > 0) { /* the next round may begin with an equal line */
            size_t length = length_of(&merged[n - 1]);
            char *text = allocate(length + 1 + SLACK, 1);
            memcpy(text, text_of(&merged[n - 1]), length);
            text[length] = set.end;
            free(last_text);
            last = make_line(last_text = text, length);
        }
        more = bound != NULL;
        for (struct run *r = run; r < run + k; r++)
            r->first = r->upto;
    }
    for (struct run *r = run; r < run + k; r++) {
        free(r->line);
        free(r->text);
        close(r->fd);
    }
    free(last_text);
    free(merged);
}

#endif
