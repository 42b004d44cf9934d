/* sgz: gzip on all processors. Compresses files or a stream; gunzip, zcat and sgz -d read the result.
 *
 * pkg-config: libdeflate (libdeflate-dev)
 * pkg-config: zlib (zlib1g-dev)
 *
 * What it teaches: a pipeline. Three kinds of tasks share a ring of slots, which bounds the memory:
 *
 *      reader             --->  a task for each block  --->  writer
 *      waits for `room`         compresses                   waits for `ready` of each slot of the ring in turn
 *
 * - sched_sem is what they wait for. `room` counts the free slots: the reader takes one, the writer gives it back.
 *   `ready` of a slot says that its output is there. The writer asks the slots in their order, so that the output has
 *   the order of the input, whichever block is ready first. A task that waits leaves its worker to other tasks.
 * - read and write are in blocking sections (blocking.h): while they wait for a disk or for another program, another
 *   thread takes the worker's place.
 * - A compressor, which is large, belongs to a worker (sched_worker_index): a task that compresses does not wait
 *   meanwhile. The buffers belong to the slot: they go from one task to the next.
 *
 * Each block becomes a member of its own, as the format allows (RFC 1952, 2.2), so that the output depends only on the
 * input and the level. An extra field tells how long the member is: sgz -d finds the members without decompressing, and
 * decompresses them in parallel. What other programs have compressed is decompressed by the reader. */

#define _GNU_SOURCE
#include <libdeflate.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <zlib.h>

#include "blocking.h"

enum {
    BLOCK = 1 << 20,                /* bytes of input in a member */
    HEADER = 24, PLAIN_HEADER = 10, /* bytes of a header, and of one without an extra field */
};

/* A header up to the length of the member: no name, no time, an extra field SG of 8 bytes that begins with "sgz1". */
static const unsigned char beginning[HEADER - 4] = {
    0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 3, HEADER - 12, 0, 'S', 'G', HEADER - 16, 0, 's', 'g', 'z', '1'};

struct file {
    const char *name;   /* "-": standard input */
    char *target;       /* NULL: standard output, or nothing with -t. Never freed: interrupted() may need it */
    int in, out;        /* -1: not open */
    struct stat status; /* of the input */
    atomic_bool failed; /* nothing more is written, and the reader need not go on */
};

struct slot {
    struct file *file; /* NULL: there are no more */
    unsigned char *in, *out;
    size_t in_size, out_size;
    bool bad;          /* the file is damaged, or could not be read, behind these bytes */
    bool last;         /* of the file */
    sched_sem ready;
};

static int level = 6, count;
static bool decompress, keep, force, to_stdout, test;
static char **names;

static struct slot *ring;
static size_t slots, next_slot, most; /* most: bytes in the longest member */
static sched_sem room;
static void **engines; /* for each worker a compressor or a decompressor */

static char *volatile partial; /* a target that is not complete */
static atomic_bool output_lost; /* standard output takes nothing more */
static struct progress progress;

/* --- the tasks between: a block each ----------------------------------------------------------------------------- */

static void deflate_block(void *closure, struct scheduler *s)
{
    struct slot *slot = closure;
    void **engine = &engines[sched_worker_index(s)]; /* this task's until it returns: nothing in it waits */
    if (*engine == NULL && (*engine = libdeflate_alloc_compressor(level)) == NULL)
        no_memory();
    /* The longer header is written over that of libdeflate. */
    const size_t more = HEADER - PLAIN_HEADER;
    slot->out_size = more + libdeflate_gzip_compress(*engine, slot->in, slot->in_size, slot->out + more, most - more);
    memcpy(slot->out, beginning, sizeof beginning);
    for (int i = 0; i < 4; i++)
        slot->out[HEADER - 4 + i] = (unsigned char)(slot->out_size >> 8 * i);
    sched_sem_post(&slot->ready);
}

static void inflate_block(void *closure, struct scheduler *s)
{
    struct slot *slot = closure;
    void **engine = &engines[sched_worker_index(s)];
    if (*engine == NULL && (*engine = libdeflate_alloc_decompressor()) == NULL)
        no_memory();
    size_t used = 0;
    if (libdeflate_gzip_decompress_ex(*engine, slot->in, slot->in_size, slot->out, most, &used, &slot->out_size) != 0
        || used != slot->in_size) {
        fail(STATUS_NO, 0, "%s: the data are damaged", slot->file->name);
        slot->bad = true;
        slot->out_size = 0;
    }
    sched_sem_post(&slot->ready);
}

