/* traces: SCHED_TRACE. */
#include "case.h"
#include "child.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sched_tasks.h>

/* trace_cut: The process ends while a thread writes the timeline of a run that is over: by exit, or
 * by a signal. It waits until the timeline is whole. The file is a pipe: the thread is in the
 * middle of it until the pipe is read.
 * ctest: static sleeps
 * ctest: matrix deque=split idle=park threads=2 */
enum { CUT_TASKS = 3000, ROOM = 4096 };

static char cut_folder[] = "/tmp/sched-trace-XXXXXX", cut_path[64], cut_text[4 << 20];
static size_t length;
static int is_over;

static void cut_root(void *closure, struct scheduler *s)
{
    CHECK_TIMES(CUT_TASKS, sched_spawn(nothing, closure, s));
}

static void *cut_run(void *unused)
{
    sched_init(2, 16, cut_root, unused);
    return NULL;
}

/* Returns when so many bytes are in the pipe that the next ones may not fit, or when the child is over. */
static void wait_until_full(int pipe)
{
    int full = fcntl(pipe, F_GETPIPE_SZ) - ROOM, bytes = 0;
    while (bytes < full && !__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        usleep(1000);
        CHECK_EQ(ioctl(pipe, FIONREAD, &bytes), 0);
    }
}

static void end_early(void *by_signal)
{
    setenv("SCHED_TRACE", cut_path, 1);
    int pipe = open(cut_path, O_RDWR);
    CHECK(pipe >= 0);
    pthread_t thread = begin_thread(cut_run, NULL);
    wait_until_full(pipe);
    if (by_signal == NULL)
        exit(3);
    kill(getpid(), SIGTERM);
    pthread_join(thread, NULL);
    for (;;)
        pause();
}

static void *read_late(void *pipe_of)
{
    int pipe = *(int *)pipe_of;
    wait_until_full(pipe);
    usleep(100000); /* in the meantime the child is about to end */
    struct pollfd readable = {pipe, POLLIN, 0};
    for (;;) {
        int last = __atomic_load_n(&is_over, __ATOMIC_ACQUIRE);
        if (poll(&readable, 1, last ? 0 : 10) > 0) {
            ssize_t n = read(pipe, cut_text + length, sizeof cut_text - 1 - length);
            CHECK(n > 0);
            length += (size_t)n;
        } else if (last)
            return NULL;
    }
}

static void look(int by_signal)
{
    length = 0;
    is_over = 0;
    CHECK_EQ(mkfifo(cut_path, 0600), 0);
    int pipe = open(cut_path, O_RDWR);
    CHECK(pipe >= 0);
    pthread_t reader = begin_thread(read_late, &pipe);
    in_child(end_early, by_signal ? cut_path : NULL);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    CHECK_EQ(pthread_join(reader, NULL), 0);
    close(pipe);
    unlink(cut_path);
    cut_text[length] = '\0';
    if (!by_signal)
        CHECK_CHILD_EXITED(3);
    else
        CHECK(WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGTERM);
    CHECK(length > 65536 && strncmp(cut_text, "[\n{", 3) == 0);
    CHECK(strcmp(cut_text + length - 3, "\n]\n") == 0);
}

CASE(trace_cut)
{
    CHECK(mkdtemp(cut_folder) != NULL);
    snprintf(cut_path, sizeof cut_path, "%s/pipe", cut_folder);
    look(0);
    look(1);
    rmdir(cut_folder);
}

/* trace_exit: A task that calls exit in the middle of a run: the timeline up to there is written.
 * ctest: static
 * ctest: matrix deque=split,mutex idle=park threads=2 */
enum { TASKS = 100 };

static char path[] = "/tmp/sched-trace-XXXXXX", text[1 << 20];

static void counted(void *closure, struct scheduler *s)
{
    if (__atomic_add_fetch((int *)closure, 1, __ATOMIC_RELAXED) == TASKS)
        exit(3);
}

static void leaving(void *closure, struct scheduler *s)
{
    CHECK_TIMES(TASKS, sched_spawn(counted, closure, s));
}

static void exit_body(void *unused)
{
    static int ran;
    setenv("SCHED_TRACE", path, 1);
    sched_init(2, 16, leaving, &ran);
    check_say("sched_init came back");
}

CASE(trace_exit)
{
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    in_child(exit_body, NULL);
    ssize_t n = read(fd, text, sizeof text - 1);
    unlink(path);
    CHECK_CHILD_EXITED(3);
    CHECK_EQ(strlen(child.said), 0);
    CHECK(n > 4 && strncmp(text, "[\n{", 3) == 0 && strcmp(text + n - 3, "\n]\n") == 0);
    int begun = 0;
    for (const char *at = text; (at = strstr(at, "\"begins\":true")) != NULL; at++)
        begun++;
    CHECK(begun >= TASKS);
}

