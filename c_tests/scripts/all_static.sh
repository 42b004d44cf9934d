# A program that is linked statically, libc included: it runs under each kind, and its timeline and its profile have the names
# of its functions.
. "$ROOT/c_tests/scripts/lib/checks.sh"

cat > program.c << 'END'
#include <sched_tasks.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int ran;

static void leaf_of_all(void *closure, struct scheduler *s)
{
    (void)closure, (void)s;
    ran++;
}

static void first_of_all(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 100; i++)
        sched_spawn(leaf_of_all, closure, s);
}

int main(void)
{
    if (sched_init(0, 100, first_of_all, NULL) != 0)
        return 1;
    printf("%d\n", ran);
    return 0;
}
END
echo 'int main(void) { return 0; }' > none.c
$CC -static -o none none.c -lpthread 2> error || { echo "no libc.a here"; exit 77; }

for how in -static $(more -static-pie); do
    quietly $CC $how -o program program.c "-I$PREFIX/include/libsched" "$PREFIX/lib/libsched.a" -lpthread -ldl
    for kind in steal lifo fifo cont serial; do
        same "tasks run, kind $kind" 100 "$(SCHED_KIND=$kind ./program)"
    done
    quietly env SCHED_TRACE=trace.json ./program
    ! grep -q 'no names' out || { cat out; fail "a timeline without names"; }
    for name in leaf_of_all first_of_all; do
        grep -q "\"$name\"" trace.json || fail "$how: $name is not in the timeline"
    done
    quietly env SCHED_PROFILE=1 ./program
    grep -q leaf_of_all out || { cat out; fail "$how: leaf_of_all is not in the profile"; }
done
