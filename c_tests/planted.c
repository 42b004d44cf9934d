/* What tasks do wrong, the sanitizers find, on a stack of the library's and after a wait: a use after free, a
 * write beyond an array, a leak, a race. And where nothing is wrong, an exit in the midst of a run included,
 * they are quiet. Without a sanitizer there is nothing to see. */
#include "aside.h"
#include "child.h"

static volatile size_t beyond = 9; /* volatile: not for the compiler to see */
static char *volatile kept;
static volatile int shared;
static int begun;

static void use_after_free(struct scheduler *s)
{
    kept = malloc(8);
    CHECK(kept != NULL);
    free(kept);
    change_thread(s);
    ((volatile char *)kept)[0] = 1;
}

static void write_beyond(struct scheduler *s)
{
    volatile char few[8];
    change_thread(s);
    few[beyond] = 1;
    (void)few[0];
}

static void leak(struct scheduler *s)
{
    kept = malloc(80);
    change_thread(s);
    kept = NULL;
}

static void writes(void *closure, struct scheduler *s)
{
    __atomic_store_n(&begun, 1, __ATOMIC_RELAXED);
    shared++;
}

static void race(struct scheduler *s)
{
    sched_task t;
    unsigned turns = 0;
    change_thread(s);
    sched_fork(&t, writes, NULL, s);
    while (!__atomic_load_n(&begun, __ATOMIC_RELAXED))
        spin(&turns);
    shared++;
    sched_join(&t, s);
}

/* The only pointers to what was allocated are on stacks: of a task that waits, and of the program. Not
 * instrumented: locals would be on a fake stack, and LSan looks only at those of who runs. */
__attribute__((no_sanitize_address)) static void holds(void *closure, struct scheduler *s)
{
    char *volatile held = malloc(8);
    CHECK(held != NULL);
    __atomic_store_n((int *)closure, 1, __ATOMIC_SEQ_CST);
    for (;;)
        sched_task_yield(s);
}

static void exits(struct scheduler *s)
{
    int holding = 0;
    change_thread(s);
    CHECK_EQ(sched_spawn(holds, &holding, s), 0);
    while (!__atomic_load_n(&holding, __ATOMIC_SEQ_CST))
        sched_task_yield(s);
    exit(0);
}

static void orderly(struct scheduler *s)
{
    for (int i = 0; i < 10; i++) {
        sched_task t;
        int local = i;
        sched_fork(&t, aside_other, &local, s);
        sched_join(&t, s);
        CHECK_EQ(local, 1);
        wait_aside(s);
    }
}

enum wrong { USE_AFTER_FREE, WRITE_BEYOND, LEAK, RACE };
__attribute__((unused)) static void (*const wrong[])(struct scheduler *) = {
    use_after_free, write_beyond, leak, race,
};

static void root(void *closure, struct scheduler *s)
{
    void (**what)(struct scheduler *) = closure;
    (*what)(s);
}

__attribute__((no_sanitize_address)) static void run(void *closure)
{
    char *volatile held = malloc(8);
    CHECK(held != NULL);
    CHECK_EQ(sched_init(2, 4, root, closure), 0);
    free(held);
    exit(0);
}

static void does(void (*what)(struct scheduler *))
{
    in_child(run, &what);
}

int main(void)
{
#if defined __SANITIZE_ADDRESS__
    does(wrong[USE_AFTER_FREE]);
    CHECK_CHILD_SAID("heap-use-after-free");
    does(wrong[WRITE_BEYOND]);
    CHECK_CHILD_SAID("stack-buffer-overflow");
    does(wrong[LEAK]);
    CHECK_CHILD_SAID("80 byte(s) leaked");
#elif defined __SANITIZE_THREAD__
    does(wrong[RACE]);
    CHECK_CHILD_SAID("data race");
#else
    skip("built without a sanitizer");
#endif
    does(exits);
    CHECK_CHILD_PASSED();
    CHECK(child.said[0] == 0);
    does(orderly);
    CHECK_CHILD_PASSED();
    CHECK(child.said[0] == 0);
    return 0;
}
