/* SCHED_STATS=1: under the sums a bar for each worker: plain text where standard error is no terminal, blocks and
 * colours on one, unless NO_COLOR or the locale forbid it. 64 workers share 32 rows.
 * ctest: */
#include "pty.h"
#include <sched.h>

static const char *words[] = {"busy", "searching", "parked", "blocked"};

static void root(void *closure, struct scheduler *s)
{
}

static void runs(void *workers)
{
    setenv("SCHED_STATS", "1", 1);
    CHECK_EQ(sched_init(*(int *)workers, 64, root, NULL), 0);
}

static void on_terminal(int workers)
{
    end_on_terminal(begin_on_terminal("xterm", runs, &workers));
}

/* Whether a byte of the report is no plain text. */
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

int main(void)
{
    int workers = 3;
    setenv("LC_ALL", "C.UTF-8", 1);
    unsetenv("NO_COLOR");
    in_child(runs, &workers);
    CHECK_CHILD_EXITED(0);
    CHECK(!is_decorated());
    for (int i = 0; i < 4; i++)
        CHECK_CHILD_SAID(words[i]);
    CHECK(has_row("0") && has_row("2") && has_row("all") && !has_row("3"));
    CHECK_CHILD_SAID("  # busy  s searching  . parked  b blocked\n");
    CHECK_CHILD_SAID("  ..................................................\n"); /* the third worker has had no thread */

    workers = 64;
    in_child(runs, &workers);
    CHECK_CHILD_EXITED(0);
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
    return 0;
}
