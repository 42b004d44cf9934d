/* When no task can ever go on, the process ends and says for each task what it waits for, who could end the wait, and
 * where it waits; tasks that wait for each other in a circle are named together.
 * ctest: static sleeps
 * ctest: matrix few join=suspend idle=park,spin threads=1,4 */
#include "child.h"
#include "waits.h"

/* Where a text stands in what the child said, or the test fails. */
static const char *find(const char *text)
{
    const char *at = strstr(child.said, text);
    check_child(__FILE__, __LINE__, at != NULL, text);
    return at;
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

/* With this variable, or without any if it is NULL. */
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

/* A task that joins one that waits for what the first holds. */
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

int main(void)
{
    const char *idle = getenv("SCHED_IDLE");
#ifdef __SANITIZE_THREAD__
    skip("the sanitizer has a thread of its own, which might wake a task");
#endif
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
    return 0;
}
