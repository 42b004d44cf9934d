/* joins: waits in joins, and the tasks that run during the waits. */
#include "case.h"
#include "aside.h"
#include "child.h"
#include "proc.h"
#include "seccomp.h"
#include "cpu.h"
#include "modes.h"
#include "stats_line.h"
#include <stdatomic.h>
#include <sys/mman.h>
#include <sched_tasks.h>

/* join_chain: A chain of a million tasks (divided by SMALLER), each of which waits for the next.
 * The program ends, or it is stopped with the message that a task has overflowed its stack; either
 * way it takes less than 0.6 of the memory. The same holds in a small address space. It also holds
 * where each guard page costs a mapping, and the program itself maps pages after the library has
 * taken its mappings.
 * ctest: matrix kind=steal deque=split idle=park threads=2 timeout=240
 * ctest: matrix deque=mutex,split idle=park threads=1,2 args=space timeout=60
 * ctest: matrix deque=mutex,split idle=park threads=1,2 args=space join=help timeout=60
 * ctest: matrix kind=steal deque=split idle=park threads=1,2 join=suspend args=mappings timeout=60
 * ctest: matrix kind=steal deque=split idle=park threads=1,2 args=space env=SCHED_STACK=1G timeout=60 */
enum { LINKS = 1000000 / SMALLER, LEFT = 1000, LOOK = 500 };

static atomic_int chain_begun, chain_ended;
static int maps;

/* True if the library has all the mappings that it takes: it has taken no more since the last look,
 * LOOK links ago. */
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
    int nth = ++chain_begun;
    if (maps && nth % LOOK == 0 && is_sated())
        take_mappings();
    if (left > 1 && left % 2) {
        sched_group g = SCHED_GROUP_INIT;
        CHECK_EQ(sched_group_spawn(&g, link_of, (void *)(intptr_t)(left - 1), s), 0);
        CHECK_EQ(sched_group_wait(&g, s), 0);
    } else if (left > 1) {
        sched_task t;
        unsigned turns = 0;
        int before = chain_begun;
        sched_fork(&t, link_of, (void *)(intptr_t)(left - 1), s);
        /* Another worker may take it in between; then this task also waits. */
        while (chain_begun == before && ++turns < 200)
            ;
        sched_join(&t, s);
    }
    chain_ended++;
}

static void chain(void *closure)
{
    CHECK_EQ(sched_init(2, 4, link_of, (void *)(intptr_t)LINKS), 0);
    CHECK_EQ(chain_ended, LINKS);
}

CASE(join_chain)
{
    const char *what = argc > 1 ? argv[1] : "";
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 1024;
    struct rusage used;
    if (strcmp(what, "space") == 0) {
        limit_space(300 << 10);
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
}

/* join_idle: A worker, or a thread that is not a worker, uses next to no processor time while it
 * waits for a child that sleeps, or for a group.
 * ctest: sleeps
 * ctest: matrix with=deques deque=split,chaselev,mutex idle=park threads=2,8
 * ctest: matrix with=threads without=deques deque=mutex,spin idle=park threads=2,8 */
static atomic_int idle_begun;
static pthread_t thread;

/* The first tenth of a second is for looking around and going to sleep. */
static void sleeper(void *closure, struct scheduler *s)
{
    idle_begun = 1;
    pause_us(100000);
    check_use(900000, 0.01);
}

static void forks(void *closure, struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, sleeper, closure, s);
    for (unsigned turns = 0; !idle_begun;)
        spin(&turns);
    sched_join(&t, s);
}

static void groups(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    CHECK_EQ(sched_group_spawn(&g, sleeper, closure, s), 0);
    for (unsigned turns = 0; !idle_begun;)
        spin(&turns);
    CHECK_EQ(sched_group_wait(&g, s), 0);
}

static void *idle_stranger(void *s)
{
    sched_task t;
    sched_fork(&t, sleeper, NULL, s);
    sched_join(&t, s);
    return NULL;
}

static void hosts(void *closure, struct scheduler *s)
{
    CHECK_EQ(pthread_create(&thread, NULL, idle_stranger, s), 0);
    pthread_join(thread, NULL);
}

