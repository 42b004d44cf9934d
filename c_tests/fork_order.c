/* All of a thousand descriptors are joined, in the order of forking, its opposite or any other, and
 * beside spawned tasks: when a join returns, its task has run, once, and what it wrote is seen.
 * ctest: static debug
 * ctest: matrix */
#include "marks.h"
#include <sched_tasks.h>

enum { N = 1000, ORDERS = 4 };

struct child {
    sched_task task;
    long i, result;
};

static void leaf(void *closure, struct scheduler *s)
{
    struct child *child = closure;
    mark(child->i);
    child->result = 3 * child->i;
}

static void spawned(void *closure, struct scheduler *s)
{
    mark((long)closure);
}

static void shuffle(int order[N], int how)
{
    uint64_t x = 88172645463325252u;
    for (int k = 0; k < N; k++)
        order[k] = how == 1 ? N - 1 - k : k;
    for (int k = N - 1; how >= 2 && k > 0; k--) {
        int other = (int)(next_random(&x) % (uint64_t)(k + 1)), kept = order[k];
        order[k] = order[other];
        order[other] = kept;
    }
}

/* In the last order the joins are among the forks, and every third fork follows a spawn. */
static void root(void *closure, struct scheduler *s)
{
    static struct child children[N];
    int how = (int)(long)closure, joined = 0, order[N];
    char forked[N] = {0};
    shuffle(order, how);
    for (int i = 0; i < N; i++) {
        children[i].i = i;
        children[i].result = 0;
        if (how == 3 && i % 3 == 0)
            CHECK_EQ(sched_spawn(spawned, (void *)(long)(N + i / 3), s), 0);
        sched_fork(&children[i].task, leaf, &children[i], s);
        forked[i] = 1;
        while (how == 3 && joined < N && i % 7 == 0 && forked[order[joined]]) {
            sched_join(&children[order[joined]].task, s);
            CHECK_EQ(children[order[joined]].result, 3 * order[joined]);
            joined++;
        }
    }
    for (; joined < N; joined++) {
        sched_join(&children[order[joined]].task, s);
        CHECK_EQ(children[order[joined]].result, 3 * order[joined]);
    }
}

int main(void)
{
    for (long how = 0; how < ORDERS; how++) {
        CHECK_EQ(sched_init(4, 10, root, (void *)how), 0);
        check_marks(how == 3 ? N + (N + 2) / 3 : N);
    }
    return 0;
}
