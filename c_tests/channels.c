/* channels: queues of elements between tasks and threads. */
#include "case.h"
#include "child.h"
#include "everywhere.h"

enum { SHORT = 200000 }; /* ns */

static int outcome(int rc)
{
    return rc == 0 ? 0 : get_errno();
}

/* channel_order: One sender's elements arrive in its order, each once and whole, whatever their size and the capacity. The
 * elements that are left at the close still arrive.
 * ctest: static debug
 * ctest: matrix refuse */
enum { BIGGEST = 70000, IN_ORDER = 300 / SMALLER + 5 };

struct pipe {
    struct sched_channel *channel;
    size_t size;
};

static unsigned char pattern(size_t number, size_t at)
{
    return (unsigned char)(number * 31 + at * 7 + at / 256);
}

static void sends_in_order(void *closure, struct scheduler *s)
{
    struct pipe *pipe = closure;
    unsigned char *element = malloc(pipe->size + 1);
    CHECK(element != NULL);
    for (size_t i = 0; i < IN_ORDER; i++) {
        for (size_t at = 0; at < pipe->size; at++)
            element[at] = pattern(i, at);
        CHECK_EQ(sched_channel_send(pipe->channel, pipe->size ? element : NULL, s), 0);
        memset(element, 0xee, pipe->size); /* it was copied */
    }
    sched_channel_close(pipe->channel);
    CHECK_ERRNO(sched_channel_send(pipe->channel, element, s), EPIPE);
    CHECK_ERRNO(sched_channel_send_until(pipe->channel, element, 0, s), EPIPE);
    free(element);
}

static void order_root(void *closure, struct scheduler *s)
{
    const size_t sizes[] = {0, 1, 2, 3, 4, 7, 8, 12, 16, 24, 31, 64, 100, 4096, BIGGEST};
    const size_t capacities[] = {0, 1, 2, 7, 64};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof capacities / sizeof *capacities; k++) {
            struct pipe pipe = {sched_channel_create(capacities[k], sizes[i]), sizes[i]};
            sched_group g = SCHED_GROUP_INIT;
            unsigned char *element = malloc(sizes[i] + 1);
            size_t number = 0;
            CHECK(pipe.channel != NULL && element != NULL);
            CHECK_EQ(sched_group_spawn(&g, sends_in_order, &pipe, s), 0);
            element[sizes[i]] = 0x5a;
            while (sched_channel_receive(pipe.channel, element, s) == 0) {
                for (size_t at = 0; at < sizes[i]; at++)
                    CHECK_EQ(element[at], pattern(number, at));
                CHECK_EQ(element[sizes[i]], 0x5a); /* no byte beyond */
                number++;
            }
            CHECK_EQ(get_errno(), EPIPE);
            CHECK_EQ(number, IN_ORDER);
            CHECK_EQ(sched_group_wait(&g, s), 0);
            sched_channel_destroy(pipe.channel);
            free(element);
        }
}

CASE(channel_order)
{
    run(2, order_root);
}

/* channel_answer: A task that has received the last element may destroy the channel before the sender's call returns.
 * ctest: static debug
 * ctest: matrix */
enum { ANSWERS = 20000 / SMALLER };

static void answers(void *question, struct scheduler *s)
{
    int answer = 42;
    CHECK_EQ(sched_channel_send(question, &answer, s), 0);
}

static void answer_root(void *closure, struct scheduler *s)
{
    (void)closure;
    for (int i = 0; i < ANSWERS; i++) {
        struct sched_channel *question = sched_channel_create((size_t)i % 3, sizeof(int));
        int answer = 0;
        CHECK(question != NULL);
        CHECK_EQ(sched_spawn(answers, question, s), 0);
        CHECK_EQ(sched_channel_receive(question, &answer, s), 0);
        sched_channel_destroy(question);
        CHECK_EQ(answer, 42);
    }
}

CASE(channel_answer)
{
    CHECK_EQ(sched_init(0, 100, answer_root, NULL), 0);
}

/* channel_many: Many senders and receivers, tasks and threads, with deadlines and without: each element arrives once, and each
 * receiver gets the elements of a sender in their order.
 * ctest: static debug
 * ctest: matrix refuse
 * ctest: matrix deque=mutex,split idle=park threads=2,4 join=help */
enum { SENDERS = 6, RECEIVERS = 6, EACH = 4000 / SMALLER };

