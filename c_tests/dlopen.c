/* dlopen, use, dlclose, 100 times: it works, and mappings, threads, descriptors stay flat.
 * ctest: nolink
 * ctest:
 * ctest: env=SCHED_KIND=lifo
 * ctest: env=SCHED_DEQUE=mutex env=SCHED_IDLE=nap */
#include "library.h"
#include "proc.h"
#include <stdatomic.h>

typedef int init_function(int, int, taskfunc, void *);
typedef int spawn_function(taskfunc, void *, struct scheduler *);

static spawn_function *spawn;
static atomic_int ran;

static void task(void *closure, struct scheduler *s)
{
    long depth = (long)closure;
    atomic_fetch_add(&ran, 1);
    for (int i = 0; i < 2 && depth > 0; i++)
        CHECK_EQ(spawn(task, (void *)(depth - 1), s), 0);
}

static void use(void)
{
    void *library = load(CTEST_LIBDIR "/libsched.so.1", RTLD_NOW | RTLD_LOCAL);
    init_function *init;
    find_function(library, "sched_init", &init);
    find_function(library, "sched_spawn", &spawn);

    ran = 0;
    CHECK_EQ(init(4, 4, task, (void *)5), 0);
    CHECK_EQ(ran, 63);
    CHECK_EQ(dlclose(library), 0);
}

int main(void)
{
    one_heap();
    for (int i = 0; i < 10; i++)
        use();
    CHECK(threads_become(1));
    int mappings = mapping_count(), descriptors = descriptor_count();
    long resident = status_kb("VmRSS");
    for (int i = 0; i < 100; i++)
        use();
    CHECK(threads_become(1));
    CHECK_EQ(descriptor_count(), descriptors);
    if (mapping_count() > mappings + 50) /* stacks are kept, and not always as many threads at once */
        CHECK_EQ(mapping_count(), mappings);
    long grown = status_kb("VmRSS") - resident;
    if (grown > 1024)
        CHECK_EQ(grown, 0);
    /* Mapped still: code of the library that runs late (a thread's end) is never gone. */
    CHECK(is_loaded(CTEST_LIBDIR "/libsched.so.1"));
    return 0;
}