/* trace_file: The file of SCHED_TRACE: all runs of a process are one array, which is complete after
 * each run; a child made by fork writes a file of its own; short tasks are merged by
 * SCHED_TRACE_MERGE; events that have no room are dropped, the oldest first, and the user is told.
 * ctest: static
 * ctest: matrix deque=split,mutex idle=park threads=2 */
enum { SHARED_TASKS = 1000 };

static char file_path[] = "/tmp/sched-trace-XXXXXX", file_text[4 << 20];

static void file_first_function(void *closure, struct scheduler *s)
{
    long n = (long)closure;
    CHECK_TIMES(n, sched_spawn(nothing, NULL, s));
}

static void file_run(long tasks)
{
    CHECK_EQ(sched_init(2, 16, file_first_function, (void *)tasks), 0);
}

/* Reads a file of which the text is an array of at least `least` events. */
static void read_events(const char *file, int least)
{
    FILE *in = fopen(file, "r");
    CHECK(in != NULL);
    size_t n = fread(file_text, 1, sizeof file_text - 1, in);
    fclose(in);
    CHECK(n < sizeof file_text - 1);
    file_text[n] = 0;
    int events = 0;
    for (const char *at = file_text; (at = strstr(at, "\n{\"ph\":")) != NULL; at++)
        events++;
    CHECK(strncmp(file_text, "[\n{", 3) == 0);
    CHECK(n > 4 && strcmp(file_text + n - 4, "}\n]\n") == 0);
    CHECK(strchr(strstr(file_text, "\n]") + 2, ']') == NULL);
    CHECK(events >= least);
}

static int file_count(const char *word)
{
    int n = 0;
    for (const char *at = file_text; (at = strstr(at, word)) != NULL; at++)
        n++;
    return n;
}

/* The sum of the numbers behind "tasks": in the events of merged tasks. */
static long merged(void)
{
    long sum = 0;
    for (const char *at = file_text; (at = strstr(at, "\"ph\":\"X\"")) != NULL; at++) {
        const char *end = strchr(at, '\n'), *tasks = strstr(at, "{\"tasks\":");
        if (tasks != NULL && tasks < end)
            sum += atol(tasks + strlen("{\"tasks\":"));
    }
    return sum;
}

static void file_several(void *unused)
{
    for (int i = 1; i <= 3; i++) {
        file_run(SHARED_TASKS);
        read_events(file_path, 2 * i * SHARED_TASKS);
        CHECK_EQ(file_count("\"process_name\""), i);
        CHECK_EQ(file_count("\"begins\":true"), i * (SHARED_TASKS + 1));
        CHECK(file_count("\"name\":\"file_first_function\",\"args\":{\"task\"") >= i);
        CHECK(file_count("\"name\":\"nothing\"") >= i * SHARED_TASKS);
    }
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        file_run(1);
        _exit(0);
    }
    CHECK_EQ(wait_for(pid), 0);
    char name[64];
    snprintf(name, sizeof name, "%s.%d", file_path, (int)pid);
    read_events(name, 4);
    CHECK_EQ(unlink(name), 0);
    CHECK_EQ(file_count("\"begins\":true"), 2);
    read_events(file_path, 6 * SHARED_TASKS);
    CHECK_EQ(file_count("\"process_name\""), 3);
}

static void merging(void *unused)
{
    setenv("SCHED_TRACE_MERGE", "1s", 1);
    file_run(SHARED_TASKS);
    read_events(file_path, 3);
    CHECK_EQ(merged() + file_count("\"begins\":true"), SHARED_TASKS + 1);
    CHECK(file_count("\"begins\":true") <= SHARED_TASKS / 2);
    CHECK(strstr(file_text, " × nothing\"") != NULL);
}

static void dropping(void *unused)
{
    setenv("SCHED_TRACE_SIZE", "4K", 1);
    file_run(SHARED_TASKS);
    read_events(file_path, 3);
    CHECK(file_count("\"lost_events\":0") == 0);
    CHECK(file_count("\"ph\":\"E\"") <= 4 << 10);
}

CASE(trace_file)
{
    int fd = mkstemp(file_path);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, "what was there before", 21), 21);
    close(fd);
    setenv("SCHED_TRACE", file_path, 1);
    CHECK_IN_CHILD(file_several, NULL);
    CHECK_IN_CHILD(merging, NULL);
    CHECK_IN_CHILD(dropping, NULL);
    CHECK_CHILD_SAID("events were dropped");
    unlink(file_path);
}

