/* counters: SCHED_STATS, sched_last_stats and sched_stats. */
#include "case.h"
#include "child.h"
#include "stats_line.h"
#include "pool.h"
#include "pty.h"
#include "proc.h"
#include "block.h"
#include <stdatomic.h>
#include <sched.h>
#include <fcntl.h>
#include <dirent.h>
#include <sched_tasks.h>
#include <termios.h>

/* stats: SCHED_STATS: nothing by default, a table or one JSON line a run on stderr, or at the end
 * of SCHED_STATS_FILE; the count of tasks is exact. The keys are checked by the runner.
 * ctest: matrix deque=mutex,split,chaselev idle=park threads=1,4 */
static void leaf(void *closure, struct scheduler *s)
{
}

static void stats_root(void *closure, struct scheduler *s)
{
    CHECK_TIMES((long)closure, sched_spawn(leaf, NULL, s));
}

static void three(void *value)
{
    if (value)
        setenv("SCHED_STATS", value, 1);
    for (long n = 10; n <= 1000; n *= 10)
        CHECK_EQ(sched_init(4, 4, stats_root, (void *)n), 0);
}

/* The three lines of the three runs. */
static void check_lines(const char *text)
{
    check_child(__FILE__, __LINE__, count_lines(text) == 3, "write three lines");
    for (long n = 10; n <= 1000; n *= 10) {
        CHECK(text[0] == '{');
        CHECK_EQ(stat_number(text, "tasks"), n + 1);
        CHECK_EQ(stat_number(text, "threads"), threads_of(4));
        CHECK_EQ(stat_number(text, "threads_missing"), 0);
        text = strchr(text, '\n') + 1;
        CHECK(text[-2] == '}');
    }
}

CASE(stats)
{
    static char zero[] = "0", one[] = "1", json[] = "json";
    CHECK_IN_CHILD(three, NULL);
    CHECK_EQ(strlen(child.said), 0);
    CHECK_IN_CHILD(three, zero);
    CHECK_EQ(strlen(child.said), 0);

    CHECK_IN_CHILD(three, one);
    CHECK_CHILD_SAID("1001");
    CHECK(count_lines(child.said) >= 6);

    CHECK_IN_CHILD(three, json);
    check_lines(child.said);

    gather_stats();
    CHECK_IN_CHILD(three, json);
    CHECK_EQ(strlen(child.said), 0);
    check_lines(gathered_stats());
}

/* stats_api: sched_stats: the counts of a run so far, read by a task, by another thread, and
 * between two uses of a pool, where the number of tasks is exact. The call writes only as many
 * members as the caller knows.
 * ctest: matrix few */
enum { N = 500, BATCH = 61 };

static struct sched_stats last;
static struct scheduler *_Atomic api_run;
static atomic_int started, done;

COUNTING_TASK(api_leaf, done)

static void check_errors(struct scheduler *s)
{
    struct sched_stats stats;
    CHECK_ERRNO(sched_stats(NULL, NULL, sizeof stats), EINVAL);
    CHECK_ERRNO(sched_stats(s, NULL, sizeof stats), EINVAL);
    CHECK_ERRNO(sched_stats(s, &stats, 0), EINVAL);
    CHECK_ERRNO(sched_stats(s, &stats, offsetof(struct sched_stats, seconds) + sizeof stats.seconds - 1), EINVAL);
    CHECK_ERRNO(sched_stats(s, &stats, SIZE_MAX), EINVAL);
}

static void check_size(struct scheduler *s)
{
    struct {
        struct sched_stats now;
        char later[40];
    } big;
    memset(&big, 0x5a, sizeof big);
    CHECK_EQ(sched_stats(s, &big.now, sizeof big.now), 0);
    for (size_t i = 0; i < sizeof big.later; i++)
        CHECK_EQ(big.later[i], 0x5a);
    CHECK_EQ(sched_stats(s, &big.now, sizeof big), 0);
    for (size_t i = 0; i < sizeof big.later; i++)
        CHECK_EQ(big.later[i], 0);
    CHECK_EQ(big.now.threads, threads_of(4));
}

