/* processors: the processors that a process may use. */
#include "case.h"
#include "child.h"
#include "pool.h"
#include "marks.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* cpuset_widened: A cpuset that is widened reaches the threads of a pool, those that are there and
 * those that come later, as it reaches their creator; where an affinity mask confines the creator,
 * it confines them as before. Needs root, a cpuset controller and two processors.
 * ctest: timeout=60
 * ctest: matrix deque=split,chaselev idle=park threads=4 */
enum { MOST = 64 };

static char group[200], wide[600], narrow[16], but_one[600];
static cpu_set_t all;
static atomic_int arrived, leave, id[MOST];

static int cpuset_widened_put(const char *name, const char *text)
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
    if (cpuset_widened_put("cpuset.cpus", processors) != 0)
        skip("the processors of a cpuset cannot be changed here");
}

/* Enters the test's own cpuset, with these processors. */
static void enter(const char *processors)
{
    allow(processors);
    if (cpuset_widened_put("cgroup.procs", "0") != 0)
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
    CHECK_TIMES(guests, sched_pool_submit(pool, guest, NULL));
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
    if (cpuset_widened_put("cpuset.mems", memory) != 0) {
        printf("a cpuset cannot be given its memory: %s\n", strerror(errno));
        return -1;
    }
    return 0;
}

static void run(void (*body)(void *), void *processors)
{
    in_child(body, processors);
    if (!WIFEXITED(child.status) || WEXITSTATUS(child.status) != 0)
        remove_group(); /* the next step ends this process at once */
    CHECK_CHILD_PASSED();
}

CASE(cpuset_widened)
{
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    int processors = CPU_COUNT(&all);
    if (processors < 2) {
        printf("one processor only\n");
        exit(77);
    }
    if (processors > 100)
        processors = 100;
    list(narrow, sizeof narrow, 1);
    list(but_one, sizeof but_one, processors - 1);
    list(wide, sizeof wide, processors);
    if (make_group() != 0)
        exit(77);
    if (cpuset_widened_put("cpuset.cpus", wide) != 0) {
        printf("no cpuset can be made: %s\n", strerror(errno));
        exit(77);
    }
    run(kept, narrow);
    run(confined, narrow);
    run(kept, but_one);
}

/* quota: In a cgroup whose parent allows one processor and a half, the default is at most two
 * threads; one half: one thread. Needs root and a cpu controller; made-up trees are tested in
 * src/sys/cgroup/tests.rs. */
static char parent[200], quota_child[220];

static int quota_put(const char *dir, const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    if (f == NULL)
        return -1;
    int written = fputs(text, f);
    return fclose(f) == 0 && written >= 0 ? 0 : -1;
}

static void remove_groups(void)
{
    rmdir(quota_child);
    rmdir(parent);
}

/* The number of processors that a process in the child group sees. */
static int default_inside(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (quota_put(quota_child, "cgroup.procs", "0") != 0)
            _exit(200);
        _exit(sched_default_threads());
    }
    int status = wait_for(pid);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

CASE(quota)
{
    int v1 = access("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", F_OK) == 0
             || access("/sys/fs/cgroup/cpu/tasks", F_OK) == 0;
    snprintf(parent, sizeof parent, "/sys/fs/cgroup/%slibsched-test-%d", v1 ? "cpu/" : "", getpid());
    snprintf(quota_child, sizeof quota_child, "%s/inner", parent);
    const char *file = v1 ? "cpu.cfs_quota_us" : "cpu.max";
    if (mkdir(parent, 0755) != 0) {
        printf("no cgroup can be made: %s\n", strerror(errno));
        exit(77);
    }
    atexit(remove_groups);
    if (mkdir(quota_child, 0755) != 0 || quota_put(parent, file, v1 ? "150000" : "150000 100000") != 0) {
        printf("no quota can be set: %s\n", strerror(errno));
        exit(77);
    }
    cpu_set_t all;
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    int processors = CPU_COUNT(&all);
    int wanted = processors < 2 ? processors : 2;
    int seen = default_inside();
    if (seen == 200) {
        printf("no process can be moved into a cgroup\n");
        exit(77);
    }
    CHECK_EQ(seen, wanted);
    CHECK_EQ(quota_put(parent, file, v1 ? "50000" : "50000 100000"), 0);
    CHECK_EQ(default_inside(), 1);
}

/* realtime: SCHED_FIFO on one processor, where a thread that does not sleep keeps the processor for
 * ever: runs, waits and pools with several workers end all the same, with every way to be idle.
 * (The threads that the library makes have the policy of their creator.)
 * ctest: matrix threads=1,4 timeout=60
 * ctest: matrix kind=steal deque=split,mutex idle=park threads=4 join=help timeout=60 */
enum { N = 600, ROUNDS = 4, NO_END = 5 };

static sched_mutex mutex = SCHED_MUTEX_INIT;
static sched_barrier meeting;
static long in_mutex;
static atomic_int is_seen;

static void see(void *closure, struct scheduler *s)
{
    is_seen = 1;
}

/* Sleeps in the kernel for a moment, so that another thread has the processor, while it holds the mutex. */
static void task(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    sched_group children = SCHED_GROUP_INIT;
    for (long child = 3 * i + 1; child <= 3 * i + 3 && child < N; child++)
        CHECK_EQ(sched_group_spawn(&children, task, (void *)child, s), 0);
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    in_mutex++;
    if (i % 50 == 0)
        pause_us(100);
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
    sched_task_yield(s);
    CHECK_EQ(sched_group_wait(&children, s), 0);
    if (i % 100 == 0 && sched_block_begin(s) == 0) {
        pause_us(100);
        CHECK_EQ(sched_block_end(s), 0);
    }
    mark(i);
}

static void meet(void *closure, struct scheduler *s)
{
    CHECK(sched_barrier_wait(&meeting, s) >= 0);
}

static void meet_all(void *closure, struct scheduler *s)
{
    CHECK_TIMES(3, sched_spawn(meet, NULL, s));
    CHECK(sched_barrier_wait(&meeting, s) >= 0);
}

static void use_all(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        in_mutex = 0;
        CHECK_EQ(sched_init(4, 16, task, (void *)0), 0);
        CHECK_EQ(in_mutex, N);
        check_marks(N);
        CHECK_EQ(sched_barrier_init(&meeting, 4), 0);
        CHECK_EQ(sched_init(4, 16, meet_all, NULL), 0);
    }
    struct sched_pool *pool = pool_of(4);
    CHECK_EQ(sched_pool_run(pool, task, (void *)0), 0);
    check_marks(N);
    CHECK_EQ(sched_pool_submit(pool, see, NULL), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_EQ(is_seen, 1);
}

/* The kernel ends it when it has used NO_END seconds of the processor, which nobody else may get from it. */
static void body(void *unused)
{
    struct sched_param first = {.sched_priority = 1};
    struct rlimit most = {NO_END, NO_END};
    cpu_set_t one, all;
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    CHECK_EQ(setrlimit(RLIMIT_CPU, &most), 0);
    if (sched_setscheduler(0, SCHED_FIFO, &first) != 0)
        skip("the policy SCHED_FIFO is refused here");
    use_all();
}

CASE(realtime)
{
    in_child(body, NULL);
    CHECK_CHILD_PASSED();
}
