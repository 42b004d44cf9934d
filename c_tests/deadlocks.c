/* deadlocks: runs in which every task waits. */
#include "case.h"
#include "child.h"
#include "waits.h"
#include "stuck.h"
#include "block.h"
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

/* deadlock: When no task can ever continue, the process ends and says for each task what it waits
 * for, who could end the wait, and where it waits; tasks that wait for each other in a circle are
 * named together.
 * ctest: static sleeps
 * ctest: matrix few join=suspend idle=park,spin threads=1,4 */
/* Where a text stands in what the child said, or the test fails. */
static const char *find(const char *text)
{
    const char *at = strstr(child.said, text);
    check_child(__FILE__, __LINE__, at != NULL, text);
    return at;
}

/* The sanitizer that finds races has a thread of its own, and no run in its process is a deadlock. */
static void needs_only_own_threads(void)
{
#ifdef __SANITIZE_THREAD__
    skip("the sanitizer has a thread of its own, which might wake a task");
#endif
}

/* The number of the task with this function and this wait, as in "task 7 (circle_a) waits". */
static int number_of(const char *function_and_wait)
{
    const char *at = find(function_and_wait);
    while (strncmp(at, "task ", 5) != 0)
        at--;
    return atoi(at + 5);
}

static void check_holder(const char *waiter, const char *mutex, const char *holder)
{
    char text[200];
    const char *line = find(waiter);
    snprintf(text, sizeof text, "(%s); task %d (%s) holds it", mutex, number_of(holder), strchr(holder, '(') + 1);
    *strchr(strstr(text, "; task"), ')') = 0;
    const char *said = strstr(line, text);
    check_child(__FILE__, __LINE__, said != NULL && said < strchr(line, '\n'), text);
}

static void all_ways(void *variable)
{
    alarm(60);
    if (variable != NULL)
        setenv(variable, strcmp(variable, "SCHED_TRACE") == 0 ? "/dev/null" : "1min", 1);
    sched_init(2, 100, wait_in_all_ways, NULL);
}

static void only_main_waits(void *arg)
{
    alarm(60);
    sched_init(1, 100, wait_for_ever, NULL);
}

/* Checks with this variable, or without any if it is NULL. */
static void check_all_ways(const char *variable)
{
    in_child(all_ways, (void *)variable);
    CHECK_CHILD_ABORTED("deadlock: 12 tasks wait for ever");
    find("12 tasks wait, 0 are queued for all");
    find("worker 0: idle; 0 queued");
    find("(member) waits for the semaphore 0x");
    find("(at_barrier) waits at the barrier 0x");
    find("(meeting); 2 of 3 have come");
    find("(has_group) waits for the group 0x");
    find("; 3 tasks are left");
    find("(in_condition) waits for the condition 0x");
    find("(changed), with the mutex 0x");
    find("      lock_both+0x"); /* a function that the task's has called */
    check_holder("(circle_a) waits for the mutex", "lock_b", "(circle_b) waits");
    check_holder("(circle_b) waits for the mutex", "lock_a", "(circle_a) waits");
    check_holder("(forked) waits for the mutex", "lock_a", "(circle_a) waits");
    check_holder("(wants_mine) waits for the mutex", "mine", "(joins) joins");

    char text[200];
    int joined = number_of("(forked) waits for the mutex");
    snprintf(text, sizeof text, "(joins) joins task %d (forked)\n", joined);
    find(text);
    int a = number_of("(circle_a) waits"), b = number_of("(circle_b) waits");
    const char *circle = find("a circle: ");
    snprintf(text, sizeof text, "task %d (circle_a) waits for the mutex that task %d (circle_b) holds", a, b);
    CHECK(strstr(circle, text) != NULL);
    snprintf(text, sizeof text, "task %d (circle_b) waits for the mutex that task %d (circle_a) holds", b, a);
    CHECK(strstr(circle, text) != NULL);
    CHECK(strstr(circle + 1, "a circle: ") == NULL);
}

/* A task that joins another task, which waits for an object that the first task holds. */
static void joins_what_waits(void *closure, struct scheduler *s)
{
    sched_task t, *volatile at = &t; /* in no register: see waits.h */
    sched_mutex_lock(&lock_a, s);
    sched_fork(at, forked, NULL, s);
    sched_sem_wait(&ready, s);
    sched_join(at, s);
    check_say("joined\n");
}

static void joins_in_a_circle(void *arg)
{
    alarm(60);
    sched_init(2, 100, joins_what_waits, NULL);
}