CASE(join_idle)
{
    static taskfunc roots[] = {forks, groups, hosts};
    for (int i = 0; i < 3; i++) {
        idle_begun = 0;
        CHECK_EQ(sched_init(4, 4, roots[i], NULL), 0);
    }
}

/* join_migrate: A task that has waited may continue in another thread. It keeps its s, which is
 * valid for all calls there, and its own floating-point controls, which in kind cont its children
 * may share.
 * ctest: static debug libs=m
 * ctest: matrix with=threads deque=mutex,split,chaselev idle=park,nap threads=2,4,16
 * ctest: matrix deque=mutex,split idle=park threads=1,4 join=help
 * ctest: matrix deque=mutex,split idle=park threads=4 env=SCHED_STACK=64K
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace
 * ctest: matrix deque=split,mutex idle=park threads=2,4 join=help trace */
static atomic_int spawned, covered;

static void add_one(void *closure, struct scheduler *s)
{
    CHECK(sched_worker_index(s) >= 0);
    atomic_fetch_add((atomic_int *)closure, 1);
}

static void rounds_to_nearest(void *closure, struct scheduler *s)
{
    if (!spawn_calls())
        CHECK_EQ(mode_now(), FE_TONEAREST);
    atomic_fetch_add((atomic_int *)closure, 1);
}

static void body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    if (lo % 64 == 0)
        sched_task_yield(s);
    atomic_fetch_add(&covered, (int)(hi - lo));
}

static void all_calls(struct scheduler *s)
{
    atomic_int forked = 0, grouped = 0, inner = 0;
    sched_task t[3];
    sched_group g = SCHED_GROUP_INIT;
    CHECK(sched_worker_index(s) >= 0 && sched_worker_index(s) < sched_worker_count(s));
    CHECK_EQ(sched_spawn(add_one, &spawned, s), 0);
    for (int i = 0; i < 3; i++)
        sched_fork(&t[i], add_one, &forked, s);
    change_thread(s);
    for (int i = 3; i-- > 0;)
        sched_join(&t[i], s);
    CHECK_EQ(forked, 3);
    CHECK_TIMES(3, sched_group_spawn(&g, add_one, &grouped, s));
    change_thread(s);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(grouped, 3);
    covered = 0;
    CHECK_EQ(sched_for(0, 1000, 10, body, NULL, s), 0);
    CHECK_EQ(covered, 1000);
    CHECK_EQ(sched_init(2, 4, add_one, &inner), 0);
    CHECK_EQ(inner, 1);
}

static void migrate_root(void *closure, struct scheduler *s)
{
    atomic_int nearest = 0;
    sched_group g = SCHED_GROUP_INIT;
    change_thread(s);
    all_calls(s);
    CHECK_EQ(fesetround(FE_UPWARD), 0);
    change_thread(s);
    CHECK_EQ(mode_now(), FE_UPWARD);
    if (join_is("suspend")) {
        CHECK_TIMES(20, sched_group_spawn(&g, rounds_to_nearest, &nearest, s));
        CHECK_EQ(sched_group_wait(&g, s), 0);
        CHECK_EQ(nearest, 20);
    }
    change_thread(s);
    CHECK_EQ(mode_now(), FE_UPWARD);
    CHECK_EQ(fesetround(FE_TONEAREST), 0);
    all_calls(s);
    *(int *)closure = 1;
}

CASE(join_migrate)
{
    for (int run = 0; run < 3; run++) {
        int ran = 0;
        spawned = 0;
        CHECK_EQ(sched_init(4, 10, migrate_root, &ran), 0);
        CHECK(ran);
        CHECK_EQ(spawned, 2);
        CHECK_EQ(mode_now(), FE_TONEAREST);
    }
}

/* join_starve: A task from outside has its turn while a worker waits, even if the tasks that the
 * worker runs meanwhile do not stop by themselves: here they continue until the task from outside,
 * for which the worker waits, has run. The same holds if such tasks come from outside together with
 * that task; a worker may take all of them at once.
 * ctest: debug
 * ctest: matrix kind=serial,steal,cont threads=1,2
 * ctest: matrix kind=steal threads=1 idle=park global=all join=help
 * ctest: matrix kind=steal threads=1 idle=park overflow=half global=all join=help */
