# libsched's source tree in a CMake project, by FetchContent; with SCRIPTS=all by add_subdirectory, too: the same targets,
# built by cargo.
# cmake --install of libsched by itself installs what make install does. cargo uses the folder of this build, so that it
# compiles nothing anew.
# limit: 120
. "$ROOT/c_tests/scripts/lib/checks.sh"
needs cmake cmake
needs_cxx
mkdir source
cp "$ROOT"/c_tests/consumers/program.c* "$ROOT/c_tests/consumers/cmake/CMakeLists.txt" source/
export CARGO_TARGET_DIR="$TARGET"

for how in fetch $(more subdirectory); do
    quietly cmake -S source -B $how -DLIBSCHED_FROM="$ROOT" -DLIBSCHED_BY=$how
    quietly cmake --build $how -j 2
    (cd $how && quietly ctest)
    # The project installs its program, and not libsched.
    quietly cmake --install $how --prefix "$PWD/$how-installed"
    same "files installed" ./bin/c-static "$(cd $how-installed && find . -type f)"
done
if command -v ninja > /dev/null; then
    quietly cmake -G Ninja -S source -B ninja -DLIBSCHED_FROM="$ROOT"
    quietly cmake --build ninja
    quietly cmake --build ninja
    ! grep -q Linking out || { cat out; fail "a second build links anew"; }
fi

# By itself, below a DESTDIR.
quietly cmake -S "$ROOT" -B alone -DLIBSCHED_WITH_DEBUG=OFF -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR=lib
quietly cmake --build alone
quietly env DESTDIR="$PWD/by-cmake" cmake --install alone
quietly make -s -C "$ROOT" install PREFIX=/usr DESTDIR="$PWD/by-make" WITH_DEBUG=
diff -r by-cmake by-make || fail "cmake --install and make install do not install the same"
make -s -C "$ROOT" uninstall PREFIX=/usr DESTDIR="$PWD/by-cmake"
same "files left by make uninstall" "" "$(find by-cmake -type f -o -type l)"
[ ! -e by-cmake/usr/lib/cmake/libsched ] || fail "make uninstall leaves lib/cmake/libsched"

# If Rust is too old, the message says what is needed.
mkdir old
for tool in cargo rustc; do printf '#!/bin/sh\necho %s 1.70.0\n' $tool > old/$tool; chmod +x old/$tool; done
! cmake -S "$ROOT" -B refused -DLIBSCHED_CARGO="$PWD/old/cargo" -DLIBSCHED_RUSTC="$PWD/old/rustc" > out 2>&1 ||
    fail "Rust 1.70 was accepted"
cmake_said "old/cargo is 1.70.0, and libsched needs Rust"