static void *foreigner(void *arg)
{
    struct sched_stats stats, before = {0};
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(sched_stats(api_run, &stats, sizeof stats), 0);
        CHECK(stats.tasks >= before.tasks);
        CHECK(stats.seconds >= before.seconds);
        before = stats;
        pause_us(100);
    }
    started = 1;
    return NULL;
}

static void api_root(void *closure, struct scheduler *s)
{
    api_run = s;
    check_errors(s);
    check_size(s);
    pthread_t thread = begin_thread(foreigner, closure);
    while (!started)
        CHECK_EQ(sched_spawn(api_leaf, NULL, s), 0), pause_us(20);
    pthread_join(thread, NULL);
    CHECK_TIMES(N, sched_spawn(api_leaf, NULL, s));
}

/* All counted tasks are done, and all done tasks are counted, but for a batch of each worker. */
static void ask(void *closure, struct scheduler *s)
{
    struct sched_stats stats;
    int before = done;
    CHECK_EQ(sched_stats(s, &stats, sizeof stats), 0);
    CHECK(stats.tasks <= (size_t)done + 4096);
    CHECK(stats.tasks + (size_t)(BATCH + 1) * stats.threads >= (size_t)before);
    CHECK_EQ(stats.threads + stats.threads_missing, threads_of(4));
}

CASE(stats_api)
{
    CHECK_EQ(sched_init(4, 4, api_root, NULL), 0);
    CHECK_ERRNO(sched_stats(api_run, &last, sizeof last), EINVAL);

    struct sched_pool *pool = pool_of(4);
    done = 0;
    started = 1;
    for (int round = 1; round <= 5; round++) {
        CHECK_EQ(sched_pool_run(pool, api_root, NULL), 0);
        CHECK_EQ(sched_stats(api_run, &last, sizeof last), 0);
        CHECK_EQ(last.tasks, round * (N + 2) - 1);
        CHECK_EQ(done, round * N);
        CHECK(last.seconds > 0);
        CHECK_EQ(sched_pool_run(pool, ask, NULL), 0);
        CHECK_EQ(sched_stats(api_run, &last, sizeof last), 0);
        CHECK_EQ(last.tasks, round * (N + 2));
    }
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_ERRNO(sched_stats(api_run, &last, sizeof last), EINVAL);
}

/* stats_bars: SCHED_STATS=1: under the sums a bar for each worker: plain text where standard error
 * is no terminal, blocks and colours on one, unless NO_COLOR or the locale forbid it. 64 workers
 * share 32 rows.
 * ctest: */
static const char *words[] = {"busy", "searching", "parked", "blocked"};

static void runs(void *workers)
{
    setenv("SCHED_STATS", "1", 1);
    CHECK_EQ(sched_init(*(int *)workers, 64, nothing, NULL), 0);
}

static void on_terminal(int workers)
{
    end_on_terminal(begin_on_terminal("xterm", runs, &workers));
}

/* Whether a byte of the report is not plain text. */
static int is_decorated(void)
{
    for (const char *at = child.said; *at; at++)
        if (*at != '\r' && *at != '\n' && (*at < ' ' || *at > '~'))
            return 1;
    return 0;
}

static int has_row(const char *name)
{
    char line[16];
    snprintf(line, sizeof line, "\n%9s ", name);
    return strstr(child.said, line) != NULL;
}

