# libsched's source tree as a subproject of a Meson project, found by dependency('libsched') through a wrap file; with
# default_library=static that is the archive. meson install of libsched by itself installs what make install does.
# (cargo's folder is that of this build, so that nothing is compiled anew.)
# limit: 120
command -v meson > /dev/null && command -v ninja > /dev/null || { echo "no meson or no ninja here (Debian: meson)"; exit 77; }
[ -n "${CXX-}" ] || { echo "no C++ compiler here (Debian: g++)"; exit 77; }
mkdir -p source/subprojects
cp "$ROOT"/c_tests/consumers/program.c* "$ROOT/c_tests/consumers/meson/meson.build" source/
# As the documents have it, but for where it comes from.
sed -n '/^    \[wrap-git\]/,/^    dependency_names/s/^    //p' "$ROOT/docs/INSTALL.md" |
    sed -e 's/^\[wrap-git\]/[wrap-file]/' -e '/^url = /d' -e '/^revision = /d' -e '/^depth = /d' > source/subprojects/libsched.wrap
grep -q '^dependency_names = libsched' source/subprojects/libsched.wrap || { echo "no wrap file in docs/INSTALL.md"; exit 1; }
ln -s "$ROOT" source/subprojects/libsched
export CARGO_TARGET_DIR="$TARGET" PKG_CONFIG_LIBDIR="$PWD" PKG_CONFIG_PATH=

for default in shared static; do
    meson setup $default source -Dlibsched:default_library=$default > out 2>&1 && meson compile -C $default > out 2>&1 &&
        meson test -C $default > out 2>&1 || { cat out; exit 1; }
    for program in c-shared c-static cpp-shared cpp-static; do
        expected=0
        [ $default-${program#*-} != shared-shared ] || expected=1
        found=$(ldd $default/$program | grep -c libsched.so.1 || :)
        [ "$found" = $expected ] || { echo "$default/$program: $found times libsched.so.1 instead of $expected"; ldd $default/$program; exit 1; }
    done
done
meson compile -C shared > out 2>&1
! grep -q Linking out || { echo "a second build links anew:"; cat out; exit 1; }

meson setup alone "$ROOT" --prefix /usr --libdir lib > out 2>&1 && meson compile -C alone > out 2>&1 &&
    DESTDIR="$PWD/by-meson" meson install --no-rebuild -C alone > out 2>&1 || { cat out; exit 1; }
make -s -C "$ROOT" install PREFIX=/usr DESTDIR="$PWD/by-make" WITH_DEBUG= > out 2>&1 || { cat out; exit 1; }
diff -r by-meson by-make || { echo "meson install and make install do not install the same"; exit 1; }
