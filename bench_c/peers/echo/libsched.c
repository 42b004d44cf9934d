/* libsched.c: the echo server on this library, a task for each connection: see echo.h. */

#include "echo.h"

#include <sched.h>
#include <sched_io.h>

struct server {
    int listener, computing;
};

static void serves(void *closure, struct scheduler *s)
{
    int fd = (int)(intptr_t)closure;
    char buffer[ECHO_BUFFER];
    ssize_t n;
    while ((n = sched_read(fd, buffer, sizeof buffer, s)) > 0 && sched_write(fd, buffer, (size_t)n, s) == n)
        continue;
    sched_close(fd);
}

static void computes(void *closure, struct scheduler *s)
{
    echo_compute();
    must(sched_spawn(computes, closure, s) == 0, "sched_spawn");
}

static void accepts(void *closure, struct scheduler *s)
{
    const struct server *server = closure;
    for (int i = 0; i < server->computing; i++)
        must(sched_spawn(computes, NULL, s) == 0, "sched_spawn");
    for (;;) {
        int fd = sched_accept(server->listener, NULL, NULL, s);
        must(fd >= 0, "sched_accept");
        echo_immediately(fd);
        must(sched_spawn(serves, (void *)(intptr_t)fd, s) == 0, "sched_spawn");
    }
}

int main(int argc, char **argv)
{
    struct server server = {echo_listener(), argc > 1 ? atoi(argv[1]) : 0};
    must(sched_init(0, 0, accepts, &server) == 0, "sched_init");
    return 0;
}
