/* sgrep: searches files and trees of files for lines that match a pattern. Its output is in the order of the files,
 * the same for any number of threads.
 *
 * What it teaches: a pipeline whose stages are tasks, with bounded memory. The first task walks the tree (walk.h),
 * collects files in batches and spawns a task for each batch. When there are many batches whose output has not been
 * written, the walk waits on a semaphore (order.h): it is suspended with its stack, and its worker searches
 * meanwhile.
 *
 * Each worker has an automaton (automaton.h) that grows as it reads, at the index that sched_worker_index gives.
 * Nothing is locked for that: a search has no suspension point. What may block for long is a blocking section, in
 * which another thread takes the worker's place: writing to a pipe, reading a folder, and reading what is no regular
 * file. */

#define _GNU_SOURCE
#include <fnmatch.h>
#include <langinfo.h>
#include <locale.h>

#include "automaton.h"
#include "order.h"
#include "walk.h"

enum { FILES = 32, BLOCK = 128 * 1024 };

/* Files that one task searches. */
struct batch {
    char *names; /* one behind the other, each with its '\0'; "" is standard input */
    size_t size, room, files;
    struct part *part; /* what it has found */
};

/* A file that is being searched. */
struct file {
    const char *path;
    struct part *part;
    unsigned long long line, selected; /* number of the line at `counted`; lines selected so far */
    const unsigned char *counted;
};

struct globs {
    const char **glob;
    size_t count;
};

static struct {
    bool numbers, names_only, counts, inverse, no_names, quiet, text, no_hidden;
    struct globs include, exclude;
    struct automaton automaton;
    struct searcher **searchers; /* for each worker, once it needs one */
    struct stat output;
    char **paths;
    size_t path_count;
} set;

static atomic_bool selected;
static struct progress progress;

/* Puts the path, a number if it is not negative, and a text. */
static void put(const struct file *f, long long number, const void *text, size_t size)
{
    char digits[32], *first = digits + sizeof digits;
    size_t length = set.no_names ? 0 : strlen(f->path);
    if (number >= 0) {
        *--first = ':';
        do
            *--first = '0' + number % 10;
        while ((number /= 10) > 0);
    }
    size_t more = digits + sizeof digits - first;
    char *to = part_room(f->part, length + !set.no_names + more + size);
    if (!set.no_names) {
        memcpy(to, f->path, length);
        to[length] = ':';
        to += length + 1;
    }
    memcpy(to, first, more);
    memcpy(to + more, text, size);
}

/* --- the search --------------------------------------------------------------------------------------------------- */

static void select_line(struct file *f, const unsigned char *line, size_t size, struct scheduler *s)
{
    f->selected++;
    if (set.quiet)
        _exit(STATUS_OK);
    if (set.names_only || set.counts)
        return;
    if (set.numbers) {
        f->line += count_lines(f->counted, line);
        f->counted = line;
    }
    put(f, set.numbers ? (long long)f->line : -1, line, size);
    part_relieve(f->part, s);
}

static struct searcher *searcher_here(struct scheduler *s)
{
    struct searcher **mine = &set.searchers[sched_worker_index(s)];
    if (*mine == NULL)
        *mine = searcher_make(&set.automaton);
    return *mine;
}

/* Searches whole lines. */
static void search_lines(struct file *f, const unsigned char *p, const unsigned char *end, struct scheduler *s)
{
    while (p < end && !(set.names_only && f->selected > 0)) {
        /* Asked for anew each time: select_line may have waited, and this may be another thread. */
        const unsigned char *hit = line_find(searcher_here(s), p, end), *begin = end, *behind = end;
        if (hit != NULL) {
            begin = memrchr(p, '\n', hit - p);
            begin = begin == NULL ? p : begin + 1;
            behind = (const unsigned char *)memchr(hit, '\n', end - hit) + 1;
        }
        if (!set.inverse && hit != NULL)
            select_line(f, begin, behind - begin, s);
        for (const unsigned char *next; set.inverse && p < begin; p = next) { /* the lines before it */
            next = (const unsigned char *)memchr(p, '\n', begin - p) + 1;
            select_line(f, p, next - p, s);
        }
        p = behind;
    }
}

/* Opens a file; "" is standard input. -1 if it cannot be searched. */
OWN_ERRNO static int open_file(const char *path, bool *regular)
{
    struct stat st;
    int fd = path[0] == '\0' ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) != 0) {
        fail(STATUS_TROUBLE, errno, "%s", path);
        return -1;
    }
    *regular = S_ISREG(st.st_mode);
    if (*regular && st.st_ino == set.output.st_ino && st.st_dev == set.output.st_dev) {
        fail(STATUS_TROUBLE, 0, "%s: input file is also the output", path);
        close(fd);
        return -1;
    }
    return fd;
}

struct buffer {
    unsigned char *bytes;
    size_t room;
};

