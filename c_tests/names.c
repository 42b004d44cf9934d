/* The created threads are named sched/1, sched/2, …; the caller's is left alone.
 * ctest: matrix kind=lifo,fifo,steal,cont deque=mutex,split,chaselev idle=park threads=1,4,16 */
#include "proc.h"
#include <stdatomic.h>

static int wanted;
static atomic_int seen_all;
static char after[32];

/* A bit for each name that is there, -1 when a thread has a name of no kind. */
static long names(void)
{
    long seen = 0;
    DIR *dir = opendir("/proc/self/task");
    CHECK(dir != NULL);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        char path[300], name[32] = "";
        int worker, end = 0;
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
        FILE *file = fopen(path, "r");
        if (!file || !fgets(name, sizeof name, file)) {
            closedir(dir);
            return -1;
        }
        fclose(file);
        name[strcspn(name, "\n")] = 0;
        if (atoi(e->d_name) == (int)getpid()) {
            snprintf(after, sizeof after, "%s", name);
            seen |= 1;
        } else if (sscanf(name, "sched/%d%n", &worker, &end) == 1 && !name[end] && worker > 0 && worker < 60)
            seen |= 1l << worker;
        else
            seen = -1;
    }
    closedir(dir);
    return seen;
}

static void leaf(void *closure, struct scheduler *s)
{
    while (!seen_all)
        pause_us(200);
}

/* A thread starts when there is a task for it, and takes its name then: give them time, and look
 * again a little later. */
static void root(void *closure, struct scheduler *s)
{
    long all = (1l << wanted) - 1;
    for (int i = 1; i < wanted; i++)
        CHECK_EQ(sched_spawn(leaf, NULL, s), 0);
    for (struct patience p = patience_of(20); is_patient(&p) && names() != all;)
        pause_us(500);
    pause_us(1000);
    CHECK_EQ(names(), all);
    CHECK(strcmp(after, "names of a test") == 0);
    seen_all = 1;
}

int main(void)
{
    CHECK_EQ(pthread_setname_np(pthread_self(), "names of a test"), 0);
    wanted = threads_of(4);
    CHECK_EQ(sched_init(4, 4, root, NULL), 0);
    CHECK(threads_become(1));
    CHECK_EQ(names(), 1);
    CHECK(strcmp(after, "names of a test") == 0);
    return 0;
}
