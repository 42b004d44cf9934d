/* With one worker the order is exact: last in first out for lifo, steal and serial, first
 * in first out for fifo, for the queue, and for the ring as long as nothing overflows; for cont the order of calls, each
 * child before what follows its spawn.
 * ctest: matrix threads=1 plain
 * ctest: env=SCHED_KIND=serial env=SCHED_THREADS=4 */
#include "check.h"

enum { MOST = 2000 };

static long ran[MOST], count;
static long first_child[MOST], children[MOST];

static void task(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    CHECK(count < MOST);
    ran[count++] = i;
    for (long c = 0; c < children[i]; c++)
        CHECK_EQ(sched_spawn(task, (void *)(first_child[i] + c), s), 0);
}

int main(void)
{
    /* A random tree: each task has 0 to 5 children, numbered in the order they are spawned. */
    const char *deque = getenv("SCHED_DEQUE");
    int ring = kind_is("steal") && deque && strcmp(deque, "ring") == 0;
    int queued = ring || kind_is("fifo") || (kind_is("steal") && deque && strcmp(deque, "queue") == 0);
    long N = ring ? 256 : MOST;
    uint64_t seed = 42;
    long made = 1;
    for (long i = 0; i < N && made < N; i++) {
        children[i] = (long)(next_random(&seed) % 6);
        if (i + 1 >= made)
            children[i] += 1;
        if (made + children[i] > N)
            children[i] = N - made;
        first_child[i] = made;
        made += children[i];
    }
    CHECK_EQ(made, N);

    /* The same on paper, with one array that is used from its end, or from its start. */
    static long queue[MOST], expected[MOST];
    long head = 0, tail = 0, n = 0;
    queue[tail++] = 0;
    while (head < tail) {
        long i = queued ? queue[head++] : queue[--tail];
        expected[n++] = i;
        for (long c = 0; c < children[i]; c++)
            queue[tail++] = first_child[i] + (kind_is("cont") ? children[i] - 1 - c : c);
    }

    CHECK_EQ(sched_init(1, 3, task, (void *)0), 0);
    CHECK_EQ(count, N);
    for (long i = 0; i < N; i++)
        CHECK_EQ(ran[i], expected[i]);
    return 0;
}
