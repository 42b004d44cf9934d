/* stacks: the memory of tasks' stacks. */
#include "case.h"
#include "child.h"
#include "proc.h"
#include "aside.h"
#include "where.h"
#include <sched_io.h>
#include <sched_tasks.h>
#include <sys/mman.h>
#include <stdatomic.h>
#include <alloca.h>

/* small_stack: A thread with a stack of 32 KiB may call sched_init(0, ...) and
 * sched_default_threads.
 * ctest: static
 * ctest:
 * ctest: env=SCHED_STATS=1
 * ctest: env=SCHED_STATS=json
 * ctest: env=SCHED_HELP=1
 * ctest: env=SCHED_KIND=fifo
 * ctest: env=SCHED_KIND=serial */
enum { SMALL_STACK_STACK = 32 * 1024 };

static int ran;

static void task(void *closure, struct scheduler *s)
{
    ran = 1;
}

static void *init(void *arg)
{
    CHECK_EQ(sched_init(0, 0, task, NULL), 0);
    CHECK(ran);
    return arg;
}

static void *count(void *arg)
{
    CHECK(sched_default_threads() >= 1);
    return arg;
}

static void in_thread(void *body)
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    if (pthread_attr_setstacksize(&attr, SMALL_STACK_STACK) != 0)
        skip("stacks are larger here");
    CHECK_EQ(pthread_create(&thread, &attr, *(void *(**)(void *))body, NULL), 0);
    pthread_join(thread, NULL);
}

/* Each case has a process of its own: the system's limits are read at the first call, and kept for
 * a while. */
CASE(small_stack)
{
    static void *(*bodies[])(void *) = {init, count};
    for (int i = 0; i < 2; i++) {
        in_child(in_thread, &bodies[i]);
        CHECK_CHILD_PASSED();
    }
}

/* stack_locked: Where the process has locked what it will map, a stack takes the memory that is
 * touched, as elsewhere, and tasks that wait do not come near to the memory's limit.
 * ctest: static
 * ctest: env=SCHED_STACK=1M
 * ctest: env=SCHED_STACK=1M env=SCHED_KIND=cont */
enum { STACK_LOCKED_TASKS = 200 };

static sched_sem gate = SCHED_SEM_INIT(0);
static int waiting, passed;
static long taken;

static void stack_locked_waits(void *closure, struct scheduler *s)
{
    waiting++;
    CHECK_EQ(sched_sem_wait(&gate, s), 0);
    passed++;
}

/* One worker: no thread of the C library's, whose stack is resident as a whole. */
static void stack_locked_root(void *before, struct scheduler *s)
{
    CHECK_TIMES(STACK_LOCKED_TASKS, sched_spawn(stack_locked_waits, NULL, s));
    while (waiting < STACK_LOCKED_TASKS)
        sched_task_yield(s);
    taken = status_kb("VmRSS") - *(long *)before;
    CHECK_TIMES(STACK_LOCKED_TASKS, sched_sem_post(&gate));
}

