/* inject.so: lets calls of libsched fail (inject.h). It goes before the C library (LD_PRELOAD), finds the code of
 * libsched.so.1, and passes every call on, unless it comes from there and it is its turn to fail. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE /* with it, headers define some of the functions that are defined here */
#include "inject.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

/* --- whose call it is ------------------------------------------------------- */

struct code {
    uintptr_t low, high;
};

static struct code library, c_library;

static int find(struct dl_phdr_info *module, size_t size, void *arg)
{
    struct code *code = strstr(module->dlpi_name, "/libsched.so") ? &library
                        : strstr(module->dlpi_name, "/libc.so") ? &c_library : NULL;
    (void)size;
    (void)arg;
    for (int i = 0; code && i < module->dlpi_phnum; i++)
        if (module->dlpi_phdr[i].p_type == PT_LOAD && module->dlpi_phdr[i].p_flags & PF_X) {
            code->low = module->dlpi_addr + module->dlpi_phdr[i].p_vaddr;
            code->high = code->low + module->dlpi_phdr[i].p_memsz;
        }
    return 0;
}

__attribute__((constructor)) static void find_code(void)
{
    dl_iterate_phdr(find, NULL);
}

static int lies_in(const struct code *code, void *caller)
{
    return (uintptr_t)caller >= code->low && (uintptr_t)caller < code->high;
}

#define OURS lies_in(&library, __builtin_return_address(0))

/* --- what fails -------------------------------------------------------------- */

static atomic_long seen[FAULT_CALLS], failed;
static atomic_int armed = -1; /* a call, or -1 */
static int error_of;
static long first, beyond;

static struct {
    atomic_long blocks, mapped, descriptors, threads;
} held;

static int fails_if(int counted, enum fault_call call)
{
    if (!counted)
        return 0;
    long n = atomic_fetch_add(&seen[call], 1);
    if (atomic_load(&armed) != (int)call || n < first || n >= beyond)
        return 0;
    failed++;
    errno = error_of;
    return 1;
}

#define FAILS(call) fails_if(OURS, call)

static void arm(enum fault_call call, int error, long skip, long times)
{
    memset(seen, 0, sizeof seen);
    failed = 0;
    error_of = error;
    first = skip;
    beyond = times > __LONG_MAX__ - skip ? __LONG_MAX__ : skip + times;
    armed = (int)call;
}

static long disarm(void)
{
    armed = -1;
    return failed;
}

static long calls_seen(enum fault_call call)
{
    return seen[call];
}

static struct fault_held held_now(void)
{
    return (struct fault_held){held.blocks, held.mapped, held.descriptors, held.threads};
}

const struct fault_interface fault_interface = {arm, disarm, calls_seen, held_now};

