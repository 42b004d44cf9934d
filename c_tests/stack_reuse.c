/* The stacks of tasks that wait are used again: 1,000 runs with tasks that wait take no more memory, nor
 * address space, than 20; and after a run with many they are given back.
 * ctest: matrix deque=mutex,split idle=park threads=1,4 timeout=60
 * ctest: matrix kind=steal,cont deque=split idle=park threads=4 env=SCHED_STACK=256K timeout=60
 * ctest: matrix kind=steal,cont deque=split idle=park threads=4 args=sizes timeout=60 */
#include "aside.h"
#include "proc.h"
#include <stdatomic.h>

enum { RUNS = 1000 / SMALLER, TASKS = 20, MANY = 3000 / SMALLER };

static atomic_int there;
static int wanted;

static void waits(void *closure, struct scheduler *s)
{
    char touched[16384];
    memset(touched, (int)(intptr_t)closure, sizeof touched);
    there++;
    while (there < wanted)
        sched_task_yield(s);
    for (size_t i = 0; i < sizeof touched; i += 4096)
        CHECK_EQ(touched[i], (char)(intptr_t)closure);
}

static void root(void *closure, struct scheduler *s)
{
    for (intptr_t i = 0; i < wanted; i++)
        CHECK_EQ(sched_spawn(waits, (void *)i, s), 0);
}

static void run(int tasks, int number)
{
    static const char *const sizes[] = {"128K", "256K", "1M"};
    if (number >= 0)
        setenv("SCHED_STACK", sizes[number % 3], 1);
    there = 0;
    wanted = tasks;
    CHECK_EQ(sched_init(4, 10, root, NULL), 0);
    CHECK_EQ(there, tasks);
}

int main(int argc, char **argv)
{
    int sizes = argc > 1 && strcmp(argv[1], "sizes") == 0;
    one_heap();
    for (int i = 0; i < 20; i++)
        run(TASKS, sizes ? i : -1);
    long size = status_kb("VmSize"), rss = status_kb("VmRSS");
    int mappings = mapping_count();
    for (int i = 20; i < RUNS; i++)
        run(TASKS, sizes ? i : -1);
    CHECK(status_kb("VmSize") - size < 300 * 1024); /* the store's are of 8 MB */
    CHECK(status_kb("VmRSS") - rss < 2 * 1024);
    CHECK(mapping_count() - mappings < 50);
    run(MANY, sizes ? 0 : -1);
    CHECK(status_kb("VmRSS") - rss < 8 * 1024);
    CHECK(mapping_count() - mappings < 600);
    return 0;
}
