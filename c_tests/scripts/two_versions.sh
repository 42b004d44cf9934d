# Two versions of the library in one process: a program linked with libsched.so.1 loads a plugin that is linked with a
# libsched.so.2. The same functions make that one, under another soname and other versions of the symbols, as a later
# incompatible version would have them. Both lie in the global scope, and each caller gets its own: c_tests/two_copies.c.
. "$ROOT/c_tests/scripts/lib/checks.sh"

sed 's/LIBSCHED_1/LATER_1/' "$ROOT/src/sched.map" > later.map
flags="-O2 -pthread -DSMALLER=4 -I$ROOT/c_tests -I$PREFIX/include/libsched"
quietly $CC -shared -o libsched.so.2 -Wl,-soname,libsched.so.2 -Wl,--version-script=later.map -Wl,-z,nodelete \
    -Wl,--whole-archive "$PREFIX/lib/libsched.a" -Wl,--no-whole-archive -lpthread -ldl
quietly $CC $flags -DPLUGIN -shared -fPIC -o plugin.so "$ROOT/c_tests/two_copies.c" libsched.so.2 -Wl,-rpath,"$PWD"
quietly $CC $flags -DCTEST_PLUGIN="\"$PWD/plugin.so\"" -DLOAD_FLAGS='(RTLD_NOW|RTLD_GLOBAL)' -o program \
    "$ROOT/c_tests/two_copies.c" -L"$PREFIX/lib" -lsched -Wl,-rpath,"$PREFIX/lib" -ldl

for kind in steal cont fifo lifo; do
    same "kind $kind" '' "$(SCHED_KIND=$kind SCHED_THREADS=4 timeout 60 ./program 2>&1 || echo "status $?")"
done
same 'kind serial' '' "$(SCHED_KIND=serial timeout 60 ./program alone 2>&1 || echo "status $?")"

# Each is there, and each is used.
LD_DEBUG=bindings LD_DEBUG_OUTPUT=bindings SCHED_THREADS=2 ./program
bound() { cat bindings.* | grep -c "binding file $1.* to .*$2 .*symbol .sched_init' \[$3\]" || true; }
same 'the plugin calls version 2' 1 "$(bound "$PWD/plugin.so" libsched.so.2 LATER_1)"
same 'the program calls version 1' 1 "$(bound ./program libsched.so.1 LIBSCHED_1)"
