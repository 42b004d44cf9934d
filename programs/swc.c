/* swc: counts the words of files and trees of files, and prints the most frequent ones; or lines, words and bytes.
 *
 * What it teaches: sched_reduce_relaxed, a loop whose result is one value. The numbers that it runs over are the bytes
 * of all files, one file behind the other; so parts have equal work, whether there are many small files or a large one.
 * The value is a table of words. count_files adds the words of a part to a table, merge adds one table to another;
 * neither needs a lock, since a table belongs to one call at a time. A word belongs to the part in which it begins.
 * Sums of counts are exact, so it does not matter which parts share a table. (With sched_reduce, where each part has
 * a table of its own, a text of 64 MiB took 660 ms on one thread instead of 400.)
 *
 * Memory: the tables that exist at a time are one for each worker that counts, and those of stolen parts until the
 * worker from which they were stolen adds them to its own. Files are collected in rounds. What cannot be divided
 * beforehand, a pipe, is read in blocks: while a block is counted, a task that was forked reads the next one in a
 * blocking section. */

#define _GNU_SOURCE
#include <ctype.h>

#include "tally.h"
#include "walk.h"

/* Files of a round; bytes of a buffer, of a stream's block, of a part. */
enum { FILES = 16384, BLOCK = 256 * 1024, STREAM = 4 << 20, PART = 256 * 1024 };

struct input {
    char *path;
    size_t begin, end; /* among the bytes of all files of the round */
};

/* The files of a round. */
struct round {
    struct input *inputs;
    size_t count;
};

/* A block of a stream. */
struct block {
    unsigned char *bytes;
    size_t size, room;
    int fd;
    const char *path;
    bool ended;
    unsigned char before; /* the byte before it */
};

static bool totals;
static struct progress progress;
static struct tally all;

/* The function of the reduction that combines two values. */
static void merge(void *into, const void *from, void *ctx)
{
    (void)ctx;
    tally_add(into, *(const struct tally *)from);
}

/* --- a part ------------------------------------------------------------------------------------------------------- */

static bool is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Lines, and words as wc has them: what is between white space. */
static void take_totals(struct tally *t, const unsigned char *p, size_t size, unsigned char before)
{
    unsigned long long lines = 0, words = 0;
    bool space = is_space(before);
    for (size_t i = 0; i < size; i++) {
        bool now = is_space(p[i]);
        lines += p[i] == '\n';
        words += space & !now;
        space = now;
    }
    t->lines += lines, t->words += words, t->bytes += size;
}

/* Counts what begins at the bytes from..to-1 of a file; a word that begins there is read to its end. */
static void take_file(struct tally *t, const char *path, size_t from, size_t to)
{
    size_t room = BLOCK, have = 0, at = from; /* `at`: where the first byte of the buffer is in the file */
    unsigned char before = ' ';
    int fd = open_input(path);
    if (fd < 0)
        return;
    bool ended = from > 0 && read_input(fd, path, &before, 1, (off_t)from - 1) != 1;
    bool skipping = fold[before] != 0; /* the end of a word that is not ours */
    unsigned char *buffer = reallocate(NULL, room, 1);
    while (at < to && !ended) {
        if (have == room)
            buffer = reallocate(buffer, room *= 2, 1);
        size_t wanted = totals && room > to - at ? to - at : room - have, done = 0;
        ssize_t n = read_input(fd, path, buffer + have, wanted, (off_t)(at + have));
        ended = n <= 0;
        have += ended ? 0 : n;
        if (totals && have > 0) {
            take_totals(t, buffer, have, before);
            before = buffer[have - 1];
            done = have;
        } else if (!totals) {
            while (skipping && done < have && fold[buffer[done]] != 0)
                done++;
            skipping = skipping && done == have;
            if (at + done < to)
                done += tally_words(t, buffer + done, have - done, to - at - done, ended);
        }
        memmove(buffer, buffer + done, have - done);
        at += done, have -= done;
    }
    free(buffer);
    close(fd);
}

/* The function of the reduction that adds a part to a value: bytes lo..hi-1 of the files of a round. */
static void count_files(size_t lo, size_t hi, void *value, void *ctx, struct scheduler *s)
{
    struct round *round = ctx;
    size_t first = 0;
    (void)s;
    for (size_t behind = round->count; behind - first > 1;) {
        size_t middle = first + (behind - first) / 2;
        if (round->inputs[middle].begin <= lo)
            first = middle;
        else
            behind = middle;
    }
    for (struct input *i = &round->inputs[first]; i < round->inputs + round->count && i->begin < hi; i++)
        if (i->end > i->begin)
            take_file(value, i->path, lo > i->begin ? lo - i->begin : 0, (hi < i->end ? hi : i->end) - i->begin);
    progress_add(&progress, (double)(hi - lo) / (1 << 20));
}

