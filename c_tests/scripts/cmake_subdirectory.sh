# libsched's source tree in a CMake project, by FetchContent and by add_subdirectory: the same targets, built by cargo.
# cmake --install of libsched by itself installs what make install does. (cargo's folder is that of this build, so
# that nothing is compiled anew.)
# limit: 120
command -v cmake > /dev/null || { echo "no cmake here (Debian: cmake)"; exit 77; }
[ -n "${CXX-}" ] || { echo "no C++ compiler here (Debian: g++)"; exit 77; }
mkdir source
cp "$ROOT"/c_tests/consumers/program.c* "$ROOT/c_tests/consumers/cmake/CMakeLists.txt" source/
export CARGO_TARGET_DIR="$TARGET"

for how in fetch subdirectory; do
    cmake -S source -B $how -DLIBSCHED_FROM="$ROOT" -DLIBSCHED_BY=$how > out 2>&1 && cmake --build $how -j 2 > out 2>&1 ||
        { cat out; exit 1; }
    (cd $how && ctest > ../out 2>&1) || { cat out; exit 1; }
    # libsched is the project's own matter: its installation has the project's program alone.
    cmake --install $how --prefix "$PWD/$how-installed" > out 2>&1 || { cat out; exit 1; }
    [ "$(cd $how-installed && find . -type f)" = ./bin/c-static ] || { find $how-installed; exit 1; }
done
if command -v ninja > /dev/null; then
    cmake -G Ninja -S source -B ninja -DLIBSCHED_FROM="$ROOT" > out 2>&1 && cmake --build ninja > out 2>&1 || { cat out; exit 1; }
    cmake --build ninja > out 2>&1 || { cat out; exit 1; }
    ! grep -q Linking out || { echo "a second build links anew:"; cat out; exit 1; }
fi

# By itself, below a DESTDIR.
cmake -S "$ROOT" -B alone -DLIBSCHED_WITH_DEBUG=OFF -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR=lib > out 2>&1 &&
    cmake --build alone > out 2>&1 && DESTDIR="$PWD/by-cmake" cmake --install alone > out 2>&1 || { cat out; exit 1; }
make -s -C "$ROOT" install PREFIX=/usr DESTDIR="$PWD/by-make" WITH_DEBUG= > out 2>&1 || { cat out; exit 1; }
diff -r by-cmake by-make || { echo "cmake --install and make install do not install the same"; exit 1; }
make -s -C "$ROOT" uninstall PREFIX=/usr DESTDIR="$PWD/by-cmake"
[ -z "$(find by-cmake -type f -o -type l)" ] || { echo "make uninstall leaves:"; find by-cmake -type f -o -type l; exit 1; }
[ ! -e by-cmake/usr/lib/cmake/libsched ] || { echo "make uninstall leaves lib/cmake/libsched"; exit 1; }

# Without a Rust that is new enough the message says what is needed.
mkdir old
for tool in cargo rustc; do printf '#!/bin/sh\necho %s 1.70.0\n' $tool > old/$tool; chmod +x old/$tool; done
! cmake -S "$ROOT" -B refused -DLIBSCHED_CARGO="$PWD/old/cargo" -DLIBSCHED_RUSTC="$PWD/old/rustc" > out 2>&1 ||
    { echo "Rust 1.70 was accepted"; exit 1; }
tr -s '\n ' ' ' < out | grep -q "old/cargo is 1.70.0, and libsched needs Rust" || { cat out; exit 1; }
