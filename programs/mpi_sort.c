/* mpi_sort: sorts 64-bit numbers that are spread over several machines.
 *
 * pkg-config: ompi-c/mpich (libopenmpi-dev)
 *
 * Each rank of MPI sorts its share with sched_sort. Then the ranks exchange parts: rank 0 gets the smallest numbers,
 * rank 1 the next, and so on. This is sample sort with regular sampling (Shi and Schaeffer, 1992).
 *
 *   1. sort     each rank its share.
 *   2. sample   each rank names as many of its numbers as there will be parts, at equal distances. All ranks sort all
 *               samples, and take as many cuts from them, at equal distances. No part has more than twice the average.
 *   3. exchange part by part: every rank has `parts` parts, which arrive one after the other in rounds.
 *   4. merge    a part that has arrived, of which each rank has sent a sorted run.
 *
 * Equal numbers may be many: compared by number alone, all of them would go to one rank. So the order is that of
 * (number, rank, place), in which no two are equal. Nothing but the samples needs to carry rank and place: in a share,
 * which is sorted, the place where a cut belongs follows from whether its rank is smaller, greater or one's own.
 *
 * The idea it teaches: a rank computes while it communicates. The main thread is the only one that calls MPI
 * (MPI_THREAD_FUNNELED, which every MPI has) and is no worker; the workers are a pool's. The main thread hands each
 * part that is complete to the pool, to be merged, and receives the next. mpi_uts.c shows the other way, a task that
 * calls MPI in a blocking section.
 *
 * The counts and displacements of MPI_Alltoallv are int. No message buffer here has more than 2^27 numbers, whatever
 * the size of a share; a part that needs more takes several steps. The memory is three shares and two such buffers. */

#include "ranks.h"
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

typedef uint64_t number;

static struct {
    long long count, distinct, seed, threads, parts, step;
    const char *input, *output;
} options = {.count = 10000000, .parts = 8, .step = 1 << 20};
static struct sched_pool *pool;
static int threads;

/* --- the numbers -------------------------------------------------------------------------------------------------- */

static number mix(number x) /* splitmix64 (Steele, Lea and Flood, 2014) */
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

/* A share of the numbers: of all that there are, `count` from `first` on. */
struct share {
    number *numbers;
    size_t count;
    long long first;
    struct seen { number checksum, descents; } seen; /* the same in any order; how often it goes down */
};

/* Number i of the input depends on i alone: it is the same for any number of ranks. */
static void generate(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    (void)s;
    const struct share *share = ctx;
    for (size_t i = lo; i < hi; i++) {
        number x = mix(mix((number)options.seed) + (number)share->first + i);
        share->numbers[i] = options.distinct > 0 ? x % (number)options.distinct : x;
    }
}

/* How many numbers the input has, or -1. */
static long long input_count(void)
{
    struct stat about;
    if (stat(options.input, &about) != 0)
        complain(errno, "%s", options.input);
    else if (about.st_size % (off_t)sizeof(number) != 0)
        complain(0, "%s: %lld bytes are no whole number of 64-bit numbers", options.input, (long long)about.st_size);
    else
        return (long long)about.st_size / (long long)sizeof(number);
    return -1;
}

/* Reads or writes a share of a file: 1 if all of it was. (A machine may write at most 2 GiB at a time.) */
static int transfer(const char *name, const struct share *share, int writing)
{
    int file = open(name, writing ? O_WRONLY | O_CREAT : O_RDONLY, 0666);
    size_t size = share->count * sizeof(number), done = 0;
    ssize_t more = file < 0 ? -1 : 1;
    while (more > 0 && done < size) {
        size_t step = size - done < 1 << 30 ? size - done : 1 << 30;
        char *bytes = (char *)share->numbers + done;
        off_t at = (off_t)share->first * (off_t)sizeof(number) + (off_t)done;
        more = writing ? pwrite(file, bytes, step, at) : pread(file, bytes, step, at);
        done += more > 0 ? (size_t)more : 0;
    }
    /* Whatever the file was: it ends with the numbers, whichever rank comes first. */
    if (more > 0 && (!writing || ftruncate(file, options.count * (off_t)sizeof(number)) == 0) && close(file) == 0)
        return 1;
    complain(more != 0 ? errno : 0, more != 0 ? "%s" : "%s: it became shorter", name);
    return 0;
}

/* --- 1: each rank for itself -------------------------------------------------------------------------------------- */

static int by_value(const void *p, const void *q)
{
    return (*(const number *)p > *(const number *)q) - (*(const number *)p < *(const number *)q);
}