static atomic_int starve_ran, sent;
static sched_group g;

static void starve_leaf(void *closure, struct scheduler *s)
{
    starve_ran = 1;
}

static void goes_on(void *closure, struct scheduler *s)
{
    if (!starve_ran)
        CHECK_EQ(sched_spawn(goes_on, closure, s), 0);
}

static void *starve_stranger(void *s)
{
    CHECK_EQ(sched_group_spawn(&g, starve_leaf, NULL, s), 0);
    sent = 1;
    return NULL;
}

/* The first of them is run at once. */
static void *sends_several(void *s)
{
    CHECK_EQ(sched_spawn(nothing, NULL, s), 0);
    CHECK_EQ(sched_group_spawn(&g, starve_leaf, NULL, s), 0);
    CHECK_TIMES(threads_of(4), sched_spawn(goes_on, NULL, s));
    sent = 1;
    return NULL;
}

static void starve_root(void *several, struct scheduler *s)
{
    starve_ran = sent = 0;
    pthread_t thread = begin_thread(several ? sends_several : starve_stranger, s);
    while (!sent)
        pause_us(50);
    for (int i = 0; !several && i < threads_of(4); i++)
        CHECK_EQ(sched_spawn(goes_on, NULL, s), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(starve_ran, 1);
    pthread_join(thread, NULL);
}

CASE(join_starve)
{
    CHECK_EQ(sched_init(4, 10, starve_root, NULL), 0);
    CHECK_EQ(sched_init(4, 10, starve_root, &g), 0);
}

/* join_stats: Each task counts once in the statistics: forked tasks, whether joined in the order of
 * the deque or not, stolen, or run at once for lack of room; and tasks of groups, also if they are
 * skipped.
 * ctest: debug
 * ctest: matrix idle=park,spin */
enum { N = 100 };

static void stats_leaf(void *closure, struct scheduler *s)
{
    if (closure)
        pause_us((long)closure);
}

/* Three rounds of N forks, N spawns among the last; N tasks of a group, and N of a cancelled one. */
static void stats_root(void *closure, struct scheduler *s)
{
    sched_task tasks[N];
    sched_group g = SCHED_GROUP_INIT;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N; i++) {
            sched_fork(&tasks[i], stats_leaf, (void *)(i % 10 == 0 ? 20L : 0L), s);
            if (round == 2)
                CHECK_EQ(sched_spawn(stats_leaf, NULL, s), 0);
        }
        for (int i = 0; i < N; i++)
            sched_join(&tasks[round ? i : N - 1 - i], s);
    }
    CHECK_TIMES(N, sched_group_spawn(&g, stats_leaf, NULL, s));
    CHECK_EQ(sched_group_wait(&g, s), 0);
    sched_group_cancel(&g);
    CHECK_TIMES(N, sched_group_spawn(&g, stats_leaf, NULL, s));
    CHECK_ERRNO(sched_group_wait(&g, s), ECANCELED);
}

static void full(void *closure, struct scheduler *s)
{
    sched_task tasks[N];
    for (int i = 0; i < N; i++)
        sched_fork(&tasks[i], stats_leaf, NULL, s);
    for (int i = 0; i < N; i++)
        sched_join(&tasks[i], s);
}

CASE(join_stats)
{
    gather_stats();
    CHECK_EQ(sched_init(4, 10, stats_root, NULL), 0);
    setenv("SCHED_OVERFLOW", "refuse", 1);
    CHECK_EQ(sched_init(4, 10, full, NULL), 0);
    char *first = gathered_stats(), *second = strchr(first, '\n') + 1;
    CHECK_EQ(stat_number(first, "tasks"), 1 + 6 * N);
    CHECK_EQ(stat_number(second, "tasks"), 1 + N);
}

