/* block.h: for the tests of blocking sections. */
#ifndef BLOCK_H
#define BLOCK_H

#include "sync.h"

APART void begin(struct scheduler *s)
{
    CHECK_EQ(sched_block_begin(s), 0);
}

APART void end(struct scheduler *s)
{
    CHECK_EQ(sched_block_end(s), 0);
}

/* Sleeps in a section. */
__attribute__((unused)) APART void block(long us, struct scheduler *s)
{
    begin(s);
    pause_us(us);
    end(s);
}

/* The process's threads. */
__attribute__((unused)) static int count_threads(void)
{
    char line[256];
    int n = 0;
    FILE *status = fopen("/proc/self/status", "r");
    CHECK(status != NULL);
    while (fgets(line, sizeof line, status) && sscanf(line, "Threads: %d", &n) != 1)
        continue;
    fclose(status);
    return n;
}

#endif
