/* A plugin that contains libsched.a is unloaded while threads of its runs rest or end, their time being up: they
 * have ended before their code is gone, whatever their last calls of the C library take; their variables have been
 * destroyed; the action of SIGSEGV is the default one; no stacks are left; and the plugin may be loaded again. So it is if
 * a function of the plugin's own starts a run while it is unloaded.
 * ctest: plugin
 * ctest: env=SCHED_WARM=1min
 * ctest: env=SCHED_KIND=lifo env=SCHED_WARM=1min
 * ctest: env=SCHED_WARM=300us
 * ctest: env=SCHED_WARM=300us args=slow
 * ctest: env=SCHED_WARM=1min args=late */
#include "library.h"
#include "warm.h"
#include <stdatomic.h>

#ifdef PLUGIN

static atomic_int slow;
static int (*real_detach)(pthread_t);
static int (*real_join)(pthread_t, void **);

/* What a thread that ends might call: it comes back late. Hidden: the library in this object calls these. */
__attribute__((visibility("hidden"))) int pthread_detach(pthread_t thread)
{
    int error = real_detach(thread);
    if (slow)
        pause_us(5000);
    return error;
}

__attribute__((visibility("hidden"))) int pthread_join(pthread_t thread, void **result)
{
    int error = real_join(thread, result);
    if (slow)
        pause_us(5000);
    return error;
}

static void run(void)
{
    struct party party = {.guests = 4};
    give_party(&party);
}

void work(const char *how);
void work(const char *how)
{
    find_function(RTLD_NEXT, "pthread_detach", &real_detach);
    find_function(RTLD_NEXT, "pthread_join", &real_join);
    slow = strcmp(how, "slow") == 0;
    if (strcmp(how, "late") == 0)
        CHECK_EQ(atexit(run), 0); /* before the library's own, so called after it */
    run();
}

#else

int main(int argc, char **argv)
{
    long size = 0;
    one_heap();
    for (int i = 0; i < 60; i++) {
        void (*work)(const char *);
        struct sigaction action;
        void *plugin = load(CTEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
        find_function(plugin, "work", &work);
        work(argc > 1 ? argv[1] : "");
        if (i % 3 == 0)
            pause_us(100 * i % 700);
        CHECK_EQ(dlclose(plugin), 0);
        CHECK(threads_become(1)); /* the kernel counts one that was joined for a moment longer */
        CHECK_EQ(sigaction(SIGSEGV, NULL, &action), 0);
        CHECK(action.sa_handler == SIG_DFL);
        CHECK(!is_loaded(CTEST_PLUGIN));
        if (i == 9)
            size = status_kb("VmSize");
    }
    CHECK(status_kb("VmSize") - size < 50L * 8 * 1024); /* as if each left one stack */
    return 0;
}

#endif
