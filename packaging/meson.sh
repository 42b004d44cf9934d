#!/bin/sh
# Called by meson.build:
#   meson.sh build   FOLDER MAKE SOURCE CARGO RUSTC TRIPLE CC               builds the library and copies it to FOLDER
#   meson.sh install FOLDER MAKE SOURCE CARGO RUSTC TRIPLE CC VARIABLE...   make install, with DESTDIR as Meson has it
# cargo builds in CARGO_TARGET_DIR, or else in FOLDER/cargo. TRIPLE, if it is not empty, is another processor's.
set -eu

what=$1 folder=$2 make=$3 source=$4 cargo=$5 triple=$7 cc=$8
export RUSTC="$6" PATH="$(dirname "$cargo"):$PATH"
unset MAKEFLAGS MFLAGS MAKELEVEL CARGO_BUILD_TARGET
shift 8

case $folder in /*) ;; *) folder=$PWD/$folder ;; esac
target=${CARGO_TARGET_DIR:-$folder/cargo}
case $target in /*) ;; *) target=$PWD/$target ;; esac
make() {
    "$make" --no-print-directory -s -C "$source" CARGO="$cargo" CARGO_TARGET_DIR="$target" CC="$cc" WITH_DEBUG= \
        ${triple:+"CARGO_BUILD_TARGET=$triple"} "$@"
}

if [ "$what" = install ]; then
    make install DESTDIR="${DESTDIR-}" "$@"
    exit
fi

make lib
# A file that has not changed stays, so that nothing is linked anew.
built=$target/${triple:+$triple/}release/lean
for file in libsched.so.1 libsched.a; do
    cmp -s "$built/$file" "$folder/$file" || cp "$built/$file" "$folder/$file"
done
[ -e "$folder/libsched.so" ] || ln -s libsched.so.1 "$folder/libsched.so"
