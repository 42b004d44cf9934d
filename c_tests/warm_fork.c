/* A child made by fork beside resting threads has none of them; its runs make their own, and it
 * ends by exit like any process. The parent's go on resting.
 * ctest: static
 * ctest: matrix idle=park deque=mutex,split threads=1,4 */
#include "child.h"
#include "warm.h"

static void end_child(void)
{
    check_say("<handler>");
}

static void in_forked(int depth);

static void fork_child(int depth)
{
    int status;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        in_forked(depth);
        exit(7);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(!WIFSIGNALED(status)); /* SIGALRM: it hung */
    CHECK_EQ(status, 7 << 8);
}

static void in_forked(int depth)
{
    struct party party = {.guests = threads_of(4)};
    CHECK_EQ(thread_count(), 1);
    if (depth % 2) { /* uses the library, or does not */
        for (int run = 0; run < 3; run++) {
            give_party(&party);
            CHECK_EQ(thread_count(), party.guests);
        }
    }
    if (depth > 0)
        fork_child(depth - 1);
}

static void body(void *arg)
{
    struct party first = {.guests = threads_of(4)}, second = first;
    atexit(end_child);
    setenv("SCHED_WARM", "1min", 1);
    give_party(&first);
    for (int depth = 0; depth < 4; depth++) {
        fork_child(depth);
        CHECK_EQ(thread_count(), first.guests);
    }
    give_party(&second);
    for (int i = 0; i < second.guests; i++)
        CHECK_EQ(party_had(&first, second.thread[i]), 1);
}

int main(void)
{
    in_child(body, NULL);
    CHECK_CHILD_EXITED(0);
    CHECK_CHILD_SAID("<handler>");
    return 0;
}
