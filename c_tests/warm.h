/* warm.h: a run in which every worker has a task at the same time, so that all threads exist; it records the thread of
 * each task. C and C++. */
#ifndef WARM_H
#define WARM_H

#include "proc.h"

enum { MOST_WORKERS = 64 };

struct party {
    int guests;                         /* the number of tasks, and of workers */
    void (*look)(struct party *, int i); /* called by each task when all have arrived; or NULL */
    int arrived, looked;
    int thread[MOST_WORKERS]; /* the kernel's thread numbers; the caller's is among them */
    int numbered;             /* the numbers that were given out */
};

static inline void party_guest(void *closure, struct scheduler *s)
{
    struct party *party = (struct party *)closure;
    unsigned turns = 0;
    int i = __atomic_fetch_add(&party->numbered, 1, __ATOMIC_SEQ_CST);
    CHECK(i < party->guests);
    party->thread[i] = thread_id();
    __atomic_fetch_add(&party->arrived, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&party->arrived, __ATOMIC_SEQ_CST) < party->guests)
        spin(&turns);
    if (party->look)
        party->look(party, i);
    __atomic_fetch_add(&party->looked, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&party->looked, __ATOMIC_SEQ_CST) < party->guests)
        spin(&turns);
}

static inline void party_host(void *closure, struct scheduler *s)
{
    struct party *party = (struct party *)closure;
    for (int i = 1; i < party->guests; i++)
        CHECK_EQ(sched_spawn(party_guest, party, s), 0);
    party_guest(party, s);
}

/* Makes a run on party->guests workers, all of which take part. */
static inline void give_party(struct party *party)
{
    party->arrived = party->looked = party->numbered = 0;
    CHECK_EQ(sched_init(party->guests, 0, party_host, party), 0);
    CHECK_EQ(party->looked, party->guests);
}

static inline int party_had(const struct party *party, int thread)
{
    int n = 0;
    for (int i = 0; i < party->guests; i++)
        n += party->thread[i] == thread;
    return n;
}

#endif
