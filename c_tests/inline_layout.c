/* sched_inline.h: a program that includes it, and calls nothing but sched_spawn, needs the symbol
 * that stands for the library's layout.
 * ctest: static */
#include "check.h"
#include <sched_inline.h>

static void nothing(void *closure, struct scheduler *s)
{
}

static void first(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(nothing, closure, s), 0);
}

int main(void)
{
    char command[64], line[256];
    int found = 0;
    snprintf(command, sizeof command, "nm /proc/%ld/exe", (long)getpid());
    FILE *symbols = popen(command, "r");
    CHECK(symbols != NULL);
    while (fgets(line, sizeof line, symbols))
        found |= strstr(line, " sched_layout_1") != NULL;
    CHECK_EQ(pclose(symbols), 0);
    CHECK(found);
    CHECK_EQ(sched_init(0, 0, first, NULL), 0);
    return 0;
}
