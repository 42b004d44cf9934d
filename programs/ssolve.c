/* ssolve: solves sudokus of 9x9, 16x16 and 25x25 cells, one on each line: many at once, a hard one on all processors.
 *
 * It teaches groups and their cancellation. A sched_for shares the puzzles among the workers. Most of them need a
 * search of a few steps. A search that takes longer begins again with a group: where a cell has several candidates, a
 * task tries one of them while its creator tries the next, as long as there is room for tasks. Whoever finds a solution
 * cancels the group: tasks that have not begun are not run, and those that run notice it at their next step.
 *
 * A task gets a board of its own in one of a fixed number of slots. When no slot is free, a task searches by itself. So
 * memory is bounded whatever the order is in which tasks run, and nothing is lost of tasks that are not run. */
#define _GNU_SOURCE
#include "program.h"

#include <ctype.h>

enum {
    MAX_SIDE = 25,
    MAX_CELLS = MAX_SIDE * MAX_SIDE,
    EASY = 500,   /* steps of a search without tasks */
    SLOTS = 64,   /* tasks of a search that have not begun, at most */
    BATCH = 2048, /* puzzles that are in memory at once */
};

struct shape {
    int side, cells;
    uint32_t all;                          /* all candidates of a cell */
    uint16_t unit[3 * MAX_SIDE][MAX_SIDE]; /* the cells of each row, column and box */
};

/* What each cell may still be: bit i stands for symbol i. */
struct board {
    uint32_t cell[MAX_CELLS];
};

struct slot {
    atomic_int taken;
    struct search *search;
    struct board board;
};

struct search {
    const struct shape *shape;
    sched_group group;
    struct slot *slot;      /* NULL: a search without tasks, which ends after EASY steps */
    int steps;              /* ... so many of them were taken */
    long long limit;        /* the search ends when it has found so many solutions */
    atomic_llong found;
    struct board *solution; /* the first that was found */
};

struct puzzle {
    char *text; /* the puzzle, then its solution */
    const struct shape *shape;
    long long solutions;
};

static const char symbols[] = "123456789ABCDEFGHIJKLMNOP";
static struct shape shapes[3];
static long long count_limit; /* 0: solutions are printed */
static int any;               /* any solution will do */
static char **files;
static int status = STATUS_OK;
static struct progress progress;

static void make_shapes(void)
{
    for (int box = 3; box <= 5; box++) {
        struct shape *shape = &shapes[box - 3];
        int side = shape->side = box * box;
        shape->cells = side * side;
        shape->all = (1U << side) - 1;
        for (int i = 0; i < side; i++)
            for (int k = 0; k < side; k++) {
                shape->unit[i][k] = (uint16_t)(side * i + k);
                shape->unit[side + i][k] = (uint16_t)(side * k + i);
                shape->unit[2 * side + i][k] = (uint16_t)(side * (i / box * box + k / box) + i % box * box + k % box);
            }
    }
}

/* --- logic: what follows without a guess -------------------------------------------------------------------------- */

/* Removes candidates from the cells of a unit. A symbol whose cell is known is no candidate of the others (naked
 * singles), and where only one cell is left for a symbol, it is there (hidden singles). Returns 1 if anything has
 * changed, 0 if not, -1 if the board contradicts itself. */
static int restrict_unit(const struct shape *shape, struct board *b, const uint16_t *unit)
{
    uint32_t known = 0, once = 0, twice = 0;
    for (int i = 0; i < shape->side; i++) {
        uint32_t cell = b->cell[unit[i]];
        twice |= once & cell;
        once |= cell;
        if ((cell & (cell - 1)) == 0) {
            if ((known & cell) != 0 || cell == 0)
                return -1;
            known |= cell;
        }
    }
    if (once != shape->all)
        return -1;
    if (known == shape->all)
        return 0;
    int changed = 0;
    for (int i = 0; i < shape->side; i++) {
        uint32_t cell = b->cell[unit[i]], left = cell;
        if ((cell & (cell - 1)) == 0)
            continue;
        left &= ~known;
        if ((left & ~twice) != 0)
            left &= ~twice;
        changed |= left != cell;
        b->cell[unit[i]] = left;
    }
    return changed;
}

