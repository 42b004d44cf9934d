/* copies: sched_spawn_copy and its copies. */
#include "case.h"
#include "marks.h"
#include "child.h"
#include "proc.h"
#include <sched_tasks.h>
#include <stddef.h>
#include <stdatomic.h>

/* copy: sched_spawn_copy: the task gets a copy of the argument, of any size up to the most, aligned
 * for any type and independent of the original and of all other copies; it may change it.
 * ctest: static
 * ctest: matrix threads=1,4 stats=2571
 * ctest: matrix idle=park threads=16 stats=2571 */
enum { ROUNDS = 10, COPY_SIZES = SCHED_COPY_MAX + 1, COPY_N = ROUNDS * COPY_SIZES };

static unsigned char byte(long i, size_t at)
{
    return (unsigned char)(31 * i + 7 * (long)at + (i >> 8));
}

/* The size of task i is i % SIZES; its first bytes, if there is room, are i. */
static void copy_leaf(void *copy, struct scheduler *s)
{
    unsigned char *at = copy;
    short i;
    CHECK_EQ((uintptr_t)copy % _Alignof(max_align_t), 0);
    memcpy(&i, at, sizeof i);
    size_t size = (size_t)(i % COPY_SIZES);
    for (size_t k = sizeof i; k < size; k++)
        CHECK_EQ(at[k], byte(i, k));
    memset(at, 0xa5, size);
    if (i % 16 == 0) /* on a busy machine each yield may take 20 ms */
        sched_yield();
    for (size_t k = 0; k < size; k++)
        CHECK_EQ(at[k], 0xa5);
    mark(i);
}

static atomic_int smaller;

/* Too small to say which. */
static void small(void *copy, struct scheduler *s)
{
    CHECK(copy != NULL);
    CHECK_EQ((uintptr_t)copy % _Alignof(max_align_t), 0);
    atomic_fetch_add(&smaller, 1);
}

static void copy_root(void *closure, struct scheduler *s)
{
    unsigned char argument[SCHED_COPY_MAX + 1]; /* also copied from an odd address */
    for (long i = 0; i < COPY_N; i++) {
        unsigned char *from = argument + i % 2;
        size_t size = (size_t)(i % COPY_SIZES);
        short number = (short)i;
        for (size_t k = 0; k < size; k++)
            from[k] = byte(i, k);
        if (size >= sizeof number)
            memcpy(from, &number, sizeof number);
        CHECK_EQ(sched_spawn_copy(size >= sizeof number ? copy_leaf : small, from, size, s), 0);
        memset(argument, 0xff, sizeof argument);
    }
}

CASE(copy)
{
    CHECK_EQ(sched_init(4, 10, copy_root, NULL), 0);
    CHECK_EQ(smaller, 2 * ROUNDS);
    for (long i = 0; i < COPY_N; i++)
        if (i % COPY_SIZES < (long)sizeof(short))
            mark(i);
    check_marks(COPY_N);
}

/* copy_anywhere: sched_spawn_copy with an s that is not the caller's own: another worker's, that of
 * the run around a nested one, and by threads that are not workers.
 * ctest: matrix threads=1,2,4 */
enum { ANYWHERE_N = 300, INNER = 40, STRANGERS = 2, ANYWHERE_SIZES = 4, ALL = 2 * ANYWHERE_N + INNER * 2 + STRANGERS * ANYWHERE_N };

static struct scheduler *_Atomic handed, *_Atomic outer;
static atomic_int gone;

struct anywhere_argument {
    long i;
    char filling[SCHED_COPY_MAX - sizeof(long)];
};

static void spawn(taskfunc f, long i, struct scheduler *s)
{
    static const size_t sizes[ANYWHERE_SIZES] = {8, 48, 112, SCHED_COPY_MAX};
    struct anywhere_argument argument = {.i = i};
    memset(argument.filling, (char)(i + 1), sizeof argument.filling);
    CHECK_EQ(sched_spawn_copy(f, &argument, sizes[i % ANYWHERE_SIZES], s), 0);
    memset(&argument, 0xff, sizeof argument);
}

static void anywhere_leaf(void *copy, struct scheduler *s)
{
    static const size_t rest[ANYWHERE_SIZES] = {0, 40, 104, sizeof((struct anywhere_argument *)0)->filling};
    const struct anywhere_argument *argument = copy;
    handed = s; /* from now on others spawn with this worker's pointer */
    for (size_t k = 0; k < rest[argument->i % ANYWHERE_SIZES]; k++)
        CHECK_EQ(argument->filling[k], (char)(argument->i + 1));
    mark(argument->i);
}

static void user(void *copy, struct scheduler *s)
{
    long i = ((const struct anywhere_argument *)copy)->i;
    spawn(anywhere_leaf, i + ANYWHERE_N, handed);
    anywhere_leaf(copy, s);
}

