#!/bin/sh
# make install, uninstall and installcheck: packaging/install.sh install|uninstall|check. The Makefile sets the variables:
#   DESTDIR, PREFIX, LIBDIR, INCLUDEDIR, MANDIR, DOCDIR   where the files go
#   LIBRARY         the folder of libsched.so.1 and libsched.a
#   DEBUG_LIBRARY   the debug library, or nothing if it is not installed
#   VERSION         of the library
#   CHECKED, CC, CFLAGS, CXX, CXXFLAGS, CROSS   for check: a folder for what it builds; the compilers, no CXX if there is none;
#                   another processor, whose programs do not run here
set -eu
cd "$(dirname "$0")/.."
cmake=$LIBDIR/cmake/libsched
# gdb looks for a library's script below its own folder of such scripts, in a folder named like that of the library.
gdb=$PREFIX/share/gdb/auto-load$LIBDIR

# What is installed: lines KIND SOURCE DESTINATION. KIND is the mode of a copy, `link`, or the name of a function below.
files() {
    echo 755 "$LIBRARY/libsched.so.1" "$LIBDIR/libsched.so.1"
    echo link libsched.so.1 "$LIBDIR/libsched.so"
    echo 644 "$LIBRARY/libsched.a" "$LIBDIR/libsched.a"
    echo pkg_config packaging/libsched.pc.in "$LIBDIR/pkgconfig/libsched.pc"
    echo cmake_package packaging/cmake/libsched-config.cmake.in "$cmake/libsched-config.cmake"
    echo cmake_package packaging/cmake/libsched-config-version.cmake.in "$cmake/libsched-config-version.cmake"
    echo 644 tools/libsched-gdb.py "$gdb/libsched.so.1-gdb.py"
    for file in include/*.h include/*.hpp; do echo 644 "$file" "$INCLUDEDIR/libsched/${file##*/}"; done
    for file in man/*.3; do echo 644 "$file" "$MANDIR/man3/${file##*/}"; done
    for file in man/*.7; do echo 644 "$file" "$MANDIR/man7/${file##*/}"; done
    # The README, and what it and its pages refer to.
    for file in README.md CHANGELOG.md CONTRIBUTING.md LICENSE-* docs/*.md docs/*.svg docs/*.png docs/*.pdf docs/data/*.csv examples/*.c*; do
        echo 644 "$file" "$DOCDIR/$file"
    done
}
debug_files() {
    echo 755 "$DEBUG_LIBRARY" "$LIBDIR/libsched-debug/libsched.so.1"
    echo link libsched.so.1 "$LIBDIR/libsched-debug/libsched.so"
    echo link ../libsched.so.1-gdb.py "$gdb/libsched-debug/libsched.so.1-gdb.py"
}

# under PREFIX PATH WORD: the path with WORD for the prefix, if it lies below that.
under() {
    case $2 in
        "$1"/*) echo "$3/${2#"$1"/}" ;;
        *) echo "$2" ;;
    esac
}
# Where the library lies below the prefix, the tree may be moved: libsched.pc and CMake's package find the prefix from
# their own place.
pkg_config() {
    prefix=$PREFIX
    case $LIBDIR in "$PREFIX"/*) prefix='${pcfiledir}/'$(realpath -m -s --relative-to="$LIBDIR/pkgconfig" "$PREFIX") ;; esac
    sed -e "s|@PREFIX@|$prefix|" -e "s|@LIBDIR@|$(under "$PREFIX" "$LIBDIR" '${prefix}')|" \
        -e "s|@INCLUDEDIR@|$(under "$PREFIX" "$INCLUDEDIR" '${prefix}')|" -e "s|@VERSION@|$VERSION|" "$1"
}
# The class of the ELF file, 1 or 2, says whether pointers have 4 or 8 bytes.
cmake_package() {
    include=$INCLUDEDIR
    case $LIBDIR:$INCLUDEDIR in
        "$PREFIX"/*:"$PREFIX"/*) include=$(realpath -m -s --relative-to="$cmake" "$INCLUDEDIR") ;;
    esac
    pointer=$((4 * $(od -An -tu1 -j4 -N1 "$LIBRARY/libsched.so.1")))
    sed -e "s|@INCLUDE@|$include|" -e "s|@VERSION@|$VERSION|" -e "s|@POINTER@|$pointer|" "$1"
}

install_all() {
    while read -r kind from to; do
        case $kind in
            link) install -d "$DESTDIR${to%/*}" && ln -sf "$from" "$DESTDIR$to" ;;
            [0-9]*) install -D -m "$kind" "$from" "$DESTDIR$to" ;;
            *) "$kind" "$from" | install -D -m 644 /dev/stdin "$DESTDIR$to" ;;
        esac
    done
}

uninstall_all() {
    while read -r kind from to; do
        rm -f "$DESTDIR$to"
    done
    rmdir "$DESTDIR$INCLUDEDIR/libsched" "$DESTDIR$LIBDIR/libsched-debug" "$DESTDIR$cmake" "$DESTDIR$DOCDIR/examples" \
        "$DESTDIR$DOCDIR/docs/data" "$DESTDIR$DOCDIR/docs" "$DESTDIR$DOCDIR" "$DESTDIR$gdb/libsched-debug" "$DESTDIR$gdb" 2>/dev/null || :
}

fail() { echo "installcheck: $1"; exit 1; }

# Each file is there, and what the pages link to. The examples work with either library, by the flags of pkg-config.
check_all() {
    while read -r kind from to; do
        [ -s "$DESTDIR$to" ] || fail "there is no $DESTDIR$to"
    done
    (cd "$DESTDIR$DOCDIR" && grep -o '](\([^):# ]*\))' ./*.md docs/*.md) | sed 's/^\([^:]*\):](\(.*\))$/\1 \2/' |
        while read -r page link; do
            [ -e "$DESTDIR$DOCDIR/${page%/*}/$link" ] || fail "$page links to $link, which is not there"
        done
    command -v pkg-config >/dev/null || fail "no pkg-config here"
    mkdir -p "$CHECKED"
    export PKG_CONFIG_PATH="$DESTDIR$LIBDIR/pkgconfig" LD_LIBRARY_PATH="$DESTDIR$LIBDIR"
    for source in examples/*.c examples/*.cpp; do
        name=${source##*/} compile="$CC $CFLAGS"
        program=$CHECKED/${name%.*}
        case $source in *.cpp) compile="$CXX -std=c++17 $CXXFLAGS" ;; esac
        [ "${compile# }" = "$compile" ] || { echo "installcheck: no C++ compiler here, $source skipped"; continue; }
        source=$DESTDIR$DOCDIR/$source
        $compile -o "$program" "$source" $(pkg-config --cflags --libs libsched) -lm
        $compile -o "$program-static" "$source" $(pkg-config --cflags libsched) \
            "$(pkg-config --variable=libdir libsched)/libsched.a" -lpthread -ldl -lm
        [ -z "$CROSS" ] || continue
        "$program" >/dev/null
        "$program-static" >/dev/null
    done
    echo "installcheck: $DESTDIR$LIBDIR/libsched.so.1 and libsched.a work"
}

case $1 in
    install) { files; [ -z "$DEBUG_LIBRARY" ] || debug_files; } | install_all ;;
    uninstall) { files; debug_files; } | uninstall_all ;;
    check) files | check_all ;;
esac
