# libsched's source tree as a subproject of a Meson project, found by dependency('libsched') through a wrap file, as the
# shared library. With SCRIPTS=all the test is repeated with default_library=static, which gives the archive. meson
# install of libsched by itself installs what make install does. cargo uses the folder of this build, so that it
# compiles nothing anew.
# limit: 120
. "$ROOT/c_tests/scripts/lib/checks.sh"
needs meson meson
needs ninja ninja-build
needs_cxx
mkdir -p source/subprojects
cp "$ROOT"/c_tests/consumers/program.c* "$ROOT/c_tests/consumers/meson/meson.build" source/
# The wrap file of the documents, but with the source tree in the place of git.
sed -n '/^    \[wrap-git\]/,/^    dependency_names/s/^    //p' "$ROOT/docs/INSTALL.md" |
    sed -e 's/^\[wrap-git\]/[wrap-file]/' -e '/^url = /d' -e '/^revision = /d' -e '/^depth = /d' > source/subprojects/libsched.wrap
grep -q '^dependency_names = libsched' source/subprojects/libsched.wrap || fail "no wrap file in docs/INSTALL.md"
ln -s "$ROOT" source/subprojects/libsched
export CARGO_TARGET_DIR="$TARGET" PKG_CONFIG_LIBDIR="$PWD" PKG_CONFIG_PATH=

for default in shared $(more static); do
    quietly meson setup $default source -Dlibsched:default_library=$default
    quietly meson compile -C $default
    quietly meson test -C $default
    for program in c-shared c-static cpp-shared cpp-static; do
        expected=0
        [ $default-${program#*-} != shared-shared ] || expected=1
        found=$(ldd $default/$program | grep -c libsched.so.1 || :)
        same "how often $default/$program needs libsched.so.1" $expected "$found"
    done
done
quietly meson compile -C shared
! grep -q Linking out || { cat out; fail "a second build links anew"; }

quietly meson setup alone "$ROOT" --prefix /usr --libdir lib
quietly meson compile -C alone
quietly env DESTDIR="$PWD/by-meson" meson install --no-rebuild -C alone
quietly make -s -C "$ROOT" install PREFIX=/usr DESTDIR="$PWD/by-make" WITH_DEBUG=
diff -r by-meson by-make || fail "meson install and make install do not install the same"
