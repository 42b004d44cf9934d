# Calls of the library fail, and are survived: a sample of what make faults tries, which sets FAULTS.
. "$ROOT/c_tests/scripts/lib/checks.sh"
[ "$(uname -s)" = Linux ] && ldd --version 2>&1 | grep -qi -e glibc -e 'GNU libc' || { echo "no glibc here"; exit 77; }

faults=$ROOT/c_tests/faults
flags='-std=gnu11 -O2 -g -Wall -Wextra -Werror'
quietly $CC $flags -shared -fPIC -o inject.so "$faults/inject.c" -ldl
quietly $CC $flags -I"$PREFIX/include/libsched" -o sweep "$faults"/[!i]*.c -L"$PREFIX/lib" -lsched -pthread \
        -Wl,-rpath,"$PREFIX/lib"

if [ -n "${FAULTS-}" ]; then
    LD_PRELOAD=$PWD/inject.so ./sweep 16 "$FAULTS"
else
    LD_PRELOAD=$PWD/inject.so ./sweep 8 sample > out || { cat out; fail 'a fault is not survived'; }
fi