/* trace_gzip: A file of SCHED_TRACE whose name ends with .gz is one gzip member, which is complete
 * after each run; a child made by fork writes a file of its own, whose name also ends with .gz; a
 * file that somebody has emptied is begun anew.
 * ctest: static
 * ctest: matrix deque=split idle=park threads=2 */
static char gzip_folder[] = "/tmp/sched-gzip-XXXXXX", gzip_path[64], gzip_text[4 << 20];

static void gzip_first_function(void *closure, struct scheduler *s)
{
    CHECK_TIMES(SHARED_TASKS, sched_spawn(nothing, NULL, s));
}

static int gzip_run(void)
{
    return sched_init(2, 16, gzip_first_function, NULL);
}

/* Decompresses the file, whose text is an array of the events of this many runs. */
static void read_runs(const char *file, int runs)
{
    char command[128];
    snprintf(command, sizeof command, "gzip -dc %s", file);
    FILE *in = popen(command, "r");
    CHECK(in != NULL);
    size_t n = fread(gzip_text, 1, sizeof gzip_text - 1, in);
    CHECK_EQ(pclose(in), 0);
    CHECK(n < sizeof gzip_text - 1);
    gzip_text[n] = 0;
    int processes = 0, begins = 0;
    for (const char *at = gzip_text; (at = strstr(at, "\"process_name\"")) != NULL; at++)
        processes++;
    for (const char *at = gzip_text; (at = strstr(at, "\"begins\":true")) != NULL; at++)
        begins++;
    CHECK_EQ(processes, runs);
    CHECK_EQ(begins, runs * (SHARED_TASKS + 1));
    CHECK(strncmp(gzip_text, "[\n{", 3) == 0);
    CHECK(n > 4 && strcmp(gzip_text + n - 4, "}\n]\n") == 0);
    CHECK(strchr(strstr(gzip_text, "\n]") + 2, ']') == NULL);
    struct stat status;
    CHECK_EQ(stat(file, &status), 0);
    CHECK((size_t)status.st_size < n / 2);
    /* The only header is at the beginning: a viewer that reads one member reads all. Its last four bytes are the
     * length of the whole text, not of a part. */
    FILE *raw = fopen(file, "r");
    unsigned char end[4];
    CHECK(raw != NULL);
    CHECK_EQ(fseek(raw, -4, SEEK_END), 0);
    CHECK_EQ(fread(end, 1, 4, raw), 4);
    fclose(raw);
    CHECK_EQ(end[0] | end[1] << 8 | end[2] << 16 | (long)end[3] << 24, (long)n);
}

static void gzip_several(void *unused)
{
    if (gzip_run() != 0 && errno == ELIBACC)
        _exit(77); /* there is no libz.so.1 */
    for (int i = 1; i <= 3; i++) {
        read_runs(gzip_path, i);
        CHECK_EQ(gzip_run(), 0);
    }
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        CHECK_EQ(gzip_run(), 0);
        _exit(0);
    }
    CHECK_EQ(wait_for(pid), 0);
    char name[96];
    snprintf(name, sizeof name, "%s/trace.json.%d.gz", gzip_folder, (int)pid);
    read_runs(name, 1);
    CHECK_EQ(unlink(name), 0);
    read_runs(gzip_path, 4);
    CHECK_EQ(truncate(gzip_path, 0), 0);
    CHECK_EQ(gzip_run(), 0);
    read_runs(gzip_path, 1);
}

CASE(trace_gzip)
{
    CHECK(mkdtemp(gzip_folder) != NULL);
    snprintf(gzip_path, sizeof gzip_path, "%s/trace.json.gz", gzip_folder);
    setenv("SCHED_TRACE", gzip_path, 1);
    if (system("gzip --version >/dev/null 2>&1") != 0) {
        rmdir(gzip_folder);
        skip("gzip is missing");
    }
    in_child(gzip_several, NULL);
    unlink(gzip_path);
    rmdir(gzip_folder);
    if (WIFEXITED(child.status) && WEXITSTATUS(child.status) == 77)
        CHECK_CHILD_SAID("libz.so.1");
    CHECK_CHILD_PASSED();
}

/* trace_kills: Processes that write timelines are killed at random moments, by each signal that the
 * library handles and by two that it does not. Afterwards the file is an array of whole events. If
 * events are missing, the last one says so. KILLS sets the number of processes for each signal.
 * ctest: static
 * ctest: matrix kind=steal deque=split idle=park threads=2 timeout=60 */
