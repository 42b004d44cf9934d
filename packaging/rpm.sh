#!/bin/sh
# make rpm: builds the rpm packages of a tarball of packaging/dist.sh in the folder OUT.
#
# On a system whose packages are not rpm's (Debian), rpmbuild does not check the build dependencies (--nodeps).
#
# Usage: packaging/rpm.sh TARBALL OUT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tarball=$(realpath "$1")
command -v rpmbuild >/dev/null || { echo "rpm: no rpmbuild here (Debian: rpm; Fedora: rpm-build)"; exit 77; }
# Variables of other builds do not apply to this one.
unset MAKEFLAGS MAKELEVEL MFLAGS DESTDIR CARGO_TARGET_DIR CARGO_BUILD_TARGET RUSTFLAGS CFLAGS CPPFLAGS LDFLAGS || :

rm -rf "$2"
mkdir -p "$2"
cd "$2"
nodeps=
rpm -q rpm >/dev/null 2>&1 || nodeps=--nodeps
rpmbuild $nodeps -bb --define "_topdir $PWD" --define "_sourcedir $(dirname "$tarball")" --define "_rpmdir $PWD" \
    --define '_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' "$here/libsched.spec" > build.log 2>&1 ||
    { tail -n 40 build.log; echo "rpm: see $PWD/build.log"; exit 1; }
rm -rf BUILD BUILDROOT
for package in *.rpm; do
    echo "$PWD/$package: $(stat -c %s "$package") bytes"
done
