/* floor.c: the least that sched.h can cost: a stack in an array, one thread, no checks, no growth.
 *
 * `make bench-floor` runs tree on it and on the library, in turn: the difference is what the library adds for thieves,
 * sleepers, growth, statistics and wrong arguments. */

#include <stdlib.h>

struct scheduler;
typedef void (*taskfunc)(void *, struct scheduler *);

struct scheduler {
    struct task {
        taskfunc f;
        void *closure;
    } *top, *base;
};

int sched_default_threads(void);
int sched_init(int nthreads, int qlen, taskfunc f, void *closure);
int sched_spawn(taskfunc f, void *closure, struct scheduler *s);

int sched_default_threads(void)
{
    return 1;
}

int sched_spawn(taskfunc f, void *closure, struct scheduler *s)
{
    s->top->f = f;
    s->top->closure = closure;
    s->top++;
    return 0;
}

int sched_init(int nthreads, int qlen, taskfunc f, void *closure)
{
    struct scheduler s;
    (void)nthreads;
    (void)qlen;
    s.top = s.base = malloc(sizeof *s.base << 20); /* tree needs a few dozen entries */
    if (s.base == NULL)
        return -1;
    sched_spawn(f, closure, &s);
    while (s.top > s.base) {
        s.top--;
        s.top->f(s.top->closure, &s);
    }
    free(s.base);
    return 0;
}