/* --- the reader -------------------------------------------------------------------------------------------------- */

static struct slot *take_slot(struct file *file, struct scheduler *s)
{
    sched_sem_wait(&room, s);
    struct slot *slot = &ring[next_slot++ % slots];
    if (slot->in == NULL) {
        slot->in = allocate(most, 1);
        slot->out = allocate(most, 1);
    }
    slot->file = file;
    slot->in_size = slot->out_size = 0;
    slot->bad = slot->last = false;
    return slot;
}

/* This and the next ones return false, after a message, if the file cannot be read to its end. */
static bool read_blocks(struct file *file, struct scheduler *s)
{
    ssize_t size = BLOCK;
    for (bool first = true; size == BLOCK && !file->failed; first = false) {
        struct slot *slot = take_slot(file, s);
        size = read_some(file->in, slot->in, BLOCK, BLOCK, -1, s);
        slot->in_size = size > 0 ? (size_t)size : 0;
        if (size > 0 || (size == 0 && first))
            spawn(deflate_block, slot, s);
        else
            sched_sem_post(&slot->ready);
    }
    if (size < 0)
        fail(STATUS_NO, (int)-size, "%s", file->name);
    return size >= 0;
}

/* What was read of a compressed file and is not used yet: from `at` to `end`. */
static struct {
    unsigned char *data;
    size_t at, end;
} ahead;

/* True if there are `size` bytes or more ahead. */
static bool look_ahead(struct file *file, size_t size, struct scheduler *s)
{
    if (ahead.end - ahead.at >= size)
        return true;
    memmove(ahead.data, ahead.data + ahead.at, ahead.end - ahead.at);
    ahead.end -= ahead.at;
    ahead.at = 0;
    ssize_t n = read_some(file->in, ahead.data + ahead.end, size - ahead.end, most - ahead.end, -1, s);
    if (n < 0)
        fail(STATUS_NO, (int)-n, "%s", file->name);
    ahead.end += n > 0 ? (size_t)n : 0;
    return ahead.end >= size;
}

/* A member of another program's, or a damaged one. */
static bool read_foreign(struct file *file, struct scheduler *s)
{
    z_stream z = {0};
    if (inflateInit2(&z, MAX_WBITS + 16) != Z_OK)
        no_memory();
    int how = Z_OK;
    while (how == Z_OK && !file->failed) {
        struct slot *slot = take_slot(file, s);
        for (z.next_out = slot->out, z.avail_out = BLOCK; how == Z_OK && z.avail_out > 0;) {
            look_ahead(file, 1, s);
            z.next_in = ahead.data + ahead.at;
            z.avail_in = (unsigned)(ahead.end - ahead.at);
            how = inflate(&z, Z_NO_FLUSH);
            ahead.at = ahead.end - z.avail_in;
        }
        slot->out_size = BLOCK - z.avail_out;
        sched_sem_post(&slot->ready);
    }
    inflateEnd(&z);
    if (how == Z_OK || how == Z_STREAM_END)
        return true;
    fail(STATUS_NO, 0, "%s: %s", file->name, how == Z_BUF_ERROR ? "unexpected end of file" : "the data are damaged");
    return false;
}

static bool read_members(struct file *file, struct scheduler *s)
{
    ahead.at = ahead.end = 0;
    if (ahead.data == NULL)
        ahead.data = allocate(most, 1);
    for (bool first = true; !file->failed; first = false) {
        bool has_header = look_ahead(file, HEADER, s);
        const unsigned char *p = ahead.data + ahead.at;
        size_t left = ahead.end - ahead.at, size = 0;
        if (left < 2 || p[0] != 0x1f || p[1] != 0x8b) {
            if (first)
                fail(STATUS_NO, 0, "%s: %s", file->name, left < 2 ? "unexpected end of file" : "not in gzip format");
            else if (left > 0 && p[0] != 0) /* zeros fill the last record of a tape */
                fail(STATUS_NO, 0, "%s: what follows the compressed data is ignored", file->name);
            return !first;
        }
        if (has_header && memcmp(p, beginning, sizeof beginning) == 0)
            for (int i = 4; i-- > 0;)
                size = size << 8 | p[HEADER - 4 + i];
        if (size > HEADER && size <= most && look_ahead(file, size, s)) {
            struct slot *slot = take_slot(file, s);
            memcpy(slot->in, ahead.data + ahead.at, slot->in_size = size);
            ahead.at += size;
            spawn(inflate_block, slot, s);
        } else if (!read_foreign(file, s)) {
            return false;
        }
    }
    return true;
}

