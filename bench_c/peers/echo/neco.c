/* neco.c: the echo server on neco (https://github.com/tidwall/neco), a coroutine for each connection, all on one thread:
 * see echo.h. A coroutine that computes yields every 10 ms. */

#include "echo.h"

#include <neco.h>

static int listener, computing;

static void serves(int argc, void *argv[])
{
    int fd = (int)(intptr_t)argv[0];
    char buffer[ECHO_BUFFER];
    ssize_t n;
    (void)argc;
    while ((n = neco_read(fd, buffer, sizeof buffer)) > 0 && neco_write(fd, buffer, (size_t)n) == n)
        continue;
    close(fd);
}

static void computes(int argc, void *argv[])
{
    (void)argc;
    (void)argv;
    for (;;) {
        echo_compute();
        neco_yield();
    }
}

static void accepts(int argc, void *argv[])
{
    (void)argc;
    (void)argv;
    must(neco_setnonblock(listener, true, NULL) == NECO_OK, "neco_setnonblock");
    for (int i = 0; i < computing; i++)
        must(neco_start(computes, 0) == NECO_OK, "neco_start");
    for (;;) {
        int fd = neco_accept(listener, NULL, NULL);
        must(fd >= 0, "neco_accept");
        echo_immediately(fd);
        must(neco_setnonblock(fd, true, NULL) == NECO_OK, "neco_setnonblock");
        must(neco_start(serves, 1, (void *)(intptr_t)fd) == NECO_OK, "neco_start");
    }
}

int main(int argc, char **argv)
{
    listener = echo_listener();
    computing = argc > 1 ? atoi(argv[1]) : 0;
    return neco_start(accepts, 0) == NECO_OK ? 0 : 1;
}