CASE(stack_locked)
{
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        skip("memory cannot be locked here");
    void *much = mmap(NULL, (size_t)1 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (much == MAP_FAILED)
        skip("this user may lock little memory");
    munmap(much, (size_t)1 << 30);
    for (int run = 0; run < 2; run++) {
        long before = status_kb("VmRSS");
        waiting = passed = 0;
        CHECK_EQ(sched_init(1, 0, stack_locked_root, &before), 0);
        CHECK_EQ(passed, STACK_LOCKED_TASKS);
        if (taken > 40 * 1024) {
            printf("%d stacks took %ld KiB\n", STACK_LOCKED_TASKS, taken);
            exit(1);
        }
    }
}

/* stack_reuse: The stacks of tasks that wait are used again: 1,000 runs with tasks that wait take
 * no more memory, nor address space, than 20; and after a run with many they are given back.
 * ctest: matrix deque=mutex,split idle=park threads=1,4 timeout=60
 * ctest: matrix with=deques deque=split idle=park threads=4 env=SCHED_STACK=256K timeout=60
 * ctest: matrix with=deques deque=split idle=park threads=4 args=sizes timeout=60 */
enum { RUNS = 1000 / SMALLER, STACK_REUSE_TASKS = 20, MANY = 3000 / SMALLER };

static atomic_int there;
static int wanted;

static void stack_reuse_waits(void *closure, struct scheduler *s)
{
    char touched[16384];
    memset(touched, (int)(intptr_t)closure, sizeof touched);
    there++;
    while (there < wanted)
        sched_task_yield(s);
    for (size_t i = 0; i < sizeof touched; i += 4096)
        CHECK_EQ(touched[i], (char)(intptr_t)closure);
}

static void stack_reuse_root(void *closure, struct scheduler *s)
{
    for (intptr_t i = 0; i < wanted; i++)
        CHECK_EQ(sched_spawn(stack_reuse_waits, (void *)i, s), 0);
}

static void stack_reuse_run(int tasks, int number)
{
    static const char *const sizes[] = {"128K", "256K", "1M"};
    if (number >= 0)
        setenv("SCHED_STACK", sizes[number % 3], 1);
    there = 0;
    wanted = tasks;
    CHECK_EQ(sched_init(4, 10, stack_reuse_root, NULL), 0);
    CHECK_EQ(there, tasks);
}

CASE(stack_reuse)
{
    int sizes = argc > 1 && strcmp(argv[1], "sizes") == 0;
    one_heap();
    for (int i = 0; i < 20; i++)
        stack_reuse_run(STACK_REUSE_TASKS, sizes ? i : -1);
    long size = status_kb("VmSize"), rss = status_kb("VmRSS");
    int mappings = mapping_count();
    for (int i = 20; i < RUNS; i++)
        stack_reuse_run(STACK_REUSE_TASKS, sizes ? i : -1);
    CHECK(status_kb("VmSize") - size < 300 * 1024); /* the store's are of 8 MB */
    CHECK(status_kb("VmRSS") - rss < 2 * 1024);
    CHECK(mapping_count() - mappings < 50);
    stack_reuse_run(MANY, sizes ? 0 : -1);
    CHECK(status_kb("VmRSS") - rss < 8 * 1024);
    CHECK(mapping_count() - mappings < 600);
}

/* stacks_none: Where address space is limited, more tasks wait than there are stacks: others run on
 * top of those that wait, and a line on standard error says so, once. The tasks end when all are
 * woken.
 * ctest: static
 * ctest: matrix deque=split,mutex idle=park threads=2 */
enum { STACKS_NONE_TASKS = 60, MORE = 120 << 20 };

static sched_sem wake;
static int begun, over;

static void stacks_none_waits(void *closure, struct scheduler *s)
{
    __atomic_add_fetch(&begun, 1, __ATOMIC_RELEASE);
    CHECK_EQ(sched_sem_wait(&wake, s), 0);
    over++;
}

static void stacks_none_root(void *closure, struct scheduler *s)
{
    CHECK_TIMES(STACKS_NONE_TASKS, sched_spawn(stacks_none_waits, closure, s));
}

static void *wakes(void *unused)
{
    struct patience p = patience_of(30);
    while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) < STACKS_NONE_TASKS) {
        CHECK(is_patient(&p));
        pause_us(1000);
    }
    CHECK_TIMES(STACKS_NONE_TASKS, sched_sem_post(&wake));
    return unused;
}

