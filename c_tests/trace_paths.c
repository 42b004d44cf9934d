/* Where the files of SCHED_TRACE and SCHED_STATS_FILE are. A relative name means the same file for the life of the process,
 * whatever becomes of the working directory. What a FIFO's ordinary reader gets is whole. A file that cannot be written is
 * a line on stderr, once, and no run fails; nor does a limit of files' sizes end the process. A name that the library makes up, that of the child of a fork, is never
 * another's file; a device needs no such name.
 * ctest: static
 * ctest: matrix deque=split idle=park threads=2 */
#include "child.h"
#include <fcntl.h>
#include <sys/stat.h>

static char folder[] = "/tmp/sched-paths-XXXXXX", text[1 << 20];
static int ran;

static void task(void *closure, struct scheduler *s)
{
    ran++;
}

static void run(void)
{
    int before = ran;
    CHECK_EQ(sched_init(2, 16, task, NULL), 0);
    CHECK_EQ(ran, before + 1);
}

/* Reads a file in the folder; returns how many runs it has, as a timeline or as statistics. */
static int runs_in(const char *name)
{
    char path[128];
    int runs = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *in = fopen(path, "r");
    CHECK(in != NULL);
    text[fread(text, 1, sizeof text - 1, in)] = 0;
    fclose(in);
    for (const char *at = text; (at = strstr(at, text[0] == '[' ? "\"process_name\"" : "\"seconds\":")) != NULL; at++)
        runs++;
    return runs;
}

static void check_timeline(const char *name, int runs)
{
    CHECK_EQ(runs_in(name), runs);
    CHECK(strncmp(text, "[\n{", 3) == 0 && strcmp(text + strlen(text) - 4, "}\n]\n") == 0);
    CHECK(strstr(text, "cut here") == NULL);
}

/* Each run begins in another folder; the last one in the child of a fork. */
static void wanders(void *unused)
{
    CHECK_EQ(mkdir("below", 0700), 0);
    setenv("SCHED_TRACE", "trace.json", 1);
    setenv("SCHED_STATS", "json", 1);
    setenv("SCHED_STATS_FILE", "stats", 1);
    run();
    CHECK_EQ(chdir("below"), 0);
    run();
    CHECK_EQ(rmdir("../below"), 0); /* which has no name any more */
    run();
    pid_t pid = fork();
    if (pid == 0) {
        CHECK_EQ(chdir("/"), 0);
        run();
        _exit(0);
    }
    CHECK_EQ(wait_for(pid), 0);
    CHECK_EQ(chdir(folder), 0);
    char name[64];
    snprintf(name, sizeof name, "trace.json.%d", (int)pid);
    check_timeline("trace.json", 3);
    check_timeline(name, 1);
    CHECK_EQ(runs_in("stats"), 4);
    setenv("SCHED_TRACE", "other.json", 1); /* another name is resolved where it is given */
    run();
    check_timeline("other.json", 1);
    CHECK_EQ(unlink(name) | unlink("other.json") | unlink("trace.json") | unlink("stats"), 0);
}

