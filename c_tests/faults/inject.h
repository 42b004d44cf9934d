/* inject.h: the interface of inject.so for the program that is started with it (LD_PRELOAD).
 *
 * A *call* is a function of the C library, or a system call behind syscall(2). Only the calls that the code of libsched
 * makes are counted, and fail; C_ALLOC counts the allocations that the C library makes for itself. */
#ifndef INJECT_H
#define INJECT_H

/* name of the call, errno that a refusal sets. A call with several lines fails in several ways. */
#define FAULTS(X)                                                                                                \
    X(ALLOC, "malloc, calloc, realloc, posix_memalign", ENOMEM)                                                  \
    X(C_ALLOC, "allocations of the C library", ENOMEM)                                                           \
    X(THREAD, "pthread_create", EAGAIN)                                                                          \
    X(MMAP, "mmap", ENOMEM)                                                                                      \
    X(MUNMAP, "munmap", ENOMEM)                                                                                  \
    X(MREMAP, "mremap", ENOMEM)                                                                                  \
    X(MPROTECT, "mprotect", ENOMEM)                                                                              \
    X(MADVISE, "madvise", EINVAL)                                                                                \
    X(FUTEX_WAIT, "futex (wait)", EINTR)                                                                         \
    X(FUTEX_WAIT, "futex (wait)", EAGAIN)                                                                        \
    X(FUTEX_WAIT, "futex (wait)", ENOSYS)                                                                        \
    X(FUTEX_WAIT, "futex (wait)", EPERM)                                                                         \
    X(FUTEX_WAKE, "futex (wake)", ENOSYS)                                                                        \
    X(FUTEX_WAKE, "futex (wake)", EPERM)                                                                         \
    X(MEMBARRIER, "membarrier", EPERM)                                                                           \
    X(CLOCK, "clock_gettime", EPERM)                                                                             \
    X(GETAFFINITY, "sched_getaffinity", EPERM)                                                                   \
    X(SETAFFINITY, "sched_setaffinity, pthread_setaffinity_np, pthread_attr_setaffinity_np", EINVAL)             \
    X(OPEN, "open", EMFILE)                                                                                      \
    X(READ, "read", EIO)                                                                                         \
    X(WRITE, "write", ENOSPC)                                                                                    \
    X(WRITE, "write", EINTR)                                                                                     \
    X(FILES, "lseek, fstat, ftruncate, getcwd, getdents64, isatty, ioctl", EIO)                                  \
    X(ALTSTACK, "sigaltstack", ENOMEM)                                                                           \
    X(SIGNALS, "sigaction, pthread_sigmask", EINVAL)                                                             \
    X(LIMITS, "getrlimit, sysinfo, sysconf, getauxval", EPERM)                                                   \
    X(ATTRIBUTES, "pthread_getattr_np, pthread_attr_init", ENOMEM)                                               \
    X(KEY, "pthread_key_create, pthread_setspecific", EAGAIN)                                                    \
    X(HANDLERS, "pthread_atfork, atexit", ENOMEM)                                                                \
    X(SEMAPHORE, "sem_init", ENOSYS)                                                                             \
    X(PRCTL, "prctl", EINVAL)                                                                                    \
    X(PEEK, "mincore, process_vm_readv", EFAULT)                                                                 \
    X(POLL, "poll, ppoll, sigtimedwait", EINTR)                                                                  \
    X(EPOLL_MAKE, "epoll_create1, eventfd2", EMFILE)                                                             \
    X(EPOLL_MAKE, "epoll_create1, eventfd2", ENOMEM)                                                             \
    X(EPOLL_CTL, "epoll_ctl", ENOMEM)                                                                            \
    X(EPOLL_CTL, "epoll_ctl", ENOSPC)                                                                            \
    X(EPOLL_WAIT, "epoll_pwait, epoll_pwait2", EINTR)                                                            \
    X(EPOLL_WAIT2, "epoll_pwait2", ENOSYS)                                                                       \
    X(FCNTL, "fcntl", EPERM)                                                                                     \
    X(ACCEPT, "accept4", EINTR)                                                                                  \
    X(ACCEPT, "accept4", EMFILE)                                                                                 \
    X(ACCEPT, "accept4", ENOMEM)                                                                                 \
    X(CONNECT, "connect, getsockopt", ENOBUFS)                                                                   \
    X(RECEIVE, "recvfrom, recvmsg, preadv2, readv", EINTR)                                                       \
    X(RECEIVE, "recvfrom, recvmsg, preadv2, readv", ENOMEM)                                                      \
    X(SEND, "sendto, sendmsg, pwritev2, writev", EINTR)                                                          \
    X(SEND, "sendto, sendmsg, pwritev2, writev", ENOMEM)                                                         \
    X(NOWAIT, "preadv2, pwritev2", EOPNOTSUPP)

enum fault_call {
    ALLOC, C_ALLOC, THREAD, MMAP, MUNMAP, MREMAP, MPROTECT, MADVISE, FUTEX_WAIT, FUTEX_WAKE, MEMBARRIER, CLOCK,
    GETAFFINITY, SETAFFINITY, OPEN, READ, WRITE, FILES, ALTSTACK, SIGNALS, LIMITS, ATTRIBUTES, KEY, HANDLERS,
    SEMAPHORE, PRCTL, PEEK, POLL, EPOLL_MAKE, EPOLL_CTL, EPOLL_WAIT, EPOLL_WAIT2, FCNTL, ACCEPT, CONNECT, RECEIVE, SEND,
    NOWAIT, FAULT_CALLS
};

/* The resources that the library holds, according to its calls. */
struct fault_held {
    long blocks;      /* of memory, from malloc */
    long mapped;      /* bytes, without the stacks of tasks if SCHED_STACK is 128K */
    long descriptors; /* open ones */
    long threads;     /* made and not joined */
};

struct fault_interface {
    /* From now on, of these calls the first `skip` succeed, and the next `times` fail with that errno. */
    void (*arm)(enum fault_call call, int error, long skip, long times);
    /* From now on no call fails. Returns how many calls have failed. */
    long (*disarm)(void);
    /* How many of these calls there were since `arm`. */
    long (*seen)(enum fault_call call);
    struct fault_held (*held)(void);
};

#endif