/* The function of that name that this one stands before. */
#define NEXT(name)                                                                         \
    static __typeof__(&name) next_;                                                        \
    if (next_ == NULL) {                                                                   \
        void *found = dlsym(RTLD_NEXT, #name);                                             \
        memcpy(&next_, &found, sizeof found);                                              \
    }

/* A function that fails by -1 and errno, or by a number, as `refusal` says. */
#define WRAP(result, name, parameters, arguments, call, refusal) \
    result name parameters                                       \
    {                                                            \
        NEXT(name)                                               \
        return FAILS(call) ? (refusal) : next_ arguments;        \
    }

/* --- memory ------------------------------------------------------------------ */

static int refuses_memory(void *caller)
{
    return fails_if(lies_in(&library, caller), ALLOC) || fails_if(lies_in(&c_library, caller), C_ALLOC);
}

/* Counts a block of the library's. */
static void *counted(void *block, void *caller)
{
    if (block != NULL && lies_in(&library, caller))
        held.blocks++;
    return block;
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t size)
{
    return refuses_memory(CALLER) ? NULL : counted(__libc_malloc(size), CALLER);
}

void *calloc(size_t n, size_t size)
{
    return refuses_memory(CALLER) ? NULL : counted(__libc_calloc(n, size), CALLER);
}

void *realloc(void *at, size_t size)
{
    if (refuses_memory(CALLER))
        return NULL;
    void *block = __libc_realloc(at, size);
    return at == NULL ? counted(block, CALLER) : block;
}

void *aligned_alloc(size_t align, size_t size)
{
    return refuses_memory(CALLER) ? NULL : counted(__libc_memalign(align, size), CALLER);
}

int posix_memalign(void **at, size_t align, size_t size)
{
    void *block = refuses_memory(CALLER) ? NULL : counted(__libc_memalign(align, size), CALLER);
    if (block == NULL)
        return ENOMEM;
    *at = block;
    return 0;
}

void free(void *at)
{
    if (at != NULL && OURS)
        held.blocks--;
    __libc_free(at);
}

/* The bytes of a mapping that count. The library keeps hundreds of stacks, as many as were in use at a time. */
static long in_pages(size_t size)
{
    int is_stack = size >= 128 << 10 && size < 192 << 10;
    return is_stack ? 0 : (long)((size + 4095) / 4096 * 4096);
}

static void *map(void *caller, void *at, size_t size, int access, int flags, int fd, off_t offset)
{
    NEXT(mmap)
    int ours = lies_in(&library, caller);
    if (fails_if(ours, MMAP))
        return MAP_FAILED;
    void *mapping = next_(at, size, access, flags, fd, offset);
    if (ours && mapping != MAP_FAILED && !(flags & MAP_FIXED))
        held.mapped += in_pages(size);
    return mapping;
}

void *mmap(void *at, size_t size, int access, int flags, int fd, off_t offset)
{
    return map(CALLER, at, size, access, flags, fd, offset);
}

void *mmap64(void *at, size_t size, int access, int flags, int fd, off_t offset)
{
    return map(CALLER, at, size, access, flags, fd, offset);
}

int munmap(void *at, size_t size)
{
    NEXT(munmap)
    if (FAILS(MUNMAP))
        return -1;
    int result = next_(at, size);
    if (OURS && result == 0)
        held.mapped -= in_pages(size);
    return result;
}

void *mremap(void *at, size_t size, size_t new_size, int flags, ...)
{
    NEXT(mremap)
    va_list more;
    va_start(more, flags);
    void *target = flags & MREMAP_FIXED ? va_arg(more, void *) : NULL;
    va_end(more);
    if (FAILS(MREMAP))
        return MAP_FAILED;
    void *moved = next_(at, size, new_size, flags, target);
    if (OURS && moved != MAP_FAILED) /* onto a mapping of its own, whose bytes are counted, or elsewhere */
        held.mapped += (flags & MREMAP_FIXED ? 0 : in_pages(new_size)) - in_pages(size);
    return moved;
}

WRAP(int, mprotect, (void *at, size_t size, int access), (at, size, access), MPROTECT, -1)
WRAP(int, madvise, (void *at, size_t size, int advice), (at, size, advice), MADVISE, -1)

/* --- threads ------------------------------------------------------------------- */

int pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*body)(void *), void *arg)
{
    NEXT(pthread_create)
    if (FAILS(THREAD))
        return error_of;
    int result = next_(id, attributes, body, arg);
    if (OURS && result == 0)
        held.threads++;
    return result;
}

int pthread_join(pthread_t id, void **result)
{
    NEXT(pthread_join)
    int error = next_(id, result);
    if (OURS && error == 0)
        held.threads--;
    return error;
}

int pthread_tryjoin_np(pthread_t id, void **result)
{
    NEXT(pthread_tryjoin_np)
    int error = next_(id, result);
    if (OURS && error == 0)
        held.threads--;
    return error;
}

WRAP(int, pthread_setaffinity_np, (pthread_t id, size_t size, const cpu_set_t *mask), (id, size, mask), SETAFFINITY, error_of)
WRAP(int, pthread_attr_setaffinity_np, (pthread_attr_t *to, size_t size, const cpu_set_t *mask), (to, size, mask),
     SETAFFINITY, error_of)
