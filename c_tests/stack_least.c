/* A thread whose stack is too small for a run gets -1 and a line; one that has enough runs. RLIMIT_STACK of the least kind
 * neither ends the process nor makes the library's own threads useless.
 * ctest: static
 * ctest:
 * ctest: env=SCHED_KIND=fifo
 * ctest: env=SCHED_KIND=serial */
#include "child.h"
#include <sched_tasks.h>

enum { KIB = 1024 };

static char *self;

static void task(void *ran, struct scheduler *s)
{
    char text[64];
    snprintf(text, sizeof text, "%d of %g", *(int *)ran, 1.5);
    *(int *)ran = 1;
}

static void *init(void *nthreads)
{
    int ran = 0;
    errno = 0;
    int result = sched_init(*(int *)nthreads, 0, task, &ran);
    if (result != 0)
        CHECK_EQ(errno, ENOMEM);
    CHECK_EQ(result, ran - 1);
    /* A pool needs as much. The two calls have frames of their own, so near the least amount, which the kernel's random
     * start of a stack may hit, one may be refused and the other not. */
    errno = 0;
    struct sched_pool *pool = sched_pool_create(NULL);
    if (pool == NULL)
        CHECK_EQ(errno, ENOMEM);
    else
        CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK(sched_default_threads() >= 1);
    printf("%s", ran ? "it ran\n" : "refused\n");
    fflush(stdout);
    return NULL;
}

struct thread {
    size_t stack;
    int nthreads;
};

static void in_thread(void *arg)
{
    struct thread *t = arg;
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    if (pthread_attr_setstacksize(&attr, t->stack) != 0)
        skip("stacks are larger here");
    CHECK_EQ(pthread_create(&thread, &attr, init, &t->nthreads), 0);
    pthread_join(thread, NULL);
}

/* This program again, with that limit for its first thread, and for those that it makes. */
static void start_anew(void *limit)
{
    struct rlimit stack = {*(size_t *)limit, *(size_t *)limit};
    const char *kind = getenv("SCHED_KIND");
    char variable[32];
    snprintf(variable, sizeof variable, "SCHED_KIND=%s", kind ? kind : "steal");
    CHECK_EQ(setrlimit(RLIMIT_STACK, &stack), 0);
    execve("/proc/self/exe", (char *[]){self, "again", NULL}, (char *[]){variable, NULL});
    CHECK(0);
}

static void size_of_thread(void *result, struct scheduler *s)
{
    pthread_attr_t attr;
    void *low;
    CHECK_EQ(pthread_getattr_np(pthread_self(), &attr), 0);
    CHECK_EQ(pthread_attr_getstack(&attr, &low, result), 0);
    pthread_attr_destroy(&attr);
}

static int again(void)
{
    int nthreads = 4;
    check_say("main\n");
    init(&nthreads);
    struct sched_pool *pool = sched_pool_create(NULL);
    if (pool != NULL) {
        size_t size = 0;
        CHECK_EQ(sched_pool_run(pool, size_of_thread, &size), 0);
        CHECK(size >= 64 * KIB);
        CHECK_EQ(sched_pool_destroy(pool), 0);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {16 * KIB, 20 * KIB, 24 * KIB, 28 * KIB, 32 * KIB, 48 * KIB, 64 * KIB};
    self = argv[0];
    if (argc > 1)
        return again();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int nthreads = 0; nthreads <= 4; nthreads += 2) {
            struct thread t = {sizes[i], nthreads};
            in_child(in_thread, &t);
            CHECK_CHILD_PASSED();
            if (strstr(child.said, "refused"))
                CHECK_CHILD_SAID("of the calling thread's stack");
            if (sizes[i] >= 32 * KIB)
                CHECK_CHILD_SAID("it ran");
        }
    }
    for (size_t limit = 12 * KIB; limit <= 64 * KIB; limit += 4 * KIB) {
        in_child(start_anew, &limit);
        if (!strstr(child.said, "main"))
            continue; /* the dynamic linker needs more */
        CHECK_CHILD_EXITED(0);
        if (strstr(child.said, "refused"))
            CHECK_CHILD_SAID("of the calling thread's stack");
    }
    return 0;
}
