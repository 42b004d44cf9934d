/* meet.c: the statements whose tasks wait for each other: sem, barrier, pipe, channel and stream. Their tasks begin at a gate, which opens
 * when the last of them is queued. A task that the full queue refuses is none of those that meet. */
#include "program.h"
#include <fcntl.h>
#include <sched_io.h>
#include <sys/socket.h>

struct meeting {
    sched_sem gate;
    size_t count; /* tasks that meet; in a pipe, whether both sides are there. Written at the gate */
    /* sem */
    sched_sem units;
    atomic_size_t inside;
    size_t most;
    /* barrier */
    sched_barrier barrier;
    atomic_size_t come, chosen;
    /* pipe */
    sched_mutex mutex;
    sched_cond not_full, not_empty;
    uint64_t path, *queue;
    size_t first, length, room, made, taken, items;
    /* channel */
    struct sched_channel *channel;
    atomic_size_t sent, received, senders;
    /* stream: like channel, but */
    int ends[2];
};

static void begin_task(struct task *task)
{
    CHECK_EQ(task->begun++, 0);
    atomic_fetch_add_explicit(&task->totals->tasks, 1, memory_order_relaxed);
}

static void end_task(struct task *task, uint64_t value)
{
    task->value = value;
    CHECK_EQ(task->ended++, 0);
}

/* Adds a task to the group. If it is refused, it will not meet the others, and runs now. */
static size_t add(sched_group *group, taskfunc f, struct task *task, struct meeting *meeting, struct scheduler *s)
{
    task->with = meeting;
    if (accepted(sched_group_spawn(group, f, task, s)))
        return 1;
    task->with = NULL;
    f(task, s);
    return 0;
}

static void open_gate(struct meeting *meeting, size_t count)
{
    meeting->count = count;
    CHECK_TIMES(count, sched_sem_post(&meeting->gate));
}

/* --- sem ---------------------------------------------------------------- */

static void run_limited(void *closure, struct scheduler *s)
{
    struct task *task = closure;
    struct meeting *meeting = task->with;
    begin_task(task);
    if (meeting) {
        CHECK_EQ(sched_sem_wait(&meeting->units, s), 0);
        CHECK(atomic_fetch_add(&meeting->inside, 1) < meeting->most);
    }
    uint64_t value = execute(task->block, task->path, task, s);
    if (meeting) {
        atomic_fetch_sub(&meeting->inside, 1);
        CHECK_EQ(sched_sem_post(&meeting->units), 0);
    }
    end_task(task, value);
}

uint64_t do_sem(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    struct task child[MOST_BLOCKS];
    struct meeting meeting = {.units = SCHED_SEM_INIT(now->n[0]), .most = now->n[0]};
    sched_group group = SCHED_GROUP_INIT;
    uint64_t value = path;
    for (int i = 0; i < now->blocks; i++) {
        child[i] = task_of(&now->block[i], part(path, i), task);
        add(&group, run_limited, &child[i], &meeting, s);
    }
    CHECK_EQ(sched_group_wait(&group, s), 0);
    for (int i = 0; i < now->blocks; i++)
        value += value_of_ended(&child[i]);
    for (size_t i = 0; i < meeting.most && i < MOST_BLOCKS; i++)
        CHECK_EQ(sched_sem_trywait(&meeting.units), 0); /* all units are back */
    return value;
}

/* --- barrier ------------------------------------------------------------ */

static void run_rounds(void *closure, struct scheduler *s)
{
    struct task *task = closure;
    struct meeting *meeting = task->with;
    uint64_t value = 0;
    begin_task(task);
    if (meeting)
        CHECK_EQ(sched_sem_wait(&meeting->gate, s), 0);
    for (size_t round = 0; round < task->rounds; round++) {
        value += execute(task->block, part(task->path, round), task, s);
        if (!meeting)
            continue;
        atomic_fetch_add_explicit(&meeting->come, 1, memory_order_relaxed);
        int chosen = sched_barrier_wait(&meeting->barrier, s);
        CHECK(chosen == 0 || chosen == 1);
        atomic_fetch_add_explicit(&meeting->chosen, (size_t)chosen, memory_order_relaxed);
        size_t come = atomic_load_explicit(&meeting->come, memory_order_relaxed);
        CHECK(come >= (round + 1) * meeting->count); /* all have come */
        CHECK(come < (round + 2) * meeting->count);  /* nobody has left the next round, for which this one is missing */
    }
    end_task(task, value);
}

uint64_t do_barrier(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    struct task child[MOST_BLOCKS];
    struct meeting meeting = {.gate = SCHED_SEM_INIT(0)};
    sched_group group = SCHED_GROUP_INIT;
    uint64_t value = path;
    size_t count = 0;
    for (int i = 0; i < now->blocks; i++) {
        child[i] = task_of(&now->block[i], part(path, i), task);
        child[i].rounds = now->n[0];
        count += add(&group, run_rounds, &child[i], &meeting, s);
    }
    if (count > 0)
        CHECK_EQ(sched_barrier_init(&meeting.barrier, count), 0);
    open_gate(&meeting, count);
    CHECK_EQ(sched_group_wait(&group, s), 0);
    for (int i = 0; i < now->blocks; i++)
        value += value_of_ended(&child[i]);
    CHECK_EQ(meeting.come, count * now->n[0]);
    CHECK_EQ(meeting.chosen, count > 0 ? now->n[0] : 0);
    return value;
}

