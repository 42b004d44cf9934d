/* limits.h: resources that the system may withhold from a process, each as a row of a table. */
#ifndef LIMITS_H
#define LIMITS_H

#include "../faults/point.h"

enum flags {
    FITS = 1,     /* no call of the library may fail */
    SHOWS = 2,    /* some point has another outcome than to be done all the same, or the limit has no effect */
    CONFINES = 4, /* in force for a thread and the threads that it makes, and never lifted */
    KILLS = 8,    /* the kernel may end the process */
    AT_START = 16, /* in force before the foreign thread is made; not lifted */
    MUTE = 32      /* no memory for the handler that says that a stack has overflowed */
};

struct limit {
    const char *name;
    long value;
    /* Each returns NULL, or why the limit cannot be set here. `prepare` is called in a process with one thread. */
    const char *(*prepare)(long value);
    const char *(*apply)(long value);
    void (*lift)(void);
    int error;              /* of an open that is refused */
    const char *ends;       /* a message with which the process may end, or NULL */
    unsigned flags;
    const char *group;      /* the controller of a cgroup that the process needs, or NULL */
    const char *scene;      /* the only one that meets the limit, or NULL */
};

/* Limits of resources, cgroups, missing file systems: table.c. */
extern const struct limit limits[];
extern const int limit_count;

/* System calls that are denied: filter.c. There are three ways, each for `filter_count` calls. */
enum way { REFUSE, UNKNOWN, KILL, WAYS };
extern const int filter_count;
struct limit filter_of(enum way way, int call);
/* All that are not listed are killed. */
extern const struct limit only_listed;

/* group.c: makes a cgroup for a child process; NULL, or why there is none. It is removed when that has ended. */
const char *make_group(const char *controller);
void remove_group(void);
/* For the child: sets the cgroup's limit, and joins it. */
const char *join_group(void);
const char *limit_group(long most);
void unlimit_group(void);
/* How many processes the kernel has killed there, for want of memory. */
long killed_in_group(void);

/* For table.c, set by limits.c: this program again, in this process, with the arguments and environment that it has now. */
extern void (*start_again)(void);

#endif
