/* Runs within runs, 50 deep: each goes on while its task waits for the next, tasks of each add to the one around it, and
 * all are complete when they return.
 * ctest: static
 * ctest: matrix idle=park,spin deque=split,mutex threads=2 timeout=60
 * ctest: matrix kind=steal idle=park deque=split threads=1,4 timeout=60 */
#include "marks.h"

enum { DEPTH = 50, TASKS = 8 };

static struct scheduler *_Atomic runs[DEPTH + 1];

static void leaf(void *closure, struct scheduler *s)
{
    mark((long)closure);
}

static void level(void *closure, struct scheduler *s)
{
    long depth = (long)closure;
    runs[depth] = s;
    for (long i = 0; i < TASKS; i++) /* half of them for the run around this one */
        CHECK_EQ(sched_spawn(leaf, (void *)(depth * TASKS + i), i % 2 && depth > 0 ? runs[depth - 1] : s), 0);
    if (depth + 1 < DEPTH)
        CHECK_EQ(sched_init(2, 4, level, (void *)(depth + 1)), 0);
    for (long i = 0; depth + 1 < DEPTH && i < TASKS; i += 2)
        CHECK_EQ(marks[(depth + 1) * TASKS + i], 1);
    runs[depth] = NULL;
}

int main(void)
{
    for (int round = 0; round < 3; round++) {
        CHECK_EQ(sched_init(2, 4, level, (void *)0), 0);
        check_marks(DEPTH * TASKS);
    }
    return 0;
}
