/* Tasks that wait, under valgrind: it reports nothing, however near the stacks lie, but it reports
 * an error of a task on such a stack. Threads of the library are not a leak.
 * ctest: timeout=120
 * ctest: env=SCHED_STACK=64K timeout=120
 * ctest: env=SCHED_STACK=64K env=SCHED_KIND=lifo timeout=120 */
#include "aside.h"
#include "child.h"

static int waiting, tasks = 40 / SMALLER;

static void waits(void *closure, struct scheduler *s)
{
    volatile char room[3000];
    memset((char *)room, 1, sizeof room);
    __atomic_fetch_add(&waiting, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&waiting, __ATOMIC_SEQ_CST) < tasks)
        sched_task_yield(s);
    for (size_t i = 0; i < sizeof room; i++)
        CHECK_EQ(room[i], 1);
    if (closure) {
        volatile size_t beyond = 9;
        char *few = malloc(8);
        CHECK(few != NULL);
        ((volatile char *)few)[beyond] = 1;
        free(few);
    }
}

static void root(void *closure, struct scheduler *s)
{
    wait_aside(s);
    for (int i = 0; i < tasks; i++)
        CHECK_EQ(sched_spawn(waits, i == 0 ? closure : NULL, s), 0);
}

static void with(void *arg)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(n > 0);
    self[n] = 0;
    execlp("valgrind", "valgrind", "-q", "--leak-check=full", "--error-exitcode=9", self, (char *)arg, (char *)NULL);
    skip("no valgrind here");
}

int main(int argc, char **argv)
{
    static int wrong;
    if (argc > 1) {
        CHECK_EQ(sched_init(2, 4, root, strcmp(argv[1], "wrong") == 0 ? &wrong : NULL), 0);
        return 0;
    }
    in_child(with, "right");
    CHECK_CHILD_PASSED();
    CHECK(child.said[0] == 0);
    in_child(with, "wrong");
    CHECK_CHILD_EXITED(9);
    CHECK_CHILD_SAID("Invalid write");
    return 0;
}
