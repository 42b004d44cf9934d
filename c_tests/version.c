/* sched_version: three numbers, and the same text at each call.
 * ctest: static */
#include "check.h"
#include <sched_tasks.h>

int main(void)
{
    const char *version = sched_version();
    int major, minor, patch, end = 0;
    CHECK(version != NULL);
    CHECK_EQ(sscanf(version, "%d.%d.%d%n", &major, &minor, &patch, &end), 3);
    CHECK_EQ(version[end], 0);
    CHECK(major >= 0 && minor >= 0 && patch >= 0);
    CHECK(sched_version() == version);
    return 0;
}
