/* The sweep of limits: plays each scene under each kind in a process of its own from which the system withholds
 * something. `limits` alone lists the arguments.
 *
 * In its process the scene is played three times: twice under the limit, in a process that has not
 * used the library yet and in one that has, and once when the limit is lifted, when every call has
 * to succeed. A limit that binds one thread and those that it makes binds a thread that plays the
 * first two; the first thread plays the last. A limit that cannot be lifted stays. Then, for some
 * points, the play under the limit is repeated: the held resources must not grow each time. */
#include "limits.h"
#include <dirent.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { KILLED = RESULTS, NOT_MADE, SKIPPED, WRONG, CLASSES };
static const char *const class_words[CLASSES] = {
    [NO_EFFECT] = "done all the same", [ERRORS] = "-1 and errno", [FEWER] = "fewer threads", [MESSAGE] = "documented end",
    [KILLED] = "killed", [NOT_MADE] = "no such call", [SKIPPED] = "skipped", [WRONG] = "WRONG",
};

enum { MOST_LIMITS = 400, MOST_POINTS = 16384, SCENES = 8, ROUNDS = 2, LONG_ROUNDS = 40, AGAIN = 3, WITHOUT = -1 };

struct point {
    int kind, scene, limit, rounds;
};

/* The counts of all processes of the sweep. */
struct totals {
    atomic_int next;
    atomic_long points[MOST_LIMITS][CLASSES], processes;
    atomic_int made[KINDS][SCENES][WAYS * 64]; /* whether the call is made there: see is_made */
    char reasons[MOST_LIMITS][80];
};

static struct totals *totals;
static struct limit all[MOST_LIMITS];
static int all_count, first_filter, is_sample;
static struct point points[MOST_POINTS];
static char *program;

/* --- the process of a point ------------------------------------------------------ */

static const struct limit none = {.name = "without a limit", .flags = FITS};
static const struct limit *limit; /* of the process */
static struct point playing;

static const struct limit *limit_of(const struct point *point)
{
    return point->limit < 0 ? &none : &all[point->limit];
}

static void play(enum phase as)
{
    phase = as;
    injected = limit->error;
    scenes[playing.scene].play();
    check_jobs();
    report->round++;
}

static void play_limited(void *unused)
{
    (void)unused;
    play(limit->flags & FITS ? STRICT : LASTING);
}

static void set(const char *(*how)(long))
{
    const char *why = how ? how(limit->value) : NULL;
    if (why)
        skip(why);
}

/* The resources that a refused call leaves behind by itself. Without getpid the confined thread
 * seems to be of another process than those that are not confined, and leaves alone what these
 * hold, as a forked child does. */
static int exempt(void)
{
    static const char *const maps[] = {": munmap:", ": mremap:", ": getpid:"};
    for (int i = 0; i < 3; i++)
        if (strstr(limit->name, maps[i]))
            return HELD_MAPPED;
    return strstr(limit->name, ": close:") ? HELD_DESCRIPTORS : 0;
}

static void *play_under_limit(void *arg)
{
    set(limit->apply);
    play_limited(NULL);
    play_limited(NULL);
    if (playing.rounds > 1)
        report->grows = grows(play_limited, NULL, playing.rounds, exempt());
    return arg;
}

static void play_point(void *arg)
{
    playing = *(struct point *)arg;
    limit = limit_of(&playing);
    outcome = &report->outcome;
    setenv("SCHED_KIND", kinds[playing.kind], 1);
    if (playing.rounds > 1) {
        setenv("SCHED_WARM", "0", 1);
        setenv("SCHED_STACK", "128K", 1); /* known to inject.so */
    }
    set(limit->prepare);
    begin_foreign();
    begin_partner();
    if (limit->flags & CONFINES)
        run_thread(play_under_limit, NULL);
    else
        play_under_limit(NULL);
    if (limit->lift)
        limit->lift();
    play(limit->flags & AT_START && !(limit->flags & FITS) ? LASTING : STRICT);
}

static void start_this_again(void)
{
    char text[4][16];
    const int words_of[4] = {playing.kind, playing.scene, playing.limit, playing.rounds};
    for (int i = 0; i < 4; i++)
        snprintf(text[i], sizeof text[i], "%d", words_of[i]);
    execl(program, program, "again", text[0], text[1], text[2], text[3], (char *)NULL);
}