CASE(stats_bars)
{
    int workers = 3;
    setenv("LC_ALL", "C.UTF-8", 1);
    unsetenv("NO_COLOR");
    CHECK_IN_CHILD(runs, &workers);
    CHECK(!is_decorated());
    for (int i = 0; i < 4; i++)
        CHECK_CHILD_SAID(words[i]);
    CHECK(has_row("0") && has_row("2") && has_row("all") && !has_row("3"));
    CHECK_CHILD_SAID("  # busy  s searching  . parked  b blocked\n");
    CHECK_CHILD_SAID("  ..................................................\n"); /* the third worker has had no thread */

    workers = 64;
    CHECK_IN_CHILD(runs, &workers);
    CHECK(has_row("0-1") && has_row("62-63") && has_row("all"));

    on_terminal(3);
    CHECK_CHILD_SAID("\033[32m\xe2\x96\x88\033[0m busy");
    setenv("NO_COLOR", "1", 1);
    on_terminal(3);
    CHECK_CHILD_SAID("\xe2\x96\x88 busy");
    CHECK(!strchr(child.said, '\033'));
    setenv("LC_ALL", "C", 1);
    on_terminal(3);
    CHECK(!is_decorated());
    unsetenv("NO_COLOR");
    on_terminal(3);
    CHECK_CHILD_SAID("\033[32m#\033[0m busy");
}

/* stats_closed: SCHED_STATS_FILE in a program without standard descriptors, so that the file gets
 * one of theirs: the line is written, and the file is closed after the run. */
static void task(void *closure, struct scheduler *s)
{
}

/* The bits of `which` are the descriptors to close. */
static void body(void *which)
{
    for (int fd = 0; fd < 3; fd++)
        if ((long)which >> fd & 1)
            close(fd);
    int before = descriptor_count();
    int failed = sched_init(2, 4, task, NULL) != 0 || descriptor_count() != before;
    for (int fd = 0; fd < 3; fd++) /* all descriptors that were open still are */
        failed |= (fcntl(fd, F_GETFD) == -1) != ((long)which >> fd & 1);
    _exit(failed ? 3 : 0); /* there may be no stderr to say why */
}

CASE(stats_closed)
{
    for (long which = 0; which < 8; which++) {
        gather_stats();
        in_child(body, (void *)which);
        char *line = gathered_stats();
        CHECK_CHILD_EXITED(0);
        CHECK_EQ(strlen(child.said), 0);
        CHECK(strchr(line, '\n') == line + strlen(line) - 1);
        CHECK_EQ(stat_number(line, "tasks"), 1);
    }
}

/* stats_file: No descriptor of SCHED_STATS_FILE is open during a run: tasks may close all
 * descriptors and open files of their own. The path is fixed at the beginning, whatever tasks do to
 * the working directory and the environment. Statistics that cannot be appended in the end go to
 * stderr, after a line that says why.
 * ctest: static
 * ctest: */
static int before, own = -1;

static void close_all(void *closure, struct scheduler *s)
{
    CHECK_EQ(descriptor_count(), before);
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    own = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    if (own < 0)
        skip("no O_TMPFILE in /tmp");
}

static void closing(void *unused)
{
    struct stat status;
    before = descriptor_count();
    CHECK_EQ(sched_init(2, 4, close_all, NULL), 0);
    CHECK_EQ(fstat(own, &status), 0);
    CHECK_EQ(status.st_size, 0);
}

static char variable[] = "SCHED_STATS_FILE=sched-stats-own";

static void go_away(void *closure, struct scheduler *s)
{
    CHECK_EQ(chdir("/"), 0);
    memset(strchr(variable, '=') + 1, 'x', 5);
    unsetenv("SCHED_STATS_FILE");
}

static void going(void *folder)
{
    CHECK_EQ(chdir(folder), 0);
    CHECK_EQ(putenv(variable), 0);
    CHECK_EQ(sched_init(2, 4, go_away, NULL), 0);
    CHECK_EQ(chdir(folder), 0);
    CHECK_EQ(access("sched-stats-own", R_OK), 0);
}

static void use_up(void *closure, struct scheduler *s)
{
    struct rlimit none = {0, 0};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
}

static void using_up(void *unused)
{
    CHECK_EQ(sched_init(2, 4, use_up, NULL), 0);
}

