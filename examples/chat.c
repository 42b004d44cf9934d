/* A chat: two tasks and a channel for each member, with deadlines: a slow or silent member does not hold up the others.
 * usage: chat [PORT]; then nc 127.0.0.1 PORT. Without a port three members of the program talk, and it ends. */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <sched_io.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 200, WAITING = 32, MEMBERS = 3 };       /* bytes of a line; lines that wait for a member */
static const sched_time SILENCE = 600 * SCHED_SECOND; /* for which a member may say nothing */
static const sched_time PATIENCE = 5 * SCHED_SECOND;  /* for a member who does not read */

struct line { int length; char text[LINE + 32]; };

struct member {
    struct member *next;
    int fd, number;
    struct sched_channel *lines; /* to this member */
};

static struct sockaddr_in address = {.sin_family = AF_INET};
static int listener;
static atomic_int numbers, failed;
static sched_group tasks = SCHED_GROUP_INIT;
static sched_mutex lock = SCHED_MUTEX_INIT; /* protects the list */
static struct member *members;
static sched_barrier all_here = SCHED_BARRIER_INIT(MEMBERS);

/* Sends a line to all members. One whose channel is full misses it: nobody waits here. */
static void say(struct line *line, int length, struct scheduler *s)
{
    line->length = length;
    sched_mutex_lock(&lock, s);
    for (struct member *m = members; m != NULL; m = m->next)
        sched_channel_send_until(m->lines, line, 0, s); /* a deadline that has passed */
    sched_mutex_unlock(&lock);
}

/* Writes to a member what the others say. */
static void talk(void *closure, struct scheduler *s)
{
    const struct member *me = closure;
    struct line line;
    while (sched_channel_receive_until(me->lines, &line, SCHED_FOREVER, s) == 0) /* can be cancelled; see sched_channel */
        if (sched_write_all_until(me->fd, line.text, (size_t)line.length, sched_now() + PATIENCE, s) < 0)
            break;
    shutdown(me->fd, SHUT_RDWR); /* ends the wait of listen_to */
}

/* Reads what a member says, line by line, until it leaves. */
static void listen_to(void *closure, struct scheduler *s)
{
    struct member me = {.fd = (int)(intptr_t)closure, .number = ++numbers}, **at;
    struct line line;
    sched_group writer = SCHED_GROUP_INIT;
    char text[LINE], *end;
    size_t have = 0, part;
    me.lines = sched_channel_create(WAITING, sizeof line);
    if (me.lines != NULL && sched_group_spawn(&writer, talk, &me, s) == 0) {
        sched_mutex_lock(&lock, s);
        me.next = members, members = &me;
        sched_mutex_unlock(&lock);
        say(&line, snprintf(line.text, sizeof line.text, "%d comes\n", me.number), s);
        for (ssize_t n; (n = sched_read_until(me.fd, text + have, LINE - have, sched_now() + SILENCE, s)) > 0;)
            for (have += (size_t)n; (end = memchr(text, '\n', have)) != NULL || have == LINE; have -= part) {
                part = end != NULL ? (size_t)(end + 1 - text) : LINE;
                say(&line, snprintf(line.text, sizeof line.text, "%d: %.*s%s", me.number, (int)part, text, end ? "" : "\n"), s);
                memmove(text, text + part, have - part);
            }
        sched_mutex_lock(&lock, s);
        for (at = &members; *at != &me; at = &(*at)->next) {}
        *at = me.next;
        sched_mutex_unlock(&lock);
        say(&line, snprintf(line.text, sizeof line.text, "%d goes\n", me.number), s);
        sched_channel_close(me.lines); /* talk ends when it has written all lines */
        sched_group_wait(&writer, s);
    }
    sched_channel_destroy(me.lines);
    sched_close(me.fd);
}

static void accept_all(void *closure, struct scheduler *s)
{
    (void)closure;
    while (!sched_group_cancelled(&tasks)) {
        int fd = sched_accept4(listener, NULL, NULL, SOCK_CLOEXEC, s);
        if (fd < 0)
            sched_sleep(10 * SCHED_MILLISECOND, s); /* this one has gone, or there is no descriptor for it */
        else if (sched_group_spawn(&tasks, listen_to, (void *)(intptr_t)fd, s) < 0)
            sched_close(fd);
    }
}

/* A member of the program: says something when all have come, and leaves when it has heard all. */
static void chat(void *closure, struct scheduler *s)
{
    char heard[1000] = "";
    size_t have = 0;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), hellos = 0;
    ssize_t n = sched_connect(fd, (struct sockaddr *)&address, sizeof address, s) == 0 ? sched_read(fd, heard, 1, s) : -1;
    if (n < 0)
        perror("chat");
    sched_barrier_wait(&all_here, s);
    sched_write_all(fd, "Hello\n", 6, s);
    while (n > 0 && hellos < MEMBERS) {
        have += (size_t)n;
        n = sched_read_until(fd, heard + have, sizeof heard - 1 - have, sched_now() + PATIENCE, s);
        hellos = 0;
        for (const char *at = heard; (at = strstr(at, "Hello\n")) != NULL; at++)
            hellos++;
    }
    sched_close(fd);
    if (closure == NULL)
        printf("%s", heard);
    failed |= hellos < MEMBERS;
}

static void start(void *port, struct scheduler *s)
{
    sched_group own = SCHED_GROUP_INIT;
    if (sched_group_spawn(&tasks, accept_all, NULL, s) == 0 && port == NULL) {
        for (intptr_t i = 0; i < MEMBERS; i++)
            if (sched_group_spawn(&own, chat, (void *)i, s) < 0)
                perror("sched_group_spawn"), exit(1);
        sched_group_wait(&own, s);
        sched_group_cancel(&tasks); /* ends the waits of all its tasks */
    }
    sched_group_wait(&tasks, s);
}

int main(int argc, char **argv)
{
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((uint16_t)(argc > 1 ? atoi(argv[1]) : 0)); /* 0: any that is free */
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, 1000) < 0
        || getsockname(listener, (struct sockaddr *)&address, &length) < 0) {
        perror("listen");
        return 1;
    }
    printf("port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    return sched_init(0, 0, start, argc > 1 ? argv[1] : NULL) < 0 || failed;
}
