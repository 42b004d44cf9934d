/* descriptors.h: pipes and pairs of sockets for the tests of sched_io.h. */
#ifndef DESCRIPTORS_H
#define DESCRIPTORS_H

#include "everywhere.h"
#include <fcntl.h>
#include <sched_io.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SHORT = 200000 }; /* ns */

static inline void make_pipe(int *ends)
{
    CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
}

static inline void make_pair(int *ends)
{
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
}

static inline void close_both(const int *ends)
{
    CHECK_EQ(sched_close(ends[0]), 0);
    CHECK_EQ(sched_close(ends[1]), 0);
}

#endif
