/* soak_world.h: rounds of tasks that wait for times, channels and sockets. As in soak_cheap.h, a
 * round returns how many tasks it has checked. */
#ifndef SOAK_WORLD_H
#define SOAK_WORLD_H

#include "soak_cheap.h"
#include <arpa/inet.h>
#include <sched_io.h>
#include <sys/socket.h>

/* The tasks of a round are as many as its size says, within these limits. */
enum { WORLD_LEAST = 2, WORLD_MOST = 64 };

static uint64_t world_seed;
static sched_group world_group;

static void world_tally(uint64_t number)
{
    tally_shared_add((struct tally_part){1, number, number * number}, 0);
}

static uint64_t world_random(uint64_t number)
{
    uint64_t random = world_seed + number;
    return next_random(&random);
}

static void begin_world(uint64_t n, uint64_t *random)
{
    cheap_size = n < WORLD_LEAST ? WORLD_LEAST : n > WORLD_MOST ? WORLD_MOST : n;
    world_seed = next_random(random);
    CHECK_EQ(sched_group_init(&world_group), 0);
}

static void world_spawn(taskfunc f, uint64_t number, struct scheduler *s)
{
    CHECK_EQ(sched_group_spawn(&world_group, f, as_closure(number), s), 0);
}

/* --- time -------------------------------------------------------------------------- */

static struct world_timer {
    sched_timer timer;
    _Atomic int ran;
    int cancelled;
} world_timers[WORLD_MOST];

static void timer_task(void *closure, struct scheduler *s)
{
    struct world_timer *it = closure;
    CHECK_EQ(atomic_fetch_add(&it->ran, 1), 0);
}

/* A task whose group is cancelled while it sleeps. */
static void sleeps_long(void *closure, struct scheduler *s)
{
    CHECK_ERRNO(sched_sleep(3600 * SCHED_SECOND, s), ECANCELED);
    world_tally(as_number(closure));
}

/* Tasks that time out, timers of which some are cancelled, and sleeps that a cancellation ends. */
static void time_task(void *closure, struct scheduler *s)
{
    uint64_t i = as_number(closure), random = world_random(i);
    struct world_timer *it = &world_timers[i - 1];
    it->ran = 0;
    CHECK_EQ(sched_timer_init(&it->timer), 0);
    sched_time begun = sched_now(), until = begun + (sched_time)(random % 300) * SCHED_MICROSECOND;
    CHECK_EQ(sched_timer_start(&it->timer, until, timer_task, it, s), 0);
    if (random % 3 == 0) {
        sched_sem never;
        CHECK_EQ(sched_sem_init(&never, 0), 0);
        CHECK_ERRNO(sched_sem_wait_until(&never, until, s), ETIMEDOUT);
    } else if (random % 3 == 1)
        CHECK_EQ(sched_sleep_until(until, s), 0);
    if (random % 3 != 2)
        CHECK(sched_now() >= until);
    it->cancelled = sched_timer_cancel(&it->timer) == 0;
    world_tally(i);
}

/* A task that helps at a join may lie below one that sleeps, so the root cancels nothing. */
static void cancel_task(void *closure, struct scheduler *s)
{
    /* A task of a cancelled group that has not begun does not begin. */
    while (atomic_load(&tally_shared.count) < cheap_size)
        sched_task_yield(s);
    sched_group_cancel(closure);
}

static void time_root(void *closure, struct scheduler *s)
{
    sched_group sleepers = SCHED_GROUP_INIT;
    for (uint64_t i = cheap_size + 1; i <= 2 * cheap_size; i++)
        if (sched_group_spawn(&sleepers, sleeps_long, as_closure(i), s) != 0)
            world_tally(i);
    for (uint64_t i = 1; i <= cheap_size; i++)
        if (sched_group_spawn(&world_group, time_task, as_closure(i), s) != 0)
            time_task(as_closure(i), s);
    if (sched_group_spawn(&world_group, cancel_task, &sleepers, s) != 0)
        cancel_task(&sleepers, s);
    CHECK_EQ(sched_group_wait(&world_group, s), 0);
    CHECK_ERRNO(sched_group_wait(&sleepers, s), ECANCELED);
}

/* Returns the number of timers' tasks. */
static uint64_t time_round(uint64_t n, uint64_t *random)
{
    uint64_t ran = 0;
    begin_world(n, random);
    one_run(time_root, random);
    for (uint64_t i = 0; i < cheap_size; i++) {
        CHECK_EQ(world_timers[i].ran, !world_timers[i].cancelled);
        ran += (uint64_t)world_timers[i].ran;
    }
    CHECK(atomic_load(&tally_shared.count) >= cheap_size);
    atomic_store(&tally_shared.count, 0);
    atomic_store(&tally_shared.sum, 0);
    atomic_store(&tally_shared.squares, 0);
    return cheap_size + ran;
}

/* --- a channel --------------------------------------------------------------------- */

static sched_channel *world_channel;
static _Atomic uint64_t senders_left;
enum { ELEMENTS = 50 };

static void send_task(void *closure, struct scheduler *s)
{
    uint64_t me = as_number(closure);
    for (uint64_t i = 1; i <= ELEMENTS; i++) {
        uint64_t element = (me - 1) * ELEMENTS + i;
        sched_time deadline = sched_now() + (sched_time)(element % 50) * SCHED_MICROSECOND;
        if (element % 8 != 0 || sched_channel_send_until(world_channel, &element, deadline, s) != 0)
            CHECK_EQ(sched_channel_send(world_channel, &element, s), 0);
    }
    if (atomic_fetch_sub(&senders_left, 1) == 1)
        sched_channel_close(world_channel);
}

