/* point.h: a point of a sweep is a process of its own that plays a scene under one kind while
 * something fails. Its end is described by its status, by its output, and by the report, which lies
 * in memory that it shares. */
#ifndef POINT_H
#define POINT_H

#include "inject.h"
#include "scene.h"

enum { KINDS = 5 };
extern const char *const kinds[KINDS];

/* The report of the process of a point. */
struct report {
    struct outcome outcome;
    long failed;             /* calls that were made to fail */
    long calls[FAULT_CALLS]; /* in the scene without faults */
    int grows;               /* what is held grew in each of several parts of the rounds: bits, as in `held` */
    atomic_int round;
};

/* The report of the point that this process plays, or waits for. */
extern struct report *report;

/* Memory that a process shares with its children. */
void *shared(size_t size);

/* How the process of a point has ended. */
struct end {
    int status, is_late;
    double seconds, processor;
    char said[1 << 15]; /* without lines of statistics */
};

/* Runs body(arg) in a process of its own, which then ends by _exit(0), and waits for it. `report` is empty before. */
void run_process(void (*body)(void *), void *arg, struct end *end);

enum result { NO_EFFECT, ERRORS, FEWER, MESSAGE, RESULTS };
extern const char *const words[RESULTS];

/* The result of the point; RESULTS if it is wrong. `also` is a further message with which a process
 * may end, or NULL. */
enum result judge(const struct end *end, const char *also);

/* A word for the fault of a process with this result. */
const char *wrong_end(const struct end *end);

enum { HELD_BLOCKS = 1, HELD_MAPPED = 2, HELD_DESCRIPTORS = 4, HELD_THREADS = 8 };

/* Calls play(arg) `rounds` times in each of several parts. Returns the resources of which one more
 * is held after each round, except for the resources in `exempt`. Caches may grow for some time,
 * but not by each round. */
int grows(void (*play)(void *), void *arg, int rounds, int exempt);

/* The number of the kind, or of the scene; ends the process if there is none. */
int kind_named(const char *name);
int scene_named(const char *name);

extern const struct fault_interface fault_interface __attribute__((weak));

#endif