CASE(stats_file)
{
    gather_stats();
    in_child(closing, NULL);
    char *line = gathered_stats();
    CHECK_CHILD_PASSED();
    CHECK_EQ(strlen(child.said), 0);
    CHECK_EQ(stat_number(line, "tasks"), 1);

    char folder[] = "/tmp/sched-stats-dir-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    in_child(going, folder);
    snprintf(stats_path, sizeof stats_path, "%s/sched-stats-own", folder);
    int there = access(stats_path, R_OK) == 0;
    line = there ? gathered_stats() : NULL;
    rmdir(folder);
    CHECK_CHILD_EXITED(0);
    CHECK_EQ(strlen(child.said), 0);
    CHECK_EQ(stat_number(line, "tasks"), 1);

    gather_stats();
    in_child(using_up, NULL);
    line = gathered_stats();
    CHECK_CHILD_EXITED(0);
    CHECK_EQ(strlen(line), 0);
    CHECK_CHILD_SAID("SCHED_STATS_FILE=");
    CHECK_CHILD_SAID("\"tasks\":1,");
}

/* stats_live: SCHED_STATS=live: while a run lasts, a line on the terminal is drawn again and again;
 * it is erased before the report. SIGQUIT keeps its action. Where standard error shows no more than
 * text, there is the report alone, as with 1, and no thread for the line.
 * ctest: sleeps
 * ctest: matrix deque=mutex,split idle=park threads=2 */
static int wait_pipe[2];

