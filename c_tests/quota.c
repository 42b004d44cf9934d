/* In a cgroup whose parent allows one processor and a half, the default is at most two
 * threads; one half: one thread. Needs root and a cpu controller; made-up trees are tested
 * in src/sys/cgroup/tests.rs. */
#include "check.h"
#include <sys/stat.h>
#include <sys/wait.h>

static char parent[200], child[220];

static int put(const char *dir, const char *name, const char *text)
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
    rmdir(child);
    rmdir(parent);
}

/* What a process that is put into the child group sees. */
static int default_inside(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (put(child, "cgroup.procs", "0") != 0)
            _exit(200);
        _exit(sched_default_threads());
    }
    int status = 0;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

int main(void)
{
    int v1 = access("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", F_OK) == 0
             || access("/sys/fs/cgroup/cpu/tasks", F_OK) == 0;
    snprintf(parent, sizeof parent, "/sys/fs/cgroup/%slibsched-test-%d", v1 ? "cpu/" : "", getpid());
    snprintf(child, sizeof child, "%s/inner", parent);
    const char *file = v1 ? "cpu.cfs_quota_us" : "cpu.max";
    if (mkdir(parent, 0755) != 0) {
        printf("no cgroup can be made: %s\n", strerror(errno));
        return 77;
    }
    atexit(remove_groups);
    if (mkdir(child, 0755) != 0 || put(parent, file, v1 ? "150000" : "150000 100000") != 0) {
        printf("no quota can be set: %s\n", strerror(errno));
        return 77;
    }
    cpu_set_t all;
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    int processors = CPU_COUNT(&all);
    int wanted = processors < 2 ? processors : 2;
    int seen = default_inside();
    if (seen == 200) {
        printf("no process can be moved into a cgroup\n");
        return 77;
    }
    CHECK_EQ(seen, wanted);
    CHECK_EQ(put(parent, file, v1 ? "50000" : "50000 100000"), 0);
    CHECK_EQ(default_inside(), 1);
    return 0;
}
