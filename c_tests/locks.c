/* locks: mutexes, conditions, semaphores and once. */
#include "case.h"
#include "sync.h"
#include "block.h"
#include "proc.h"
#include "child.h"
#include "marks.h"
#include "aside.h"
#include <sched_tasks.h>

/* mutex: A mutex excludes other holders, also if its holder yields and continues elsewhere. trylock
 * never waits.
 * ctest: static debug
 * ctest: matrix refuse
 * ctest: matrix idle=park join=help
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
enum { MUTEX_TASKS = 20, MUTEX_ROUNDS = 40 };

static sched_mutex mutex_m = SCHED_MUTEX_INIT, tried;
static long count, quick;
static atomic_int mutex_inside, mutex_ended;

APART void is_busy(void)
{
    CHECK_ERRNO(sched_mutex_trylock(&mutex_m), EBUSY);
}

static void adds(void *closure, struct scheduler *s)
{
    for (int i = 0; i < MUTEX_ROUNDS; i++) {
        CHECK_EQ(sched_mutex_lock(&mutex_m, s), 0);
        CHECK_EQ(atomic_fetch_add(&mutex_inside, 1), 0);
        is_busy();
        long before = count;
        if (i % 4 == 0)
            sched_task_yield(s);
        count = before + 1;
        CHECK_EQ(atomic_fetch_sub(&mutex_inside, 1), 1);
        CHECK_EQ(sched_mutex_unlock(&mutex_m), 0);
        if (sched_mutex_trylock(&tried) == 0) {
            quick++;
            CHECK_EQ(sched_mutex_unlock(&tried), 0);
        }
    }
    mutex_ended++;
}

static void mutex_root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_init(&tried), 0);
    spawn_all(MUTEX_TASKS, adds, s);
}

CASE(mutex)
{
    run(4, mutex_root);
    CHECK_EQ(mutex_ended, MUTEX_TASKS);
    CHECK_EQ(count, MUTEX_TASKS * MUTEX_ROUNDS);
    CHECK(quick > 0);
    CHECK_ERRNO(sched_mutex_unlock(&mutex_m), EPERM);
}

/* mutex_convoy: A task that unlocks a mutex and locks it again at once goes on, although others
 * wait: the mutex is handed over now and then, not at each unlock.
 * ctest: matrix idle=park threads=1 */
enum { MUTEX_CONVOY_TASKS = 8, MUTEX_CONVOY_ROUNDS = 4000 / SMALLER };

static sched_mutex m = SCHED_MUTEX_INIT;
static int mutex_convoy_came;
static long last = -1, mutex_convoy_turns, mutex_convoy_sections;

static void mutex_convoy_enters(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    for (int i = 0; i < MUTEX_CONVOY_ROUNDS; i++) {
        CHECK_EQ(sched_mutex_lock(&m, s), 0);
        mutex_convoy_turns += last != (long)closure;
        last = (long)closure;
        mutex_convoy_sections++;
        CHECK_EQ(sched_mutex_unlock(&m), 0);
    }
}

static void comes(void *closure, struct scheduler *s)
{
    mutex_convoy_came++;
    mutex_convoy_enters(closure, s);
}

static void mutex_convoy_root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    spawn_all(MUTEX_CONVOY_TASKS, comes, s);
    while (mutex_convoy_came < MUTEX_CONVOY_TASKS)
        sched_task_yield(s);
    CHECK_EQ(sched_mutex_unlock(&m), 0); /* from now on all want it, all the time */
}

CASE(mutex_convoy)
{
    run(1, mutex_convoy_root);
    CHECK_EQ(mutex_convoy_sections, MUTEX_CONVOY_TASKS * MUTEX_CONVOY_ROUNDS);
    CHECK(mutex_convoy_turns >= MUTEX_CONVOY_TASKS);
    /* A turn ends after 4096 sections, or after half a millisecond, in which thousands have room. */
    CHECK(mutex_convoy_turns < MUTEX_CONVOY_TASKS * MUTEX_CONVOY_ROUNDS / 8);
}

/* mutex_holder: Who has locked a mutex unlocks it, wherever it is by then: deep in calls, on
 * another worker, in a blocking section, in a run of its own; nobody is taken for another.
 * ctest: static debug
 * ctest: matrix threads=1,4 join=suspend */
enum { MUTEX_HOLDER_TASKS = 40, DEPTH = 100 };

