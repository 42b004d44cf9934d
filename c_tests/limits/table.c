/* The limits of resources, of cgroups, and of what a container may lack. Each is a real one: the kernel refuses. */
#include "../proc.h"
#include "limits.h"
#include <grp.h>
#include <sys/mman.h>
#include <sys/mount.h>

enum { KIB = 1024, MIB = 1024 * KIB };

/* --- limits of a resource ----------------------------------------------------------- */

static int resource = -1;
static struct rlimit before;

/* The soft limit, which can be lifted again. */
static const char *set_limit(int which, rlim_t most)
{
    resource = which;
    CHECK_EQ(getrlimit((__rlimit_resource_t)which, &before), 0);
    if (before.rlim_max < most)
        return "the hard limit is lower";
    struct rlimit now = {most, before.rlim_max};
    CHECK_EQ(setrlimit((__rlimit_resource_t)which, &now), 0);
    return NULL;
}

static void lift_limit(void)
{
    CHECK_EQ(setrlimit((__rlimit_resource_t)resource, &before), 0);
}

static const char *limit_address_space(long more)
{
    return set_limit(RLIMIT_AS, (rlim_t)(status_kb("VmSize") * KIB + more));
}

static const char *limit_data(long more)
{
    return set_limit(RLIMIT_DATA, (rlim_t)(status_kb("VmData") * KIB + more));
}

static const char *limit_descriptors(long most)
{
    return set_limit(RLIMIT_NOFILE, (rlim_t)most);
}

/* A write beyond the limit raises a signal, which this program ignores. */
static const char *limit_file_size(long most)
{
    signal(SIGXFSZ, SIG_IGN);
    return set_limit(RLIMIT_FSIZE, (rlim_t)most);
}

/* A user of whom there is no other process, and whom limits bind. */
static const char *become_nobody(long unused)
{
    uid_t user = 100000 + (uid_t)getpid();
    (void)unused;
    if (geteuid() != 0)
        return "only root can become a user without processes";
    return setgroups(0, NULL) == 0 && setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0
               ? NULL : "root cannot become another user here";
}

enum { OWN_THREADS = 2 }; /* the main thread, and the foreign one */

static const char *limit_threads(long more)
{
    return set_limit(RLIMIT_NPROC, (rlim_t)(OWN_THREADS + more));
}

/* Memory mapped from now on is locked, and counts. */
static const char *limit_locked(long most)
{
    if (mlockall(MCL_FUTURE | MCL_ONFAULT) != 0)
        return "mlockall is refused";
    return set_limit(RLIMIT_MEMLOCK, (rlim_t)most);
}

static void lift_locked(void)
{
    lift_limit();
    CHECK_EQ(munlockall(), 0);
}

void (*start_again)(void);

/* The C library reads it when a program starts. */
static const char *limit_stack(long most)
{
    struct rlimit now;
    CHECK_EQ(getrlimit(RLIMIT_STACK, &now), 0);
    rlim_t wanted = most < 0 ? RLIM_INFINITY : (rlim_t)most;
    if (now.rlim_cur == wanted)
        return NULL;
    now.rlim_cur = wanted;
    if (setrlimit(RLIMIT_STACK, &now) != 0)
        return "the hard limit is lower";
    start_again();
    return "this program cannot be started again";
}

/* --- cgroups ------------------------------------------------------------------------- */

static const char *limit_group_threads(long more)
{
    const char *why = join_group();
    return why ? why : limit_group(OWN_THREADS + more);
}

static const char *limit_group_memory(long most)
{
    const char *why = limit_group(most);
    return why ? why : join_group();
}

/* --- file systems --------------------------------------------------------------------- */

