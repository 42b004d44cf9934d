# find_package(libsched): a project with C and C++ programs is built with the shared library and with the archive, and
# its programs run; then again with a copy of the installed tree elsewhere. Versions that do not fit are refused.
# limit: 120
command -v cmake > /dev/null || { echo "no cmake here (Debian: cmake)"; exit 77; }
[ -n "${CXX-}" ] || { echo "no C++ compiler here (Debian: g++)"; exit 77; }
version=$(pkg-config --modversion libsched)

# says WORDS: they are in CMake's messages, whose lines end where the length of a path makes them end.
says() { tr -s ' \n' ' ' < out | grep -q -e "$1" || { echo "not said: $1"; cat out; exit 1; }; }
mkdir source
cp "$ROOT"/c_tests/consumers/program.c* "$ROOT/c_tests/consumers/cmake/CMakeLists.txt" source/

# configure FOLDER PREFIX ARGUMENT...
# (A folder is used again with other arguments, so that CMake does not look at the compilers again.)
configure() {
    folder=$1 prefix=$2
    shift 2
    cmake -S source -B "$folder" -Dlibsched_DIR="$prefix/lib/cmake/libsched" "$@"
}

# check FOLDER PREFIX: the programs are built and run, and are linked with that libsched.
check() {
    configure "$1" "$2" -DLIBSCHED_VERSION="$version" > out 2>&1 && cmake --build "$1" -j 2 > out 2>&1 || { cat out; exit 1; }
    (cd "$1" && ctest > ../out 2>&1) || { cat out; exit 1; }
    for language in c cpp; do
        [ "$(ldd "$1/$language-shared" | sed -n 's/.*libsched.so.1 => \([^ ]*\).*/\1/p')" = "$2/lib/libsched.so.1" ] ||
            { echo "$1/$language-shared is not linked with $2/lib/libsched.so.1:"; ldd "$1/$language-shared"; exit 1; }
        ! ldd "$1/$language-static" | grep libsched ||
            { echo "$1/$language-static is linked with the shared library"; exit 1; }
    done
}

check here "$PREFIX"
mkdir moved
cp -a "$PREFIX/lib" "$PREFIX/include" moved/
check there "$PWD/moved"

# What the package says of another version, of a component that is not there, and of pointers of another size.
major=${version%%.*}
rest=${version#*.}
for least in "$((major + 1))" "$major.$((${rest%%.*} + 1))" 99.0...99.9; do
    ! configure here "$PREFIX" -DLIBSCHED_VERSION="$least" > out 2>&1 || { echo "$version was taken for $least"; exit 1; }
    says "version: $version"
done
configure here "$PREFIX" -DLIBSCHED_VERSION="$version;EXACT" > out 2>&1 || { cat out; exit 1; }
configure here "$PREFIX" -DLIBSCHED_VERSION="$major" > out 2>&1 || { cat out; exit 1; }
rm moved/lib/libsched.a
! configure there "$PWD/moved" > out 2>&1 || { echo "the component static was found without libsched.a"; exit 1; }
says "no component static"
sed 's/"${CMAKE_SIZEOF_VOID_P}" EQUAL 8/"4" EQUAL 8/' "$PREFIX/lib/cmake/libsched/libsched-config-version.cmake" \
    > moved/lib/cmake/libsched/libsched-config-version.cmake
! cmp -s "$PREFIX/lib/cmake/libsched/libsched-config-version.cmake" moved/lib/cmake/libsched/libsched-config-version.cmake ||
    { echo "libsched-config-version.cmake does not compare the size of pointers with 8"; exit 1; }
! configure there "$PWD/moved" -DLIBSCHED_VERSION="$version" > out 2>&1 || { echo "pointers of 4 bytes were accepted"; exit 1; }
says '64 bit'
