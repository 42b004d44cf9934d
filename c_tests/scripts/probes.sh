# The static probes of src/sys/probe.rs: the notes of the shared library, and those of a program that contains the
# archive and has a probe of its own, name each probe with its arguments, at an instruction of .text. No jump leads to a
# probe `end`, which points at whatever follows a call. gdb stops at each of them.
. "$ROOT/c_tests/scripts/lib/checks.sh"
needs readelf binutils
needs objdump binutils

# notes FILE: a line for each note: provider, name, address, base, arguments.
notes() {
    readelf -nW "$1" | sed -n \
        -e 's/.*Provider: //; t keep' -e 's/^ *Name: //; t keep' \
        -e 's/^ *Location: \(0x[0-9a-f]*\), Base: \(0x[0-9a-f]*\), Semaphore: 0x0*$/\1 \2/; t keep' \
        -e 's/^ *Arguments: *//; t end' -e b -e ': keep' -e 'H; b' -e ': end' -e 'H; s/.*//; x; s/\n/ /g; s/^ //; p'
}

# section FILE NAME: its address and its size.
section() { readelf -SW "$1" | sed -n "s/.* $2  *[A-Z]*  *\([0-9a-f]*\) [0-9a-f]* \([0-9a-f]*\) .*/0x\1 0x\2/p"; }

# checked FILE: its notes of libsched.
checked() {
    notes "$1" | grep '^libsched ' > notes || :
    # What a register is, the compiler decides, but for the parameters of functions.
    sed 's/^\([^ ]* [^ ]*\) [^ ]* [^ ]*/\1/; /spawn/!s/8@[^ ]*/8@register/g; s/ $//' notes | sort -u > found
    case $(readelf -h "$1") in
    *X86-64*) set -- "$1" %rdi %rsi %rdx %rcx %r8 ;;
    *AArch64*) set -- "$1" x0 x1 x2 x3 x4 ;;
    *) echo "no probes for this processor"; exit 77 ;;
    esac
    sort > expected << END