/* The same for a block in memory. */
static void count_block(size_t lo, size_t hi, void *value, void *ctx, struct scheduler *s)
{
    struct block *b = ctx;
    unsigned char before = lo > 0 ? b->bytes[lo - 1] : b->before;
    (void)s;
    if (totals) {
        take_totals(value, b->bytes + lo, hi - lo, before);
    } else {
        size_t from = lo;
        while (lo > 0 && fold[before] != 0 && from < hi && fold[b->bytes[from]] != 0)
            from++;
        tally_words(value, b->bytes + from, b->size - from, hi - from, true);
    }
    progress_add(&progress, (double)(hi - lo) / (1 << 20));
}

/* Adds the result of a loop over n bytes to all. */
static void reduce(size_t n, void (*body)(size_t, size_t, void *, void *, struct scheduler *), void *ctx,
                   struct scheduler *s)
{
    struct tally none = {.room = 0}, sum;
    if (sched_reduce_relaxed(0, n, PART, sizeof sum, &none, body, merge, ctx, &sum, s) != 0)
        no_memory();
    tally_add(&all, sum);
}

/* --- rounds of files ---------------------------------------------------------------------------------------------- */

static void find_sizes(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    (void)s;
    for (struct input *i = (struct input *)ctx + lo; i < (struct input *)ctx + hi; i++) {
        struct stat st;
        i->end = stat(i->path, &st) == 0 && st.st_size > 0 ? (size_t)st.st_size : 0;
        if (i->end == 0 && access(i->path, R_OK) != 0)
            fail(STATUS_TROUBLE, errno, "%s", i->path);
    }
}

static void end_round(struct round *round, struct scheduler *s)
{
    size_t total = 0;
    if (sched_for(0, round->count, 64, find_sizes, round->inputs, s) != 0)
        no_memory();
    for (size_t i = 0; i < round->count; i++) {
        round->inputs[i].begin = total;
        total = round->inputs[i].end += total;
    }
    reduce(total, count_files, round, s);
    for (size_t i = 0; i < round->count; i++)
        free(round->inputs[i].path);
    round->count = 0;
}

static void add_file(const char *path, void *ctx, struct scheduler *s)
{
    struct round *round = ctx;
    round->inputs[round->count++].path = copy_of(path);
    if (round->count == FILES)
        end_round(round, s);
}

/* --- streams ------------------------------------------------------------------------------------------------------ */

/* The task that reads the rest of a block. */
static void fill(void *closure, struct scheduler *s)
{
    struct block *b = closure;
    bool began = sched_block_begin(s) == 0;
    for (ssize_t n; b->size < b->room && !b->ended; b->size += n > 0 ? n : 0) {
        n = read_input(b->fd, b->path, b->bytes + b->size, b->room - b->size, -1);
        b->ended = n <= 0;
    }
    if (began)
        sched_block_end(s);
}

static void add_stream(int fd, const char *path, struct scheduler *s)
{
    struct block a = {reallocate(NULL, STREAM, 1), 0, STREAM, fd, path, false, ' '}, b = a;
    b.bytes = reallocate(NULL, STREAM, 1);
    fill(&a, s);
    while (a.size > 0) {
        /* What is behind the last byte that is in no word goes to the next block. */
        size_t cut = a.size;
        while (!totals && !a.ended && cut > 0 && fold[a.bytes[cut - 1]] != 0)
            cut--;
        b.size = a.size - cut;
        if (b.room < b.size + STREAM / 2)
            b.bytes = reallocate(b.bytes, b.room = 2 * (b.size + STREAM), 1);
        memcpy(b.bytes, a.bytes + cut, b.size);
        b.ended = a.ended;
        b.before = cut > 0 ? a.bytes[cut - 1] : a.before;
        a.size = cut;
        sched_task reading;
        sched_fork(&reading, fill, &b, s);
        reduce(a.size, count_block, &a, s);
        sched_join(&reading, s);
        struct block c = a;
        a = b, b = c;
    }
    free(a.bytes);
    free(b.bytes);
}

