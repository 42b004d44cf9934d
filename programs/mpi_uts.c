/* mpi_uts: counts the nodes of an unbalanced tree on several machines.
 *
 * pkg-config: ompi-c/mpich (libopenmpi-dev)
 *
 * The tree is that of the Unbalanced Tree Search (Olivier and others, 2006; bench_c/uts.h): a node is a SHA-1 digest,
 * which says how many children it has. Nobody knows the size of a subtree before walking through it, so work cannot be
 * divided in advance: whoever has none takes some from another. This program does that twice, within a rank by
 * libsched and between ranks by messages of MPI.
 *
 * A task walks through a part of the tree, depth first, with the nodes to be visited on a stack of its own. While the
 * rank has few tasks that nobody has begun, a task whose stack is large makes a new one of the older half: an offer.
 * The older nodes are nearer to the root, so what they stand for is more. An offer is a task of libsched, which a
 * worker of this rank takes, by stealing if it is not the one that made it. But an offer also stands in a list, from
 * which the rank's correspondent may take it for another rank; the task then finds it exported, and ends. Whoever
 * comes first has it: a lock decides.
 *
 * The idea it teaches: the correspondent is a task as well. It is the only one that calls MPI, it waits in a blocking
 * section (sched_block_begin), and another thread works in its worker's place meanwhile: the rank computes while it
 * communicates. The thread that runs it may be any, but there is one at a time: MPI_THREAD_SERIALIZED. An MPI that
 * waits for a message spins, at the expense of the workers: so the correspondent looks for messages, and naps in
 * between.
 *
 * The protocol. A rank is active while it has tasks, and else passive. Messages:
 *
 *   ASK    for work: from a rank where workers are idle to another, by chance. At most one is unanswered.
 *   WORK   the answer: nodes, or none. A rank that has one task keeps it.
 *   TOKEN  from rank to rank, downwards, and from 0 to the highest: to find out that all is done.
 *   STOP   from rank 0 to all: all is done.
 *
 * When is all done? When every rank is passive and no nodes are on the way. Nobody sees all ranks at one time, and to
 * ask them in turn is not enough: a rank that was asked already may get nodes from one that was not. This is Safra's
 * algorithm (Dijkstra's EWD 998). Rank i counts in c(i) the messages with nodes that it has sent, less those received;
 * if it receives one it becomes black. When it has the token and is passive, it adds c(i) to the token's sum q, makes
 * the token black if it is black itself, sends it to i - 1, and becomes white. Rank 0 begins a round with a white
 * token of q = 0, and ends it when the token is back and it is passive: if the token and rank 0 are white and q + c(0)
 * = 0, all is done; else it begins another round.
 *
 * Why this is right. B, the number of messages with nodes on the way, is the sum of all c(i). While the token is at
 * rank t, or on the way to it, at least one of these is true:
 *
 *   P1  the ranks i > t are passive, and q is the sum of their c(i);
 *   P2  q and the c(i) of i <= t add up to more than 0;
 *   P3  a rank i <= t is black;
 *   P4  the token is black.
 *
 * A round begins with P1, as there is no i > t, and a rank that passes the token on keeps P1 and P2. P1 ends if a rank
 * i > t receives nodes. Then B > 0 before, which with P1 is P2; and P2 does not depend on c(i) for i > t, so it stays
 * true. P2 ends if a rank i <= t receives nodes: it becomes black, P3. P3 ends if that rank passes the token on: then
 * the token is black, P4, until the end of the round. If rank 0 finds neither P4 nor P3 nor P2, P1 is true: all ranks
 * are passive, and B = q + c(0) = 0. And when all is done, the next round makes all ranks white, and the one after it
 * finds that.
 *
 * No message is left when MPI ends: a rank that has got STOP goes on answering until it has its own answer; then it
 * enters a barrier (MPI_Ibarrier), and answers until all have. So nobody who waits for an answer is left without one.
 * And no wait for an own message blocks: a rank asks again after the answer, and so after its question has arrived; it
 * answers the same rank again after that rank has asked again, having got the answer before; and it receives the token
 * again after all other ranks have had it. */

#include "ranks.h"
#include "../bench_c/uts.h"
#include <pthread.h>
#include <sched.h>
#include <stddef.h>

enum { ASK, WORK, TOKEN, STOP };                  /* tags */
enum { SPLIT_FROM = 16, OFFER_MOST = 1024 };      /* nodes on a stack that is divided; of an offer */
enum { WORDS = sizeof(struct uts_node) / sizeof(uint32_t) };

