/* A program with more rights than the user who starts it (set-user-ID and the like: AT_SECURE) honours no SCHED_*
 * variable: else that user could have root's files created and extended, by SCHED_STATS_FILE or SCHED_TRACE. Nor does
 * any variable make it print.
 * ctest: static
 * ctest: */
#include "pool.h"
#include "child.h"
#include <fcntl.h>
#include <grp.h>
#include <sys/auxv.h>
#include <sys/stat.h>

enum { NOBODY = 65534 };

static char folder[PATH_MAX], program[PATH_MAX + 16], file[PATH_MAX + 16], trace[PATH_MAX + 16];
static int ran;

static void task(void *closure, struct scheduler *s)
{
    struct sched_stats stats;
    CHECK_EQ(sched_stats(s, &stats, sizeof stats), 0);
    CHECK_EQ(stats.threads + stats.threads_missing, 2);
    __atomic_fetch_add(&ran, 1, __ATOMIC_RELAXED);
}

/* The work of the program, in both cases. */
static int body(void)
{
    if (sched_init(2, 4, task, NULL) != 0)
        return errno == EINVAL ? 3 : 4;
    struct sched_pool *pool = pool_of(2);
    CHECK_EQ(sched_pool_run(pool, task, NULL), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_EQ(ran, 2);
    return 0;
}

static void without_rights(void *unused)
{
    _exit(body());
}

static void as_nobody(void *unused)
{
    if (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        skip("cannot become another user");
    execl(program, program, "with rights", (char *)NULL);
    skip("another user cannot start the program");
}

static int with_rights(void)
{
    if (!getauxval(AT_SECURE))
        skip("set-user-ID programs have no effect here");
    CHECK_EQ(geteuid(), 0);
    return body();
}

static void copy_program(void)
{
    char buffer[65536];
    ssize_t n;
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int to = open(program, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    CHECK(from >= 0 && to >= 0);
    while ((n = read(from, buffer, sizeof buffer)) > 0)
        CHECK_EQ(write(to, buffer, (size_t)n), n);
    CHECK_EQ(n, 0);
    CHECK_EQ(fchown(to, 0, 0), 0);
    CHECK_EQ(fchmod(to, 04755), 0);
    close(from);
    close(to);
}

static void clean_up(void)
{
    unlink(program);
    unlink(file);
    unlink(trace);
    rmdir(folder);
}

/* Whether the test could be made with a program in this folder. */
static int test_in(const char *parent)
{
    snprintf(folder, sizeof folder, "%s/sched-secure-XXXXXX", parent);
    if (mkdtemp(folder) == NULL)
        return 0;
    CHECK_EQ(chmod(folder, 0755), 0);
    snprintf(program, sizeof program, "%s/program", folder);
    snprintf(file, sizeof file, "%s/of_root", folder);
    snprintf(trace, sizeof trace, "%s/trace_of_root", folder);
    copy_program();

    /* Without further rights the variables are honoured: the file is made. */
    setenv("SCHED_STATS", "json", 1);
    setenv("SCHED_STATS_FILE", file, 1);
    setenv("SCHED_TRACE", trace, 1);
    in_child(without_rights, NULL);
    int made = unlink(file) == 0 && unlink(trace) == 0;
    if (!WIFEXITED(child.status) || WEXITSTATUS(child.status) != 0 || !made)
        clean_up();
    CHECK_CHILD_EXITED(0);
    CHECK(made);

    setenv("SCHED_HELP", "1", 1);
    setenv("SCHED_THREADS", "7", 1);
    setenv("SCHED_PROFILE", "1", 1);
    setenv("SCHED_WATCHDOG", "1ms", 1);
    setenv("SCHED_KIND", "no such kind, and nobody says so", 1);
    setenv("SCHED_KIDN", "nor is this one named", 1);
    in_child(as_nobody, NULL);
    made = access(file, F_OK) == 0 || access(trace, F_OK) == 0;
    clean_up();
    if (WIFEXITED(child.status) && WEXITSTATUS(child.status) == 77)
        return 0;
    CHECK_CHILD_EXITED(0);
    check_child(__FILE__, __LINE__, !made && child.said[0] == 0, "make no file and say nothing");
    return 1;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "with rights") == 0)
        return with_rights();
    if (geteuid() != 0)
        skip("only root can give a program its rights");

    char here[PATH_MAX] = "";
    if (readlink("/proc/self/exe", here, sizeof here - 1) > 0)
        *strrchr(here, '/') = 0;
    if (!test_in("/tmp") && !test_in(here)) /* /tmp may be mounted nosuid */
        skip(child.said);
    return 0;
}