/* help_idle: With SCHED_JOIN=help, waiting tasks cost nothing, even if there are many more of them
 * than workers. A worker does not switch back and forth between tasks that wait: if it has nothing
 * else to do, it leaves them waiting, and it sleeps when all tasks wait. In the end another task,
 * or a thread that is not a worker, ends the waits, and all tasks continue.
 * ctest: sleeps
 * ctest: matrix with=deques deque=split,chaselev idle=park threads=2 join=help
 * ctest: matrix kind=steal deque=ring idle=park threads=2 join=help
 * ctest: matrix with=threads without=deques deque=mutex idle=park threads=2 join=help */
enum { WAITERS = 20 };

static sched_group group = SCHED_GROUP_INIT;
static sched_sem sem = SCHED_SEM_INIT(0);
static atomic_int came, help_idle_ended;

static void help_idle_child(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&came, 1);
    CHECK_EQ(sched_sem_wait(&sem, s), 0);
}

static void joins(void *closure, struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, help_idle_child, closure, s);
    sched_task_yield(s);
    sched_join(&t, s);
    atomic_fetch_add(&help_idle_ended, 1);
}

static void waits(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&came, 1);
    CHECK_EQ(sched_group_wait(&group, s), 0);
    atomic_fetch_add(&help_idle_ended, 1);
}

static void *post(void *arg)
{
    CHECK_TIMES(WAITERS, sched_sem_post(&sem));
    return NULL;
}

static void help_idle_root(void *closure, struct scheduler *s)
{
    pthread_t thread;
    came = help_idle_ended = 0;
    CHECK_EQ(sched_group_spawn(&group, help_idle_child, NULL, s), 0);
    for (int i = 1; i < WAITERS; i++) {
        CHECK_EQ(sched_spawn(joins, NULL, s), 0);
        CHECK_EQ(sched_spawn(waits, NULL, s), 0);
    }
    while (came < 2 * WAITERS - 1)
        sched_task_yield(s);
    pause_us(20000); /* they come to wait */
    check_idle();
    CHECK_EQ(help_idle_ended, 0);
    if (closure) {
        CHECK_EQ(pthread_create(&thread, NULL, post, NULL), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    } else {
        post(NULL);
    }
}

CASE(help_idle)
{
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(sched_init(2, 4, help_idle_root, i ? &came : NULL), 0);
        CHECK_EQ(help_idle_ended, 2 * (WAITERS - 1));
    }
}

/* help_round: Tasks that run in the middle of one that waits have not its rounding mode, and it
 * keeps that.
 * ctest: debug libs=m
 * ctest: matrix with=threads without=calls idle=park threads=1 join=help */
enum { CHILDREN = 3 };

static int help_round_ran;

static void help_round_child(void *closure, struct scheduler *s)
{
    CHECK_EQ(mode_now(), FE_TONEAREST);
    help_round_ran++;
}

static void help_round_root(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    CHECK_EQ(fesetround(FE_UPWARD), 0);
    CHECK_TIMES(CHILDREN, sched_group_spawn(&g, help_round_child, NULL, s));
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(mode_now(), FE_UPWARD);
    CHECK_EQ(help_round_ran, CHILDREN);
    CHECK_EQ(fesetround(FE_TONEAREST), 0);
}

CASE(help_round)
{
    CHECK_EQ(sched_init(1, 8, help_round_root, NULL), 0);
}

/* help_turn: If the oldest task is next, a worker that helps reaches the awaited task, although
 * each youngest task adds a younger one.
 * ctest: matrix with=threads without=calls,newest idle=park,nap threads=1 join=help */
static int awaited_ran;

static void awaited(void *closure, struct scheduler *s)
{
    awaited_ran = 1;
}

static void adds_itself(void *closure, struct scheduler *s)
{
    if (!awaited_ran)
        CHECK_EQ(sched_spawn(adds_itself, closure, s), 0);
}

static void help_turn_root(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    CHECK_EQ(sched_group_spawn(&g, awaited, NULL, s), 0);
    CHECK_EQ(sched_spawn(adds_itself, NULL, s), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(awaited_ran, 1);
}

CASE(help_turn)
{
    CHECK_EQ(sched_init(1, 8, help_turn_root, NULL), 0);
}