/* A working folder of this process, for every user, while `is_begun`. */
static void have_folder(int is_begun)
{
    static char folder[] = "/tmp/libsched-limits-XXXXXX";
    if (is_begun && (mkdtemp(folder) == NULL || chmod(folder, 0777) != 0 || chdir(folder) != 0))
        printf("WRONG: no folder in /tmp: %s\n", strerror(errno));
    else if (!is_begun && (chdir("/") != 0 || rmdir(folder) != 0))
        printf("WRONG: %s is left: %s\n", folder, strerror(errno));
    else
        return;
    fflush(stdout);
    _exit(1);
}

/* The report lies in a file without a name, of which the program knows the descriptor after `start_this_again`, too. */
static void share_report(void)
{
    const char *known = getenv("LIMITS_REPORT");
    int fd = known ? atoi(known) : memfd_create("report", 0);
    char text[16];
    CHECK(fd >= 0);
    CHECK_EQ(ftruncate(fd, sizeof *report), 0);
    report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(report != MAP_FAILED);
    snprintf(text, sizeof text, "%d", fd);
    setenv("LIMITS_REPORT", text, 1);
}

/* --- the ends of the processes ----------------------------------------------------- */

/* A message with which the process may end. Where there is no memory for stacks, tasks lie on top of each other: too
 * deep, if there are as many as in the largest scene. */
static const char *allowed_end(const struct point *point, const struct end *end)
{
    const struct limit *of = limit_of(point);
    if (!scenes[point->scene].has_many_calls || of->flags & CONFINES)
        return of->ends;
    return of->flags & MUTE && end->said[0] == 0 ? "" : "libsched: a task has overflowed its ";
}

static int classify(const struct point *point, const struct end *end, long killed)
{
    if (!end->is_late && WIFEXITED(end->status) && WEXITSTATUS(end->status) == 77)
        return SKIPPED;
    if (limit_of(point)->flags & KILLS && !end->is_late && WIFSIGNALED(end->status)
        && (WTERMSIG(end->status) == SIGSYS || (WTERMSIG(end->status) == SIGKILL && killed > 0)))
        return KILLED;
    enum result result = judge(end, allowed_end(point, end));
    return result == RESULTS ? WRONG : (int)result;
}

/* Statistics and timelines, of forked children and threads as well. */
static void empty_folder(void)
{
    DIR *here = opendir(".");
    CHECK(here != NULL);
    for (struct dirent *entry; (entry = readdir(here)) != NULL;)
        if (entry->d_name[0] != '.')
            unlink(entry->d_name);
    closedir(here);
}

static int run_point(const struct point *point, struct end *end)
{
    const struct limit *of = limit_of(point);
    struct point copy = *point;
    const char *why = of->group ? make_group(of->group) : NULL;
    totals->processes++;
    if (why) {
        snprintf(end->said, sizeof end->said, "skipped: %s\n", why);
        return SKIPPED;
    }
    run_process(play_point, &copy, end);
    int is = classify(point, end, of->group ? killed_in_group() : 0);
    if (of->group)
        remove_group();
    empty_folder();
    return is;
}

static void say_wrong(const struct point *point, const struct end *end, const char *what)
{
    printf("WRONG: %s: %s; grows %d; in round %d, after %.1f s, %.1f s of a processor, status %#x\n"
           "  again: limits %s %s '%s' %d\n%.1500s", what, limit_of(point)->name, report->grows, report->round, end->seconds,
           end->processor, (unsigned)end->status, kinds[point->kind], scenes[point->scene].name, limit_of(point)->name,
           point->rounds, end->said);
    fflush(stdout);
}

