/* SCHED_STATS: nothing by default, a table or one JSON line a run on stderr, or at the end
 * of SCHED_STATS_FILE; the count of tasks is exact. The keys are checked by the runner.
 * ctest: matrix deque=mutex,split,chaselev idle=park threads=1,4 */
#include "child.h"
#include "stats_line.h"

static void leaf(void *closure, struct scheduler *s)
{
}

static void root(void *closure, struct scheduler *s)
{
    for (long i = 0; i < (long)closure; i++)
        CHECK_EQ(sched_spawn(leaf, NULL, s), 0);
}

static void three(void *value)
{
    if (value)
        setenv("SCHED_STATS", value, 1);
    for (long n = 10; n <= 1000; n *= 10)
        CHECK_EQ(sched_init(4, 4, root, (void *)n), 0);
}

static int lines(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* The three lines of the three runs. */
static void check_lines(const char *text)
{
    check_child(__FILE__, __LINE__, lines(text) == 3, "write three lines");
    for (long n = 10; n <= 1000; n *= 10) {
        CHECK(text[0] == '{');
        CHECK_EQ(stat_number(text, "tasks"), n + 1);
        CHECK_EQ(stat_number(text, "threads"), threads_of(4));
        CHECK_EQ(stat_number(text, "threads_missing"), 0);
        text = strchr(text, '\n') + 1;
        CHECK(text[-2] == '}');
    }
}

int main(void)
{
    static char zero[] = "0", one[] = "1", json[] = "json";
    in_child(three, NULL);
    CHECK_CHILD_EXITED(0);
    CHECK_EQ(strlen(child.said), 0);
    in_child(three, zero);
    CHECK_CHILD_EXITED(0);
    CHECK_EQ(strlen(child.said), 0);

    in_child(three, one);
    CHECK_CHILD_EXITED(0);
    CHECK_CHILD_SAID("1001");
    CHECK(lines(child.said) >= 6);

    in_child(three, json);
    CHECK_CHILD_EXITED(0);
    check_lines(child.said);

    gather_stats();
    in_child(three, json);
    CHECK_CHILD_EXITED(0);
    CHECK_EQ(strlen(child.said), 0);
    check_lines(gathered_stats());
    return 0;
}