CASE(deadlock)
{
    const char *idle = getenv("SCHED_IDLE");
    needs_only_own_threads();
    in_child(only_main_waits, NULL);
    CHECK_CHILD_ABORTED("deadlock: a task waits for ever");
    find("task 1 (wait_for_ever) waits for the semaphore 0x");
    find("      wait_for_ever+0x");

    in_child(joins_in_a_circle, NULL);
    CHECK_CHILD_ABORTED("deadlock: 2 tasks wait for ever");
    CHECK(strstr(find("a circle: "), "(joins_what_waits) joins task ") != NULL);
    CHECK(strstr(find("a circle: "), "(forked) waits for the mutex that task ") != NULL);

    check_all_ways(NULL);
    if (idle == NULL || strcmp(idle, "park") == 0) {
        check_all_ways("SCHED_WATCHDOG");
        check_all_ways("SCHED_TRACE");
    }
}

/* deadlock_doubt: No task can continue, but something other than a thread of the process might
 * help, or the program does not want to be ended: the table in libsched(7), DIAGNOSTICS, row by
 * row. The text is written once, and the process continues.
 * ctest: static sleeps timeout=60
 * ctest: matrix few kind=steal,lifo,cont,serial join=suspend idle=park threads=2 deque=split,mutex global=one overflow=grow */
enum { LOOKS_MS = 2500 }; /* longer than two looks are apart */

static void one_task_waits(void)
{
    sched_sem_init(&never, 0);
    alarm(20);
    sched_init(2, 10, wait_for_ever, NULL);
}

/* --- a handler ---------------------------------------------------------------- */

static void leaves(int number)
{
    _exit(3);
}

static void with_handler(void *number)
{
    signal(*(int *)number, leaves);
    one_task_waits();
}

/* The child says `text` and continues. Then `number` is sent; returns the child's status. */
static int told(void (*body)(void *), void *arg, const char *text, int number)
{
    int said;
    child.said[0] = 0;
    pid_t pid = begin_child(body, arg, &said);
    check_child(__FILE__, __LINE__, reads_until(said, text), text);
    check_child(__FILE__, __LINE__, reads_until(said, "; the process continues\n"), "continues");
    pause_us(LOOKS_MS * 1000L);
    CHECK_EQ(kill(pid, number), 0);
    CHECK(!reads_until(said, "(all)"));
    CHECK_EQ(count_said("deadlock: "), 1);
    close(said);
    return wait_for(pid);
}