/* A way to deny a call is tried where the call is made: a filter that kills at it has said so. */
static int is_made(const struct point *point)
{
    int filter = point->limit - first_filter;
    if (is_sample || filter < 0 || filter / filter_count == KILL)
        return 1;
    atomic_int *made = &totals->made[point->kind][point->scene][filter % filter_count];
    if (*made == 0) {
        struct end end;
        struct point kill = *point;
        kill.limit = first_filter + KILL * filter_count + filter % filter_count;
        int is = run_point(&kill, &end);
        *made = is == KILLED ? 1 : is == SKIPPED ? -1 : -2;
        totals->points[kill.limit][is == NO_EFFECT ? NOT_MADE : is]++;
        if (is == WRONG)
            say_wrong(&kill, &end, wrong_end(&end));
    }
    return *made == 1;
}

/* Where futex is refused, a hang counts if each run hangs. The filter holds for one thread, and its wake-ups fail. If
 * another thread sleeps at a lock of the C library, for instance that of malloc, it may sleep for ever. */
static int run_to_end(const struct point *point, struct end *end)
{
    int is = run_point(point, end), has_futex = strstr(limit_of(point)->name, "futex") != NULL;
    for (int i = 0; i < AGAIN && has_futex && is == WRONG && end->is_late; i++)
        is = run_point(point, end);
    return is;
}

static void try_point(const struct point *point)
{
    struct end end;
    if (!is_made(point))
        return;
    int is = run_to_end(point, &end);
    if (is == WRONG)
        say_wrong(point, &end, wrong_end(&end));
    else if (is == SKIPPED)
        snprintf(totals->reasons[point->limit], sizeof totals->reasons[0], "%.79s", end.said);
    else if (is != KILLED && point->rounds > 1 && report->grows) {
        struct point longer = *point;
        longer.rounds = LONG_ROUNDS; /* caches have grown, or more than that: then each time */
        int again = is;
        for (int i = 0; i < AGAIN && again != WRONG && report->grows; i++)
            again = run_to_end(&longer, &end);
        if (report->grows || again == WRONG) {
            say_wrong(&longer, &end, again == WRONG ? wrong_end(&end) : "holds more each time");
            is = WRONG;
        }
    }
    totals->points[point->limit][is]++;
}

/* --- all of it --------------------------------------------------------------------- */

static void list_limits(void)
{
    for (int i = 0; i < limit_count; i++)
        all[all_count++] = limits[i];
    all[all_count++] = only_listed;
    first_filter = all_count;
    for (int way = 0; way < WAYS; way++)
        for (int call = 0; call < filter_count; call++)
            all[all_count++] = filter_of((enum way)way, call);
    CHECK(all_count <= MOST_LIMITS && filter_count <= 64 && scene_count <= SCENES);
}

static int is_scene(int scene, const char *name)
{
    return strcmp(scenes[scene].name, name) == 0;
}

/* In the sample each limit is met under one kind, by the scene that opens files and by another one; and each call is
 * refused in the scene that makes most. */
static int is_in_sample(int kind, int scene, int i)
{
    static const int kinds_that_show[] = {0, 1, 2}; /* "serial" makes no threads, "cont" no queues */
    int is_memory = all[i].group && strcmp(all[i].group, "memory") == 0;
    int filter = i - first_filter, its_kind = all[i].flags & SHOWS ? kinds_that_show[i % 3] : i % KINDS;
    if (filter >= 0)
        return filter < filter_count && kind == its_kind && is_scene(scene, "files");
    return (i == first_filter - 1 || kind == its_kind)
           && (is_scene(scene, "files") || is_scene(scene, is_memory ? "large-flood" : "run"));
}

/* Killing comes first where a call is refused: is_made. The long scenes have nothing to do with single calls. */
static int is_planned(int scene, int i)
{
    int filter = i - first_filter;
    if (filter >= 0)
        return filter / filter_count != KILL && !scenes[scene].has_many_calls && !is_scene(scene, "large-flood");
    return all[i].scene == NULL || is_scene(scene, all[i].scene);
}

static int plan(void)
{
    enum { LEAK_SCENES = 3 };
    int n = 0;
    for (int i = 0; i < all_count; i++)
        for (int kind = 0; kind < KINDS; kind++)
            for (int scene = 0; scene < scene_count; scene++) {
                if (is_scene(scene, "talk"))
                    continue; /* ../denials.c denies what it calls */
                int leaks = !is_sample && scene < LEAK_SCENES && (i < first_filter || scene == 0);
                if (!is_planned(scene, i) || (is_sample && !is_in_sample(kind, scene, i)))
                    continue;
                CHECK(n < MOST_POINTS);
                points[n++] = (struct point){kind, scene, i, leaks ? ROUNDS : 1};
            }
    return n;
}