struct message {
    int sender, number;
};

static struct sched_channel *channel;
static atomic_uchar arrived[SENDERS][EACH];
static atomic_int sent_all, arrivals;

static sched_time soon(uint64_t *x)
{
    return sched_now() + (sched_time)(next_random(x) % 20000);
}

/* The odd ones have deadlines. */
static void sends_many(void *closure, struct scheduler *s)
{
    struct message m = {.sender = (int)(long)closure};
    uint64_t x = (uint64_t)m.sender + 1;
    while (m.number < EACH) {
        int error = outcome(m.sender % 2 ? sched_channel_send_until(channel, &m, soon(&x), s)
                                         : sched_channel_send(channel, &m, s));
        CHECK(error == 0 || (error == ETIMEDOUT && m.sender % 2));
        m.number += error == 0;
        if (next_random(&x) % 64 == 0)
            CHECK_EQ(sched_sleep_until(soon(&x), s), 0);
    }
    if (++sent_all == SENDERS)
        sched_channel_close(channel);
}

static void receives_many(void *closure, struct scheduler *s)
{
    int last[SENDERS], in_time = (long)closure % 2;
    uint64_t x = (uint64_t)(long)closure + 77;
    memset(last, -1, sizeof last);
    for (;;) {
        struct message m = {-1, -1};
        int error = outcome(in_time ? sched_channel_receive_until(channel, &m, soon(&x), s)
                                    : sched_channel_receive(channel, &m, s));
        if (error == EPIPE)
            return;
        if (error == 0) {
            CHECK(m.sender >= 0 && m.sender < SENDERS && m.number >= 0 && m.number < EACH);
            CHECK(m.number > last[m.sender]);
            last[m.sender] = m.number;
            CHECK_EQ(arrived[m.sender][m.number]++, 0);
            arrivals++;
        } else {
            CHECK(error == ETIMEDOUT && in_time);
        }
        if (next_random(&x) % 64 == 0)
            sched_task_yield(s);
    }
}

static void *sends_in_thread(void *number)
{
    sends_many(number, NULL);
    return NULL;
}

static void *receives_in_thread(void *number)
{
    receives_many(number, NULL);
    return NULL;
}

static void many_root(void *closure, struct scheduler *s)
{
    for (long i = 2; i < RECEIVERS; i++)
        CHECK_EQ(sched_spawn(receives_many, (void *)i, s), 0);
    for (long i = 2; i < SENDERS; i++)
        CHECK_EQ(sched_spawn(sends_many, (void *)i, s), 0);
}

CASE(channel_many)
{
    const size_t capacities[] = {0, 1, 3, 64};
    for (size_t k = 0; k < sizeof capacities / sizeof *capacities; k++) {
        pthread_t threads[4];
        channel = sched_channel_create(capacities[k], sizeof(struct message));
        CHECK(channel != NULL);
        memset((void *)arrived, 0, sizeof arrived);
        sent_all = arrivals = 0;
        for (long i = 0; i < 4; i++)
            CHECK_EQ(pthread_create(&threads[i], NULL, i < 2 ? sends_in_thread : receives_in_thread, (void *)(i % 2)), 0);
        run(3, many_root);
        for (int i = 0; i < 4; i++)
            CHECK_EQ(pthread_join(threads[i], NULL), 0);
        CHECK_EQ(arrivals, SENDERS * EACH);
        struct message m;
        CHECK_ERRNO(sched_channel_receive(channel, &m, NULL), EPIPE);
        sched_channel_destroy(channel);
    }
}

/* channel_until: Sends and receives with a deadline, wherever the call is made. They succeed at
 * once if possible, also with a deadline in the past, or later. At the deadline and not before they
 * fail with ETIMEDOUT, and nothing was sent or received. With a capacity of 0 a try succeeds only
 * if somebody waits.
 * ctest: static debug
 * ctest: matrix */
static void *sends_later(void *c)
{
    int element = 41;
    pause_us(1000);
    CHECK_EQ(sched_channel_send(c, &element, NULL), 0);
    return NULL;
}

static void *receives_later(void *c)
{
    int element = 0;
    pause_us(1000);
    CHECK_EQ(sched_channel_receive(c, &element, NULL), 0);
    CHECK_EQ(element, 17);
    return NULL;
}

