/* A plugin that contains libsched.a is unloaded while threads of its runs rest: they end before
 * their code is gone, and it may be loaded again.
 * ctest: plugin
 * ctest: env=SCHED_WARM=1min
 * ctest: env=SCHED_KIND=lifo env=SCHED_WARM=1min
 * ctest: env=SCHED_WARM=300us */
#include "proc.h"
#include <stdatomic.h>

enum { GUESTS = 4 };

#ifdef PLUGIN

static void guest(void *arrived, struct scheduler *s)
{
    unsigned turns = 0;
    (void)s;
    atomic_fetch_add((atomic_int *)arrived, 1);
    while (*(atomic_int *)arrived < GUESTS)
        spin(&turns);
}

static void root(void *arrived, struct scheduler *s)
{
    for (int i = 1; i < GUESTS; i++)
        CHECK_EQ(sched_spawn(guest, arrived, s), 0);
    guest(arrived, s);
}

void work(void);
void work(void)
{
    atomic_int arrived = 0;
    CHECK_EQ(sched_init(GUESTS, 4, root, (void *)&arrived), 0);
}

#else
#include <dlfcn.h>

int main(void)
{
    for (int i = 0; i < 60; i++) {
        void (*work)(void);
        void *plugin = dlopen(CTEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
        if (!plugin) {
            check_say(dlerror());
            return 1;
        }
        void *symbol = dlsym(plugin, "work");
        CHECK(symbol != NULL);
        memcpy(&work, &symbol, sizeof work);
        work();
        if (i % 3 == 0)
            pause_us(100 * i % 700);
        CHECK_EQ(dlclose(plugin), 0);
        CHECK(threads_become(1));
        CHECK(dlopen(CTEST_PLUGIN, RTLD_NOW | RTLD_NOLOAD) == NULL); /* it is gone */
    }
    return 0;
}

#endif
