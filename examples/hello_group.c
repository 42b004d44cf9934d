/* A group: any number of tasks that are waited for together. */
#include <sched_tasks.h>
#include <stdio.h>

enum { WORDS = 4 };

static const char *const words[WORDS] = {"Hello", "group", "of", "tasks"};
static int letters[WORDS];

static void count(void *closure, struct scheduler *s)
{
    int *mine = closure;
    (void)s;
    for (const char *p = words[mine - letters]; *p; p++)
        ++*mine;
}

static void start(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    (void)closure;
    for (int i = 0; i < WORDS; i++)
        if (sched_group_spawn(&g, count, &letters[i], s) < 0)
            count(&letters[i], s); /* no memory: do it here */
    sched_group_wait(&g, s);
    for (int i = 0; i < WORDS; i++)
        printf("%s: %d letters\n", words[i], letters[i]);
}

int main(void)
{
    return sched_init(0, 0, start, NULL) < 0;
}
