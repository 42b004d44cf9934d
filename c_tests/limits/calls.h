/* calls.h: the system calls that the library makes, or the C library for it: in no run, and not at its end, does a
 * thread make others, unless the program does. docs/GUARANTEES.md has the same list. The list is checked by a filter
 * that kills the process at any call that is not listed. */
#ifndef CALLS_H
#define CALLS_H

#include <sys/syscall.h>

/* Denied each in its turn. */
#define CALLS(X)                                                                                                     \
    X(brk) X(mmap) X(munmap) X(mremap) X(mprotect) X(madvise) X(mincore) X(mlock2) X(munlock)                        \
    X(clone3) X(clone) X(set_robust_list) X(rseq) X(prctl) X(sched_getaffinity) X(sched_setaffinity)                 \
    X(futex) X(membarrier) X(sched_yield) X(nanosleep) X(getcpu) X(getpid) X(gettid)                                 \
    X(rt_sigaction) X(rt_sigprocmask) X(rt_sigpending) X(rt_sigtimedwait) X(sigaltstack) X(tgkill)                   \
    X(clock_gettime) X(prlimit64) X(sysinfo) X(getrandom)                                                            \
    X(openat) X(newfstatat) X(fstat) X(statx) X(read) X(pread64) X(write) X(pwrite64) X(close) X(lseek) X(ftruncate)  \
    X(getcwd) X(readlink) X(getdents64) X(ioctl) X(poll) X(process_vm_readv) X(getpgrp)

/* Without these no thread ends: the C library would try for ever. And the program's own here: it pauses, and changes its
 * folder. */
#define KEPT_CALLS(X) X(exit) X(exit_group) X(rt_sigreturn) X(restart_syscall) X(clock_nanosleep) X(chdir)

/* The calls of other processors in place of some of these. */
#define CALLS_ELSEWHERE(Y) Y(ppoll) Y(readlinkat) Y(getpgid)

/* Calls that some processors lack. */
#ifndef SYS_getpgrp
#define SYS_getpgrp (-1)
#endif
#ifndef SYS_poll
#define SYS_poll (-1)
#endif
#ifndef SYS_readlink
#define SYS_readlink (-1)
#endif
#ifndef SYS_newfstatat
#define SYS_newfstatat (-1)
#endif
#ifndef SYS_clone3
#define SYS_clone3 (-1)
#endif
#ifndef SYS_mlock2
#define SYS_mlock2 (-1)
#endif
#ifndef SYS_rseq
#define SYS_rseq (-1)
#endif

#endif