/* Opens the input and finds the name of the output; returns why the file is to be left as it is, or NULL. */
OWN_ERRNO static const char *open_file(struct file *file)
{
    const char *name = file->name;
    size_t length = strlen(name);
    bool gz = length > 3 && strcmp(name + length - 3, ".gz") == 0;
    bool tgz = length > 4 && strcmp(name + length - 4, ".tgz") == 0;
    bool is_stdin = strcmp(name, "-") == 0, has_target = !is_stdin && !to_stdout && !test;
    if (has_target && (gz || tgz) != decompress)
        return decompress ? "the name does not end in .gz" : "the name ends in .gz already";
    file->in = is_stdin ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC | (has_target && !force ? O_NOFOLLOW : 0));
    if (file->in < 0 || fstat(file->in, &file->status) != 0)
        return errno == ELOOP && has_target && !force ? "a symbolic link, which -f follows" : strerror(errno);
    if (S_ISDIR(file->status.st_mode))
        return strerror(EISDIR);
    if (has_target && !S_ISREG(file->status.st_mode))
        return "not a regular file";
    if (!has_target && !decompress && !force && isatty(STDOUT_FILENO))
        return "standard output is a terminal";
    if (!has_target && !test)
        file->out = STDOUT_FILENO;
    if (has_target) {
        file->target = allocate(length + 4, 1);
        sprintf(file->target, "%.*s%s", (int)(length - (!decompress ? 0 : gz ? 3 : 4)), name,
                !decompress ? ".gz" : gz ? "" : ".tar");
        if (!force && access(file->target, F_OK) == 0)
            return "the file that it would become exists; -f replaces it";
    }
    return NULL;
}

/* --- the writer -------------------------------------------------------------------------------------------------- */

/* Both return 0 or errno. */
OWN_ERRNO static int complete_target(struct file *file)
{
    const struct stat *like = &file->status;
    int fd = file->out;
    bool owned = fchown(fd, like->st_uid, like->st_gid) == 0; /* another owner must not get its set-user-ID */
    if (fchmod(fd, like->st_mode & (owned ? 07777 : 0777)) != 0
        || futimens(fd, (struct timespec[]){like->st_atim, like->st_mtim}) != 0 || (file->out = -1, close(fd) != 0))
        return errno;
    partial = NULL;
    if (!keep && unlink(file->name) != 0)
        fail(STATUS_NO, errno, "%s", file->name);
    return 0;
}

