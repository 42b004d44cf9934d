# find_package(libsched): a project with C and C++ programs is built with the shared library and with the archive, and
# its programs run. Versions that do not fit are refused. With SCRIPTS=all the programs are also built with a copy of the
# installed tree elsewhere.
# limit: 120
. "$ROOT/c_tests/scripts/lib/checks.sh"
needs cmake cmake
needs_cxx
version=$(pkg-config --modversion libsched)
mkdir source
cp "$ROOT"/c_tests/consumers/program.c* "$ROOT/c_tests/consumers/cmake/CMakeLists.txt" source/

# configure FOLDER PREFIX ARGUMENT...: the folder is used again with other arguments, so that CMake looks at the
# compilers once.
configure() {
    folder=$1 prefix=$2
    shift 2
    cmake -S source -B "$folder" -Dlibsched_DIR="$prefix/lib/cmake/libsched" "$@"
}

# check FOLDER PREFIX: the programs are built in the folder and run, with the libsched of that prefix.
check() {
    quietly configure "$1" "$2" -DLIBSCHED_VERSION="$version"
    quietly cmake --build "$1" -j 2
    (cd "$1" && quietly ctest)
    linked "$1" "$2"
}

check here "$PREFIX"
mkdir moved
cp -a "$PREFIX/lib" "$PREFIX/include" moved/
[ -z "${SCRIPTS-}" ] || check there "$PWD/moved"

# What the package says of another version, of a component that is not there, and of pointers of another size.
major=${version%%.*}
rest=${version#*.}
for least in "$((major + 1))" "$major.$((${rest%%.*} + 1))" 99.0...99.9; do
    ! configure here "$PREFIX" -DLIBSCHED_VERSION="$least" > out 2>&1 || fail "$version was taken for $least"
    cmake_said "version: $version"
done
quietly configure here "$PREFIX" -DLIBSCHED_VERSION="$version;EXACT"
quietly configure here "$PREFIX" -DLIBSCHED_VERSION="$major"
rm moved/lib/libsched.a
! configure there "$PWD/moved" > out 2>&1 || fail "the component static was found without libsched.a"
cmake_said "no component static"
sed 's/"${CMAKE_SIZEOF_VOID_P}" EQUAL 8/"4" EQUAL 8/' "$PREFIX/lib/cmake/libsched/libsched-config-version.cmake" \
    > moved/lib/cmake/libsched/libsched-config-version.cmake
! cmp -s "$PREFIX/lib/cmake/libsched/libsched-config-version.cmake" moved/lib/cmake/libsched/libsched-config-version.cmake ||
    fail "libsched-config-version.cmake does not compare the size of pointers with 8"
! configure there "$PWD/moved" -DLIBSCHED_VERSION="$version" > out 2>&1 || fail "pointers of 4 bytes were accepted"
cmake_said '64 bit'
