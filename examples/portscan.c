/* A port scanner: many connections are tried at the same time, each until a deadline, and all until another one.
 * usage: portscan [HOST FIRST LAST]. Without arguments it scans some ports of this machine, and opens one of them itself. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netdb.h>
#include <sched_io.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCANNERS = 200 }; /* connections at a time: each one needs a descriptor */
static const sched_time PATIENCE = SCHED_SECOND, ALL = 60 * SCHED_SECOND;

static struct sockaddr_storage host;
static socklen_t host_length;
static int first, last;
static atomic_int next, tried;
static struct sched_channel *found;
static int listener = -1;

struct port {
    int number;
    char says[60];
};

/* Tries a port. Returns -1 if it is closed, or nobody answers. */
static int try_port(struct port *port, struct scheduler *s)
{
    struct sockaddr_storage address = host, own;
    socklen_t own_length = sizeof own;
    in_port_t number = htons((uint16_t)port->number);
    if (host.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&address)->sin6_port = number;
    else
        ((struct sockaddr_in *)&address)->sin_port = number;
    int fd = socket(host.ss_family, SOCK_STREAM, 0);
    if (fd < 0)
        return -1;
    int result = sched_connect_until(fd, (struct sockaddr *)&address, host_length, sched_now() + PATIENCE, s);
    if (result == 0 && getsockname(fd, (struct sockaddr *)&own, &own_length) == 0 && memcmp(&own, &address, own_length) == 0)
        result = -1; /* nobody listens: the system has chosen the same port for this end, and connected it with itself */
    if (result == 0) { /* some servers speak first */
        ssize_t n = sched_read_until(fd, port->says, sizeof port->says - 1, sched_now() + PATIENCE / 10, s);
        port->says[n > 0 ? n : 0] = '\0';
    }
    sched_close(fd);
    return result;
}

static void scan(void *closure, struct scheduler *s)
{
    const sched_group *group = closure;
    struct port port;
    while ((port.number = next++) <= last && !sched_group_cancelled(group)) {
        if (try_port(&port, s) == 0)
            sched_channel_send(found, &port, s);
        tried++;
    }
}

static void print(void *closure, struct scheduler *s)
{
    struct port port;
    (void)closure;
    while (sched_channel_receive(found, &port, s) == 0) {
        for (char *c = port.says; *c != '\0'; c++)
            if (*c < ' ' || *c > '~')
                *c = ' ';
        printf("%d is open%s%s\n", port.number, port.says[0] != '\0' ? ": " : "", port.says);
    }
}

/* Without arguments: a server that speaks first. */
static void greet(void *closure, struct scheduler *s)
{
    (void)closure;
    for (int fd; (fd = sched_accept(listener, NULL, NULL, s)) >= 0; sched_close(fd))
        sched_write_all(fd, "Hello from a port\n", 18, s);
}

static void start(void *closure, struct scheduler *s)
{
    sched_group server = SCHED_GROUP_INIT, scanners = SCHED_GROUP_INIT;
    (void)closure;
    if ((listener >= 0 && sched_group_spawn(&server, greet, NULL, s) < 0) || sched_spawn(print, NULL, s) < 0)
        sched_channel_close(found);
    for (int i = 0; i < SCANNERS && i <= last - first; i++)
        if (sched_group_spawn(&scanners, scan, &scanners, s) < 0)
            break; /* there is no memory: those that exist try all ports */
    if (sched_group_wait_until(&scanners, sched_now() + ALL, s) < 0)
        sched_group_cancel(&scanners); /* ends all their waits */
    sched_group_wait(&scanners, s);
    sched_channel_close(found); /* print ends */
    sched_group_cancel(&server);
    sched_group_wait(&server, s);
}

static int find_host(const char *name)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
    int error = getaddrinfo(name, NULL, &hints, &list); /* a task would call it in a blocking section */
    if (error != 0) {
        fprintf(stderr, "portscan: %s: %s\n", name, gai_strerror(error));
        return -1;
    }
    memcpy(&host, list->ai_addr, host_length = list->ai_addrlen);
    freeaddrinfo(list);
    return 0;
}

static int listen_here(void)
{
    struct sockaddr_in *address = (struct sockaddr_in *)&host;
    host_length = sizeof *address;
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)address, host_length) < 0 || listen(listener, 10) < 0
        || getsockname(listener, (struct sockaddr *)address, &host_length) < 0) {
        perror("listen");
        return -1;
    }
    first = ntohs(address->sin_port) - 50;
    last = first + 100;
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 1 && argc != 4) {
        fprintf(stderr, "usage: portscan [HOST FIRST LAST]\n");
        return 1;
    }
    first = argc > 1 ? atoi(argv[2]) : 0, last = argc > 1 ? atoi(argv[3]) : 0;
    if (first < 0 || last > 65535 || first > last || (argc > 1 ? find_host(argv[1]) : listen_here()) < 0)
        return 1;
    next = first;
    found = sched_channel_create(16, sizeof(struct port));
    if (found == NULL || sched_init(0, 0, start, NULL) < 0)
        return 1;
    sched_channel_destroy(found);
    printf("%d of %d ports tried\n", tried, last - first + 1);
    return tried != last - first + 1;
}