APART void until_all(void *closure, struct scheduler *s)
{
    for (size_t capacity = 0; capacity < 3; capacity++) {
        struct sched_channel *c = sched_channel_create(capacity, sizeof(int));
        pthread_t thread;
        int element = -1;
        CHECK(c != NULL);
        CHECK_TIMES_OUT(sched_channel_receive_until(c, &element, deadline, s));
        CHECK_EQ(element, -1);
        for (int i = 0; i < (int)capacity; i++)
            CHECK_EQ(sched_channel_send_until(c, &i, INT64_MIN, s), 0);
        CHECK_TIMES_OUT(sched_channel_send_until(c, &element, deadline, s));
        for (int i = 0; i < (int)capacity; i++) {
            CHECK_EQ(sched_channel_receive_until(c, &element, INT64_MIN, s), 0);
            CHECK_EQ(element, i);
        }
        CHECK_TIMES_OUT(sched_channel_receive_until(c, &element, deadline, s));
        for (int way = 0; way < 3; way++) {
            sched_time deadline = way ? sched_now() + 1000 * SCHED_SECOND : SCHED_FOREVER;
            CHECK_EQ(pthread_create(&thread, NULL, sends_later, c), 0);
            element = 0;
            CHECK_EQ(way == 2 ? sched_channel_receive(c, &element, s)
                              : sched_channel_receive_until(c, &element, deadline, s), 0);
            CHECK_EQ(element, 41);
            CHECK_EQ(pthread_join(thread, NULL), 0);
            CHECK_TIMES((int)capacity, sched_channel_send(c, &(int){17}, s));
            CHECK_EQ(pthread_create(&thread, NULL, receives_later, c), 0);
            element = 17;
            CHECK_EQ(way == 2 ? sched_channel_send(c, &element, s)
                              : sched_channel_send_until(c, &element, deadline, s), 0);
            CHECK_EQ(pthread_join(thread, NULL), 0);
            CHECK_TIMES((int)capacity, sched_channel_receive(c, &element, s));
        }
        CHECK_TIMES_OUT(sched_channel_receive_until(c, &element, deadline, s));
        sched_channel_close(c);
        sched_channel_close(c);
        CHECK_ERRNO(sched_channel_receive_until(c, &element, 0, s), EPIPE);
        CHECK_ERRNO(sched_channel_receive_until(c, &element, SCHED_FOREVER, s), EPIPE);
        CHECK_ERRNO(sched_channel_send_until(c, &element, SCHED_FOREVER, s), EPIPE);
        sched_channel_destroy(c);
    }
}

CASE(channel_until)
{
    everywhere(until_all);
}

/* channel_close: The close ends all waits, of senders and of receivers, tasks and threads, with
 * deadlines and without. Elements in the channel can still be received; then receivers get EPIPE.
 * ctest: static debug
 * ctest: matrix */
enum { WAITERS = 12 };
static sched_group closers_group = SCHED_GROUP_INIT;
static atomic_int epipes, begun, sent;

APART void waits_to_send(void *closure, struct scheduler *s)
{
    int element = 1000 + (int)(long)closure;
    begun++;
    int error = outcome((long)closure % 2 ? sched_channel_send_until(channel, &element, SCHED_FOREVER, s)
                                          : sched_channel_send(channel, &element, s));
    CHECK(error == 0 || error == EPIPE);
    sent += error == 0;
    epipes += error == EPIPE;
}

APART void waits_to_receive(void *closure, struct scheduler *s)
{
    int element = -1;
    begun++;
    int error = outcome((long)closure % 2 ? sched_channel_receive_until(channel, &element, SCHED_FOREVER, s)
                                          : sched_channel_receive(channel, &element, s));
    CHECK_EQ(error, EPIPE);
    CHECK_EQ(element, -1);
    epipes++;
}

static taskfunc waits;

static void *waits_in_thread(void *number)
{
    waits(number, NULL);
    return NULL;
}

