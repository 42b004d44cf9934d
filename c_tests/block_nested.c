/* Sections within sections, and what is none: an end without a begin, callers that are no tasks of the run,
 * tasks of a run that a task in a section has started, and what the two refuse. Both keep errno, also
 * where the task goes on in another thread.
 * ctest: static debug
 * ctest: matrix deque=mutex,split,ring threads=1,2,4
 * ctest: matrix deque=mutex,split idle=park threads=1,4 join=help */
#include "block.h"

static struct scheduler *_Atomic ended;
static atomic_int done;

APART void check_errno(int error)
{
    CHECK_EQ(get_errno(), error);
}

APART int is_worker(struct scheduler *s)
{
    return sched_worker_index(s) >= 0;
}

static void errors(struct scheduler *s)
{
    CHECK_ERRNO(sched_block_end(s), EPERM);
    CHECK_ERRNO(sched_block_end(NULL), EPERM);
    begin(s);
    end(s);
    CHECK_ERRNO(sched_block_end(s), EPERM);
}

static void nests(struct scheduler *s)
{
    for (int depth = 1; depth <= 20; depth++) {
        for (int i = 0; i < depth; i++) {
            set_errno(1000 + i);
            begin(s);
            check_errno(1000 + i);
            CHECK_EQ(is_worker(s), kind_is("serial"));
        }
        for (int i = 0; i < depth; i++) {
            CHECK_EQ(is_worker(s), kind_is("serial"));
            set_errno(2000 + i);
            end(s);
            check_errno(2000 + i);
        }
        CHECK(is_worker(s));
    }
}

/* A thread that is none of the run's. */
static void *foreign(void *s)
{
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(sched_block_end(s), 0);
        CHECK_EQ(sched_block_begin(s), 0);
    }
    return NULL;
}

/* The test allocates the stack of the thread. With a stack of the C library's, the thread might get the id of a thread
 * that another task is joining, and valgrind's DRD would mistake it for that one. */
APART void with_foreigner(struct scheduler *s)
{
    enum { STACK = 1 << 20 };
    pthread_attr_t attributes;
    pthread_t thread;
    void *stack;
    CHECK_EQ(posix_memalign(&stack, 1 << 16, STACK), 0);
    CHECK_EQ(pthread_attr_init(&attributes), 0);
    CHECK_EQ(pthread_attr_setstack(&attributes, stack, STACK), 0);
    CHECK_EQ(pthread_create(&thread, &attributes, foreign, s), 0);
    CHECK_EQ(pthread_attr_destroy(&attributes), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    free(stack);
}

/* In a run within that of outer, s being a worker of its own. */
static void inner(void *outer, struct scheduler *s)
{
    CHECK_EQ(sched_block_end(outer), 0);
    CHECK_EQ(sched_block_begin(outer), 0);
    CHECK_EQ(sched_block_begin(outer), 0);
    errors(s);
    begin(s);
    CHECK_EQ(sched_block_begin(outer), 0);
    CHECK_EQ(sched_block_end(outer), 0);
    CHECK_EQ(sched_block_end(outer), 0);
    end(s);
    nests(s);
    CHECK_ERRNO(sched_block_end(s), EPERM);
    atomic_fetch_add(&done, 1);
}

APART void start_inner(struct scheduler *s)
{
    CHECK_EQ(sched_init(2, 4, inner, s), 0);
}

static void task(void *closure, struct scheduler *s)
{
    ended = s;
    errors(s);
    nests(s);
    with_foreigner(s);
    start_inner(s);
    CHECK_ERRNO(sched_block_end(s), EPERM); /* what the inner run has done was nothing */
    begin(s);
    with_foreigner(s);
    start_inner(s);
    begin(s);
    start_inner(s);
    end(s);
    end(s);
    errors(s);
    atomic_fetch_add(&done, 1);
}

static void root(void *closure, struct scheduler *s)
{
    spawn_all(4, task, s);
}

int main(void)
{
    for (int i = 1; i <= 3; i++) {
        run(2, root);
        CHECK_EQ(done, i * 16);
    }
    CHECK_ERRNO(sched_block_begin(ended), EINVAL);
    CHECK_ERRNO(sched_block_end(ended), EINVAL);
    return 0;
}