static void handlers(void)
{
    const struct {
        int number;
        const char *name;
    } all[] = {{SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char text[100];
        int number = all[i].number;
        snprintf(text, sizeof text, "nothing is left that could help but the handler of %s", all[i].name);
        child.status = told(with_handler, &number, text, number);
        CHECK_CHILD_EXITED(3);
    }
}

/* --- a thread that perhaps waits for the end of the process ---------------------- */

static void beside_a_pool(void)
{
    struct sched_pool *pool = sched_pool_create(NULL);
    sched_sem_init(&never, 0);
    alarm(20);
    CHECK(pool != NULL);
    CHECK_EQ(sched_pool_submit(pool, wait_for_ever, NULL), 0);
}

static void main_waits(void *arg)
{
    beside_a_pool();
    sched_sem_wait(&never, NULL);
}

static void main_waits_endlessly(void *arg)
{
    beside_a_pool();
    sched_sem_wait_until(&never, SCHED_FOREVER, NULL);
}

static void *waits_as_thread(void *arg)
{
    int old;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
    sched_sem_wait(&never, NULL);
    return NULL;
}

/* A thread that is cancelled in a wait stays there: had it ended, its name would be left in the semaphore. */
static void cancelled_wait(void *arg)
{
    beside_a_pool();
    pthread_t thread = begin_thread(waits_as_thread, NULL);
    pause_us(LOOKS_MS * 100L);
    CHECK_EQ(pthread_cancel(thread), 0);
    CHECK_EQ(sched_sem_post(&never), 0); /* to the task, or to the thread */
    CHECK_EQ(sched_sem_post(&never), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    check_say("joined\n");
}

/* A task that waits in a blocking section sleeps with its thread, which is not a thread from
 * outside. */
static void waits_in_section(void *closure, struct scheduler *s)
{
    sched_block_begin(s);
    STAYING(sched_sem_wait(&never, s));
}

static void section(void *arg)
{
    sched_sem_init(&never, 0);
    alarm(20);
    sched_init(2, 10, waits_in_section, NULL);
}

/* --- another process in this memory ---------------------------------------------- */

static int sleeps(void *arg)
{
    pause_us(2 * LOOKS_MS * 1000L);
    return 0;
}

static void beside_a_process(void *arg)
{
    static char stack[1 << 16] __attribute__((aligned(16)));
    CHECK(clone(sleeps, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL) > 0);
    one_task_waits();
}

/* --- the thread of main has ended -------------------------------------------------- */

static void *runs(void *arg)
{
    one_task_waits();
    return NULL;
}

static void without_main(void *arg)
{
    begin_thread(runs, NULL);
    pthread_exit(NULL);
}

/* --- SCHED_DEADLOCK, and the option of a pool ---------------------------------------- */

static void with_word(void *word)
{
    setenv("SCHED_DEADLOCK", word, 1);
    one_task_waits();
}

static void with_word_and_handler(void *word)
{
    signal(SIGTERM, leaves);
    with_word(word);
}

static void with_option(void *settings)
{
    struct sched_options options = {.size = sizeof options, .nthreads = 2, .settings = settings};
    struct sched_pool *pool = sched_pool_create(&options);
    sched_sem_init(&never, 0);
    alarm(20);
    CHECK(pool != NULL);
    STAYING(sched_pool_run(pool, wait_for_ever, NULL));
}

/* The child says nothing, and continues. */
static void silent(void (*body)(void *), void *arg)
{
    int said;
    child.said[0] = 0;
    pid_t pid = begin_child(body, arg, &said);
    pause_us(LOOKS_MS * 1000L);
    CHECK_EQ(kill(pid, SIGKILL), 0);
    CHECK(!reads_until(said, "(all)"));
    CHECK_EQ(count_said("deadlock"), 0);
    close(said);
    child.status = wait_for(pid);
    check_child(__FILE__, __LINE__, WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGKILL, "continues");
}

static void words(void)
{
    child.status = told(with_word, "report", "deadlock: a task waits for ever", SIGTERM);
    CHECK(WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGTERM);
    child.status = told(with_option, "SCHED_DEADLOCK=report", "deadlock: a task waits for ever", SIGTERM);
    CHECK(WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGTERM);
    silent(with_word, "off");
    silent(with_option, "SCHED_DEADLOCK=off");
    in_child(with_word_and_handler, "abort");
    CHECK_CHILD_ABORTED("nothing is left that could help but the handler of SIGTERM\n");
    in_child(with_word, "auto");
    CHECK_CHILD_ABORTED("deadlock: a task waits for ever, and nothing is left that could wake it\n");
}

CASE(deadlock_doubt)
{
    needs_only_own_threads();
    handlers();

    child.status = told(main_waits, NULL, "deadlock: 1 task waits, 1 thread waits outside all runs", SIGTERM);
    CHECK(WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGTERM);
    child.status = told(main_waits_endlessly, NULL, "deadlock: 1 task waits, 1 thread waits outside all runs", SIGTERM);
    CHECK(WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGTERM);
    in_child(cancelled_wait, NULL);
    CHECK_CHILD_SAID("joined\n");

    child.status = told(beside_a_process, NULL, "; another process runs in its memory", SIGTERM);
    CHECK(WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGTERM);

    in_child(section, NULL);
    CHECK_CHILD_ABORTED("deadlock: a task waits for ever");

    in_child(without_main, NULL);
    CHECK_CHILD_ABORTED("deadlock: a task waits for ever");

    words();
}

/* deadlock_guests: A deadlock through the call of a guest (a thread outside that is in a loop of a
 * pool) is found, and the text names the call and the object of its wait: a semaphore, also after
 * tasks that the call has spawned have ended; another pool, whose task waits for an object that the
 * call holds; a run within; workers that all wait for another pool, while the task that would wake
 * them is queued. The process continues if such a task can be run, and while another thread could
 * still help.
 * ctest: static sleeps
 * ctest: matrix few join=suspend idle=park,nap threads=2 */
APART void guests_nothing(void *closure, struct scheduler *s)
{
}

/* --- actions of the guest's call ------------------------------------------------------- */

APART void guests_waits(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    waits_for_ever(ctx, s);
}

APART void spawns_and_waits(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(guests_nothing, NULL, s), 0);
    CHECK_EQ(sched_spawn(guests_nothing, NULL, s), 0);
    guests_waits(lo, hi, ctx, s);
}

APART void spawns_what_posts(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(posts, NULL, s), 0);
    guests_waits(lo, hi, ctx, s);
}

APART void guests_holds_and_runs(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&held, s), 0);
    CHECK_EQ(sched_pool_run(b, wants, ctx), 0);
    check_say("the pool's task has ended\n");
}

APART void runs_within(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    CHECK_EQ(sched_init(2, 4, waits_for_ever, ctx), 0);
    check_say("the run has ended\n");
}

/* --- the processes --------------------------------------------------------------------- */

static void (*call)(size_t, size_t, void *, struct scheduler *);

static void as_guest(void *arg)
{
    pools(2);
    CHECK_EQ(sched_for(0, 1, 1, call, NULL, sched_pool_scheduler(a)), 0);
}

