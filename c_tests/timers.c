/* timers: sched_timer_start and sched_timer_cancel. */
#include "case.h"
#include "child.h"
#include "everywhere.h"

enum { SHORT = 200000 }; /* ns */

static struct scheduler *_Atomic scheduler_of_run;
static atomic_int ran;
static sched_sem ran_sem = SCHED_SEM_INIT(0);

struct timed {
    sched_timer timer;
    sched_time deadline;
    atomic_int ran, cancelled;
};

static void note_run(void *closure, struct scheduler *s)
{
    struct timed *t = closure;
    CHECK(sched_now() >= t->deadline);
    t->ran++;
    ran++;
    CHECK_EQ(sched_sem_post(&ran_sem), 0);
}

static int start(struct timed *t, sched_time deadline, taskfunc f, struct scheduler *s)
{
    t->deadline = deadline;
    return sched_timer_start(&t->timer, deadline, f, t, s);
}

/* timer_once: A timer's function runs once, and not before its time, wherever the timer was started; at once if the time has
 * passed. Then the timer can be started again. A timer that was cancelled does not run.
 * ctest: static debug
 * ctest: matrix */
APART void starts_all(void *closure, struct scheduler *s)
{
    struct timed t = {.timer = SCHED_TIMER_INIT};
    const sched_time lengths[] = {1, 1025, SHORT, 0, -1, INT64_MIN};
    ran = 0;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        CHECK_EQ(start(&t, lengths[i] > 0 ? sched_now() + lengths[i] : lengths[i], note_run, s), 0);
        CHECK_EQ(sched_sem_wait(&ran_sem, s), 0);
        CHECK_EQ(ran, i + 1);
    }
    for (int again = 0; again < 3; again++) {
        CHECK_EQ(start(&t, again == 1 ? sched_now() + 1000 * SCHED_SECOND : SCHED_FOREVER, note_run, s), 0);
        CHECK_ERRNO(sched_timer_start(&t.timer, 0, nothing, NULL, s), EBUSY);
        CHECK_EQ(sched_timer_cancel(&t.timer), 0);
        CHECK_ERRNO(sched_timer_cancel(&t.timer), EALREADY);
    }
    CHECK_EQ(start(&t, 0, note_run, s), 0);
    CHECK_EQ(sched_sem_wait(&ran_sem, s), 0);
    CHECK_ERRNO(sched_timer_cancel(&t.timer), EALREADY);
    CHECK_EQ(t.ran, sizeof lengths / sizeof *lengths + 1);
    CHECK_EQ(sched_timer_init(&t.timer), 0);
    CHECK_ERRNO(sched_timer_cancel(&t.timer), EALREADY);
    CHECK_ERRNO(sched_timer_start(&t.timer, 0, NULL, NULL, s), EINVAL);
    CHECK_ERRNO(sched_timer_start(NULL, 0, nothing, NULL, s), EINVAL);
    CHECK_ERRNO(sched_sem_trywait(&ran_sem), EAGAIN);
}

static void note_scheduler(void *at, struct scheduler *s)
{
    *(struct scheduler **)at = s;
}

CASE(timer_once)
{
    struct timed t = {.timer = SCHED_TIMER_INIT};
    struct scheduler *ended;
    everywhere(starts_all);
    CHECK_ERRNO(sched_timer_init(NULL), EINVAL);
    CHECK_ERRNO(sched_timer_cancel(NULL), EINVAL);
    CHECK_EQ(sched_init(1, 10, note_scheduler, &ended), 0);
    CHECK_ERRNO(sched_timer_start(&t.timer, 0, nothing, NULL, ended), EINVAL);
    CHECK_ERRNO(sched_timer_cancel(&t.timer), EALREADY);
}

/* timer_own: In its own function a timer is no longer pending: it can be started again, there or in a task that the function
 * spawns, and its memory freed.
 * ctest: static debug
 * ctest: matrix */
enum { TIMES = 300 };
static struct timed own;

