#!/bin/sh
# make bench-floor: compare.sh FOLDER runs the programs of bench_c in FOLDER on the library and, in turn, on the least that
# their interface can cost: tree on a bare stack; on x86-64 flood on the least that continuation stealing can cost; and
# touch on the memory of ten million queued tasks. The environment has CC and CFLAGS.
set -eu
here=$(dirname "$0")
bench=$1
floors=floor
[ "$(uname -m)" != x86_64 ] || floors='floor cont'
for floor in $floors; do
    mkdir -p "$bench/floor/$floor"
    $CC -std=c11 $CFLAGS -Wall -Wextra -Wpedantic -Werror -shared -fPIC -Wl,-soname,libsched.so.1 \
        "-Wl,--version-script=$here/../../src/sched.map" -Wl,-z,nodelete -o "$bench/floor/$floor/libsched.so.1" "$here/$floor.c"
done
$CC -std=c11 $CFLAGS -Wall -Wextra -Wpedantic -Werror -o "$bench/floor/touch" "$here/touch.c"

for round in 1 2 3 4 5 6 7; do
    "$bench/tree" -t 1
    SCHED_KIND=floor LD_LIBRARY_PATH="$bench/floor/floor" "$bench/tree" -t 1
    if [ "$floors" != floor ]; then
        SCHED_KIND=cont "$bench/flood" -t 1
        SCHED_KIND=floor LD_LIBRARY_PATH="$bench/floor/cont" "$bench/flood" -t 1
    fi
    "$bench/flood" -t 1 -n 10000000
    "$bench/floor/touch" -n 10000000
done
