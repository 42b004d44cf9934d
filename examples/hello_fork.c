/* Fork and join: a task forks a child, works itself, and waits for the child. */
#include <sched_tasks.h>
#include <stdio.h>

struct greeting {
    const char *name;
    int letters;
};

static void greet(void *closure, struct scheduler *s)
{
    struct greeting *greeting = closure;
    (void)s;
    greeting->letters = printf("Hello, %s!\n", greeting->name);
}

static void start(void *closure, struct scheduler *s)
{
    struct greeting mine = {"world", 0}, childs = {"child", 0};
    sched_task t; /* no initialization, no allocation */
    (void)closure;
    sched_fork(&t, greet, &childs, s); /* any worker may run the child from now on */
    greet(&mine, s);                   /* ... beside this */
    sched_join(&t, s);                 /* now the child has run, here or elsewhere */
    printf("%d letters in all\n", mine.letters + childs.letters);
}

int main(void)
{
    return sched_init(0, 0, start, NULL) < 0;
}
