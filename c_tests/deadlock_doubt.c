/* No task can go on, but something other than a thread of the process might help, or the program does not want to be
 * ended: the table in libsched(7), DIAGNOSTICS, row by row. The text is written once, and the process goes on.
 * ctest: static sleeps timeout=60
 * ctest: matrix few kind=steal,lifo,cont,serial join=suspend idle=park threads=2 deque=split,mutex global=one overflow=grow */
#include "child.h"
#include "waits.h"
#include <sched.h>

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

/* The child says `text` and goes on. Then `number` is sent; returns the child's status. */
static int told(void (*body)(void *), void *arg, const char *text, int number)
{
    int said;
    child.said[0] = 0;
    pid_t pid = begin_child(body, arg, &said);
    check_child(__FILE__, __LINE__, reads_until(said, text), text);
    check_child(__FILE__, __LINE__, reads_until(said, "; the process goes on\n"), "go on");
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
    pthread_t thread;
    beside_a_pool();
    CHECK_EQ(pthread_create(&thread, NULL, waits_as_thread, NULL), 0);
    pause_us(LOOKS_MS * 100L);
    CHECK_EQ(pthread_cancel(thread), 0);
    CHECK_EQ(sched_sem_post(&never), 0); /* to the task, or to the thread */
    CHECK_EQ(sched_sem_post(&never), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    check_say("joined\n");
}

/* A task that waits in a blocking section sleeps with its thread, which is no thread outside. */
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
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, runs, NULL), 0);
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

static void with_option(void *value)
{
    struct sched_options options = {.size = sizeof options, .nthreads = 2, .deadlock = *(int *)value};
    struct sched_pool *pool = sched_pool_create(&options);
    sched_sem_init(&never, 0);
    alarm(20);
    CHECK(pool != NULL);
    STAYING(sched_pool_run(pool, wait_for_ever, NULL));
}

/* The child says nothing, and goes on. */
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
    check_child(__FILE__, __LINE__, WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGKILL, "go on");
}

static void words(void)
{
    int off = SCHED_DEADLOCK_OFF, report = SCHED_DEADLOCK_REPORT;
    child.status = told(with_word, "report", "deadlock: a task waits for ever", SIGTERM);
    CHECK(WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGTERM);
    child.status = told(with_option, &report, "deadlock: a task waits for ever", SIGTERM);
    CHECK(WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGTERM);
    silent(with_word, "off");
    silent(with_option, &off);
    in_child(with_word_and_handler, "abort");
    CHECK_CHILD_ABORTED("nothing is left that could help but the handler of SIGTERM\n");
    in_child(with_word, "auto");
    CHECK_CHILD_ABORTED("deadlock: a task waits for ever, and nothing is left that could wake it\n");
}

int main(void)
{
#ifdef __SANITIZE_THREAD__
    skip("the sanitizer has a thread of its own, which might wake a task");
#endif
    handlers();

    child.status = told(main_waits, NULL, "deadlock: 1 task waits, 1 thread waits outside all runs", SIGTERM);
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
    return 0;
}
