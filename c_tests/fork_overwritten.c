/* A forked task that was not joined, and whose descriptor was overwritten or unmapped before the task began: the process
 * ends with a message, and not with SIGSEGV alone.
 * ctest: static
 * ctest: matrix few kind=steal,lifo,fifo,serial idle=park threads=1 */
#include "child.h"
#include <sched_tasks.h>
#include <sys/mman.h>

static size_t page;
static char *filling; /* what the words of the descriptor become; NULL: the descriptor is unmapped */

static void leaf(void *closure, struct scheduler *s)
{
}

static void forgets(void *closure, struct scheduler *s)
{
    char *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    sched_fork((sched_task *)memory, leaf, NULL, s);
    if (filling == NULL)
        munmap(memory, page);
    for (size_t at = 0; filling && at < sizeof(sched_task); at += sizeof filling)
        memcpy(memory + at, &filling, sizeof filling);
}

static void run(void *arg)
{
    alarm(60);
    sched_init(2, 10, forgets, NULL);
}

int main(void)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip("the sanitizer handles SIGSEGV");
#endif
    page = (size_t)sysconf(_SC_PAGESIZE);
    char *const fillings[] = {NULL, (char *)16, (char *)&page, (char *)0x4141414141414140};
    for (size_t i = 0; i < sizeof fillings / sizeof *fillings; i++) {
        filling = fillings[i];
        in_child(run, NULL);
        check_child(__FILE__, __LINE__, WIFSIGNALED(child.status), "end by a signal");
        CHECK_CHILD_SAID("libsched: sched_fork: the descriptor of a task was overwritten");
        CHECK_CHILD_SAID("a sched_join is missing");
    }
    return 0;
}
