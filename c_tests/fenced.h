/* fenced.h: a program that does the same with membarrier denied if it has an argument. */
#ifndef FENCED_H
#define FENCED_H

#include "child.h"
#include "seccomp.h"

static void run(void);

static void fenced(void *arg)
{
    long call = SYS_membarrier;
    deny(&call, 1, EPERM);
    run();
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        run();
        return 0;
    }
    in_child(fenced, NULL);
    CHECK_CHILD_PASSED();
    return 0;
}

#endif