/* --- the program -------------------------------------------------------------------------------------------------- */

/* Words: the most frequent one first; if two are equally frequent, in the order of their bytes. */
static int by_count(const void *a, const void *b)
{
    const struct word *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    size_t shorter = x->length < y->length ? x->length : y->length;
    int order = memcmp(all.text + x->text, all.text + y->text, shorter);
    return order != 0 ? order : (x->length > y->length) - (x->length < y->length);
}

struct work {
    char **paths;
    int count;
};

static void root(void *closure, struct scheduler *s)
{
    struct work *work = closure;
    struct round round = {allocate(FILES, sizeof *round.inputs), 0};
    struct walk w = {.file = add_file, .ctx = &round, .trouble = STATUS_TROUBLE};
    for (int i = 0; i < work->count; i++) {
        const char *path = work->paths[i];
        struct stat st;
        int fd = -1;
        if (strcmp(path, "-") == 0) {
            add_stream(STDIN_FILENO, "standard input", s);
        } else if (stat(path, &st) != 0) {
            fail(STATUS_TROUBLE, errno, "%s", path);
        } else if (S_ISDIR(st.st_mode)) {
            walk(&w, path, s);
        } else if (S_ISREG(st.st_mode) && st.st_size > 0) {
            add_file(path, &round, s);
        } else if ((fd = open_input(path)) >= 0) {
            add_stream(fd, path, s);
            close(fd);
        }
    }
    end_round(&round, s);
    free(round.inputs);
    size_t count = 0;
    for (size_t i = 0; i < all.room; i++) /* the words, without the free places between them */
        if (all.table[i].count > 0)
            all.table[count++] = all.table[i];
    if (count > 0 && sched_sort(all.table, count, sizeof *all.table, by_count, s) != 0)
        no_memory();
}

static const char usage[] =
    "usage: swc [OPTION...] [PATH...]\n"
    "Prints the most frequent words of files and of all files below folders, with\n"
    "their numbers; without PATH, or where it is -, of standard input. A word is a\n"
    "row of letters, digits, _ and bytes beyond ASCII.\n"
    "\n"
    "  -n, --words=N     so many words (10); 0: all\n"
    "  -l, --lower-case  capital letters of ASCII count as small ones\n"
    "  -t, --totals      only the numbers of lines, words and bytes, as wc counts them\n"
    "  -j, --threads=N   the number of threads (the processors)\n"
    "      --help, --version\n";

int main(int argc, char **argv)
{
    enum { HELP = 256, VERSION };
    static const struct option options[] = {
        {"words", 1, NULL, 'n'},   {"lower-case", 0, NULL, 'l'}, {"totals", 0, NULL, 't'},
        {"threads", 1, NULL, 'j'}, {"help", 0, NULL, HELP},      {"version", 0, NULL, VERSION}, {NULL, 0, NULL, 0}};
    static char *standard_input[] = {"-"};
    size_t wanted = 10;
    int threads = 0;
    bool lower = false;
    program_name = "swc";
    for (int option; (option = getopt_long(argc, argv, "n:ltj:", options, NULL)) != -1;)
        switch (option) {
        case 'n': wanted = (size_t)number_of(optarg, "--words", 0, LLONG_MAX); break;
        case 'l': lower = true; break;
        case 't': totals = true; break;
        case 'j': threads = (int)number_of(optarg, "--threads", 0, 4096); break;
        case HELP: return say(usage);
        case VERSION: return say_version();
        default: return STATUS_TROUBLE;
        }
    for (int c = 0; c < 256; c++)
        if (c >= 0x80 || c == '_' || isalnum(c))
            fold[c] = (unsigned char)(lower && c < 0x80 ? tolower(c) : c);
    struct work work = {argv + optind, argc - optind};
    if (work.count == 0)
        work = (struct work){standard_input, 1};
    progress_begin(&progress, "MiB", 0);
    if (sched_init(threads, 0, root, &work) != 0)
        fatal(errno, "sched_init");
    progress_end(&progress);
    if (totals)
        printf("%llu %llu %llu\n", all.lines, all.words, all.bytes);
    for (size_t i = 0; i < all.used && (wanted == 0 || i < wanted); i++) {
        printf("%7llu ", all.table[i].count);
        fwrite(all.text + all.table[i].text, 1, all.table[i].length, stdout);
        putchar('\n');
    }
    return output_written() ? program_status : STATUS_TROUBLE;
}
