/* Channels: a pipeline of three stages that run at the same time, and wait for each other when they must. */
#include <sched_tasks.h>
#include <stdio.h>

static struct sched_channel *numbers, *primes;

static void produce(void *closure, struct scheduler *s)
{
    (void)closure;
    for (int n = 2; n < 10000; n++)
        sched_channel_send(numbers, &n, s); /* waits while the channel is full */
    sched_channel_close(numbers);           /* what is in it can still be received */
}

static void filter(void *closure, struct scheduler *s)
{
    int n, divisor;
    (void)closure;
    while (sched_channel_receive(numbers, &n, s) == 0) {
        for (divisor = 2; n % divisor != 0; divisor++) {}
        if (divisor == n)
            sched_channel_send(primes, &n, s);
    }
}

static void collect(void *closure, struct scheduler *s)
{
    int n, count = 0, greatest = 0;
    (void)closure;
    for (; sched_channel_receive(primes, &n, s) == 0; count++)
        greatest = n > greatest ? n : greatest;
    printf("Hello from %d primes: the greatest is %d\n", count, greatest);
}

static void start(void *closure, struct scheduler *s)
{
    sched_group filters = SCHED_GROUP_INIT;
    int n = 0;
    while (n < 4 && sched_group_spawn(&filters, filter, closure, s) == 0)
        n++;
    if (n == 0 || sched_spawn(produce, closure, s) < 0 || sched_spawn(collect, closure, s) < 0) {
        perror("a stage is missing"); /* no other stage may wait for it */
        sched_channel_close(numbers), sched_channel_close(primes);
    }
    sched_group_wait(&filters, s); /* until numbers is closed and empty */
    sched_channel_close(primes);
}

int main(void)
{
    numbers = sched_channel_create(64, sizeof(int));
    primes = sched_channel_create(64, sizeof(int));
    if (numbers == NULL || primes == NULL || sched_init(0, 0, start, NULL) < 0)
        return 1;
    sched_channel_destroy(numbers);
    sched_channel_destroy(primes);
    return 0;
}
