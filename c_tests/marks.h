/* marks.h: an array with a mark per task, to see that each ran exactly once. */
#ifndef MARKS_H
#define MARKS_H

#include "check.h"
#include <stdatomic.h>

enum { MARKS = 1 << 22 };
static _Atomic unsigned char marks[MARKS];

static inline void mark(long i)
{
    CHECK(i >= 0 && i < MARKS);
    CHECK_EQ(atomic_fetch_add_explicit(&marks[i], 1, memory_order_relaxed), 0);
}

/* The function of a task that marks its number. */
static inline void mark_number(void *i, struct scheduler *s)
{
    mark((long)i);
}

/* The task `name` of a tree of n tasks, each of which spawns up to `arity` others, as in a heap. */
#define MARKING_TREE(name, arity, n)                                                                                  \
    static void name(void *closure, struct scheduler *s)                                                              \
    {                                                                                                                 \
        long i = (long)closure;                                                                                       \
        mark(i);                                                                                                      \
        for (long child = (arity) * i + 1; child <= (arity) * i + (arity) && child < (n); child++)                    \
            CHECK_EQ(sched_spawn(name, (void *)child, s), 0);                                                         \
    }

/* Checks that each of the first n tasks ran once, and none of the next 64. Clears the marks. */
static inline void check_marks(long n)
{
    for (long i = 0; i < n; i++)
        if (marks[i] != 1) {
            char text[80];
            snprintf(text, sizeof text, "task %ld of %ld ran %d times\n", i, n, marks[i]);
            check_say(text);
            _exit(1);
        }
    for (long i = n; i < n + 64 && i < MARKS; i++)
        CHECK_EQ(marks[i], 0);
    memset((void *)marks, 0, (size_t)n);
}

#endif
