/* sload: loads a server with requests on many connections, and prints how many it answers, and how soon.
 *
 * What it teaches: sched_io.h. Each connection is a task that writes a request and reads the answer as a thread would. Ten
 * thousand such tasks can wait at the same time, and none of them occupies a thread. Each request has a deadline. One more
 * task waits for a signal (signalfd) until the end of the run, and then cancels the group of the connections, which ends
 * their waits. An answer is counted in the record of the worker that runs the task; a task may
 * have changed its worker when it has waited, so it asks for the worker after that.
 *
 * With --rate, a request has a time at which it ought to be sent, and its latency counts from then: a server that stalls
 * for a second delays all requests of this second, whether the connection was free to send them or not. */

#define _GNU_SOURCE
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>

#include "answer.h"
#include "latency.h"

struct tally { /* of a worker */
    _Alignas(64) struct latencies latencies;
    atomic_llong results[RESULTS], sent, received;
};

struct connection {
    int fd;
    atomic_llong answered;
};

static struct addrinfo *servers, *server;
static bool http;
static char *request;
static size_t request_size = 64, connection_count = 50;
static double rate;
static sched_time duration = 10 * SCHED_SECOND, timeout = 5 * SCHED_SECOND, began;
static _Atomic sched_time end; /* of the run: an answer that comes later does not count */
static atomic_llong left = LLONG_MAX; /* requests to send */
static int signals;
static struct tally *tallies, sum;
static struct connection *connections;
static sched_group group = SCHED_GROUP_INIT;
static sched_sem connecting = SCHED_SEM_INIT(100); /* at a time: the queue of a server that listens is short */

/* --- a request ---------------------------------------------------------------------------------------------------- */

/* The answer of an echo server is the request. */
static enum result read_echo(struct stream *in, struct scheduler *s)
{
    for (size_t at = 0; at < request_size; at += in->to) {
        enum result result = fill(in, s);
        if (result != ANSWERED)
            return result;
        if (in->to > request_size - at || memcmp(in->bytes, request + at, in->to) != 0)
            return WRONG;
    }
    in->from = in->to;
    return ANSWERED;
}

static void write_request(void *closure, struct scheduler *s)
{
    const struct stream *in = closure;
    if (sched_write_all_until(in->fd, request, request_size, in->deadline, s) < 0)
        shutdown(in->fd, SHUT_RDWR); /* the reader sees the end */
}

static enum result ask(struct stream *in, struct scheduler *s)
{
    in->deadline = sched_now() + timeout;
    if (http || request_size <= BUFFER) {
        ssize_t n = sched_write_all_until(in->fd, request, request_size, in->deadline, s);
        return n < 0 ? failure() : http ? read_answer(in, s) : read_echo(in, s);
    }
    /* A server that returns a long message before it has all of it waits for the reader. */
    sched_task writer;
    sched_fork(&writer, write_request, in, s);
    enum result result = read_echo(in, s);
    if (result != ANSWERED)
        shutdown(in->fd, SHUT_RDWR);
    sched_join(&writer, s);
    return result;
}

/* --- connections -------------------------------------------------------------------------------------------------- */

/* Not inlined: the worker is another one after each wait. */
static __attribute__((noinline)) void count(struct connection *c, enum result result, sched_time took, long long received,
                                            struct scheduler *s)
{
    int worker = sched_worker_index(s);
    struct tally *t = &tallies[worker < 0 ? 0 : worker];
    atomic_fetch_add_explicit(&t->results[result], 1, memory_order_relaxed);
    if (result > BAD_STATUS)
        return;
    atomic_fetch_add_explicit(&t->received, received, memory_order_relaxed);
    atomic_fetch_add_explicit(&t->sent, (long long)request_size, memory_order_relaxed);
    latency_add(&t->latencies, took);
    c->answered++;
}

/* A connection; or an error of connect, negative. */
static int connected(const struct addrinfo *to, struct scheduler *s)
{
    if (sched_sem_wait_until(&connecting, SCHED_FOREVER, s) != 0)
        return -ECANCELED;
    int on = 1, error = 0, fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || sched_connect_until(fd, to->ai_addr, to->ai_addrlen, sched_now() + timeout, s) != 0)
        error = last_error();
    sched_sem_post(&connecting);
    if (error == 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    else if (fd >= 0)
        sched_close(fd);
    return error == 0 ? fd : -error;
}

/* The requests of a connection, until one fails, no request is left or the group is cancelled. */
static void use(struct connection *c, int fd, sched_time *next, struct scheduler *s)
{
    const sched_time interval = rate > 0 ? (sched_time)((double)connection_count / rate * SCHED_SECOND) : 0;
    struct stream in;
    in.fd = fd, in.from = in.to = 0, in.ends = false;
    while (!in.ends && atomic_fetch_sub(&left, 1) > 0) {
        sched_time from = interval > 0 ? *next : sched_now();
        if (interval > 0 && sched_sleep_until(from, s) != 0)
            return; /* cancelled */
        *next += interval;
        in.received = 0;
        enum result result = ask(&in, s);
        sched_time now = sched_now();
        if (now > end)
            result = CANCELLED;
        count(c, result, now - from, in.received, s);
        if (result > BAD_STATUS)
            return;
    }
}

