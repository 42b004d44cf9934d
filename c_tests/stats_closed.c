/* SCHED_STATS_FILE in a program without standard descriptors, so that the file gets one of
 * theirs: the line is written, and the file is closed after the run. */
#include "proc.h"
#include "child.h"
#include "stats_line.h"
#include <fcntl.h>

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
    for (int fd = 0; fd < 3; fd++) /* whatever was open is still */
        failed |= (fcntl(fd, F_GETFD) == -1) != ((long)which >> fd & 1);
    _exit(failed ? 3 : 0); /* there may be no stderr to say why */
}

int main(void)
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
    return 0;
}