static void starts_again(void *closure, struct scheduler *s)
{
    struct timed *t = closure;
    CHECK(sched_now() >= t->deadline);
    CHECK_ERRNO(sched_timer_cancel(&t->timer), EALREADY);
    if (++t->ran < TIMES)
        CHECK_EQ(start(t, t->ran % 3 ? sched_now() + t->ran * 100 : 0, starts_again, s), 0);
}

static void frees(void *closure, struct scheduler *s)
{
    free(closure);
    CHECK_EQ(sched_sleep(1000, s), 0);
    ran++;
}

static void own_root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_timer_init(&own.timer), 0);
    CHECK_EQ(start(&own, 0, starts_again, s), 0);
    for (int i = 0; i < TIMES; i++) {
        struct timed *t = calloc(1, sizeof *t);
        CHECK(t != NULL);
        CHECK_EQ(start(t, sched_now() + i * 1000, frees, s), 0);
    }
}

CASE(timer_own)
{
    run(2, own_root);
    CHECK_EQ(own.ran, TIMES);
    CHECK_EQ(ran, TIMES);
}

/* timer_run: The run does not end, and sched_pool_wait and sched_pool_destroy do not return, before the timers have run that
 * tasks and threads outside have started; a cancelled timer is not waited for, whoever cancels it.
 * ctest: static debug
 * ctest: matrix */
static struct timed some[4];

static void *cancels_later(void *arg)
{
    struct timed *t = arg;
    pause_us(1000);
    CHECK_EQ(sched_timer_cancel(&t->timer), 0);
    return NULL;
}

static void run_root(void *closure, struct scheduler *s)
{
    CHECK_EQ(start(&some[0], sched_now() + SHORT, note_run, s), 0);
    CHECK_EQ(start(&some[1], sched_now() + 10 * SHORT, note_run, s), 0);
    CHECK_EQ(start(&some[2], SCHED_FOREVER, note_run, s), 0);
    CHECK_EQ(start(&some[3], sched_now() + 1000 * SCHED_SECOND, note_run, s), 0);
    CHECK_EQ(sched_timer_cancel(&some[2].timer), 0);
    CHECK_EQ(pthread_create(closure, NULL, cancels_later, &some[3]), 0);
}

CASE(timer_run)
{
    pthread_t thread;
    CHECK_EQ(sched_init(2, 10, run_root, &thread), 0);
    CHECK_EQ(ran, 2);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    for (int way = 0; way < 3; way++) {
        struct sched_pool *pool = pool_of(2);
        struct scheduler *s = sched_pool_scheduler(pool);
        ran = 0;
        if (way == 2)
            CHECK_EQ(sched_pool_run(pool, run_root, &thread), 0);
        else
            run_root(&thread, s);
        if (way == 0) {
            struct timed held = {.timer = SCHED_TIMER_INIT};
            CHECK_EQ(start(&held, SCHED_FOREVER, note_run, s), 0);
            CHECK_ERRNO(sched_pool_wait_until(pool, 0), ETIMEDOUT);
            CHECK_EQ(sched_timer_cancel(&held.timer), 0);
            CHECK_EQ(sched_pool_wait(pool), 0);
        } else {
            CHECK_EQ(sched_pool_destroy(pool), 0);
        }
        CHECK_EQ(ran, 2);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        if (way == 0)
            CHECK_EQ(sched_pool_destroy(pool), 0);
    }
}

/* timer_many: Many pending timers are cancelled, in another order and by another thread than they were started by; none runs.
 * Many that are due at once all run, once, while other tasks run.
 * ctest: static debug
 * ctest: matrix */
enum { PENDING = 100000 / SMALLER, DUE = 10000 / SMALLER };
static struct timed *many;

static void never(void *closure, struct scheduler *s)
{
    check_say("a cancelled timer has run\n");
    _exit(1);
}

static void start_many(struct scheduler *s)
{
    uint64_t x = 1;
    for (int i = 0; i < PENDING; i++)
        CHECK_EQ(start(&many[i], sched_now() + 1000 * SCHED_SECOND + (sched_time)(next_random(&x) >> (x % 40 + 23)), never, s), 0);
}

static void *cancels_half(void *arg)
{
    for (size_t i = 0, at = 0; i < PENDING / 2; i++, at = (at + 7919 * 2) % PENDING)
        if (at % 2 == 0)
            many[at].cancelled += sched_timer_cancel(&many[at].timer) == 0;
    return NULL;
}

