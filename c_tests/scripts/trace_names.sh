# Names of functions in the timeline of a stripped program: those that are not static have one with -rdynamic, the
# others are shown as FILE+OFFSET, which addr2line and an unstripped copy turn into the name; and a message says so.
. "$ROOT/c_tests/scripts/lib/checks.sh"

needs strip binutils
needs addr2line binutils
cat > program.c << 'END'
#include <sched.h>
static void inner_task(void *closure, struct scheduler *s) { (void)closure; (void)s; }
void outer_task(void *closure, struct scheduler *s) { (void)closure; (void)s; }
static void first_task(void *closure, struct scheduler *s)
{
    sched_spawn(inner_task, closure, s);
    sched_spawn(outer_task, closure, s);
}
int main(void) { return sched_init(1, 16, first_task, 0); }
END
quietly $CC -g -fPIE -pie -rdynamic -o unstripped program.c $(pkg-config --cflags --libs libsched) "-Wl,-rpath,$PREFIX/lib"
quietly strip -o stripped unstripped

# traced PROGRAM: the names of its slices are in the file names.
traced() {
    ended 0 env SCHED_TRACE=trace.json "./$1"
    sed -n 's/.*"ph":"B".*"name":"\([^"]*\)".*/\1/p' trace.json | sort > names
}
traced unstripped
[ "$(tr '\n' ' ' < names)" = 'first_task inner_task outer_task ' ] || { cat names; fail "names of an unstripped program"; }
[ ! -s error ] || { cat error; fail "a message about an unstripped program"; }

traced stripped
said 'addr2line -f -e'
grep -qx outer_task names || { cat names; fail "no outer_task, in spite of -rdynamic"; }
[ "$(grep -c '^stripped+0x' names)" = 2 ] || { cat names; fail "not two functions without names"; }
for offset in $(sed -n 's/^stripped+//p' names); do
    addr2line -f -e unstripped "$offset" | head -n 1
done | sort > found
[ "$(tr '\n' ' ' < found)" = 'first_task inner_task ' ] || { cat found; fail "names that addr2line has found"; }