static void prepare(void *closure, struct scheduler *s)
{
    struct connection *c = closure;
    c->fd = connected(server, s);
}

static void load(void *closure, struct scheduler *s)
{
    struct connection *c = closure;
    sched_time next = began + (rate > 0 ? (sched_time)((double)(c - connections) / rate * SCHED_SECOND) : 0);
    do {
        int fd = c->fd >= 0 ? c->fd : connected(server, s);
        c->fd = -1;
        if (fd >= 0) {
            use(c, fd, &next, s);
            sched_close(fd);
        } else if (fd != -ECANCELED) {
            count(c, NOT_CONNECTED, 0, 0, s);
            sched_sleep(10 * SCHED_MILLISECOND, s);
        }
    } while (left > 0 && sched_now() < end && !sched_group_cancelled(&group));
}

/* Ends the run: at its time, or at a signal. */
static void stop(void *closure, struct scheduler *s)
{
    (void)closure;
    sched_poll(signals, POLLIN, end, s);
    sched_time now = sched_now();
    if (now < end)
        end = now;
    sched_group_cancel(&group);
}

static void for_each_connection(taskfunc f, struct scheduler *s)
{
    for (size_t i = 0; i < connection_count; i++)
        if (sched_group_spawn(&group, f, &connections[i], s) != 0)
            no_memory();
    sched_group_wait(&group, s);
}

static void root(void *closure, struct scheduler *s)
{
    sched_group stopper = SCHED_GROUP_INIT;
    int fd = -EHOSTUNREACH;
    for (server = servers; server != NULL && (fd = connected(server, s)) < 0 && server->ai_next != NULL;)
        server = server->ai_next;
    if (fd < 0) {
        complain(-fd, "%s", (const char *)closure);
        return;
    }
    sched_close(fd);
    int workers = sched_worker_count(s);
    tallies = aligned_alloc(64, (size_t)workers * sizeof *tallies);
    if (tallies == NULL)
        no_memory();
    memset(tallies, 0, (size_t)workers * sizeof *tallies);
    for_each_connection(prepare, s); /* the time begins when all are there */
    began = sched_now();
    end = began + duration;
    if (sched_group_spawn(&stopper, stop, NULL, s) != 0)
        no_memory();
    for_each_connection(load, s);
    sched_group_cancel(&stopper); /* it may wait still: all requests are answered */
    sched_group_wait(&stopper, s);
    for (int i = 0; i < workers; i++) {
        latency_merge(&sum.latencies, &tallies[i].latencies);
        for (int result = 0; result < RESULTS; result++)
            sum.results[result] += tallies[i].results[result];
        sum.sent += tallies[i].sent;
        sum.received += tallies[i].received;
    }
}

/* --- the program -------------------------------------------------------------------------------------------------- */

static int report(void)
{
    double seconds = (double)(end - began) / SCHED_SECOND;
    long long answered = sum.results[ANSWERED] + sum.results[BAD_STATUS], failed = 0, least = LLONG_MAX, most = 0;
    for (int result = BAD_STATUS; result < CANCELLED; result++)
        failed += sum.results[result];
    for (size_t i = 0; i < connection_count; i++) {
        least = connections[i].answered < least ? connections[i].answered : least;
        most = connections[i].answered > most ? connections[i].answered : most;
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double processor = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec)
                       + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    printf("answered     %lld in %.3f s: %.1f a second\n", answered, seconds, (double)answered / seconds);
    printf("failed       %lld: %lld statuses from 400, %lld timeouts, %lld closed or reset, %lld wrong answers, %lld connects\n",
           failed, sum.results[BAD_STATUS], sum.results[TIMED_OUT], sum.results[BROKEN], sum.results[WRONG],
           sum.results[NOT_CONNECTED]);
    printf("unfinished   %lld\n", sum.results[CANCELLED]);
    printf("bytes        %lld sent, %lld received: %.3f MiB a second\n", sum.sent, sum.received,
           (double)(sum.sent + sum.received) / seconds / (1 << 20));
    const double parts[] = {0.5, 0.9, 0.99, 0.999};
    printf("latency, ms ");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        printf(" p%g %.3f ", 100 * parts[i], (double)latency_percentile(&sum.latencies, parts[i]) / 1e6);
    printf(" max %.3f\n", (double)sum.latencies.greatest / 1e6);
    printf("connections  %zu: least %lld, mean %.1f, most %lld answers\n", connection_count, least,
           (double)answered / (double)connection_count, most);
    printf("processor    %.3f s for sload\n", processor);
    return failed > 0 || answered == 0 ? STATUS_NO : STATUS_OK;
}

