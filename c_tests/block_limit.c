/* A run has 512 threads beside those of its workers, or as many as SCHED_BLOCKING says, no more: the next section is
 * refused with EAGAIN, and nothing has changed; when others have ended their sections, there are threads again. No
 * thread to be had at all: the same.
 * ctest: timeout=60
 * ctest: timeout=60 env=SCHED_BLOCKING=7
 * ctest: timeout=60 env=SCHED_BLOCKING=1 env=SCHED_KIND=lifo
 * ctest: timeout=60 env=SCHED_BLOCKING=600
 * ctest: matrix deque=mutex,split idle=park kind=lifo,fifo,steal threads=1,2,4 env=SCHED_STACK=64K */
#include "block.h"
#include "child.h"
#include "seccomp.h"

static int most = 512;

static atomic_int within, refused, ended, again;
static atomic_int full;

static void holds(void *closure, struct scheduler *s)
{
    set_errno(0);
    if (sched_block_begin(s) == 0) {
        atomic_fetch_add(&within, 1);
        while (!full) /* seldom: hundreds look, while others are to begin */
            pause_us(20000);
        atomic_fetch_sub(&within, 1);
        end(s);
    } else {
        CHECK_EQ(get_errno(), EAGAIN);
        CHECK(sched_worker_index(s) >= 0);
        CHECK_ERRNO(sched_block_end(s), EPERM);
        /* The others have begun, and are about to say so. */
        struct patience p = patience_of(20);
        while (!full && within < most && is_patient(&p))
            pause_us(1000);
        CHECK(full || within == most);
        atomic_fetch_add(&refused, 1);
        full = 1;
    }
    while (sched_block_begin(s) != 0)
        pause_us(1000);
    pause_us(100);
    end(s);
    atomic_fetch_add(&again, 1);
    atomic_fetch_add(&ended, 1);
}

static void root(void *closure, struct scheduler *s)
{
    spawn_all(most + 40, holds, s);
}

static void denied(void *closure, struct scheduler *s)
{
    CHECK_ERRNO(sched_block_begin(s), EAGAIN);
    CHECK_ERRNO(sched_block_begin(s), EAGAIN);
    CHECK_ERRNO(sched_block_end(s), EPERM);
    CHECK(sched_worker_index(s) >= 0);
    sched_task_yield(s);
    atomic_fetch_add(&ended, 1);
}

static void denied_root(void *closure, struct scheduler *s)
{
    spawn_all(20, denied, s);
}

static void without_threads(void *arg)
{
    no_threads();
    run(4, denied_root);
    CHECK_EQ(ended, 20);
}

int main(void)
{
    const char *limit = getenv("SCHED_BLOCKING");
    if (limit)
        most = atoi(limit);
    in_child(without_threads, NULL);
    CHECK_CHILD_PASSED();
    for (int i = 1; i <= 2; i++) {
        full = 0;
        run(2, root);
        CHECK_EQ(ended, i * (most + 40));
        CHECK_EQ(again, i * (most + 40));
        CHECK(refused >= i);
    }
    return 0;
}
