/* A plugin that contains libsched.a, and exit: a host unloads it in a handler of exit, before or after the plugin's own
 * handlers, while threads of its runs rest; and where exit's caller holds what the destructors of those threads wait for,
 * the process ends all the same.
 * ctest: plugin
 * ctest: env=SCHED_WARM=1min
 * ctest: env=SCHED_WARM=20ms
 * ctest: env=SCHED_KIND=lifo env=SCHED_WARM=20ms */
#include "child.h"
#include "library.h"
#include "warm.h"

#ifdef PLUGIN

static pthread_key_t *hosts;

static void set_key(struct party *party, int i)
{
    if (!on_caller())
        CHECK_EQ(pthread_setspecific(*hosts, party), 0);
}

void work(pthread_key_t *key);
void work(pthread_key_t *key)
{
    struct party party = {.guests = 4, .look = set_key};
    hosts = key;
    give_party(&party);
}

#else

enum { NEVER, BEFORE, AFTER };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static void *plugin;

static void destroy(void *value)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

static void unload(void)
{
    pause_us(15000);
    CHECK_EQ(dlclose(plugin), 0);
    pause_us(50000); /* the threads' time would be up */
    check_say("<unloaded>");
}

static void body(void *arg)
{
    void (*work)(pthread_key_t *);
    int when = *(int *)arg;
    alarm(20); /* a deadlock ends the child */
    CHECK_EQ(pthread_key_create(&key, destroy), 0);
    plugin = load(CTEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    find_function(plugin, "work", &work);
    if (when == AFTER)
        atexit(unload);
    work(&key);
    if (when == BEFORE)
        atexit(unload);
    if (when != BEFORE) /* unloading waits for destructors */
        CHECK_EQ(pthread_mutex_lock(&lock), 0);
    exit(7);
}

int main(void)
{
    for (int when = NEVER; when <= AFTER; when++)
        for (int i = 0; i < 3; i++) {
            in_child(body, &when);
            CHECK_CHILD_EXITED(7);
            if (when != NEVER)
                CHECK_CHILD_SAID("<unloaded>");
        }
    return 0;
}

#endif
