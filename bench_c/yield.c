/* yield.c: two tasks that yield in turn, n times together. On one worker each yield is a switch to the other task,
 * through the queue. With more workers each task has a worker of its own, and finds no task to yield to.
 *
 * For comparison, without a scheduler: -d pthread, two threads on one processor that call sched_yield, which is a
 * switch by the kernel; -d ucontext, two contexts of libc that call swapcontext. This needs no queue, but it asks the
 * kernel, too, since each context has its own signal mask. */

#include "threads.h"
#include "bench.h"

#include <sched_tasks.h>
#include <ucontext.h>

enum { TASKS = 2 };

/* One cache line for each task. */
static struct {
    long done;
    char pad[56];
} seen[TASKS];
static long each;

static void yields(void *closure, struct scheduler *s)
{
    long i = (long)(intptr_t)closure;
    for (long k = 0; k < each; k++) {
        seen[i].done++;
        sched_task_yield(s);
    }
}

static void first_task(void *closure, struct scheduler *s)
{
    (void)closure;
    for (long i = 0; i < TASKS; i++)
        bench_spawn(yields, (void *)(intptr_t)i, s);
}

/* --- a call instead ---------------------------------------------------------------- */

/* volatile: the compiler must not know which function the serial version calls. */
static void count(long i)
{
    seen[i].done++;
}

static void (*volatile call)(long) = count;

static void calls(void *closure)
{
    (void)closure;
    for (long k = 0; k < each; k++)
        for (long i = 0; i < TASKS; i++)
            call(i);
}

/* --- the means of the kernel and libc ---------------------------------------------- */

static void *thread(void *closure)
{
    long i = (long)(intptr_t)closure;
    for (long k = 0; k < each; k++) {
        seen[i].done++;
        sched_yield();
    }
    return NULL;
}

static void threads(void *closure)
{
    (void)closure;
    two_threads(thread, 1);
}

static ucontext_t context[TASKS], back;
static _Alignas(64) char stack[TASKS][64 * 1024];

static void turns(int i)
{
    for (long k = 0; k < each; k++) {
        seen[i].done++;
        if (swapcontext(&context[i], &context[1 - i]) != 0)
            bench_die("swapcontext");
    }
}

static void make(int i, ucontext_t *next)
{
    if (getcontext(&context[i]) != 0)
        bench_die("getcontext");
    context[i].uc_stack.ss_sp = stack[i];
    context[i].uc_stack.ss_size = sizeof stack[i];
    context[i].uc_link = next;
    makecontext(&context[i], (void (*)(void))turns, 1, i);
}

static void contexts(void *closure)
{
    (void)closure;
    /* The first context ends first, and continues the other, which has made its last turn and then
     * also ends. */
    make(0, &context[1]);
    make(1, &back);
    if (swapcontext(&back, &context[0]) != 0)
        bench_die("swapcontext");
}

/* ----------------------------------------------------------------------------------- */

static const struct bench_about about = {
    "yield", "yields of two tasks together", 1L << 20, 2, 1L << 40,
    "sched (default), pthread (two threads on one processor) or ucontext (libc's contexts)",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    void (*serial)(void *) = calls;
    if (b.data != NULL && strcmp(b.data, "sched") != 0) {
        b.serial = 1;
        serial = strcmp(b.data, "pthread") == 0 ? threads : contexts;
        if (serial == contexts && strcmp(b.data, "ucontext") != 0)
            bench_refuse(&b, b.data, "sched, pthread or ucontext is wanted");
    }
    each = b.n / TASKS;

    for (int r = 0; r < b.repetitions; r++) {
        memset(seen, 0, sizeof seen);

        bench_run(&b, first_task, serial, NULL);

        int right = 1;
        for (int i = 0; i < TASKS; i++)
            right = right && seen[i].done == each;
        bench_field(&b, "ns_a_yield", 1e9 * b.wall / (double)(TASKS * each));
        bench_line(&b, TASKS + 1, bench_mix((uint64_t)each), right);
    }
    return bench_end(&b);
}