static void stacks_none_run(void *unused)
{
    char line[256];
    unsigned long pages = 0;
    FILE *in = fopen("/proc/self/statm", "r");
    CHECK(in != NULL && fgets(line, sizeof line, in) != NULL && sscanf(line, "%lu", &pages) == 1);
    fclose(in);
    CHECK_EQ(sched_sem_init(&wake, 0), 0);
    pthread_t thread = begin_thread(wakes, unused);
    rlim_t bytes = pages * (rlim_t)sysconf(_SC_PAGESIZE) + MORE;
    struct rlimit limit = {bytes, bytes};
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    CHECK_EQ(sched_init(1, 64, stacks_none_root, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(over, STACKS_NONE_TASKS);
}

CASE(stacks_none)
{
    unsetenv("SCHED_THREADS"); /* one worker, so that `over` is its own */
    unsetenv("SCHED_STACK");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip("the sanitizer needs address space");
#endif
    CHECK_IN_CHILD(stacks_none_run, NULL);
    CHECK_EQ(count_said("no stack of "), 1);
    CHECK_CHILD_SAID("SCHED_STACK");
}

/* stacks_wait: A task that waits takes a page of stack and little else, whatever it waits for; where its frames and the
 * library's cross into a second page, some tasks take two.
 * ctest: static
 * ctest: matrix few deque=split,mutex idle=park threads=1 */
enum { STACKS_WAIT_TASKS = 2000 };

static sched_mutex waits_in;
static sched_cond is_told;
static int told;
static int pipe_ends[2];

static void by_sem(void *closure, struct scheduler *s)
{
    begun++;
    CHECK_EQ(sched_sem_wait(&wake, s), 0);
}

static void by_deadline(void *closure, struct scheduler *s)
{
    begun++;
    CHECK_EQ(sched_sem_wait_until(&wake, sched_now() + 1000 * SCHED_SECOND, s), 0);
}

static void by_cond(void *closure, struct scheduler *s)
{
    begun++;
    CHECK_EQ(sched_mutex_lock(&waits_in, s), 0);
    while (!told)
        CHECK_EQ(sched_cond_wait(&is_told, &waits_in, s), 0);
    CHECK_EQ(sched_mutex_unlock(&waits_in), 0);
}

static void by_read(void *closure, struct scheduler *s)
{
    char byte;
    begun++;
    CHECK_EQ(sched_read(pipe_ends[0], &byte, 1, s), 1);
}

static void wakes_all(taskfunc waits, struct scheduler *s)
{
    if (waits == by_cond) {
        CHECK_EQ(sched_mutex_lock(&waits_in, s), 0);
        told = 1;
        CHECK_EQ(sched_cond_broadcast(&is_told), 0);
        CHECK_EQ(sched_mutex_unlock(&waits_in), 0);
    }
    for (int i = 0; i < STACKS_WAIT_TASKS; i++)
        if (waits == by_read)
            CHECK_EQ(sched_write(pipe_ends[1], "", 1, s), 1);
        else if (waits != by_cond)
            CHECK_EQ(sched_sem_post(&wake), 0);
}

static void stacks_wait_root(void *closure, struct scheduler *s)
{
    taskfunc waits = *(taskfunc *)closure;
    sched_group group = SCHED_GROUP_INIT;
    long before = status_kb("VmRSS");
    CHECK_TIMES(STACKS_WAIT_TASKS, sched_group_spawn(&group, waits, NULL, s));
    while (begun < STACKS_WAIT_TASKS) /* there is one worker: a task that has begun waits */
        CHECK_EQ(sched_sleep(SCHED_MILLISECOND, s), 0);
    long each = (status_kb("VmRSS") - before) * 1024 / STACKS_WAIT_TASKS;
    CHECK_EQ(each > 6 * 1024 ? each : 0, 0);
    wakes_all(waits, s);
    CHECK_EQ(sched_group_wait(&group, s), 0);
}

static void stacks_wait_run(void *waits)
{
    CHECK_EQ(sched_sem_init(&wake, 0), 0);
    CHECK_EQ(sched_mutex_init(&waits_in), 0);
    CHECK_EQ(sched_cond_init(&is_told), 0);
    CHECK_EQ(pipe(pipe_ends), 0);
    CHECK_EQ(sched_init(1, 0, stacks_wait_root, waits), 0);
}

/* A process each, so that no stack has been used before. */
CASE(stacks_wait)
{
    static taskfunc waits[] = {by_sem, by_deadline, by_cond, by_read};
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip("the sanitizer's own memory is counted, too");
#endif
    one_heap();
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        in_child(stacks_wait_run, &waits[i]);
        CHECK_CHILD_PASSED();
    }
}

/* altstack: The program's own handlers with SA_ONSTACK, inside a run: they have as much stack as a
 * thread gives, and where the program has an alternate stack of its own, they run on that. After
 * the run the thread has the one that it had.
 * ctest: static
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
enum { KIB = 1024, OWN = 256 * KIB };

/* SIGPROF: the threads that the library makes leave it open, too. */
static size_t needed;
static char *own;
static volatile int handled;
static volatile char sink;

static __attribute__((noinline)) void use_stack(size_t bytes)
{
    char room[bytes];
    memset(room, 0x5a, bytes);
    sink = room[bytes / 2];
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    char here;
    if (own)
        CHECK(&here >= own && &here < own + OWN);
    use_stack(needed);
    handled++;
}

/* What is in the frames of the task, and of the caller of sched_init, stays as it is. */
static void raises(struct scheduler *s)
{
    volatile unsigned char frame[4 * KIB];
    int before = handled;
    memset((void *)frame, 0xa5, sizeof frame);
    CHECK_EQ(raise(SIGPROF), 0);
    CHECK_EQ(handled, before + 1);
    for (size_t i = 0; i < sizeof frame; i++)
        CHECK_EQ(frame[i], 0xa5);
}

static __attribute__((noinline)) void run_with_frame(struct deed *deed)
{
    volatile unsigned char frame[64 * KIB];
    memset((void *)frame, 0x3c, sizeof frame);
    CHECK_EQ(sched_init(4, 4, seek_place, deed), 0);
    for (size_t i = 0; i < sizeof frame; i++)
        CHECK_EQ(frame[i], 0x3c);
}

CASE(altstack)
{
    static const size_t sizes[] = {14 * KIB, 60 * KIB, 1024 * KIB};
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_ONSTACK | SA_SIGINFO};
    stack_t mine = {.ss_size = OWN}, after;
    CHECK_EQ(sigaction(SIGPROF, &action, NULL), 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        needed = sizes[i];
        for (int caller = threads_of(4) == 1; caller < 2; caller++) {
            volatile int done = 0;
            struct deed deed = {raises, caller, &done};
            run_with_frame(&deed);
            CHECK(done);
            CHECK_EQ(sigaltstack(NULL, &after), 0);
            CHECK(after.ss_flags & SS_DISABLE);
        }
    }
    CHECK((mine.ss_sp = malloc(OWN)) != NULL);
    CHECK_EQ(sigaltstack(&mine, NULL), 0);
    own = mine.ss_sp;
    needed = 200 * KIB;
    volatile int done = 0;
    struct deed deed = {raises, 1, &done};
    run_with_frame(&deed);
    CHECK(done);
    CHECK_EQ(sigaltstack(NULL, &after), 0);
    CHECK(after.ss_sp == mine.ss_sp && after.ss_size == mine.ss_size);
}

