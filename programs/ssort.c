/* ssort: sorts lines of text, as sort(1) does: by bytes, by the locale or by numbers, within a limit of memory.
 *
 * It teaches sched_sort, and blocking sections. The task that reads does so in blocking sections, so that another
 * thread takes its place while the kernel works: tasks of a group count the lines of what has been read. Then a
 * sched_reduce finds the lines, and sched_sort sorts an array of them: for each line 8 bytes of its text, as a number,
 * and a pointer. Most comparisons look at the numbers alone, and do not touch the text. At the end parts of the output
 * are put together by a sched_for, while a forked task writes the parts before.
 *
 * Input that is larger than the limit becomes sorted runs in temporary files: one chunk is sorted and written while the
 * next is read. The runs are merged in rounds. A round reads a window of each run, takes all lines up to the smallest
 * of the windows' last lines, and gives them to sched_sort, which sees where they are in order already. */
#define _GNU_SOURCE
#include "ssort_runs.h"

#include <langinfo.h>
#include <locale.h>

enum {
    ELEMENT = 32, /* bytes for a line beside its text: its element, and as much room for sched_sort */
    MIN_MEMORY = 1 << 20,
    MAX_BLOCK = 1 << 20,
};

struct block { /* of input: what ends in it, and where its first line begins */
    size_t lines, first, start, stop;
};

struct chunk { /* of input, as much as is sorted at once */
    char *text;
    size_t capacity, used, counted; /* bytes; the blocks below `counted` have their tasks */
    atomic_size_t lines;            /* as far as they have been counted */
    sched_group counting;
    struct block *block;
    struct line *line;
    size_t n;
};

static size_t memory, block_size; /* bytes: the limit, and how much is read at a time */
static const char *output;        /* a file, or NULL */
static char **files;              /* up to NULL; "-" is standard input */
static int checks;                /* nothing is sorted */

/* --- input: blocks are read in blocking sections, and counted by tasks -------------------------------------------- */

struct counting {
    struct chunk *chunk;
    size_t from, to;
};

static void count_lines(void *closure, struct scheduler *s)
{
    const struct counting *counting = closure;
    struct chunk *c = counting->chunk;
    struct block *b = &c->block[counting->from / block_size];
    (void)s;
    for (const char *p = c->text + counting->from, *end = c->text + counting->to;
         (p = memchr(p, set.end, (size_t)(end - p))) != NULL; b->lines++)
        b->stop = (size_t)(++p - c->text);
    atomic_fetch_add_explicit(&c->lines, b->lines, memory_order_relaxed);
}

/* Room for another block, and the end of a line. */
static void make_room(struct chunk *c, struct scheduler *s)
{
    if (c->used + block_size + 1 + SLACK <= c->capacity)
        return;
    size_t capacity = c->capacity == 0 ? 8 * block_size : 2 * c->capacity;
    sched_group_wait(&c->counting, s); /* its tasks read the text */
    c->text = map(c->text, c->capacity, capacity);
    c->block = reallocate(c->block, capacity / block_size, sizeof *c->block);
    memset(c->block + c->capacity / block_size, 0, (capacity - c->capacity) / block_size * sizeof *c->block);
    c->capacity = capacity;
}

static void add_bytes(struct chunk *c, size_t n, struct scheduler *s)
{
    c->used += n;
    for (; c->used - c->counted >= block_size; c->counted += block_size) {
        struct counting counting = {c, c->counted, c->counted + block_size};
        if (sched_group_spawn_copy(&c->counting, count_lines, &counting, sizeof counting, s) != 0)
            count_lines(&counting, s);
    }
}

/* --- a chunk: its lines, by sched_reduce, and their order, by sched_sort ------------------------------------------ */

/* The lines of some blocks; *common becomes how many bytes all of them have in common with the first line of all. */
static void split_blocks(size_t lo, size_t hi, void *common, void *ctx, struct scheduler *s)
{
    struct chunk *c = ctx;
    size_t n = *(size_t *)common;
    (void)s;
    for (struct block *b = &c->block[lo]; b < &c->block[hi]; b++) {
        const char *text = c->text + b->start;
        split(&text, c->text + b->stop, &c->line[b->first], b->lines);
        for (struct line *l = &c->line[b->first]; n > 0 && l < &c->line[b->first + b->lines]; l++) {
            n = length_of(l) < n ? length_of(l) : n;
            if (memcmp(c->text, text_of(l), n) != 0)
                for (n = 0; c->text[n] == text_of(l)[n]; n++)
                    ;
        }
    }
    *(size_t *)common = n;
}