static atomic_int runs_b;

APART void guests_runs_other(void *closure, struct scheduler *s)
{
    runs_b = 1;
    CHECK_EQ(sched_pool_run(b, waits_for_ever, closure), 0);
}

/* Each of a's workers waits for b; the guest's task is queued in a. */
static void beside_one_worker(void *arg)
{
    struct timespec shortly = {0, 100000000};
    setenv("SCHED_THREADS", "1", 1);
    pools(1);
    CHECK_EQ(sched_pool_submit(a, guests_runs_other, NULL), 0);
    while (!runs_b)
        pause_us(1000);
    nanosleep(&shortly, NULL);
    CHECK_EQ(sched_for(0, 1, 1, spawns_what_posts, NULL, sched_pool_scheduler(a)), 0);
}

/* The thread posts while the guest sleeps, and the tasks that the guest has spawned have ended. */
static void guests_beside_a_thread(void *arg)
{
    pthread_t t = begin_thread(posts_late, NULL);
    as_guest(arg);
    CHECK_EQ(pthread_join(t, NULL), 0);
}

static void check_call(void (*body)(size_t, size_t, void *, struct scheduler *), const char *title, const char *text)
{
    call = body;
    in_child(as_guest, NULL);
    CHECK_CHILD_ABORTED("deadlock: ");
    CHECK_CHILD_SAID(title);
    CHECK_CHILD_SAID("    guest 2: runs task ");
    CHECK_CHILD_SAID(text);
}

CASE(deadlock_guests)
{
    needs_only_own_threads();
    if (!has_threads())
        skip("a pool of this kind has no guests");
    check_call(guests_waits, "deadlock: a task waits for ever", "task 1, the call of a guest, waits for the semaphore 0x");
    check_call(spawns_and_waits, "deadlock: a task waits for ever", ", the call of a guest, waits for the semaphore 0x");
    check_call(runs_within, "deadlock: 2 tasks wait for ever", ", the call of a guest, waits for the end of run ");
    check_call(guests_holds_and_runs, "deadlock: 2 tasks wait for ever", ", the call of a guest, waits until run ");
    CHECK_CHILD_SAID(" (wants) waits for the mutex 0x");
    CHECK_CHILD_SAID("  a circle: ");
    in_child(beside_one_worker, NULL);
    CHECK_CHILD_ABORTED("deadlock: 3 tasks wait for ever");
    CHECK_CHILD_SAID(", the call of a guest, waits for the semaphore 0x");
    call = spawns_what_posts;
    CHECK_IN_CHILD(as_guest, NULL);
    call = spawns_and_waits;
    CHECK_IN_CHILD(guests_beside_a_thread, NULL);
}

/* deadlock_handler: If only the handler of a signal could help, the text of a deadlock is written
 * once, with the name of the signal, and the process continues: the handler can end it. If the
 * program then gives the signal its default action, the process ends with the text.
 * ctest: static sleeps
 * ctest: matrix few join=suspend idle=park,nap threads=2 */
static void handler_ends(int signal)
{
    _exit(3);
}

static void gives_up(int number)
{
    signal(number, SIG_DFL);
}

static void handler_waits(void *handler)
{
    sched_sem_init(&never, 0);
    alarm(60);
    signal(SIGINT, *(void (**)(int))handler);
    sched_init(2, 10, wait_for_ever, NULL);
}

static pid_t handler_begin(void (*handler)(int), int *said)
{
    child.said[0] = 0;
    return begin_child(handler_waits, &handler, said);
}

static void told_once(void)
{
    int said;
    pid_t pid = handler_begin(handler_ends, &said);
    CHECK(reads_until(said, "libsched: deadlock: 1 task waits, and nothing is left that could help but the handler of SIGINT; "
                      "the process continues\n"));
    pause_us(LOOKS_MS * 1000L);
    CHECK_EQ(kill(pid, SIGINT), 0);
    CHECK(!reads_until(said, "(all)"));
    CHECK_EQ(count_said("deadlock: "), 1);
    CHECK_EQ(count_said("(wait_for_ever) waits for the semaphore 0x"), 1);
    child.status = wait_for(pid);
    CHECK_CHILD_EXITED(3);
    close(said);
}

static void nothing_left(void)
{
    int said;
    pid_t pid = handler_begin(gives_up, &said);
    CHECK(reads_until(said, "; the process continues\n"));
    CHECK_EQ(kill(pid, SIGINT), 0);
    CHECK(reads_until(said, "deadlock: a task waits for ever, and nothing is left that could wake it\n"));
    CHECK(!reads_until(said, "(all)"));
    child.status = wait_for(pid);
    CHECK_CHILD_ABORTED("waits for ever");
    close(said);
}

