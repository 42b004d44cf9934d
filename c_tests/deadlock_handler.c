/* If only the handler of a signal could help, the text of a deadlock is written once, with the name of the signal, and the
 * process goes on: the handler can end it. If the program then gives the signal its default action, the process ends with
 * the text.
 * ctest: static sleeps
 * ctest: matrix few join=suspend idle=park,spin threads=2 */
#include "child.h"
#include "waits.h"

enum { LOOKS_MS = 2500 }; /* longer than two looks are apart */

static void ends(int signal)
{
    _exit(3);
}

static void gives_up(int number)
{
    signal(number, SIG_DFL);
}

static void waits(void *handler)
{
    sched_sem_init(&never, 0);
    alarm(60);
    signal(SIGINT, *(void (**)(int))handler);
    sched_init(2, 10, wait_for_ever, NULL);
}

static pid_t begin(void (*handler)(int), int *said)
{
    child.said[0] = 0;
    return begin_child(waits, &handler, said);
}

static void told_once(void)
{
    int said;
    pid_t pid = begin(ends, &said);
    CHECK(reads_until(said, "libsched: deadlock: 1 task waits, and nothing is left that could help but the handler of SIGINT; "
                      "the process goes on\n"));
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
    pid_t pid = begin(gives_up, &said);
    CHECK(reads_until(said, "; the process goes on\n"));
    CHECK_EQ(kill(pid, SIGINT), 0);
    CHECK(reads_until(said, "deadlock: a task waits for ever, and nothing is left that could wake it\n"));
    CHECK(!reads_until(said, "(all)"));
    child.status = wait_for(pid);
    CHECK_CHILD_ABORTED("waits for ever");
    close(said);
}

int main(void)
{
#ifdef __SANITIZE_THREAD__
    skip("the sanitizer has a thread of its own, which might wake a task");
#endif
    told_once();
    nothing_left();
    return 0;
}