/* overflow: A task that overflows its stack ends the process with a message that tells the size and
 * the variable, in the loop's own stack and after it has waited. A SIGSEGV of another cause, or
 * sent by somebody, ends the process without it; a program's own handler has both.
 * ctest: static
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
static int waits_first;
static volatile int depth;

static __attribute__((noinline)) int go_down(int more)
{
    volatile char room[512];
    room[0] = (char)more;
    depth++;
    return more == 0 ? room[0] : go_down(more - 1) + room[0];
}

static void overflows(void *closure, struct scheduler *s)
{
    if (waits_first) {
        change_thread(s);
        sched_task_yield(s);
    }
    *(int *)closure = go_down(INT_MAX);
}

static void faults(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    **(volatile int **)closure = 1;
}

static void sends(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    raise(SIGSEGV);
    check_say("it went on\n");
    _exit(0);
}

static void run_overflow(void *size)
{
    int result;
    if (size)
        setenv("SCHED_STACK", size, 1);
    sched_init(4, 4, overflows, &result);
}

static void run_fault(void *arg)
{
    int *nowhere = NULL;
    sched_init(2, 4, faults, &nowhere);
}

static void run_sent(void *arg)
{
    sched_init(2, 4, sends, arg);
}

/* Sent to a program whose runs have ended. */
static void sent_later(void *arg)
{
    int result = 0;
    CHECK_EQ(sched_init(1, 4, aside_other, &result), 0);
    raise(SIGSEGV);
    check_say("it went on\n");
    _exit(*(int *)arg);
}

static void own_handler(int signal)
{
    _exit(9);
}

static void run_handled(void *arg)
{
    struct sigaction own = {.sa_handler = own_handler};
    CHECK_EQ(sigaction(SIGSEGV, &own, NULL), 0);
    run_fault(arg);
}

static void bad_size(void *size)
{
    int begun = 0;
    setenv("SCHED_STACK", size, 1);
    CHECK_ERRNO(sched_init(2, 4, aside_other, &begun), EINVAL);
    CHECK(!begun);
}