/* Does so until nothing changes. Returns 0 if there is no solution. */
static int restrict_board(const struct shape *shape, struct board *b)
{
    /* A round ends at the unit that was the last to change. */
    for (int u = 0, unchanged = 0; unchanged < 3 * shape->side; u = u + 1 < 3 * shape->side ? u + 1 : 0) {
        int changed = restrict_unit(shape, b, shape->unit[u]);
        if (changed < 0)
            return 0;
        unchanged = changed ? 0 : unchanged + 1;
    }
    return 1;
}

/* --- search: guesses ---------------------------------------------------------------------------------------------- */

static void copy_board(const struct shape *shape, struct board *to, const struct board *from)
{
    memcpy(to, from, (size_t)shape->cells * sizeof *to->cell);
}

/* The cell with the fewest candidates of those that have several, or -1. */
static int open_cell(const struct shape *shape, const struct board *b)
{
    int best = -1, fewest = INT_MAX;
    for (int i = 0; i < shape->cells && fewest > 2; i++) {
        int candidates = __builtin_popcount(b->cell[i]);
        if (candidates > 1 && candidates < fewest) {
            best = i;
            fewest = candidates;
        }
    }
    return best;
}

static struct slot *free_slot(struct search *search)
{
    for (struct slot *slot = search->slot; slot != NULL && slot < search->slot + SLOTS; slot++)
        if (atomic_load_explicit(&slot->taken, memory_order_relaxed) == 0 &&
            atomic_exchange_explicit(&slot->taken, 1, memory_order_acquire) == 0)
            return slot;
    return NULL;
}

static void explore_slot(void *closure, struct scheduler *s);

static void explore(struct search *search, struct board *b, struct scheduler *s)
{
    const struct shape *shape = search->shape;
    if (sched_group_cancelled(&search->group) || !restrict_board(shape, b))
        return;
    int i = open_cell(shape, b);
    if (i < 0) {
        long long found = atomic_fetch_add(&search->found, 1) + 1;
        if (found == 1)
            copy_board(shape, search->solution, b);
        if (found >= search->limit)
            sched_group_cancel(&search->group);
        return;
    }
    if (search->slot == NULL && ++search->steps > EASY) {
        sched_group_cancel(&search->group);
        return;
    }
    for (uint32_t rest = b->cell[i]; rest != 0; rest &= rest - 1) {
        uint32_t guess = rest & -rest;
        struct slot *slot = rest != guess ? free_slot(search) : NULL;
        if (slot != NULL) {
            slot->search = search;
            copy_board(shape, &slot->board, b);
            slot->board.cell[i] = guess;
            if (sched_group_spawn(&search->group, explore_slot, slot, s) != 0)
                explore_slot(slot, s);
        } else {
            struct board mine;
            copy_board(shape, &mine, b);
            mine.cell[i] = guess;
            explore(search, &mine, s);
        }
    }
}

static void explore_slot(void *closure, struct scheduler *s)
{
    struct slot *slot = closure;
    struct search *search = slot->search;
    struct board mine;
    copy_board(search->shape, &mine, &slot->board);
    atomic_store_explicit(&slot->taken, 0, memory_order_release); /* pairs with the exchange in free_slot */
    explore(search, &mine, s);
}