static void other_tasks(void *closure, struct scheduler *s)
{
    while (ran < DUE)
        sched_task_yield(s);
}

static void many_root(void *closure, struct scheduler *s)
{
    start_many(s);
    pthread_t thread = begin_thread(cancels_half, NULL);
    for (int i = PENDING - 1; i >= 0; i--)
        many[i].cancelled += sched_timer_cancel(&many[i].timer) == 0;
    CHECK_EQ(pthread_join(thread, NULL), 0);
    for (int i = 0; i < PENDING; i++) {
        CHECK_EQ(many[i].cancelled, 1);
        CHECK_ERRNO(sched_timer_cancel(&many[i].timer), EALREADY);
    }
    spawn_all(3, other_tasks, s);
    sched_time at = sched_now() + SCHED_MILLISECOND;
    for (int i = 0; i < DUE; i++)
        CHECK_EQ(start(&many[i], at, note_run, s), 0);
}

CASE(timer_many)
{
    many = calloc(PENDING, sizeof *many);
    CHECK(many != NULL);
    run(3, many_root);
    CHECK_EQ(ran, DUE);
    for (int i = 0; i < DUE; i++)
        CHECK_EQ(many[i].ran, 1);
    free(many);
}

/* timer_race: A timer that is cancelled at its deadline either runs, or the cancellation returns 0; not both, and not neither.
 * The same for a timer that its function starts again and again: after the cancellation that returns 0 the function does not
 * run.
 * ctest: static debug
 * ctest: matrix
 * ctest: matrix deque=mutex,split idle=park threads=2,4 */
enum { RACES = 2000 / SMALLER, CHAINS = 200 / SMALLER };
static sched_sem raced = SCHED_SEM_INIT(0);

static void only_counts(void *closure, struct scheduler *s)
{
    ((struct timed *)closure)->ran++;
}

static void counts_and_tells(void *closure, struct scheduler *s)
{
    only_counts(closure, s);
    CHECK_EQ(sched_sem_post(&raced), 0);
}

static void *cancels_at_deadline(void *arg)
{
    uint64_t x = 17;
    for (int i = 0; i < RACES; i++) {
        struct timed t = {.timer = SCHED_TIMER_INIT};
        sched_time deadline = sched_now() + (sched_time)(next_random(&x) % 30000);
        CHECK_EQ(start(&t, deadline, counts_and_tells, scheduler_of_run), 0);
        while (sched_now() < deadline + (sched_time)(x % 3) * 1000)
            continue;
        int cancelled = sched_timer_cancel(&t.timer) == 0;
        if (!cancelled)
            CHECK_EQ(sched_sem_wait(&raced, NULL), 0);
        if (i % 8 == 0)
            pause_us(50);
        CHECK_EQ(t.ran + cancelled, 1);
    }
    return NULL;
}

static void again_at_once(void *closure, struct scheduler *s)
{
    struct timed *t = closure;
    t->ran++;
    CHECK_EQ(start(t, t->ran % 2 ? 0 : sched_now() + 2000, again_at_once, s), 0);
}

static void *stops_chains(void *arg)
{
    for (int i = 0; i < CHAINS; i++) {
        struct timed t = {.timer = SCHED_TIMER_INIT};
        CHECK_EQ(start(&t, 0, again_at_once, scheduler_of_run), 0);
        if (i % 4)
            while (t.ran < i % 8)
                sched_yield();
        while (sched_timer_cancel(&t.timer) != 0)
            continue;
        int before = t.ran;
        if (i % 8 == 0)
            pause_us(50);
        CHECK_EQ(t.ran, before);
    }
    return NULL;
}

CASE(timer_race)
{
    struct sched_pool *pool = pool_of(2);
    void *(*all[])(void *) = {cancels_at_deadline, stops_chains, stops_chains};
    pthread_t threads[3];
    scheduler_of_run = sched_pool_scheduler(pool);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, all[i], NULL), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* timer_fork: The child of a fork in a task, or beside a pool, has none of the timers and sleeping
 * tasks of its parent: its own runs end without them, and its timers and sleeps work. The parent's
 * continue.
 * ctest: static debug
 * ctest: matrix few idle=park threads=2 */
