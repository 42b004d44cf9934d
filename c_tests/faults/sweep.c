/* The sweep: plays each scene under each kind in a process of its own, again and again; in the k-th process the k-th
 * call of a function fails, until none is left to fail. `sweep` alone lists the arguments.
 *
 * A point is a kind, a scene, a call, an errno and k; once with one failure, and once with all calls from the k-th on.
 * In its process the scene is played four times: with the fault in a process that has not used the library yet; without
 * a fault, when every call has to succeed; with the fault in what is then used already; and again without. For every
 * fifth point (where each call is to fail, for every 32nd of a series) the third is repeated: what is held must not
 * grow each time. */
#include "point.h"
#include <sys/wait.h>

static const struct fault {
    enum fault_call call;
    const char *name;
    int error;
} faults[] = {
#define X(call, name, error) {call, name, error},
    FAULTS(X)
#undef X
};

enum { FAULT_COUNT = sizeof faults / sizeof *faults, MOST_SERIES = 8192, ROUNDS = 2, LONG_ROUNDS = 160,
    LEAKS_OF = 5, LEAKS_OF_ALL = 32, /* one of this many points looks for leaks */
    IN_SAMPLE = 6, /* points of a series of memory or threads */
    BURST = 100,
    DENSE = 64, THINNER = 16 }; /* see to_next */
/* A series: the points that differ in k alone. */
struct series {
    int kind, scene, fault, lasting;
    long calls;
};

static struct series all[MOST_SERIES];

/* The counts of all processes of the sweep. */
struct totals {
    atomic_int next, stopped_at; /* series */
    atomic_long points[FAULT_COUNT][RESULTS], wrong, processes;
};

static struct totals *totals;
static int at_most;   /* points of a series; 0: all */
static int is_sample; /* a point or two for each fault */

/* --- the process of a point ------------------------------------------------------ */

/* The number of calls that fail from the first on. The interruptions of a wait or a write come to
 * an end. */
static long times(const struct fault *fault, enum phase as)
{
    int interrupts = fault->error == EINTR || (fault->call == FUTEX_WAIT && fault->error == EAGAIN);
    return as == ONCE ? 1 : interrupts ? BURST : LONG_MAX;
}

static void play(const struct series *series, enum phase as, long skip)
{
    const struct fault *fault = &faults[series->fault];
    phase = as;
    injected = fault->error;
    if (as != STRICT)
        fault_interface.arm(fault->call, fault->error, skip, times(fault, as));
    scenes[series->scene].play();
    if (as != STRICT)
        report->failed += fault_interface.disarm();
    check_jobs();
    report->round++;
}

struct point {
    const struct series *series;
    long skip;
    int rounds;
};

static void play_once_more(void *arg)
{
    const struct point *point = arg;
    play(point->series, point->series->lasting ? LASTING : ONCE, point->skip);
}

static void play_point(void *arg)
{
    const struct point *point = arg;
    const struct series *series = point->series;
    long skip = point->skip;
    enum phase as = series->lasting ? LASTING : ONCE;
    setenv("SCHED_KIND", kinds[series->kind], 1);
    if (point->rounds > 1) {
        setenv("SCHED_WARM", "0", 1);
        setenv("SCHED_STACK", "128K", 1); /* known to inject.so */
    }
    outcome = &report->outcome;
    begin_foreign();
    begin_partner();
    if (skip < 0) {
        fault_interface.arm(faults[0].call, 0, LONG_MAX, 0);
        play(series, STRICT, 0);
        for (int call = 0; call < FAULT_CALLS; call++)
            report->calls[call] = fault_interface.seen((enum fault_call)call);
        return;
    }
    play(series, as, skip);
    play(series, STRICT, 0);
    play(series, as, skip);
    if (point->rounds > 1) /* a refused munmap leaves its pages */
        report->grows = grows(play_once_more, arg, point->rounds, faults[series->fault].call == MUNMAP ? HELD_MAPPED : 0);
    play(series, STRICT, 0);
}

/* --- the ends of the processes ----------------------------------------------------- */

static enum result run_point(const struct series *series, long skip, int rounds, struct end *end)
{
    struct point point = {series, skip, rounds};
    run_process(play_point, &point, end);
    totals->processes++;
    return judge(end, NULL);
}

