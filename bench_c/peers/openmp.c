/* openmp.c: OpenMP tasks. gcc makes it libgomp's peer, clang libomp's. */

#ifdef __clang__
#define PEER "libomp"
#define COMPILER "clang"
#define VERSION __clang_major__, __clang_minor__, __clang_patchlevel__
#else
#define PEER "libgomp"
#define COMPILER "GCC"
#define VERSION __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__
#endif

/* A task waits for all its children: nothing to remember. */
struct children {
    char nothing;
};

#define PEER_FORKS
#define PEER_DEPENDS
#define PEER_SCHEDULES {"static", "dynamic", "guided"}

#include "peer.h"

#include <omp.h>

static int team;

/* `cancel` has an effect only in a process that was started with this setting. */
static void want_cancellation(void)
{
    if (omp_get_cancellation())
        return;
    setenv("OMP_CANCELLATION", "true", 1);
    execv("/proc/self/exe", peer_words);
    bench_die("execv");
}

/* The runtime keeps the threads of a team for the next one. */
static void peer_start(int threads)
{
    if (strcmp(peer_words[1], "knapsack") == 0)
        want_cancellation();
    team = threads;
    omp_set_dynamic(0);
    int there = 0;
#pragma omp parallel num_threads(team) reduction(+ : there)
    there++;
    if (there != team) {
        fprintf(stderr, PEER ": %d threads instead of %d\n", there, team);
        exit(1);
    }
}

static void peer_run(task_fn f, struct arg a)
{
#pragma omp parallel num_threads(team)
#pragma omp single nowait
    f(a);
}

static void peer_spawn(task_fn f, struct arg a)
{
#pragma omp task firstprivate(f, a)
    f(a);
}

static void peer_fork(struct children *c, fork_fn f, void *closure)
{
    (void)c;
#pragma omp task firstprivate(f, closure)
    f(closure);
}

static void peer_join(struct children *c)
{
    (void)c;
#pragma omp taskwait
}

/* Any calling thread is the first thread of its team. */
static void peer_outside(fork_fn f, void *closure)
{
#pragma omp parallel num_threads(team)
#pragma omp master
    f(closure);
}

static void peer_for(size_t n, void (*body)(size_t lo, size_t hi))
{
#pragma omp parallel for num_threads(team) schedule(dynamic, 1)
    for (size_t i = 0; i < n; i++)
        body(i, i + 1);
}

/* A cancellation point must be in the text of the task itself. A function that the task calls tests this flag
 * instead. */
static int search_over;

static int peer_unwanted(void *context)
{
    (void)context;
    return __atomic_load_n(&search_over, __ATOMIC_RELAXED);
}

static void peer_search(void)
{
    __atomic_store_n(&search_over, 0, __ATOMIC_RELAXED);
#pragma omp taskgroup
    for (long k = 0; k < KNAPSACK_ATTEMPTS && !peer_unwanted(NULL); k++) {
#pragma omp task firstprivate(k)
        {
            if (search_attempt(k)) {
                __atomic_store_n(&search_over, 1, __ATOMIC_RELAXED);
#pragma omp cancel taskgroup
            }
        }
    }
}

static void peer_loop(size_t n, uint64_t *found)
{
#pragma omp parallel for num_threads(team)
    for (size_t i = 0; i < n; i++)
        loop_iteration(i, found);
}

static void peer_phases(struct phases *p, long n)
{
    for (long k = 0; k < n; k++) {
        phases_gap(p);
        double start = bench_now();
#pragma omp parallel for num_threads(team) schedule(dynamic, 1)
        for (size_t i = 0; i < PHASE_PARTS; i++)
            phases_parts(p, i, i + 1);
        phases_took(p, k, start);
    }
}

/* A dynamic schedule hands out a hundredth of the iterations at a time; the other two have the default of the system. */
static void set_schedule(const struct loops *l, int schedule)
{
    static const omp_sched_t schedules[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided};
    int chunk = 0;
    if (schedules[schedule] == omp_sched_dynamic)
        chunk = l->iterations > 100 ? (int)(l->iterations / 100) : 1;
    omp_set_schedule(schedules[schedule], chunk);
}