static void inner(void *copy, struct scheduler *s)
{
    const struct anywhere_argument *argument = copy;
    struct scheduler *before = handed;
    spawn(anywhere_leaf, argument->i + INNER, outer);
    anywhere_leaf(copy, s);
    handed = before; /* the inner run ends too soon for others */
}

static void inner_root(void *closure, struct scheduler *s)
{
    for (long i = 0; i < INNER; i++)
        spawn(inner, 2 * ANYWHERE_N + i, s);
}

static void *anywhere_stranger(void *arg)
{
    while (!outer)
        pause_us(50);
    for (long i = 0; i < ANYWHERE_N; i++)
        spawn(anywhere_leaf, 2 * ANYWHERE_N + 2 * INNER + (long)arg * ANYWHERE_N + i, outer);
    atomic_fetch_add(&gone, 1);
    return NULL;
}

static void anywhere_root(void *closure, struct scheduler *s)
{
    outer = handed = s;
    /* Alone, so that `handed` is of the run that continues. */
    CHECK_EQ(sched_init(2, 4, inner_root, NULL), 0);
    handed = s;
    for (long i = 0; i < ANYWHERE_N; i++)
        spawn(user, i, s);
    while (gone < STRANGERS)
        pause_us(100);
}

CASE(copy_anywhere)
{
    pthread_t threads[STRANGERS];
    for (long i = 0; i < STRANGERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, anywhere_stranger, (void *)i), 0);
    CHECK_EQ(sched_init(4, 10, anywhere_root, NULL), 0);
    check_marks(ALL);
    for (int i = 0; i < STRANGERS; i++)
        pthread_join(threads[i], NULL);
}

/* copy_errors: sched_spawn_copy refuses with EINVAL, and runs nothing: NULL for f or s, a size
 * beyond the most, NULL for an argument that has a size, the s of a run that has ended, that of the
 * parent in a forked child. NULL without a size is fine.
 * ctest: static
 * ctest: matrix few idle=park threads=1,4 */
static char errors_argument[SCHED_COPY_MAX + 1];
static atomic_int errors_ran, wrong;
static struct scheduler *kept;

static void errors_task(void *copy, struct scheduler *s)
{
    CHECK(copy != NULL && copy != errors_argument);
    atomic_fetch_add(&errors_ran, 1);
}

COUNTING_TASK(never, wrong)

static void errors_root(void *closure, struct scheduler *s)
{
    kept = s;
    CHECK_ERRNO(sched_spawn_copy(NULL, errors_argument, 8, s), EINVAL);
    CHECK_ERRNO(sched_spawn_copy(never, NULL, 8, NULL), EINVAL);
    CHECK_ERRNO(sched_spawn_copy(never, errors_argument, SCHED_COPY_MAX + 1, s), EINVAL);
    CHECK_ERRNO(sched_spawn_copy(never, errors_argument, SIZE_MAX, s), EINVAL);
    CHECK_ERRNO(sched_spawn_copy(never, NULL, 1, s), EINVAL);
    CHECK_ERRNO(sched_spawn_copy(never, NULL, SCHED_COPY_MAX, s), EINVAL);
    CHECK_ERRNO(sched_spawn_copy(never, NULL, SIZE_MAX, s), EINVAL);
    CHECK_EQ(sched_spawn_copy(errors_task, NULL, 0, s), 0);
    CHECK_EQ(sched_spawn_copy(errors_task, errors_argument, 0, s), 0);
    CHECK_EQ(sched_spawn_copy(errors_task, errors_argument, SCHED_COPY_MAX, s), 0);

    pid_t pid = fork();
    if (pid == 0) {
        CHECK_ERRNO(sched_spawn_copy(never, errors_argument, 8, s), EINVAL);
        _exit(0);
    }
    CHECK_EQ(wait_for(pid), 0);
}

static void *errors_stranger(void *s)
{
    CHECK_ERRNO(sched_spawn_copy(never, errors_argument, 8, s), EINVAL);
    return NULL;
}

CASE(copy_errors)
{
    for (int run = 1; run <= 5; run++) {
        CHECK_EQ(sched_init(4, 10, errors_root, NULL), 0);
        CHECK_EQ(errors_ran, 3 * run);
        CHECK_ERRNO(sched_spawn_copy(never, errors_argument, 8, kept), EINVAL);
        run_thread(errors_stranger, kept);
    }
    CHECK_EQ(wrong, 0);
}

/* copy_flow: One worker spawns copies that mostly others run, for long: their memory is used again,
 * so that the process does not grow; and when the run has ended it goes back.
 * ctest: matrix idle=park threads=2 with=threads without=deques deque=mutex args=1000000
 * ctest: matrix idle=park threads=4 kind=steal deque=split args=4000000 timeout=60
 * ctest: matrix idle=park threads=2 kind=steal deque=chaselev,mutex args=1000000 timeout=60 */