static void stop(int signal)
{
    (void)signal;
    totals->next = MOST_POINTS;
}

static void sweep(int n, int jobs)
{
    signal(SIGTERM, stop);
    signal(SIGINT, stop);
    for (int i = 0; i < jobs; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            signal(SIGTERM, SIG_DFL);
            signal(SIGINT, SIG_IGN); /* it goes to the whole group */
            share_report();
            have_folder(1);
            for (int at; (at = totals->next++) < n;)
                try_point(&points[at]);
            have_folder(0);
            _exit(0);
        }
    }
    for (int status = 0; wait(&status) > 0 || errno == EINTR;) /* a SIGTERM may have come to the whole group */
        CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0) || (WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM));
}

static int print(double began)
{
    long sum[CLASSES] = {0}, tried = 0, idle = 0;
    printf("%-44s", "limit");
    for (int is = 0; is < CLASSES; is++)
        printf(" %17s", class_words[is]);
    printf("\n");
    for (int i = 0; i < all_count; i++) {
        atomic_long *of = totals->points[i];
        long here = 0;
        for (int is = 0; is < CLASSES; is++) {
            here += of[is];
            sum[is] += of[is];
            tried += is == SKIPPED || is == NOT_MADE ? 0 : of[is];
        }
        if (here == 0)
            continue;
        printf("%-44s", all[i].name);
        for (int is = 0; is < CLASSES; is++)
            printf(" %17ld", (long)of[is]);
        printf("\n");
        if (all[i].flags & SHOWS && of[SKIPPED] == 0 && of[NO_EFFECT] == here) {
            printf("WRONG: %s: has no effect\n", all[i].name);
            idle++;
        }
    }
    for (int i = 0; i < all_count; i++)
        if (totals->reasons[i][0])
            printf("%s: %s", all[i].name, totals->reasons[i]);
    printf("limits: %ld points, %ld wrong;", tried, sum[WRONG] + idle);
    for (int is = 0; is < WRONG; is++)
        printf(" %s: %ld;", class_words[is], sum[is]);
    printf(" %ld processes, %.0f s\n", (long)totals->processes, now() - began);
    return sum[WRONG] + idle == 0 && tried > 0 ? 0 : 1;
}

static int limit_named(const char *name)
{
    for (int i = 0; i < all_count; i++)
        if (strcmp(all[i].name, name) == 0)
            return i;
    return WITHOUT;
}

static int one_point(char **words_of)
{
    struct point point = {kind_named(words_of[0]), scene_named(words_of[1]), limit_named(words_of[2]), atoi(words_of[3])};
    struct end end;
    int is = run_point(&point, &end);
    printf("%s: %s; errors %d, missing %d, grows %d, %.1f s\n%s", limit_of(&point)->name, class_words[is], report->outcome.errors,
           report->outcome.missing, report->grows, end.seconds, end.said);
    return is == WRONG;
}

int main(int argc, char **argv)
{
    double began = now();
    list_limits();
    program = realpath("/proc/self/exe", NULL);
    start_again = start_this_again;
    if (argc == 6 && strcmp(argv[1], "again") == 0) {
        struct point point = {atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), atoi(argv[5])};
        share_report();
        play_point(&point);
        return 0;
    }
    if (&fault_interface == NULL || (argc != 3 && argc != 5)) {
        fprintf(stderr, "usage: LD_PRELOAD=inject.so limits JOBS sample|all              a point for each limit, or all\n"
                        "       LD_PRELOAD=inject.so limits KIND SCENE LIMIT ROUNDS      one point\n");
        return 2;
    }
    totals = shared(sizeof *totals);
    unsetenv("LIMITS_REPORT");
    if (argc == 5) {
        share_report();
        have_folder(1);
        int status = one_point(argv + 1);
        have_folder(0);
        return status;
    }
    is_sample = strcmp(argv[2], "sample") == 0;
    sweep(plan(), atoi(argv[1]));
    return print(began);
}
