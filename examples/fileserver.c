/* A static file server: GET and HEAD of HTTP/1.1 below a folder, a task a connection, with deadlines. fileserver FOLDER
 * [PORT] serves programs of this machine; without arguments it asks itself for /proc/self/exe, and ends. */
#define _GNU_SOURCE
#include <ctype.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched_io.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { REQUEST = 8000, PART = 16384 };
static const sched_time PATIENCE = 30 * SCHED_SECOND; /* for a request, and for each part of an answer */
static struct sockaddr_in address = {.sin_family = AF_INET};
static int folder, listener;
static sched_group tasks = SCHED_GROUP_INIT;

/* Opens the regular file that the path of a URL names. Returns -1 if there is none below the folder. */
static int open_below(const char *path, long long *length)
{
    char name[REQUEST + 16], *to = name;
    for (; *path != '\0' && *path != '?'; path++, to++) {
        *to = *path;
        if (*path == '%' && isxdigit((unsigned char)path[1]) && isxdigit((unsigned char)path[2])) {
            *to = (char)strtol((char[]){path[1], path[2], '\0'}, NULL, 16);
            path += 2;
        }
        if (*to == '\0')
            return -1;
    }
    strcpy(to, to > name && to[-1] == '/' ? "index.html" : "");
    for (const char *up = name; (up = strstr(up, "/..")) != NULL; up++)
        if (up[3] == '/' || up[3] == '\0')
            return -1;
    const char *below = name + strspn(name, "/"); /* openat would take a name with / for one from the root */
    int fd = *name == '/' ? openat(folder, below, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    struct stat st;
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        sched_close(fd);
        return -1;
    }
    *length = fd >= 0 ? (long long)st.st_size : 0;
    return fd;
}

/* Answers a request. Returns true if the connection stays open. */
static bool answer(int client, char *request, struct scheduler *s)
{
    char bytes[PART], *fields = NULL, *method = strtok_r(request, " ", &fields), *path = strtok_r(NULL, " ", &fields);
    const char *version = strtok_r(NULL, "\r\n", &fields), *status = "200 OK";
    bool valid = version != NULL && strncmp(version, "HTTP/1.", 7) == 0, get = valid && strcmp(method, "GET") == 0;
    bool known = get || (valid && strcmp(method, "HEAD") == 0);
    bool stays = known && strcmp(version, "HTTP/1.1") == 0 && strcasestr(fields, "\nconnection: close") == NULL
                 && strcasestr(fields, "\ncontent-length:") == NULL && strcasestr(fields, "\ntransfer-encoding:") == NULL;
    long long length = 0;
    int file = known ? open_below(path, &length) : -1;
    if (file < 0)
        status = known ? "404 Not Found" : valid ? "501 Not Implemented" : "400 Bad Request";
    int n = snprintf(bytes, PART, "HTTP/1.1 %s\r\nContent-Length: %lld\r\n%s\r\n", status, length,
                     stays ? "" : "Connection: close\r\n");
    int more = get && length > 0 ? MSG_MORE : 0; /* the head and the beginning of the file go in one packet */
    bool whole = sched_send_until(client, bytes, (size_t)n, more, sched_now() + PATIENCE, s) == n;
    while (whole && get && length > 0) {
        ssize_t got = sched_read(file, bytes, length < PART ? (size_t)length : PART, s); /* 0: the file has been cut */
        whole = got > 0 && sched_write_all_until(client, bytes, (size_t)got, sched_now() + PATIENCE, s) == got;
        length -= got;
    }
    if (file >= 0)
        sched_close(file);
    return whole && stays;
}

static void serve(void *closure, struct scheduler *s)
{
    int client = (int)(intptr_t)closure, on = 1;
    char request[REQUEST + 1] = "", *end;
    size_t have = 0;
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (bool open = true; open;) {
        sched_time deadline = sched_now() + PATIENCE; /* for the whole request, however slowly it comes */
        while (open && (end = strstr(request, "\r\n\r\n")) == NULL) {
            ssize_t n = have < REQUEST ? sched_read_until(client, request + have, REQUEST - have, deadline, s) : 0;
            open = n > 0;
            request[have += open ? (size_t)n : 0] = '\0';
        }
        if (open) {
            end[2] = '\0';
            open = answer(client, request, s);
            have -= (size_t)(end + 4 - request);
            memmove(request, end + 4, have + 1); /* a part of the next request, or all of it */
        }
    }
    sched_close(client);
}

static void accept_all(void *closure, struct scheduler *s)
{
    (void)closure;
    while (!sched_group_cancelled(&tasks)) {
        int client = sched_accept4(listener, NULL, NULL, SOCK_CLOEXEC, s);
        if (client < 0)
            sched_sleep(10 * SCHED_MILLISECOND, s); /* this client has gone, or there is no descriptor for it */
        else if (sched_group_spawn(&tasks, serve, (void *)(intptr_t)client, s) < 0)
            sched_close(client);
    }
}

static void ask(const char *path, struct scheduler *s)
{
    char text[1000];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), n = snprintf(text, sizeof text, "GET %s HTTP/1.0\r\n\r\n", path);
    if (sched_connect(fd, (struct sockaddr *)&address, sizeof address, s) < 0 || sched_write_all(fd, text, (size_t)n, s) < 0
        || sched_recv(fd, text, sizeof text - 1, MSG_WAITALL, s) < 0)
        perror("client");
    printf("%s: %.*s\n", path, (int)strcspn(text, "\r"), text);
    sched_close(fd);
}

static void start(void *is_client, struct scheduler *s)
{
    if (sched_group_spawn(&tasks, accept_all, NULL, s) == 0 && is_client != NULL) {
        ask("/exe", s);
        ask("/../self/exe", s);
        ask("/%2e%2e/self/exe", s);
        sched_group_cancel(&tasks); /* ends the waits of all its tasks */
    }
    sched_group_wait(&tasks, s);
}

int main(int argc, char **argv)
{
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((uint16_t)(argc > 2 ? atoi(argv[2]) : 0)); /* 0: any that is free */
    folder = open(argc > 1 ? argv[1] : "/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (folder < 0 || bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, 1000) < 0
        || getsockname(listener, (struct sockaddr *)&address, &length) < 0) {
        perror("fileserver");
        return 1;
    }
    printf("http://127.0.0.1:%d/\n", ntohs(address.sin_port));
    fflush(stdout);
    return sched_init(0, 0, start, argc < 2 ? &address : NULL) < 0;
}
