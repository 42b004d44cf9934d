#!/bin/sh
# Checks what the releases and the packages promise, as far as files show it:
# - src/sched.map keeps the symbols of each release (packaging/abi/symbols-VERSION.txt) under their versions, and adds none
#   to those;
# - the files of the packages have the version and the oldest Rust of Cargo.toml, and three pages that Rust;
# - the build dependencies of the packages have the libraries that the programs of programs/ need;
# - in an unpacked tarball: the licences of vendor/ are those that packaging/debian/copyright names.
#
# Usage: packaging/check.sh [FOLDER]; with --write instead it writes packaging/abi/symbols-VERSION.txt: at a release;
# with --symbols it prints Debian's list of the symbols of src/sched.map, each since the release that brought it
LC_ALL=C
export LC_ALL
write= list_symbols=
case ${1-} in
    --write) write=yes; shift ;;
    --symbols) list_symbols=yes; shift ;;
esac
cd "${1:-$(dirname "$0")/..}" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
wrong=0
say() { echo "packages: $1"; wrong=1; }

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

# SYMBOL@VERSION, for each symbol of src/sched.map.
symbols=$(sed 's|/\*.*\*/||' src/sched.map |
          awk '/{/ { node = $1 } /^ *(lib)?sched_[a-z0-9_]*;/ { sub(/;.*/, ""); print $1 "@" node }' | sort)
[ -n "$symbols" ] || say "no symbol in src/sched.map"
[ -z "$write" ] || echo "$symbols" > "packaging/abi/symbols-$version.txt"

# The releases, the first one first; and each of their symbols with the release that brought it.
lists=$(ls packaging/abi/symbols-*.txt | sort -V)
for list in $lists; do
    sort "$list" > "$work/was"
    # The symbols of src/sched.map whose versions this release has.
    echo "$symbols" | awk -F @ -v list="$list" '
        BEGIN { while ((getline line < list) > 0) { sub(/.*@/, "", line); has[line] = 1 } } $2 in has' > "$work/is"
    for symbol in $(comm -23 "$work/was" "$work/is"); do
        say "$list has $symbol, and src/sched.map does not: programs need it"
    done
    for symbol in $(comm -13 "$work/was" "$work/is"); do
        say "src/sched.map adds $symbol to a version of $list: a new symbol gets a version of its own"
    done
    sed "s/\$/ $(basename "${list#packaging/abi/symbols-}" .txt)/" "$list" >> "$work/since"
done
[ -z "$list_symbols" ] || {
    printf 'libsched.so.1 libsched1 #MINVER#\n* Build-Depends-Package: libsched-dev\n'
    { cat "$work/since"; echo "$symbols"; } | awk -v current="$version" '
        { node = $1; sub(/.*@/, "", node) }
        NF == 2 { if (!($1 in since)) since[$1] = $2; if (!(node in since)) since[node] = $2; next }
        { print " " $1, $1 in since ? since[$1] : current; nodes[node] = 1 }
        END { for (node in nodes) print " " node "@" node, node in since ? since[node] : current }' | sort
    exit $wrong
}

debian=$(sed -n '1s/^libsched (\([^)]*\)-[^-]*).*/\1/p' packaging/debian/changelog)
[ "$debian" = "$version" ] || say "packaging/debian/changelog has version $debian, and Cargo.toml $version"
rpm=$(sed -n 's/^Version: *//p' packaging/libsched.spec)
[ "$rpm" = "$version" ] || say "packaging/libsched.spec has version $rpm, and Cargo.toml $version"
grep -q -F "## $version (" CHANGELOG.md || say "CHANGELOG.md has no section $version"
for tool in cargo rustc; do
    grep -q "[ ]$tool (>= $rust)" packaging/debian/control || say "packaging/debian/control does not ask for $tool $rust"
done
grep -q "^BuildRequires: .*rust >= $rust" packaging/libsched.spec ||
    say "packaging/libsched.spec does not ask for rust $rust"
for page in README.md CONTRIBUTING.md docs/INSTALL.md; do
    grep -q -F "Rust $rust or newer" "$page" || say "$page does not ask for Rust $rust"
done

for program in programs/*.c; do
    case $program in programs/mpi_* | 'programs/*.c') continue ;; esac
    sed -n '1,12s/.*pkg-config: \([^ ]*\) (\([^)]*\)).*/\1 \2/p' "$program" > "$work/needs"
    while read -r library package; do
        sed -n '/^Build-Depends:/,/^[A-Z][a-z-]*:.*[^,]$/p' packaging/debian/control | grep -q -e "[ ]$package[,]*\$" ||
            say "$program needs $package, which is not in Build-Depends of packaging/debian/control"
        grep -q -F "BuildRequires: pkgconfig($library)" packaging/libsched.spec ||
            say "$program needs pkgconfig($library), which packaging/libsched.spec does not ask for"
    done < "$work/needs"
done

# The licences of an expression, sorted; "MIT/Apache-2.0" is an old way to write "MIT OR Apache-2.0".
licences() {
    sed 's|/| or |g; s/[(),]//g; s/ OR / or /g; s/ AND / and /g; s/ WITH /-with-/g; s/ or /\n/g; s/ and /\n/g' |
        sort | paste -s -d ' ' -
}
# A crate that no supported system needs consists of its manifest.
if [ -d vendor ]; then
    for manifest in vendor/*/Cargo.toml; do
        crate=${manifest%/Cargo.toml}
        [ -n "$(find "$crate" -name '*.rs' -size +0)" ] || continue
        plain=$(echo "${crate#vendor/}" | sed 's/-[0-9][0-9.]*\(+.*\|-.*\)\{0,1\}$//')
        has=$(sed -n 's/^license = "\(.*\)"/\1/p' "$manifest" | licences)
        said=$(awk -v name="vendor/$plain-*" '
            /^Files:/ { files = 1; matched = 0 } /^[A-Z][a-z-]*:/ && !/^Files:/ { files = 0 }
            files { for (i = 1; i <= NF; i++) if ($i == name || $i == "vendor/*") matched = 1 }
            /^License:/ && matched { sub(/^License: /, ""); last = $0; matched = 0 }
            END { print last }' packaging/debian/copyright | licences)
        [ "$has" = "$said" ] || say "$crate has licence \"$has\", and packaging/debian/copyright says \"$said\""
    done
fi
exit $wrong