static const char *own_mounts(void)
{
    int is_root = geteuid() == 0;
    if (unshare(is_root ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0)
        return "no mount namespace can be made";
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 ? NULL : "mounts cannot be made private";
}

static const char *hide(const char *folder)
{
    const char *why = own_mounts();
    return why ? why : mount("none", folder, "tmpfs", MS_RDONLY, NULL) == 0 ? NULL : "nothing can be mounted";
}

static const char *hide_proc(long unused)
{
    (void)unused;
    return hide("/proc");
}

static const char *hide_sys(long unused)
{
    (void)unused;
    return hide("/sys");
}

/* Makes all files read-only, and the working folder, even if that lies elsewhere. */
static const char *be_read_only(long unused)
{
    char folder[PATH_MAX];
    const char *why = own_mounts();
    (void)unused;
    CHECK(getcwd(folder, sizeof folder) != NULL);
    if (why)
        return why;
    if (mount(folder, folder, NULL, MS_BIND, NULL) != 0
        || mount(NULL, folder, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0
        || mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0)
        return "nothing can be made read-only";
    return chdir(folder) == 0 ? NULL : "the folder is gone";
}

/* --- the table -------------------------------------------------------------------------- */

#define ADDRESS_SPACE(name_, bytes, flags_)                                                                         \
    {.name = "RLIMIT_AS: " name_ " more", .value = bytes, .apply = limit_address_space, .lift = lift_limit,         \
     .error = ENOMEM, .flags = flags_}
#define DATA(name_, bytes, flags_)                                                                                  \
    {.name = "RLIMIT_DATA: " name_ " more", .value = bytes, .apply = limit_data, .lift = lift_limit,                \
     .error = ENOMEM, .flags = flags_}
#define THREADS(name_, n, flags_)                                                                                   \
    {.name = "RLIMIT_NPROC: " name_ " more", .value = n, .prepare = become_nobody, .apply = limit_threads,          \
     .lift = lift_limit, .error = EAGAIN, .flags = flags_}
#define GROUP_THREADS(name_, n, flags_)                                                                             \
    {.name = "pids.max: " name_ " more", .value = n, .apply = limit_group_threads, .lift = unlimit_group,           \
     .error = EAGAIN, .flags = flags_, .group = "pids"}
#define GROUP_MEMORY(name_, bytes, flags_)                                                                          \
    {.name = "memory.max: " name_, .value = bytes, .prepare = limit_group_memory, .lift = unlimit_group,            \
     .error = ENOMEM, .flags = flags_, .group = "memory"}
#define LOCKED(name_, bytes, flags_)                                                                                \
    {.name = "RLIMIT_MEMLOCK, mlockall: " name_, .value = bytes, .prepare = become_nobody,                  \
     .apply = limit_locked, .lift = lift_locked, .error = EAGAIN, .flags = flags_}

const struct limit limits[] = {
    ADDRESS_SPACE("0", 0, SHOWS | MUTE), ADDRESS_SPACE("64 KB", 64 * KIB, MUTE), ADDRESS_SPACE("256 KB", 256 * KIB, 0),
    ADDRESS_SPACE("1 MB", MIB, SHOWS), ADDRESS_SPACE("3 MB", 3 * MIB, 0), ADDRESS_SPACE("9 MB", 9 * MIB, SHOWS),
    ADDRESS_SPACE("18 MB", 18 * MIB, 0), ADDRESS_SPACE("35 MB", 35 * MIB, 0), ADDRESS_SPACE("75 MB", 75 * MIB, 0),
    ADDRESS_SPACE("150 MB", 150 * MIB, 0), ADDRESS_SPACE("600 MB", 600L * MIB, FITS),
    DATA("0", 0, SHOWS | MUTE), DATA("1 MB", MIB, MUTE), DATA("9 MB", 9 * MIB, MUTE), DATA("35 MB", 35 * MIB, MUTE),
    DATA("150 MB", 150 * MIB, MUTE),
    THREADS("0", 0, SHOWS), THREADS("1", 1, SHOWS), THREADS("2", 2, 0), THREADS("16", 16, FITS),
    GROUP_THREADS("0", 0, SHOWS), GROUP_THREADS("1", 1, SHOWS), GROUP_THREADS("2", 2, 0), GROUP_THREADS("16", 16, FITS),
    GROUP_MEMORY("1 MB", MIB, KILLS | SHOWS), GROUP_MEMORY("4 MB", 4 * MIB, KILLS), GROUP_MEMORY("16 MB", 16 * MIB, KILLS),
    GROUP_MEMORY("64 MB", 64 * MIB, 0), GROUP_MEMORY("256 MB", 256 * MIB, FITS),
    LOCKED("0", 0, SHOWS | MUTE), LOCKED("1 MB", MIB, SHOWS | MUTE), LOCKED("7 MB", 7 * MIB, SHOWS | MUTE),
    {.name = "RLIMIT_STACK: 64 KB", .value = 64 * KIB, .prepare = limit_stack, .flags = FITS | AT_START},
    {.name = "RLIMIT_STACK: unlimited", .value = -1, .prepare = limit_stack, .flags = FITS | AT_START},
    {.name = "RLIMIT_NOFILE: 0", .value = 0, .apply = limit_descriptors, .lift = lift_limit, .flags = FITS},
    {.name = "RLIMIT_FSIZE: 0", .value = 0, .apply = limit_file_size, .lift = lift_limit, .scene = "files",
     .flags = FITS},
    {.name = "no /proc", .prepare = hide_proc, .flags = FITS | AT_START},
    {.name = "no /sys", .prepare = hide_sys, .flags = FITS | AT_START},
    {.name = "a root that is read-only", .prepare = be_read_only, .flags = FITS | AT_START},
};
const int limit_count = (int)(sizeof limits / sizeof *limits);
