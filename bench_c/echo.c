/* echo.c: an echo server with a task for each of 100 connections. -d alone: each read is in a blocking section; -d io:
 * the tasks call sched_read and sched_write. A thread of the program sends n requests over the loopback device, one at a
 * time on each connection, and checks the answers. p50_us=, p99_us= and longest_ms= are times from a request to its
 * answer; least= is the least number of answers of one connection, in parts of the mean; cpu_us= is the processor time of
 * a request, without that of the thread that sends it. -d io-N: with N connections, or as many as the hard limit of
 * descriptors permits, two for each. -d beside and -d io-beside: beside 4 tasks that compute for 10 ms each and spawn
 * themselves again (not for kind cont, where a spawn calls the new task at once, so that these would never return);
 * computed= is the processor time that they got, in parts of what they would have alone. Kind serial has one
 * connection. */

#include "threads.h"
#include "bench.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched_io.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { CONNECTIONS = 100, MOST_CONNECTIONS = 100000, SIZE = 64, COMPUTING = 4, PATIENCE_MS = 10000 };

static const double computes_for = 0.01;

static struct connection {
    int server, client;
    long answers;
    double sent;
    unsigned char request[SIZE];
} *connections;

static int open_connections = CONNECTIONS;
static int is_io, is_beside;
static long n;
static sem_t begins; /* posted when the run of the server begins */
static atomic_int left;
static atomic_llong computed_ns; /* processor time of the computing tasks */
static long answered, wrong; /* answers */
static double *waits; /* from a request to its answer */
static double generator_seconds; /* its processor time */

static void must(int done, const char *what)
{
    if (!done)
        bench_die(what);
}