CASE(deadlock_handler)
{
    needs_only_own_threads();
    told_once();
    nothing_left();
}

/* deadlock_none: A process whose tasks all wait, but that may continue, is left alone: a thread, a
 * blocking section, a task of another run or a signal comes after more than a second; or nothing
 * waits.
 * ctest: sleeps
 * ctest: matrix few idle=park,nap threads=4 */
/* Longer than an idle worker waits before it looks. */
enum { LONG_MS = 2500 };

static sched_sem given;

static void pause_long(void)
{
    struct timespec t = {LONG_MS / 1000, LONG_MS % 1000 * 1000000L};
    while (nanosleep(&t, &t) != 0)
        CHECK_EQ(errno, EINTR);
}

static void *give(void *arg)
{
    pause_long();
    CHECK_EQ(sched_sem_post(&given), 0);
    return NULL;
}

static void takes(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_wait(&given, s), 0);
}

static void gives_late(void *closure, struct scheduler *s)
{
    give(NULL);
}

static void gives_from_section(void *closure, struct scheduler *s)
{
    begin(s);
    pause_long();
    end(s);
    CHECK_EQ(sched_sem_post(&given), 0);
}

static void waits_for_section(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(gives_from_section, NULL, s), 0);
    CHECK_EQ(sched_sem_wait(&given, s), 0);
}

static void by_thread(void)
{
    pthread_t t = begin_thread(give, NULL);
    CHECK_EQ(sched_init(2, 10, takes, NULL), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
}

static void by_section(void)
{
    CHECK_EQ(sched_init(2, 10, waits_for_section, NULL), 0);
}

/* A task of another run computes, or sleeps, and then gives. */
static void by_other_run(void)
{
    struct sched_pool *p = sched_pool_create(NULL);
    CHECK(p != NULL);
    CHECK_EQ(sched_pool_submit(p, gives_late, NULL), 0);
    CHECK_EQ(sched_init(2, 10, takes, NULL), 0);
    CHECK_EQ(sched_pool_destroy(p), 0);
}

static void runs_inner(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_init(2, 10, gives_late, NULL), 0);
}

static void waits_for_inner(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(runs_inner, NULL, s), 0);
    CHECK_EQ(sched_sem_wait(&given, s), 0);
}

static void by_inner_run(void)
{
    CHECK_EQ(sched_init(2, 10, waits_for_inner, NULL), 0);
}

/* The main thread posts; the pool has a task that waits. */
static void by_main(void)
{
    struct sched_pool *p = sched_pool_create(NULL);
    CHECK(p != NULL);
    CHECK_EQ(sched_pool_submit(p, takes, NULL), 0);
    give(NULL);
    CHECK_EQ(sched_pool_destroy(p), 0);
}

static void none_ends(int signal)
{
    _exit(0);
}

/* The process waits for a signal that tells it to end. */
static void by_signal(void)
{
    signal(SIGALRM, none_ends);
    alarm(3);
    sched_init(2, 10, takes, NULL);
}

/* No task is left, and a thread waits outside. */
static void at_rest(void)
{
    struct sched_pool *p = sched_pool_create(NULL);
    CHECK(p != NULL);
    CHECK_EQ(sched_pool_run(p, nothing, NULL), 0);
    pause_long();
    CHECK_EQ(sched_pool_run(p, nothing, NULL), 0);
    CHECK_EQ(sched_pool_destroy(p), 0);
}

static const struct {
    const char *name;
    void (*body)(void);
} cases[] = {
    {"a thread", by_thread}, {"a section", by_section}, {"another run", by_other_run}, {"an inner run", by_inner_run},
    {"the main thread", by_main}, {"a signal", by_signal}, {"a pool at rest", at_rest},
};

enum { CASES = sizeof cases / sizeof *cases };

CASE(deadlock_none)
{
    pid_t pids[CASES];
    for (int i = 0; i < CASES; i++) {
        pids[i] = fork();
        CHECK(pids[i] >= 0);
        if (pids[i] == 0) {
            struct rlimit no_core = {0, 0};
            setrlimit(RLIMIT_CORE, &no_core);
            cases[i].body();
            _exit(0);
        }
    }
    for (int i = 0; i < CASES; i++) {
        int status = wait_for(pids[i]);
        if (status != 0)
            printf("%s: wait status %#x\n", cases[i].name, (unsigned)status);
        CHECK_EQ(status, 0);
    }
}

/* deadlock_pool: A deadlock is found wherever the threads of the process are: in a pool for which a
 * thread waits, beside a pool at rest, after earlier runs whose threads are kept, and with a thread
 * that waits for a task.
 * ctest: sleeps
 * ctest: matrix few join=suspend idle=park,nap threads=2 */