static void look(size_t lo, size_t hi, void *part, void *ctx, struct scheduler *s)
{
    (void)s;
    struct seen *seen = part;
    const struct share *share = ctx;
    for (size_t i = lo; i < hi; i++) {
        seen->checksum += mix(share->numbers[i]);
        seen->descents += i > 0 && share->numbers[i - 1] > share->numbers[i];
    }
}

static void add(void *into, const void *from, void *ctx)
{
    (void)ctx;
    ((struct seen *)into)->checksum += ((const struct seen *)from)->checksum;
    ((struct seen *)into)->descents += ((const struct seen *)from)->descents;
}

static void generate_share(void *closure, struct scheduler *s)
{
    if (sched_for(0, ((struct share *)closure)->count, 0, generate, closure, s) != 0)
        stop("sched_for");
}

static void inspect(void *closure, struct scheduler *s)
{
    struct share *share = closure;
    static const struct seen nothing = {0, 0};
    struct sched_stats stats;
    threads = sched_stats(s, &stats, sizeof stats) == 0 ? (int)stats.threads : 0;
    if (sched_reduce(0, share->count, 0, sizeof nothing, &nothing, look, add, share, &share->seen, s) != 0)
        stop("sched_reduce");
}

static void sort_share(void *closure, struct scheduler *s)
{
    struct share *share = closure;
    if (sched_sort(share->numbers, share->count, sizeof(number), by_value, s) != 0)
        stop("sched_sort");
}

static void in_pool(taskfunc f, struct share *share)
{
    if (sched_pool_run(pool, f, share) != 0)
        stop("sched_pool_run");
}

/* --- 2: the cuts -------------------------------------------------------------------------------------------------- */

/* A number and where it lies, or with place UINT64_MAX none: the rank has no numbers. */
struct sample {
    number value, rank, place;
};