static void say_wrong(const struct series *series, long skip, int rounds, const struct end *end, const char *what)
{
    const struct fault *fault = &faults[series->fault];
    totals->wrong++;
    printf("WRONG: %s: %s, %s errno %d; grows %d; in round %d, after %.1f s, %.1f s of a processor, status %#x\n"
           "  again: sweep %s %s %d %d %ld %d\n%.1500s", what, fault->name, series->lasting ? "from then on" : "once", fault->error,
           report->grows, report->round, end->seconds, end->processor, (unsigned)end->status, kinds[series->kind],
           scenes[series->scene].name, series->fault, series->lasting, skip, rounds, end->said);
    fflush(stdout);
}

/* Plays a point; whether the fault came. */
static int sweep_point(const struct series *series, long skip, int rounds)
{
    struct end end;
    enum result result = run_point(series, skip, rounds, &end);
    if (result == RESULTS)
        say_wrong(series, skip, rounds, &end, wrong_end(&end));
    /* Caches have grown, or more than that. What a busy machine holds at once grows by a stack now
     * and then, of which a part of this many rounds has less than a page a round. */
    for (int longer = 40; rounds > 1 && result != RESULTS && report->grows; longer *= 4) {
        run_point(series, skip, longer, &end);
        if (longer == LONG_ROUNDS && report->grows) {
            say_wrong(series, skip, longer, &end, "holds more each time");
            break;
        }
    }
    if (report->failed == 0 && result != RESULTS)
        return 0;
    if (result != RESULTS)
        totals->points[series->fault][result]++;
    return 1;
}

/* --- all of it --------------------------------------------------------------------- */

/* How far the next point is from this one where every call of the series is to fail. A thread that waits looks at the
 * clock 10^5 times and more, from the same line: from the call DENSE on, the points are ever further apart. */
static long to_next(const struct series *series, long skip)
{
    return faults[series->fault].call == CLOCK && skip >= DENSE ? skip / THINNER : 1;
}

static void sweep_series(const struct series *series)
{
    enum { ENDS_AFTER = 3 }; /* the number of some calls differs from time to time */
    int absent = 0;
    if (is_sample && faults[series->fault].call > THREAD) {
        sweep_point(series, series->calls / 2, 1);
        return;
    }
    for (long skip = 0, step, points = 0; absent < ENDS_AFTER; skip += step, points++) {
        int is_leak_point = at_most ? (series - all + points) % LEAKS_OF == 0 : points % LEAKS_OF_ALL == 0;
        step = at_most ? series->calls / at_most + 1 : to_next(series, skip);
        absent = sweep_point(series, skip, is_leak_point ? ROUNDS : 1) ? 0 : absent + 1;
        if (at_most && skip >= series->calls)
            break;
    }
}

/* Each fault under one kind and in one scene, if the call is made there. */
static int is_in_sample(int kind, int scene, int fault)
{
    enum { SCENES = 3 };
    return kind == fault % KINDS && scene == fault % SCENES;
}

static int plan(const char *only_kind, const char *only_scene, int only_fault)
{
    int n = 0;
    for (int kind = 0; kind < KINDS; kind++)
        for (int scene = 0; scene < scene_count; scene++) {
            struct series series = {kind, scene, 0, 0, 0};
            struct end end;
            if (scenes[scene].has_many_calls || (is_sample && scene > 2))
                continue; /* these take long */
            if ((only_kind && strcmp(only_kind, kinds[kind]) != 0) || (only_scene && strcmp(only_scene, scenes[scene].name) != 0))
                continue;
            if (run_point(&series, -1, 1, &end) == RESULTS) {
                say_wrong(&series, -1, 1, &end, "fails without a fault");
                continue;
            }
            for (int fault = 0; fault < FAULT_COUNT; fault++)
                for (int lasting = 0; lasting < 2; lasting++) {
                    long calls = report->calls[faults[fault].call];
                    int waits_long = lasting && faults[fault].call == FUTEX_WAKE; /* a second for each wake-up */
                    if (calls == 0 || (only_fault >= 0 && fault != only_fault)
                        || (is_sample && (waits_long || !is_in_sample(kind, scene, fault))))
                        continue;
                    CHECK(n < MOST_SERIES);
                    all[n++] = (struct series){kind, scene, fault, lasting, calls};
                }
        }
    /* In a fixed random order: if the sweep is stopped, it has tried something of everything. */
    uint64_t x = 88172645463325252u;
    for (int i = n - 1; i > 0; i--) {
        int other = (int)(next_random(&x) % (uint64_t)(i + 1));
        struct series series = all[i];
        all[i] = all[other];
        all[other] = series;
    }
    return n;
}

