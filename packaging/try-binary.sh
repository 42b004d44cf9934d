#!/bin/sh
# Whether an archive of packaging/binary.sh works where it is unpacked: gcc compiles an example with the shared and with
# the static library, and the example runs; where they are installed, pkg-config, CMake and g++ do, too. The library must
# need no symbol that the C library of Debian 12 does not have.
#
# Usage: try-binary.sh ARCHIVE. It needs gcc alone, and no other file of the source.
set -eu
LC_ALL=C
export LC_ALL
newest=2.36
archive=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "binary: $1"; exit 1; }
unset LD_LIBRARY_PATH PKG_CONFIG_PATH SCHED_KIND SCHED_THREADS || :

tar -x -f "$archive"
tree=$work/$(basename "$archive" .tar.gz)
[ -d "$tree" ] || fail "$archive has no folder $(basename "$archive" .tar.gz)"
for file in lib/libsched.so share/man/man7/libsched.7 share/man/man3/sched_for.3 share/doc/libsched/LICENSE-MIT; do
    [ -s "$tree/$file" ] || fail "$archive has no $file"
done

needed=$(objdump -T "$tree/lib/libsched.so.1" | grep -o 'GLIBC_[0-9][0-9.]*' | sed 's/GLIBC_//' | sort -V | tail -n 1)
[ -n "$needed" ] || fail "objdump shows no symbol of the C library"
[ "$(printf '%s\n' "$needed" $newest | sort -V | tail -n 1)" = $newest ] ||
    fail "libsched.so.1 needs glibc $needed, and Debian 12 has $newest: build it on an older system"

example=$tree/share/doc/libsched/examples/hello_for.c
by=gcc
# works NAME: the program runs on several threads, and prints what the serial one prints.
works() {
    [ "$(SCHED_THREADS=4 "./$1")" = "$(SCHED_KIND=serial "./$1")" ] || fail "$1 does not work"
}
# shared NAME: it uses the library of the archive, and not one that is installed here.
shared() {
    works "$1"
    ldd "./$1" | grep -q -F "libsched.so.1 => $tree/lib/" || { ldd "./$1"; fail "$1 uses the above"; }
}
gcc -Wall -Werror "$example" "-I$tree/include/libsched" "-L$tree/lib" -lsched "-Wl,-rpath,$tree/lib" -o by-gcc
shared by-gcc
gcc -Wall -Werror "$example" "-I$tree/include/libsched" "$tree/lib/libsched.a" -o by-gcc-static
works by-gcc-static
if command -v g++ >/dev/null; then
    g++ -std=c++17 -Wall -Werror "${example%/*}/hello.cpp" "-I$tree/include/libsched" "-L$tree/lib" -lsched \
        "-Wl,-rpath,$tree/lib" -o by-g++
    shared by-g++
    by="$by, g++"
fi
if command -v pkg-config >/dev/null; then
    export PKG_CONFIG_PATH="$tree/lib/pkgconfig"
    gcc "$example" $(pkg-config --cflags --libs libsched) "-Wl,-rpath,$(pkg-config --variable=libdir libsched)" -o by-pkg-config
    shared by-pkg-config
    by="$by, pkg-config"
fi
if command -v cmake >/dev/null; then
    cat > CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(by C)
find_package(libsched REQUIRED)
foreach(kind libsched static)
    add_executable(by-cmake-${kind} ${EXAMPLE})
    target_link_libraries(by-cmake-${kind} PRIVATE libsched::${kind})
endforeach()
END
    { cmake -S . -B . "-DCMAKE_PREFIX_PATH=$tree" "-DEXAMPLE=$example" && cmake --build .; } > cmake.log 2>&1 ||
        { cat cmake.log; fail "CMake fails"; }
    shared by-cmake-libsched
    works by-cmake-static
    by="$by, CMake"
fi
echo "binary: ${tree##*/} needs glibc $needed, and works with $(ldd --version | head -n 1 | sed 's/^ldd //'): $by"