static void close_root(void *closure, struct scheduler *s)
{
    for (size_t capacity = 0; capacity < 3; capacity++)
        for (int way = 0; way < 2; way++) {
            pthread_t threads[2];
            waits = way ? waits_to_receive : waits_to_send;
            channel = sched_channel_create(capacity, sizeof(int));
            CHECK(channel != NULL);
            epipes = begun = sent = 0;
            for (int i = 0; i < (int)capacity && way == 0; i++)
                CHECK_EQ(sched_channel_send(channel, &i, s), 0);
            for (long i = 0; i < 2; i++)
                CHECK_EQ(pthread_create(&threads[i], NULL, waits_in_thread, (void *)i), 0);
            for (long i = 0; i < WAITERS; i++)
                CHECK_EQ(sched_group_spawn(&closers_group, waits, (void *)i, s), 0);
            while (begun < WAITERS + 2)
                CHECK_EQ(sched_sleep(1000, s), 0);
            sched_channel_close(channel);
            CHECK_EQ(sched_group_wait(&closers_group, s), 0);
            for (int i = 0; i < 2; i++)
                CHECK_EQ(pthread_join(threads[i], NULL), 0);
            CHECK_EQ(sent, 0);
            CHECK_EQ(epipes, WAITERS + 2);
            int element;
            for (int i = 0; i < (int)capacity && way == 0; i++) {
                CHECK_EQ(sched_channel_receive(channel, &element, s), 0);
                CHECK_EQ(element, i);
            }
            CHECK_ERRNO(sched_channel_receive(channel, &element, s), EPIPE);
            sched_channel_destroy(channel);
        }
}

CASE(channel_close)
{
    run(2, close_root);
}

/* channel_line: Senders and receivers at the front, in the middle and at the end of a line give up: the others are served, each
 * once, and nothing of those that have given up arrives.
 * ctest: static debug
 * ctest: matrix */
enum { IN_LINE = 7 };
static atomic_int line_gone, line_came;
static int line_got[IN_LINE];

APART void sends_in_line(void *closure, struct scheduler *s)
{
    int me = (int)(long)closure % IN_LINE, leaves = (int)(long)closure / IN_LINE;
    line_came++;
    if (leaves) {
        CHECK_ERRNO(sched_channel_send_until(channel, &me, sched_now() + SHORT, s), ETIMEDOUT);
        line_gone++;
    } else {
        CHECK_EQ(sched_channel_send(channel, &me, s), 0);
    }
}

APART void receives_in_line(void *closure, struct scheduler *s)
{
    int me = (int)(long)closure % IN_LINE, leaves = (int)(long)closure / IN_LINE;
    line_came++;
    if (leaves) {
        int element = -5;
        CHECK_ERRNO(sched_channel_receive_until(channel, &element, sched_now() + SHORT, s), ETIMEDOUT);
        CHECK_EQ(element, -5);
        line_gone++;
    } else {
        CHECK_EQ(sched_channel_receive(channel, &line_got[me], s), 0);
    }
}

static void line_root(void *closure, struct scheduler *s)
{
    const unsigned leaving[] = {0, 1, 1 << 3, 1 << 6, 0x2a, 0x55, 0x3e, 0x7f};
    for (size_t round = 0; round < 2 * sizeof leaving / sizeof *leaving; round++) {
        unsigned these = leaving[round / 2];
        int n = 0;
        channel = sched_channel_create(round / 2 % 2, sizeof(int));
        CHECK(channel != NULL);
        if (round % 2 && round / 2 % 2)
            CHECK_EQ(sched_channel_send(channel, &(int){99}, s), 0); /* it is full */
        line_gone = 0;
        for (int i = 0; i < IN_LINE; i++) {
            long leaves = these >> i & 1;
            n += (int)leaves;
            line_came = 0;
            CHECK_EQ(sched_group_spawn(&closers_group, round % 2 ? sends_in_line : receives_in_line,
                                       (void *)(i + IN_LINE * leaves), s), 0);
            while (!line_came)
                sched_task_yield(s);
            CHECK_EQ(sched_sleep(SHORT / 100, s), 0); /* the next one comes later */
        }
        while (line_gone < n)
            CHECK_EQ(sched_sleep(SHORT / 10, s), 0);
        int element = 99;
        if (round % 2 && round / 2 % 2) {
            CHECK_EQ(sched_channel_receive(channel, &element, s), 0);
            CHECK_EQ(element, 99);
        }
        unsigned seen = 0;
        for (int i = 0; i < IN_LINE - n; i++) {
            if (round % 2) {
                CHECK_EQ(sched_channel_receive(channel, &element, s), 0);
                seen |= 1u << element;
            } else {
                CHECK_EQ(sched_channel_send(channel, &i, s), 0);
            }
        }
        CHECK_EQ(sched_group_wait(&closers_group, s), 0);
        if (round % 2) {
            CHECK_EQ(seen, 0x7f & ~these);
        } else {
            for (int i = 0; i < IN_LINE; i++)
                if (!(these >> i & 1))
                    seen |= 1u << line_got[i];
            CHECK_EQ(seen, (1u << (IN_LINE - n)) - 1);
        }
        CHECK_ERRNO(sched_channel_receive_until(channel, &element, 0, s), ETIMEDOUT);
        sched_channel_destroy(channel);
    }
}

