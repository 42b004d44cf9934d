/* Sleeping: tasks that ask again at growing intervals, and give up at a deadline. They occupy no thread meanwhile. */
#include <sched_tasks.h>
#include <stdatomic.h>
#include <stdio.h>

struct poller {
    const char *name;
    sched_time patience;
};

static struct poller pollers[] = {{"patient", SCHED_SECOND}, {"hasty", 5 * SCHED_MILLISECOND}};
static atomic_int ready;

static void device(void *closure, struct scheduler *s)
{
    (void)closure;
    sched_sleep(30 * SCHED_MILLISECOND, s);
    ready = 1;
}

static void ask(void *closure, struct scheduler *s)
{
    const struct poller *me = closure;
    sched_time deadline = sched_now() + me->patience, pause = SCHED_MILLISECOND;
    int times = 1;
    while (!ready && sched_now() < deadline) {
        sched_time next = sched_now() + pause;
        if (sched_sleep_until(next < deadline ? next : deadline, s) != 0)
            break; /* no memory */
        pause *= 2;
        times++;
    }
    printf("Hello from the %s one: %s, asked %d times\n", me->name, ready ? "ready" : "gave up", times);
}

static void start(void *closure, struct scheduler *s)
{
    if (sched_spawn(ask, &pollers[0], s) < 0 || sched_spawn(ask, &pollers[1], s) < 0)
        perror("sched_spawn");
    device(closure, s);
}

int main(void)
{
    return sched_init(1, 0, start, NULL) < 0; /* one worker suffices for all of them */
}
