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

# After a chroot the program's file cannot be opened: then the message does not say that it was stripped.
if [ "$(id -u)" = 0 ]; then
    sed -e '1i #define _DEFAULT_SOURCE\n#include <unistd.h>' -e 's/^    sched_spawn(inner/    if (chroot(".") != 0) _exit(2);\n&/' \
        program.c > leaves.c
    quietly $CC -g -o leaves leaves.c $(pkg-config --cflags --libs libsched) "-Wl,-rpath,$PREFIX/lib"
    mkdir -p "./$PWD"
    ended 0 env SCHED_TRACE=trace.json ./leaves
    said 'cannot be opened now'
    ! grep -q stripped, error || { cat error; fail "a program that is called stripped, and is not"; }
    grep -q '"name":"leaves+0x' "./$PWD/trace.json" || fail "no timeline within the new root"
fi
