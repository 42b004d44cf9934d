/* sched_version: three numbers, and the same text at each call; those of the header are the same.
 * ctest: static */
#include "check.h"
#include <sched_tasks.h>

#if SCHED_VERSION_NUMBER < 10000 /* 1.0.0, the first version */
#error "SCHED_VERSION_NUMBER"
#endif

int main(void)
{
    const char *version = sched_version();
    int major, minor, patch, end = 0;
    CHECK(version != NULL);
    CHECK_EQ(sscanf(version, "%d.%d.%d%n", &major, &minor, &patch, &end), 3);
    CHECK_EQ(version[end], 0);
    CHECK(major >= 0 && minor >= 0 && minor < 100 && patch >= 0 && patch < 100);
    CHECK(sched_version() == version);
    CHECK(strcmp(SCHED_VERSION_STRING, version) == 0);
    CHECK_EQ(SCHED_VERSION_NUMBER, major * 10000 + minor * 100 + patch);
    return 0;
}
