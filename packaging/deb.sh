#!/bin/sh
# make deb: builds the Debian packages of a tarball of packaging/dist.sh in the folder OUT, and runs lintian on them.
# The packages depend on the tarball and the compilers, and not on OUT or the time.
#
# With -d, dpkg-buildpackage does not check the build dependencies: they name Rust 1.85, Debian 12 has an older one,
# and cargo may be that of rustup. (packaging/packages.sh installs them, in Debian 13.)
#
# Usage: packaging/deb.sh TARBALL OUT
set -eu
tarball=$(realpath "$1")
out=$2
for need in dpkg-buildpackage:dpkg-dev dh:debhelper; do
    command -v "${need%:*}" >/dev/null || { echo "deb: no ${need%:*} here (Debian: ${need#*:})"; exit 77; }
done
# Variables of other builds do not apply to this one.
unset MAKEFLAGS MAKELEVEL MFLAGS DESTDIR CARGO_TARGET_DIR CARGO_BUILD_TARGET SOURCE_DATE_EPOCH || :
unset RUSTFLAGS CFLAGS CPPFLAGS LDFLAGS || :

name=$(basename "$tarball" .tar.xz)
rm -rf "$out"
mkdir -p "$out"
cd "$out"
cp "$tarball" "libsched_${name#libsched-}.orig.tar.xz"
tar -x -f "$tarball"
cd "$name"
packaging/check.sh
cp -R packaging/debian debian
dpkg-buildpackage -us -uc -b -d > ../build.log 2>&1 ||
    { tail -n 40 ../build.log; echo "deb: see $out/build.log"; exit 1; }
cd ..
for package in *.deb; do
    echo "$PWD/$package: $(stat -c %s "$package") bytes"
done
if command -v lintian >/dev/null; then
    # Root may run lintian on what was built here. The project has no address of its own: who builds the packages is their
    # maintainer.
    lintian --allow-root --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog,root-in-contact \
        --fail-on error,warning ./*.changes || { echo "deb: lintian finds the above"; exit 1; }
    echo "deb: lintian finds nothing"
else
    echo "deb: no lintian here (Debian: lintian)"
fi