static void peer_loops(struct loops *l, long n, int schedule)
{
    set_schedule(l, schedule);
    for (long k = 0; k < n; k++) {
        double start = loops_begin(l, k);
#pragma omp parallel for num_threads(team) schedule(runtime)
        for (long i = 0; i < l->iterations; i++)
            loops_iteration(l, (size_t)i);
        loops_took(l, k, start);
    }
}

static void peer_reductions(struct loops *l, long n, int schedule)
{
    set_schedule(l, schedule);
    for (long k = 0; k < n; k++) {
        double start = loops_begin(l, k);
        uint64_t sum = 0;
#pragma omp parallel for num_threads(team) schedule(runtime) reduction(+ : sum)
        for (long i = 0; i < l->iterations; i++)
            sum += loops_result(l, (size_t)i);
        l->sums[k] = sum;
        loops_took(l, k, start);
    }
}

static uint64_t peer_reduce(size_t n)
{
    uint64_t sum = 0;
#pragma omp parallel for num_threads(team) reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += bench_mix(i);
    return sum;
}

static void peer_points(struct points *p)
{
    for (long i = 0; i < p->n; i++) {
        struct point *own = &p->all[i];
        long above = own->before[0], left = own->before[1];
        if (above >= 0 && left >= 0) {
#pragma omp task firstprivate(i) depend(in : p->all[above], p->all[left]) depend(inout : *own)
            point_compute(p, i);
        } else if (above >= 0 || left >= 0) {
            const struct point *one = &p->all[above >= 0 ? above : left];
#pragma omp task firstprivate(i) depend(in : *one) depend(inout : *own)
            point_compute(p, i);
        } else {
#pragma omp task firstprivate(i) depend(inout : *own)
            point_compute(p, i);
        }
    }
#pragma omp taskwait
}

static void peer_lu(const struct lu *lu)
{
    for (long i = 0; i < lu->steps; i++) {
        struct lu_step *st = &lu->step[i];
        if (st->left != NULL && st->above != NULL) {
#pragma omp task firstprivate(st) depend(in : *st->left, *st->above) depend(inout : *st->block)
            lu_run(lu, st);
        } else if (st->left != NULL || st->above != NULL) {
            const double *one = st->left != NULL ? st->left : st->above;
#pragma omp task firstprivate(st) depend(in : *one) depend(inout : *st->block)
            lu_run(lu, st);
        } else {
#pragma omp task firstprivate(st) depend(inout : *st->block)
            lu_run(lu, st);
        }
    }
#pragma omp taskwait
}

static void peer_align(const struct align *al)
{
    for (long i = 1; i <= al->blocks; i++)
        for (long j = 1; j <= al->blocks; j++) {
            float *own = align_block(al, i, j);
            const float *above = align_block(al, i - 1, j), *left = align_block(al, i, j - 1);
            const float *corner = align_block(al, i - 1, j - 1);
#pragma omp task firstprivate(own) depend(in : *above, *left, *corner) depend(out : *own)
            align_fill(al, own);
        }
#pragma omp taskwait
}

static void peer_strassen(const struct strassen *m, double *space)
{
    double *of[7];
    for (int i = 0; i < 7; i++) {
        double *product = of[i] = strassen_place(m, space, i);
#pragma omp task firstprivate(i, product) depend(out : *product)
        depend_product(m, product, i);
    }
#pragma omp task depend(in : *of[0], *of[3], *of[4], *of[6])
    strassen_quadrant(m, space, 0);
#pragma omp task depend(in : *of[2], *of[4])
    strassen_quadrant(m, space, 1);
#pragma omp task depend(in : *of[1], *of[3])
    strassen_quadrant(m, space, 2);
#pragma omp task depend(in : *of[0], *of[1], *of[2], *of[5])
    strassen_quadrant(m, space, 3);
#pragma omp taskwait
}

static void peer_stop(void)
{
}

static void peer_version(void)
{
    printf("OpenMP %d of " COMPILER " %d.%d.%d\n", _OPENMP, VERSION);
}