static void least(void *into, const void *from, void *ctx)
{
    (void)ctx;
    if (*(const size_t *)from < *(size_t *)into)
        *(size_t *)into = *(const size_t *)from;
}

static void set_prefixes(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    struct chunk *c = ctx;
    (void)s;
    for (size_t i = lo; i < hi; i++)
        set_prefix(&c->line[i]);
}

/* Splits a chunk, which ends with a line. What all lines begin with does not tell them apart: the prefixes begin behind
 * it. */
static void find_lines(struct chunk *c, struct scheduler *s)
{
    if (c->counted < c->used)
        count_lines(&(struct counting){c, c->counted, c->used}, s);
    sched_group_wait(&c->counting, s);
    size_t blocks = (c->used + block_size - 1) / block_size, start = 0;
    c->n = 0;
    for (struct block *b = c->block; b < c->block + blocks; b++) {
        b->first = c->n;
        b->start = start;
        c->n += b->lines;
        start = b->lines != 0 ? b->stop : start;
    }
    if (c->n == 0)
        return;
    c->line = map(NULL, 0, c->n * sizeof *c->line);
    set.skip = 0;
    size_t length = (size_t)((char *)rawmemchr(c->text, set.end) - c->text), common;
    must(sched_reduce(0, blocks, 1, sizeof common, &length, split_blocks, least, c, &common, s));
    if (common > 0 && !set.numeric && !set.collate) {
        set.skip = common;
        must(sched_for(0, c->n, 0, set_prefixes, c, s));
    }
}

static void release(struct chunk *c)
{
    munmap(c->line, c->n * sizeof *c->line);
    munmap(c->text, c->capacity);
    free(c->block);
    *c = (struct chunk){.counting = SCHED_GROUP_INIT};
}

static void sort_lines(struct chunk *c, struct scheduler *s)
{
    find_lines(c, s);
    must(sched_sort(c->line, c->n, sizeof *c->line, compare, s));
}

/* --- the task that reads: it hands over a full chunk, and goes on with another one -------------------------------- */

struct spilling {
    struct chunk *chunk;
    struct run *run;
    size_t runs;
};

struct input {
    struct chunk chunk[2];
    int turn, is_spilling;
    sched_task task;
    struct spilling spilling;
    size_t checked; /* lines before those of the chunk */
};

/* Sorts a chunk and writes it as a run. FAN runs of a level are merged into one of the next level: fewer remain of each
 * level, and those of higher levels come first in the input. */
static void spill(void *closure, struct scheduler *s)
{
    struct spilling *all = closure;
    struct chunk *c = all->chunk;
    all->run = reallocate(all->run, all->runs + 1, sizeof *all->run);
    struct run *new = &all->run[all->runs++];
    *new = (struct run){.fd = temporary_file()};
    sort_lines(c, s);
    emit(c->line, c->n, NULL, new->fd, NULL, s);
    release(c);
    while (all->runs >= FAN && all->run[all->runs - FAN].level == all->run[all->runs - 1].level) {
        struct run *first = &all->run[all->runs - FAN], merged = {.fd = temporary_file(), .level = first->level + 1};
        merge(first, FAN, merged.fd, NULL, memory / 2, s);
        *first = merged;
        all->runs -= FAN - 1;
    }
}

/* The first line that comes before the one in front of it (or is equal to it, with -u). */
static void find_disorder(size_t lo, size_t hi, void *found, void *ctx, struct scheduler *s)
{
    struct chunk *c = ctx;
    (void)s;
    for (size_t i = lo; i < hi && *(size_t *)found == SIZE_MAX; i++)
        if (compare(&c->line[i - 1], &c->line[i]) > -set.unique)
            *(size_t *)found = i;
}

