#!/bin/sh
# The second part of make dist: OUT/libsched-VERSION-x86_64-linux.tar.gz, for those who have no Rust: what make install
# installs, without the debug library. The tree may be moved; unpacked in /usr/local, it is that of make install.
# It is built of a tarball of packaging/dist.sh, without a network, and has the same bytes as often as the library has.
#
# The library runs with the C library of Debian 12 and all newer ones: packaging/try-binary.sh fails if it needs more.
#
# Usage: packaging/binary.sh TARBALL OUT. Environment: CARGO.
set -eu
umask 022
LC_ALL=C
export LC_ALL
[ "$(uname -m)" = x86_64 ] || { echo "binary: the archive is one for x86-64, and this is $(uname -m)"; exit 77; }
unset MAKEFLAGS MAKELEVEL MFLAGS CARGO_TARGET_DIR CARGO_BUILD_TARGET RUSTFLAGS CARGO_ENCODED_RUSTFLAGS || :
unset CFLAGS CPPFLAGS LDFLAGS || :

here=$(cd "$(dirname "$0")" && pwd)
tarball=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
source=$(basename "$tarball" .tar.xz)
name=$source-x86_64-linux
work=$out/work
rm -rf "$work"
mkdir -p "$work/root"
tar -x -C "$work" -f "$tarball"
time=$(stat -c %Y "$work/$source/Cargo.lock")

CARGO_HOME=$work/cargo CARGO_NET_OFFLINE=true make -s -C "$work/$source" install CARGO="${CARGO:-cargo}" WITH_DEBUG= \
    PREFIX=/usr/local DESTDIR="$work/root"
if grep -r -l -F "$work" "$work/root"; then
    echo "binary: the above contains a path of the build"
    exit 1
fi
mv "$work/root/usr/local" "$work/$name"
tar -c -C "$work" --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --format=gnu \
    "$name" | gzip -9 -n > "$work/$name.tar.gz"
"$here/try-binary.sh" "$work/$name.tar.gz"
mv "$work/$name.tar.gz" "$out/"
rm -rf "$work"
(cd "$out" && sha256sum "$name.tar.gz" >> SHA256SUMS)
echo "$out/$name.tar.gz: $(stat -c %s "$out/$name.tar.gz") bytes"
