/* memories: the memory that runs use and leave. */
#include "case.h"
#include "proc.h"
#include "child.h"
#include "marks.h"
#include <stdatomic.h>

/* address_space: Large queues leave no address space behind: 40 runs (divided by SMALLER) with a
 * million tasks each take no more of it than one.
 * ctest: matrix kind=steal deque=split,chaselev idle=park threads=1,2 timeout=60 */
enum { TASKS = 1000000 };

static atomic_int full;

static void address_space_leaf(void *closure, struct scheduler *s)
{
}

/* Keeps the other worker from the rest, so that the queue becomes as long in each run. */
static void block(void *closure, struct scheduler *s)
{
    while (!full)
        pause_us(1000);
}

static void address_space_flood(void *closure, struct scheduler *s)
{
    full = 0;
    if (threads_of(2) > 1)
        CHECK_EQ(sched_spawn(block, NULL, s), 0);
    CHECK_TIMES(TASKS, sched_spawn(address_space_leaf, NULL, s));
    full = 1;
}

CASE(address_space)
{
    one_heap();
    /* A fixed size from which blocks are mapped, and unmapped when they are freed. Otherwise the C
     * library's heap keeps blocks of the size of a block that was once unmapped, such as a queue.
     * */
    CHECK(mallopt(M_MMAP_THRESHOLD, 128 << 10));
    CHECK_EQ(sched_init(2, 4, address_space_flood, NULL), 0);
    long before = status_kb("VmSize");
    int mappings = mapping_count();
    CHECK_TIMES(40 / SMALLER, sched_init(2, 4, address_space_flood, NULL));
    CHECK(status_kb("VmSize") - before < 20 * 1024);
    CHECK(mapping_count() - mappings < 20);
}

/* memory: Memory ends (RLIMIT_AS): a spawn that cannot be queued gives -1 with EAGAIN and every
 * accepted task still runs; a run that cannot even start gives -1 with ENOMEM.
 * ctest: timeout=60
 * ctest: matrix without=calls idle=park threads=1 timeout=60
 * ctest: matrix without=calls idle=park threads=2 deque=mutex,split,chaselev timeout=60 */
static atomic_long ran;
static long accepted, refused;
static atomic_int flooded;

static void memory_leaf(void *closure, struct scheduler *s)
{
    while (!flooded) /* the queue must fill: nobody works before that */
        pause_us(1000);
    atomic_fetch_add_explicit(&ran, 1, memory_order_relaxed);
}

static void memory_flood(void *closure, struct scheduler *s)
{
    while (refused < 100 && accepted < 40000000) {
        errno = 0;
        if (sched_spawn(memory_leaf, NULL, s) == 0)
            accepted++;
        else {
            CHECK_EQ(errno, EAGAIN);
            refused++;
        }
    }
    flooded = 1;
}

static void little(void *arg)
{
    limit_space(48 * 1024);
    CHECK_EQ(sched_init(2, 10, memory_flood, NULL), 0);
    CHECK_EQ(refused, 100);
    CHECK(accepted > 1000);
    CHECK_EQ(ran, accepted);
}

static void never(void *closure, struct scheduler *s)
{
    check_say("it ran\n");
    _exit(5);
}

static void *volatile taken; /* else a compiler need not ask for it */

static void where_memory_ends(void *arg)
{
    limit_space(0);
    for (size_t size = 1 << 20; size >= 8; size /= 2)
        while ((taken = malloc(size)) != NULL)
            continue;
    CHECK_ERRNO(sched_init(2, 1000000, never, NULL), ENOMEM);
    CHECK_ERRNO(sched_init(1, 1000000, never, NULL), ENOMEM);
}

CASE(memory)
{
    CHECK_IN_CHILD(little, NULL);
    CHECK_IN_CHILD(where_memory_ends, NULL);
}

/* flood: One task spawns very many, far beyond qlen: the queue grows, all run, the statistics count
 * them. One program of the course spawns 8.3 million.
 * ctest: matrix stats=5001
 * ctest: matrix idle=park threads=1,2 deque=mutex,split,chaselev args=8300000 timeout=60 */
static long n = 5000;

static void flood_leaf(void *closure, struct scheduler *s)
{
    CHECK(closure == &n);
    atomic_fetch_add_explicit(&ran, 1, memory_order_relaxed);
}

static void flood_root(void *closure, struct scheduler *s)
{
    CHECK_TIMES(n, sched_spawn(flood_leaf, closure, s));
}

CASE(flood)
{
    if (argc > 1)
        n = atol(argv[1]);
    CHECK_EQ(sched_init(4, 1, flood_root, &n), 0);
    CHECK_EQ(ran, n);
}

/* flood_memory: Ten million tasks queued at once take 17 bytes each, and a little, under the
 * default deque; all goes back to the system when the run has ended.
 * ctest: matrix kind=steal deque=split idle=park threads=1,2 timeout=60 */
enum { FLOOD_MEMORY_N = 10000000, SLACK_KB = 4 << 10 };

static long before, queued_kb;

static void flood_memory_leaf(void *closure, struct scheduler *s)
{
    atomic_fetch_add_explicit(&ran, 1, memory_order_relaxed);
}

static void flood_memory_root(void *closure, struct scheduler *s)
{
    if (threads_of(1) == 2)
        CHECK_EQ(sched_spawn(block, NULL, s), 0);
    CHECK_TIMES(FLOOD_MEMORY_N, sched_spawn(flood_memory_leaf, NULL, s));
    queued_kb = status_kb("VmHWM") - before; /* the most it was, at any time */
    full = 1;
}

CASE(flood_memory)
{
    before = status_kb("VmRSS");
    CHECK_EQ(sched_init(1, 10, flood_memory_root, NULL), 0);
    CHECK_EQ(ran, FLOOD_MEMORY_N);
    long most = 17 * (FLOOD_MEMORY_N / 1024) + SLACK_KB, back = status_kb("VmRSS") - before;
    if (queued_kb > most)
        CHECK_EQ(queued_kb, most);
    CHECK(queued_kb > 8 * (FLOOD_MEMORY_N / 1024)); /* it was measured */
    if (back > SLACK_KB)
        CHECK_EQ(back, SLACK_KB);
}

/* inits: 1,000 runs in a row leave no thread, no descriptor and no memory behind.
 * ctest: matrix deque=mutex,split,chaselev idle=park threads=1,4 timeout=60 */
enum { INITS_N = 12 };

MARKING_TREE(task, 2, INITS_N)

static void runs(int n)
{
    for (int i = 0; i < n; i++) {
        CHECK_EQ(sched_init(4, 100, task, (void *)0), 0);
        check_marks(INITS_N);
    }
}

CASE(inits)
{
    check_no_growth(runs);
}