enum { KILLS_TASKS = 400 };

static char kills_path[] = "/tmp/sched-kills-XXXXXX", kills_text[32 << 20];
static int begun_by;
static const int kills_signals[] = {SIGHUP, SIGINT, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGPIPE, SIGALRM, SIGTERM,
                                    SIGXCPU, SIGSYS, SIGUSR1, SIGUSR2};
enum { SIGNALS = sizeof kills_signals / sizeof *kills_signals, HANDLED = SIGNALS - 2 };

static void kills_root(void *closure, struct scheduler *s)
{
    CHECK_TIMES(KILLS_TASKS, sched_spawn(nothing, closure, s));
}

static void runs(void *unused)
{
    for (int i = 0; i < SIGNALS; i++)
        signal(kills_signals[i], SIG_DFL); /* nohup, and a shell in the background, leave some ignored */
    setenv("SCHED_TRACE", kills_path, 1);
    for (;;) {
        CHECK_EQ(sched_init(2, 64, kills_root, NULL), 0);
        if (begun_by >= 0) {
            close(begun_by);
            begun_by = -1;
        }
    }
}

/* The first bytes of an event, and its brace; between them the braces are even, outside of strings. */
static int is_event(const char *at, const char *end)
{
    int depth = 0, in_string = 0;
    if (end - at < 8 || strncmp(at, "{\"ph\":\"", 7) != 0 || end[-1] != '}')
        return 0;
    for (; at < end; at++) {
        if (in_string && *at == '\\')
            at++;
        else if (*at == '"')
            in_string = !in_string;
        else if (!in_string)
            depth += (*at == '{') - (*at == '}');
    }
    return depth == 0 && !in_string;
}

/* True if the last event says that there should be more. */
static int kills_check_file(void)
{
    FILE *in = fopen(kills_path, "r");
    CHECK(in != NULL);
    size_t n = fread(kills_text, 1, sizeof kills_text - 1, in);
    fclose(in);
    CHECK(n < sizeof kills_text - 1);
    kills_text[n] = 0;
    CHECK(strncmp(kills_text, "[\n", 2) == 0);
    char *last = kills_text;
    for (char *at = kills_text + 2;;) {
        char *end = strchr(at, '\n');
        CHECK(end != NULL);
        int more = end[-1] == ',';
        CHECK(is_event(at, end - more));
        last = at;
        at = end + 1;
        if (!more) {
            CHECK(strcmp(at, "]\n") == 0);
            return strstr(last, "cut here") != NULL;
        }
    }
}

CASE(trace_kills)
{
    const char *asked = getenv("KILLS");
    int kills = asked ? atoi(asked) : 40 / SMALLER, pipe_ends[2];
    uint64_t seed = (uint64_t)getpid();
    int fd = mkstemp(kills_path);
    CHECK(fd >= 0);
    close(fd);
    for (int i = 0; i < kills * SIGNALS; i++) {
        int signal = kills_signals[i % SIGNALS], said;
        size_t got = 0;
        char byte;
        CHECK_EQ(pipe(pipe_ends), 0);
        begun_by = pipe_ends[1];
        child.said[0] = 0;
        pid_t pid = begin_child(runs, NULL, &said);
        close(pipe_ends[1]);
        CHECK_EQ(read(pipe_ends[0], &byte, 1), 0); /* the first run has ended */
        close(pipe_ends[0]);
        pause_us((long)(next_random(&seed) % 8000));
        CHECK_EQ(kill(pid, signal), 0);
        while (read_said(said, &got))
            continue;
        close(said);
        child.status = wait_for(pid);
        check_child(__FILE__, __LINE__, WIFSIGNALED(child.status) && WTERMSIG(child.status) == signal, "be killed");
        int is_cut = kills_check_file();
        CHECK(!is_cut || i % SIGNALS >= HANDLED || strstr(child.said, "not whole") != NULL);
    }
    unlink(kills_path);
}

/* trace_paths: Where the files of SCHED_TRACE and SCHED_STATS_FILE are. A relative name means the
 * same file for the life of the process, whatever becomes of the working directory. What a FIFO's
 * ordinary reader gets is whole. A file that cannot be written is a line on stderr, once, and no
 * run fails; nor does a limit of files' sizes end the process. A name that the library makes up,
 * that of the child of a fork, is never another's file; a device needs no such name.
 * ctest: static
 * ctest: matrix deque=split idle=park threads=2 */
