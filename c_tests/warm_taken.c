/* Runs at the same time, of several threads or one inside another, never share a thread: each
 * takes resting ones that are free, and makes the others.
 * ctest: matrix idle=park deque=mutex,split threads=4
 * ctest: matrix kind=steal deque=split idle=spin threads=4 */
#include "warm.h"

enum { CALLERS = 3, RUNS = 50 };

static struct party parties[CALLERS];
static pthread_barrier_t barrier;

static void meet(struct party *party, int i)
{
    if (i == 0)
        pthread_barrier_wait(&barrier); /* one of each run, and nobody leaves before: all are full */
}

static void *caller(void *arg)
{
    struct party *party = arg;
    for (int run = 0; run < RUNS; run++) {
        give_party(party);
        pthread_barrier_wait(&barrier);
        if (party == parties)
            for (int a = 0; a < CALLERS; a++)
                for (int i = 0; i < parties[a].guests; i++)
                    for (int b = 0; b < CALLERS; b++)
                        CHECK_EQ(party_had(&parties[b], parties[a].thread[i]), a == b);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

/* In a task of the outer run, while all its workers are busy. */
static void inner(struct party *party, int i)
{
    if (i != 0)
        return;
    struct party nested = {.guests = party->guests};
    give_party(&nested);
    for (int k = 0; k < nested.guests; k++)
        CHECK_EQ(party_had(party, nested.thread[k]), nested.thread[k] == thread_id());
}

int main(void)
{
    pthread_t threads[CALLERS];
    CHECK_EQ(pthread_barrier_init(&barrier, NULL, CALLERS), 0);
    for (int i = 0; i < CALLERS; i++) {
        parties[i].guests = threads_of(4);
        parties[i].look = meet;
    }
    for (int i = 1; i < CALLERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, caller, &parties[i]), 0);
    caller(&parties[0]);
    for (int i = 1; i < CALLERS; i++)
        pthread_join(threads[i], NULL);

    struct party outer = {.guests = threads_of(4), .look = inner};
    for (int run = 0; run < RUNS; run++)
        give_party(&outer);
    CHECK(threads_become(1));
    return 0;
}