/* The series that have begun are the last. */
static void stop(int signal)
{
    (void)signal;
    int begun = atomic_exchange(&totals->next, MOST_SERIES);
    if (begun < MOST_SERIES)
        totals->stopped_at = begun;
}

static void sweep(int series, int jobs)
{
    signal(SIGTERM, stop);
    signal(SIGINT, stop);
    for (int i = 0; i < jobs; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            signal(SIGTERM, SIG_DFL);
            signal(SIGINT, SIG_IGN); /* it goes to the whole group */
            report = shared(sizeof *report);
            for (int at; (at = totals->next++) < series;)
                sweep_series(&all[at]);
            _exit(0);
        }
    }
    for (int status = 0; wait(&status) > 0 || errno == EINTR;)
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int print(double began, int series)
{
    long sum[RESULTS] = {0}, points = 0;
    printf("%-62s %5s", "call that fails", "errno");
    for (int result = 0; result < RESULTS; result++)
        printf(" %17s", words[result]);
    printf("\n");
    for (int fault = 0; fault < FAULT_COUNT; fault++) {
        long here = 0;
        for (int result = 0; result < RESULTS; result++)
            here += totals->points[fault][result];
        if (here == 0)
            continue;
        printf("%-62s %5d", faults[fault].name, faults[fault].error);
        for (int result = 0; result < RESULTS; result++) {
            printf(" %17ld", totals->points[fault][result]);
            sum[result] += totals->points[fault][result];
        }
        points += here;
        printf("\n");
    }
    printf("faults: %ld points, %ld wrong;", points + totals->wrong, (long)totals->wrong);
    for (int result = 0; result < RESULTS; result++)
        printf(" %s: %ld;", words[result], sum[result]);
    printf(" %ld processes, %.0f s\n", (long)totals->processes, now() - began);
    if (totals->stopped_at > 0 && totals->stopped_at < series)
        printf("stopped: %d of %d series have been tried\n", totals->stopped_at, series);
    return totals->wrong == 0 && points > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    double began = now();
    totals = shared(sizeof *totals);
    report = shared(sizeof *report);
    if (&fault_interface == NULL) {
        fprintf(stderr, "sweep: to be started with LD_PRELOAD=inject.so\n");
        return 2;
    }
    if (argc == 7) {
        struct series series = {kind_named(argv[1]), scene_named(argv[2]), atoi(argv[3]), atoi(argv[4]), 0};
        play_point(&(struct point){&series, atol(argv[5]), atoi(argv[6])});
        printf("failed %ld errors %d missing %d grows %d\n", report->failed, report->outcome.errors,
               report->outcome.missing, report->grows);
        return 0;
    }
    if (argc < 3) {
        fprintf(stderr, "usage: sweep JOBS sample                              a point or two for each fault\n"
                        "       sweep JOBS N [KIND|any [SCENE|any [FAULT]]]    about N points of each series; 0: all\n"
                        "       sweep KIND SCENE FAULT LASTING SKIP ROUNDS     one point, in this process\n");
        return 2;
    }
    is_sample = strcmp(argv[2], "sample") == 0;
    at_most = is_sample ? IN_SAMPLE : atoi(argv[2]);
    const char *kind = argc > 3 && strcmp(argv[3], "any") != 0 ? argv[3] : NULL;
    const char *scene = argc > 4 && strcmp(argv[4], "any") != 0 ? argv[4] : NULL;
    int series = plan(kind, scene, argc > 5 ? atoi(argv[5]) : -1);
    sweep(series, atoi(argv[1]));
    return print(began, series);
}