static sched_mutex mutex_holder_m = SCHED_MUTEX_INIT, own[MUTEX_HOLDER_TASKS]; /* zero is SCHED_MUTEX_INIT */
static sched_cond c = SCHED_COND_INIT;
static struct scheduler *of_outer;
static atomic_int unlocked;
static int mutex_holder_turns;

/* Unlocks at the bottom of many frames, or locks there. */
__attribute__((noinline)) static void dig(int depth, int locks, struct scheduler *s)
{
    volatile char frame[1024];
    frame[0] = (char)depth;
    if (depth > 0)
        dig(depth - 1, locks, s);
    else
        CHECK_EQ(locks ? sched_mutex_lock(&mutex_holder_m, s) : sched_mutex_unlock(&mutex_holder_m), 0);
    frame[1] = frame[0];
}

static void mutex_holder_task(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    sched_task t;
    dig(i % 2 ? DEPTH : 0, 1, s);
    mutex_holder_turns++;
    if (i % 3 == 0)
        sched_task_yield(s);
    sched_fork(&t, nothing, NULL, s);
    if (i % 5 == 0)
        block(50, s);
    sched_join(&t, s);
    if (i % 7 == 0)
        begin(s);
    dig(i % 4 > 1 ? DEPTH : 0, 0, s);
    if (i % 7 == 0)
        end(s);
    /* The task that could not lock the mutex has not locked it. */
    if (sched_mutex_trylock(&mutex_holder_m) == 0)
        CHECK_EQ(sched_mutex_unlock(&mutex_holder_m), 0);
    CHECK_EQ(sched_mutex_lock(&mutex_holder_m, s), 0);
    while (i == 0 && mutex_holder_turns < MUTEX_HOLDER_TASKS)
        CHECK_EQ(sched_cond_wait(&c, &mutex_holder_m, s), 0);
    CHECK_EQ(sched_cond_signal(&c), 0);
    CHECK_EQ(sched_mutex_unlock(&mutex_holder_m), 0);
    atomic_fetch_add(&unlocked, 1);
}

/* By the s of the run that this lies in, and by its own. */
static void inner(void *closure, struct scheduler *s)
{
    sched_mutex *mine = &own[(long)closure];
    CHECK_EQ(sched_mutex_lock(mine, of_outer), 0);
    CHECK_EQ(sched_mutex_lock(&mutex_holder_m, s), 0);
    sched_task_yield(s);
    CHECK_EQ(sched_mutex_unlock(&mutex_holder_m), 0);
    CHECK_EQ(sched_mutex_unlock(mine), 0);
}

static void inners(void *closure, struct scheduler *s)
{
    spawn_all(MUTEX_HOLDER_TASKS, inner, s);
}

static void *mutex_holder_thread(void *s)
{
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(sched_mutex_lock(&mutex_holder_m, s), 0);
        CHECK_EQ(sched_mutex_unlock(&mutex_holder_m), 0);
    }
    return NULL;
}

static void mutex_holder_root(void *closure, struct scheduler *s)
{
    of_outer = s;
    CHECK_EQ(sched_init(1, MUTEX_HOLDER_TASKS, inners, NULL), 0); /* first: waits there keep this worker */
    spawn_all(MUTEX_HOLDER_TASKS, mutex_holder_task, s);
    pthread_t other = begin_thread(mutex_holder_thread, s);
    begin(s);
    CHECK_EQ(pthread_join(other, NULL), 0);
    end(s);
}

CASE(mutex_holder)
{
    run(4, mutex_holder_root);
    CHECK_EQ(unlocked, MUTEX_HOLDER_TASKS);
}

/* mutex_order: Waiters for a mutex, a semaphore or a condition get it in the order in which they
 * came.
 * ctest: matrix idle=park threads=1
 * ctest: matrix idle=park threads=1 join=help */
enum { MUTEX_ORDER_N = 50 };
static sched_sem mutex_order_sem = SCHED_SEM_INIT(0);
static int mutex_order_came[MUTEX_ORDER_N], got[MUTEX_ORDER_N], arrivals, mutex_order_turns;

static void arrive(long i) { mutex_order_came[arrivals++] = (int)i; }

static void got_it(long i) { got[mutex_order_turns++] = (int)i; }

