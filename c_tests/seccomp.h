/* seccomp.h: system calls that fail from now on, in this thread and those it creates. */
#ifndef SECCOMP_H
#define SECCOMP_H

#include "check.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

static inline void filter_calls(struct sock_filter *code, size_t n)
{
    struct sock_fprog program = {(unsigned short)n, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
        || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
        skip("seccomp filters are refused here");
}

static inline void deny(const long *calls, unsigned short n, unsigned error)
{
    struct sock_filter code[64];
    unsigned short at = 0;

    code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned short i = 0; i < n; i++) {
        code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
        code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
    }
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);

    filter_calls(code, at);
    errno = 0;
    if (syscall(calls[0], -1, 0, 0, 0, 0, 0) != -1 || errno != (int)error)
        skip("the seccomp filter has no effect here");
}

/* From now on no thread can be made. */
static inline void no_threads(void)
{
#ifdef SYS_clone3
    static const long calls[] = {SYS_clone3, SYS_clone};
#else
    static const long calls[] = {SYS_clone};
#endif
    deny(calls, sizeof calls / sizeof *calls, EAGAIN);
}

/* From now on madvise does not know this advice. */
static inline void no_advice(unsigned advice)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, advice, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    filter_calls(code, sizeof code / sizeof *code);
}

/* From now on madvise does not know MADV_GUARD_INSTALL, as before Linux 6.13. */
static inline void no_guards(void)
{
    no_advice(102);
}

#endif