static char paths_folder[] = "/tmp/sched-paths-XXXXXX", paths_text[1 << 20];
static int paths_ran;

COUNTING_TASK(paths_task, paths_ran)

static void paths_run(void)
{
    int before = paths_ran;
    CHECK_EQ(sched_init(2, 16, paths_task, NULL), 0);
    CHECK_EQ(paths_ran, before + 1);
}

/* Reads a file in the folder; returns how many runs it has, as a timeline or as statistics. */
static int runs_in(const char *name)
{
    char path[128];
    int runs = 0;
    snprintf(path, sizeof path, "%s/%s", paths_folder, name);
    FILE *in = fopen(path, "r");
    CHECK(in != NULL);
    paths_text[fread(paths_text, 1, sizeof paths_text - 1, in)] = 0;
    fclose(in);
    for (const char *at = paths_text; (at = strstr(at, paths_text[0] == '[' ? "\"process_name\"" : "\"seconds\":")) != NULL; at++)
        runs++;
    return runs;
}

static void check_timeline(const char *name, int runs)
{
    CHECK_EQ(runs_in(name), runs);
    CHECK(strncmp(paths_text, "[\n{", 3) == 0 && strcmp(paths_text + strlen(paths_text) - 4, "}\n]\n") == 0);
    CHECK(strstr(paths_text, "cut here") == NULL);
}

/* Each run begins in another folder; the last one in the child of a fork. */
static void wanders(void *unused)
{
    CHECK_EQ(mkdir("below", 0700), 0);
    setenv("SCHED_TRACE", "trace.json", 1);
    setenv("SCHED_STATS", "json", 1);
    setenv("SCHED_STATS_FILE", "stats", 1);
    paths_run();
    CHECK_EQ(chdir("below"), 0);
    paths_run();
    CHECK_EQ(rmdir("../below"), 0); /* which has no name any more */
    paths_run();
    pid_t pid = fork();
    if (pid == 0) {
        CHECK_EQ(chdir("/"), 0);
        paths_run();
        _exit(0);
    }
    CHECK_EQ(wait_for(pid), 0);
    CHECK_EQ(chdir(paths_folder), 0);
    char name[64];
    snprintf(name, sizeof name, "trace.json.%d", (int)pid);
    check_timeline("trace.json", 3);
    check_timeline(name, 1);
    CHECK_EQ(runs_in("stats"), 4);
    setenv("SCHED_TRACE", "other.json", 1); /* another name is resolved where it is given */
    paths_run();
    check_timeline("other.json", 1);
    CHECK_EQ(unlink(name) | unlink("other.json") | unlink("trace.json") | unlink("stats"), 0);
}

/* Does what cat(1) does: opens the FIFO, which waits for a writer, and reads to the end. Returns
 * when it sleeps there. */
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
        while ((n = read(in, paths_text, sizeof paths_text)) > 0)
            CHECK_EQ(write(out, paths_text, (size_t)n), n);
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
    paths_run();
    CHECK_EQ(wait_for(reader), 0);
    paths_run(); /* nobody reads */
    paths_run();
}

static void writes_to(void *path)
{
    setenv("SCHED_TRACE", path, 1);
    paths_run();
    paths_run();
    if (fork() == 0) {
        paths_run();
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
    paths_run();
    paths_run();
}

/* Somebody knows the name of the child's file, and has put a file of theirs, or a link, there. */
static void is_expected(void *kind)
{
    setenv("SCHED_TRACE", "trace.json", 1);
    paths_run();
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
        paths_run();
        paths_run();
        if (strcmp(kind, "file") == 0)
            check_timeline(name, 2);
        CHECK_EQ(strcmp(kind, "folder") == 0 ? rmdir(name) : unlink(name), 0);
        _exit(0);
    }
    int status;
    CHECK(wait(&status) > 0);
    CHECK_EQ(status, 0);
}

