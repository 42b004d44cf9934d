#!/bin/sh
# make dist: OUT/libsched-VERSION.tar.xz and its checksum. The tarball has the tree of git's HEAD, and in vendor/ the
# crates that the library, its tests and its tools are built of, so that it builds without a network. Without git, in
# an unpacked tarball, it has the files of the folder; if none of them has changed, it has the same bytes.
#
# The bytes depend on the commit and on the versions of cargo, tar and xz alone: names are sorted, the owner is 0, and
# all times are SOURCE_DATE_EPOCH or, without it, that of the commit. xz runs with -T4: several threads write the same
# bytes for any number of threads and of processors, but one thread writes others.
#
# Usage: packaging/dist.sh OUT. Environment: CARGO.
set -eu
umask 022
LC_ALL=C
export LC_ALL
# The tarball does not depend on make's variables, or on the folders and flags of other builds.
unset MAKEFLAGS MAKELEVEL MFLAGS CARGO_TARGET_DIR CARGO_BUILD_TARGET RUSTFLAGS CARGO_ENCODED_RUSTFLAGS || :

cd "$(dirname "$0")/.."
mkdir -p "$1"
out=$(cd "$1" && pwd)
cargo=${CARGO:-cargo}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=libsched-$version
work=$out/work
tree=$work/$name
rm -rf "$work"
mkdir -p "$tree"

if git rev-parse --git-dir >/dev/null 2>&1 && [ "$(git rev-parse --show-toplevel)" = "$(pwd -P)" ]; then
    time=$(git log -1 --format=%ct HEAD)
    [ -z "$(git status --porcelain)" ] || echo "dist: changes that are not committed are left out"
    git archive HEAD | tar -x -C "$tree"
else
    time=$(stat -c %Y Cargo.lock)
    tar -c --exclude=./target --exclude=./bench_c/results --exclude='./bench_c/peers/*/target' . | tar -x -C "$tree"
fi

# The crates that a package needs on one of these systems, with one of these RUSTFLAGS. Usage: needed FOLDER FLAGS...
needed() {
    manifest=$tree/$1/Cargo.toml
    shift
    for system in x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu; do
        for flags in "$@"; do
            RUSTFLAGS=$flags "$cargo" tree --quiet --locked --manifest-path "$manifest" --workspace --target $system \
                --edges normal,build,dev --prefix none --format '{p}'
        done
    done
}

# `cargo vendor` takes all crates of Cargo.lock, also those for other systems. Of these only the manifests are kept,
# which cargo reads.
if ! [ -d "$tree/vendor" ]; then
    mkdir "$tree/.cargo"
    (cd "$tree" && "$cargo" vendor --quiet --locked --versioned-dirs --sync bench_c/peers/rust/Cargo.toml \
        --sync bench_c/peers/forte/Cargo.toml vendor)
    cat > "$tree/.cargo/config.toml" <<'END'
[source.crates-io]
replace-with = "vendor"

[source.vendor]
directory = "vendor"
END
    { needed . "" "--cfg loom"; needed bench_c/peers/rust ""; needed bench_c/peers/forte ""; } |
        sed -n 's/^\([^ ]*\) v\([^ ]*\).*/\1-\2/p' | sort -u > "$work/needed"
    for crate in "$tree"/vendor/*; do
        if ! grep -q -F -x -e "${crate##*/}" "$work/needed"; then
            find "$crate" -mindepth 1 -maxdepth 1 ! -name Cargo.toml ! -name .cargo-checksum.json -exec rm -rf {} +
            sed -i 's/"files":{.*},"package"/"files":{},"package"/' "$crate/.cargo-checksum.json"
            mkdir "$crate/src"
            : > "$crate/src/lib.rs"
        fi
    done
fi

tar -c -C "$work" --sort=name --mtime="@${SOURCE_DATE_EPOCH:-$time}" --owner=0 --group=0 --numeric-owner \
    --mode=u=rwX,go=rX --format=gnu "$name" | xz -6 -T4 > "$work/$name.tar.xz"
mv "$work/$name.tar.xz" "$out/"
rm -rf "$work"
(cd "$out" && sha256sum "$name.tar.xz" > SHA256SUMS)
echo "$out/$name.tar.xz: $(stat -c %s "$out/$name.tar.xz") bytes"