static struct timed forked[3];
static pid_t parent;

static void in_parent(void *closure, struct scheduler *s)
{
    if (getpid() != parent) {
        check_say("a timer of the parent runs in the child\n");
        _exit(1);
    }
    ran++;
}

static void child_task(void *closure, struct scheduler *s)
{
    struct timed *t = closure;
    CHECK_EQ(sched_sleep(SHORT, s), 0);
    CHECK_EQ(sched_timer_init(&t->timer), 0);
    CHECK_EQ(start(t, sched_now() + 20 * SHORT, note_run, s), 0);
}

static void child_lives(void *of_parent)
{
    struct timed t;
    ran = 0;
    t.ran = 0;
    alarm(60);
    CHECK_ERRNO(sched_timer_cancel(&forked[0].timer), EALREADY);
    CHECK_ERRNO(sched_timer_cancel(&forked[1].timer), EALREADY);
    CHECK_EQ(sched_sleep(SHORT, NULL), 0);
    CHECK_EQ(sched_init(2, 10, child_task, &t), 0);
    CHECK_EQ(t.ran, 1);
    CHECK_EQ(ran, 1);
    CHECK_EQ(sched_timer_init(&forked[2].timer), 0);
    CHECK_ERRNO(sched_timer_start(&forked[2].timer, 0, nothing, NULL, of_parent), EINVAL);
    CHECK_ERRNO(sched_sleep(SHORT, of_parent), EINVAL);
    CHECK_EQ(sched_init(2, 10, child_task, &forked[2]), 0);
    CHECK_EQ(forked[2].ran, 1);
}

static void long_sleeper(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sleep(20 * SHORT, s), 0);
    ran++;
}

static void fork_root(void *closure, struct scheduler *s)
{
    spawn_all(2, long_sleeper, s);
    CHECK_EQ(start(&forked[0], sched_now() + 20 * SHORT, in_parent, s), 0);
    CHECK_EQ(start(&forked[1], SCHED_FOREVER, in_parent, s), 0);
    CHECK_IN_CHILD(child_lives, s);
    CHECK_EQ(sched_timer_cancel(&forked[1].timer), 0);
}

CASE(timer_fork)
{
    struct sched_pool *pool = pool_of(2);
    parent = getpid();
    CHECK_EQ(sched_init(2, 10, fork_root, NULL), 0);
    CHECK_EQ(ran, 3);
    fork_root(NULL, sched_pool_scheduler(pool));
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_EQ(ran, 6);
}

/* timer_exit: A process ends while timers are pending and tasks sleep, by exit in a task, in main and in a timer's function;
 * and while many timers are due.
 * ctest: static debug
 * ctest: matrix few idle=park threads=2 */
static void leaves(void *closure, struct scheduler *s)
{
    exit(43);
}

static void endless_sleeper(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sleep(INT64_MAX, s), 0);
}

static void leave_root(void *closure, struct scheduler *s)
{
    struct timed *t = calloc(100, sizeof *t);
    CHECK(t != NULL);
    spawn_all(3, endless_sleeper, s);
    for (int i = 0; i < 100; i++)
        CHECK_EQ(start(&t[i], i % 3 ? SCHED_FOREVER : sched_now() + i * 10000, i % 3 ? nothing : only_counts, s), 0);
    struct timed *last = calloc(1, sizeof *last);
    CHECK(last != NULL);
    if (*(int *)closure == 0)
        leaves(NULL, s);
    else if (*(int *)closure == 1)
        CHECK_EQ(start(last, sched_now() + SHORT, leaves, s), 0);
}

static void leave(void *way)
{
    alarm(60);
    if (*(int *)way == 2) {
        struct sched_pool *pool = pool_of(2);
        CHECK_EQ(sched_pool_submit(pool, leave_root, way), 0);
        pause_us(300);
        exit(43);
    }
    sched_init(2, 200, leave_root, way);
    check_say("sched_init came back\n");
}