static void search_file(const char *path, struct part *part, struct buffer *buffer, struct scheduler *s)
{
    bool regular, whole = false, binary = false;
    struct file f = {.path = path[0] == '\0' ? "(standard input)" : path, .part = part, .line = 1};
    int fd = open_file(path, &regular);
    if (fd < 0)
        return;
    /* Bytes up to `begin` have been searched; those up to `end` are the beginning of a line. */
    size_t begin = 0, end = 0;
    for (bool first = true; !whole && !binary && !(set.names_only && f.selected > 0); first = false) {
        if (end + BLOCK / 4 >= buffer->room) { /* there is room for a byte more than is read: a last '\n' */
            if (set.numbers && begin > 0)
                f.line += count_lines(f.counted, buffer->bytes + begin);
            memmove(buffer->bytes, buffer->bytes + begin, end - begin);
            end -= begin, begin = 0;
            if (end + BLOCK / 4 >= buffer->room)
                buffer->bytes = reallocate(buffer->bytes, buffer->room *= 2, 1);
            f.counted = buffer->bytes;
        }
        bool began = !regular && sched_block_begin(s) == 0;
        ssize_t n = read_input(fd, f.path, buffer->bytes + end, buffer->room - end - 1, -1);
        if (began)
            sched_block_end(s);
        if (first)
            f.counted = buffer->bytes;
        whole = n <= 0;
        binary = first && !whole && !set.text && memchr(buffer->bytes, '\0', n) != NULL;
        if (whole && end > begin)
            buffer->bytes[end] = '\n', n = 1;
        const unsigned char *last = n <= 0 || binary ? NULL : memrchr(buffer->bytes + end, '\n', n);
        end += n > 0 ? n : 0;
        if (last == NULL)
            continue;
        search_lines(&f, buffer->bytes + begin, last + 1, s);
        begin = last + 1 - buffer->bytes;
    }
    close(fd);
    if (f.selected > 0)
        selected = true;
    if (set.names_only && f.selected > 0)
        memcpy(part_room(part, strlen(f.path) + 1), f.path, strlen(f.path));
    else if (set.counts && !set.names_only)
        put(&f, (long long)f.selected, "", 0);
    if ((set.names_only && f.selected > 0) || (set.counts && !set.names_only))
        part->bytes[part->size - 1] = '\n'; /* after the path, or in the place of the : after the number */
    if (buffer->room > 8 * BLOCK) { /* a very long line has passed */
        free(buffer->bytes);
        buffer->bytes = reallocate(NULL, buffer->room = BLOCK, 1);
    }
}

/* The task: searches the files of a batch. */
static void search(void *closure, struct scheduler *s)
{
    struct batch *b = closure;
    struct buffer buffer = {reallocate(NULL, BLOCK, 1), BLOCK};
    for (const char *name = b->names; name < b->names + b->size; name += strlen(name) + 1)
        search_file(name, b->part, &buffer, s);
    free(buffer.bytes);
    progress_add(&progress, (double)b->files);
    part_end(b->part, s); /* from here on the batch may be filled anew */
}

static struct batch batches[PARTS], *filling;

static void batch_end(struct scheduler *s)
{
    struct batch *b = filling;
    filling = NULL;
    if (b != NULL)
        spawn(search, b, s);
}

/* The walk has found a file. The first batches are small, so that all workers soon have something to do. */
static void add_file(const char *path, void *ctx, struct scheduler *s)
{
    size_t size = strlen(path) + 1;
    (void)ctx;
    if (filling == NULL) {
        struct part *part = part_begin(s);
        filling = &batches[part->number % PARTS];
        filling->part = part;
        filling->files = filling->size = 0;
    }
    struct batch *b = filling;
    if (b->room - b->size < size)
        b->names = reallocate(b->names, b->room = 2 * b->room + size, 1);
    memcpy(b->names + b->size, path, size);
    b->size += size;
    if (++b->files == FILES || b->files > b->part->number / 8)
        batch_end(s);
}

static bool matches(const struct globs *globs, const char *name)
{
    for (size_t i = 0; i < globs->count; i++)
        if (fnmatch(globs->glob[i], name, 0) == 0)
            return true;
    return false;
}

static int wanted(const char *name, int is_folder, void *ctx)
{
    (void)ctx;
    return !(set.no_hidden && name[0] == '.') && !matches(&set.exclude, name) &&
           (is_folder || set.include.count == 0 || matches(&set.include, name));
}

/* The first task: walks the trees. */
static void root(void *closure, struct scheduler *s)
{
    struct walk w = {.wanted = wanted, .file = add_file, .trouble = STATUS_TROUBLE};
    (void)closure;
    set.searchers = allocate(sched_worker_count(s), sizeof *set.searchers);
    for (size_t i = 0; i < set.path_count; i++) {
        const char *path = set.paths[i];
        struct stat st;
        if (strcmp(path, "-") == 0) {
            add_file("", NULL, s);
        } else if (stat(path, &st) != 0) {
            fail(STATUS_TROUBLE, errno, "%s", path);
        } else if (S_ISDIR(st.st_mode)) {
            walk(&w, path, s);
        } else {
            add_file(path, NULL, s);
        }
    }
    if (set.path_count == 0)
        walk(&w, NULL, s);
    batch_end(s);
}

