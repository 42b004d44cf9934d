/* predict.c: the value of a program, without the library: each statement in its turn, in one thread. */
#include "order.h"

/* A part that is a task. */
static uint64_t predict_task(const struct block *block, uint64_t path, struct totals *totals)
{
    totals->tasks++;
    return predict(block, path, totals);
}

static void predict_alone(const struct block *block, uint64_t path, struct totals *totals)
{
    uint64_t value = predict_task(block, path, totals);
    totals->sum += value;
}

static uint64_t predict_loop(const struct statement *now, size_t n, uint64_t path, struct totals *totals)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++)
        value += predict(block_of(now, i), part(path, i), totals);
    return value;
}

static uint64_t predict_reduction(size_t n, uint64_t path)
{
    struct map map = {1, 0};
    for (size_t i = 0; i < n; i++)
        map = after(map_of(path, i), map);
    return value_of_map(map);
}

/* A thread of the statement `foreign`. */
static uint64_t predict_foreign(const struct statement *now, uint64_t path, struct totals *totals)
{
    uint64_t value = path;
    switch (now->n[1] % HOWS) {
    case SPAWNED:
        for (int i = 0; i < now->blocks; i++)
            predict_alone(&now->block[i], part(path, i), totals);
        return value;
    case SORTED:
        value += predict_reduction(FOREIGN_TERMS, path);
        /* fall through */
    case LOOPED:
        return value + predict_loop(now, foreign_loop(now).n, path, totals);
    default:
        for (int i = 0; i < now->blocks; i++)
            value += predict_task(&now->block[i], part(path, i), totals);
        return value;
    }
}

/* The tasks in the order of their places. */
static uint64_t predict_nodes(const struct statement *now, uint64_t path, struct totals *totals)
{
    struct shape shape = shape_of(now);
    uint64_t value = path, left[MOST_BLOCKS];
    for (size_t run = 0; run < shape.runs; run++)
        for (int i = 0; i < now->blocks; i++) {
            int block = shape.block[i];
            uint64_t own = predict_task(&now->block[block], part(part(path, (size_t)block), run), totals);
            left[i] = left_at(own, before_in_run(&shape, i, run), left);
            value += left[i];
        }
    return value;
}

/* The tasks in the order of the calls that add them. */
static uint64_t predict_users(const struct statement *now, uint64_t path, struct totals *totals)
{
    uint64_t value = path, cell[CELLS] = {0};
    for (int i = 0; i < now->blocks; i++) {
        struct use use[MOST_USES];
        int uses = uses_of(now, i, use);
        uint64_t own = predict_task(&now->block[i], part(path, (size_t)i), totals);
        write_cells(cells_read(use, uses, cell) + own, use, uses, cell);
        value += own;
    }
    for (int i = 0; i < CELLS; i++)
        value = mix(value + cell[i]);
    return value;
}

static uint64_t predict_statement(const struct statement *now, uint64_t path, struct totals *totals)
{
    uint64_t value = path;
    switch (now->word) {
    case WORK:
        return compute(path, now->n[0]);
    case YIELD:
    case SLEEP:
    case ALARM:
        return path;
    case LOCK:
    case WITHIN:
    case BLOCK:
        return predict(&now->block[0], path, totals);
    case SPAWN:
    case COPY:
    case UP:
        predict_alone(&now->block[0], path, totals);
        return path;
    case FOREIGN:
        for (size_t i = 0; i < now->n[0]; i++)
            value += predict_foreign(now, part(path, i), totals);
        return value;
    case GROUP:
    case MEANWHILE:
    case SEM:
    case POOL:
        for (int i = 0; i < now->blocks; i++)
            value += predict_task(&now->block[i], part(path, i), totals);
        return value;
    case FORK:
        value += predict(&now->block[0], part(path, 0), totals);
        for (int i = 1; i < now->blocks; i++)
            value += predict_task(&now->block[i], part(path, i), totals);
        return value;
    case CROWD: {
        uint64_t sum = 0;
        for (int i = 0; i < now->blocks; i++)
            sum += predict_task(&now->block[i], part(path, i), totals);
        totals->tasks += now->n[0];
        return path + sum * (now->n[0] + 1);
    }
    case ORDER:
        return by_what(now) == BY_ADDRESSES ? predict_users(now, path, totals) : predict_nodes(now, path, totals);
    case CANCEL: /* which of its tasks run is open */
        return path;
    case FOR:
        return path + predict_loop(now, now->n[0], path, totals);
    case REDUCE:
        return predict_reduction(now->n[0], path);
    case SORT: /* compares with the sorted numbers */
        return path;
    case BARRIER:
        for (int i = 0; i < now->blocks; i++) {
            totals->tasks++;
            for (size_t round = 0; round < now->n[0]; round++)
                value += predict(&now->block[i], part(part(path, i), round), totals);
        }
        return value;
    case PIPE:
    case CHANNEL:
    case STREAM:
        totals->tasks += now->n[0] + now->n[1];
        return value_of_items(path, now->n[3]);
    case RUN:
        return predict_task(&now->block[0], path, totals);
    case REPEAT:
        for (size_t i = 0; i < now->n[0]; i++)
            value = mix(value + predict(&now->block[0], part(path, i), totals));
        return value;
    case WORDS:
        break;
    }
    abort();
}

uint64_t predict(const struct block *block, uint64_t path, struct totals *totals)
{
    uint64_t value = 0;
    size_t i = 0;
    for (const struct statement *now = block->first; now; now = now->next)
        value = mix(value + predict_statement(now, part(path, i++), totals));
    return value;
}
