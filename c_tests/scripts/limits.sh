# The system withholds something from a process: memory, threads, files, a system call. A sample of what make limits
# tries, which sets LIMITS.
# limit: 300
. "$ROOT/c_tests/scripts/lib/checks.sh"
[ "$(uname -s)" = Linux ] && ldd --version 2>&1 | grep -qi -e glibc -e 'GNU libc' || { echo "no glibc here"; exit 77; }

faults=$ROOT/c_tests/faults limits=$ROOT/c_tests/limits
flags='-std=gnu11 -O2 -g -Wall -Wextra -Werror'
quietly $CC $flags -shared -fPIC -o inject.so "$faults/inject.c" -ldl
quietly $CC $flags -I"$PREFIX/include/libsched" -o limits "$limits"/*.c "$faults"/p*.c "$faults"/scenes.c \
        "$faults"/foreign.c "$faults"/whole.c "$faults"/talk.c -L"$PREFIX/lib" -lsched -pthread -Wl,-rpath,"$PREFIX/lib"

# The document has the calls of the list, and no others.
grep -o 'X([a-z_0-9]*)' "$limits/calls.h" | sed 's/X(\(.*\))/\1/' | grep -v -e '^restart_syscall$' -e '^clock_nanosleep$' -e '^chdir$' |
    sort -u > listed
sed -n '/^## System calls/,/^## /p' "$ROOT/docs/GUARANTEES.md" | grep -o '`[a-z_0-9]*`' | tr -d '`' | sort -u > documented
diff listed documented > out || { cat out; fail 'c_tests/limits/calls.h (<) and docs/GUARANTEES.md (>) list other calls'; }

if [ -n "${LIMITS-}" ]; then
    LD_PRELOAD=$PWD/inject.so ./limits 16 "$LIMITS"
else
    LD_PRELOAD=$PWD/inject.so ./limits 8 sample > out || { cat out; fail 'a limit is not survived'; }
fi