static void add_glob(struct globs *globs, const char *glob)
{
    globs->glob = reallocate(globs->glob, globs->count + 1, sizeof *globs->glob);
    globs->glob[globs->count++] = glob;
}

static const char usage[] =
    "usage: sgrep [OPTION...] PATTERN [PATH...]\n"
    "Prints the lines that match PATTERN, a POSIX extended regular expression, in\n"
    "files and in all files below folders; without PATH below the working folder.\n"
    "A PATH - is standard input.\n"
    "\n"
    "  -F, --fixed-strings    PATTERN is a string\n"
    "  -e, --regexp=PATTERN   a pattern; lines that match one of several are printed\n"
    "  -i, --ignore-case      letters of ASCII match in both cases\n"
    "  -w, --word-regexp      what matches must be whole words\n"
    "  -v, --invert-match     the lines that do not match\n"
    "  -n, --line-number      with the line's number\n"
    "  -h, --no-filename      without the file's path\n"
    "  -l, --files-with-matches  only the paths of the files\n"
    "  -c, --count            only the number of lines for each file\n"
    "  -q, --quiet            only the exit status\n"
    "  -a, --text             binary files, too\n"
    "      --include=GLOB     only files with such a name\n"
    "      --exclude=GLOB     no files and folders with such a name\n"
    "      --no-hidden        no files and folders whose name begins with a dot\n"
    "  -j, --threads=N        the number of threads (the processors)\n"
    "      --help, --version\n";

int main(int argc, char **argv)
{
    enum { INCLUDE = 256, EXCLUDE, NO_HIDDEN, HELP, VERSION };
    static const struct option options[] = {
        {"fixed-strings", 0, NULL, 'F'}, {"regexp", 1, NULL, 'e'},       {"ignore-case", 0, NULL, 'i'},
        {"word-regexp", 0, NULL, 'w'},   {"invert-match", 0, NULL, 'v'}, {"line-number", 0, NULL, 'n'},
        {"no-filename", 0, NULL, 'h'},   {"files-with-matches", 0, NULL, 'l'}, {"count", 0, NULL, 'c'},
        {"quiet", 0, NULL, 'q'},         {"text", 0, NULL, 'a'},         {"include", 1, NULL, INCLUDE},
        {"exclude", 1, NULL, EXCLUDE},   {"no-hidden", 0, NULL, NO_HIDDEN}, {"threads", 1, NULL, 'j'},
        {"help", 0, NULL, HELP},         {"version", 0, NULL, VERSION},  {NULL, 0, NULL, 0}};
    struct expression e = {.length = 0};
    struct globs patterns = {NULL, 0};
    int threads = 0;
    program_name = "sgrep";
    setlocale(LC_CTYPE, "");
    for (int option; (option = getopt_long(argc, argv, "Fe:iwvnhlcqaj:", options, NULL)) != -1;)
        switch (option) {
        case 'F': e.fixed = true; break;
        case 'e': add_glob(&patterns, optarg); break;
        case 'i': e.ignore_case = true; break;
        case 'w': e.words = true; break;
        case 'v': set.inverse = true; break;
        case 'n': set.numbers = true; break;
        case 'h': set.no_names = true; break;
        case 'l': set.names_only = true; break;
        case 'c': set.counts = true; break;
        case 'q': set.quiet = true; break;
        case 'a': set.text = true; break;
        case INCLUDE: add_glob(&set.include, optarg); break;
        case EXCLUDE: add_glob(&set.exclude, optarg); break;
        case NO_HIDDEN: set.no_hidden = true; break;
        case 'j': threads = (int)number_of(optarg, "--threads", 0, 4096); break;
        case HELP: return say(usage);
        case VERSION: return say_version();
        default: return STATUS_TROUBLE;
        }
    if (patterns.count == 0 && optind == argc)
        fatal(0, "a pattern is expected; see sgrep --help");
    if (patterns.count == 0)
        add_glob(&patterns, argv[optind++]);
    set.paths = argv + optind, set.path_count = argc - optind;
    e.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    setlocale(LC_CTYPE, "C"); /* for isalpha */
    for (size_t i = 0; i < patterns.count; i++)
        for (const char *p = patterns.glob[i], *line; p != NULL; p = line) { /* each line is a pattern */
            line = strchr(p, '\n');
            expression_add(&e, p, line == NULL ? strlen(p) : (size_t)(line++ - p));
        }
    if (e.error == NULL && !automaton_make(&set.automaton, &e))
        e.error = "the pattern is too large";
    if (e.error != NULL)
        fatal(0, "%s", e.error);
    if (set.quiet || set.names_only || fstat(STDOUT_FILENO, &set.output) != 0 || !S_ISREG(set.output.st_mode))
        set.output.st_ino = 0, set.output.st_dev = 0;
    progress_begin(&progress, "files", 0);
    if (isatty(STDOUT_FILENO))
        progress_end(&progress);
    if (sched_init(threads, 0, root, NULL) != 0)
        fatal(errno, "sched_init");
    progress_end(&progress);
    return program_status != STATUS_OK ? program_status : selected ? STATUS_OK : STATUS_NO;
}