/* --- pipe --------------------------------------------------------------- */

/* The producers signal with the mutex locked, the consumers without. */

/* The task does nothing if it has no counterpart. */
static struct meeting *begin_pipe(struct task *task, struct scheduler *s)
{
    begin_task(task);
    if (task->with)
        CHECK_EQ(sched_sem_wait(&task->with->gate, s), 0);
    return task->with && task->with->count ? task->with : NULL;
}

static void produce(void *closure, struct scheduler *s)
{
    struct task *task = closure;
    struct meeting *pipe = begin_pipe(task, s);
    for (int more = pipe != NULL; more;) {
        CHECK_EQ(sched_mutex_lock(&pipe->mutex, s), 0);
        while (pipe->made < pipe->items && pipe->length == pipe->room)
            CHECK_EQ(sched_cond_wait(&pipe->not_full, &pipe->mutex, s), 0);
        int made = pipe->made < pipe->items;
        if (made)
            pipe->queue[(pipe->first + pipe->length++) % pipe->room] = part(pipe->path, pipe->made++);
        more = pipe->made < pipe->items;
        if (!more)
            CHECK_EQ(sched_cond_broadcast(&pipe->not_full), 0);
        if (made)
            CHECK_EQ(sched_cond_signal(&pipe->not_empty), 0);
        CHECK_EQ(sched_mutex_unlock(&pipe->mutex), 0);
    }
    end_task(task, 0);
}

static void consume(void *closure, struct scheduler *s)
{
    struct task *task = closure;
    struct meeting *pipe = begin_pipe(task, s);
    uint64_t sum = 0;
    for (int more = pipe != NULL; more;) {
        CHECK_EQ(sched_mutex_lock(&pipe->mutex, s), 0);
        while (pipe->length == 0 && pipe->taken < pipe->items)
            CHECK_EQ(sched_cond_wait(&pipe->not_empty, &pipe->mutex, s), 0);
        int got = pipe->length > 0;
        if (got) {
            sum += pipe->queue[pipe->first];
            pipe->first = (pipe->first + 1) % pipe->room;
            pipe->length--;
            pipe->taken++;
        }
        more = pipe->taken < pipe->items;
        CHECK_EQ(sched_mutex_unlock(&pipe->mutex), 0);
        if (got)
            CHECK_EQ(sched_cond_signal(&pipe->not_full), 0);
        if (!more)
            CHECK_EQ(sched_cond_broadcast(&pipe->not_empty), 0);
    }
    end_task(task, sum);
}

/* Runs n[0] tasks that give and n[1] that take; they meet if both sides and what they meet at are there. Returns the
 * value of the statement. */
static uint64_t run_sides(struct meeting *pipe, taskfunc gives, taskfunc takes, const struct statement *now, int is_there,
                          struct task *task, struct scheduler *s)
{
    struct task child[2 * MOST_BLOCKS];
    size_t givers = now->n[0], all = givers + now->n[1], made = 0, taken = 0;
    sched_group group = SCHED_GROUP_INIT;
    uint64_t value = 0;
    for (size_t i = 0; i < all; i++) {
        child[i] = task_of(NULL, part(pipe->path, i), task);
        *(i < givers ? &made : &taken) += add(&group, i < givers ? gives : takes, &child[i], pipe, s);
    }
    pipe->count = is_there && made && taken;
    pipe->senders = made;
    CHECK_TIMES(made + taken, sched_sem_post(&pipe->gate));
    CHECK_EQ(sched_group_wait(&group, s), 0);
    for (size_t i = 0; i < all; i++)
        value += value_of_ended(&child[i]);
    return pipe->count ? value : value_of_items(pipe->path, pipe->items);
}

uint64_t do_pipe(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    struct meeting pipe = {.gate = SCHED_SEM_INIT(0), .path = path, .room = now->n[2] ? now->n[2] : 1, .items = now->n[3]};
    CHECK_EQ(sched_mutex_init(&pipe.mutex), 0);
    CHECK_EQ(sched_cond_init(&pipe.not_full), 0);
    CHECK_EQ(sched_cond_init(&pipe.not_empty), 0);
    pipe.queue = calloc(pipe.room, sizeof *pipe.queue);
    CHECK(pipe.queue != NULL);
    uint64_t value = run_sides(&pipe, produce, consume, now, 1, task, s);
    CHECK_EQ(pipe.made, pipe.count ? pipe.items : 0);
    CHECK_EQ(pipe.taken, pipe.made);
    free(pipe.queue);
    return value;
}

