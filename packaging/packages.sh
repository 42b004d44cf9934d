#!/bin/sh
# make packages: checks that the tarball and the packages are what docs/INSTALL.md and docs/ABI.md say.
# 1. A tarball that is made of the unpacked tarball, in another folder, has the same bytes.
# 2. The tarball builds without a network and with its own crates alone; a part of the tests passes; and the library has
#    the same bytes as that of this tree.
# 3. The Debian packages are the same when they are built in another folder, at another time; lintian finds nothing.
# 4. In a new, minimal Debian system the packages install, one line compiles a program, the program runs, and no file is
#    left when the packages are removed. This needs root, debootstrap and a mirror.
# 5. The rpm packages install, and a program compiles with them.
#
# Usage: packaging/packages.sh LIBRARY WORK: this tree's libsched.so.1, and a folder for all that is built. Environment:
# CARGO; DEBIAN_MIRROR.
set -eu
library=$(realpath "$1")
rm -rf "$2"
mkdir -p "$2"
work=$(realpath "$2")
cd "$(dirname "$0")/.."
unset MAKEFLAGS MAKELEVEL MFLAGS DESTDIR CARGO_TARGET_DIR CARGO_BUILD_TARGET SOURCE_DATE_EPOCH || :
unset RUSTFLAGS CFLAGS CPPFLAGS LDFLAGS || :
fail() { echo "packages: $1"; exit 1; }
skip() { echo "packages: $1: skipped"; }
same() { cmp "$1" "$2" || fail "$1 and $2 differ"; }

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=libsched-$version

echo "1 of 5: the tarball"
packaging/dist.sh "$work/dist"
tarball=$work/dist/$name.tar.xz
(cd "$work/dist" && sha256sum --quiet -c SHA256SUMS) || fail "SHA256SUMS is not that of the tarball"
mkdir "$work/elsewhere"
tar -x -C "$work/elsewhere" -f "$tarball"
(umask 077 && cd "$work/elsewhere/$name" && TZ=Pacific/Auckland packaging/dist.sh "$work/again")
same "$tarball" "$work/again/$name.tar.xz"

echo "2 of 5: a build without a network"
(
    cd "$work/elsewhere/$name"
    export CARGO_HOME="$work/cargo" CARGO_NET_OFFLINE=true
    make -s stage programs
    mkdir -p target/bench
    cargo run --quiet --package sched-ctest -- --prefix "$PWD/target/stage" \
        --bench "$PWD/target/bench" --filter symbols
)
# (The records of other gates are not in the library.)
if [ -n "$(git status --porcelain -- . ':!docs/trust' ':!docs/TRUST.md' 2>&1)" ]; then
    skip "this tree is not git's HEAD, so its library is not compared"
else
    same "$library" "$work/elsewhere/$name/target/release/lean/libsched.so.1"
    echo "packages: libsched.so.1 is the same when it is built in another folder, with the crates of vendor/"
fi
rm -rf "$work/elsewhere" "$work/cargo"

echo "3 of 5: Debian packages"
debian=yes
packaging/deb.sh "$tarball" "$work/deb" || { [ $? = 77 ] && debian= || fail "no Debian packages"; }
if [ -n "$debian" ]; then
    again=$work/another-place/$(date +%s)
    (umask 027 && TZ=Pacific/Auckland LC_ALL=C packaging/deb.sh "$tarball" "$again" >/dev/null) ||
        fail "the second build fails"
    for package in "$work"/deb/*.deb; do
        same "$package" "$again/${package##*/}"
    done
    (cd "$again" && sha256sum ./*.deb)
    echo "packages: the Debian packages are the same when they are built in another folder, at another time"
    rm -rf "$work/another-place"
fi

echo "4 of 5: a new Debian system"
root=$work/root
if [ -z "$debian" ]; then
    skip "no Debian packages"
elif [ "$(id -u)" != 0 ]; then
    skip "only root can make a Debian system"
elif ! command -v debootstrap >/dev/null; then
    skip "no debootstrap here (Debian: debootstrap)"
else
    suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")
    debootstrap --variant=minbase --include=gcc,libc6-dev,pkgconf "$suite" "$root" \
        ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} > "$work/debootstrap.log" 2>&1 ||
        { tail "$work/debootstrap.log"; fail "debootstrap fails: $work/debootstrap.log"; }
    inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"; }
    files() { (cd "$root" && find usr etc lib* -name '*sched*' | sort); }
    files > "$work/before"
    mkdir "$root/packages"
    cp "$work"/deb/*.deb packaging/debian/tests/compile "$root/packages/"
    inside sh -c 'cd /packages && apt-get install -y --no-install-recommends ./*.deb' > "$work/install.log" 2>&1 ||
        { tail "$work/install.log"; fail "the packages do not install: $work/install.log"; }
    inside dpkg -l 'libsched*' | sed -n 's/^ii *//p'
    inside /packages/compile || fail "what is installed does not work"
    inside dpkg --purge libsched-tools libsched-dev libsched1-dbgsym libsched-tools-dbgsym libsched1 \
        > "$work/purge.log" 2>&1 ||
        { tail "$work/purge.log"; fail "the packages cannot be removed: $work/purge.log"; }
    files | diff "$work/before" - || fail "the above is left when the packages are removed"
    rm -rf "$root"
fi

echo "5 of 5: rpm packages"
rpms=yes
packaging/rpm.sh "$tarball" "$work/rpm" || { [ $? = 77 ] && rpms= || fail "no rpm packages"; }
if [ -n "$rpms" ]; then
    (
        cd "$work/rpm"
        for package in *.rpm; do
            rpm2archive - < "$package" | tar -xz
        done
        pc=$(find "$PWD/usr" -name libsched.pc)
        export PKG_CONFIG_PATH="${pc%/libsched.pc}"
        LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
        export LD_LIBRARY_PATH
        example=$(find usr -name hello_for.c)
        cc "$example" $(pkg-config --cflags --libs libsched) -o hello
        ./hello
    )
fi
echo "packages: all is well"
