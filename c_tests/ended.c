/* sched_init returns only when every task has ended, so that the caller may free the
 * closures and read the results at once.
 * ctest: matrix */
#include "check.h"
#include <stdatomic.h>

enum { CHAIN = 40, WIDTH = 3 };

struct work {
    long values[WIDTH][CHAIN];
};

struct link {
    struct work *work;
    int row, at;
};

static struct link links[WIDTH][CHAIN];

/* Each link spawns the next before its own, slow, end. */
static void link_task(void *closure, struct scheduler *s)
{
    struct link *link = closure;
    if (link->at + 1 < CHAIN) {
        struct link *next = &links[link->row][link->at + 1];
        *next = (struct link){link->work, link->row, link->at + 1};
        CHECK_EQ(sched_spawn(link_task, next, s), 0);
    }
    pause_us(20);
    link->work->values[link->row][link->at] = 1000 * link->row + link->at + 1;
}

static void root(void *closure, struct scheduler *s)
{
    for (int row = 0; row < WIDTH; row++) {
        links[row][0] = (struct link){closure, row, 0};
        CHECK_EQ(sched_spawn(link_task, &links[row][0], s), 0);
    }
}

int main(void)
{
    struct work *work = calloc(1, sizeof *work);
    CHECK(work != NULL);
    CHECK_EQ(sched_init(4, 8, root, work), 0);
    for (int row = 0; row < WIDTH; row++)
        for (int at = 0; at < CHAIN; at++)
            CHECK_EQ(work->values[row][at], 1000 * row + at + 1);
    memset(work, 0xff, sizeof *work);
    free(work);
    return 0;
}
