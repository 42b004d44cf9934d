/* echo.h: the common part of the echo servers in C. Each is called as
 *
 *   SERVER [COMPUTING]
 *
 * and listens on a free port of the loopback device, prints that port and its process number, and serves until a signal
 * ends it. COMPUTING tasks compute for 10 ms each and start again. compare.sh runs the servers. */

#ifndef ECHO_H
#define ECHO_H

#include "../../measure.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

enum { ECHO_BUFFER = 1024 };

static const double computes_for = 0.01;

static inline void must(int done, const char *what)
{
    if (!done)
        bench_die(what);
}

/* The socket that listens. */
static inline int echo_listener(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    must(listener >= 0, "socket");
    must(bind(listener, (struct sockaddr *)&address, length) == 0, "bind");
    must(listen(listener, 1024) == 0, "listen");
    must(getsockname(listener, (struct sockaddr *)&address, &length) == 0, "getsockname");
    printf("%d %ld\n", ntohs(address.sin_port), (long)getpid());
    fflush(stdout);
    return listener;
}

static inline void echo_immediately(int fd)
{
    int one = 1;
    must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0, "setsockopt");
}

static inline void echo_compute(void)
{
    double end = bench_now() + computes_for;
    while (bench_now() < end)
        bench_turns(1, 1000);
}

#endif
