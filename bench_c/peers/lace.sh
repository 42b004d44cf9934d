#!/bin/sh
# Builds the peer lace from a checkout of Lace (https://github.com/trolando/lace), without its build system.
#
# Usage: lace.sh CHECKOUT OUT CC FLAGS...
set -eu
checkout=$1 out=$2 cc=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The statistics of Lace stay off, as by default.
sed -n 's/^#cmakedefine01 \(.*\)/#define \1 0/p' "$checkout/src/lace_config.h.in" > "$work/lace_config.h"
version=$(sed -n '/^project(/,/)/s/^ *VERSION \([0-9.]*\).*/\1/p' "$checkout/CMakeLists.txt")
"$cc" -std=c11 -O2 -w -D_GNU_SOURCE "-I$work" "-I$checkout/src" -c -o "$work/lace.o" "$checkout/src/lace.c"
"$cc" -std=c11 "$@" "-DLACE_VERSION=\"$version\"" "-isystem$work" "-isystem$checkout/src" -o "$out" lace.c "$work/lace.o" \
    -lm -pthread
