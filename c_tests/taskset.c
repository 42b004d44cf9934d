/* Under a real taskset to one processor, the default is one thread. */
#include "check.h"

static void count(void *counter, struct scheduler *s)
{
    ++*(int *)counter;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "confined") == 0) {
        int ran = 0;
        CHECK_EQ(sched_default_threads(), 1);
        CHECK_EQ(sched_init(0, 0, count, &ran), 0);
        CHECK_EQ(ran, 1);
        return 0;
    }
    cpu_set_t all;
    char cpu[16];
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all))
            snprintf(cpu, sizeof cpu, "%d", i);
    execlp("taskset", "taskset", "-c", cpu, argv[0], "confined", (char *)NULL);
    printf("taskset cannot be run: %s\n", strerror(errno));
    return 77;
}
