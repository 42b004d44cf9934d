/* parse.c: reads programs. A statement may only stand where the argument in program.h allows it. */
#include "program.h"

static const struct {
    const char *name;
    int numbers, least, most; /* blocks */
    int is_leaf, has_leaves;
} words[WORDS] = {
    [WORK] = {"work", 1, 0, 0, 1, 0},
    [YIELD] = {"yield", 1, 0, 0, 1, 0},
    [SLEEP] = {"sleep", 1, 0, 0, 1, 0},
    [ALARM] = {"alarm", 1, 0, 0, 1, 0},
    [LOCK] = {"lock", 1, 1, 1, 1, 1},
    [WITHIN] = {"within", 2, 1, 1, 1, 1},
    [BLOCK] = {"block", 1, 1, 1, 1, 1},
    [SPAWN] = {"spawn", 0, 1, 1, 0, 0},
    [COPY] = {"copy", 0, 1, 1, 0, 0},
    [FORK] = {"fork", 1, 1, MOST_BLOCKS, 0, 0},
    [GROUP] = {"group", 0, 1, MOST_BLOCKS, 0, 0},
    [CROWD] = {"crowd", 1, 1, MOST_BLOCKS, 0, 1},
    [MEANWHILE] = {"meanwhile", 0, 1, MOST_BLOCKS, 0, 0},
    [ORDER] = {"order", 2, 1, MOST_BLOCKS, 0, 0},
    [CANCEL] = {"cancel", 1, 1, MOST_BLOCKS, 0, 0},
    [FOR] = {"for", 2, 1, 1, 0, 0},
    [REDUCE] = {"reduce", 2, 0, 0, 0, 0},
    [SORT] = {"sort", 2, 0, 0, 0, 0},
    [SEM] = {"sem", 1, 1, MOST_BLOCKS, 0, 1},
    [BARRIER] = {"barrier", 1, 1, MOST_BLOCKS, 0, 1},
    [PIPE] = {"pipe", 4, 0, 0, 0, 0},
    [CHANNEL] = {"channel", 4, 0, 0, 0, 0},
    [STREAM] = {"stream", 4, 0, 0, 0, 0},
    [FOREIGN] = {"foreign", 3, 1, MOST_BLOCKS, 0, 0},
    [POOL] = {"pool", 1, 1, MOST_BLOCKS, 0, 0},
    [RUN] = {"run", 2, 1, 1, 0, 0},
    [UP] = {"up", 0, 1, 1, 0, 0},
    [REPEAT] = {"repeat", 1, 1, 1, 0, 0},
};

static const char *begin;

static void refuse(const char *at, const char *why)
{
    fprintf(stderr, "not a program: %s at byte %td: %.20s\n", why, at - begin, at);
    exit(2);
}

/* Passes over blanks and comments, which go from # to the end of the line. */
static const char *skip_blanks(const char *at)
{
    for (;;) {
        at += strspn(at, " \t\n");
        if (*at != '#')
            return at;
        at += strcspn(at, "\n");
    }
}

/* The place of a statement: whether it must be a leaf, and which mutexes the task may still
 * lock. */
struct place {
    int in_leaves;
    size_t first_mutex;
};

static struct block parse_block(const char **text, struct place place);

static struct statement *parse_statement(const char **text, struct place place)
{
    const char *at = *text;
    size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz");
    struct statement *new = calloc(1, sizeof *new);
    CHECK(new != NULL);
    while (strlen(words[new->word].name) != length || strncmp(words[new->word].name, at, length) != 0)
        if (++new->word == WORDS)
            refuse(at, "no such statement");
    if (place.in_leaves && !words[new->word].is_leaf)
        refuse(at, "no statement for this place");
    at += length;
    for (int i = 0; i < words[new->word].numbers; i++) {
        char *end;
        at = skip_blanks(at);
        new->n[i] = strtoul(at, &end, 10);
        if (end == at || new->n[i] > 1000000)
            refuse(at, "no number");
        at = end;
    }
    if (new->word == LOCK || new->word == WITHIN) {
        if (new->n[0] < place.first_mutex || new->n[0] >= MUTEXES)
            refuse(at, "no mutex that may be locked here");
        place.first_mutex = new->n[0] + 1;
    } else if (!words[new->word].is_leaf) {
        place.first_mutex = 0;
    }
    int is_pipe = new->word == PIPE || new->word == CHANNEL || new->word == STREAM;
    if (is_pipe && (new->n[0] + new->n[1] > 2 * MOST_BLOCKS || new->n[3] > MOST_ITEMS))
        refuse(at, "a pipe that is too large");
    if (new->word == FOREIGN && new->n[0] > MOST_BLOCKS)
        refuse(at, "too many threads");
    if (new->word == CROWD && new->n[0] > MOST_BLOCKS)
        refuse(at, "a crowd that is too large");
    if ((is_pipe || new->word == SEM || new->word == BARRIER) && new->n[0] == 0)
        refuse(at, "a number that is 0");
    place.in_leaves = words[new->word].has_leaves;
    while (*(at = skip_blanks(at)) == '{') {
        if (new->blocks == words[new->word].most)
            refuse(at, "too many blocks");
        new->block[new->blocks++] = parse_block(&at, place);
    }
    if (new->blocks < words[new->word].least)
        refuse(at, "no block");
    *text = at;
    return new;
}

static struct block parse_block(const char **text, struct place place)
{
    struct block block = {NULL};
    struct statement **last = &block.first;
    if (**text != '{')
        refuse(*text, "no block");
    ++*text;
    for (*text = skip_blanks(*text); **text != '}'; *text = skip_blanks(*text)) {
        *last = parse_statement(text, place);
        last = &(*last)->next;
    }
    ++*text;
    return block;
}

struct block *parse(const char **text)
{
    begin = *text = skip_blanks(*text);
    if (**text == 0)
        return NULL;
    struct block *program = malloc(sizeof *program);
    CHECK(program != NULL);
    *program = parse_block(text, (struct place){0, 0});
    return program;
}

static void free_block(struct block block)
{
    while (block.first) {
        struct statement *now = block.first;
        block.first = now->next;
        for (int i = 0; i < now->blocks; i++)
            free_block(now->block[i]);
        free(now);
    }
}

void free_program(struct block *program)
{
    free_block(*program);
    free(program);
}