CASE(channel_line)
{
    run(1, line_root);
}

/* channel_errors: The errors of the functions. A channel is destroyed with its elements; with
 * waiting tasks the process ends with a message. The run of s may have ended, if the call need not
 * wait.
 * ctest: static debug
 * ctest: matrix few idle=park threads=2 */
static void note_scheduler(void *at, struct scheduler *s)
{
    *(struct scheduler **)at = s;
}

static void waits_for_ever(void *closure, struct scheduler *s)
{
    int element;
    sched_channel_receive(channel, &element, s);
}

static void destroys_awaited(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(waits_for_ever, NULL, s), 0);
    CHECK_TIMES(100, sched_sleep(SHORT, s));
    sched_channel_destroy(channel);
}

static void misuses(void *arg)
{
    alarm(60);
    channel = sched_channel_create(0, sizeof(int));
    sched_init(2, 10, destroys_awaited, NULL);
}

static struct sched_channel *no_channel(size_t capacity, size_t size, int code)
{
    errno = 0;
    struct sched_channel *c = sched_channel_create(capacity, size);
    CHECK_EQ(errno, code);
    return c;
}

CASE(channel_errors)
{
    struct sched_channel *c = sched_channel_create(2, sizeof(int));
    struct scheduler *ended;
    int element = 1;
    CHECK(c != NULL);
    CHECK_ERRNO(sched_channel_send(NULL, &element, NULL), EINVAL);
    CHECK_ERRNO(sched_channel_send(c, NULL, NULL), EINVAL);
    CHECK_ERRNO(sched_channel_receive(NULL, &element, NULL), EINVAL);
    CHECK_ERRNO(sched_channel_receive(c, NULL, NULL), EINVAL);
    CHECK_ERRNO(sched_channel_send_until(c, NULL, 0, NULL), EINVAL);
    CHECK_ERRNO(sched_channel_send_until(NULL, &element, 0, NULL), EINVAL);
    CHECK_ERRNO(sched_channel_receive_until(c, NULL, 0, NULL), EINVAL);
    CHECK_ERRNO(sched_channel_receive_until(NULL, &element, 0, NULL), EINVAL);
    sched_channel_close(NULL);
    sched_channel_destroy(NULL);

    CHECK_EQ(sched_init(1, 10, note_scheduler, &ended), 0);
    CHECK_ERRNO(sched_channel_receive(c, &element, ended), EINVAL);
    CHECK_ERRNO(sched_channel_receive_until(c, &element, SCHED_FOREVER, ended), EINVAL);
    CHECK_EQ(sched_channel_send(c, &element, ended), 0);
    CHECK_EQ(sched_channel_send(c, &element, ended), 0);
    CHECK_ERRNO(sched_channel_send(c, &element, ended), EINVAL);
    sched_channel_destroy(c);

    CHECK(no_channel(SIZE_MAX, 2, EINVAL) == NULL);
    CHECK(no_channel(2, SIZE_MAX, EINVAL) == NULL);
    CHECK(no_channel(1, SIZE_MAX, EINVAL) == NULL);
    CHECK(no_channel((size_t)PTRDIFF_MAX + 1, 1, EINVAL) == NULL);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they end the process */
    CHECK(no_channel(PTRDIFF_MAX / 2, 2, ENOMEM) == NULL);
#endif
    c = no_channel(0, PTRDIFF_MAX, 0);
    sched_channel_destroy(c);
    for (size_t bits = 1; bits <= 2; bits++) { /* elements of no bytes: room for half of SIZE_MAX of them, and for more */
        c = no_channel(SIZE_MAX / bits + bits / 2, 0, 0);
        CHECK_EQ(sched_channel_send(c, NULL, NULL), 0);
        CHECK_EQ(sched_channel_receive(c, NULL, NULL), 0);
        sched_channel_destroy(c);
    }

    in_child(misuses, NULL);
    CHECK_CHILD_ABORTED("sched_channel_destroy");
}