WRAP(int, pthread_getattr_np, (pthread_t id, pthread_attr_t *to), (id, to), ATTRIBUTES, error_of)
WRAP(int, pthread_attr_init, (pthread_attr_t *to), (to), ATTRIBUTES, error_of)
WRAP(int, pthread_key_create, (pthread_key_t *key, void (*end)(void *)), (key, end), KEY, error_of)

/* The removal of a value cannot fail. */
int pthread_setspecific(pthread_key_t key, const void *value)
{
    NEXT(pthread_setspecific)
    return value != NULL && FAILS(KEY) ? error_of : next_(key, value);
}

WRAP(int, sem_init, (sem_t *sem, int shared, unsigned n), (sem, shared, n), SEMAPHORE, -1)

extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);
extern int __cxa_atexit(void (*)(void *), void *, void *);
WRAP(int, __register_atfork, (void (*a)(void), void (*b)(void), void (*c)(void), void *of), (a, b, c, of), HANDLERS, error_of)
WRAP(int, __cxa_atexit, (void (*f)(void *), void *arg, void *of), (f, arg, of), HANDLERS, -1)

/* --- signals -------------------------------------------------------------------- */

WRAP(int, sigaltstack, (const stack_t *new, stack_t *old), (new, old), ALTSTACK, -1)
WRAP(int, sigaction, (int signal, const struct sigaction *new, struct sigaction *old), (signal, new, old), SIGNALS, -1)
WRAP(int, pthread_sigmask, (int how, const sigset_t *new, sigset_t *old), (how, new, old), SIGNALS, error_of)
WRAP(int, sigtimedwait, (const sigset_t *set, siginfo_t *info, const struct timespec *limit), (set, info, limit), POLL, -1)
WRAP(int, poll, (struct pollfd *list, nfds_t n, int limit), (list, n, limit), POLL, -1)

/* --- files ---------------------------------------------------------------------- */

static int open_file(void *caller, const char *path, int flags, mode_t mode)
{
    NEXT(open)
    int ours = lies_in(&library, caller);
    if (fails_if(ours, OPEN))
        return -1;
    int fd = next_(path, flags, mode);
    if (ours && fd >= 0)
        held.descriptors++;
    return fd;
}