/* Leaves descriptors for a few other files. */
static void permit_descriptors(void)
{
    enum { OTHERS = 64 };
    struct rlimit limit;
    must(getrlimit(RLIMIT_NOFILE, &limit) == 0, "getrlimit");
    rlim_t wanted = 2 * (rlim_t)open_connections + OTHERS;
    if (wanted > limit.rlim_max) {
        wanted = limit.rlim_max;
        open_connections = (int)(wanted > OTHERS + 2 ? (wanted - OTHERS) / 2 : 1);
    }
    if (wanted > limit.rlim_cur) {
        limit.rlim_cur = wanted;
        must(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
    }
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
    must(listen(listener, 1) == 0, "listen");
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

static double clock_seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void read_answer(int i)
{
    unsigned char answer[SIZE];
    must(read(connections[i].client, answer, SIZE) == SIZE, "read from the server");
    wrong += memcmp(answer, connections[i].request, SIZE) != 0;
    waits[answered++] = bench_now() - connections[i].sent;
    connections[i].answers++;
}

/* The load generator: n requests, and then the end of each connection. */
static void *generates(void *closure)
{
    struct epoll_event *events = bench_alloc((size_t)open_connections, sizeof *events);
    long sent = 0;
    int poll = epoll_create1(EPOLL_CLOEXEC);
    (void)closure;
    must(poll >= 0, "epoll_create1");
    for (int i = 0; i < open_connections; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
        must(epoll_ctl(poll, EPOLL_CTL_ADD, connections[i].client, &event) == 0, "epoll_ctl");
    }
    must(sem_wait(&begins) == 0, "sem_wait");
    generator_seconds = -clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    for (; sent < n && sent < open_connections; sent++)
        send_request((int)sent);
    while (answered < sent) {
        int ready = epoll_wait(poll, events, open_connections, PATIENCE_MS);
        must(ready > 0, "no answer for ten seconds");
        for (int k = 0; k < ready; k++) {
            int i = (int)events[k].data.u32;
            read_answer(i);
            if (sent < n) {
                send_request(i);
                sent++;
            }
        }
    }
    for (int i = 0; i < open_connections; i++)
        must(shutdown(connections[i].client, SHUT_WR) == 0, "shutdown");
    generator_seconds += clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    close(poll);
    free(events);
    return NULL;
}

/* The server's side of a connection. */
static void serves(void *closure, struct scheduler *s)
{
    int fd = connections[(intptr_t)closure].server;
    char buffer[SIZE];
    ssize_t got;
    while (is_io && (got = sched_read(fd, buffer, SIZE, s)) > 0)
        must(sched_write(fd, buffer, (size_t)got, s) == got, "write to the client");
    while (!is_io) {
        must(sched_block_begin(s) == 0, "sched_block_begin");
        got = read(fd, buffer, SIZE);
        must(sched_block_end(s) == 0, "sched_block_end");
        if (got <= 0)
            break;
        must(write(fd, buffer, (size_t)got) == got, "write to the client");
    }
    atomic_fetch_sub(&left, 1);
}

static void computes(void *closure, struct scheduler *s)
{
    double end = bench_now() + computes_for, before = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    while (bench_now() < end)
        for (volatile int i = 0; i < 1000; i++)
            continue;
    computed_ns += (long long)(1e9 * (clock_seconds(CLOCK_THREAD_CPUTIME_ID) - before));
    if (left > 0)
        bench_spawn(computes, closure, s);
}

static void server(void *closure, struct scheduler *s)
{
    (void)closure;
    must(sem_post(&begins) == 0, "sem_post");
    for (int i = 0; is_beside && i < COMPUTING; i++)
        bench_spawn(computes, NULL, s);
    for (intptr_t i = 0; i < open_connections; i++) /* where the youngest task is next, these go first */
        bench_spawn(serves, (void *)i, s);
}

/* One thread that waits for all connections. */
static void serial_server(void *closure)
{
    struct epoll_event *events = bench_alloc((size_t)open_connections, sizeof *events);
    int poll = epoll_create1(EPOLL_CLOEXEC);
    (void)closure;
    must(poll >= 0, "epoll_create1");
    must(sem_post(&begins) == 0, "sem_post");
    for (int i = 0; i < open_connections; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = connections[i].server};
        must(epoll_ctl(poll, EPOLL_CTL_ADD, event.data.fd, &event) == 0, "epoll_ctl");
    }
    while (left > 0) {
        int ready = epoll_wait(poll, events, open_connections, PATIENCE_MS);
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
    free(events);
}

static const struct bench_about about = {
    "echo", "answers of an echo server", 100000, 1, 100000000,
    "alone (default), io, io-CONNECTIONS; with tasks that compute: beside, io-beside",
};

static void choose(const struct bench *b, const char *data)
{
    const char *rest = data;
    if (strncmp(data, "io", 2) == 0 && (data[2] == '\0' || data[2] == '-')) {
        is_io = 1;
        rest = data[2] == '\0' ? "alone" : data + 3;
    }
    if (strcmp(rest, "beside") == 0)
        is_beside = 1;
    else if (is_io && *rest >= '0' && *rest <= '9')
        open_connections = (int)bench_number(&about, 'd', rest, 1, MOST_CONNECTIONS);
    else if (strcmp(rest, "alone") != 0)
        bench_refuse(b, data, "alone, beside, io, io-beside or io-CONNECTIONS is wanted");
}

/* The fields of a run that took `seconds` of processor time. */
static void fields(struct bench *b, double seconds)
{
    long least = n;
    double computed = 1e-9 * (double)computed_ns;
    int processors = sched_default_threads() < bench_threads(b) ? sched_default_threads() : bench_threads(b);
    for (int i = 0; i < open_connections; i++)
        if (connections[i].answers < least)
            least = connections[i].answers;
    bench_sort(waits, n);
    bench_field(b, "answers_per_second", (double)n / b->wall);
    bench_field(b, "least", (double)least * open_connections / (double)n);
    bench_field(b, "longest_ms", 1e3 * waits[n - 1]);
    bench_field(b, "p50_us", 1e6 * bench_quantile(waits, n, 0.5));
    bench_field(b, "p99_us", 1e6 * bench_quantile(waits, n, 0.99));
    bench_field(b, "cpu_us", 1e6 * (seconds - generator_seconds - computed) / (double)n);
    if (is_beside)
        bench_field(b, "computed", computed / b->wall / processors);
}

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    choose(&b, b.data != NULL ? b.data : "alone");
    n = b.n;
    if (strcmp(bench_kind(&b), "serial") == 0)
        open_connections = 1; /* its one thread waits for this one alone */
    permit_descriptors();
    connections = bench_alloc((size_t)open_connections, sizeof *connections);
    waits = bench_alloc((size_t)n, sizeof *waits);
    must(sem_init(&begins, 0, 0) == 0, "sem_init");

    for (int r = 0; r < b.repetitions; r++) {
        connect_all();
        answered = 0;
        computed_ns = 0;
        pthread_t generator;
        bench_check(pthread_create(&generator, NULL, generates, NULL), "pthread_create");

        bench_run(&b, server, serial_server, NULL);

        bench_check(pthread_join(generator, NULL), "pthread_join");
        fields(&b, bench_seconds(b.usage.ru_utime) + bench_seconds(b.usage.ru_stime));
        for (int i = 0; i < open_connections; i++) {
            close(connections[i].client);
            sched_close(connections[i].server);
        }
        bench_line(&b, open_connections + 1, bench_mix((uint64_t)answered), answered == n && wrong == 0);
    }
    sem_destroy(&begins);
    free(waits);
    free(connections);
    return bench_end(&b);
}