CASE(trace_paths)
{
    unsetenv("SCHED_STATS");
    CHECK(mkdtemp(paths_folder) != NULL && chdir(paths_folder) == 0);
    CHECK_IN_CHILD(wanders, NULL);
    CHECK_EQ(strlen(child.said), 0);

    CHECK_EQ(mkfifo("fifo", 0600), 0);
    CHECK_IN_CHILD(writes_to_fifo, "SCHED_TRACE");
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

    CHECK_IN_CHILD(is_limited, NULL);
    CHECK_EQ(count_said("SCHED_TRACE="), 1);
    CHECK_EQ(count_said("SCHED_STATS_FILE="), 1);
    CHECK_EQ(count_said("\"seconds\":"), 2);
    CHECK_EQ(runs_in("trace.json"), 0);
    CHECK(strncmp(paths_text, "[\n{", 3) == 0 && strstr(paths_text, "cut here") && strcmp(paths_text + strlen(paths_text) - 4, "}\n]\n") == 0);
    CHECK_EQ(unlink("trace.json") | unlink("stats"), 0);

    char *const refuse[] = {"/nowhere/trace.json", paths_folder};
    for (int i = 0; i < 2; i++) {
        CHECK_IN_CHILD(writes_to, refuse[i]);
        CHECK_CHILD_SAID("SCHED_TRACE=");
        CHECK_EQ(count_lines(child.said), 1);
    }
    CHECK_IN_CHILD(is_in_no_folder, NULL);
    CHECK_CHILD_SAID("SCHED_TRACE=");
    CHECK_IN_CHILD(writes_to, "/dev/null");
    CHECK_EQ(strlen(child.said), 0);

    for (int i = 0; i < 4; i++) {
        static char *const kinds[] = {"link", "folder", "hard link", "file"};
        FILE *victim = fopen("victim", "w");
        CHECK(victim != NULL && fputs("precious", victim) > 0 && fclose(victim) == 0);
        CHECK_IN_CHILD(is_expected, kinds[i]);
        CHECK_EQ(count_said("SCHED_TRACE="), i < 3);
        check_timeline("trace.json", 1);
        CHECK_EQ(runs_in("victim"), 0);
        CHECK(strcmp(paths_text, "precious") == 0);
        CHECK_EQ(unlink("victim") | unlink("trace.json"), 0);
    }
    CHECK_EQ(rmdir(paths_folder), 0); /* nothing else was made */
}

/* trace_signal: A signal ends the process in the middle of a run: the timeline up to there is
 * written, and the signal ends the process as ever. What the program does with a signal itself is
 * left alone.
 * ctest: static sleeps
 * ctest: matrix deque=split,mutex idle=park threads=2 */
static int file, signal_ran;
static volatile sig_atomic_t handled;

static void signal_leaf(void *closure, struct scheduler *s)
{
    __atomic_add_fetch(&signal_ran, 1, __ATOMIC_RELAXED);
}

static void fault(void)
{
    int *volatile nowhere = NULL;
    *(volatile int *)nowhere = 1;
}

static void send_term(void) { kill(getpid(), SIGTERM); }
static void raise_bus(void) { raise(SIGBUS); }
static void raise_pipe(void) { raise(SIGPIPE); }
static void alarm_soon(void) { ualarm(1000, 0); }

/* A child of the process dies of a signal: the timeline of the parent is not affected. (A worker's thread blocks the
 * signal.) */
