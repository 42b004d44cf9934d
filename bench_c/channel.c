/* channel.c: n numbers go through a channel, from SENDERS tasks to RECEIVERS tasks. -d CAPACITY or
 * CAPACITY-SENDERS-RECEIVERS; 64-1-1 is the default. ns_an_element is the time of one send and its receive together.
 *
 * For comparison, without a scheduler: -d pthread-CAPACITY-SENDERS-RECEIVERS, as many threads, and a mutex and two
 * conditions around a ring of as many places (1 at least). */

#include "bench.h"

#include <pthread.h>
#include <sched_tasks.h>
#include <stdatomic.h>

enum { MOST = 64 };

static long n, senders, receivers, capacity;
static int bare;
static struct sched_channel *channel;
static atomic_long senders_left;
static _Atomic uint64_t sum;

/* The ring of the threads. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t not_empty, not_full;
    long first, length, closed;
    uint64_t *place;
} ring = { .mutex = PTHREAD_MUTEX_INITIALIZER, .not_empty = PTHREAD_COND_INITIALIZER,
           .not_full = PTHREAD_COND_INITIALIZER };

static void put(uint64_t element, struct scheduler *s)
{
    if (!bare) {
        if (sched_channel_send(channel, &element, s) != 0)
            bench_die("sched_channel_send");
        return;
    }
    pthread_mutex_lock(&ring.mutex);
    while (ring.length == capacity)
        pthread_cond_wait(&ring.not_full, &ring.mutex);
    ring.place[(ring.first + ring.length++) % capacity] = element;
    pthread_mutex_unlock(&ring.mutex);
    pthread_cond_signal(&ring.not_empty);
}

static int get(uint64_t *element, struct scheduler *s)
{
    if (!bare)
        return sched_channel_receive(channel, element, s) == 0;
    pthread_mutex_lock(&ring.mutex);
    while (ring.length == 0 && !ring.closed)
        pthread_cond_wait(&ring.not_empty, &ring.mutex);
    int got = ring.length > 0;
    if (got) {
        *element = ring.place[ring.first];
        ring.first = (ring.first + 1) % capacity;
        ring.length--;
    }
    pthread_mutex_unlock(&ring.mutex);
    pthread_cond_signal(&ring.not_full);
    return got;
}

static void sends(void *closure, struct scheduler *s)
{
    long who = (long)(intptr_t)closure;
    for (long i = who; i < n; i += senders)
        put((uint64_t)i, s);
    if (atomic_fetch_sub(&senders_left, 1) > 1)
        return;
    if (!bare) {
        sched_channel_close(channel);
        return;
    }
    pthread_mutex_lock(&ring.mutex);
    ring.closed = 1;
    pthread_mutex_unlock(&ring.mutex);
    pthread_cond_broadcast(&ring.not_empty);
}

static void receives(void *closure, struct scheduler *s)
{
    (void)closure;
    uint64_t mine = 0, element;
    while (get(&element, s))
        mine += bench_mix(element);
    atomic_fetch_add(&sum, mine);
}

static void first_task(void *closure, struct scheduler *s)
{
    (void)closure;
    for (long i = 0; i < receivers; i++)
        bench_spawn(receives, NULL, s);
    for (long i = 0; i < senders; i++)
        bench_spawn(sends, (void *)(intptr_t)i, s);
}

static void *thread(void *closure)
{
    long who = (long)(intptr_t)closure;
    if (who < senders)
        sends(closure, NULL);
    else
        receives(NULL, NULL);
    return NULL;
}

static void threads(void *closure)
{
    (void)closure;
    pthread_t id[2 * MOST];
    for (long i = 0; i < senders + receivers; i++)
        if (pthread_create(&id[i], NULL, thread, (void *)(intptr_t)i) != 0)
            bench_die("pthread_create");
    for (long i = 0; i < senders + receivers; i++)
        pthread_join(id[i], NULL);
}

static const struct bench_about about = {
    "channel", "elements", 1L << 20, 1, 1L << 40,
    "CAPACITY-SENDERS-RECEIVERS (64-1-1), or pthread-CAPACITY-SENDERS-RECEIVERS",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    const char *data = b.data == NULL ? "64" : b.data;
    bare = strncmp(data, "pthread-", 8) == 0;
    int items = sscanf(bare ? data + 8 : data, "%ld-%ld-%ld", &capacity, &senders, &receivers);
    if (items == 1)
        senders = receivers = 1, items = 3;
    if (items != 3 || capacity < bare || senders < 1 || senders > MOST || receivers < 1 || receivers > MOST)
        bench_refuse(&b, data, "%s is wanted", about.data);
    b.serial = b.serial || bare;
    n = b.n;

    uint64_t wanted = 0;
    for (long i = 0; i < n; i++)
        wanted += bench_mix((uint64_t)i);
    for (int r = 0; r < b.repetitions; r++) {
        atomic_store(&sum, 0);
        atomic_store(&senders_left, senders);
        channel = sched_channel_create((size_t)capacity, sizeof(uint64_t));
        ring.place = calloc((size_t)capacity + 1, sizeof *ring.place);
        ring.first = ring.length = ring.closed = 0;
        if (channel == NULL || ring.place == NULL)
            bench_die("sched_channel_create");
        bench_run(&b, first_task, threads, NULL);
        sched_channel_destroy(channel);
        free(ring.place);
        bench_field(&b, "ns_an_element", 1e9 * b.wall / (double)n);
        bench_line(&b, senders + receivers + 1, atomic_load(&sum), atomic_load(&sum) == wanted);
    }
    return bench_end(&b);
}