static void receive_task(void *closure, struct scheduler *s)
{
    uint64_t element;
    while (sched_channel_receive(world_channel, &element, s) == 0)
        world_tally(element);
    CHECK_EQ(get_errno(), EPIPE);
}

static void channel_root(void *closure, struct scheduler *s)
{
    for (uint64_t i = 1; i <= cheap_size; i++) {
        world_spawn(send_task, i, s);
        if (i % 2 != 0)
            world_spawn(receive_task, i, s);
    }
    CHECK_EQ(sched_group_wait(&world_group, s), 0);
}

static uint64_t channel_round(uint64_t n, uint64_t *random)
{
    if (may_refuse()) /* its tasks need each other */
        return 0;
    begin_world(n, random);
    senders_left = cheap_size;
    world_channel = sched_channel_create(next_random(random) % 8 * (next_random(random) % 9), sizeof(uint64_t));
    CHECK(world_channel != NULL);
    one_run(channel_root, random);
    sched_channel_destroy(world_channel);
    tally_check("channel", cheap_size * ELEMENTS);
    return cheap_size * 3 / 2;
}

/* --- sockets ----------------------------------------------------------------------- */

static struct sockaddr_in world_address;
static int world_listener;
static _Atomic uint64_t served, sent;

/* Echoes until the client closes or resets the connection. */
static void serve_task(void *closure, struct scheduler *s)
{
    int fd = (int)as_number(closure);
    unsigned char bytes[64];
    ssize_t n;
    while ((n = sched_read(fd, bytes, sizeof bytes, s)) > 0) {
        atomic_fetch_add(&served, (uint64_t)n);
        CHECK_EQ(sched_write_all(fd, bytes, (size_t)n, s), n);
    }
    CHECK(n == 0 || get_errno() == ECONNRESET);
    CHECK_EQ(sched_close(fd), 0);
}

static void accept_task(void *closure, struct scheduler *s)
{
    for (uint64_t left = cheap_size; left > 0; left--) {
        int fd = sched_accept(world_listener, NULL, NULL, s);
        CHECK(fd >= 0);
        world_spawn(serve_task, (uint64_t)fd, s);
    }
}

/* Each byte that it sends comes back. It may wait for one more until a deadline; then it closes, or resets. */
static void connect_task(void *closure, struct scheduler *s)
{
    uint64_t i = as_number(closure), random = world_random(i);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK_EQ(sched_connect(fd, (struct sockaddr *)&world_address, sizeof world_address, s), 0);
    for (uint64_t turns = next_random(&random) % 8; turns > 0; turns--) {
        unsigned char out[100], in[sizeof out];
        size_t length = 1 + next_random(&random) % sizeof out, got = 0;
        memset(out, (int)(next_random(&random) % 256), length);
        CHECK_EQ(sched_write_all(fd, out, length, s), (ssize_t)length);
        atomic_fetch_add(&sent, length);
        while (got < length) {
            ssize_t n = sched_read(fd, in + got, length - got, s);
            CHECK(n > 0);
            got += (size_t)n;
        }
        CHECK(memcmp(in, out, length) == 0);
    }
    unsigned char none;
    sched_time deadline = sched_now() + (sched_time)(next_random(&random) % 300) * SCHED_MICROSECOND;
    if (next_random(&random) % 2)
        CHECK_ERRNO(sched_read_until(fd, &none, 1, deadline, s), ETIMEDOUT);
    struct linger resets = {.l_onoff = 1, .l_linger = 0};
    if (next_random(&random) % 2)
        CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_LINGER, &resets, sizeof resets), 0);
    CHECK_EQ(sched_close(fd), 0);
    world_tally(i);
}

static void socket_root(void *closure, struct scheduler *s)
{
    world_spawn(accept_task, 0, s);
    for (uint64_t i = 1; i <= cheap_size; i++)
        world_spawn(connect_task, i, s);
    CHECK_EQ(sched_group_wait(&world_group, s), 0);
}

/* In kind serial a task that waits for a socket keeps the only thread. */
static uint64_t socket_round(uint64_t n, uint64_t *random)
{
    const char *kind = getenv("SCHED_KIND");
    if (may_refuse() || (kind && strcmp(kind, "serial") == 0))
        return 0;
    begin_world(n, random);
    /* An address of its own, since connections that were closed keep their ports for a minute. */
    socklen_t length = sizeof world_address;
    world_address = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)(next_random(random) % 0xffff00))};
    world_listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(world_listener >= 0);
    CHECK_EQ(bind(world_listener, (struct sockaddr *)&world_address, length), 0);
    CHECK_EQ(listen(world_listener, WORLD_MOST), 0);
    CHECK_EQ(getsockname(world_listener, (struct sockaddr *)&world_address, &length), 0);
    one_run(socket_root, random);
    CHECK_EQ(close(world_listener), 0);
    CHECK_EQ(atomic_exchange(&served, 0), atomic_exchange(&sent, 0));
    tally_check("socket", cheap_size);
    return 1 + 2 * cheap_size;
}

#endif
