#!/bin/sh
# make abi: whether programs that are compiled with the headers of the last release run with this library. abidiff
# (Debian: abigail-tools) compares the functions and types with packaging/abi/libsched-1.abi: none may be gone or have
# changed.
# Additions are allowed, and members at the end of the structs that packaging/abi/growing.suppr names.
#
# What is compared is a library of C functions with the prototypes of the headers and empty bodies. The debug
# information of the library itself describes its inside, in the terms of rustc, and changes with each rustc.
# tests/headers checks that the library's functions have these prototypes; the tests of symbols check that all of
# them are there, with their versions.
#
# Usage: packaging/abi.sh           compares include/ and src/sched.map with packaging/abi/libsched-1.abi
#        packaging/abi.sh FOLDER    compares those of another project folder
#        packaging/abi.sh --write   writes packaging/abi/libsched-1.abi: at a release
set -eu
LC_ALL=C
export LC_ALL
here=$(cd "$(dirname "$0")/.." && pwd)
kept=$here/packaging/abi/libsched-1.abi
write=
[ "${1-}" != --write ] || { write=yes; shift; }
cd "${1:-$here}"

for need in abidw:abigail-tools abidiff:abigail-tools gcc:gcc; do
    command -v "${need%:*}" >/dev/null || { echo "abi: no ${need%:*} here (Debian: ${need#*:})"; exit 77; }
done
[ "$(uname -m)" = x86_64 ] || { echo "abi: packaging/abi/libsched-1.abi is that of x86-64, and this is $(uname -m)"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
symbols=$(sed -n 's/^ *\(sched_[a-z_0-9]*\);/\1/p' src/sched.map)

# Each prototype, with a body. sched_inline.h has macros with the names of three functions.
{
    echo '#include <sched_io.h>'
    echo '#include <sched_inline.h>'
    echo '#undef sched_spawn'
    echo '#undef sched_fork'
    echo '#undef sched_join'
    printf '#include <sched_io.h>\n#include <sched_inline.h>\n' | gcc -E -P -Iinclude -x c - | tr '\n' ' ' | awk -v RS=';' -v symbols="$symbols" '
        BEGIN { split(symbols, list, /[ \n]+/); for (i in list) exported[list[i]] = 1 }
        {
            gsub(/__attribute__ *\(\([^()]*\)\)/, "")
            if ($0 ~ /[{}=]/ || $0 ~ /^ *return/ || !match($0, /sched_[a-z_0-9]* *\(/))
                next
            name = substr($0, RSTART, RLENGTH); sub(/ *\($/, "", name)
            if (name in exported)
                print $0 "{ __builtin_trap(); }"
        }'
} > "$work/twin.c"
found=$(grep -c __builtin_trap "$work/twin.c")
wanted=$(echo "$symbols" | wc -l)
[ "$found" = "$wanted" ] || { echo "abi: the headers declare $found of the $wanted functions of src/sched.map"; exit 1; }

tree=$PWD
(cd "$work" && gcc -g -O0 -w -fPIC -shared -nostdlib -Wl,-soname,libsched.so.1 "-Wl,--version-script=$tree/src/sched.map" \
    "-I$tree/include" -o libsched.so.1 twin.c)
describe() { abidw --no-corpus-path --no-comp-dir-path --no-show-locs "$1"; }
if [ -n "$write" ]; then
    describe "$work/libsched.so.1" > "$kept"
    echo "abi: $kept has $found functions"
    exit
fi
describe "$work/libsched.so.1" > "$work/libsched-1.abi"
abidiff --no-added-syms --suppressions "$here/packaging/abi/growing.suppr" "$kept" "$work/libsched-1.abi" ||
    { echo "abi: programs that were compiled before would not run with this library"; exit 1; }
echo "abi: $found functions, and those of the last release are as they were"
