/* echo.c: an echo server with a task for each of 100 connections; each read is in a blocking section. A thread of the
 * program sends n requests over the loopback device, one at a time on each connection, and checks the answers. least= is
 * the least number of answers of one connection, in parts of the mean; longest_ms= the longest time from a request to
 * its answer. -d beside: beside 4 tasks that compute for 10 ms each and spawn themselves again (not for kind cont, where
 * a spawn calls the new task at once, so that these would never return). Kind serial has one connection. */

#include "threads.h"
#include "bench.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched_tasks.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { CONNECTIONS = 100, SIZE = 64, COMPUTING = 4, PATIENCE_MS = 10000 };

static const double computes_for = 0.01;

static struct {
    int server, client;
    long answers;
    double sent, longest;
    unsigned char request[SIZE];
} connections[CONNECTIONS];

static int open_connections = CONNECTIONS;
static int is_beside;
static long n;
static atomic_int left;
static long wrong;

static void must(int done, const char *what)
{
    if (!done)
        bench_die(what);
}

static void immediately(int fd)
{
    int one = 1;
    must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0, "setsockopt");
}

static void connect_all(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(listener >= 0, "socket");
    must(bind(listener, (struct sockaddr *)&address, length) == 0, "bind");
    must(listen(listener, CONNECTIONS) == 0, "listen");
    must(getsockname(listener, (struct sockaddr *)&address, &length) == 0, "getsockname");
    for (int i = 0; i < open_connections; i++) {
        memset(&connections[i], 0, sizeof connections[i]);
        int fd = connections[i].client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        must(fd >= 0, "socket");
        must(connect(fd, (struct sockaddr *)&address, sizeof address) == 0, "connect");
        connections[i].server = accept(listener, NULL, NULL);
        must(connections[i].server >= 0, "accept");
        immediately(fd);
        immediately(connections[i].server);
    }
    close(listener);
    left = open_connections;
}

static void send_request(int i)
{
    memset(connections[i].request, (int)(connections[i].answers + i) % 251, SIZE);
    connections[i].sent = bench_now();
    must(write(connections[i].client, connections[i].request, SIZE) == SIZE, "write to the server");
}

static void read_answer(int i)
{
    unsigned char answer[SIZE];
    must(read(connections[i].client, answer, SIZE) == SIZE, "read from the server");
    wrong += memcmp(answer, connections[i].request, SIZE) != 0;
    double waited = bench_now() - connections[i].sent;
    if (waited > connections[i].longest)
        connections[i].longest = waited;
    connections[i].answers++;
}

/* The load generator: n requests, and then the end of each connection. */
static void *generates(void *closure)
{
    struct epoll_event events[CONNECTIONS];
    long sent = 0, got = 0;
    int poll = epoll_create1(EPOLL_CLOEXEC);
    (void)closure;
    must(poll >= 0, "epoll_create1");
    for (int i = 0; i < open_connections; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
        must(epoll_ctl(poll, EPOLL_CTL_ADD, connections[i].client, &event) == 0, "epoll_ctl");
    }
    for (; sent < n && sent < open_connections; sent++)
        send_request((int)sent);
    while (got < sent) {
        int ready = epoll_wait(poll, events, CONNECTIONS, PATIENCE_MS);
        must(ready > 0, "no answer for ten seconds");
        for (int k = 0; k < ready; k++, got++) {
            int i = (int)events[k].data.u32;
            read_answer(i);
            if (sent < n) {
                send_request(i);
                sent++;
            }
        }
    }
    close(poll);
    for (int i = 0; i < open_connections; i++)
        must(shutdown(connections[i].client, SHUT_WR) == 0, "shutdown");
    return NULL;
}

/* The server's side of a connection. */
static void serves(void *closure, struct scheduler *s)
{
    int fd = connections[(intptr_t)closure].server;
    char buffer[SIZE];
    for (;;) {
        must(sched_block_begin(s) == 0, "sched_block_begin");
        ssize_t got = read(fd, buffer, SIZE);
        must(sched_block_end(s) == 0, "sched_block_end");
        if (got <= 0)
            break;
        must(write(fd, buffer, (size_t)got) == got, "write to the client");
    }
    atomic_fetch_sub(&left, 1);
}

static void computes(void *closure, struct scheduler *s)
{
    double end = bench_now() + computes_for;
    while (bench_now() < end)
        for (volatile int i = 0; i < 1000; i++)
            continue;
    if (left > 0)
        bench_spawn(computes, closure, s);
}

static void server(void *closure, struct scheduler *s)
{
    (void)closure;
    for (int i = 0; is_beside && i < COMPUTING; i++)
        bench_spawn(computes, NULL, s);
    for (intptr_t i = 0; i < open_connections; i++) /* where the youngest task is next, these go first */
        bench_spawn(serves, (void *)i, s);
}

/* One thread that waits for all connections. */
static void serial_server(void *closure)
{
    struct epoll_event events[CONNECTIONS];
    int poll = epoll_create1(EPOLL_CLOEXEC);
    (void)closure;
    must(poll >= 0, "epoll_create1");
    for (int i = 0; i < open_connections; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = connections[i].server};
        must(epoll_ctl(poll, EPOLL_CTL_ADD, event.data.fd, &event) == 0, "epoll_ctl");
    }
    while (left > 0) {
        int ready = epoll_wait(poll, events, CONNECTIONS, PATIENCE_MS);
        must(ready > 0, "no request for ten seconds");
        for (int k = 0; k < ready; k++) {
            char buffer[SIZE];
            int fd = events[k].data.fd;
            ssize_t got = read(fd, buffer, SIZE);
            if (got > 0) {
                must(write(fd, buffer, (size_t)got) == got, "write to the client");
            } else {
                must(epoll_ctl(poll, EPOLL_CTL_DEL, fd, NULL) == 0, "epoll_ctl");
                left--;
            }
        }
    }
    close(poll);
}

static const struct bench_about about = {
    "echo", "answers of an echo server", 100000, 1, 1L << 30, "alone (default) or beside (tasks that compute)",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    is_beside = b.data != NULL && strcmp(b.data, "beside") == 0;
    if (b.data != NULL && !is_beside && strcmp(b.data, "alone") != 0) {
        fprintf(stderr, "echo: -d %s: alone or beside is wanted\n", b.data);
        return 2;
    }
    n = b.n;
    if (strcmp(bench_kind(&b), "serial") == 0)
        open_connections = 1; /* its one thread waits for this one alone */

    for (int r = 0; r < b.repetitions; r++) {
        long answers = 0, least = n;
        double longest = 0;
        connect_all();
        pthread_t generator;
        errno = pthread_create(&generator, NULL, generates, NULL);
        must(errno == 0, "pthread_create");

        bench_run(&b, server, serial_server, NULL);

        errno = pthread_join(generator, NULL);
        must(errno == 0, "pthread_join");
        for (int i = 0; i < open_connections; i++) {
            answers += connections[i].answers;
            if (connections[i].answers < least)
                least = connections[i].answers;
            if (connections[i].longest > longest)
                longest = connections[i].longest;
            close(connections[i].client);
            close(connections[i].server);
        }
        bench_field(&b, "answers_per_second", (double)n / b.wall);
        bench_field(&b, "least", (double)least * open_connections / (double)n);
        bench_field(&b, "longest_ms", 1e3 * longest);
        bench_line(&b, open_connections + 1, bench_mix((uint64_t)answers), answers == n && wrong == 0);
    }
    return bench_end(&b);
}