/* --- channel ------------------------------------------------------------ */

/* Every second call has a deadline, and is repeated without one if it fails. */
static sched_time soon(uint64_t item)
{
    return sched_now() + (sched_time)(item % 32) * SCHED_MICROSECOND;
}

static void sends(void *closure, struct scheduler *s)
{
    struct task *task = closure;
    struct meeting *pipe = begin_pipe(task, s);
    for (size_t i; pipe && (i = atomic_fetch_add(&pipe->sent, 1)) < pipe->items;) {
        uint64_t item = part(pipe->path, i);
        if (item % 2 || !in_time(sched_channel_send_until(pipe->channel, &item, soon(item), s), task))
            CHECK_EQ(sched_channel_send(pipe->channel, &item, s), 0);
    }
    if (pipe && atomic_fetch_sub(&pipe->senders, 1) == 1)
        sched_channel_close(pipe->channel);
    end_task(task, 0);
}

static void receives(void *closure, struct scheduler *s)
{
    struct task *task = closure;
    struct meeting *pipe = begin_pipe(task, s);
    uint64_t sum = 0, item = 0, last = task->path;
    while (pipe) {
        int result = -1, error = ETIMEDOUT;
        if (last % 2 == 0) {
            result = sched_channel_receive_until(pipe->channel, &item, soon(last), s);
            error = result == 0 ? 0 : get_errno();
        }
        if (error != 0 && error != EPIPE) {
            CHECK(error == ETIMEDOUT || (error == ECANCELED && task->totals == &unread));
            result = sched_channel_receive(pipe->channel, &item, s);
            error = result == 0 ? 0 : get_errno();
        }
        if (error != 0) {
            CHECK_EQ(error, EPIPE);
            break;
        }
        sum += item;
        last = mix(item);
        atomic_fetch_add(&pipe->received, 1);
    }
    end_task(task, sum);
}

uint64_t do_channel(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    struct meeting pipe = {.gate = SCHED_SEM_INIT(0), .path = path, .items = now->n[3]};
    pipe.channel = sched_channel_create(now->n[2], sizeof(uint64_t));
    CHECK(pipe.channel != NULL);
    uint64_t value = run_sides(&pipe, sends, receives, now, 1, task, s);
    CHECK_EQ(pipe.received, pipe.count ? pipe.items : 0);
    sched_channel_destroy(pipe.channel);
    return value;
}

/* --- stream ------------------------------------------------------------- */

/* Items are written and read as wholes. A task of a cancelled group stops at its first wait, as all the others of its stream do. */

static void writes(void *closure, struct scheduler *s)
{
    struct task *task = closure;
    struct meeting *stream = begin_pipe(task, s);
    for (size_t i; stream && (i = atomic_fetch_add(&stream->sent, 1)) < stream->items;) {
        uint64_t item = part(stream->path, i);
        int fd = stream->ends[1], size = sizeof item;
        if (item % 2 == 0 && in_time(sched_write_until(fd, &item, sizeof item, soon(item), s) == size ? 0 : -1, task))
            continue;
        if (sched_write_all(fd, &item, sizeof item, s) != size) {
            CHECK(get_errno() == ECANCELED && task->totals == &unread);
            break;
        }
    }
    if (stream && atomic_fetch_sub(&stream->senders, 1) == 1)
        CHECK_EQ(sched_close(stream->ends[1]), 0);
    end_task(task, 0);
}

static void reads(void *closure, struct scheduler *s)
{
    struct task *task = closure;
    struct meeting *stream = begin_pipe(task, s);
    uint64_t sum = 0, item = 0, last = task->path;
    while (stream) {
        ssize_t n = -1;
        if (last % 2 == 0 && (n = sched_read_until(stream->ends[0], &item, sizeof item, soon(last), s)) < 0)
            in_time(-1, task);
        if (n < 0 && (n = sched_read(stream->ends[0], &item, sizeof item, s)) < 0)
            CHECK(get_errno() == ECANCELED && task->totals == &unread);
        if (n <= 0)
            break;
        CHECK_EQ(n, sizeof item);
        sum += item;
        last = mix(item);
        atomic_fetch_add(&stream->received, 1);
    }
    end_task(task, sum);
}

uint64_t do_stream(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    struct meeting stream = {.gate = SCHED_SEM_INIT(0), .path = path, .items = now->n[3]};
    int open = now->n[2] == 0 ? pipe2(stream.ends, O_CLOEXEC)
                              : socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, stream.ends);
    CHECK(open == 0 || errno == EMFILE); /* many streams may be open at a time */
    uint64_t value = run_sides(&stream, writes, reads, now, open == 0, task, s);
    if (open == 0)
        CHECK_EQ(sched_close(stream.ends[0]), 0);
    if (open == 0 && !stream.count)
        CHECK_EQ(sched_close(stream.ends[1]), 0);
    CHECK(task->totals == &unread || stream.received == (stream.count ? stream.items : 0));
    return value;
}
