# dependency('libsched') in a Meson project, by pkg-config: C and C++ programs, with the shared library and with the
# archive, here and with a copy of the installed tree elsewhere.
# limit: 120
command -v meson > /dev/null && command -v ninja > /dev/null || { echo "no meson or no ninja here (Debian: meson)"; exit 77; }
[ -n "${CXX-}" ] || { echo "no C++ compiler here (Debian: g++)"; exit 77; }
mkdir source moved
cp "$ROOT"/c_tests/consumers/program.c* "$ROOT/c_tests/consumers/meson/meson.build" source/
cp -a "$PREFIX/lib" "$PREFIX/include" moved/

for prefix in "$PREFIX" "$PWD/moved"; do
    rm -rf build
    PKG_CONFIG_PATH=$prefix/lib/pkgconfig meson setup build source > out 2>&1 && meson compile -C build > out 2>&1 &&
        meson test -C build > out 2>&1 || { cat out; exit 1; }
    for language in c cpp; do
        [ "$(realpath "$(ldd "build/$language-shared" | sed -n 's/.*libsched.so.1 => \([^ ]*\).*/\1/p')")" = "$prefix/lib/libsched.so.1" ] ||
            { echo "$language-shared is not linked with $prefix/lib/libsched.so.1:"; ldd "build/$language-shared"; exit 1; }
        ! ldd "build/$language-static" | grep libsched || { echo "$language-static is linked with the shared library"; exit 1; }
    done
done