libsched end
libsched park 8@register 8@register
libsched resume 8@register 8@register
libsched spawn 8@$2 8@$3 8@$4
libsched spawn 8@$2 8@$3 8@$5
libsched spawn 8@$3 8@$4 8@$2
libsched spawn 8@$3 8@$4 8@$5
libsched spawn 8@$3 8@$4 8@$6
libsched spawn 8@$4 8@$5 8@$2
libsched spawn 8@$4 8@$5 8@$6
libsched start 8@register 8@register 8@register
libsched steal 8@register 8@register
libsched suspend 8@register 8@register
libsched wake 8@register 8@register
END
    diff expected found || fail "$1: other probes than expected"
    base=$(section "$1" .stapsdt.base)
    text=$(section "$1" .text)
    begin=$((${text% *}))
    while read -r _ name pc of _; do
        same "$1: the base of $name" $((of)) $((${base% *}))
        [ $((pc)) -ge $begin ] && [ $((pc)) -lt $((begin + ${text#* })) ] || fail "$1: $name at $pc is not in .text"
    done < notes
    objdump -d --no-show-raw-insn -j .text "$1" > code
    addresses() { sed 's/^0x0*//' | sort -u; }
    sed -n 's/^ *\([0-9a-f]*\):	.*/\1/p' code | addresses > instructions
    sed -n 's/^ *[0-9a-f]*:	\(j\|b\|b\.\|cbn\?z\|tbn\?z\)[a-z]*[ 	].*\<\([0-9a-f]\+\) <.*/\2/p' code | addresses > targets
    [ -s targets ] || fail "$1: no jumps"
    cut -d ' ' -f 3 notes | addresses > probes
    [ -z "$(comm -23 probes instructions)" ] || fail "$1: a probe is not at the begin of an instruction"
    sed -n 's/^libsched end \([^ ]*\) .*/\1/p' notes | addresses > ends
    [ -z "$(comm -12 ends targets)" ] || fail "$1: a jump leads to a probe end: $(comm -12 ends targets)"
}

cat > program.c << 'END'
/* Passes each probe of the library. It has a byte in .stapsdt.base of its own, as a program that includes <sys/sdt.h>,
 * and comes before the library in the link. */
#include <sched_tasks.h>
#include <stdlib.h>
#include <time.h>

__asm__(".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
        ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n.popsection\n"
        ".pushsection .note.stapsdt, \"\", \"note\"\n.balign 4\n.4byte 2f - 1f, 4f - 3f, 3\n1: .asciz \"stapsdt\"\n"
        "2: .balign 4\n3: .8byte main, _.stapsdt.base, 0\n.asciz \"program\"\n.asciz \"main\"\n.asciz \"\"\n4: .balign 4\n"
        ".popsection\n");

static struct sched_sem turn;
static int stolen;

static void pause_a_little(void)
{
    struct timespec ms = {0, 1000000};
    nanosleep(&ms, NULL);
}

void stolen_task(void *closure, struct scheduler *s)
{
    (void)closure, (void)s;
    __atomic_store_n(&stolen, 1, __ATOMIC_RELEASE);
}

static void lose_a_task(struct scheduler *s)
{
    __atomic_store_n(&stolen, 0, __ATOMIC_RELAXED);
    if (sched_spawn(stolen_task, NULL, s) != 0)
        abort();
    while (!__atomic_load_n(&stolen, __ATOMIC_ACQUIRE))
        pause_a_little();
}

static void is_robbed(void *closure, struct scheduler *s)
{
    struct sched_stats stats;
    (void)closure;
    do { /* until the other worker slept, and was woken */
        lose_a_task(s);
        pause_a_little();
        if (sched_stats(s, &stats, sizeof stats) != 0)
            abort();
    } while (stats.wakes < 2); /* the first wake-up starts its thread */
}

static void posts(void *closure, struct scheduler *s)
{
    (void)closure, (void)s;
    sched_sem_post(&turn);
}

static void waits(void *closure, struct scheduler *s)
{
    if (sched_spawn(posts, closure, s) != 0)
        abort();
    sched_sem_wait(&turn, s);
}

int main(void)
{
    if (sched_sem_init(&turn, 0) != 0 || sched_init(2, 16, is_robbed, NULL) != 0)
        abort();
    return sched_init(1, 16, waits, NULL);
}
END
quietly $CC -g -o shared program.c $(pkg-config --cflags --libs libsched)
quietly $CC -g -Wl,--gc-sections -o static program.c $(pkg-config --cflags libsched) "$PREFIX/lib/libsched.a" \
    -lpthread -ldl
checked "$PREFIX/lib/libsched.so.1"
checked "$PWD/static"
notes static | grep -q '^program main ' || fail "the program's own probe is missing"
[ $(($(section static .stapsdt.base | sed 's/.* //'))) -ge 2 ] || fail "the two have not a byte of .stapsdt.base each"

needs gdb gdb
cat > stops.gdb << 'END'
set debuginfod enabled off
set pagination off
set breakpoint pending on
break main
run
END
for probe in spawn start end steal park wake suspend resume; do
    printf 'tbreak -probe-stap libsched:%s\ncommands\nsilent\n' $probe
    printf 'printf "reached %s with %%d arguments\\n", $_probe_argc\n' $probe
    [ $probe != spawn ] || echo 'info symbol $_probe_arg0'
    printf 'continue\nend\n'
done >> stops.gdb
echo continue >> stops.gdb
for program in shared $(more static); do
    env -u SCHED_THREADS -u SCHED_KIND LD_LIBRARY_PATH="$PREFIX/lib" gdb -nx -batch -x stops.gdb "./$program" > out 2>&1 || :
    ! grep -q -e 'Could not trace' -e ptrace out || { echo "gdb may not trace here"; exit 77; }
    grep -q '^stolen_task in section' out || { cat out; fail "$program: probe spawn has not the task's function"; }
    sed -n 's/^reached //p' out | sort > reached
    sort > expected << 'END'
end with 0 arguments
park with 2 arguments
resume with 2 arguments
spawn with 3 arguments
start with 3 arguments
steal with 2 arguments
suspend with 2 arguments
wake with 2 arguments
END
    diff expected reached || { cat out; fail "$program: gdb has not stopped at each probe once"; }
done
