/* ssum: checksums of files and directory trees on all processors, printed as sha256sum prints them, and checked.
 *
 * pkg-config: libcrypto (libssl-dev)
 *
 * What it teaches: fork and join in order. The first task walks the trees and forks a task for each file. The tasks'
 * descriptors stand in a ring. When the oldest task has ended, or when the ring is full, the first task joins the
 * oldest task and prints its line:
 *
 *      walker:   fork 9, fork 10, ...   join 3, print; join 4, print; ...
 *      ring:     [3 done] [4 done] [5 works] [6 done] [7 works] [8 waits] ...
 *
 * - sched_fork allocates nothing, and any number of tasks may be forked before the first is joined, in any order. The
 *   lines have the order of the names, whichever file is ready first; and however many files there are, the ring
 *   bounds the memory.
 * - A task opens and reads its file in blocking sections: while that waits for a disk, another thread takes the
 *   worker's place and computes. So many requests are on their way to the disk at the same time.
 * - Nothing that a task needs after a section belongs to the thread, which may be another one then (errno: see
 *   OWN_ERRNO in program.h). */

#define _GNU_SOURCE
#include <openssl/evp.h>
#include <stdbool.h>

#include "walk.h"

enum { RING = 4096, CHUNK = 1 << 18 };

struct job {
    sched_task task;
    char *name;
    atomic_bool done;
    int error;                 /* 0: the sum is there */
    unsigned char sum[EVP_MAX_MD_SIZE], expected[EVP_MAX_MD_SIZE];
};

static struct job ring[RING];
static size_t forked, joined; /* job n is ring[n % RING] */

static EVP_MD *algorithm;
static size_t length;         /* of a sum, in bytes */
static bool check, quiet, silent, strict, warn, ignore_missing;
static char **names;
static int count;
static struct progress progress;

/* Of the list that is being checked. */
static size_t good, different, unreadable, improper;

/* --- a file: any worker's ---------------------------------------------------------------------------------------- */

/* Opens the file and reads its first bytes, in one section. Returns their number or -errno. */
OWN_ERRNO static ssize_t open_and_read(const char *name, int *fd, unsigned char *buffer, struct scheduler *s)
{
    bool is_stdin = strcmp(name, "-") == 0;
    int began = sched_block_begin(s) == 0;
    *fd = is_stdin ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    /* read_some begins a section within this one, which is allowed. */
    ssize_t n = *fd < 0 ? -errno : read_some(*fd, buffer, CHUNK, CHUNK, -1, s);
    if (n >= 0 && n < CHUNK && !is_stdin) { /* that was all */
        close(*fd);
        *fd = -1;
    }
    if (began)
        sched_block_end(s);
    return n;
}

static void sum_file(void *closure, struct scheduler *s)
{
    struct job *job = closure;
    unsigned char *buffer = malloc(CHUNK);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (buffer == NULL || context == NULL || EVP_DigestInit_ex(context, algorithm, NULL) != 1)
        no_memory();
    int fd;
    ssize_t n = open_and_read(job->name, &fd, buffer, s);
    while (n > 0 && EVP_DigestUpdate(context, buffer, (size_t)n) == 1) {
        progress_add(&progress, (double)n / (1 << 20));
        n = n < CHUNK ? 0 : read_some(fd, buffer, CHUNK, CHUNK, -1, s);
    }
    job->error = n < 0 ? (int)-n : EVP_DigestFinal_ex(context, job->sum, NULL) == 1 ? 0 : EIO;
    if (fd > STDIN_FILENO)
        close(fd);
    EVP_MD_CTX_free(context);
    free(buffer);
    job->done = true;
}

/* --- the first task: prints -------------------------------------------------------------------------------------- */

/* Begins a line with the name as sha256sum prints it: escaped, if it has one of these, after a backslash and the text
 * that stands before the name. */
static void print_name(const char *before, const char *name)
{
    bool escape = strpbrk(name, "\n\r\\") != NULL;
    printf("%s%s", escape ? "\\" : "", before);
    for (const char *p = name; *p != '\0'; p++)
        if (escape && (*p == '\n' || *p == '\r' || *p == '\\'))
            printf("\\%c", *p == '\n' ? 'n' : *p == '\r' ? 'r' : '\\');
        else
            putchar(*p);
}

