/* suits.c: of each line of standard input, whether sched_init takes it. A line is settings of the
 * environment, NAME=VALUE with blanks between; the answer a line with 1 or 0. With an argument, the
 * answer is what a run with these settings can do (kinds.rs). */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sched_tasks.h>
#include <string.h>

static void nothing(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
}

static int calls, last, workers;

static void task(void *number, struct scheduler *s)
{
    (void)s;
    last = (int)(long)number;
}

/* With one worker. */
static void spawns(void *closure, struct scheduler *s)
{
    (void)closure;
    sched_spawn(task, (void *)1, s);
    calls = last == 1;
    sched_spawn(task, (void *)2, s);
}

static void counts(void *closure, struct scheduler *s)
{
    (void)closure;
    workers = sched_worker_count(s);
}

static void say_properties(void)
{
    last = 0;
    sched_init(1, 0, spawns, NULL);
    sched_init(2, 0, counts, NULL);
    printf("%s %s %s\n", workers > 1 ? "threads" : "", calls ? "calls" : "", last == 1 ? "newest" : "");
}

int main(int argc, char **argv)
{
    (void)argv;
    char line[1024];
    while (fgets(line, sizeof line, stdin)) {
        for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
            char *value = strchr(word, '=');
            *value++ = 0;
            setenv(word, value, 1);
        }
        if (argc > 1) {
            say_properties();
            continue;
        }
        int accepted = sched_init(1, 0, nothing, NULL) == 0;
        if (!accepted && errno != EINVAL)
            return 1;
        puts(accepted ? "1" : "0");
    }
    return 0;
}
