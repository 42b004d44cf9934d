# dependency('libsched') in a Meson project, by pkg-config: C and C++ programs, with the shared library and with the
# archive. With SCRIPTS=all the test is repeated with a copy of the installed tree elsewhere.
# limit: 120
. "$ROOT/c_tests/scripts/lib/checks.sh"
needs meson meson
needs ninja ninja-build
needs_cxx
mkdir source moved
cp "$ROOT"/c_tests/consumers/program.c* "$ROOT/c_tests/consumers/meson/meson.build" source/
cp -a "$PREFIX/lib" "$PREFIX/include" moved/

# check FOLDER PREFIX: the programs are built in the folder and run, with the libsched of that prefix.
check() {
    quietly env PKG_CONFIG_PATH="$2/lib/pkgconfig" meson setup "$1" source
    quietly meson compile -C "$1"
    quietly meson test -C "$1"
    linked "$1" "$2"
}

check here "$PREFIX"
[ -z "${SCRIPTS-}" ] || check there "$PWD/moved"
