/* Graphs: a small make. A node for each target runs its commands when its prerequisites are made, at most N at a time.
 * usage: make [-j N] [MAKEFILE]. It makes the first target; without a file it makes an example. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <sched_tasks.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char example[] = "hello: begin middle.left middle.right\n"
                              "\techo Hello from a make\n"
                              "middle.left: begin\n"
                              "\tsleep 0.1; echo left\n"
                              "middle.right: begin\n"
                              "\tsleep 0.1; echo right\n"
                              "begin:\n"
                              "\techo begin\n";

struct target {
    sched_node node;
    struct target *next;
    const char *name, *commands; /* strings one after the other that begin with a tab; NULL: there is no rule */
    struct target **needs;
    size_t count;
    int is_added;
};

extern char **environ;
static struct target *first;
static sched_graph graph = SCHED_GRAPH_INIT;
static sched_sem jobs;
static atomic_int has_failed;
static posix_spawnattr_t attributes;

static void *checked(void *memory)
{
    if (memory == NULL)
        perror("make"), exit(2);
    return memory;
}

/* True if the target has no file, or a prerequisite has none, or has a younger one. */
static int is_old(const struct target *target)
{
    struct stat own, other;
    if (stat(target->name, &own) < 0)
        return 1;
    for (size_t i = 0; i < target->count; i++)
        if (stat(target->needs[i]->name, &other) < 0 || other.st_mtim.tv_sec > own.st_mtim.tv_sec
            || (other.st_mtim.tv_sec == own.st_mtim.tv_sec && other.st_mtim.tv_nsec > own.st_mtim.tv_nsec))
            return 1;
    return 0;
}

/* Executes a command in a blocking section: other tasks run meanwhile. Returns what waitpid(2) says, or -1. */
static int execute(const char *command, struct scheduler *s)
{
    char *const arguments[] = {"sh", "-c", (char *)command, NULL};
    int status = -1, is_blocking = sched_block_begin(s) == 0;
    pid_t child;
    printf("%s\n", command);
    fflush(stdout);
    if (posix_spawn(&child, "/bin/sh", NULL, &attributes, arguments, environ) == 0)
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (is_blocking)
        sched_block_end(s);
    return status;
}

/* Nodes that have not begun are left out; the others look at has_failed before each command. */
static void fail(const struct target *target, const char *why)
{
    fprintf(stderr, "make: %s: %s\n", target->name, why);
    has_failed = 1;
    sched_graph_cancel(&graph);
}

static void make(void *closure, struct scheduler *s)
{
    const struct target *target = closure;
    if (!is_old(target))
        return;
    if (target->commands == NULL)
        fail(target, "there is no rule for it");
    else
        for (const char *command = target->commands; *command == '\t'; command += strlen(command) + 1) {
            sched_sem_wait(&jobs, s);
            if (!has_failed && execute(command + 1, s) != 0)
                fail(target, "a command has failed");
            sched_sem_post(&jobs);
        }
}

/* The target of this name. It is made if it does not exist. */
static struct target *find(const char *name)
{
    struct target **at = &first;
    while (*at != NULL && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    if (*at == NULL) {
        *at = checked(calloc(1, sizeof **at));
        (*at)->name = name;
        sched_node_init(&(*at)->node, make, *at);
    }
    return *at;
}

/* Reads rules. The names and commands stay in the text. Returns the number of a wrong line, or 0. */
static int parse(char *text)
{
    struct target *target = NULL;
    char *end, *place;
    for (int line = 1; (end = strchr(text, '\n')) != NULL; text = end + 1, line++) {
        *end = '\0';
        if (*text == '\t' && target != NULL)
            continue;
        target = NULL;
        if (*text == '#' || *text == '\0')
            continue;
        char *colon = strchr(text, ':');
        if (colon == NULL)
            return line;
        *colon = '\0';
        char *name = strtok_r(text, " ", &place);
        if (name == NULL || strtok_r(NULL, " ", &place) != NULL || (target = find(name))->commands != NULL)
            return line;
        target->commands = end + 1;
        for (char *need = strtok_r(colon + 1, " ", &place); need != NULL; need = strtok_r(NULL, " ", &place)) {
            target->needs = checked(realloc(target->needs, (target->count + 1) * sizeof *target->needs));
            target->needs[target->count++] = find(need);
        }
    }
    return 0;
}

/* Adds the target, and all that it needs, to the graph. */
static void add(struct target *target)
{
    if (target->is_added++)
        return;
    sched_graph_add(&graph, &target->node);
    for (size_t i = 0; i < target->count; i++) {
        add(target->needs[i]);
        if (target->needs[i] != target && sched_after(&target->node, &target->needs[i]->node) < 0)
            perror("make"), exit(2);
    }
}

static void run(void *result, struct scheduler *s)
{
    if (sched_graph_run(&graph, s) == 0)
        *(int *)result = 0;
    else if (errno == EDEADLK)
        fprintf(stderr, "make: targets need each other in a circle\n");
    else if (errno != ECANCELED)
        perror("make");
}

static char *contents(const char *path)
{
    struct stat status;
    FILE *file = fopen(path, "r");
    if (file == NULL || fstat(fileno(file), &status) < 0)
        perror(path), exit(2);
    char *text = checked(malloc((size_t)status.st_size + 2));
    size_t size = fread(text, 1, (size_t)status.st_size, file);
    memcpy(text + size, "\n", 2);
    fclose(file);
    return text;
}

int main(int argc, char **argv)
{
    int parallel = sched_default_threads(), option, line, result = 2;
    sigset_t none;
    while ((option = getopt(argc, argv, "j:")) != -1)
        parallel = option == 'j' ? atoi(optarg) : 0;
    if (parallel < 1 || optind < argc - 1) {
        fprintf(stderr, "usage: make [-j N] [MAKEFILE]\n");
        return 2;
    }
    sigemptyset(&none); /* workers block signals, and the commands must not inherit that */
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    sched_sem_init(&jobs, (size_t)parallel);

    char *text = optind < argc ? contents(argv[optind]) : checked(strdup(example));
    if ((line = parse(text)) != 0)
        fprintf(stderr, "make: line %d: not \"TARGET: PREREQUISITES\", or a second rule for a target\n", line);
    else if (first != NULL)
        add(first);
    if (line == 0 && sched_init(0, 0, run, &result) < 0)
        perror("make");
    sched_graph_destroy(&graph);
    return result;
}