static void check_order(void)
{
    CHECK_EQ(arrivals, MUTEX_ORDER_N);
    CHECK_EQ(mutex_order_turns, MUTEX_ORDER_N);
    for (int i = 0; i < MUTEX_ORDER_N; i++)
        CHECK_EQ(got[i], mutex_order_came[i]);
    arrivals = mutex_order_turns = 0;
}

static void locks(void *closure, struct scheduler *s)
{
    arrive((long)closure);
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    got_it((long)closure);
    if ((long)closure % 3 == 0)
        sched_task_yield(s);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
}

static void mutex_order_waits(void *closure, struct scheduler *s)
{
    arrive((long)closure);
    CHECK_EQ(sched_sem_wait(&mutex_order_sem, s), 0);
    got_it((long)closure);
    CHECK_EQ(sched_sem_post(&mutex_order_sem), 0);
}

static void awaits(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    arrive((long)closure);
    CHECK_EQ(sched_cond_wait(&c, &m, s), 0);
    got_it((long)closure);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
}

static void mutex_order_wait_for(int *number, int n, struct scheduler *s)
{
    while (*number < n)
        sched_task_yield(s);
}

static void mutex_order_root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    spawn_all(MUTEX_ORDER_N, locks, s);
    mutex_order_wait_for(&arrivals, MUTEX_ORDER_N, s);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    mutex_order_wait_for(&mutex_order_turns, MUTEX_ORDER_N, s);
    check_order();

    spawn_all(MUTEX_ORDER_N, mutex_order_waits, s);
    mutex_order_wait_for(&arrivals, MUTEX_ORDER_N, s);
    CHECK_EQ(sched_sem_post(&mutex_order_sem), 0);
    mutex_order_wait_for(&mutex_order_turns, MUTEX_ORDER_N, s);
    check_order();
    while (sched_sem_trywait(&mutex_order_sem) != 0)
        sched_task_yield(s);

    for (int how = 0; how < 2; how++) {
        spawn_all(MUTEX_ORDER_N, awaits, s);
        mutex_order_wait_for(&arrivals, MUTEX_ORDER_N, s);
        CHECK_EQ(sched_mutex_lock(&m, s), 0);
        for (int i = 0; how == 0 && i < MUTEX_ORDER_N; i++)
            CHECK_EQ(sched_cond_signal(&c), 0);
        if (how == 1)
            CHECK_EQ(sched_cond_broadcast(&c), 0);
        sched_task_yield(s);
        CHECK_EQ(mutex_order_turns, 0); /* the mutex is held */
        CHECK_EQ(sched_mutex_unlock(&m), 0);
        mutex_order_wait_for(&mutex_order_turns, MUTEX_ORDER_N, s);
        check_order();
    }
}

CASE(mutex_order)
{
    run(1, mutex_order_root);
}

/* mutex_overtaken: A task or thread that waits for a mutex is overtaken at most 4096 times while it
 * is the oldest waiter. A waiter with k others before it is overtaken at most 4096 * (k + 1) times.
 * ctest: static debug
 * ctest: matrix idle=park
 * ctest: matrix idle=park threads=1 join=help */
enum { MUTEX_OVERTAKEN_TASKS = 5, THREADS = 3, BOTH = MUTEX_OVERTAKEN_TASKS + THREADS, MUTEX_OVERTAKEN_ROUNDS = 20, BOUND = 4096 };
static atomic_int mutex_overtaken_came, mutex_overtaken_ended;
static long overtaken[BOTH]; /* how often main has had the mutex while each waited */
static long mutex_overtaken_sections;        /* of main, in this round */

static void mutex_overtaken_waits(long i, struct scheduler *s)
{
    mutex_overtaken_came++;
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    overtaken[i] = mutex_overtaken_sections;
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    mutex_overtaken_ended++;
}

static void mutex_overtaken_task(void *closure, struct scheduler *s)
{
    mutex_overtaken_waits((long)closure, s);
}

static void mutex_overtaken_root(void *closure, struct scheduler *s)
{
    spawn_all(MUTEX_OVERTAKEN_TASKS, mutex_overtaken_task, s);
}

static void *runs(void *arg)
{
    run(2, mutex_overtaken_root);
    return NULL;
}

static void *mutex_overtaken_thread(void *arg)
{
    mutex_overtaken_waits((long)arg, NULL);
    return NULL;
}