static mode_t mode_of(int flags, va_list more)
{
    return flags & O_CREAT ? va_arg(more, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return open_file(CALLER, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return open_file(CALLER, path, flags, mode);
}

int close(int fd)
{
    NEXT(close)
    int result = next_(fd);
    if (OURS && result == 0)
        held.descriptors--;
    return result;
}

WRAP(ssize_t, read, (int fd, void *to, size_t size), (fd, to, size), READ, -1)
WRAP(ssize_t, write, (int fd, const void *from, size_t size), (fd, from, size), WRITE, -1)
WRAP(ssize_t, pwrite, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at), WRITE, -1)
WRAP(ssize_t, pwrite64, (int fd, const void *from, size_t size, off64_t at), (fd, from, size, at), WRITE, -1)
WRAP(off_t, lseek, (int fd, off_t offset, int from), (fd, offset, from), FILES, -1)
WRAP(off64_t, lseek64, (int fd, off64_t offset, int from), (fd, offset, from), FILES, -1)
WRAP(int, fstat, (int fd, struct stat *to), (fd, to), FILES, -1)
WRAP(int, fstat64, (int fd, struct stat64 *to), (fd, to), FILES, -1)
WRAP(int, ftruncate, (int fd, off_t size), (fd, size), FILES, -1)
WRAP(char *, getcwd, (char *to, size_t size), (to, size), FILES, NULL)
WRAP(int, isatty, (int fd), (fd), FILES, 0)

int ioctl(int fd, unsigned long request, ...)
{
    static int (*next_)(int, unsigned long, void *);
    if (next_ == NULL) {
        void *found = dlsym(RTLD_NEXT, "ioctl");
        memcpy(&next_, &found, sizeof found);
    }
    va_list more;
    va_start(more, request);
    void *arg = va_arg(more, void *);
    va_end(more);
    return FAILS(FILES) ? -1 : next_(fd, request, arg);
}

/* --- the rest -------------------------------------------------------------------- */

WRAP(int, clock_gettime, (clockid_t clock, struct timespec *to), (clock, to), CLOCK, -1)
WRAP(int, getrlimit, (__rlimit_resource_t what, struct rlimit *to), (what, to), LIMITS, -1)
WRAP(int, sysinfo, (struct sysinfo *to), (to), LIMITS, -1)
WRAP(int, mincore, (void *at, size_t size, unsigned char *to), (at, size, to), PEEK, -1)
WRAP(ssize_t, process_vm_readv,
     (pid_t pid, const struct iovec *to, unsigned long n, const struct iovec *from, unsigned long m, unsigned long flags),
     (pid, to, n, from, m, flags), PEEK, -1)

int prctl(int what, ...)
{
    static int (*next_)(int, long, long, long, long);
    if (next_ == NULL) {
        void *found = dlsym(RTLD_NEXT, "prctl");
        memcpy(&next_, &found, sizeof found);
    }
    va_list more;
    va_start(more, what);
    long a = va_arg(more, long), b = va_arg(more, long), c = va_arg(more, long), d = va_arg(more, long);
    va_end(more);
    return FAILS(PRCTL) ? -1 : next_(what, a, b, c, d);
}

/* epoll_pwait2 has this number for each processor; older headers do not know it. */
enum { SYSTEM_EPOLL_PWAIT2 = 441 };

static int which_of(long number, long second)
{
    switch (number) {
    case SYS_ppoll: return POLL;
    case SYS_epoll_create1:
    case SYS_eventfd2: return EPOLL_MAKE;
    case SYS_epoll_ctl: return EPOLL_CTL;
    case SYS_epoll_pwait:
    case SYSTEM_EPOLL_PWAIT2: return EPOLL_WAIT;
    case SYS_fcntl: return FCNTL;
    case SYS_accept4: return ACCEPT;
    case SYS_connect:
    case SYS_getsockopt: return CONNECT;
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_preadv2:
    case SYS_readv: return RECEIVE;
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_pwritev2:
    case SYS_writev: return SEND;
    case SYS_futex: return (second & 127) == 0 ? FUTEX_WAIT : (second & 127) == 1 ? FUTEX_WAKE : -1;
    case SYS_membarrier: return MEMBARRIER;
    case SYS_sched_getaffinity: return GETAFFINITY;
    case SYS_sched_setaffinity: return SETAFFINITY;
    case SYS_getdents64: return FILES;
    default: return -1;
    }
}

/* The same call may be counted in two ways: as a part of a group, and alone. */
static int also_of(long number)
{
    return number == SYSTEM_EPOLL_PWAIT2 ? EPOLL_WAIT2 : number == SYS_preadv2 || number == SYS_pwritev2 ? NOWAIT : -1;
}

/* Counts the descriptors that the library has made by syscall(2), and has not closed so. */
static void count_descriptors(long number, long first, long result)
{
    enum { MOST = 65536 };
    static atomic_char is_made[MOST];
    int makes = number == SYS_epoll_create1 || number == SYS_eventfd2 || number == SYS_accept4;
    if (makes && result >= 0 && result < MOST) {
        is_made[result] = 1;
        held.descriptors++;
    }
    if (number == SYS_close && result == 0 && first >= 0 && first < MOST && atomic_exchange(&is_made[first], 0))
        held.descriptors--;
}

long syscall(long number, ...)
{
    static long (*next_)(long, long, long, long, long, long, long);
    if (next_ == NULL) {
        void *found = dlsym(RTLD_NEXT, "syscall");
        memcpy(&next_, &found, sizeof found);
    }
    long word[6];
    va_list more;
    va_start(more, number);
    for (int i = 0; i < 6; i++)
        word[i] = va_arg(more, long);
    va_end(more);
    int call = which_of(number, word[1]), also = also_of(number), ours = OURS;
    if ((call >= 0 && fails_if(ours, (enum fault_call)call)) || (also >= 0 && fails_if(ours, (enum fault_call)also)))
        return -1;
    long result = next_(number, word[0], word[1], word[2], word[3], word[4], word[5]);
    if (ours)
        count_descriptors(number, word[0], result);
    return result;
}
