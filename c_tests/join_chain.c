/* A chain of a million tasks (divided by SMALLER), each of which waits for the next. The program ends, or it is
 * stopped with the message that a task has overflowed its stack; either way it takes less than 0.6 of the memory.
 * The same holds in a small address space. It also holds where each guard page costs a mapping, and the program
 * itself maps pages after the library has taken its mappings.
 * ctest: matrix kind=steal deque=split idle=park threads=2 timeout=240
 * ctest: matrix deque=mutex,split idle=park threads=1,2 args=space timeout=60
 * ctest: matrix deque=mutex,split idle=park threads=1,2 args=space join=help timeout=60
 * ctest: matrix kind=steal deque=split idle=park threads=1,2 join=suspend args=mappings timeout=60
 * ctest: matrix kind=steal deque=split idle=park threads=1,2 args=space env=SCHED_STACK=1G timeout=60 */
#include "aside.h"
#include "child.h"
#include "proc.h"
#include "seccomp.h"
#include <stdatomic.h>
#include <sys/mman.h>

enum { LINKS = 1000000 / SMALLER, LEFT = 1000, LOOK = 500 };

static atomic_int begun, ended;
static int maps;

/* The library has had what mappings it takes: since the last look, LOOK links ago, it took no more. */
static int is_sated(void)
{
    static int taken, last;
    FILE *f = taken ? NULL : fopen("/proc/self/maps", "r");
    int count = 0;
    if (!f)
        return 0;
    for (int c = getc(f); c != EOF; c = getc(f))
        count += c == '\n';
    CHECK_EQ(fclose(f), 0);
    taken = last > 1000 && count < last + LOOK / 10;
    last = count;
    return taken;
}

/* The number of mappings that the system allows a process. */
static long allowed(void)
{
    FILE *f = fopen("/proc/sys/vm/max_map_count", "r");
    long number = 0;
    if (f) {
        CHECK_EQ(fscanf(f, "%ld", &number), 1);
        CHECK_EQ(fclose(f), 0);
    }
    return number;
}

/* Mappings, each with a neighbour of another kind. */
static void take_mappings(void)
{
    for (int i = 0; i < LEFT; i++) {
        int access = i % 2 ? PROT_READ : PROT_READ | PROT_WRITE;
        CHECK(mmap(NULL, 4096, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    }
    check_say("took\n");
}

static void link_of(void *closure, struct scheduler *s)
{
    int left = (int)(intptr_t)closure;
    int nth = ++begun;
    if (maps && nth % LOOK == 0 && is_sated())
        take_mappings();
    if (left > 1 && left % 2) {
        sched_group g = SCHED_GROUP_INIT;
        CHECK_EQ(sched_group_spawn(&g, link_of, (void *)(intptr_t)(left - 1), s), 0);
        CHECK_EQ(sched_group_wait(&g, s), 0);
    } else if (left > 1) {
        sched_task t;
        unsigned turns = 0;
        int before = begun;
        sched_fork(&t, link_of, (void *)(intptr_t)(left - 1), s);
        /* Somebody may take it meanwhile, and then this waits as well. */
        while (begun == before && ++turns < 200)
            ;
        sched_join(&t, s);
    }
    ended++;
}

static void chain(void *closure)
{
    CHECK_EQ(sched_init(2, 4, link_of, (void *)(intptr_t)LINKS), 0);
    CHECK_EQ(ended, LINKS);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 1024;
    struct rusage used;
    if (strcmp(what, "space") == 0) {
        rlim_t bytes = (rlim_t)(status_kb("VmSize") + (300 << 10)) * 1024;
        struct rlimit limit = {bytes, bytes};
        CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    } else if (strcmp(what, "mappings") == 0) {
        if (allowed() > LINKS)
            skip("the system allows more mappings than this takes");
        no_guards();
        maps = 1;
    }
    in_child(chain, NULL);
    CHECK_EQ(getrusage(RUSAGE_CHILDREN, &used), 0);
    printf("%ld KiB%s\n", used.ru_maxrss, WIFSIGNALED(child.status) ? ", stopped" : "");
    if (WIFSIGNALED(child.status)) {
        CHECK_CHILD_SAID("has overflowed");
        CHECK_EQ(WTERMSIG(child.status), SIGSEGV);
    } else {
        CHECK_CHILD_PASSED();
    }
    CHECK(!maps || strstr(child.said, "took") != NULL);
    CHECK((double)used.ru_maxrss < 0.6 * memory);
    return 0;
}