/* True if all other threads of the process sleep. */
static int others_sleep(void)
{
    char path[64], line[512];
    int sleep = 1;
    DIR *dir = opendir("/proc/self/task");
    CHECK(dir != NULL);
    for (struct dirent *e; sleep && (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] == '.' || atol(e->d_name) == getpid())
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", e->d_name);
        FILE *file = fopen(path, "r");
        size_t n = file == NULL ? 0 : fread(line, 1, sizeof line - 1, file);
        line[n] = '\0';
        char *name_end = strrchr(line, ')');
        sleep = name_end == NULL || strncmp(name_end, ") S", 3) == 0;
        if (file != NULL)
            fclose(file);
    }
    closedir(dir);
    return sleep;
}

/* Waits until all have come, and sleep: then each of them waits for the mutex. */
static void wait_for_all(void)
{
    for (struct patience p = patience_of(20); is_patient(&p); pause_us(200))
        if (mutex_overtaken_came == BOTH && others_sleep() && (pause_us(1000), others_sleep()))
            return;
    puts("the threads do not come to rest");
    exit(77);
}

static int compare(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

CASE(mutex_overtaken)
{
    long all = 0;
    for (int round = 0; round < MUTEX_OVERTAKEN_ROUNDS; round++) {
        pthread_t threads[THREADS], runner;
        mutex_overtaken_came = mutex_overtaken_ended = 0;
        CHECK_EQ(sched_mutex_lock(&m, NULL), 0);
        CHECK_EQ(pthread_create(&runner, NULL, runs, NULL), 0);
        for (long i = 0; i < THREADS; i++)
            CHECK_EQ(pthread_create(&threads[i], NULL, mutex_overtaken_thread, (void *)(MUTEX_OVERTAKEN_TASKS + i)), 0);
        wait_for_all();
        mutex_overtaken_sections = 0;
        CHECK_EQ(sched_mutex_unlock(&m), 0);
        while (mutex_overtaken_ended < BOTH) {
            CHECK_EQ(sched_mutex_lock(&m, NULL), 0);
            mutex_overtaken_sections++;
            CHECK_EQ(sched_mutex_unlock(&m), 0);
        }
        for (int i = 0; i < THREADS; i++)
            CHECK_EQ(pthread_join(threads[i], NULL), 0);
        CHECK_EQ(pthread_join(runner, NULL), 0);
        qsort(overtaken, BOTH, sizeof overtaken[0], compare);
        for (long k = 0; k < BOTH; k++)
            CHECK(overtaken[k] <= BOUND * (k + 1));
        all += overtaken[0];
    }
    CHECK(all > 0); /* in one of the rounds main was faster than the first that it woke */
}

/* mutex_recursive: A task that locks its mutex again would wait for itself; the library says so,
 * after a yield, too.
 * ctest: debug */
static void mutex_recursive_task(void *closure, struct scheduler *s)
{
    sched_mutex_lock(&m, s);
    sched_task_yield(s);
    sched_mutex_lock(&m, s);
}

static void body(void *arg)
{
    sched_init(2, 10, mutex_recursive_task, NULL);
}

CASE(mutex_recursive)
{
    in_child(body, NULL);
    CHECK_CHILD_ABORTED("libsched");
    CHECK_CHILD_SAID("sched_mutex_lock: the caller has locked the mutex already");
}

/* cond: A bounded buffer with two conditions: each item comes out once, no wake-up is lost.
 * ctest: static debug
 * ctest: matrix refuse
 * ctest: matrix idle=park join=help
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
enum { PRODUCERS = 6, CONSUMERS = 4, ITEMS = 60, ROOM = 3, ALL = PRODUCERS * ITEMS };
static sched_cond not_empty = SCHED_COND_INIT, not_full, cond_over = SCHED_COND_INIT;
static long buffer[ROOM];
static int length, taken, left = CONSUMERS;

static void produces(void *closure, struct scheduler *s)
{
    for (long i = 0; i < ITEMS; i++) {
        CHECK_EQ(sched_mutex_lock(&m, s), 0);
        while (length == ROOM)
            CHECK_EQ(sched_cond_wait(&not_full, &m, s), 0);
        buffer[length++] = (long)closure * ITEMS + i;
        CHECK(length <= ROOM);
        CHECK_EQ(sched_cond_signal(&not_empty), 0);
        CHECK_EQ(sched_mutex_unlock(&m), 0);
    }
}

static void consumes(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    for (;;) {
        while (length == 0 && taken < ALL)
            CHECK_EQ(sched_cond_wait(&not_empty, &m, s), 0);
        if (taken == ALL)
            break;
        mark(buffer[--length]);
        taken++;
        CHECK_EQ(sched_mutex_unlock(&m), 0);
        CHECK_EQ(sched_cond_signal(&not_full), 0); /* without the mutex */
        CHECK_EQ(sched_mutex_lock(&m, s), 0);
    }
    if (--left == 0)
        CHECK_EQ(sched_cond_signal(&cond_over), 0);
    CHECK_EQ(sched_cond_broadcast(&not_empty), 0);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
}