static int by_place(const void *p, const void *q)
{
    const struct sample *x = p, *y = q;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Where the cut belongs in this rank's sorted share: the number of those that are before it. */
static size_t place_of(const struct share *share, const struct sample *cut)
{
    if (cut->rank == (number)rank)
        return cut->place;
    size_t lo = 0, hi = share->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        number x = share->numbers[mid];
        if (x < cut->value || (x == cut->value && (number)rank < cut->rank))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* bounds[p] to bounds[p + 1] of the share are of part p; part p is rank p / options.parts's. */
static size_t *cut(const struct share *share)
{
    size_t parts = (size_t)ranks * (size_t)options.parts, present = 0;
    struct sample *mine = allocate(parts, sizeof *mine), *all = allocate(parts * (size_t)ranks, sizeof *all);
    for (size_t i = 0; i < parts; i++) {
        size_t place = (size_t)((double)share->count * (double)i / (double)parts);
        mine[i] = share->count == 0 ? (struct sample){0, 0, UINT64_MAX}
                                    : (struct sample){share->numbers[place], (number)rank, place};
    }
    int words = (int)(parts * (sizeof *mine / sizeof(number)));
    MPI_Allgather(mine, words, MPI_UINT64_T, all, words, MPI_UINT64_T, MPI_COMM_WORLD);
    for (size_t i = 0; i < parts * (size_t)ranks; i++)
        if (all[i].place != UINT64_MAX)
            all[present++] = all[i];
    qsort(all, present, sizeof *all, by_place);
    size_t *bounds = allocate(parts + 1, sizeof *bounds);
    for (size_t i = 1; i < parts; i++)
        bounds[i] = present == 0 ? 0 : place_of(share, &all[i * present / parts]);
    bounds[parts] = share->count;
    free(all);
    return bounds;
}

/* --- 4: merging --------------------------------------------------------------------------------------------------- */

/* A part of this rank's: run r of it is numbers[start[r]] to numbers[start[r + 1]]. */
struct part {
    number *numbers, *spare;
    size_t *start;
};

/* Runs lo to hi - 1 into one, in spare or in numbers. */
struct merging {
    sched_task task;
    const struct part *part;
    int lo, hi, in_spare;
};

static void merge(void *closure, struct scheduler *s)
{
    struct merging *m = closure;
    const struct part *part = m->part;
    size_t from = part->start[m->lo], to = part->start[m->hi];
    if (m->hi - m->lo == 1 && m->in_spare)
        memcpy(part->spare + from, part->numbers + from, (to - from) * sizeof(number));
    if (m->hi - m->lo == 1)
        return;
    int mid = m->lo + (m->hi - m->lo) / 2;
    struct merging left = {.part = part, .lo = m->lo, .hi = mid, .in_spare = !m->in_spare};
    struct merging right = {.part = part, .lo = mid, .hi = m->hi, .in_spare = !m->in_spare};
    sched_fork(&left.task, merge, &left, s);
    merge(&right, s);
    sched_join(&left.task, s);
    const number *source = m->in_spare ? part->numbers : part->spare;
    number *target = m->in_spare ? part->spare : part->numbers;
    size_t a = from, middle = part->start[mid], b = middle;
    for (size_t i = from; i < to; i++)
        target[i] = b == to || (a < middle && source[a] <= source[b]) ? source[a++] : source[b++];
}

static void merge_part(void *closure, struct scheduler *s)
{
    merge(&(struct merging){.part = closure, .lo = 0, .hi = ranks}, s);
}

/* --- 3: the exchange ---------------------------------------------------------------------------------------------- */

static void exchange(const struct share *share, const size_t *bounds, struct share *result)
{
    size_t rounds = (size_t)options.parts, n = (size_t)ranks;
    uint64_t *sends = allocate(n * rounds, sizeof *sends), *receives = allocate(n * rounds, sizeof *receives);
    for (size_t p = 0; p < n * rounds; p++)
        sends[p] = bounds[p + 1] - bounds[p];
    MPI_Alltoall(sends, (int)rounds, MPI_UINT64_T, receives, (int)rounds, MPI_UINT64_T, MPI_COMM_WORLD);
    for (size_t p = 0; p < n * rounds; p++)
        result->count += receives[p];
    size_t step = (size_t)options.step / n > 0 ? (size_t)options.step / n : 1;
    uint64_t before = 0, count = result->count;
    MPI_Exscan(&count, &before, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    result->first = rank == 0 ? 0 : (long long)before;

    number *spare = allocate(count, sizeof *spare);
    number *out = allocate(n * step, sizeof *out), *in = allocate(n * step, sizeof *in);
    int *counts = allocate(3 * n, sizeof *counts), *counts_in = counts + n, *places = counts_in + n;
    struct part *parts = allocate(rounds, sizeof *parts);
    result->numbers = allocate(count, sizeof(number));
    struct progress progress;
    progress_begin(&progress, "parts", (double)rounds);

    for (size_t r = 0, begin = 0; r < rounds; r++) {
        struct part *part = &parts[r];
        *part = (struct part){result->numbers, spare, allocate(n + 1, sizeof *part->start)};
        part->start[0] = begin;
        uint64_t most = 0; /* in a message of this round, of any rank's: all ranks take as many steps */
        for (size_t i = 0; i < n; i++) {
            part->start[i + 1] = part->start[i] + receives[i * rounds + r];
            most = sends[i * rounds + r] > most ? sends[i * rounds + r] : most;
        }
        MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
        for (uint64_t done = 0; done < most; done += step) {
            for (size_t i = 0; i < n; i++) {
                uint64_t send = sends[i * rounds + r], receive = receives[i * rounds + r];
                counts[i] = (int)(send <= done ? 0 : send - done < step ? send - done : step);
                counts_in[i] = (int)(receive <= done ? 0 : receive - done < step ? receive - done : step);
                places[i] = (int)(i * step);
                memcpy(out + i * step, share->numbers + bounds[i * rounds + r] + (counts[i] > 0 ? done : 0),
                       (size_t)counts[i] * sizeof(number));
            }
            MPI_Alltoallv(out, counts, places, MPI_UINT64_T, in, counts_in, places, MPI_UINT64_T, MPI_COMM_WORLD);
            for (size_t i = 0; i < n; i++)
                if (counts_in[i] > 0)
                    memcpy(result->numbers + part->start[i] + done, in + i * step, (size_t)counts_in[i] * sizeof *in);
        }
        begin = part->start[n];
        if (sched_pool_submit(pool, merge_part, part) != 0)
            merge_part(part, NULL); /* no memory for a task: here and now */
        progress_add(&progress, 1);
    }
    sched_pool_wait(pool);
    progress_end(&progress);
    free(spare);
}

/* --- the command line --------------------------------------------------------------------------------------------- */

static const char usage[] =
    "usage: mpi_sort [OPTION]...\n"
    "Sorts 64-bit numbers that are spread over the ranks of MPI: mpirun -n 4 mpi_sort -n 100M\n\n"
    "  -n, --count N       so many numbers, made up (10000000)\n"
    "  -d, --distinct N    ... of which so many are different, at most (0: any of 64 bits)\n"
    "  -s, --seed N        ... and others for another N (0)\n"
    "  -i, --input FILE    the numbers of FILE instead, in the byte order of this machine\n"
    "  -o, --output FILE   where the sorted numbers go (nowhere)\n"
    "  -p, --parts N       parts that a rank receives and merges one after the other (8)\n"
    "  -m, --message N     numbers that a rank sends at a time (1M)\n"
    "  -j, --threads N     threads of each rank (0: a processor each)\n"
    "      --help, --version\n";

static void arguments(int argc, char **argv)
{
    static const struct option longs[] = {
        {"count", 1, NULL, 'n'}, {"distinct", 1, NULL, 'd'}, {"seed", 1, NULL, 's'}, {"input", 1, NULL, 'i'},
        {"output", 1, NULL, 'o'}, {"parts", 1, NULL, 'p'}, {"message", 1, NULL, 'm'}, {"threads", 1, NULL, 'j'},
        {"help", 0, NULL, 'h'}, {"version", 0, NULL, 'V'}, {NULL, 0, NULL, 0}};
    for (int c; (c = getopt_long(argc, argv, "n:d:s:i:o:p:m:j:", longs, NULL)) != -1;)
        switch (c) {
        case 'n': options.count = number_of(optarg, "--count", 0, 1LL << 44); break;
        case 'd': options.distinct = number_of(optarg, "--distinct", 0, LLONG_MAX); break;
        case 's': options.seed = number_of(optarg, "--seed", 0, LLONG_MAX); break;
        case 'i': options.input = optarg; break;
        case 'o': options.output = optarg; break;
        case 'p': options.parts = number_of(optarg, "--parts", 1, 1 << 10); break;
        case 'm': options.step = number_of(optarg, "--message", 1, 1 << 27); break;
        case 'j': options.threads = number_of(optarg, "--threads", 0, 4096); break;
        default: common_option(c, usage);
        }
    no_arguments(argc, argv);
}

int main(int argc, char **argv)
{
    program_name = "mpi_sort";
    arguments(argc, argv);
    ranks_begin(MPI_THREAD_FUNNELED);
    struct sched_options pool_options = {.size = sizeof pool_options, .nthreads = (int)options.threads};
    pool = sched_pool_create(&pool_options);
    if (pool == NULL)
        stop("sched_pool_create");
    if (rank == 0 && options.input != NULL)
        options.count = input_count();
    MPI_Bcast(&options.count, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    unless_trouble(options.count >= 0);

    struct share share = {.first = options.count * rank / ranks}, result = {.count = 0};
    share.count = (size_t)(options.count * (rank + 1) / ranks - share.first);
    share.numbers = allocate(share.count, sizeof(number));
    if (options.input != NULL)
        unless_trouble(transfer(options.input, &share, 0));
    else
        in_pool(generate_share, &share);
    in_pool(inspect, &share);

    double began = MPI_Wtime();
    in_pool(sort_share, &share);
    MPI_Barrier(MPI_COMM_WORLD);
    double sorted = MPI_Wtime();
    exchange(&share, cut(&share), &result);
    MPI_Barrier(MPI_COMM_WORLD);
    double ended = MPI_Wtime();

    /* In order within each rank; no smaller than any number of the ranks before; as many as before, with their sum. */
    in_pool(inspect, &result);
    number largest = 0, last = result.count > 0 ? result.numbers[result.count - 1] : 0;
    MPI_Exscan(&last, &largest, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    int right = result.seen.descents == 0 && (rank == 0 || result.count == 0 || largest <= result.numbers[0]);
    number sums[4] = {share.seen.checksum, result.seen.checksum, share.count, result.count}, most = result.count;
    MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    right = all_say(right) && sums[0] == sums[1] && sums[2] == sums[3];

    if (options.output != NULL)
        unless_trouble(transfer(options.output, &result, 1));
    if (rank == 0)
        printf("%lld numbers, %d rank%s of %d thread%s: %s, checksum %016" PRIx64 ", most on a rank %" PRIu64
               ", sort %.3f s, exchange %.3f s, %.1f million a second\n", options.count, ranks, ranks == 1 ? "" : "s",
               threads, threads == 1 ? "" : "s", right ? "sorted" : "NOT SORTED", sums[1], most, sorted - began,
               ended - sorted, (double)options.count / (ended - began) / 1e6);
    sched_pool_destroy(pool);
    return ranks_end(right ? STATUS_OK : STATUS_NO);
}
