/* proc.h: the resources of a process: threads, descriptors, memory, mappings. */
#ifndef PROC_H
#define PROC_H

#include "check.h"
#include <dirent.h>
#include <malloc.h>

static inline int entries(const char *path)
{
    int n = 0;
    DIR *dir = opendir(path);
    CHECK(dir != NULL);
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        n += e->d_name[0] != '.';
    closedir(dir);
    return n;
}

static inline int thread_count(void)
{
    return entries("/proc/self/task");
}

static inline int descriptor_count(void)
{
    return entries("/proc/self/fd");
}

/* The number in the line "key: number" of /proc/self/status, in kB; the key is VmRSS, VmSize or the like. */
static inline long status_kb(const char *key)
{
    char line[256];
    long kb = -1;
    FILE *file = fopen("/proc/self/status", "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':')
            kb = atol(line + strlen(key) + 1);
    fclose(file);
    CHECK(kb >= 0);
    return kb;
}

/* From now on the process may have so many kB of address space more than it has. */
static inline void limit_space(long more_kb)
{
    rlim_t bytes = (rlim_t)(status_kb("VmSize") + more_kb) * 1024;
    struct rlimit limit = {bytes, bytes};
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}

static inline int mapping_count(void)
{
    int n = 0, c;
    FILE *file = fopen("/proc/self/maps", "r");
    CHECK(file != NULL);
    while ((c = getc(file)) != EOF)
        n += c == '\n';
    fclose(file);
    return n;
}

/* From now on all threads share one heap. Otherwise the C library makes a heap, with 64 MB of address space, for each
 * thread that allocates while others do. */
static inline void one_heap(void)
{
    CHECK(mallopt(M_ARENA_MAX, 1));
}

/* Waits up to twenty seconds until the process has n threads; true if it has. /proc may show a joined thread for a
 * moment more, and warm threads until their time is over. */
static inline int threads_become(int n)
{
    for (struct patience p = patience_of(20); is_patient(&p); pause_us(1000))
        if (thread_count() == n)
            return 1;
    return 0;
}

/* After 100 rounds, 1000 more leave no thread and no descriptor behind, and no memory that grows with their number. */
static inline void check_no_growth(void (*rounds)(int n))
{
    rounds(100);
    CHECK(threads_become(1));
    int descriptors = descriptor_count(), mappings = mapping_count();
    long resident = status_kb("VmRSS");
    rounds(1000);
    CHECK(threads_become(1));
    CHECK_EQ(descriptor_count(), descriptors);
    if (mapping_count() > mappings + 64) /* stacks are kept, and not always as many in use at once */
        CHECK_EQ(mapping_count(), mappings);
    long grown = status_kb("VmRSS") - resident;
    if (grown > 1024) /* 1 KiB a round would be a leak */
        CHECK_EQ(grown, 0);
}

#endif