static void child_dies(void)
{
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_sigmask(SIG_UNBLOCK, &term, NULL);
        raise(SIGTERM);
        _exit(1);
    }
    int status = wait_for(pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    pid = vfork();
    if (pid == 0) {
        pthread_sigmask(SIG_UNBLOCK, &term, NULL);
        kill(getpid(), SIGTERM);
        _exit(1);
    }
    status = wait_for(pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void deadlock(void) {}

static const struct ending {
    void (*act)(void);
    int signal; /* that ends the process */
} endings[] = {
    {fault, SIGSEGV}, {abort, SIGABRT}, {send_term, SIGTERM}, {raise_bus, SIGBUS}, {raise_pipe, SIGPIPE},
    {alarm_soon, SIGALRM}, {child_dies, 0}, {deadlock, SIGABRT},
};

static void act(void *closure, struct scheduler *s)
{
    const struct ending *ending = closure;
    CHECK_TIMES(TASKS, sched_spawn(signal_leaf, NULL, s));
    while (__atomic_load_n(&signal_ran, __ATOMIC_RELAXED) < TASKS)
        sched_task_yield(s);
    ending->act();
    if (ending->act == deadlock) {
        sched_sem never;
        sched_sem_init(&never, 0);
        sched_sem_wait(&never, s);
    }
    while (ending->signal)
        sched_task_yield(s);
}

static void signal_body(void *ending)
{
    setenv("SCHED_TRACE", path, 1);
    CHECK_EQ(sched_init(2, 16, act, ending), 0);
}

static void handle(int signal)
{
    handled = 1;
}

static int is_default(int signal)
{
    struct sigaction now;
    CHECK_EQ(sigaction(signal, NULL, &now), 0);
    return now.sa_handler == SIG_DFL;
}

static void send_both(void *unused, struct scheduler *s)
{
    CHECK(!is_default(SIGTERM));
    kill(getpid(), SIGHUP); /* (raise would send it to this thread, which blocks it if the library has made it) */
    kill(getpid(), SIGINT);
    while (!handled)
        usleep(100);
}

/* A handler of the program is called, an ignored signal is ignored, and after the run every action is as it was. */
static void keeps_actions(void *unused)
{
    setenv("SCHED_TRACE", path, 1);
    signal(SIGINT, handle);
    signal(SIGHUP, SIG_IGN);
    CHECK_EQ(sched_init(1, 16, send_both, NULL), 0);
    CHECK(handled);
    CHECK(is_default(SIGTERM) && is_default(SIGABRT) && !is_default(SIGINT) && !is_default(SIGHUP));
    unsetenv("SCHED_TRACE");
    handled = 0;
}

static void few(void *unused, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(signal_leaf, NULL, s), 0);
}

/* A signal comes at some moment of some run. */
static void is_killed(void *microseconds)
{
    setenv("SCHED_TRACE", path, 1);
    ualarm(*(useconds_t *)microseconds, 0);
    for (;;)
        CHECK_EQ(sched_init(2, 16, few, NULL), 0);
}

/* Reads the file, which is empty or a closed array, and empties it. */
static void read_file(void)
{
    ssize_t n = pread(file, text, sizeof text - 1, 0);
    CHECK(n >= 0);
    text[n] = 0;
    if (n == 0)
        return;
    CHECK(n > 4 && strncmp(text, "[\n{", 3) == 0 && strcmp(text + n - 3, "\n]\n") == 0);
    CHECK_EQ(ftruncate(file, 0), 0);
}

/* The file has a slice for each task. */
static void signal_check_file(void)
{
    int begun = 0;
    read_file();
    for (const char *at = text; (at = strstr(at, "\"begins\":true")) != NULL; at++)
        begun++;
    CHECK(begun >= TASKS);
}

CASE(trace_signal)
{
    file = mkstemp(path);
    CHECK(file >= 0);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const struct ending *ending = &endings[i];
        in_child(signal_body, (void *)(uintptr_t)ending);
        if (ending->signal)
            check_child(__FILE__, __LINE__, WIFSIGNALED(child.status) && WTERMSIG(child.status) == ending->signal, "be killed");
        else
            CHECK_CHILD_EXITED(0);
        signal_check_file();
    }
    for (useconds_t us = 5000; us < 5400; us += 7) {
        in_child(is_killed, &us);
        check_child(__FILE__, __LINE__, WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGALRM, "be killed");
        read_file();
    }
    CHECK_IN_CHILD(keeps_actions, NULL);
    unlink(path);
}

/* trace_waits: The timeline says for what a task has waited: a mutex, a condition, a semaphore, a
 * barrier, a join, a group, or that it let others go first. With SCHED_TRACE_LIVES each of these
 * tasks has its life there, too, with the waits inside.
 * ctest: static
 * ctest: matrix deque=split,mutex idle=park threads=1 */
static sched_mutex mutex;
static sched_cond cond;
static sched_sem sem, turn;
static sched_barrier barrier;
static int waiting;

/* Each of these tasks is about to wait when `waiting` has grown; with one worker it does before another task runs. */
static void locks(void *unused, struct scheduler *s)
{
    waiting++;
    sched_mutex_lock(&mutex, s);
    while (waiting > 0)
        sched_cond_wait(&cond, &mutex, s);
    sched_mutex_unlock(&mutex);
}

static void takes(void *unused, struct scheduler *s)
{
    waiting++;
    sched_sem_wait(&sem, s);
}

static void meets(void *unused, struct scheduler *s)
{
    waiting++;
    sched_barrier_wait(&barrier, s);
}

static void long_child(void *unused, struct scheduler *s)
{
    sched_sem_wait(&turn, s);
}

static void joins(void *unused, struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, long_child, NULL, s);
    sched_task_yield(s); /* the child begins */
    waiting++;
    sched_join(&t, s);
}

static void gathers(void *unused, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    CHECK_EQ(sched_group_spawn(&g, long_child, NULL, s), 0);
    sched_task_yield(s);
    waiting++;
    sched_group_wait(&g, s);
}

