/* A cpuset that is widened reaches the threads of a pool, those that are there and those that come later, as it
 * reaches their creator; where an affinity mask confines the creator, it confines them as before.
 * Needs root, a cpuset controller and two processors.
 * ctest: timeout=60
 * ctest: matrix deque=split,chaselev idle=park threads=4 */
#include "child.h"
#include "pool.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>

enum { MOST = 64 };

static char group[200], wide[600], narrow[16], but_one[600];
static cpu_set_t all;
static atomic_int arrived, leave, id[MOST];

static int put(const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", group, name);
    int fd = open(path, O_WRONLY);
    if (fd < 0)
        return -1;
    ssize_t written = write(fd, text, strlen(text));
    close(fd);
    return written == (ssize_t)strlen(text) ? 0 : -1;
}

static void allow(const char *processors)
{
    if (put("cpuset.cpus", processors) != 0)
        skip("the processors of a cpuset cannot be changed here");
}

/* In the test's own cpuset, with these processors. */
static void enter(const char *processors)
{
    allow(processors);
    if (put("cgroup.procs", "0") != 0)
        skip("no process can be moved into a cpuset here");
}

static void guest(void *closure, struct scheduler *s)
{
    int i = atomic_fetch_add(&arrived, 1);
    CHECK(i < MOST);
    id[i] = thread_id();
    while (!leave)
        pause_us(200);
}

static void invite(struct sched_pool *pool, int guests)
{
    int wanted = arrived + guests;
    for (int i = 0; i < guests; i++)
        CHECK_EQ(sched_pool_submit(pool, guest, NULL), 0);
    while (arrived < wanted)
        pause_us(200);
    for (int i = 0; i < wanted; i++)
        while (!id[i])
            pause_us(200);
}

/* Every thread that a guest occupies may use what the calling thread may. */
static void same_for_all(void)
{
    cpu_set_t mine, its;
    CHECK_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
    for (int i = 0; i < arrived; i++) {
        CHECK_EQ(sched_getaffinity(id[i], sizeof its, &its), 0);
        CHECK_EQ(CPU_COUNT(&its), CPU_COUNT(&mine));
        CHECK(CPU_EQUAL(&its, &mine));
    }
}

static int early(void)
{
    return threads_of(4) < 2 ? 1 : 2;
}

/* Two threads come before the cpuset is widened, the others after. */
static void widened(void *processors)
{
    enter((const char *)processors);
    struct sched_pool *pool = pool_of(4);
    invite(pool, early());
    same_for_all();
    allow(wide);
    same_for_all();
    invite(pool, threads_of(4) - early());
    same_for_all();
    leave = 1;
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* Kept threads, called again by a pool that was made before the cpuset was widened. */
static void kept(void *processors)
{
    widened(processors);
    arrived = leave = 0;
    memset(id, 0, sizeof id);
    widened(processors);
}

/* The creator confines itself to one processor; then the cpuset does, for a while. Before Linux 6.2 the
 * second undoes the first, for all threads alike. */
static void confined(void *processors)
{
    cpu_set_t one;
    enter(wide);
    CPU_ZERO(&one);
    CPU_SET(atoi((const char *)processors), &one);
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    struct sched_pool *pool = pool_of(4);
    invite(pool, early());
    same_for_all();
    allow((const char *)processors);
    same_for_all();
    allow(wide);
    same_for_all();
    CHECK_EQ(sched_getaffinity(0, sizeof one, &one), 0);
    if (CPU_COUNT(&one) == 1) {
        invite(pool, threads_of(4) - early());
        same_for_all();
    }
    leave = 1;
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

static void remove_group(void)
{
    /* The kernel may not have forgotten yet that the last child was in it. */
    for (int i = 0; i < 100 && rmdir(group) != 0 && errno == EBUSY; i++)
        pause_us(10000);
}

/* The list of all processors, or of all but the last, as cpuset.cpus wants it. */
static void list(char *text, size_t size, int count)
{
    size_t at = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && count > 0 && at + 8 < size; cpu++)
        if (CPU_ISSET(cpu, &all)) {
            at += (size_t)snprintf(text + at, size - at, "%s%d", at ? "," : "", cpu);
            count--;
        }
}

static int make_group(void)
{
    int v1 = access("/sys/fs/cgroup/cpuset/cpuset.cpus", F_OK) == 0;
    snprintf(group, sizeof group, "/sys/fs/cgroup/%slibsched-test-%d", v1 ? "cpuset/" : "", (int)getpid());
    if (mkdir(group, 0755) != 0) {
        printf("no cgroup can be made: %s\n", strerror(errno));
        return -1;
    }
    atexit(remove_group);
    if (!v1)
        return 0;
    char memory[256] = "";
    FILE *file = fopen("/sys/fs/cgroup/cpuset/cpuset.mems", "r");
    if (file != NULL) {
        if (fgets(memory, sizeof memory, file) != NULL)
            memory[strcspn(memory, "\n")] = 0;
        fclose(file);
    }
    if (put("cpuset.mems", memory) != 0) {
        printf("a cpuset cannot be given its memory: %s\n", strerror(errno));
        return -1;
    }
    return 0;
}

static void run(void (*body)(void *), void *processors)
{
    in_child(body, processors);
    if (!WIFEXITED(child.status) || WEXITSTATUS(child.status) != 0)
        remove_group(); /* what follows ends this process at once */
    CHECK_CHILD_PASSED();
}

int main(void)
{
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    int processors = CPU_COUNT(&all);
    if (processors < 2) {
        printf("one processor only\n");
        return 77;
    }
    if (processors > 100)
        processors = 100;
    list(narrow, sizeof narrow, 1);
    list(but_one, sizeof but_one, processors - 1);
    list(wide, sizeof wide, processors);
    if (make_group() != 0)
        return 77;
    if (put("cpuset.cpus", wide) != 0) {
        printf("no cpuset can be made: %s\n", strerror(errno));
        return 77;
    }
    run(kept, narrow);
    run(confined, narrow);
    run(kept, but_one);
    return 0;
}
