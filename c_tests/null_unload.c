/* A plugin that contains libsched.a and has used the default pool is unloaded: the pool ends before its code is gone,
 * and the plugin may be loaded again.
 * ctest: plugin
 * ctest:
 * ctest: env=SCHED_WARM=1min
 * ctest: env=SCHED_KIND=lifo env=SCHED_WARM=1min */
#include "library.h"
#include "null.h"
#include "proc.h"

#ifdef PLUGIN

void work(void);
void work(void)
{
    null_works();
}

#else

int main(void)
{
    for (int i = 0; i < 60; i++) {
        void (*work)(void);
        void *plugin = load(CTEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
        find_function(plugin, "work", &work);
        work();
        if (i % 3 == 0)
            pause_us(100 * i % 700);
        CHECK_EQ(dlclose(plugin), 0);
        CHECK(threads_become(1));
        CHECK(!is_loaded(CTEST_PLUGIN));
    }
    return 0;
}

#endif
