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

#include "peer.h"

#include <omp.h>

static int team;

/* The runtime keeps the threads of a team for the next one. */
static void peer_start(int threads)
{
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

static void peer_stop(void)
{
}

static void peer_version(void)
{
    printf("OpenMP %d of " COMPILER " %d.%d.%d\n", _OPENMP, VERSION);
}
