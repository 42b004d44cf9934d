/* SCHED_STATS=live on a terminal that its user has stopped (^S), so that it accepts nothing: the line is not drawn, and
 * nothing waits for it. The run ends, and its report is in the file; a signal ends the process at once, and the timeline
 * is whole; so it is if the watchdog has something to say there.
 * ctest: static sleeps
 * ctest: matrix deque=split idle=park threads=2 */
#include "pty.h"
#include <sched_tasks.h>
#include <termios.h>

enum { TASKS = 20 };

static char folder[] = "/tmp/sched-stopped-XXXXXX", stats[64], trace[64], text[1 << 20];
static int go[2];

static void leaf(void *closure, struct scheduler *s)
{
}

static void root(void *closure, struct scheduler *s)
{
    char byte;
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_spawn(leaf, NULL, s), 0);
    CHECK_EQ(read(go[0], &byte, 1), 1);
    sched_task_yield(s);
    CHECK_EQ(read(go[0], &byte, 1), 1); /* so the leaves have run, also in kind serial */
}

static void live(void *watchdog)
{
    setenv("SCHED_STATS", "live", 1);
    setenv("SCHED_STATS_FILE", stats, 1);
    setenv("SCHED_TRACE", trace, 1);
    if (watchdog)
        setenv("SCHED_WATCHDOG", watchdog, 1);
    CHECK_EQ(sched_init(2, 64, root, NULL), 0);
}

/* Begins a run, and stops its terminal when it shows the line. Two draws later the run may end, if it is to. */
static pid_t begin_stopped(const char *watchdog, int ends)
{
    CHECK_EQ(pipe(go), 0);
    pid_t pid = begin_on_terminal("xterm", live, (void *)(uintptr_t)watchdog);
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
    CHECK_EQ(begun, TASKS + 1);
}

int main(void)
{
    CHECK(mkdtemp(folder) != NULL);
    snprintf(stats, sizeof stats, "%s/stats", folder);
    snprintf(trace, sizeof trace, "%s/trace.json", folder);

    wait_beside(begin_stopped(NULL, 1), 20);
    CHECK_CHILD_EXITED(0);
    check_timeline();
    read_file(stats);
    CHECK(strstr(text, "searching") != NULL);

    static const char *const watchdogs[] = {NULL, "300ms"};
    for (int i = 0; i < 2; i++) {
        pid_t pid = begin_stopped(watchdogs[i], 0);
        CHECK_EQ(kill(pid, SIGTERM), 0);
        wait_beside(pid, 20);
        check_child(__FILE__, __LINE__, WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGTERM, "be killed");
        check_timeline();
        unlink(stats);
    }
    CHECK_EQ(rmdir(folder), 0);
    return 0;
}
