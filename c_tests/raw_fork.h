/* raw_fork.h: makes a child process without the fork handlers. */
#ifndef RAW_FORK_H
#define RAW_FORK_H

#include "child.h"
#include <dirent.h>
#include <sys/syscall.h>

extern pid_t _Fork(void) __attribute__((weak));

/* Whether each other thread of the process sleeps in the kernel. */
static int others_sleep(void)
{
    int all = 1;
    DIR *dir = opendir("/proc/self/task");
    CHECK(dir != NULL);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        char path[300], line[512] = "";
        if (e->d_name[0] == '.' || atoi(e->d_name) == thread_id())
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", e->d_name);
        FILE *file = fopen(path, "r");
        if (file == NULL)
            continue; /* it has ended */
        if (fgets(line, sizeof line, file)) {
            const char *name_end = strrchr(line, ')');
            all &= name_end != NULL && name_end[1] == ' ' && name_end[2] == 'S';
        }
        fclose(file);
    }
    closedir(dir);
    return all;
}

/* By _Fork if way is 1 and there is one, otherwise by clone. First all other threads fall asleep: one that is busy may hold a
 * lock of the C library's, which nobody frees in the child. */
static pid_t raw_fork(int way)
{
    for (struct patience p = patience_of(20); !others_sleep(); pause_us(1000))
        CHECK(is_patient(&p));
    if (way == 1 && _Fork)
        return _Fork();
    return (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
}

#endif
