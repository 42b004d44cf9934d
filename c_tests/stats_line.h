/* stats_line.h: the statistics of the runs of a process, gathered in a file. */
#ifndef STATS_LINE_H
#define STATS_LINE_H

#include "check.h"
#include <sys/stat.h>

static char stats_path[64];

/* From now on each run writes a line of JSON to a file of this process. */
static inline void gather_stats(void)
{
    snprintf(stats_path, sizeof stats_path, "/tmp/sched-stats-XXXXXX");
    int fd = mkstemp(stats_path);
    CHECK(fd >= 0);
    fchmod(fd, 0666);
    close(fd);
    setenv("SCHED_STATS", "json", 1);
    setenv("SCHED_STATS_FILE", stats_path, 1);
}

/* Reads all lines that were gathered; removes the file. */
static inline char *gathered_stats(void)
{
    static char text[65536];
    FILE *file = fopen(stats_path, "r");
    CHECK(file != NULL);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    unlink(stats_path);
    return text;
}

/* The number after "key": on a line. If the workers have such a key, too, the first number. */
static inline long stat_number(const char *line, const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(line, quoted);
    CHECK(at != NULL);
    return atol(at + strlen(quoted));
}

#endif
