/* Random rounds of every sort of task, for some seconds in one process: each task runs once, and afterwards the
 * process has as many threads, descriptors and mappings as before. Prints how many tasks were checked, by sort.
 * ctest: args=-d,0.3 timeout=120
 * ctest: matrix threads=1,2,4 idle=park refuse args=-d,0.1 timeout=120
 *
 * With -s it reads lines "SECONDS SEED LARGE NAME=VALUE ..." from standard input: each sets the environment, and asks for
 * that many seconds of rounds under it, which the answer, one line for each, counts. So one process goes through as
 * many settings as the runner likes (c_tests/runner/src/soak.rs), and a leak of any of them adds up. */
#include "proc.h"
#include "soak_slow.h"
#include "soak_world.h"

/* How large rounds are. Some shapes have tasks that take nanoseconds, but a microsecond and more with settings under
 * which each waits for a lock, on a machine that is busy. */
enum size { SMALL, USUAL, LARGE };

static const struct shape {
    const char *name;
    taskfunc root;                                   /* one run of it is a round; or, if it is NULL, */
    uint64_t (*round)(uint64_t n, uint64_t *random); /* this function does a round */
    uint64_t most, large;                            /* tasks in a round of usual size, and of a large one */
} shapes[] = {
    {"tree", tree_node, NULL, 1 << 20, 1 << 25},           {"fork", fork_root, NULL, 1 << 20, 1 << 25},
    {"typed", typed_root, NULL, 1 << 20, 1 << 26},         {"flood", flood_root, NULL, 1 << 19, 1 << 22},
    {"chain", NULL, chain_round, 1 << 16, 1 << 20},        {"loop", NULL, loop_round, 1 << 20, 1 << 25},
    {"reduce", NULL, reduce_round, 1 << 12, 1 << 12},      {"group", group_node, NULL, 1 << 14, 1 << 16},
    {"cancel", NULL, cancel_round, 1 << 12, 1 << 12},      {"copy", copy_root, NULL, 1 << 14, 1 << 16},
    {"wait", NULL, wait_round, 1, 1},                      {"foreign", foreign_root, NULL, 1 << 13, 1 << 13},
    {"pool", NULL, pool_round, 1 << 12, 1 << 12},          {"nested", nested_root, NULL, 1 << 8, 1 << 8},
    {"sort", NULL, sort_round, 1 << 16, 1 << 16},          {"time", NULL, time_round, 1 << 6, 1 << 6},
    {"channel", NULL, channel_round, 1 << 6, 1 << 6},      {"socket", NULL, socket_round, 1 << 6, 1 << 6},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, CHEAPEST = 3 };

static uint64_t counted[SHAPES];
static int descriptors, threads;

/* A round of the shape with n tasks; returns how many were checked. */
static uint64_t round_of(const struct shape *shape, uint64_t n, uint64_t *random)
{
    if (shape->root == NULL)
        return shape->round(n, random);
    cheap_size = n;
    next_number = 2;
    one_run(shape->root, random);
    tally_check(shape->name, n);
    return n;
}

/* Rounds until the time is over, one at least of each shape if `all`. The sizes are as often small as large: small
 * rounds meet starts and ends, large ones have most of the tasks. Most of the large rounds are of the first shapes,
 * whose tasks cost least, so that the number of all tasks becomes large in the time. */
static void rounds(double seconds, uint64_t seed, int all, enum size size)
{
    const char *join = getenv("SCHED_JOIN");
    int helps = join && strcmp(join, "help") == 0;
    uint64_t random = seed * 2 + 1;
    double end = now() + seconds;
    for (int done = 0; (all && done < SHAPES) || now() < end; done++) {
        int most = size == LARGE && next_random(&random) % 8 != 0 ? CHEAPEST : SHAPES;
        int i = all && done < SHAPES ? done : (int)(next_random(&random) % (uint64_t)most);
        uint64_t n = (size == LARGE ? shapes[i].large : shapes[i].most) >> (size == SMALL ? 4 : 0) >> next_random(&random) % 8;
        n = 1 + next_random(&random) % (n / SMALLER + 1);
        /* A task that helps runs others on its own stack: when queues overflow, as many as there are. */
        if (helps && n > 1 << 12)
            n = 1 << 12;
        counted[i] += round_of(&shapes[i], n, &random);
    }
}

/* All rounds leave nothing behind. Threads that are kept for the next run end after their time. */
static void check_flat(void)
{
    CHECK_EQ(descriptor_count(), descriptors);
    CHECK(threads_become(threads));
}

static void answer(void)
{
    printf("checked");
    for (int i = 0; i < SHAPES; i++) {
        printf(" %s=%llu", shapes[i].name, (unsigned long long)counted[i]);
        counted[i] = 0;
    }
    printf(" rss_kb=%ld threads=%d descriptors=%d mappings=%d\n", status_kb("VmRSS"), thread_count(), descriptor_count(),
           mapping_count());
    fflush(stdout);
}

static void obey_lines(void)
{
    char line[1024];
    while (fgets(line, sizeof line, stdin)) {
        char *seconds = strtok(line, " \n"), *seed = strtok(NULL, " \n"), *large = strtok(NULL, " \n");
        CHECK(seconds != NULL && seed != NULL && large != NULL);
        for (char *word; (word = strtok(NULL, " \n")) != NULL;) {
            char *value = strchr(word, '=');
            CHECK(value != NULL);
            *value++ = 0;
            CHECK_EQ(*value ? setenv(word, value, 1) : unsetenv(word), 0);
        }
        rounds(atof(seconds), strtoull(seed, NULL, 10), 0, atoi(large) ? LARGE : USUAL);
        check_flat();
        answer();
    }
}

int main(int argc, char **argv)
{
    double seconds = 1;
    uint64_t seed = 1;
    int lines = 0;

    for (int option; (option = getopt(argc, argv, "d:r:s")) != -1;)
        if (option == 'd')
            seconds = atof(optarg);
        else if (option == 'r')
            seed = strtoull(optarg, NULL, 10);
        else if (option == 's')
            lines = 1;
        else
            return 2;
    one_heap();
    threads = thread_count();
    counted[SHAPES - 1] = socket_round(1, &seed); /* the list of descriptors that are waited for is kept */
    descriptors = descriptor_count();
    if (lines) {
        obey_lines();
        return 0;
    }
    rounds(seconds, seed, 1, SMALL);
    check_flat();
    answer();
    return 0;
}
