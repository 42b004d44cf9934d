/* A plugin that contains libsched.a, and exit: a host unloads it in a handler of exit, before or after the plugin's own
 * handlers, while threads of its runs rest; and where exit's caller holds what the destructors of those threads wait for,
 * the process ends all the same.
 * ctest: plugin
 * ctest: env=SCHED_WARM=1min
 * ctest: env=SCHED_WARM=20ms
 * ctest: env=SCHED_KIND=lifo env=SCHED_WARM=20ms */
#include "child.h"
#include "proc.h"
#include <stdatomic.h>

enum { GUESTS = 4 };

#ifdef PLUGIN

static atomic_int arrived;

static void guest(void *key, struct scheduler *s)
{
    unsigned turns = 0;
    (void)s;
    if (thread_id() != (int)getpid())
        CHECK_EQ(pthread_setspecific(*(pthread_key_t *)key, key), 0);
    atomic_fetch_add(&arrived, 1);
    while (arrived < GUESTS)
        spin(&turns);
}

static void root(void *key, struct scheduler *s)
{
    for (int i = 1; i < GUESTS; i++)
        CHECK_EQ(sched_spawn(guest, key, s), 0);
    guest(key, s);
}

void work(pthread_key_t *key);
void work(pthread_key_t *key)
{
    arrived = 0;
    CHECK_EQ(sched_init(GUESTS, 4, root, key), 0);
}

#else
#include <dlfcn.h>

enum { NEVER, BEFORE, AFTER };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static void *plugin;

static void destroy(void *value)
{
    (void)value;
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
    plugin = dlopen(CTEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        check_say(dlerror());
        exit(1);
    }
    void *symbol = dlsym(plugin, "work");
    CHECK(symbol != NULL);
    memcpy(&work, &symbol, sizeof work);
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
