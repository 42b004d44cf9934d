/* System calls that a seccomp filter denies, one at a time: with EPERM, as a sandbox does; with ENOSYS, as an older
 * kernel; or by the end of the process. And a filter that ends the process at every call that is not listed. */
#include "calls.h"
#include "limits.h"
#include "../seccomp.h"

struct call {
    const char *name;
    long number; /* -1 if there is none */
};

#define X(name) {#name, SYS_##name},
static const struct call calls[] = {CALLS(X)}, kept[] = {KEPT_CALLS(X) CALLS_ELSEWHERE(X)};
#undef X

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

const int filter_count = COUNT(calls);

static const char *filter_call(long number, unsigned action)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    if (number < 0)
        return "this processor has no such call";
    filter_calls(code, sizeof code / sizeof *code);
    return NULL;
}

static const char *refuse(long number)
{
    return filter_call(number, SECCOMP_RET_ERRNO | EPERM);
}

static const char *be_unknown(long number)
{
    return filter_call(number, SECCOMP_RET_ERRNO | ENOSYS);
}

static const char *kill_at(long number)
{
    return filter_call(number, SECCOMP_RET_KILL_PROCESS);
}

static unsigned short add_listed(struct sock_filter *code, unsigned short at, const struct call *list, int n)
{
    for (int i = 0; i < n; i++) {
        if (list[i].number < 0)
            continue;
        code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)list[i].number, 0, 1);
        code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    return at;
}

static const char *allow_listed(long unused)
{
    static struct sock_filter code[2 * (COUNT(calls) + COUNT(kept)) + 2];
    unsigned short at = 0;
    (void)unused;
    code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    at = add_listed(code, at, calls, COUNT(calls));
    at = add_listed(code, at, kept, COUNT(kept));
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    filter_calls(code, at);
    return NULL;
}

const struct limit only_listed = {.name = "seccomp: all but the listed calls kill", .apply = allow_listed, .flags = CONFINES | FITS};

/* The message of the C library if it cannot do without a call. */
static const char *end_without(const char *call)
{
    return strcmp(call, "rseq") == 0 ? "rseq registration failed"
           : strcmp(call, "futex") == 0 ? "The futex facility returned an unexpected error code" : NULL;
}

struct limit filter_of(enum way way, int call)
{
    static const char *const words_of[WAYS] = {"EPERM", "ENOSYS", "kill"};
    static const int errors[WAYS] = {EPERM, ENOSYS, 0};
    static const char *(*const applies[WAYS])(long) = {refuse, be_unknown, kill_at};
    static char names[WAYS][COUNT(calls)][64];
    char *name = names[way][call];
    snprintf(name, sizeof names[way][call], "seccomp: %s: %s", calls[call].name, words_of[way]);
    return (struct limit){.name = name, .value = calls[call].number, .apply = applies[way], .error = errors[way],
                          .ends = end_without(calls[call].name), .flags = CONFINES | (way == KILL ? KILLS : 0)};
}
