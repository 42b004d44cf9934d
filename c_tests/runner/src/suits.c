/* suits.c: of each line of standard input, whether sched_init takes it. A line is settings of the
 * environment, NAME=VALUE with blanks between; the answer a line with 1 or 0. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void nothing(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
}

int main(void)
{
    char line[1024];
    while (fgets(line, sizeof line, stdin)) {
        for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
            char *value = strchr(word, '=');
            *value++ = 0;
            setenv(word, value, 1);
        }
        int accepted = sched_init(1, 0, nothing, NULL) == 0;
        if (!accepted && errno != EINVAL)
            return 1;
        puts(accepted ? "1" : "0");
    }
    return 0;
}