static void cond_root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_cond_init(&not_full), 0);
    spawn_all(CONSUMERS, consumes, s);
    spawn_all(PRODUCERS, produces, s);
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    while (left > 0)
        CHECK_EQ(sched_cond_wait(&cond_over, &m, s), 0);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    CHECK_EQ(taken, ALL);
}

CASE(cond)
{
    run(4, cond_root);
    check_marks(ALL);
}

/* cond_turns: Two tasks signal each other in turn, a hunt for lost wake-ups; a third, queued below
 * them, has its turn all the same, in every kind.
 * ctest: matrix idle=park,spin
 * ctest: matrix idle=park join=help */
enum { TURNS = 500 };
static sched_cond turned = SCHED_COND_INIT;
static int turn, cond_turns_over;
static atomic_int third;

static void player(void *closure, struct scheduler *s)
{
    int me = (int)(long)closure;
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    while (!cond_turns_over) {
        while (turn % 2 != me && !cond_turns_over)
            CHECK_EQ(sched_cond_wait(&turned, &m, s), 0);
        turn++;
        cond_turns_over |= third && turn > TURNS;
        CHECK_EQ(sched_cond_signal(&turned), 0);
    }
    CHECK_EQ(sched_cond_broadcast(&turned), 0);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
}

static void is_third(void *closure, struct scheduler *s)
{
    third = 1;
}

static void cond_turns_root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(is_third, NULL, s), 0);
    spawn_all(2, player, s);
}

CASE(cond_turns)
{
    run(2, cond_turns_root);
    CHECK(cond_turns_over);
}

/* once: Every task runs exactly once, whatever the shape of the tree.
 * ctest: matrix few static */
enum { ONCE_N = 3000 };

MARKING_TREE(once_task, 4, ONCE_N)

CASE(once)
{
    CHECK_EQ(sched_init(4, 16, once_task, (void *)0), 0);
    check_marks(ONCE_N);
}

/* sem: A semaphore of K lets K in at a time; units that nobody waits for are kept; a semaphore that
 * a task frees after it has passed is not touched any more.
 * ctest: static debug
 * ctest: matrix refuse
 * ctest: matrix idle=park join=help
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
enum { SEM_TASKS = 16, SEM_ROUNDS = 20, K = 3, FREED = 60 };

static sched_sem sem_sem = SCHED_SEM_INIT(K), done;
static atomic_int sem_inside;

APART void is_empty(sched_sem *empty)
{
    CHECK_ERRNO(sched_sem_trywait(empty), EAGAIN);
}

static void sem_enters(void *closure, struct scheduler *s)
{
    for (int i = 0; i < SEM_ROUNDS; i++) {
        CHECK_EQ(sched_sem_wait(&sem_sem, s), 0);
        int now_in = atomic_fetch_add(&sem_inside, 1) + 1;
        CHECK(now_in <= K);
        sched_task_yield(s);
        sem_inside--;
        CHECK_EQ(sched_sem_post(&sem_sem), 0);
    }
    CHECK_EQ(sched_sem_post(&done), 0);
}

static void posts(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_post(closure), 0);
}

static void sem_root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_init(&done, 0), 0);
    spawn_all(SEM_TASKS, sem_enters, s);
    CHECK_TIMES(SEM_TASKS, sched_sem_wait(&done, s));
    is_empty(&done);
    CHECK_TIMES(K, sched_sem_trywait(&sem_sem));
    is_empty(&sem_sem);
    for (int i = 0; i < FREED; i++) {
        sched_sem *own = malloc(sizeof *own);
        CHECK(own != NULL);
        CHECK_EQ(sched_sem_init(own, 0), 0);
        CHECK_EQ(sched_spawn(posts, own, s), 0);
        CHECK_EQ(sched_sem_wait(own, s), 0);
        memset(own, 0xff, sizeof *own);
        free(own);
    }
}

CASE(sem)
{
    run(4, sem_root);
    CHECK_EQ(sem_inside, 0);
}

/* planted: What tasks do wrong, the sanitizers find, on a stack of the library's and after a wait:
 * a use after free, a write beyond an array, a leak, a race. And where nothing is wrong, an exit in
 * the midst of a run included, they are quiet. Without a sanitizer there is nothing to see. */