enum { CHUNK = 20000, RUNS = 3 };

static long n, spawned;
static _Atomic long flow_ran;
static long most; /* kB */

struct flow_argument {
    long i;
    char filling[88];
};

static void flow_leaf(void *copy, struct scheduler *s)
{
    const struct flow_argument *argument = copy;
    CHECK_EQ(argument->filling[87], (char)argument->i);
    atomic_fetch_add_explicit(&flow_ran, 1, memory_order_relaxed);
}

static void chunk(void *closure, struct scheduler *s)
{
    struct flow_argument argument = {.i = 0};
    for (int i = 0; i < CHUNK; i++) {
        argument.i = spawned++;
        argument.filling[87] = (char)argument.i;
        CHECK_EQ(sched_spawn_copy(flow_leaf, &argument, sizeof argument, s), 0);
    }
    for (unsigned turns = 0; flow_ran < spawned;) /* the others run them all */
        spin(&turns);
    if (spawned > n / 2) {
        long now_kb = status_kb("VmRSS");
        most = now_kb > most ? now_kb : most;
    }
    if (spawned < n)
        CHECK_EQ(sched_spawn(chunk, closure, s), 0);
}

CASE(copy_flow)
{
    CHECK(argc > 1);
    n = atol(argv[1]) / SMALLER / CHUNK * CHUNK;
    long before = status_kb("VmRSS");
    for (int run = 0; run < RUNS; run++) {
        spawned = 0;
        flow_ran = 0;
        CHECK_EQ(sched_init(2, 10, chunk, NULL), 0);
        CHECK_EQ(flow_ran, n);
        /* 20,000 copies take 2.6 MB, and as much more while they lie with others. */
        if (most - before > 16 << 10)
            CHECK_EQ(most - before, 0);
    }
    if (status_kb("VmRSS") - before > 6 << 10)
        CHECK_EQ(status_kb("VmRSS") - before, 0);
}

/* copy_inits: The copies of a run leave no memory behind, whatever their sizes and wherever they
 * came from.
 * ctest: matrix deque=mutex,split,chaselev idle=park threads=1,4 timeout=60 */
enum { SPAWNED = 300 };

static atomic_int inits_ran;
static char inits_argument[SCHED_COPY_MAX];

COUNTING_TASK(inits_leaf, inits_ran)

static void *inits_stranger(void *s)
{
    for (size_t i = 0; i < SPAWNED; i++)
        CHECK_EQ(sched_spawn_copy(inits_leaf, inits_argument, i % sizeof inits_argument, s), 0);
    return NULL;
}

static void inits_root(void *closure, struct scheduler *s)
{
    pthread_t thread;
    for (size_t i = 0; i < SPAWNED; i++)
        CHECK_EQ(sched_spawn_copy(inits_leaf, inits_argument, i % sizeof inits_argument, s), 0);
    if (closure) {
        CHECK_EQ(pthread_create(&thread, NULL, inits_stranger, s), 0);
        pthread_join(thread, NULL);
    }
}

static void runs(int n)
{
    for (int i = 0; i < n; i++) {
        inits_ran = 0;
        CHECK_EQ(sched_init(4, 100, inits_root, i % 4 ? NULL : inits_argument), 0);
        CHECK_EQ(inits_ran, i % 4 ? SPAWNED : 2 * SPAWNED);
    }
}

CASE(copy_inits)
{
    runs(100);
    CHECK(threads_become(1));
    int mappings = mapping_count();
    long resident = status_kb("VmRSS");
    runs(400); /* some 50 KB each */
    CHECK(threads_become(1));
    if (mapping_count() > mappings + 40) /* the C library has some for each thread, kept for others */
        CHECK_EQ(mapping_count(), mappings);
    long grown = status_kb("VmRSS") - resident;
    if (grown > 2048)
        CHECK_EQ(grown, 0);
}

/* copy_memory: Memory ends (RLIMIT_AS): a copy that cannot be made, or queued, gives -1 with
 * EAGAIN, and every accepted task still runs with its copy whole.
 * ctest: matrix few without=calls idle=park threads=1 timeout=60
 * ctest: matrix few idle=park threads=2 kind=steal timeout=60 */
static atomic_long memory_ran, sum;
static long memory_accepted, expected, refused;
static atomic_int flooded;

struct memory_argument {
    long i, filling[20], last;
};

static void memory_leaf(void *copy, struct scheduler *s)
{
    const struct memory_argument *argument = copy;
    while (!flooded) /* memory must end: nobody works before that */
        pause_us(1000);
    CHECK_EQ(argument->last, -argument->i);
    atomic_fetch_add_explicit(&sum, argument->i, memory_order_relaxed);
    atomic_fetch_add_explicit(&memory_ran, 1, memory_order_relaxed);
}