/* The number of solutions, but not more than `limit`; one of them is stored. */
static long long solutions_of(const struct shape *shape, const struct board *b, struct board *solution, long long limit,
                              struct scheduler *s)
{
    for (int hard = 0;; hard = 1) {
        struct search search = {.shape = shape, .group = SCHED_GROUP_INIT, .limit = limit, .solution = solution};
        struct board mine;
        search.slot = hard ? allocate(SLOTS, sizeof *search.slot) : NULL;
        copy_board(shape, &mine, b);
        explore(&search, &mine, s);
        sched_group_wait(&search.group, s);
        free(search.slot);
        long long found = atomic_load(&search.found);
        if (hard || search.steps <= EASY)
            return found < limit ? found : limit;
    }
}

/* Makes of any solution the first one, if all of them are sorted by their text: each cell gets the least symbol that
 * allows a solution with the cells before it. For the puzzle's only solution this proves that it is the only one. */
static void make_first(const struct shape *shape, struct board *b, struct board *solution, struct scheduler *s)
{
    restrict_board(shape, b);
    for (int i = 0; i < shape->cells; i++) {
        if ((b->cell[i] & (b->cell[i] - 1)) == 0)
            continue;
        for (uint32_t less = b->cell[i] & (solution->cell[i] - 1); less != 0; less &= less - 1) {
            struct board guess;
            copy_board(shape, &guess, b);
            guess.cell[i] = less & -less;
            if (solutions_of(shape, &guess, solution, 1, s) != 0)
                break;
        }
        b->cell[i] = solution->cell[i];
        restrict_board(shape, b);
    }
}

static void solve_puzzles(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (struct puzzle *p = (struct puzzle *)ctx + lo; p < (struct puzzle *)ctx + hi; p++) {
        struct board b, solution;
        for (int i = 0; i < p->shape->cells; i++) {
            const char *symbol = strchr(symbols, toupper((unsigned char)p->text[i]));
            b.cell[i] = symbol != NULL ? 1U << (symbol - symbols) : p->shape->all;
        }
        p->solutions = solutions_of(p->shape, &b, &solution, count_limit > 0 ? count_limit : 1, s);
        if (p->solutions != 0 && count_limit == 0) {
            if (!any)
                make_first(p->shape, &b, &solution, s);
            for (int i = 0; i < p->shape->cells; i++)
                p->text[i] = symbols[__builtin_ctz(solution.cell[i])];
        }
        progress_add(&progress, 1);
    }
}

/* --- lines -------------------------------------------------------------------------------------------------------- */

/* The puzzles so far are solved, printed and forgotten. */
static void solve_batch(struct puzzle *puzzle, size_t *n, struct scheduler *s)
{
    if (sched_for(0, *n, 1, solve_puzzles, puzzle, s) != 0)
        fatal(errno, "sched_for");
    for (struct puzzle *p = puzzle; p < puzzle + *n; p++) {
        if (count_limit > 0)
            printf("%lld\n", p->solutions);
        else
            puts(p->solutions != 0 ? p->text : "no solution");
        if (p->solutions == 0 && status == STATUS_OK)
            status = STATUS_NO;
        free(p->text);
    }
    *n = 0;
    fflush(stdout);
}

/* The shape of the puzzle, or NULL after a message. */
static const struct shape *shape_of(const char *text, size_t length, const char *name, size_t line)
{
    const struct shape *shape = NULL;
    for (int i = 0; i < 3; i++)
        if ((size_t)shapes[i].cells == length)
            shape = &shapes[i];
    if (shape == NULL) {
        complain(0, "%s:%zu: a puzzle has 81, 256 or 625 characters, not %zu", name, line, length);
        return NULL;
    }
    for (size_t i = 0; i < length; i++) {
        int c = toupper((unsigned char)text[i]);
        const char *symbol = c != '\0' ? strchr(symbols, c) : NULL;
        if ((symbol == NULL || symbol >= symbols + shape->side) && (c == '\0' || strchr(".0_", c) == NULL)) {
            complain(0, isprint(c) ? "%s:%zu: column %zu: '%c' is no symbol of this puzzle"
                                   : "%s:%zu: column %zu: byte %d is no symbol of this puzzle",
                     name, line, i + 1, (unsigned char)text[i]);
            return NULL;
        }
    }
    return shape;
}