static sched_sem outside;

static struct sched_pool *pool(void)
{
    struct sched_pool *p = sched_pool_create(NULL);
    CHECK(p != NULL);
    return p;
}

static void waiting_for_pool(void *arg)
{
    struct sched_pool *p = pool(), *other = pool();
    alarm(60);
    CHECK_EQ(sched_pool_run(other, nothing, NULL), 0);
    CHECK_EQ(sched_pool_submit(p, wait_for_ever, NULL), 0);
    sched_pool_wait(p);
}

static void destroying_pool(void *arg)
{
    struct sched_pool *p = pool();
    alarm(60);
    CHECK_EQ(sched_pool_submit(p, wait_for_ever, NULL), 0);
    sched_pool_destroy(p);
}

static void *waits_outside(void *arg)
{
    sched_sem_wait(&outside, NULL);
    return NULL;
}

static void beside_threads(void *arg)
{
    alarm(60);
    setenv("SCHED_WARM", "300ms", 1);
    setenv("SCHED_DEADLOCK", "abort", 1);
    CHECK_EQ(sched_init(4, 10, nothing, NULL), 0);
    begin_thread(waits_outside, NULL);
    sched_init(2, 10, wait_for_ever, NULL);
}

CASE(deadlock_pool)
{
    needs_only_own_threads();
    in_child(waiting_for_pool, NULL);
    CHECK_CHILD_ABORTED("deadlock: a task waits for ever");
    CHECK_CHILD_SAID("task 1 (wait_for_ever) waits for the semaphore");
    in_child(destroying_pool, NULL);
    CHECK_CHILD_ABORTED("deadlock: a task waits for ever");
    CHECK_CHILD_SAID("task 1 (wait_for_ever) waits for the semaphore");
    in_child(beside_threads, NULL);
    CHECK_CHILD_ABORTED("deadlock: 1 task waits, 1 thread waits outside all runs");
    CHECK_CHILD_SAID("task 1 (wait_for_ever) waits for the semaphore");
}

/* deadlock_runs: A deadlock through a task that waits for a whole run is found, and the text names
 * the task, the run, and the circle. The deadlocks: a task waits for another pool's run, or for an
 * inner run, whose task waits for an object that the first task holds; the same in a blocking
 * section; an inner run waits for an event that never comes; all workers wait for other runs. While
 * another thread could still help, the process continues.
 * ctest: static sleeps
 * ctest: matrix few join=suspend idle=park,nap threads=1,4 */
APART void runs_holds_and_runs(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&held, s), 0);
    CHECK_EQ(sched_pool_run(b, wants, NULL), 0);
    check_say("the pool's task has ended\n");
}

static void mutex_of_caller(void *arg)
{
    pools(2);
    CHECK_EQ(sched_pool_run(a, runs_holds_and_runs, NULL), 0);
}

APART void holds_and_inits(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&held, s), 0);
    CHECK_EQ(sched_init(2, 4, waits_for_ever, NULL), 0);
    check_say("the run has ended\n");
}

static void run_within(void *arg)
{
    pools(2);
    CHECK_EQ(sched_pool_run(a, holds_and_inits, NULL), 0);
}

static void run_within_run(void *arg)
{
    alarm(60);
    sched_init(2, 4, holds_and_inits, NULL);
}

APART void in_section(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&held, s), 0);
    CHECK_EQ(sched_block_begin(s), 0);
    CHECK_EQ(sched_pool_run(b, wants, NULL), 0);
    check_say("the pool's task has ended\n");
    CHECK_EQ(sched_block_end(s), 0);
}

static void blocking_section(void *arg)
{
    pools(2);
    CHECK_EQ(sched_pool_run(a, in_section, NULL), 0);
}

/* Each of a's workers waits for b; the task that would wake b's is queued in a. */
APART void runs_runs_other(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(posts, NULL, s), 0);
    CHECK_EQ(sched_pool_run(b, waits_for_ever, closure), 0);
}

static void all_wait(void *arg)
{
    setenv("SCHED_THREADS", "1", 1);
    if (spawn_calls()) /* there the spawn calls the task */
        unsetenv("SCHED_KIND");
    pools(2);
    CHECK_EQ(sched_pool_run(a, runs_runs_other, NULL), 0);
}

/* With two workers the queued task is run. */
static void one_does_not(void *arg)
{
    setenv("SCHED_THREADS", "2", 1);
    if (!has_threads())
        unsetenv("SCHED_KIND");
    pools(2);
    CHECK_EQ(sched_pool_run(a, runs_runs_other, NULL), 0);
}