#define CHECK_CHILD_SEGV()                                                                   \
    check_child(__FILE__, __LINE__,                                                          \
                WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGSEGV, "end by SIGSEGV")

CASE(overflow)
{
    char *sizes[] = {"64K", "1M"}, *kib[] = {"KiB", "KiB"};
    char *bad[] = {"0", "-1", "x", "64X", " ", "1", "4K", "1.5M", "99999999999999999999", "17179869184G"};
    int zero = 0;
    for (waits_first = 0; waits_first < 2; waits_first++) {
        in_child(run_overflow, NULL);
        CHECK_CHILD_SEGV();
        CHECK_CHILD_SAID("overflow");
        CHECK_CHILD_SAID("SCHED_STACK");
        for (int i = 0; i < 2; i++) {
            in_child(run_overflow, sizes[i]);
            CHECK_CHILD_SEGV();
            CHECK_CHILD_SAID("SCHED_STACK");
            CHECK_CHILD_SAID(kib[i]);
        }
    }
    void (*others[])(void *) = {run_fault, run_sent, sent_later};
    for (int i = 0; i < 3; i++) {
        in_child(others[i], &zero);
        CHECK_CHILD_SEGV();
        CHECK(strstr(child.said, "overflow") == NULL && strstr(child.said, "went on") == NULL);
    }
    in_child(run_handled, NULL);
    CHECK_CHILD_EXITED(9);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_IN_CHILD(bad_size, bad[i]);
        CHECK_CHILD_SAID("SCHED_STACK");
    }
}

/* overflow_frame: A task whose frame is larger than its stack ends the process with the message for
 * an overflow, if the frame ends in the guard, whose size is 256 KB, or its pages are probed from
 * above, as -fstack-clash-protection makes a compiler do.
 * ctest: static
 * ctest: matrix deque=split idle=park threads=1,4 */
enum { OTHERS = 20, OVERFLOW_FRAME_STACK = 16 << 20, PAGE = 4096 };

static sched_sem never;
static int others, probes;

static void overflow_frame_waits(void *closure, struct scheduler *s)
{
    __atomic_add_fetch(&others, 1, __ATOMIC_RELAXED);
    sched_sem_wait(&never, s);
}

/* Writes to the lowest byte of a frame; first to each of its pages, if it probes them. */
static __attribute__((noinline)) void uses_frame(size_t size, struct scheduler *s)
{
    volatile char *frame = alloca(size);
    for (size_t at = size; probes && at >= PAGE; at -= PAGE)
        frame[at - PAGE] = 1;
    frame[0] = 1;
    sched_task_yield(s);
    frame[size - 1] = frame[0];
}

static void has_frame(void *size, struct scheduler *s)
{
    while (__atomic_load_n(&others, __ATOMIC_RELAXED) < OTHERS)
        sched_task_yield(s);
    uses_frame(*(size_t *)size, s);
    check_say("it went on\n");
    _exit(0);
}

static void overflow_frame_root(void *size, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(has_frame, size, s), 0);
    CHECK_TIMES(OTHERS, sched_spawn(overflow_frame_waits, NULL, s));
    sched_sem_wait(&never, s);
}

static void overflow_frame_run(void *size)
{
    sched_sem_init(&never, 0);
    setenv("SCHED_STACK", "16M", 1);
    sched_init(4, 64, overflow_frame_root, size);
}

static void check(size_t size)
{
    others = 0;
    in_child(overflow_frame_run, &size);
    CHECK_CHILD_SAID("overflowed its");
    check_child(__FILE__, __LINE__, WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGSEGV, "be killed");
}

CASE(overflow_frame)
{
    if (!has_threads())
        skip("there tasks have the stack of the thread, whose size is not SCHED_STACK");
    for (size_t more = 64 << 10; more <= 192 << 10; more += 64 << 10)
        check(OVERFLOW_FRAME_STACK + more);
    probes = 1;
    for (size_t size = OVERFLOW_FRAME_STACK + (1 << 20); size <= 5 * OVERFLOW_FRAME_STACK; size += OVERFLOW_FRAME_STACK)
        check(size);
}
