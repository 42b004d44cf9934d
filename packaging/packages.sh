#!/bin/sh
# make packages: checks that the tarball and the packages are what docs/INSTALL.md and docs/ABI.md say.
# 1. A tarball that is made of the unpacked tarball, in another folder, has the same bytes.
# 2. The tarball builds without a network and with its own crates alone; a part of the tests passes; and the library has
#    the same bytes as that of this tree.
# 3. The binary archive has the same library. It works in Debian 12 and 13 with gcc alone.
# 4. The Debian packages are built by Debian 13's own cargo without a network; built in another folder, at another time,
#    they are the same; lintian finds nothing. In a minimal Debian 13 they install, one line compiles a program, the
#    program runs, and no file is left when the packages are removed.
# 5. The rpm packages install, and a program compiles with them.
# The Debian systems need root, debootstrap and a mirror. Without them the packages are built here, and the rest of 3 and
# 4 is skipped.
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
mkdir "$work/built"
mv "$work/elsewhere/$name"/target/release/lean/libsched.so.1 "$work/elsewhere/$name"/target/release/lean/libsched.a "$work/built"
rm -rf "$work/elsewhere" "$work/cargo"

# new_system SUITE: a minimal Debian with gcc, in $work/SUITE.
new_system() {
    debootstrap --variant=minbase --include=gcc,libc6-dev "$1" "$work/$1" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} \
        > "$work/$1.log" 2>&1 || { tail "$work/$1.log"; fail "debootstrap fails: $work/$1.log"; }
}
# inside ROOT COMMAND..., and the same without a network, and with /proc.
inside() {
    root=$1
    shift
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"
}
alone() {
    # The examples are their own clients: like Debian's builders, this has a loopback device, and no other.
    unshare --mount --net sh -c 'mount -t proc proc "$1/proc" || exit; root=$1; shift
        { ip link set lo up || ifconfig lo up; } 2>/dev/null; exec chroot "$root" env -i \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C "$@"' sh "$@"
}
# quietly LOG COMMAND...: shows the end of what it prints if it fails.
quietly() {
    log=$work/$1.log
    shift
    "$@" > "$log" 2>&1 || { tail -n 20 "$log"; fail "$log: $*"; }
}

systems=
if [ "$(id -u)" != 0 ]; then
    skip "only root can make a Debian system"
elif ! command -v debootstrap >/dev/null; then
    skip "no debootstrap here (Debian: debootstrap)"
elif ! unshare --mount --net true 2>/dev/null; then
    skip "no new namespaces here for a Debian system"
else
    systems=yes
fi

echo "3 of 5: the binary archive"
archive=$name-x86_64-linux
if [ "$(uname -m)" != x86_64 ]; then
    skip "no archive for $(uname -m)"
else
    packaging/binary.sh "$tarball" "$work/dist"
    tar -x -C "$work" -f "$work/dist/$archive.tar.gz"
    for file in libsched.so.1 libsched.a; do
        same "$work/built/$file" "$work/$archive/lib/$file"
    done
    rm -rf "${work:?}/$archive"
fi
for suite in ${systems:+bookworm trixie}; do
    new_system $suite
    [ -e "$work/dist/$archive.tar.gz" ] || continue
    cp packaging/try-binary.sh "$work/dist/$archive.tar.gz" "$work/$suite/root/"
    alone "$work/$suite" /root/try-binary.sh "/root/$archive.tar.gz"
done
rm -rf "$work/built" "$work/bookworm"

echo "4 of 5: Debian packages"
# The packages are built in the folder $top, which is $place for those who build.
top=$work place=$work
if [ -n "$systems" ]; then
    top=$work/build place=
    cp -a "$work/trixie" "$top"
    mkdir "$top/source"
    tar -x -C "$top/source" --strip-components=1 -f "$tarball"
    cp -R packaging/debian "$top/source/debian"
    cp "$tarball" "$top/"
    quietly needs inside "$top" sh -c 'apt-get update && apt-get install -y --no-install-recommends lintian &&
        cd source && apt-get build-dep -y --no-install-recommends .'
    inside "$top" sh -c 'cargo --version; rustc --version'
fi
# packages OUT UMASK VARIABLE=VALUE...
packages() {
    to=$place/$1 mask=$2
    shift 2
    if [ -n "$systems" ]; then
        alone "$top" env "$@" sh -c "umask $mask && exec /source/packaging/deb.sh /$name.tar.xz $to"
    else
        (umask "$mask" && env "$@" packaging/deb.sh "$tarball" "$to")
    fi
}
debian=yes
packages deb 022 TZ=UTC || { [ $? = 77 ] && debian= || fail "no Debian packages"; }
if [ -n "$debian" ]; then
    again=another-place/$(date +%s)
    packages "$again" 027 TZ=Pacific/Auckland LC_ALL=C >/dev/null || fail "the second build fails"
    for package in "$top"/deb/*.deb; do
        same "$package" "$top/$again/${package##*/}"
    done
    (cd "$top/$again" && sha256sum ./*.deb)
    echo "packages: the Debian packages are the same when they are built in another folder, at another time"
fi
if [ -n "$systems" ]; then
    root=$work/trixie
    files() { (cd "$work/trixie" && find usr etc lib* -name '*sched*' | sort); }
    quietly pkgconf inside "$root" sh -c 'apt-get update && apt-get install -y --no-install-recommends pkgconf'
    files > "$work/before"
    mkdir "$root/packages"
    cp "$top"/deb/*.deb packaging/debian/tests/compile "$root/packages/"
    quietly install inside "$root" sh -c 'cd /packages && apt-get install -y --no-install-recommends ./*.deb'
    inside "$root" dpkg -l 'libsched*' | sed -n 's/^ii *//p'
    inside "$root" /packages/compile || fail "what is installed does not work"
    quietly purge inside "$root" dpkg --purge libsched-tools libsched-dev libsched1-dbgsym libsched-tools-dbgsym libsched1
    files | diff "$work/before" - || fail "the above is left when the packages are removed"
    mv "$top/deb" "$work/deb"
    rm -rf "$work/trixie" "$top"
fi
rm -rf "$work/another-place"

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
