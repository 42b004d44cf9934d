/* A pool: its threads wait for work, which the program submits whenever it has some. */
#include <sched_tasks.h>
#include <stdio.h>

enum { PARTS = 8 };

static void square(void *closure, struct scheduler *s)
{
    int *n = closure;
    (void)s;
    *n *= *n;
}

int main(void)
{
    struct sched_pool *pool = sched_pool_create(NULL); /* all defaults: a thread per processor */
    if (pool == NULL) {
        perror("sched_pool_create");
        return 1;
    }
    for (int round = 1; round <= 3; round++) {
        int n[PARTS], sum = 0;
        for (int i = 0; i < PARTS; i++) {
            n[i] = round + i;
            if (sched_pool_submit(pool, square, &n[i]) < 0)
                square(&n[i], NULL); /* no memory: do it here */
        }
        sched_pool_wait(pool);
        for (int i = 0; i < PARTS; i++)
            sum += n[i];
        printf("Hello from round %d: %d\n", round, sum);
    }
    return sched_pool_destroy(pool) < 0;
}
