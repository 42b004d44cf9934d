/* cont.c: the least that continuation stealing can cost behind sched.h: a spawn saves its continuation as a thief
 * would need it, calls the child on another stack, and takes the continuation back. One thread, no thieves, no
 * checks, no growth; x86-64.
 *
 * `make bench-floor` runs flood on it and on kind cont, in turn: the difference is what the library adds for thieves,
 * sleepers, other kinds, growth, statistics and wrong arguments. */

#include <stdint.h>
#include <stdlib.h>

enum { DEPTH = 64, STACK = 64 << 10 };

struct scheduler;
typedef void (*taskfunc)(void *, struct scheduler *);

struct scheduler {
    struct place {
        void *continuation;
        struct scheduler **stack; /* its end; there the code on this stack finds the scheduler */
    } *next, places[DEPTH];
};

int sched_default_threads(void);
int sched_init(int nthreads, int qlen, taskfunc f, void *closure);
int sched_spawn(taskfunc f, void *closure, struct scheduler *s);

/* The child preserves the registers that are saved here: they are not loaded again. */
__asm__(".text\n"
        ".p2align 6\n"
        ".globl sched_spawn\n"
        ".type sched_spawn, @function\n"
        "sched_spawn:\n"
        "	push %rbp\n"
        "	push %rbx\n"
        "	push %r12\n"
        "	push %r13\n"
        "	push %r14\n"
        "	push %r15\n"
        "	stmxcsr -16(%rsp)\n"
        "	fnstcw -12(%rsp)\n"
        "	mov %rdi, %rax\n"
        "	mov (%rdx), %r10\n"
        "	mov %rsp, (%r10)\n"
        "	addq $16, (%rdx)\n"
        "	mov %rsi, %rdi\n"
        "	mov %rdx, %rsi\n"
        "	mov 8(%r10), %rsp\n"
        "	call *%rax\n"
        "	mov (%rsp), %rdx\n"
        "	mov (%rdx), %r10\n"
        "	sub $16, %r10\n"
        "	mov %r10, (%rdx)\n"
        "	mov (%r10), %rsp\n"
        "	add $48, %rsp\n"
        "	xor %eax, %eax\n"
        "	ret\n"
        ".size sched_spawn, . - sched_spawn\n");

int sched_default_threads(void)
{
    return 1;
}

int sched_init(int nthreads, int qlen, taskfunc f, void *closure)
{
    struct scheduler s;
    (void)nthreads;
    (void)qlen;
    char *stacks = aligned_alloc(64, (size_t)DEPTH * STACK);
    if (stacks == NULL)
        return -1;
    for (int i = 0; i < DEPTH; i++) {
        /* The stacks begin at different offsets in their pages: a store delays loads from addresses with the same
         * offset. */
        uintptr_t top = (uintptr_t)stacks + (size_t)(i + 1) * STACK - 64 - (size_t)(i % 3) * 832;
        s.places[i].stack = (struct scheduler **)top;
        *s.places[i].stack = &s;
    }
    s.next = s.places;
    f(closure, &s);
    free(stacks);
    return 0;
}
