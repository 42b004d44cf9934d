# dependency('libsched') in a Meson project, by pkg-config: C and C++ programs, with the shared library and with the
# archive, here and with a copy of the installed tree elsewhere.
# limit: 120
. "$ROOT/c_tests/scripts/lib/checks.sh"
needs meson meson
needs ninja ninja-build
needs_cxx
mkdir source moved
cp "$ROOT"/c_tests/consumers/program.c* "$ROOT/c_tests/consumers/meson/meson.build" source/
cp -a "$PREFIX/lib" "$PREFIX/include" moved/

for prefix in "$PREFIX" "$PWD/moved"; do
    rm -rf build
    quietly env PKG_CONFIG_PATH="$prefix/lib/pkgconfig" meson setup build source
    quietly meson compile -C build
    quietly meson test -C build
    linked build "$prefix"
done
