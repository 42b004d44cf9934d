/* order.h: what tasks write, in the order in which their parts of the work were begun, with bounded memory.
 *
 * One task begins the parts. A semaphore has as many units as there may be parts at a time; while none is left, that
 * task is suspended, and its worker goes on with other tasks. The output of a part is kept until it is its turn. It
 * is written by the task that ends the part, or by another one that is writing just then. A part that has much output
 * waits on a condition for its turn, and then writes as it goes on. All these waits are waits of tasks: no thread
 * sleeps in them. */

#ifndef ORDER_H
#define ORDER_H

#include <stdbool.h>

#include "blocking.h"

enum { PARTS = 64, KEPT = 128 * 1024 }; /* parts at a time; bytes that a part keeps */

struct part {
    char *bytes;
    size_t size, room;
    size_t number;
    bool done;
};

static struct {
    struct part ring[PARTS];
    size_t begun, head; /* numbers: of the next part, of the part whose turn it is */
    bool writing;       /* a task writes parts that are done */
    sched_sem free;
    sched_mutex lock;
    sched_cond turn;
} order = {.free = SCHED_SEM_INIT(PARTS), .lock = SCHED_MUTEX_INIT, .turn = SCHED_COND_INIT};

/* The next part, once there is room for it. */
static struct part *part_begin(struct scheduler *s)
{
    sched_sem_wait(&order.free, s);
    struct part *p = &order.ring[order.begun % PARTS];
    p->number = order.begun++;
    return p;
}

/* Room for so many more bytes of output, which the caller writes. */
static char *part_room(struct part *p, size_t size)
{
    if (p->room - p->size < size)
        p->bytes = reallocate(p->bytes, p->room = 2 * p->room + size + 256, 1);
    p->size += size;
    return p->bytes + p->size - size;
}

/* Writes what a part has. A pipe may block: another thread takes the worker's place. */
static void part_write(struct part *p, struct scheduler *s)
{
    int error = p->size > 0 ? write_all(STDOUT_FILENO, p->bytes, p->size, s) : 0;
    if (error != 0)
        output_broken(error);
    p->size = 0;
}

/* To be called now and then: if a part has much output, it is written, as soon as its turn has come. */
static void part_relieve(struct part *p, struct scheduler *s)
{
    if (p->size < KEPT)
        return;
    sched_mutex_lock(&order.lock, s);
    while (order.head != p->number)
        sched_cond_wait(&order.turn, &order.lock, s);
    sched_mutex_unlock(&order.lock);
    part_write(p, s);
}

/* A part is done: writes all whose turn has come, unless another task does. */
static void part_end(struct part *p, struct scheduler *s)
{
    sched_mutex_lock(&order.lock, s);
    p->done = true;
    while (!order.writing && order.ring[order.head % PARTS].done) {
        struct part *first = &order.ring[order.head % PARTS];
        order.writing = true;
        sched_mutex_unlock(&order.lock);
        part_write(first, s);
        if (first->room > KEPT) {
            free(first->bytes);
            first->bytes = NULL, first->room = 0;
        }
        sched_mutex_lock(&order.lock, s);
        order.writing = first->done = false;
        order.head++;
        sched_cond_broadcast(&order.turn);
        sched_sem_post(&order.free);
    }
    sched_mutex_unlock(&order.lock);
}

#endif