static void first(void *unused, struct scheduler *s)
{
    sched_mutex_lock(&mutex, s);
    CHECK_EQ(sched_spawn(locks, NULL, s), 0);
    CHECK_EQ(sched_spawn(takes, NULL, s), 0);
    CHECK_EQ(sched_spawn(meets, NULL, s), 0);
    CHECK_EQ(sched_spawn(joins, NULL, s), 0);
    CHECK_EQ(sched_spawn(gathers, NULL, s), 0);
    while (waiting < 5)
        sched_task_yield(s);
    sched_mutex_unlock(&mutex);
    for (int i = 0; i < 10; i++)
        sched_task_yield(s);
    sched_mutex_lock(&mutex, s);
    waiting = 0;
    sched_cond_broadcast(&cond);
    sched_mutex_unlock(&mutex);
    sched_sem_post(&sem);
    sched_barrier_wait(&barrier, s);
    sched_sem_post(&turn);
    sched_sem_post(&turn);
}

static int waits_count(const char *phase, const char *name)
{
    int n = 0;
    for (char *at = text, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        *end = 0;
        n += strstr(at, phase) != NULL && strstr(at, name) != NULL;
        *end = '\n';
    }
    return n;
}

CASE(trace_waits)
{
    static const char *const names[] = {
        "\"locks: mutex\",\"cat\":\"mutex\"",         "\"locks: condition\",\"cat\":\"condition\"",
        "\"takes: semaphore\",\"cat\":\"semaphore\"", "\"meets: barrier\",\"cat\":\"barrier\"",
        "\"joins: join\",\"cat\":\"join\"",           "\"gathers: group\",\"cat\":\"group\"",
    };
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    setenv("SCHED_TRACE", path, 1);
    setenv("SCHED_TRACE_LIVES", "1", 1);
    setenv("SCHED_JOIN", "suspend", 1); /* else a join may call other tasks instead */
    sched_mutex_init(&mutex);
    sched_cond_init(&cond);
    sched_sem_init(&sem, 0);
    sched_sem_init(&turn, 0);
    sched_barrier_init(&barrier, 2);
    int outcome = sched_init(1, 64, first, NULL);
    ssize_t n = read(fd, text, sizeof text - 1);
    unlink(path);
    CHECK_EQ(outcome, 0);
    CHECK(n > 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (waits_count("\"ph\":\"b\"", names[i]) != 1 || waits_count("\"ph\":\"e\"", names[i]) != 1) {
            printf("%s: begins %d times, ends %d times\n", names[i], waits_count("\"ph\":\"b\"", names[i]),
                   waits_count("\"ph\":\"e\"", names[i]));
            exit(1);
        }
    CHECK(waits_count("\"ph\":\"b\"", "\"first: suspended\"") >= 1);
    static const char *const lives[] = {
        "\"locks\",\"cat\":\"life\"", "\"locks: mutex\",\"cat\":\"life\"", "\"locks: condition\",\"cat\":\"life\"",
        "\"joins\",\"cat\":\"life\"", "\"joins: join\",\"cat\":\"life\"",
    };
    for (size_t i = 0; i < sizeof lives / sizeof *lives; i++) {
        CHECK_EQ(waits_count("\"ph\":\"b\"", lives[i]), 1);
        CHECK_EQ(waits_count("\"ph\":\"e\"", lives[i]), 1);
    }
}

/* trace_edges: The timeline has an arrow from the end of each predecessor to the beginning of the node that follows it, in each run of a
 * graph, too.
 * ctest: static
 * ctest: matrix deque=split,mutex idle=park threads=1,2 */
static sched_node nodes[3], again[2];
static sched_graph graph = SCHED_GRAPH_INIT;

static void has_edges(void *unused, struct scheduler *s)
{
    for (int i = 0; i < 3; i++)
        CHECK_EQ(sched_node_init(&nodes[i], nothing, NULL), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(sched_node_init(&again[i], nothing, NULL), 0);
        CHECK_EQ(sched_graph_add(&graph, &again[i]), 0);
    }
    CHECK_EQ(sched_after(&again[1], &again[0]), 0);
    CHECK_EQ(sched_graph_run(&graph, s), 0);
    CHECK_EQ(sched_graph_run(&graph, s), 0);
    CHECK_EQ(sched_after(&nodes[2], &nodes[0]), 0);
    CHECK_EQ(sched_after(&nodes[2], &nodes[1]), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(sched_node_ready(&nodes[i], s), 0);
}

CASE(trace_edges)
{
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    setenv("SCHED_TRACE", path, 1);
    CHECK_EQ(sched_init(2, 16, has_edges, NULL), 0);
    FILE *file = fdopen(fd, "r");
    CHECK(file != NULL);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    unlink(path);
    CHECK_EQ(waits_count("\"ph\":\"s\"", "\"name\":\"edge\""), 4);
    CHECK_EQ(waits_count("\"ph\":\"f\"", "\"name\":\"edge\""), 4);
}