/* The length of the next line, or -1; opens the file first. */
OWN_ERRNO static ssize_t read_line(FILE **file, const char *name, char **text, size_t *room)
{
    if (*file == NULL)
        *file = strcmp(name, "-") == 0 ? stdin : fopen(name, "r");
    ssize_t length = *file != NULL ? getline(text, room, *file) : -1;
    if (length < 0 && (*file == NULL || ferror(*file))) {
        complain(errno, "%s", name);
        status = STATUS_TROUBLE;
    }
    return length;
}

static void solve_files(void *closure, struct scheduler *s)
{
    struct puzzle *puzzle = allocate(BATCH, sizeof *puzzle);
    size_t n = 0, room = 0;
    char *text = NULL;
    (void)closure;
    progress_begin(&progress, "puzzles", 0);
    for (char **name = files; *name != NULL; name++) {
        FILE *file = NULL;
        ssize_t length;
        for (size_t line = 1; (length = read_line(&file, *name, &text, &room)) >= 0; line++) {
            while (length > 0 && isspace((unsigned char)text[length - 1]))
                text[--length] = '\0';
            if (length == 0 || *text == '#')
                continue;
            const struct shape *shape = shape_of(text, (size_t)length, *name, line);
            if (shape == NULL) {
                status = STATUS_TROUBLE;
                continue;
            }
            puzzle[n++] = (struct puzzle){.text = memcpy(allocate((size_t)length + 1, 1), text, (size_t)length),
                                          .shape = shape};
            if (n == BATCH)
                solve_batch(puzzle, &n, s);
        }
        if (file != NULL && file != stdin)
            fclose(file);
    }
    solve_batch(puzzle, &n, s);
    progress_end(&progress);
    free(puzzle);
    free(text);
}

static const char usage[] =
    "usage: ssolve [OPTION]... [FILE]...\n"
    "Solves the sudokus in the files, or on standard input (also \"-\"): one on each line, of 81, 256 or 625\n"
    "characters: 1 to 9, A to P, and a dot, 0 or _ for an empty cell. Prints a solution on a line for each.\n"
    "  -a, --any           of several solutions any one, not the first in the order of their text\n"
    "  -c, --count LIMIT   print how many solutions there are, up to LIMIT\n"
    "  -j, --threads N     0: the library's default (SCHED_THREADS, or all processors)\n"
    "      --help          print this\n"
    "      --version       print the version\n"
    "Exit status: 0 if each puzzle has a solution, 1 if one has none, 2 in trouble.\n";

int main(int argc, char **argv)
{
    enum { HELP = 256, VERSION };
    static const struct option options[] = {
        {"any", no_argument, NULL, 'a'},   {"count", required_argument, NULL, 'c'},
        {"help", no_argument, NULL, HELP}, {"threads", required_argument, NULL, 'j'},
        {"version", no_argument, NULL, VERSION}, {NULL, 0, NULL, 0},
    };
    int threads = 0;
    program_name = "ssolve";
    for (int option; (option = getopt_long(argc, argv, "ac:j:", options, NULL)) != -1;)
        switch (option) {
        case 'a': any = 1; break;
        case 'c': count_limit = number_of(optarg, "-c", 1, LLONG_MAX / 2); break;
        case 'j': threads = (int)number_of(optarg, "-j", 0, 4096); break;
        case HELP: return say(usage);
        case VERSION: return say_version();
        default: return STATUS_TROUBLE;
        }
    char *standard_input[] = {(char[]){"-"}, NULL};
    files = optind < argc ? argv + optind : standard_input;
    make_shapes();
    if (sched_init(threads, 0, solve_files, NULL) != 0)
        fatal(errno, "the run cannot begin");
    return output_written() ? status : STATUS_TROUBLE;
}