static void runs_beside_a_thread(void *arg)
{
    pools(2);
    pthread_t t = begin_thread(posts_late, NULL);
    CHECK_EQ(sched_pool_run(a, holds_and_inits, NULL), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
}

static void check_circle(void (*body)(void *))
{
    in_child(body, NULL);
    CHECK_CHILD_ABORTED("deadlock: 2 tasks wait for ever");
    CHECK_CHILD_SAID(" has no task; task ");
    CHECK_CHILD_SAID(" (wants) waits for the mutex 0x");
    CHECK_CHILD_SAID("  a circle: ");
    CHECK_CHILD_SAID(" waits for the run of task ");
}

CASE(deadlock_runs)
{
    void (*const within[])(void *) = {run_within, run_within_run};
    void (*const fine[])(void *) = {one_does_not, runs_beside_a_thread};
    needs_only_own_threads();
    check_circle(mutex_of_caller);
    check_circle(blocking_section);
    for (size_t i = 0; i < sizeof within / sizeof *within; i++) {
        in_child(within[i], NULL);
        CHECK_CHILD_ABORTED("deadlock: 2 tasks wait for ever");
        CHECK_CHILD_SAID(" waits for the end of run ");
        CHECK_CHILD_SAID(" is left\n");
    }
    in_child(all_wait, NULL);
    CHECK_CHILD_ABORTED("deadlock: 2 tasks wait for ever");
    CHECK_CHILD_SAID(" has no task; task ");
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        CHECK_IN_CHILD(fine[i], NULL);
}

/* deadlock_shared: A process is not ended as deadlocked if the object that a task waits for lies in
 * memory that another process shares, or if a thread outside waits for an object that may lie
 * there: the state is shown, and the process continues. If only other things are awaited, shared
 * memory changes nothing.
 * ctest: sleeps
 * ctest: matrix few join=suspend idle=park threads=2 */
static sched_sem *shared;

static void waits_for_shared(void *closure, struct scheduler *s)
{
    STAYING(sched_sem_wait(shared, s));
}

static void in_task(void)
{
    sched_init(2, 10, waits_for_shared, NULL);
}

static void in_thread(void)
{
    struct sched_pool *pool = sched_pool_create(NULL);
    CHECK(pool != NULL);
    CHECK_EQ(sched_pool_submit(pool, wait_for_ever, NULL), 0);
    sched_sem_wait(shared, NULL);
}

static void elsewhere(void)
{
    sched_init(2, 10, wait_for_ever, NULL);
}

static void map_and_do(void (*body)(void))
{
    alarm(60);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    CHECK_EQ(sched_sem_init(shared, 0), 0);
    body();
}

static void shared_ends(void *body)
{
    map_and_do(*(void (**)(void))body);
}

/* Reads what a process with the body says until it says `until`, then kills it; returns its status. */
static int until_said(void (*body)(void), const char *until)
{
    int said;
    child.said[0] = 0;
    pid_t pid = begin_child(shared_ends, &body, &said);
    reads_until(said, until);
    pause_us(300000); /* it has time to end by itself */
    kill(pid, SIGKILL);
    close(said);
    return wait_for(pid);
}

CASE(deadlock_shared)
{
    needs_only_own_threads();
    void (*const bodies[])(void) = {in_task, in_thread}, (*other)(void) = elsewhere;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        child.status = until_said(bodies[i], "memory that another process shares");
        check_child(__FILE__, __LINE__, WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGKILL, "continues");
        CHECK_CHILD_SAID("perhaps a deadlock: 1 task waits, ");
    }
    in_child(shared_ends, &other);
    CHECK_CHILD_ABORTED("deadlock: a task waits for ever");
}

/* deadlock_deadline: A process is not ended as deadlocked while a deadline or a timer is to come,
 * and its deadlock is found afterwards; waits and sleeps without end are no reason to continue. The
 * text says what each task waits for. A thread that has slept in a loop, and runs now, is not taken
 * for one that sleeps.
 * ctest: static debug sleeps timeout=60
 * ctest: matrix few kind=steal,lifo,cont,serial join=suspend idle=park threads=2 deque=split,mutex global=one overflow=grow */
static sched_timer late_timer = SCHED_TIMER_INIT;

static void sleeps_first(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sleep(LOOKS_MS * SCHED_MILLISECOND, s), 0);
    check_say("awake\n");
    STAYING(sched_sem_wait(&never, s));
}

static void sleeps_and_waits(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(sleeps_first, NULL, s), 0);
    STAYING(sched_sem_wait(&never, s));
}

static void sleeps_for_ever(void *closure, struct scheduler *s)
{
    STAYING(sched_sleep(INT64_MAX, s));
}

static void waits_endlessly(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(sleeps_for_ever, NULL, s), 0);
    STAYING(sched_sem_wait_until(&never, SCHED_FOREVER, s));
}