static void check_lines(struct input *in, struct chunk *c, struct scheduler *s)
{
    find_lines(c, s);
    size_t none = SIZE_MAX, i;
    must(sched_reduce(1, c->n, 0, sizeof i, &none, find_disorder, least, c, &i, s));
    if (i != none) {
        progress_end(&progress);
        fprintf(stderr, "%s: %s:%zu: disorder: %.*s\n", program_name, files[0], in->checked + i + 1,
                (int)(length_of(&c->line[i]) & INT_MAX), text_of(&c->line[i]));
        exit(STATUS_NO);
    }
    in->checked += c->n - 1; /* the last line is the next chunk's first one */
}

static void chunk_is_full(struct input *in, struct scheduler *s)
{
    struct chunk *c = &in->chunk[in->turn], *next = &in->chunk[!in->turn];
    if (in->is_spilling)
        sched_join(&in->task, s);
    size_t stop = (size_t)((char *)memrchr(c->text, set.end, c->used) + 1 - c->text), from = stop;
    if (checks) { /* the next chunk begins with the last line */
        const char *before = memrchr(c->text, set.end, stop - 1);
        from = before != NULL ? (size_t)(before + 1 - c->text) : 0;
    }
    for (size_t n; from < c->used; from += n) {
        n = c->used - from < block_size ? c->used - from : block_size;
        make_room(next, s);
        memcpy(next->text + next->used, c->text + from, n);
        add_bytes(next, n, s);
    }
    c->used = stop;
    if (checks) {
        check_lines(in, c, s);
        release(c);
    } else {
        in->spilling.chunk = c;
        sched_fork(&in->task, spill, &in->spilling, s);
        in->is_spilling = 1;
    }
    in->turn = !in->turn;
}

static void read_file(struct input *in, const char *name, struct scheduler *s)
{
    int is_stdin = strcmp(name, "-") == 0, fd = is_stdin ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fatal(errno, "%s", name);
    struct chunk *c = &in->chunk[in->turn];
    for (ssize_t n; make_room(c, s), (n = read_some(fd, c->text + c->used, 1, block_size, -1, s)) != 0;) {
        if (n < 0)
            fatal((int)-n, "%s", name);
        progress_add(&progress, (double)n / (1 << 20));
        size_t counted = c->counted;
        add_bytes(c, (size_t)n, s);
        if (c->counted != counted && c->counted / block_size % 16 == 0)
            sched_group_wait(&c->counting, s); /* so that the count below is not late */
        size_t lines = atomic_load_explicit(&c->lines, memory_order_relaxed);
        if (lines > 0 && c->used + ELEMENT * lines > memory / 2) {
            chunk_is_full(in, s);
            c = &in->chunk[in->turn];
        }
    }
    if (c->used > 0 && c->text[c->used - 1] != set.end) {
        c->text[c->used] = set.end;
        add_bytes(c, 1, s);
    }
    if (!is_stdin)
        close(fd);
}

static void sort_files(void *closure, struct scheduler *s)
{
    static struct input in = {.chunk = {{.counting = SCHED_GROUP_INIT}, {.counting = SCHED_GROUP_INIT}}};
    (void)closure;
    progress_begin(&progress, "MiB read", 0);
    for (char **file = files; *file != NULL; file++)
        read_file(&in, *file, s);
    struct chunk *c = &in.chunk[in.turn];
    if (checks) {
        if (c->used > 0)
            check_lines(&in, c, s);
        progress_end(&progress);
        return;
    }
    struct spilling *all = &in.spilling;
    if (in.is_spilling) {
        if (c->used > 0)
            chunk_is_full(&in, s);
        sched_join(&in.task, s);
    } else {
        sort_lines(c, s);
    }
    progress_end(&progress);
    progress_begin(&progress, "MiB written", 0);
    const char *name = output != NULL ? output : "standard output";
    int fd = output != NULL ? open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : STDOUT_FILENO;
    if (fd < 0)
        fatal(errno, "%s", name);
    if (in.is_spilling)
        merge(all->run, all->runs, fd, name, memory, s);
    else
        emit(c->line, c->n, NULL, fd, name, s);
    progress_end(&progress);
    if (close(fd) != 0)
        fatal(errno, "%s", name);
}

/* --- the command line --------------------------------------------------------------------------------------------- */