static volatile size_t beyond = 9; /* volatile: not for the compiler to see */
static char *volatile kept;
static volatile int shared;
static int begun;

static void use_after_free(struct scheduler *s)
{
    kept = malloc(8);
    CHECK(kept != NULL);
    free(kept);
    change_thread(s);
    ((volatile char *)kept)[0] = 1;
}

static void write_beyond(struct scheduler *s)
{
    volatile char few[8];
    change_thread(s);
    few[beyond] = 1;
    (void)few[0];
}

static void leak(struct scheduler *s)
{
    kept = malloc(80);
    change_thread(s);
    kept = NULL;
}

static void writes(void *closure, struct scheduler *s)
{
    __atomic_store_n(&begun, 1, __ATOMIC_RELAXED);
    shared++;
}

static void race(struct scheduler *s)
{
    sched_task t;
    unsigned turns = 0;
    change_thread(s);
    sched_fork(&t, writes, NULL, s);
    while (!__atomic_load_n(&begun, __ATOMIC_RELAXED))
        spin(&turns);
    shared++;
    sched_join(&t, s);
}

/* The only pointers to what was allocated are on stacks: of a task that waits, and of the program. Not
 * instrumented: locals would be on a fake stack, and LSan looks only at those of who runs. */
__attribute__((no_sanitize_address)) static void holds(void *closure, struct scheduler *s)
{
    char *volatile held = malloc(8);
    CHECK(held != NULL);
    __atomic_store_n((int *)closure, 1, __ATOMIC_SEQ_CST);
    for (;;)
        sched_task_yield(s);
}

static void exits(struct scheduler *s)
{
    int holding = 0;
    change_thread(s);
    CHECK_EQ(sched_spawn(holds, &holding, s), 0);
    while (!__atomic_load_n(&holding, __ATOMIC_SEQ_CST))
        sched_task_yield(s);
    exit(0);
}

static void orderly(struct scheduler *s)
{
    for (int i = 0; i < 10; i++) {
        sched_task t;
        int local = i;
        sched_fork(&t, aside_other, &local, s);
        sched_join(&t, s);
        CHECK_EQ(local, 1);
        wait_aside(s);
    }
}

enum wrong { USE_AFTER_FREE, WRITE_BEYOND, LEAK, RACE };
__attribute__((unused)) static void (*const wrong[])(struct scheduler *) = {
    use_after_free, write_beyond, leak, race,
};

static void planted_root(void *closure, struct scheduler *s)
{
    void (**what)(struct scheduler *) = closure;
    (*what)(s);
}

__attribute__((no_sanitize_address)) static void planted_run(void *closure)
{
    char *volatile held = malloc(8);
    CHECK(held != NULL);
    CHECK_EQ(sched_init(2, 4, planted_root, closure), 0);
    free(held);
    exit(0);
}

static void does(void (*what)(struct scheduler *))
{
    in_child(planted_run, &what);
}

CASE(planted)
{
#if defined __SANITIZE_ADDRESS__
    does(wrong[USE_AFTER_FREE]);
    CHECK_CHILD_SAID("heap-use-after-free");
    does(wrong[WRITE_BEYOND]);
    CHECK_CHILD_SAID("stack-buffer-overflow");
    does(wrong[LEAK]);
    CHECK_CHILD_SAID("80 byte(s) leaked");
#elif defined __SANITIZE_THREAD__
    does(wrong[RACE]);
    CHECK_CHILD_SAID("data race");
#else
    skip("built without a sanitizer");
#endif
    does(exits);
    CHECK_CHILD_PASSED();
    CHECK(child.said[0] == 0);
    does(orderly);
    CHECK_CHILD_PASSED();
    CHECK(child.said[0] == 0);
}
