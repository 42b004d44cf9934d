/* fenced.h: a test that does the same with membarrier denied if it has an argument. */
#ifndef FENCED_H
#define FENCED_H

#include "child.h"
#include "seccomp.h"

static inline void run_fenced(void *run)
{
    long call = SYS_membarrier;
    deny(&call, 1, EPERM);
    (*(void (**)(void))run)();
}

static inline void run_or_run_fenced(void (*run)(void), int argc)
{
    if (argc == 1) {
        run();
        return;
    }
    in_child(run_fenced, &run);
    CHECK_CHILD_PASSED();
}

#endif