OWN_ERRNO static int open_target(struct file *file)
{
    if (force)
        unlink(file->target);
    file->out = open(file->target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    partial = file->out < 0 ? NULL : file->target;
    return file->out < 0 ? errno : 0;
}

static void write_slot(struct slot *slot, struct scheduler *s)
{
    struct file *file = slot->file;
    int error = file->target != NULL && partial == NULL ? open_target(file) : 0; /* the first slot of the file */
    if (file->out >= 0)
        error = write_all(file->out, slot->out, slot->out_size, s);
    if (error == 0 && !slot->bad && slot->last && file->target != NULL)
        error = complete_target(file);
    if (error != 0)
        fail(STATUS_TROUBLE, error, "%s", file->target != NULL ? file->target : "standard output");
    output_lost |= error != 0 && file->target == NULL;
    if (error != 0 || slot->bad) {
        file->failed = true;
        if (partial != NULL)
            unlink(partial);
        partial = NULL;
        if (file->target != NULL && file->out >= 0)
            close(file->out);
    }
}

static void writer(void *closure, struct scheduler *s)
{
    (void)closure;
    for (size_t n = 0;; n++) {
        struct slot *slot = &ring[n % slots];
        sched_sem_wait(&slot->ready, s);
        if (slot->file == NULL)
            return;
        if (!slot->file->failed && !output_lost)
            write_slot(slot, s);
        progress_add(&progress, (double)(decompress ? slot->out_size : slot->in_size) / (1 << 20));
        sched_sem_post(&room);
    }
}

/* The first task, which becomes the reader. */
static void start(void *closure, struct scheduler *s)
{
    struct file *files = closure;
    int workers = sched_worker_count(s);
    engines = allocate((size_t)workers, sizeof *engines);
    slots = (size_t)workers * 3 + 2;
    ring = allocate(slots, sizeof *ring);
    sched_sem_init(&room, slots);
    sched_task t;
    sched_fork(&t, writer, NULL, s);
    for (int i = 0; i < count && !output_lost; i++) {
        struct file *file = &files[i];
        *file = (struct file){.name = names[i], .in = -1, .out = -1};
        const char *why = open_file(file);
        if (why == NULL) {
            bool good = decompress ? read_members(file, s) : read_blocks(file, s);
            struct slot *slot = take_slot(file, s);
            slot->bad = !good;
            slot->last = true;
            sched_sem_post(&slot->ready);
        } else {
            fail(STATUS_NO, 0, "%s: %s", file->name, why);
        }
        if (file->in > STDIN_FILENO)
            close(file->in);
    }
    sched_sem_post(&take_slot(NULL, s)->ready);
    sched_join(&t, s);
}

/* --- the command line -------------------------------------------------------------------------------------------- */

static void interrupted(int number)
{
    if (partial != NULL)
        unlink(partial);
    signal(number, SIG_DFL);
    raise(number);
}

static const char usage[] =
    "usage: sgz [OPTION]... [FILE]...\n"
    "Compresses each FILE to FILE.gz, or standard input to standard output, on all processors.\n\n"
    "  -1 ... -9, --fast, --best  quicker, or smaller; 6 is the default\n"
    "      --level N     1 to 12\n"
    "  -c, --stdout      write to standard output, and keep the files\n"
    "  -d, --decompress  decompress\n"
    "  -f, --force       replace files, follow links, write to a terminal\n"
    "  -j, --threads N   use N threads\n"
    "  -k, --keep        keep the files\n"
    "  -n, --no-name     has no effect: names and times are never stored\n"
    "  -t, --test        check compressed files\n"
    "      --help        print this\n"
    "      --version     print the version\n";

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"fast", 0, 0, '1'},  {"best", 0, 0, '9'},    {"level", 1, 0, 'L'}, {"stdout", 0, 0, 'c'},
        {"force", 0, 0, 'f'}, {"threads", 1, 0, 'j'}, {"keep", 0, 0, 'k'},  {"decompress", 0, 0, 'd'},
        {"test", 0, 0, 't'},  {"no-name", 0, 0, 'n'}, {"help", 0, 0, 'h'},  {"version", 0, 0, 'v'}, {0, 0, 0, 0}};
    program_name = "sgz";
    int threads = 0;
    for (int letter; (letter = getopt_long(argc, argv, "123456789cdfj:knt", options, NULL)) != -1;)
        switch (letter) {
        case 'L': level = (int)number_of(optarg, "--level", 1, 12); break;
        case 'c': to_stdout = true; break;
        case 'd': decompress = true; break;
        case 'f': force = true; break;
        case 'j': threads = (int)number_of(optarg, "--threads", 0, 4096); break;
        case 'k': keep = true; break;
        case 'n': break;
        case 't': test = decompress = true; break;
        case 'h': return say(usage);
        case 'v': return say_version();
        case '?': return STATUS_TROUBLE;
        default: level = letter - '0';
        }
    static char *standard_input[] = {"-"};
    names = optind < argc ? argv + optind : standard_input;
    count = optind < argc ? argc - optind : 1;
    most = libdeflate_gzip_compress_bound(NULL, BLOCK) + HEADER - PLAIN_HEADER;
    for (const int *number = (int[]){SIGHUP, SIGINT, SIGTERM, 0}; *number != 0; number++)
        if (signal(*number, interrupted) == SIG_IGN)
            signal(*number, SIG_IGN);
    progress_begin(&progress, "MiB", 0);
    if (sched_init(threads, 0, start, allocate((size_t)count, sizeof(struct file))) != 0)
        fail(STATUS_TROUBLE, errno, "sched_init");
    progress_end(&progress);
    return program_status;
}
