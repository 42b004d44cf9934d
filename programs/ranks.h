/* ranks.h: what the programs for several machines have in common: the beginning and the end of MPI, and agreement. */

#ifndef RANKS_H
#define RANKS_H

#define _GNU_SOURCE

#include "program.h"

#include <mpi.h>

static int rank, ranks; /* this process, and how many there are */

/* --help ('h'), --version ('V'), or an option that is none. */
__attribute__((noreturn)) static void common_option(int option, const char *usage)
{
    exit(option == '?' ? STATUS_TROUBLE : option == 'h' ? say(usage) : say_version());
}

static void no_arguments(int argc, char **argv)
{
    if (optind < argc)
        fatal(0, "%s: no argument is expected", argv[optind]);
}

/* After the command line, so that --help and mistakes need no mpirun. `level` is what the program does with threads;
 * an MPI that allows less is refused, since it would fail now and then instead of always. */
static void ranks_begin(int level)
{
    int provided;
    if (MPI_Init_thread(NULL, NULL, level, &provided) != MPI_SUCCESS)
        fatal(0, "MPI_Init_thread fails");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (provided < level) {
        if (rank == 0)
            complain(0, "this MPI has thread level %d of 3, and %d is needed", provided, level);
        MPI_Finalize();
        exit(STATUS_TROUBLE);
    }
}

/* The end of the program, at once, for what is not expected: on all ranks, since mpirun ends the others when one has
 * ended without MPI_Finalize. Any thread may call it, and so it does not call MPI. */
__attribute__((noreturn)) static void stop(const char *what)
{
    complain(errno, "%s", what);
    _exit(STATUS_TROUBLE);
}

/* Whether all ranks say yes; each of them must ask. */
static int all_say(int yes)
{
    int all;
    MPI_Allreduce(&yes, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

/* The end of the program on every rank if one of them is in trouble, which it has told of. */
__attribute__((unused)) static void unless_trouble(int fine)
{
    if (!all_say(fine)) {
        MPI_Finalize();
        exit(STATUS_TROUBLE);
    }
}

/* The end of every rank: rank 0's status, after its output has been written, is that of all. */
static int ranks_end(int status)
{
    if (rank == 0 && !output_written())
        status = STATUS_TROUBLE;
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return status;
}

#endif