static struct { long long depth, binomial, threads, serial; } options = {.depth = 10};
static struct uts_tree tree;

/* --- inside a rank ------------------------------------------------------------------------------------------------ */

/* Nodes to be visited, and what is below them. */
struct offer {
    struct offer *older, *newer; /* in the list, while nobody has it */
    int exported;                /* another rank has it */
    long count;
    struct uts_node nodes[];
};

static struct { struct offer *oldest, *newest; } list;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER; /* for some instructions */
static atomic_long offered;                                   /* in the list */
static atomic_long tasks;                                     /* that have not ended: 0 is a passive rank */
static atomic_long visited;
static long enough; /* offers; a stack is not divided while there are as many */

static void explore(void *closure, struct scheduler *s);

/* With the lock. */
static void withdraw(struct offer *offer)
{
    *(offer->older != NULL ? &offer->older->newer : &list.oldest) = offer->newer;
    *(offer->newer != NULL ? &offer->newer->older : &list.newest) = offer->older;
    atomic_fetch_sub_explicit(&offered, 1, memory_order_relaxed);
}

static void make_offer(const struct uts_node *nodes, long count, struct scheduler *s)
{
    struct offer *offer = allocate(1, sizeof *offer + (size_t)count * sizeof *nodes);
    memcpy(offer->nodes, nodes, (size_t)count * sizeof *nodes);
    offer->count = count;
    /* The caller is another such task, or the correspondent: nobody finds the rank passive in between. */
    atomic_fetch_add_explicit(&tasks, 1, memory_order_relaxed);
    pthread_mutex_lock(&list_lock);
    offer->older = list.newest;
    *(list.newest != NULL ? &list.newest->newer : &list.oldest) = offer;
    list.newest = offer;
    atomic_fetch_add_explicit(&offered, 1, memory_order_relaxed);
    pthread_mutex_unlock(&list_lock);
    if (sched_spawn(explore, offer, s) != 0)
        stop("sched_spawn");
}

/* The task of an offer. */
static void explore(void *closure, struct scheduler *s)
{
    struct offer *offer = closure;
    pthread_mutex_lock(&list_lock);
    int exported = offer->exported;
    if (!exported)
        withdraw(offer);
    pthread_mutex_unlock(&list_lock);

    long count = exported ? 0 : offer->count, room = count + 2 * UTS_MOST, sum = 0;
    struct uts_node *stack = exported ? NULL : allocate((size_t)room, sizeof *stack);
    if (!exported)
        memcpy(stack, offer->nodes, (size_t)count * sizeof *stack);
    free(offer);
    while (count > 0) {
        if (count >= SPLIT_FROM && atomic_load_explicit(&offered, memory_order_relaxed) < enough) {
            long half = count / 2 < OFFER_MOST ? count / 2 : OFFER_MOST;
            make_offer(stack, half, s);
            count -= half;
            memmove(stack, stack + half, (size_t)count * sizeof *stack);
        }
        struct uts_node node = stack[--count];
        int children = uts_children(&tree, &node);
        if (count + children > room) {
            room = 2 * (count + children);
            stack = reallocate(stack, (size_t)room, sizeof *stack);
        }
        for (int i = 0; i < children; i++)
            stack[count++] = uts_child(&node, i);
        sum++;
    }
    free(stack);
    atomic_fetch_add_explicit(&visited, sum, memory_order_relaxed);
    atomic_fetch_sub_explicit(&tasks, 1, memory_order_release); /* with the acquire of passive(): it sees `visited` */
}

static int passive(void)
{
    return atomic_load_explicit(&tasks, memory_order_acquire) == 0;
}

/* --- between ranks ------------------------------------------------------------------------------------------------ */

/* A message on its way out. Before the next one to the same rank it has arrived: see above. */
struct message {
    MPI_Request request;
    struct uts_node *nodes;
};

static struct {
    struct message ask, token, *answers, *stops; /* to each rank */
    long long c;                                 /* messages with nodes that were sent, less those received */
    int black, has_token, asked, stopped;
    long long sum[2];                            /* the token: q, and whether it is black */
    long long moved, refused;                    /* answers with nodes, and without */
    uint64_t random;
} me;

