/* sched_spawn_copy with an s that is not the caller's own: another worker's, that of the run
 * around a nested one, and by threads that are no workers.
 * ctest: matrix threads=1,2,4 */
#include "marks.h"
#include <sched_tasks.h>

enum { N = 300, INNER = 40, STRANGERS = 2, SIZES = 4, ALL = 2 * N + INNER * 2 + STRANGERS * N };

static struct scheduler *_Atomic handed, *_Atomic outer;
static atomic_int gone;

struct argument {
    long i;
    char filling[SCHED_COPY_MAX - sizeof(long)];
};

static void spawn(taskfunc f, long i, struct scheduler *s)
{
    static const size_t sizes[SIZES] = {8, 48, 112, SCHED_COPY_MAX};
    struct argument argument = {.i = i};
    memset(argument.filling, (char)(i + 1), sizeof argument.filling);
    CHECK_EQ(sched_spawn_copy(f, &argument, sizes[i % SIZES], s), 0);
    memset(&argument, 0xff, sizeof argument);
}

static void leaf(void *copy, struct scheduler *s)
{
    static const size_t rest[SIZES] = {0, 40, 104, sizeof((struct argument *)0)->filling};
    const struct argument *argument = copy;
    handed = s; /* from now on others spawn with this worker's pointer */
    for (size_t k = 0; k < rest[argument->i % SIZES]; k++)
        CHECK_EQ(argument->filling[k], (char)(argument->i + 1));
    mark(argument->i);
}

static void user(void *copy, struct scheduler *s)
{
    long i = ((const struct argument *)copy)->i;
    spawn(leaf, i + N, handed);
    leaf(copy, s);
}

static void inner(void *copy, struct scheduler *s)
{
    const struct argument *argument = copy;
    struct scheduler *before = handed;
    spawn(leaf, argument->i + INNER, outer);
    leaf(copy, s);
    handed = before; /* the inner run ends too soon for others */
}

static void inner_root(void *closure, struct scheduler *s)
{
    for (long i = 0; i < INNER; i++)
        spawn(inner, 2 * N + i, s);
}

static void *stranger(void *arg)
{
    while (!outer)
        pause_us(50);
    for (long i = 0; i < N; i++)
        spawn(leaf, 2 * N + 2 * INNER + (long)arg * N + i, outer);
    atomic_fetch_add(&gone, 1);
    return NULL;
}

static void root(void *closure, struct scheduler *s)
{
    outer = handed = s;
    /* Alone, so that `handed` is of the run that goes on. */
    CHECK_EQ(sched_init(2, 4, inner_root, NULL), 0);
    handed = s;
    for (long i = 0; i < N; i++)
        spawn(user, i, s);
    while (gone < STRANGERS)
        pause_us(100);
}

int main(void)
{
    pthread_t threads[STRANGERS];
    for (long i = 0; i < STRANGERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, stranger, (void *)i), 0);
    CHECK_EQ(sched_init(4, 10, root, NULL), 0);
    check_marks(ALL);
    for (int i = 0; i < STRANGERS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
