/* case.h: a program of several cases. Include it first, instead of check.h.
 *
 * PROGRAM CASE [ARGUMENT...] runs one case. The runner starts a process for each run of a case, so a
 * case finds static variables as they were initialised, and may change the process as it likes. Its
 * markers (c_tests/runner/src/marker.rs) stand in a comment before it. */
#ifndef CASE_H
#define CASE_H

#include "check.h"

struct test_case {
    const char *name;
    void (*run)(int argc, char **argv);
    struct test_case *next;
};

static struct test_case *test_cases;

/* CASE(name) { ... }: the function that runs the case. Its argv is as main's would be if the case were a program. */
#define CASE(name)                                                                          \
    static void case_##name(int argc, char **argv);                                         \
    __attribute__((constructor)) static void add_case_##name(void)                          \
    {                                                                                       \
        static struct test_case this_case = {#name, case_##name, NULL};                     \
        this_case.next = test_cases;                                                        \
        test_cases = &this_case;                                                            \
    }                                                                                       \
    static void case_##name(__attribute__((unused)) int argc, __attribute__((unused)) char **argv)

/* Tasks that many cases need: one that does nothing, and one that adds 1 to a variable. */
static inline void nothing(void *closure, struct scheduler *s)
{
}

#define COUNTING_TASK(name, variable)                          \
    static void name(void *closure, struct scheduler *s)       \
    {                                                          \
        (variable)++;                                          \
    }

int main(int argc, char **argv)
{
    for (struct test_case *one = test_cases; one && argc > 1; one = one->next)
        if (strcmp(one->name, argv[1]) == 0) {
            argv[1] = argv[0];
            one->run(argc - 1, argv + 1);
            return 0;
        }
    fprintf(stderr, "%s CASE [ARGUMENT...]; the cases are:\n", argv[0]);
    for (struct test_case *one = test_cases; one; one = one->next)
        fprintf(stderr, "    %s\n", one->name);
    return 2;
}

#endif
