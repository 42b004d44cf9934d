/* Descriptors: an echo server. A task a connection reads and writes as a thread would, and needs none while it waits.
 * usage: hello_echo [PORT]; without a port the program is its own client, and ends. */
#include <netinet/in.h>
#include <sched_io.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static struct sockaddr_in address = {.sin_family = AF_INET};
static int listener;
static atomic_int is_closed;

static void echo(void *closure, struct scheduler *s)
{
    int fd = (int)(intptr_t)closure;
    char bytes[4096];
    ssize_t n;
    while ((n = sched_read(fd, bytes, sizeof bytes, s)) > 0 && sched_write_all(fd, bytes, (size_t)n, s) == n) {}
    sched_close(fd);
}

static void end(void)
{
    is_closed = 1;
    sched_close(listener); /* ends the wait of start */
}

static void ask(void *closure, struct scheduler *s)
{
    char answer[8] = "nobody";
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    (void)closure;
    if (sched_connect(fd, (struct sockaddr *)&address, sizeof address, s) < 0 || sched_write_all(fd, "an echo", 7, s) < 0
        || sched_recv(fd, answer, 7, MSG_WAITALL, s) != 7)
        perror("client");
    printf("Hello from %s\n", answer);
    sched_close(fd);
    end();
}

static void start(void *port, struct scheduler *s)
{
    if (port == NULL && sched_spawn(ask, NULL, s) < 0)
        end();
    while (!is_closed) {
        int fd = sched_accept(listener, NULL, NULL, s);
        if (fd < 0)
            sched_sleep(10 * SCHED_MILLISECOND, s); /* no descriptor may be left for a while */
        else if (sched_spawn(echo, (void *)(intptr_t)fd, s) < 0)
            sched_close(fd);
    }
}

int main(int argc, char **argv)
{
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((uint16_t)(argc > 1 ? atoi(argv[1]) : 0)); /* 0: any that is free */
    listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, 1000) < 0
        || getsockname(listener, (struct sockaddr *)&address, &length) < 0) {
        perror("listen");
        return 1;
    }
    printf("port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    return sched_init(0, 0, start, argc > 1 ? argv[1] : NULL) < 0;
}
