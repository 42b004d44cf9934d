/* Timers: a table of connections. Each one is closed when it has been idle for too long. */
#include <sched_tasks.h>
#include <stdio.h>

enum { CONNECTIONS = 4 };

struct connection {
    sched_timer idle; /* it needs neither a task nor an allocation while it is pending */
    int number, requests;
};

static struct connection table[CONNECTIONS];

static void expire(void *closure, struct scheduler *s)
{
    struct connection *c = closure;
    (void)s;
    printf("Hello from connection %d: closed after %d requests\n", c->number, c->requests);
}

static int watch(struct connection *c, struct scheduler *s)
{
    return sched_timer_start(&c->idle, sched_now() + 30 * SCHED_MILLISECOND, expire, c, s);
}

/* Either this call or expire gets the connection, never both. Returns -1 if expire got it. */
static int request(struct connection *c, struct scheduler *s)
{
    if (sched_timer_cancel(&c->idle) != 0)
        return -1;
    c->requests++;
    return watch(c, s);
}

static void client(void *closure, struct scheduler *s)
{
    struct connection *c = closure;
    for (int i = 1; request(c, s) == 0; i++)
        sched_sleep(i * c->number * 3 * SCHED_MILLISECOND, s);
}

static void start(void *closure, struct scheduler *s)
{
    (void)closure;
    for (int i = 0; i < CONNECTIONS; i++) {
        table[i].number = i + 1; /* all else is 0: a timer that is not pending */
        if (watch(&table[i], s) < 0 || sched_spawn(client, &table[i], s) < 0)
            perror("start");
    }
}

int main(void)
{
    return sched_init(0, 0, start, NULL) < 0; /* returns when all tasks have ended and no timer is pending */
}
