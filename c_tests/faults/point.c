/* The common part of the sweeps of faults and of limits: the process of a point, and the meaning of
 * its end. */
#include "point.h"
#include <sys/mman.h>
#include <sys/wait.h>

const char *const kinds[KINDS] = {"steal", "lifo", "fifo", "serial", "cont"};
const char *const words[RESULTS] = {"done all the same", "-1 and errno", "fewer threads", "documented end"};
struct report *report;

void *shared(size_t size)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

/* --- the process ------------------------------------------------------------------ */

/* Removes the lines of statistics. */
static void without_json(char *text)
{
    char *to = text;
    for (char *line = text, *next; *line; line = next) {
        next = strchr(line, '\n') ? strchr(line, '\n') + 1 : line + strlen(line);
        if (*line != '{') {
            memmove(to, line, (size_t)(next - line));
            to += next - line;
        }
    }
    *to = 0;
}

void run_process(void (*body)(void *), void *arg, struct end *end)
{
    enum { PATIENCE = 120 }; /* for each round */
    int fd = memfd_create("said", 0);
    double began = now();
    struct rusage used;
    struct patience p = patience_of(PATIENCE);
    CHECK(fd >= 0);
    memset(report, 0, sizeof *report);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        dup2(fd, 1);
        dup2(fd, 2);
        close(fd);
        body(arg);
        _exit(0);
    }
    end->is_late = 0;
    int round = 0;
    for (long pause = 200; wait4(pid, &end->status, WNOHANG, &used) == 0; pause_us(pause), pause = pause < 5000 ? 2 * pause : 5000) {
        if (report->round != round) {
            round = report->round;
            p = patience_of(PATIENCE);
        }
        if (!is_patient(&p)) {
            end->is_late = 1;
            kill(pid, SIGKILL);
            wait4(pid, &end->status, 0, &used);
            break;
        }
    }
    end->seconds = now() - began;
    end->processor = (double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec
                     + 1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    ssize_t n = pread(fd, end->said, sizeof end->said - 1, 0);
    end->said[n > 0 ? n : 0] = 0;
    without_json(end->said);
    close(fd);
}

/* --- the end of the process ------------------------------------------------------- */

static const char *const documented_ends[] = {
    "libsched: deadlock: ", /* no memory for stacks: tasks lie on top of each other */
};

enum result judge(const struct end *end, const char *also)
{
    if (!end->is_late && WIFEXITED(end->status) && WEXITSTATUS(end->status) == 0)
        return report->outcome.missing > 0 ? FEWER : report->outcome.errors > 0 ? ERRORS : NO_EFFECT;
    if (!end->is_late && WIFSIGNALED(end->status) && (WTERMSIG(end->status) == SIGABRT || WTERMSIG(end->status) == SIGSEGV)) {
        for (size_t i = 0; i < sizeof documented_ends / sizeof *documented_ends; i++)
            if (strstr(end->said, documented_ends[i]))
                return MESSAGE;
        if (also && strstr(end->said, also))
            return MESSAGE;
    }
    return RESULTS;
}

const char *wrong_end(const struct end *end)
{
    return end->is_late ? "hangs" : WIFSIGNALED(end->status) ? "aborts" : "fails";
}

/* --- what is held ------------------------------------------------------------------- */

enum { PARTS = 4, HELD = 4 };

static void note_held(long held[HELD])
{
    struct fault_held now = fault_interface.held();
    held[0] = now.blocks;
    held[1] = now.mapped / 4096;
    held[2] = now.descriptors;
    held[3] = now.threads;
}

int grows(void (*play)(void *), void *arg, int rounds, int exempt)
{
    long held[PARTS + 1][HELD];
    int growing = ((1 << HELD) - 1) & ~exempt;
    for (int part = 0; part <= PARTS; part++) {
        note_held(held[part]);
        for (int i = 0; i < rounds && part < PARTS; i++)
            play(arg);
        for (int what = 0; what < HELD && part > 0; what++)
            if (held[part][what] < held[part - 1][what] + rounds)
                growing &= ~(1 << what);
    }
    return growing;
}

/* --- names -------------------------------------------------------------------------- */

static int unknown(const char *name)
{
    fprintf(stderr, "no %s\n", name);
    exit(2);
}

int kind_named(const char *name)
{
    for (int i = 0; i < KINDS; i++)
        if (strcmp(name, kinds[i]) == 0)
            return i;
    return unknown(name);
}

int scene_named(const char *name)
{
    for (int i = 0; i < scene_count; i++)
        if (strcmp(name, scenes[i].name) == 0)
            return i;
    return unknown(name);
}