/* The oldest offer, for another rank, if this one has a task beside it: copies its nodes, and returns how many. */
static long export_offer(struct message *message)
{
    long count = 0;
    pthread_mutex_lock(&list_lock);
    struct offer *offer = list.oldest;
    if (offer != NULL && atomic_load_explicit(&tasks, memory_order_relaxed) >= 2) {
        withdraw(offer);
        offer->exported = 1;
        count = offer->count;
        message->nodes = reallocate(message->nodes, (size_t)count, sizeof *message->nodes);
        memcpy(message->nodes, offer->nodes, (size_t)count * sizeof *message->nodes);
    }
    pthread_mutex_unlock(&list_lock);
    return count;
}

static void send_to(int to, int tag, struct message *message, const void *data, long count, MPI_Datatype type)
{
    MPI_Wait(&message->request, MPI_STATUS_IGNORE);
    MPI_Isend(data, (int)count, type, to, tag, MPI_COMM_WORLD, &message->request);
}

/* Receives a message and does what it asks for, if there is one: 1. */
static int receive(struct scheduler *s)
{
    int there, words;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
    if (!there)
        return 0;
    int from = status.MPI_SOURCE, tag = status.MPI_TAG;
    if (tag == TOKEN) {
        MPI_Wait(&me.token.request, MPI_STATUS_IGNORE); /* its buffer is overwritten */
        MPI_Recv(me.sum, 2, MPI_LONG_LONG, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        me.has_token = 1;
        return 1;
    }
    MPI_Get_count(&status, MPI_UINT32_T, &words);
    struct uts_node *nodes = allocate((size_t)words, sizeof(uint32_t));
    MPI_Recv(nodes, words, MPI_UINT32_T, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (tag == ASK) {
        struct message *answer = &me.answers[from];
        MPI_Wait(&answer->request, MPI_STATUS_IGNORE); /* its nodes are overwritten */
        long count = export_offer(answer);
        me.c += count > 0;
        send_to(from, WORK, answer, answer->nodes, count * WORDS, MPI_UINT32_T);
    } else if (tag == WORK) {
        me.asked = 0;
        *(words > 0 ? &me.moved : &me.refused) += 1;
        if (words > 0) {
            me.c--;
            me.black = 1;
            make_offer(nodes, words / WORDS, s);
        }
    } else {
        me.stopped = 1;
    }
    free(nodes);
    return 1;
}

/* Of a passive rank that has the token. */
static void pass_token(void)
{
    if (rank > 0) {
        me.sum[0] += me.c;
        me.sum[1] |= me.black;
    } else if (ranks > 1 && (me.sum[1] || me.black || me.sum[0] + me.c != 0)) { /* one rank alone needs no round */
        me.sum[0] = me.sum[1] = 0;
    } else {
        me.stopped = 1;
        for (int i = 1; i < ranks; i++)
            send_to(i, STOP, &me.stops[i], NULL, 0, MPI_UINT32_T);
        return;
    }
    me.black = me.has_token = 0;
    send_to(rank == 0 ? ranks - 1 : rank - 1, TOKEN, &me.token, me.sum, 2, MPI_LONG_LONG);
}

/* Asks any of the other ranks. */
static void ask(void)
{
    me.random = me.random * 6364136223846793005 + 1442695040888963407; /* Knuth's MMIX */
    int to = (int)((me.random >> 33) % (uint64_t)(ranks - 1));
    send_to(to + (to >= rank), ASK, &me.ask, NULL, 0, MPI_UINT32_T);
    me.asked = 1;
}

/* The first task of each rank. */
static void correspond(void *closure, struct scheduler *s)
{
    int workers = sched_worker_count(s), entered = 0, done = 0;
    *(int *)closure = workers;
    enough = 2 * workers + 2;
    if (rank == 0) {
        struct uts_node root = uts_root(&tree);
        make_offer(&root, 1, s);
    }
    /* If no other thread can take this worker's place, as in kind serial, this task yields to the others. */
    int section = sched_block_begin(s) == 0, yields = sched_worker_index(s) >= 0;
    MPI_Request barrier = MPI_REQUEST_NULL;
    while (!done) {
        int received = 0;
        while (receive(s))
            received = 1;
        if (!me.stopped && me.has_token && passive())
            pass_token();
        int hungry = atomic_load_explicit(&tasks, memory_order_relaxed) < workers; /* somebody has nothing to do */
        if (hungry && !me.stopped && !me.asked && ranks > 1)
            ask();
        if (me.stopped && !me.asked && !entered) {
            MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
            entered = 1;
        }
        if (entered)
            MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
        if (yields)
            sched_task_yield(s);
        else if (!received && !done)
            nanosleep(&(struct timespec){0, hungry ? 20000 : 200000}, NULL); /* while all work, that is worth more */
    }
    for (int i = 0; i < ranks; i++) {
        MPI_Wait(&me.answers[i].request, MPI_STATUS_IGNORE);
        MPI_Wait(&me.stops[i].request, MPI_STATUS_IGNORE);
        free(me.answers[i].nodes);
    }
    MPI_Wait(&me.ask.request, MPI_STATUS_IGNORE);
    MPI_Wait(&me.token.request, MPI_STATUS_IGNORE);
    if (section)
        sched_block_end(s);
}

/* --- the command line --------------------------------------------------------------------------------------------- */

static const char usage[] =
    "usage: mpi_uts [OPTION]...\n"
    "Counts the nodes of an unbalanced tree on the ranks of MPI: mpirun -n 4 mpi_uts -d 13\n\n"
    "  -d, --depth N       the geometric tree T1, down to this depth (10: as published)\n"
    "  -b, --binomial N    the binomial tree T3 instead, with N children of the root (2000: as published)\n"
    "  -S, --serial        counts in a plain loop, without MPI and tasks\n"
    "  -j, --threads N     threads of each rank (0: a processor each)\n"
    "      --help, --version\n";

static void arguments(int argc, char **argv)
{
    static const struct option longs[] = {
        {"depth", 1, NULL, 'd'}, {"binomial", 1, NULL, 'b'}, {"serial", 0, NULL, 'S'}, {"threads", 1, NULL, 'j'},
        {"help", 0, NULL, 'h'}, {"version", 0, NULL, 'V'}, {NULL, 0, NULL, 0}};
    for (int c; (c = getopt_long(argc, argv, "d:b:Sj:", longs, NULL)) != -1;)
        switch (c) {
        case 'd': options.depth = number_of(optarg, "--depth", 0, 20); break;
        case 'b': options.binomial = number_of(optarg, "--binomial", 1, 1 << 20); break;
        case 'S': options.serial = 1; break;
        case 'j': options.threads = number_of(optarg, "--threads", 0, 4096); break;
        default: common_option(c, usage);
        }
    no_arguments(argc, argv);
}

int main(int argc, char **argv)
{
    program_name = "mpi_uts";
    arguments(argc, argv);
    tree = options.binomial > 0 ? uts_tree(UTS_BINOMIAL, options.binomial) : uts_tree(UTS_GEOMETRIC, options.depth);
    long published = options.binomial == 2000 ? 4112897 : options.binomial == 0 && options.depth == 10 ? 4130071 : 0;
    struct uts_node root = uts_root(&tree);
    double began = bench_now();
    long long counts[4] = {0};
    int threads = 1;
    if (options.serial) {
        ranks = 1;
        counts[0] = uts_count(&tree, &root);
    } else {
        ranks_begin(MPI_THREAD_SERIALIZED);
        me.answers = allocate((size_t)ranks, sizeof *me.answers);
        me.stops = allocate((size_t)ranks, sizeof *me.stops);
        me.ask.request = me.token.request = MPI_REQUEST_NULL;
        for (int i = 0; i < ranks; i++)
            me.answers[i].request = me.stops[i].request = MPI_REQUEST_NULL;
        me.has_token = me.sum[1] = rank == 0; /* black: no round was begun */
        me.random = (uint64_t)rank + 1;
        MPI_Barrier(MPI_COMM_WORLD);
        began = bench_now();
        if (sched_init((int)options.threads, 0, correspond, &threads) != 0)
            stop("sched_init");
        long long mine[4] = {atomic_load(&visited), me.moved, me.refused, 0};
        MPI_Reduce(mine, counts, 3, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
        MPI_Reduce(mine, counts + 3, 1, MPI_LONG_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    }
    double seconds = bench_now() - began;
    int right = published == 0 || rank != 0 || counts[0] == published;
    if (rank == 0) {
        printf("%lld nodes%s, %d rank%s of %d thread%s, %.3f s, %.2f million a second", counts[0],
               published == 0 ? "" : right ? ", as published" : ", NOT AS PUBLISHED", ranks, ranks == 1 ? "" : "s",
               threads, threads == 1 ? "" : "s", seconds, (double)counts[0] / seconds / 1e6);
        printf(ranks == 1 ? "\n" : ", most on a rank %lld, %lld times work moved, %lld times refused\n",
               counts[3], counts[1], counts[2]);
    }
    if (options.serial)
        return output_written() && right ? STATUS_OK : right ? STATUS_TROUBLE : STATUS_NO;
    return ranks_end(right ? STATUS_OK : STATUS_NO);
}
