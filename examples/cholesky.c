/* Nodes: a blocked Cholesky factorisation. Each step begins when the blocks that it reads are ready, and no step waits. */
#include <math.h>
#include <sched_tasks.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 8, B = 40, N = BLOCKS * B };

static double a[N][N], given[N][N];

struct step {
    sched_node node;
    int i, j, k; /* block (i, j), after the columns of blocks before k */
};

static struct step steps[BLOCKS][BLOCKS][BLOCKS];

/* Subtracts from block (i, j) what column k of blocks adds; or, if k is the last one, divides by the block of the diagonal. */
static void step(void *closure, struct scheduler *s)
{
    struct step *st = closure;
    int r0 = st->i * B, c0 = st->j * B, k0 = st->k * B;
    (void)s;
    if (st->k < st->j) {
        for (int r = r0; r < r0 + B; r++)
            for (int c = c0; c < c0 + B; c++)
                for (int k = k0; k < k0 + B; k++)
                    a[r][c] -= a[r][k] * a[c][k];
        return;
    }
    for (int c = c0; c < c0 + B; c++)
        for (int r = r0 > c ? r0 : c; r < r0 + B; r++) {
            for (int k = c0; k < c; k++)
                a[r][c] -= a[r][k] * a[c][k];
            a[r][c] = r == c ? sqrt(a[r][c]) : a[r][c] / a[c][c];
        }
}

static void after(struct step *st, int i, int j, int k)
{
    if (&steps[i][j][k] != st)
        sched_after(&st->node, &steps[i][j][k].node);
}

static void factor(void *closure, struct scheduler *s)
{
    (void)closure;
    for (int j = 0; j < BLOCKS; j++)
        for (int i = j; i < BLOCKS; i++)
            for (int k = 0; k <= j; k++) {
                struct step *st = &steps[i][j][k];
                *st = (struct step){.i = i, .j = j, .k = k};
                sched_node_init(&st->node, step, st);
                if (k > 0)
                    after(st, i, j, k - 1); /* the same block */
                if (k < j)
                    after(st, i, k, k), after(st, j, k, k); /* what it multiplies */
                else
                    after(st, j, j, j); /* the block of the diagonal */
                if (sched_node_ready(&st->node, s) != 0) /* it may begin now; others are made meanwhile */
                    perror("sched_node_ready"), exit(1);
            }
}

int main(void)
{
    double worst = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++)
            a[i][j] = given[i][j] = i == j ? N : 1.0 / (1 + i - j);
    if (sched_init(0, 0, factor, NULL) < 0)
        return 1;
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int k = 0; k <= j; k++)
                sum += a[i][k] * a[j][k];
            worst = fmax(worst, fabs(sum - given[i][j]));
        }
    printf("Hello from %d steps: the product of the factors differs by %.0e at most\n",
           BLOCKS * (BLOCKS + 1) * (BLOCKS + 2) / 6, worst);
    return worst > 1e-9;
}
