/* SCHED_STATS=live: while a run goes on, a line on the terminal is drawn again and again; it is erased before the report.
 * SIGQUIT keeps its action. Where standard error shows no more than text, there is the report alone, as with 1, and no
 * thread for the line.
 * ctest: sleeps
 * ctest: matrix deque=mutex,split idle=park threads=2 */
#include "pty.h"
#include <dirent.h>
#include <sched_tasks.h>

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

static void leaf(void *closure, struct scheduler *s)
{
}

/* Waits for the test, if it is on a terminal that shows the line. */
static void root(void *closure, struct scheduler *s)
{
    struct sigaction action;
    char byte;
    for (int i = 0; i < 20; i++)
        CHECK_EQ(sched_spawn(leaf, NULL, s), 0);
    CHECK_EQ(sigaction(SIGQUIT, NULL, &action), 0);
    CHECK(action.sa_handler == SIG_DFL);
    if (closure)
        CHECK_EQ(read(wait_pipe[0], &byte, 1), 1);
    CHECK_EQ(has_thread("sched/watch"), closure != NULL);
}

static void live(void *waits)
{
    setenv("SCHED_STATS", "live", 1);
    CHECK_EQ(sched_init(2, 64, root, waits), 0);
    /* It was joined; the kernel may show it for a moment more. */
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

int main(void)
{
    char busy[64], *last = NULL;
    setenv("NO_COLOR", "1", 1);
    setenv("LC_ALL", "C", 1);
    unsetenv("SCHED_STATS_FILE");
    CHECK_EQ(pipe(wait_pipe), 0);

    pid_t pid = begin_on_terminal("xterm", live, wait_pipe);
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

    pid = begin_on_terminal("dumb", live, NULL);
    end_on_terminal(pid);
    check_report(child.said);

    in_child(live, NULL); /* a pipe */
    CHECK_CHILD_EXITED(0);
    check_report(child.said);
    return 0;
}