static void print_sum(const struct job *job)
{
    char hex[2 * EVP_MAX_MD_SIZE + 3];
    for (size_t i = 0; i < 2 * length; i++)
        hex[i] = "0123456789abcdef"[job->sum[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15];
    memcpy(hex + 2 * length, "  ", 3);
    print_name(hex, job->name);
    putchar('\n');
}

/* Names are escaped as in sums, which sha256sum does since coreutils 9.4 (since 9.11 it quotes them as for a shell). */
static void print_answer(const struct job *job, const char *answer)
{
    if (silent)
        return;
    print_name("", job->name);
    printf(": %s\n", answer);
}

static void join_oldest(struct scheduler *s)
{
    struct job *job = &ring[joined++ % RING];
    sched_join(&job->task, s);
    bool missing = check && ignore_missing && job->error == ENOENT;
    if (job->error != 0 && !missing)
        fail(STATUS_NO, job->error, "%s", job->name);
    if (!check && job->error == 0)
        print_sum(job);
    if (check && job->error != 0 && !missing) {
        unreadable++;
        print_answer(job, "FAILED open or read");
    } else if (check && job->error == 0) {
        bool same = memcmp(job->sum, job->expected, length) == 0;
        *(same ? &good : &different) += 1;
        if (!same || !quiet)
            print_answer(job, same ? "OK" : "FAILED");
    }
    free(job->name);
    check_output();
}

/* The name is freed later. */
static void add_file(char *name, const unsigned char *expected, struct scheduler *s)
{
    while (joined < forked && (forked - joined == RING || ring[joined % RING].done))
        join_oldest(s);
    struct job *job = &ring[forked++ % RING];
    job->name = name;
    job->done = false;
    if (expected != NULL)
        memcpy(job->expected, expected, length);
    sched_fork(&job->task, sum_file, job, s);
}

/* The walk has found a file. */
static void found_file(const char *name, void *ctx, struct scheduler *s)
{
    (void)ctx;
    add_file(copy_of(name), NULL, s);
}

static void join_all(struct scheduler *s)
{
    while (joined < forked)
        join_oldest(s);
}

/* --- the first task: reads lists --------------------------------------------------------------------------------- */

/* Takes a line apart, in place; false if it is not a sum, two blanks (or a blank and an asterisk) and a name. */
static bool parse_line(char *line, unsigned char *sum, char **name)
{
    bool escaped = line[0] == '\\';
    line += escaped;
    for (size_t i = 0; i < length; i++) {
        unsigned value;
        int used = 0;
        if (sscanf(line + 2 * i, "%2x%n", &value, &used) != 1 || used != 2 || strchr("+- \t", line[2 * i]) != NULL)
            return false;
        sum[i] = (unsigned char)value;
    }
    line += 2 * length;
    if (line[0] != ' ' || (line[1] != ' ' && line[1] != '*') || line[2] == '\0')
        return false;
    char *to = *name = line + 2;
    for (const char *from = to; *from != '\0'; from++) {
        char c = *from;
        if (escaped && c == '\\') {
            const char *which = strchr("n\nr\r\\\\", *++from);
            if (*from == '\0' || which == NULL)
                return false;
            c = which[*from != '\\'];
        }
        *to++ = c;
    }
    *to = '\0';
    return true;
}

static void warning(size_t number, const char *one, const char *several)
{
    if (number > 0 && !silent)
        complain(0, "WARNING: %zu %s", number, number == 1 ? one : several);
}

OWN_ERRNO static void check_list(const char *list, struct scheduler *s)
{
    good = different = unreadable = improper = 0;
    bool is_stdin = strcmp(list, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(list, "r");
    if (file == NULL) {
        fail(STATUS_NO, errno, "%s", list);
        return;
    }
    char *line = NULL, *name;
    size_t room = 0, lines = 0, number = 0;
    for (ssize_t n; (n = getline(&line, &room, file)) >= 0;) {
        unsigned char sum[EVP_MAX_MD_SIZE];
        number++;
        for (const char *end = "\n\r"; *end != '\0'; end++)
            if (n > 0 && line[n - 1] == *end)
                line[--n] = '\0';
        if (n == 0 || line[0] == '#')
            continue;
        if (strlen(line) == (size_t)n && parse_line(line, sum, &name)) {
            lines++;
            add_file(copy_of(name), sum, s);
        } else {
            improper++;
            if (warn)
                complain(0, "%s: %zu: improperly formatted checksum line", list, number);
        }
    }
    join_all(s);
    if (ferror(file))
        fail(STATUS_NO, 0, "%s: read error", list);
    if (!is_stdin)
        fclose(file);
    free(line);
    if (lines == 0) {
        fail(STATUS_NO, 0, "%s: no properly formatted checksum lines found", list);
        return;
    }
    warning(improper, "line is improperly formatted", "lines are improperly formatted");
    warning(unreadable, "listed file could not be read", "listed files could not be read");
    warning(different, "computed checksum did NOT match", "computed checksums did NOT match");
    if (ignore_missing && good == 0 && !silent)
        complain(0, "%s: no file was verified", list);
    if (different + unreadable > 0 || (strict && improper > 0) || (ignore_missing && good == 0))
        program_status = program_status > STATUS_NO ? program_status : STATUS_NO;
}

static void start(void *closure, struct scheduler *s)
{
    (void)closure;
    for (int i = 0; i < count; i++) {
        struct stat status;
        if (check)
            check_list(names[i], s);
        else if (strcmp(names[i], "-") != 0 && stat(names[i], &status) == 0 && S_ISDIR(status.st_mode))
            walk(&(struct walk){.file = found_file, .trouble = STATUS_NO}, names[i], s);
        else
            found_file(names[i], NULL, s);
    }
    join_all(s);
}

static const char usage[] =
    "usage: ssum [OPTION]... [FILE]...\n"
    "Prints the SHA-256 checksums of the files, and of all files in the directories, as sha256sum does.\n\n"
    "  -a, --algorithm NAME  another sum: sha1, sha512, blake2b512, ...\n"
    "  -c, --check           the files are lists of sums: check them\n"
    "  -j, --threads N       use N threads\n"
    "      --help            print this\n"
    "      --version         print the version\n\n"
    "With --check:\n"
    "      --ignore-missing  say nothing of files that are missing\n"
    "      --quiet           print no line for a file that is as listed\n"
    "      --status          print nothing: the exit status tells\n"
    "      --strict          a line that is not understood is an error\n"
    "  -w, --warn            name lines that are not understood\n";

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"algorithm", 1, 0, 'a'}, {"check", 0, 0, 'c'},  {"threads", 1, 0, 'j'}, {"ignore-missing", 0, 0, 'i'},
        {"quiet", 0, 0, 'q'},     {"status", 0, 0, 's'}, {"strict", 0, 0, 'S'},  {"warn", 0, 0, 'w'},
        {"help", 0, 0, 'h'},      {"version", 0, 0, 'v'}, {0, 0, 0, 0}};
    program_name = "ssum";
    const char *which = "SHA256";
    int threads = 0;
    for (int letter; (letter = getopt_long(argc, argv, "a:cj:w", options, NULL)) != -1;)
        switch (letter) {
        case 'a': which = optarg; break;
        case 'c': check = true; break;
        case 'j': threads = (int)number_of(optarg, "--threads", 0, 4096); break;
        case 'i': ignore_missing = true; break;
        case 'q': quiet = true; break;
        case 's': silent = true; break;
        case 'S': strict = true; break;
        case 'w': warn = true; break;
        case 'h': return say(usage);
        case 'v': return say_version();
        default: return STATUS_TROUBLE;
        }
    algorithm = EVP_MD_fetch(NULL, which, NULL);
    if (algorithm == NULL || EVP_MD_get_size(algorithm) <= 0)
        fatal(0, "--algorithm %s: libcrypto does not have it", which);
    length = (size_t)EVP_MD_get_size(algorithm);
    static char *standard_input[] = {"-"};
    names = optind < argc ? argv + optind : standard_input;
    count = optind < argc ? argc - optind : 1;
    if (!isatty(STDOUT_FILENO)) /* where the lines tell how far it is */
        progress_begin(&progress, "MiB", 0);
    else
        progress.next = LLONG_MAX;
    if (sched_init(threads, 0, start, NULL) != 0)
        fail(STATUS_TROUBLE, errno, "sched_init");
    progress_end(&progress);
    return output_written() ? program_status : STATUS_TROUBLE;
}
