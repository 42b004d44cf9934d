/* Processes that write timelines are killed at random moments, by each signal that the library handles and by two that it
 * does not. Afterwards the file is an array of whole events. If events are missing, the last one says so. KILLS sets the
 * number of processes for each signal.
 * ctest: static
 * ctest: matrix kind=steal deque=split idle=park threads=2 timeout=60 */
#include "child.h"

enum { TASKS = 400 };

static char path[] = "/tmp/sched-kills-XXXXXX", text[32 << 20];
static int begun_by;

static void leaf(void *closure, struct scheduler *s)
{
}

static void root(void *closure, struct scheduler *s)
{
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_spawn(leaf, closure, s), 0);
}

static void runs(void *unused)
{
    setenv("SCHED_TRACE", path, 1);
    for (;;) {
        CHECK_EQ(sched_init(2, 64, root, NULL), 0);
        if (begun_by >= 0) {
            close(begun_by);
            begun_by = -1;
        }
    }
}

/* The first bytes of an event, and its brace; between them the braces are even, outside of strings. */
static int is_event(const char *at, const char *end)
{
    int depth = 0, in_string = 0;
    if (end - at < 8 || strncmp(at, "{\"ph\":\"", 7) != 0 || end[-1] != '}')
        return 0;
    for (; at < end; at++) {
        if (in_string && *at == '\\')
            at++;
        else if (*at == '"')
            in_string = !in_string;
        else if (!in_string)
            depth += (*at == '{') - (*at == '}');
    }
    return depth == 0 && !in_string;
}

/* True if the last event says that there should be more. */
static int check_file(void)
{
    FILE *in = fopen(path, "r");
    CHECK(in != NULL);
    size_t n = fread(text, 1, sizeof text - 1, in);
    fclose(in);
    CHECK(n < sizeof text - 1);
    text[n] = 0;
    CHECK(strncmp(text, "[\n", 2) == 0);
    char *last = text;
    for (char *at = text + 2;;) {
        char *end = strchr(at, '\n');
        CHECK(end != NULL);
        int more = end[-1] == ',';
        CHECK(is_event(at, end - more));
        last = at;
        at = end + 1;
        if (!more) {
            CHECK(strcmp(at, "]\n") == 0);
            return strstr(last, "cut here") != NULL;
        }
    }
}

int main(void)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGPIPE, SIGALRM, SIGTERM, SIGXCPU,
                                  SIGSYS, SIGUSR1, SIGUSR2};
    enum { SIGNALS = sizeof signals / sizeof *signals, HANDLED = SIGNALS - 2 };
    const char *asked = getenv("KILLS");
    int kills = asked ? atoi(asked) : 40 / SMALLER, pipe_ends[2];
    uint64_t seed = (uint64_t)getpid();
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    for (int i = 0; i < kills * SIGNALS; i++) {
        int signal = signals[i % SIGNALS], said;
        size_t got = 0;
        char byte;
        CHECK_EQ(pipe(pipe_ends), 0);
        begun_by = pipe_ends[1];
        child.said[0] = 0;
        pid_t pid = begin_child(runs, NULL, &said);
        close(pipe_ends[1]);
        CHECK_EQ(read(pipe_ends[0], &byte, 1), 0); /* the first run has ended */
        close(pipe_ends[0]);
        pause_us((long)(next_random(&seed) % 8000));
        CHECK_EQ(kill(pid, signal), 0);
        while (read_said(said, &got))
            continue;
        close(said);
        child.status = wait_for(pid);
        check_child(__FILE__, __LINE__, WIFSIGNALED(child.status) && WTERMSIG(child.status) == signal, "be killed");
        int is_cut = check_file();
        CHECK(!is_cut || i % SIGNALS >= HANDLED || strstr(child.said, "not whole") != NULL);
    }
    unlink(path);
    return 0;
}
