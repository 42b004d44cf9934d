/* main.c: runs the programs of files, and prints for each how many tasks it had. A program whose
 * results differ from predict.c's ends the process with status 1; the program that was running
 * follows the last one that was printed. Usage: fuzz [-r REPEAT] [-t THREADS] FILE...   SCHED_*
 * variables are the settings. */
#include "program.h"

static char *text_of(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t length = 0;
    if (!file || (getdelim(&text, &length, 0, file) < 0 && ferror(file))) {
        perror(path);
        exit(2);
    }
    fclose(file);
    return text;
}

static size_t run_program(const struct block *program, int threads)
{
    struct totals wanted = {0, 0}, got = {0, 0};
    struct context run;
    uint64_t value = predict(program, 1, &wanted);
    struct task root = {.block = program, .path = 1, .run = &run, .totals = &got};
    begin_context(&run, NULL, NULL);
    CHECK_EQ(sched_init(threads, 16, run_awaited, &root), 0);
    CHECK_EQ(got.tasks, wanted.tasks + 1);
    CHECK_EQ(got.sum, wanted.sum);
    CHECK_EQ(value_of_ended(&root), value);
    check_context(&run);
    return got.tasks;
}

/* Without SA_RESTART, so that it interrupts system calls. */
static void do_nothing(int signal)
{
    (void)signal;
}

int main(int argc, char **argv)
{
    CHECK_EQ(sigaction(SIGALRM, &(struct sigaction){.sa_handler = do_nothing}, NULL), 0);
    execute_statement = do_statement;
    int repeat = 1, threads = 4, count = 0;
    for (int option; (option = getopt(argc, argv, "r:t:")) != -1;)
        if (option == 'r')
            repeat = atoi(optarg);
        else if (option == 't')
            threads = atoi(optarg);
        else
            return 2;
    for (int i = optind; i < argc; i++) {
        char *text = text_of(argv[i]);
        struct block *program;
        for (const char *left = text; (program = parse(&left)) != NULL; free_program(program)) {
            size_t tasks = 0;
            for (int j = 0; j < repeat; j++)
                tasks += run_program(program, threads);
            printf("program %d: %zu tasks\n", count++, tasks);
            fflush(stdout);
        }
        free(text);
    }
    return 0;
}
