/* Cgroups, of version 1 or 2: a group below that of this process, with a limit of its own. */
#include "limits.h"
#include <sys/stat.h>

static char path[PATH_MAX];
static const char *limit_file, *no_limit;

static int put(const char *folder, const char *name, const char *text)
{
    char file[PATH_MAX + 64];
    snprintf(file, sizeof file, "%s/%s", folder, name);
    FILE *f = fopen(file, "w");
    if (f == NULL)
        return -1;
    int written = fputs(text, f);
    return fclose(f) == 0 && written >= 0 ? 0 : -1;
}

/* Finds the folder of this process's own group with that controller: a line "N:controllers:/path" of /proc/self/cgroup,
 * and of version 2, where N is 0 and no controller is named. Returns the version, or 0. */
static int own_group(const char *controller, char *folder, size_t size)
{
    char line[PATH_MAX];
    int version = 0;
    FILE *file = fopen("/proc/self/cgroup", "r");
    while (file && version != 1 && fgets(line, sizeof line, file)) {
        char *names = strchr(line, ':'), *at = names ? strchr(names + 1, ':') : NULL, named[64];
        if (at == NULL)
            continue;
        *at++ = 0;
        at[strcspn(at, "\n")] = 0;
        snprintf(named, sizeof named, "/sys/fs/cgroup/%s", controller);
        if (strcmp(names + 1, controller) == 0)
            version = 1;
        else if (names[1] == 0 && strcmp(line, "0:") != 0 && version == 0)
            version = 2;
        else
            continue;
        snprintf(folder, size, "%s%s", version == 1 ? named : "/sys/fs/cgroup", strcmp(at, "/") == 0 ? "" : at);
    }
    if (file)
        fclose(file);
    return version;
}

const char *make_group(const char *controller)
{
    char own[PATH_MAX / 2];
    int version = own_group(controller, own, sizeof own), is_pids = strcmp(controller, "pids") == 0;
    if (version == 0)
        return "there is no cgroup with that controller";
    limit_file = is_pids ? "pids.max" : version == 1 ? "memory.limit_in_bytes" : "memory.max";
    no_limit = is_pids || version == 2 ? "max" : "-1";
    snprintf(path, sizeof path, "%s/libsched-limits-%d", own, (int)getpid());
    if (mkdir(path, 0755) != 0 && errno != EEXIST)
        return "no cgroup can be made";
    if (put(path, limit_file, no_limit) == 0)
        return NULL;
    remove_group();
    return "the cgroup has no such limit";
}

void remove_group(void)
{
    for (int i = 0; path[0] && rmdir(path) != 0 && errno == EBUSY && i < 1000; i++)
        pause_us(1000); /* the process in it has ended, but is still being taken away */
    path[0] = 0;
}

const char *limit_group(long most)
{
    char text[32];
    snprintf(text, sizeof text, "%ld", most);
    return put(path, limit_file, text) == 0 ? NULL : "the cgroup's limit cannot be set";
}

const char *join_group(void)
{
    return put(path, "cgroup.procs", "0") == 0 ? NULL : "no process can be moved into a cgroup";
}

void unlimit_group(void)
{
    CHECK_EQ(put(path, limit_file, no_limit), 0);
}

long killed_in_group(void)
{
    static const char *const files[] = {"memory.oom_control", "memory.events"};
    char file[PATH_MAX + 64], line[128];
    long killed = 0;
    for (int i = 0; i < 2; i++) {
        snprintf(file, sizeof file, "%s/%s", path, files[i]);
        FILE *f = fopen(file, "r");
        while (f && fgets(line, sizeof line, f))
            sscanf(line, "oom_kill %ld", &killed);
        if (f)
            fclose(f);
    }
    return killed;
}
