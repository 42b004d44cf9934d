/* Runs and pools in unusual places: in constructors and destructors of the program, in handlers of exit and quick_exit,
 * in the destructors of thread-specific data, of a thread of the program's and of one that the library has made.
 * ctest: static
 * ctest: matrix few idle=park threads=1,4
 * ctest: matrix few kind=steal,lifo deque=split,mutex idle=park threads=4 env=SCHED_WARM=0 */
#include "child.h"
#include "pool.h"
#include "where.h"
#include <stdatomic.h>

enum { TASKS = 40 };

static void count(void *ran, struct scheduler *s)
{
    atomic_fetch_add((atomic_int *)ran, 1);
}

static void spawn_all(void *ran, struct scheduler *s)
{
    CHECK_TIMES(TASKS, sched_spawn(count, ran, s));
}

/* Works, or ends the process. */
static void use(const char *place)
{
    atomic_int ran = 0;
    CHECK_EQ(sched_init(4, 8, spawn_all, &ran), 0);
    CHECK_EQ(ran, TASKS);
    struct sched_pool *pool = pool_of(2);
    CHECK(pool != NULL);
    CHECK_EQ(sched_pool_run(pool, spawn_all, &ran), 0);
    CHECK_EQ(ran, 2 * TASKS);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    char line[64];
    snprintf(line, sizeof line, "<%s>", place);
    check_say(line);
}

static int is_child; /* the places of main's process say nothing */

__attribute__((constructor)) static void before_main(void)
{
    if (getenv("PLACES"))
        use("constructor");
}

__attribute__((destructor)) static void after_main(void)
{
    if (is_child)
        use("destructor");
}

static void at_exit(void)
{
    use("atexit");
}

static void at_quick(void)
{
    use("at_quick_exit");
}

/* --- thread-specific data ----------------------------------------------------------- */

static pthread_key_t key;

static void destroy_value(void *value)
{
    use(value);
}

static void *thread(void *arg)
{
    CHECK_EQ(pthread_setspecific(key, "own thread"), 0);
    return arg;
}

static void set_value(struct scheduler *s)
{
    CHECK_EQ(pthread_setspecific(key, "library's thread"), 0);
}

/* The values of the library's threads are destroyed before their time is over, at the latest when they are not kept. */
static void run_with_values(void)
{
    volatile int done = 0;
    struct deed deed = {set_value, 0, &done};
    setenv("SCHED_WARM", "0", 1);
    CHECK_EQ(sched_init(4, 8, seek_place, &deed), 0);
    CHECK(done);
}

static void body(void *how)
{
    is_child = 1;
    alarm(30);
    CHECK_EQ(atexit(at_exit), 0);
    CHECK_EQ(at_quick_exit(at_quick), 0);
    CHECK_EQ(pthread_key_create(&key, destroy_value), 0);
    run_thread(thread, NULL);
    if (threads_of(4) > 1)
        run_with_values();
    use("main");
    if (strcmp(how, "exit") == 0)
        exit(40);
    quick_exit(41);
}

static void start_again(void *program)
{
    setenv("PLACES", "1", 1);
    execl("/proc/self/exe", program, "again", (char *)NULL);
}

static void check_said(const char *const *places, int n)
{
    for (int i = 0; i < n; i++) {
        char word[64];
        snprintf(word, sizeof word, "<%s>", places[i]);
        CHECK_CHILD_SAID(word);
    }
}

int main(int argc, char **argv)
{
    static const char *const at_exit_places[] = {"own thread", "main", "atexit", "destructor"};
    static const char *const quick_places[] = {"own thread", "main", "at_quick_exit"};
    if (argc > 1) {
        is_child = 1;
        use("main");
        return 43;
    }
    in_child(body, "exit");
    CHECK_CHILD_EXITED(40);
    check_said(at_exit_places, 4);
    if (threads_of(4) > 1)
        CHECK_CHILD_SAID("<library's thread>");
    in_child(body, "quick");
    CHECK_CHILD_EXITED(41);
    check_said(quick_places, 3);
    in_child(start_again, argv[0]);
    CHECK_CHILD_EXITED(43);
    static const char *const again_places[] = {"constructor", "main", "destructor"};
    check_said(again_places, 3);
    return 0;
}