static const char usage[] =
    "usage: ssort [OPTION]... [FILE]...\n"
    "Sorts the lines of the files, or of standard input (also \"-\"), by the locale; LC_ALL=C: by bytes.\n"
    "  -n, --numeric-sort          by the number that a line begins with, then as without -n\n"
    "  -r, --reverse               the other way round\n"
    "  -s, --stable                with -n: lines with equal numbers keep their order\n"
    "  -u, --unique                only the first of equal lines\n"
    "  -z, --zero-terminated       lines end with a zero byte\n"
    "  -c, --check                 do not sort: say where one file is not in order\n"
    "  -o, --output FILE           write to FILE, which may be one of the input files\n"
    "  -S, --buffer-size SIZE      bytes of memory (K, M, G); 0: half of the machine's. More input goes to\n"
    "                              temporary files\n"
    "  -T, --temporary-directory DIR   for these, in place of $TMPDIR or /tmp\n"
    "  -j, --threads N             0: the library's default (SCHED_THREADS, or all processors)\n"
    "      --help                  print this\n"
    "      --version               print the version\n"
    "Exit status: 0, 1 if -c finds disorder, 2 in trouble.\n";

int main(int argc, char **argv)
{
    enum { HELP = 256, VERSION };
    static const struct option options[] = {
        {"numeric-sort", no_argument, NULL, 'n'},  {"reverse", no_argument, NULL, 'r'},
        {"stable", no_argument, NULL, 's'},        {"unique", no_argument, NULL, 'u'},
        {"check", no_argument, NULL, 'c'},         {"zero-terminated", no_argument, NULL, 'z'},
        {"output", required_argument, NULL, 'o'},  {"buffer-size", required_argument, NULL, 'S'},
        {"threads", required_argument, NULL, 'j'}, {"temporary-directory", required_argument, NULL, 'T'},
        {"help", no_argument, NULL, HELP},         {"version", no_argument, NULL, VERSION},
        {NULL, 0, NULL, 0},
    };
    int threads = 0;
    program_name = "ssort";
    folder = getenv("TMPDIR");
    for (int option; (option = getopt_long(argc, argv, "nrsucz" "o:S:T:j:", options, NULL)) != -1;)
        switch (option) {
        case 'n': set.numeric = 1; break;
        case 'r': set.reverse = 1; break;
        case 's': set.stable = 1; break;
        case 'u': set.unique = 1; break;
        case 'c': checks = 1; break;
        case 'z': set.end = '\0'; break;
        case 'o': output = optarg; break;
        case 'S': memory = (size_t)number_of(optarg, "-S", 0, LLONG_MAX / 64); break;
        case 'T': folder = optarg; break;
        case 'j': threads = (int)number_of(optarg, "-j", 0, 4096); break;
        case HELP: return say(usage);
        case VERSION: return say_version();
        default: return STATUS_TROUBLE;
        }
    if (folder == NULL || *folder == '\0')
        folder = "/tmp";
    if (memory == 0)
        memory = (size_t)sysconf(_SC_PHYS_PAGES) / 2 * (size_t)sysconf(_SC_PAGESIZE);
    memory = memory < MIN_MEMORY ? MIN_MEMORY : memory;
    block_size = (memory / 256 < MAX_BLOCK ? memory / 256 : MAX_BLOCK) & ~(size_t)4095;
    setlocale(LC_ALL, "");
    const char *locale = setlocale(LC_COLLATE, NULL);
    /* (In C.UTF-8, too, the order is that of the bytes.) */
    set.collate = strcmp(locale, "C") != 0 && strncmp(locale, "C.", 2) != 0 && strcmp(locale, "POSIX") != 0;
    const char *point = localeconv()->decimal_point, *separator = localeconv()->thousands_sep;
    set.decimal = strlen(point) == 1 ? *point : '.';
    set.thousands = strlen(separator) == 1 ? *separator : NONE;
    char *standard_input[] = {(char[]){"-"}, NULL};
    files = optind < argc ? argv + optind : standard_input;
    if (checks && files[1] != NULL)
        fatal(0, "%s: -c looks at one file", files[1]);
    int missing = 0;
    for (char **file = files; *file != NULL; file++)
        if (strcmp(*file, "-") != 0 && access(*file, R_OK) != 0) {
            complain(errno, "%s", *file);
            missing = 1;
        }
    if (missing) /* a part of the lines would look like all of them */
        return STATUS_TROUBLE;
    if (sched_init(threads, 0, sort_files, NULL) != 0)
        fatal(errno, "the run cannot begin");
    return STATUS_OK;
}
