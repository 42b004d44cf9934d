/* scene.h: the scenes that the sweep plays. A scene uses a part of the interface, checks that each accepted task runs
 * exactly once, and leaves nothing open. Calls that may fail are made by DONE.
 *
 * Each file calls only the files before it: parts.c, foreign.c, whole.c, talk.c, scenes.c, point.c,
 * and sweep.c or ../limits. */
#ifndef SCENE_H
#define SCENE_H

#include "../check.h"
#include <sched_typed.h>
#include <stdatomic.h>

struct scene {
    const char *name;
    void (*play)(void);
    int has_many_calls; /* too many for a sweep that tries each of them */
};

extern const struct scene scenes[];
extern const int scene_count;

/* The outcome of the calls of a scene. */
struct outcome {
    atomic_int errors;  /* calls that returned -1, with a documented errno */
    atomic_int missing; /* the most workers of a run that got no thread */
};

extern struct outcome *outcome;

/* The phases of a process of the sweep. */
enum phase {
    STRICT,  /* nothing fails: no call of the library may */
    ONCE,    /* a single call fails: the library's call that fails succeeds when it is repeated */
    LASTING, /* from some call on, all fail: the scene does without the refused resources */
};

extern enum phase phase;

/* The errno with which calls fail now. */
extern int injected;

/* Whether the call has succeeded. If not, errno is one of `allowed`, which ends with 0. */
int succeeded(const char *call, int result, int error, int repeated, const int *allowed);

/* Makes the call, up to `times` times, until it succeeds. True if it has succeeded. The further arguments are the errors
 * that the call may report. */
#define TRIED(times, call, ...)                                                                               \
    __extension__({                                                                                           \
        int done_ = 0;                                                                                        \
        for (int repeated_ = 0; !done_ && repeated_ < (times); repeated_++) {                                 \
            set_errno(0);                                                                                     \
            int result_ = (call);                                                                             \
            done_ = succeeded(#call, result_, get_errno(), repeated_, (const int[]){__VA_ARGS__, 0});         \
        }                                                                                                     \
        done_;                                                                                                \
    })
/* As TRIED; if only one call of the system fails, the second try has to succeed. */
#define DONE(call, ...) TRIED(phase == ONCE ? 2 : 1, call, __VA_ARGS__)

/* A task that is to run exactly once, if it is accepted. */
struct job {
    atomic_int accepted, ran;
};

/* A job that has not been used since `check_jobs`. */
struct job *new_job(void);
/* The function of a task: the job has run. */
void run_job(void *job, struct scheduler *s);
/* All jobs have run as often as they should. */
void check_jobs(void);

/* The task of the interface that uses nearly all of it; the scenes run it in a run and in a pool. */
void whole(void *closure, struct scheduler *s);

/* A scene of sched_io.h. Its partner begins before anything fails. */
void begin_partner(void);
void talk(void);

/* Loops, a reduction with a large value, and a sort of the array, with this s. */
enum { LOOP_ELEMENTS = 3000 };
void use_loops(int *array, struct scheduler *s);

/* A thread of the program, which does what tasks wait for. It begins before anything fails. */
void begin_foreign(void);
void meet_foreign(struct scheduler *s);
/* Waits for a unit that the thread supplies. */
void wait_foreign(struct scheduler *s);

/* Notes how many threads the run that has ended, or the run of s, lacked. */
void note_missing(struct scheduler *s);

#endif