/* As cat(1) does: opens the FIFO, which waits for a writer, and reads to the end. Returns when it sleeps there. */
static pid_t begin_reader(const char *to)
{
    int ends[2];
    char byte, path[64], state;
    CHECK_EQ(pipe(ends), 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        int out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        ssize_t n;
        CHECK_EQ(write(ends[1], "", 1), 1);
        int in = open("fifo", O_RDONLY);
        CHECK(in >= 0 && out >= 0);
        while ((n = read(in, text, sizeof text)) > 0)
            CHECK_EQ(write(out, text, (size_t)n), n);
        _exit(n == 0 ? 0 : 1);
    }
    CHECK_EQ(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    close(ends[1]);
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    struct patience p = patience_of(20);
    do {
        CHECK(is_patient(&p));
        pause_us(1000);
        FILE *in = fopen(path, "r");
        CHECK(in != NULL);
        CHECK_EQ(fscanf(in, "%*d %*s %c", &state), 1);
        fclose(in);
    } while (state != 'S');
    return pid;
}

static void writes_to_fifo(void *variable)
{
    pid_t reader = begin_reader("got");
    setenv(variable, "fifo", 1);
    run();
    CHECK_EQ(wait_for(reader), 0);
    run(); /* nobody reads */
    run();
}

static void writes_to(void *path)
{
    setenv("SCHED_TRACE", path, 1);
    run();
    run();
    if (fork() == 0) {
        run();
        _exit(0);
    }
    int status;
    CHECK(wait(&status) > 0);
    CHECK_EQ(status, 0);
}

static void is_in_no_folder(void *unused)
{
    CHECK_EQ(mkdir("gone", 0700) | chdir("gone") | rmdir("../gone"), 0);
    writes_to("trace.json");
}

/* Files have no room for a timeline or for statistics. */
static void is_limited(void *unused)
{
    struct rlimit little = {400, 400};
    setenv("SCHED_TRACE", "trace.json", 1);
    setenv("SCHED_STATS", "json", 1);
    setenv("SCHED_STATS_FILE", "stats", 1);
    FILE *stats = fopen("stats", "w");
    CHECK(stats != NULL && fprintf(stats, "%399d\n", 0) == 400 && fclose(stats) == 0);
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
    run();
    run();
}

/* Somebody knows the name of the child's file, and has put a file of theirs, or a link, there. */
static void is_expected(void *kind)
{
    setenv("SCHED_TRACE", "trace.json", 1);
    run();
    if (fork() == 0) {
        char name[64];
        snprintf(name, sizeof name, "trace.json.%d", (int)getpid());
        if (strcmp(kind, "link") == 0)
            CHECK_EQ(symlink("victim", name), 0);
        else if (strcmp(kind, "hard link") == 0)
            CHECK_EQ(link("victim", name), 0);
        else if (strcmp(kind, "folder") == 0)
            CHECK_EQ(mkdir(name, 0700), 0);
        else
            CHECK_EQ(fclose(fopen(name, "w")), 0); /* an earlier process has left it */
        run();
        run();
        if (strcmp(kind, "file") == 0)
            check_timeline(name, 2);
        CHECK_EQ(strcmp(kind, "folder") == 0 ? rmdir(name) : unlink(name), 0);
        _exit(0);
    }
    int status;
    CHECK(wait(&status) > 0);
    CHECK_EQ(status, 0);
}

int main(void)
{
    unsetenv("SCHED_STATS");
    CHECK(mkdtemp(folder) != NULL && chdir(folder) == 0);
    in_child(wanders, NULL);
    CHECK_CHILD_EXITED(0);
    CHECK_EQ(strlen(child.said), 0);

    CHECK_EQ(mkfifo("fifo", 0600), 0);
    in_child(writes_to_fifo, "SCHED_TRACE");
    CHECK_CHILD_EXITED(0);
    CHECK_CHILD_SAID("SCHED_TRACE=");
    CHECK_EQ(count_lines(child.said), 1);
    check_timeline("got", 1);
    setenv("SCHED_STATS", "json", 1);
    in_child(writes_to_fifo, "SCHED_STATS_FILE");
    unsetenv("SCHED_STATS");
    CHECK_CHILD_EXITED(0);
    CHECK_EQ(runs_in("got"), 1);
    CHECK_EQ(count_said("SCHED_STATS_FILE="), 1);
    CHECK_EQ(count_said("\"seconds\":"), 2); /* on stderr */
    CHECK_EQ(unlink("fifo") | unlink("got"), 0);

    in_child(is_limited, NULL);
    CHECK_CHILD_EXITED(0);
    CHECK_EQ(count_said("SCHED_TRACE="), 1);
    CHECK_EQ(count_said("SCHED_STATS_FILE="), 1);
    CHECK_EQ(count_said("\"seconds\":"), 2);
    CHECK_EQ(runs_in("trace.json"), 0);
    CHECK(strncmp(text, "[\n{", 3) == 0 && strstr(text, "cut here") && strcmp(text + strlen(text) - 4, "}\n]\n") == 0);
    CHECK_EQ(unlink("trace.json") | unlink("stats"), 0);

    char *const refuse[] = {"/nowhere/trace.json", folder};
    for (int i = 0; i < 2; i++) {
        in_child(writes_to, refuse[i]);
        CHECK_CHILD_EXITED(0);
        CHECK_CHILD_SAID("SCHED_TRACE=");
        CHECK_EQ(count_lines(child.said), 1);
    }
    in_child(is_in_no_folder, NULL);
    CHECK_CHILD_EXITED(0);
    CHECK_CHILD_SAID("SCHED_TRACE=");
    in_child(writes_to, "/dev/null");
    CHECK_CHILD_EXITED(0);
    CHECK_EQ(strlen(child.said), 0);

    for (int i = 0; i < 4; i++) {
        static char *const kinds[] = {"link", "folder", "hard link", "file"};
        FILE *victim = fopen("victim", "w");
        CHECK(victim != NULL && fputs("precious", victim) > 0 && fclose(victim) == 0);
        in_child(is_expected, kinds[i]);
        CHECK_CHILD_EXITED(0);
        CHECK_EQ(count_said("SCHED_TRACE="), i < 3);
        check_timeline("trace.json", 1);
        CHECK_EQ(runs_in("victim"), 0);
        CHECK(strcmp(text, "precious") == 0);
        CHECK_EQ(unlink("victim") | unlink("trace.json"), 0);
    }
    CHECK_EQ(rmdir(folder), 0); /* nothing else was made */
    return 0;
}