/* A time in seconds, from 0.001 to a year. Anything else ends the program. */
static sched_time seconds_of(const char *text, const char *option)
{
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds >= 0.001 && seconds <= 31536000))
        fatal(0, "%s %s: a time in seconds is expected, from 0.001 to a year", option, text);
    return (sched_time)(seconds * SCHED_SECOND);
}

/* Finds the addresses of http://HOST[:PORT][/PATH] or HOST:PORT, and makes the request. */
static void find_server(const char *target, const char *fields)
{
    const char *from = target, *port, *path;
    char *host = copy_of(target), *name = host;
    http = strncmp(from, "http://", 7) == 0;
    from += http ? 7 : 0;
    size_t length = strcspn(from, "/");
    path = from[length] != '\0' ? from + length : "/";
    memcpy(host, from, length);
    host[length] = '\0';
    char *colon = strrchr(host, ':'), *bracket = strchr(host, ']');
    port = colon != NULL && colon > bracket ? colon + 1 : http ? "80" : "";
    request = allocate(request_size + strlen(path) + strlen(host) + strlen(fields) + 100, 1);
    if (http)
        request_size = (size_t)sprintf(request, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: sload\r\n%s\r\n", path, host, fields);
    for (size_t i = 0; !http && i < request_size; i++)
        request[i] = i + 1 < request_size ? (char)('a' + i % 26) : '\n';
    if (colon != NULL && colon > bracket)
        *colon = '\0';
    if (bracket != NULL && *name == '[')
        name++, *bracket = '\0';
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    int error = *port == '\0' ? EAI_NONAME : getaddrinfo(name, port, &hints, &servers);
    if (error != 0)
        fatal(0, "%s: %s; http://HOST[:PORT][/PATH] or HOST:PORT is expected", target, gai_strerror(error));
    free(host);
}

static const char usage[] =
    "usage: sload [OPTION...] http://HOST[:PORT][/PATH]\n"
    "       sload [OPTION...] HOST:PORT\n"
    "Sends requests on many connections, and prints how many the server answers, and\n"
    "how soon: GET by HTTP/1.1 or, without http://, messages that the server returns.\n"
    "\n"
    "  -c, --connections=N   so many connections (50)\n"
    "  -d, --duration=TIME   ends after so many seconds (10)\n"
    "  -n, --requests=N      ends after so many requests\n"
    "  -r, --rate=N          sends N requests a second, and counts latency from the time\n"
    "                        at which a request ought to be sent; otherwise each\n"
    "                        connection sends one when it has the last answer\n"
    "  -s, --size=N          bytes of a message (64)\n"
    "  -H, --header=LINE     adds a line to the head of the request\n"
    "  -t, --timeout=TIME    seconds for a connect or a request (5)\n"
    "  -j, --threads=N       the number of threads (the processors)\n"
    "      --help, --version\n";

int main(int argc, char **argv)
{
    enum { HELP = 256, VERSION };
    static const struct option options[] = {
        {"connections", 1, NULL, 'c'}, {"duration", 1, NULL, 'd'}, {"requests", 1, NULL, 'n'}, {"rate", 1, NULL, 'r'},
        {"size", 1, NULL, 's'},        {"header", 1, NULL, 'H'},   {"timeout", 1, NULL, 't'},  {"threads", 1, NULL, 'j'},
        {"help", 0, NULL, HELP},       {"version", 0, NULL, VERSION}, {NULL, 0, NULL, 0}};
    int threads = 0;
    char *fields = copy_of("");
    program_name = "sload";
    for (int option; (option = getopt_long(argc, argv, "c:d:n:r:s:H:t:j:", options, NULL)) != -1;)
        switch (option) {
        case 'c': connection_count = (size_t)number_of(optarg, "--connections", 1, 1000000); break;
        case 'd': duration = seconds_of(optarg, "--duration"); break;
        case 'n': left = number_of(optarg, "--requests", 1, LLONG_MAX); break;
        case 'r': rate = (double)number_of(optarg, "--rate", 1, 1000000000); break;
        case 's': request_size = (size_t)number_of(optarg, "--size", 1, 1 << 30); break;
        case 'H':
            fields = reallocate(fields, strlen(fields) + strlen(optarg) + 3, 1);
            strcat(strcat(fields, optarg), "\r\n");
            break;
        case 't': timeout = seconds_of(optarg, "--timeout"); break;
        case 'j': threads = (int)number_of(optarg, "--threads", 0, 4096); break;
        case HELP: return say(usage);
        case VERSION: return say_version();
        default: return STATUS_TROUBLE;
        }
    if (argc - optind != 1)
        fatal(0, "one server is expected; sload --help");
    find_server(argv[optind], fields);
    free(fields);
    connections = allocate(connection_count, sizeof *connections);
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) { /* each connection is a descriptor */
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signals = signalfd(-1, &set, SFD_CLOEXEC);
    if (signals < 0 || sched_init(threads, 0, root, argv[optind]) != 0)
        fatal(errno, "start");
    if (began == 0)
        return STATUS_TROUBLE; /* no connection */
    int status = report();
    return output_written() ? status : STATUS_TROUBLE;
}