static void posts_both(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_post(&never), 0);
    CHECK_EQ(sched_sem_post(&never), 0);
}

static void waits_for_timer(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_timer_start(&late_timer, sched_now() + LOOKS_MS * SCHED_MILLISECOND, posts_both, NULL, s), 0);
    CHECK_EQ(sched_spawn(wait_for_ever, NULL, s), 0);
    wait_for_ever(NULL, s);
}

static void with_deadline(void *root)
{
    alarm(60);
    CHECK_EQ(sched_sem_init(&never, 0), 0);
    CHECK_EQ(sched_init(2, 10, *(taskfunc *)root, NULL), 0);
}

static void sleeping_body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    CHECK_EQ(sched_sleep(SCHED_MILLISECOND, s), 0);
}

static void guest_that_slept(void *arg)
{
    alarm(60);
    CHECK_EQ(sched_sem_init(&never, 0), 0);
    struct sched_pool *pool = sched_pool_create(NULL);
    CHECK(pool != NULL);
    CHECK_EQ(sched_for(0, 20, 1, sleeping_body, NULL, sched_pool_scheduler(pool)), 0);
    CHECK_EQ(sched_pool_submit(pool, wait_for_ever, NULL), 0);
    pause_us(LOOKS_MS * 1000L);
    CHECK_EQ(sched_sem_post(&never), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

CASE(deadlock_deadline)
{
    needs_only_own_threads();
    taskfunc roots[] = {sleeps_and_waits, waits_endlessly, waits_for_timer};
    in_child(with_deadline, &roots[0]);
    CHECK_CHILD_ABORTED("deadlock: 2 tasks wait for ever");
    CHECK(strstr(child.said, "awake") != NULL && strstr(child.said, "awake") < strstr(child.said, "deadlock"));

    in_child(with_deadline, &roots[1]);
    CHECK_CHILD_ABORTED("deadlock: 2 tasks wait for ever");
    find("(waits_endlessly) waits for the semaphore 0x");
    find("(sleeps_for_ever) sleeps without end");

    CHECK_IN_CHILD(with_deadline, &roots[2]);
    CHECK_IN_CHILD(guest_that_slept, NULL);
}

/* deadlock_nodes: A node waits for an event, another for that node and for one that was not made
 * ready: the report counts both, and in the debug library, or with a watchdog, names them and the
 * events that they wait for.
 * ctest: static debug sleeps
 * ctest: matrix few idle=park threads=1,2 */
static sched_node first_node, second_node, ended_node, left_out;
static sched_event never_ends;

static void make_nodes(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_event_init(&never_ends), 0);
    CHECK_EQ(sched_node_init(&ended_node, nothing, NULL), 0);
    CHECK_EQ(sched_node_init(&first_node, wait_for_ever, NULL), 0);
    CHECK_EQ(sched_node_init(&second_node, nothing, &first_node), 0);
    CHECK_EQ(sched_node_init(&left_out, nothing, NULL), 0);
    CHECK_EQ(sched_after(&first_node, &never_ends), 0);
    CHECK_EQ(sched_after(&second_node, &first_node), 0);
    CHECK_EQ(sched_after(&second_node, &ended_node), 0);
    CHECK_EQ(sched_after(&second_node, &left_out), 0);
    CHECK_EQ(sched_after(&left_out, &ended_node), 0);
    CHECK_EQ(sched_node_ready(&first_node, s), 0);
    CHECK_EQ(sched_node_ready(&second_node, s), 0);
    CHECK_EQ(sched_node_ready(&ended_node, s), 0);
}

static void leave_nodes(void *variable)
{
    alarm(60);
    if (variable != NULL)
        setenv(variable, "1min", 1);
    sched_init(2, 100, make_nodes, NULL);
}

CASE(deadlock_nodes)
{
    in_child(leave_nodes, NULL);
    CHECK_CHILD_ABORTED("deadlock: 2 tasks wait for ever");
    if (strstr(child.said, "  2 nodes wait for others; SCHED_WATCHDOG=1min") == NULL)
        CHECK_CHILD_SAID(" waits for 2 of 3: "); /* the debug library */
    in_child(leave_nodes, "SCHED_WATCHDOG");
    CHECK_CHILD_ABORTED("deadlock: 2 tasks wait for ever");
    find(" (first_node) waits for 1 of 1: the event 0x");
    find(" (never_ends)\n");
    find(" (second_node) waits for 2 of 3: ");
    find(" (first_node), which waits");
    find(" (left_out), which was not made ready");
    CHECK_EQ(count_said("  node "), 2);
    CHECK_EQ(count_said("ended_node"), 0);
}