static void flood(void *closure, struct scheduler *s)
{
    struct memory_argument argument = {.i = 0};
    while (refused < 100 && memory_accepted < 10000000) {
        argument.i = memory_accepted;
        argument.last = -memory_accepted;
        errno = 0;
        if (sched_spawn_copy(memory_leaf, &argument, sizeof argument, s) == 0)
            expected += memory_accepted++;
        else {
            CHECK_EQ(errno, EAGAIN);
            refused++;
        }
    }
    flooded = 1;
}

static void *memory_stranger(void *s)
{
    errno = 0;
    flood(NULL, s);
    return NULL;
}

/* By a thread that is not a worker. */
static void flood_from_outside(void *closure, struct scheduler *s)
{
    run_thread(memory_stranger, s);
}

static void body(void *arg)
{
    limit_space(64 << 10);
    CHECK_EQ(sched_init(2, 10, arg ? flood_from_outside : flood, NULL), 0);
    CHECK_EQ(refused, 100);
    CHECK(memory_accepted > 1000);
    CHECK_EQ(memory_ran, memory_accepted);
    CHECK_EQ(sum, expected);
}

CASE(copy_memory)
{
    CHECK_IN_CHILD(body, NULL);
    CHECK_IN_CHILD(body, "");
}

/* copy_refuse: SCHED_OVERFLOW=refuse: a copy beyond qlen is refused with EAGAIN, which costs no
 * memory; every accepted one runs.
 * ctest: matrix without=calls idle=park threads=1 overflow=refuse
 * ctest: matrix without=calls idle=park threads=4 overflow=refuse */
enum { TRIES = 200000 };

struct refuse_argument {
    long i;
    char filling[100];
};

static long refuse_accepted, limit;

static void refuse_leaf(void *copy, struct scheduler *s)
{
    const struct refuse_argument *argument = copy;
    for (size_t k = 0; k < sizeof argument->filling; k++)
        CHECK_EQ(argument->filling[k], (char)argument->i);
    mark(argument->i);
}

static void refuse_root(void *closure, struct scheduler *s)
{
    struct refuse_argument argument;
    long before = status_kb("VmRSS");
    for (int i = 0; i < TRIES; i++) {
        argument.i = refuse_accepted;
        memset(argument.filling, (char)refuse_accepted, sizeof argument.filling);
        errno = 0;
        if (sched_spawn_copy(refuse_leaf, &argument, sizeof argument, s) == 0)
            refuse_accepted++;
        else
            CHECK_EQ(errno, EAGAIN);
    }
    /* One that is lost at each refusal would take 25 MB; the marks take some. */
    CHECK(status_kb("VmRSS") - before < 6 << 10);
    if (threads_of(4) == 1)
        CHECK_EQ(refuse_accepted, limit);
    CHECK(refuse_accepted >= limit);
}

CASE(copy_refuse)
{
    static const int lengths[] = {1, 7, 1000};
    for (int i = 0; i < 3; i++) {
        limit = lengths[i];
        refuse_accepted = 0;
        CHECK_EQ(sched_init(4, lengths[i], refuse_root, NULL), 0);
        check_marks(refuse_accepted);
    }
}

/* copy_tree: A task may spawn copies out of its own copy, over and over; it is not used for another
 * task before the task has returned.
 * ctest: matrix threads=1,4
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
enum { TREE_N = 3000 / SMALLER };

struct node {
    long i;
    char filling[100];
};

static void tree_task(void *copy, struct scheduler *s)
{
    struct node *node = copy;
    long i = node->i;
    for (size_t k = 0; k < sizeof node->filling; k++)
        CHECK_EQ(node->filling[k], (char)i);
    for (long child = 2 * i + 1; child <= 2 * i + 2 && child < TREE_N; child++) {
        node->i = child;
        memset(node->filling, (char)child, sizeof node->filling);
        CHECK_EQ(sched_spawn_copy(tree_task, node, sizeof *node, s), 0);
    }
    node->i = i;
    memset(node->filling, (char)i, sizeof node->filling);
    if (i % 100 == 0)
        pause_us(50);
    CHECK_EQ(node->i, i);
    for (size_t k = 0; k < sizeof node->filling; k++)
        CHECK_EQ(node->filling[k], (char)i);
    mark(i);
}

static void tree_root(void *closure, struct scheduler *s)
{
    struct node first = {0, {0}};
    CHECK_EQ(sched_spawn_copy(tree_task, &first, sizeof first, s), 0);
}

CASE(copy_tree)
{
    for (int run = 0; run < 3; run++) {
        CHECK_EQ(sched_init(4, 10, tree_root, NULL), 0);
        check_marks(TREE_N);
    }
}