CASE(timer_exit)
{
    for (int way = 0; way < 3; way++) {
        in_child(leave, &way);
        CHECK_CHILD_EXITED(43);
    }
}

/* timer_debug: Debug builds of the library find a pending timer whose memory was freed or used for something else, or that was
 * initialised anew or copied: when it expires, when it or one beside it is cancelled, or when it is started. The process ends
 * with a message.
 * ctest: debug=only
 * ctest: matrix few idle=park threads=1,4 */
static struct timed *lost, *beside[2];
static atomic_int has_expired;

static void notes_expiry(void *closure, struct scheduler *s)
{
    has_expired = 1;
}

static void frees_pending(struct scheduler *s)
{
    free(lost);
    lost = malloc(sizeof *lost);
    CHECK(lost != NULL);
    memset(lost, 17, sizeof *lost);
}

static void zeroes_pending(struct scheduler *s)
{
    memset(lost, 0, sizeof *lost);
}

static void changes_closure(struct scheduler *s)
{
    lost->timer.closure = &lost;
}

static void initialises_pending(struct scheduler *s)
{
    CHECK_EQ(sched_timer_init(&lost->timer), 0);
    CHECK_EQ(start(lost, sched_now() + SHORT, notes_expiry, s), 0);
}

static void cancels_overwritten(struct scheduler *s)
{
    memset(lost, 17, sizeof *lost);
    sched_timer_cancel(&lost->timer);
}

static void starts_overwritten(struct scheduler *s)
{
    memset(lost, 17, sizeof *lost);
    CHECK_EQ(sched_timer_start(&lost->timer, 0, nothing, NULL, s), 0);
}

static void cancels_copy(struct scheduler *s)
{
    struct timed copy = *lost;
    sched_timer_cancel(&copy.timer);
}

static void cancels_one_before(struct scheduler *s)
{
    memset(lost, 17, sizeof *lost);
    sched_timer_cancel(&beside[0]->timer);
}

static void cancels_one_behind(struct scheduler *s)
{
    memset(lost, 17, sizeof *lost);
    sched_timer_cancel(&beside[1]->timer);
}

static const struct loss {
    void (*loses)(struct scheduler *s);
    int expires;
    const char *says;
} losses[] = {
    {frees_pending, 1, "used for something else"},
    {zeroes_pending, 1, "used for something else"},
    {changes_closure, 1, "the memory of a sched_timer was freed or used for something else"},
    {initialises_pending, 1, "used for something else"},
    {cancels_overwritten, 0, "sched_timer_cancel: the timer was not initialised"},
    {starts_overwritten, 0, "sched_timer_start: the timer was not initialised"},
    {cancels_copy, 0, "sched_timer_cancel: the timer was not initialised, was copied"},
    {cancels_one_before, 0, "the memory of a pending sched_timer"},
    {cancels_one_behind, 0, "the memory of a pending sched_timer"},
};

static struct timed *pending_timer(sched_time deadline, struct scheduler *s)
{
    struct timed *t = calloc(1, sizeof *t);
    CHECK(t != NULL);
    CHECK_EQ(start(t, deadline, notes_expiry, s), 0);
    return t;
}

/* A timer may expire before its memory is lost: then another one is started. */
static void loses_timers(void *closure, struct scheduler *s)
{
    const struct loss *loss = closure;
    for (;;) {
        sched_time deadline = sched_now() + (loss->expires ? SHORT : 1000 * SCHED_SECOND);
        has_expired = 0;
        if (!loss->expires)
            beside[0] = pending_timer(deadline, s);
        lost = pending_timer(deadline, s);
        if (!loss->expires)
            beside[1] = pending_timer(deadline, s);
        loss->loses(s);
        while (!has_expired)
            CHECK_EQ(sched_sleep(SHORT, s), 0);
    }
}

static void loss_run(void *loss)
{
    alarm(20);
    sched_init(4, 10, loses_timers, loss);
}

CASE(timer_debug)
{
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        in_child(loss_run, (void *)&losses[i]);
        CHECK_CHILD_ABORTED("libsched: ");
        CHECK_CHILD_SAID(losses[i].says);
    }
}
