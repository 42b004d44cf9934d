/* lace.c: Lace (T. van Dijk and J. van de Pol, 2014), whose typed tasks lie in the deque itself.
 *
 *   lace WORKLOAD [-n SIZE] [-t THREADS] [-r REPETITIONS]     prints one line for each run, as bench_c's programs do
 *   lace --version
 *
 * Built where LACE names a checkout of Lace: see Makefile. The tasks are those of bench_c's programs. */

#include "../kernels_fork.h"
#include "../uts.h"

#include <lace.h>

/* Tasks of a worker's deque: room for the widest and deepest of the trees. */
enum { DEQUE = 1 << 16 };

TASK_1(long, fib, long, n)
{
    if (n < 2)
        return n;
    SPAWN(fib, n - 2);
    long value = CALL(fib, n - 1);
    return value + SYNC(fib);
}

TASK_1(long, tree_of, long, depth)
{
    if (depth == 0)
        return 1;
    SPAWN(tree_of, depth - 1);
    long leaves = CALL(tree_of, depth - 1);
    return leaves + SYNC(tree_of);
}

static unsigned full; /* one bit for each column */

TASK_3(long, queens, unsigned, columns, unsigned, left, unsigned, right)
{
    if (columns == full)
        return 1;
    struct board board = {columns, left, right};
    int count = 0;
    for (unsigned open = board_open(board, full); open != 0; open &= open - 1) {
        struct board child = board_with(board, open & -open);
        SPAWN(queens, child.columns, child.left, child.right);
        count++;
    }
    long sum = 0;
    while (count-- > 0)
        sum += SYNC(queens);
    return sum;
}

static struct uts_tree tree;

TASK_1(long, count_nodes, struct uts_node, node)
{
    long sum = 1;
    int count = uts_children(&tree, &node);
    for (int i = 0; i < count; i++)
        SPAWN(count_nodes, uts_child(&node, i));
    while (count-- > 0)
        sum += SYNC(count_nodes);
    return sum;
}

/* Each returns the answer. */

static long fib_run(long n)
{
    return RUN(fib, n);
}

static long treef_run(long n)
{
    return RUN(tree_of, n);
}

static long queens_run(long n)
{
    (void)n;
    return RUN(queens, 0, 0, 0);
}

static long uts_run(long n)
{
    (void)n;
    return RUN(count_nodes, uts_root(&tree));
}

/* Each prepares a run, and tells how many tasks it has and which answer is right. */

static long fib_right(long n, long *tasks)
{
    return fib_answer(n, tasks);
}

static long treef_right(long n, long *tasks)
{
    return *tasks = 1L << n;
}

static long queens_right(long n, long *tasks)
{
    struct board empty = {0, 0, 0};
    full = (1u << n) - 1;
    *tasks = queens_tasks(full, empty);
    return queens_solutions[n];
}

static long uts_right(long n, long *tasks)
{
    tree = uts_tree(UTS_GEOMETRIC, n);
    return *tasks = uts_nodes(&tree);
}

static long uts_deep_right(long n, long *tasks)
{
    tree = uts_tree(UTS_BINOMIAL, n);
    return *tasks = uts_nodes(&tree);
}

static const struct workload {
    struct bench_about about;
    long (*right)(long n, long *tasks);
    long (*run)(long n);
} workloads[] = {
    {{"fib", "the Fibonacci number wanted", 30, 0, 45, NULL}, fib_right, fib_run},
    {{"treef", "depth", 20, 0, 30, NULL}, treef_right, treef_run},
    {{"nqueens", "queens", 12, 1, QUEENS_MOST, NULL}, queens_right, queens_run},
    {{"uts", "depth", 10, 0, 15, NULL}, uts_right, uts_run},
    {{"uts_deep", "b0", 2000, 0, 10000, NULL}, uts_deep_right, uts_run},
};

static int measure(const struct workload *w, int argc, char **argv)
{
    struct bench b = bench_start(&w->about, argc, argv);
    if (b.serial) {
        fprintf(stderr, "lace: the serial version is bench_c's\n");
        return 2;
    }
    int threads = b.threads > 0 ? b.threads : (int)sysconf(_SC_NPROCESSORS_ONLN);
    long tasks, right = w->right(b.n, &tasks);
    lace_start((unsigned)threads, DEQUE);
    for (int r = 0; r < b.repetitions; r++) {
        bench_clock_start(&b);
        long found = w->run(b.n);
        bench_clock_stop(&b);
        bench_print(&b, "lace", threads, tasks, (uint64_t)found, found == right);
    }
    lace_stop();
    return bench_end(&b);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("Lace %s\n", LACE_VERSION);
        return 0;
    }
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++)
        if (argc > 1 && strcmp(argv[1], workloads[i].about.name) == 0)
            return measure(&workloads[i], argc - 1, argv + 1);
    fprintf(stderr, "usage: lace fib|treef|nqueens|uts|uts_deep [-n SIZE] [-t THREADS] [-r REPETITIONS]\n");
    return 2;
}