/* The process has a thread of this name. */
static int has_thread(const char *name)
{
    DIR *all = opendir("/proc/self/task");
    int found = 0;
    CHECK(all != NULL);
    for (struct dirent *one; (one = readdir(all)) != NULL;) {
        char path[300], text[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", one->d_name);
        FILE *file = fopen(path, "r");
        if (!file)
            continue;
        found |= fgets(text, sizeof text, file) && strncmp(text, name, strlen(name)) == 0;
        fclose(file);
    }
    closedir(all);
    return found;
}

/* Waits for the test, if it is on a terminal that shows the line. */
static void live_root(void *closure, struct scheduler *s)
{
    struct sigaction action;
    char byte;
    CHECK_TIMES(20, sched_spawn(leaf, NULL, s));
    CHECK_EQ(sigaction(SIGQUIT, NULL, &action), 0);
    CHECK(action.sa_handler == SIG_DFL);
    if (closure)
        CHECK_EQ(read(wait_pipe[0], &byte, 1), 1);
    CHECK_EQ(has_thread("sched/watch"), closure != NULL);
}

static void live_live(void *waits)
{
    setenv("SCHED_STATS", "live", 1);
    CHECK_EQ(sched_init(2, 64, live_root, waits), 0);
    /* The thread was joined; the kernel may show it for a moment more. */
    for (struct patience p = patience_of(20); has_thread("sched/watch"); pause_us(1000))
        CHECK(is_patient(&p));
}

/* From this text on, in which no line is drawn, there is the report. */
static void check_report(const char *text)
{
    char start[64];
    const char *kind = getenv("SCHED_KIND");
    snprintf(start, sizeof start, "libsched: kind=%s ", kind ? kind : "steal");
    check_child(__FILE__, __LINE__, strncmp(text, start, strlen(start)) == 0, start);
    check_child(__FILE__, __LINE__, !strstr(text, "tasks/s") && !strchr(text, '\033'), "write the report alone");
    CHECK(strstr(text, "searching") != NULL);
}

CASE(stats_live)
{
    char busy[64], *last = NULL;
    setenv("NO_COLOR", "1", 1);
    setenv("LC_ALL", "C", 1);
    unsetenv("SCHED_STATS_FILE");
    CHECK_EQ(pipe(wait_pipe), 0);

    pid_t pid = begin_on_terminal("xterm", live_live, wait_pipe);
    snprintf(busy, sizeof busy, " of %d workers busy", threads_of(2));
    read_terminal(busy);
    read_terminal("\033[K"); /* the whole line */
    CHECK_EQ(strncmp(child.said, "\rlibsched: ", 11), 0);
    CHECK_CHILD_SAID(" tasks/s  ");
    CHECK_EQ(write(wait_pipe[1], "", 1), 1);
    end_on_terminal(pid);
    for (char *at = child.said; (at = strstr(at, "\033[K")) != NULL; at++)
        last = at;
    check_child(__FILE__, __LINE__, last - child.said > 1 && last[-1] == '\r', "erase the line");
    check_report(last + 3);
    /* Each line fits between the left edge and the last column. */
    for (char *at = child.said; at < last; at = strstr(at, "\033[K") + 3)
        CHECK(strstr(at, "\033[K") - at <= COLUMNS);

    pid = begin_on_terminal("dumb", live_live, NULL);
    end_on_terminal(pid);
    check_report(child.said);

    in_child(live_live, NULL); /* a pipe */
    CHECK_CHILD_EXITED(0);
    check_report(child.said);
}

/* stats_live_stopped: SCHED_STATS=live on a terminal that its user has stopped (^S), so that it
 * accepts nothing: the line is not drawn, and nothing waits for it. The run ends, and its report is
 * in the file; a signal ends the process at once, and the timeline is whole; so it is if the
 * watchdog has something to say there.
 * ctest: static sleeps
 * ctest: matrix deque=split idle=park threads=2 */
enum { LIVE_STOPPED_TASKS = 20 };

static char folder[] = "/tmp/sched-stopped-XXXXXX", live_stopped_stats[64], trace[64], text[1 << 20];
static int go[2];

static void live_stopped_root(void *closure, struct scheduler *s)
{
    char byte;
    CHECK_TIMES(LIVE_STOPPED_TASKS, sched_spawn(leaf, NULL, s));
    CHECK_EQ(read(go[0], &byte, 1), 1);
    sched_task_yield(s);
    CHECK_EQ(read(go[0], &byte, 1), 1); /* so the leaves have run, also in kind serial */
}

static void live_stopped_live(void *watchdog)
{
    setenv("SCHED_STATS", "live", 1);
    setenv("SCHED_STATS_FILE", live_stopped_stats, 1);
    setenv("SCHED_TRACE", trace, 1);
    if (watchdog)
        setenv("SCHED_WATCHDOG", watchdog, 1);
    CHECK_EQ(sched_init(2, 64, live_stopped_root, NULL), 0);
}

/* Begins a run, and stops its terminal when it shows the line. Two draws later the run may end, if it is to. */
static pid_t begin_stopped(const char *watchdog, int ends)
{
    CHECK_EQ(pipe(go), 0);
    pid_t pid = begin_on_terminal("xterm", live_stopped_live, (void *)(uintptr_t)watchdog);
    read_terminal("\033[K");
    CHECK_EQ(write(terminal, "\023", 1), 1); /* ^S */
    CHECK_EQ(write(go[1], "", 1), 1);
    pause_us(2200000);
    if (ends)
        CHECK_EQ(write(go[1], "", 1), 1);
    return pid;
}

/* Waits for the end of the process, which does not wait for the terminal. */
static void wait_beside(pid_t pid, double seconds)
{
    struct patience p = patience_of(seconds);
    while (waitpid(pid, &child.status, WNOHANG) == 0) {
        if (!is_patient(&p)) {
            kill(pid, SIGKILL);
            CHECK(!"the process ends beside a stopped terminal");
        }
        pause_us(1000);
    }
    close(terminal);
    close(go[0]);
    close(go[1]);
}

static void read_file(const char *name)
{
    FILE *in = fopen(name, "r");
    CHECK(in != NULL);
    text[fread(text, 1, sizeof text - 1, in)] = 0;
    fclose(in);
    CHECK_EQ(unlink(name), 0);
}

static void check_timeline(void)
{
    int begun = 0;
    read_file(trace);
    CHECK(strncmp(text, "[\n{", 3) == 0 && strcmp(text + strlen(text) - 4, "}\n]\n") == 0);
    CHECK(strstr(text, "cut here") == NULL);
    for (const char *at = text; (at = strstr(at, "\"begins\":true")) != NULL; at++)
        begun++;
    CHECK_EQ(begun, LIVE_STOPPED_TASKS + 1);
}

CASE(stats_live_stopped)
{
    CHECK(mkdtemp(folder) != NULL);
    snprintf(live_stopped_stats, sizeof live_stopped_stats, "%s/stats", folder);
    snprintf(trace, sizeof trace, "%s/trace.json", folder);

    wait_beside(begin_stopped(NULL, 1), 20);
    CHECK_CHILD_EXITED(0);
    check_timeline();
    read_file(live_stopped_stats);
    CHECK(strstr(text, "searching") != NULL);

    static const char *const watchdogs[] = {NULL, "300ms"};
    for (int i = 0; i < 2; i++) {
        pid_t pid = begin_stopped(watchdogs[i], 0);
        CHECK_EQ(kill(pid, SIGTERM), 0);
        wait_beside(pid, 20);
        check_child(__FILE__, __LINE__, WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGTERM, "be killed");
        check_timeline();
        unlink(live_stopped_stats);
    }
    CHECK_EQ(rmdir(folder), 0);
}

/* stats_times: SCHED_STATS=json: the times of each worker add up to the time of the run, to the
 * nanosecond, whatever its tasks do: compute, spawn, wait for each other, block. A worker is busy
 * only if it has run tasks.
 * ctest: matrix
 * ctest: matrix idle=park,nap threads=1,4 env=SCHED_PROFILE=json */
enum { TIMES_TASKS = 200 };

static const char *const phases[] = {"busy_ns", "searching_ns", "parked_ns", "blocked_ns"};
static sched_mutex mutex;
static sched_sem ends;
static long sum;

static void times_leaf(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    sum += (long)closure;
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
    if ((long)closure % 50 == 0)
        block(200, s);
    CHECK_EQ(sched_sem_post(&ends), 0);
}

static void times_root(void *closure, struct scheduler *s)
{
    sched_task task;
    spawn_all(TIMES_TASKS, times_leaf, s);
    sched_fork(&task, nothing, NULL, s);
    sched_join(&task, s);
    CHECK_TIMES(TIMES_TASKS, sched_sem_wait(&ends, s));
}

/* The time of the run in nanoseconds: "seconds" has nine digits behind the point. */
static long time_of(const char *line)
{
    const char *at = strstr(line, "\"seconds\":");
    long seconds, nanoseconds;
    CHECK(at != NULL);
    CHECK_EQ(sscanf(at + 10, "%ld.%9ld,", &seconds, &nanoseconds), 2);
    return seconds * 1000000000 + nanoseconds;
}

/* The sum of the phases in the text from here on. */
static long all_phases(const char *text)
{
    long all = 0;
    for (int i = 0; i < 4; i++) {
        CHECK(stat_number(text, phases[i]) >= 0);
        all += stat_number(text, phases[i]);
    }
    return all;
}

static void check_line(const char *line)
{
    long time = time_of(line), sums[4] = {0}, n = 0;
    for (const char *at = strstr(line, "\"workers\":["); (at = strchr(at, '{')) != NULL; at++, n++) {
        CHECK_EQ(all_phases(at), time);
        CHECK(stat_number(at, "tasks") == 0 || stat_number(at, "busy_ns") > 0);
        for (int i = 0; i < 4; i++)
            sums[i] += stat_number(at, phases[i]);
    }
    CHECK_EQ(n, stat_number(line, "threads"));
    for (int i = 0; i < 4; i++)
        CHECK_EQ(stat_number(line, phases[i]), sums[i]);
}

CASE(stats_times)
{
    CHECK_EQ(sched_mutex_init(&mutex), 0);
    CHECK_EQ(sched_sem_init(&ends, 0), 0);
    gather_stats();
    run(4, times_root);
    CHECK_EQ(sum, TIMES_TASKS * (TIMES_TASKS - 1) / 2);

    struct sched_pool *pool = pool_of(4);
    CHECK_EQ(sched_pool_run(pool, nothing, NULL), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);

    char *lines = gathered_stats(), *second = strchr(lines, '\n');
    CHECK(second != NULL);
    *second++ = 0;
    check_line(lines);
    check_line(second);
    /* The thread of the one worker has been in a section, and nobody could come in its place. */
    if (!has_threads())
        CHECK(stat_number(lines, "blocked_ns") > 0);
}

/* last_stats: sched_last_stats: the exact numbers of the last run that ended on this thread, also
 * of a nested run, and of a pool when it is destroyed; ENOENT on a thread on which no run has
 * ended.
 * ctest: matrix few */
static struct sched_stats last_stats_stats;
static atomic_int slept;

static void last_stats_root(void *closure, struct scheduler *s)
{
    CHECK_TIMES((long)closure, sched_spawn(leaf, NULL, s));
    if (closure == NULL) {
        pause_us(5000);
        slept = 1;
    }
}

static void nested(void *closure, struct scheduler *s)
{
    struct sched_stats inner;
    CHECK_EQ(sched_init(2, 4, last_stats_root, (void *)7), 0);
    CHECK_EQ(sched_last_stats(&inner, sizeof inner), 0);
    CHECK_EQ(inner.tasks, 8);
}

static void *elsewhere(void *arg)
{
    CHECK_ERRNO(sched_last_stats(&last_stats_stats, sizeof last_stats_stats), ENOENT);
    CHECK_EQ(sched_init(4, 4, last_stats_root, (void *)50), 0);
    CHECK_EQ(sched_last_stats(&last_stats_stats, sizeof last_stats_stats), 0);
    CHECK_EQ(last_stats_stats.tasks, 51);
    return arg;
}

CASE(last_stats)
{
    memset(&last_stats_stats, 0x5a, sizeof last_stats_stats);
    CHECK_ERRNO(sched_last_stats(&last_stats_stats, sizeof last_stats_stats), ENOENT);
    CHECK_EQ(last_stats_stats.tasks & 0xff, 0x5a);
    CHECK_ERRNO(sched_last_stats(NULL, sizeof last_stats_stats), EINVAL);
    CHECK_ERRNO(sched_last_stats(&last_stats_stats, 0), EINVAL);
    CHECK_ERRNO(sched_init(4, 4, NULL, NULL), EINVAL);
    CHECK_ERRNO(sched_last_stats(&last_stats_stats, sizeof last_stats_stats), ENOENT);

    for (long n = 1; n <= 1000; n *= 10) {
        CHECK_EQ(sched_init(4, 4, last_stats_root, (void *)n), 0);
        for (int twice = 0; twice < 2; twice++) {
            CHECK_EQ(sched_last_stats(&last_stats_stats, sizeof last_stats_stats), 0);
            CHECK_EQ(last_stats_stats.tasks, n + 1);
            CHECK_EQ(last_stats_stats.threads, threads_of(4));
            CHECK_EQ(last_stats_stats.threads_missing, 0);
        }
        CHECK(last_stats_stats.queue_peak <= (size_t)n + 1);
        CHECK(last_stats_stats.seconds > 0);
    }
    CHECK_EQ(sched_init(4, 4, last_stats_root, NULL), 0);
    CHECK_EQ(sched_last_stats(&last_stats_stats, sizeof last_stats_stats), 0);
    CHECK(slept);
    CHECK(last_stats_stats.seconds >= 0.005);
    CHECK_EQ(last_stats_stats.tasks, 1);

    CHECK_EQ(sched_init(4, 4, nested, NULL), 0);
    CHECK_EQ(sched_last_stats(&last_stats_stats, sizeof last_stats_stats), 0);
    CHECK_EQ(last_stats_stats.tasks, 1); /* the outer one ended last */

    run_thread(elsewhere, NULL);
    CHECK_EQ(sched_last_stats(&last_stats_stats, sizeof last_stats_stats), 0);

    struct sched_pool *pool = pool_of(4);
    CHECK_EQ(sched_pool_run(pool, last_stats_root, (void *)99), 0);
    CHECK_EQ(sched_last_stats(&last_stats_stats, sizeof last_stats_stats), 0);
    CHECK(last_stats_stats.tasks != 100); /* the run has not ended */
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_EQ(sched_last_stats(&last_stats_stats, sizeof last_stats_stats), 0);
    CHECK_EQ(last_stats_stats.tasks, 100);
}
