# packaging/check.sh finds nothing, and finds each mistake that is planted in a copy. The lists of the Debian packages
# name all that `make install` and `make install-programs` install, and nothing else.
. "$ROOT/c_tests/scripts/lib/checks.sh"
"$ROOT/packaging/check.sh"

planted() {
    rm -rf tree
    mkdir tree
    (cd "$ROOT" && tar -c Cargo.toml ./*.md docs/INSTALL.md src/sched.map packaging programs) | tar -x -C tree
}
# refused WORDS: packaging/check.sh fails on the copy, and its output has the words.
refused() {
    ! "$ROOT/packaging/check.sh" tree > out || fail "not found: $1"
    grep -q -e "$1" out || { cat out; fail "the above has not \"$1\""; }
}

planted
sed -i '/sched_sem_wait;/d' tree/src/sched.map
refused 'has sched_sem_wait@LIBSCHED_1, and src/sched.map does not'
planted
sed -i 's/^ *sched_sem_wait;/&\n    sched_planted;/' tree/src/sched.map
refused 'src/sched.map adds sched_planted@LIBSCHED_1 to a version'
planted
printf 'LIBSCHED_2 {\n  global:\n    sched_planted;\n} LIBSCHED_1;\n' >> tree/src/sched.map
version=$(sed -n 's/^version = "\(.*\)"/\1/p;T;q' tree/Cargo.toml)
"$ROOT/packaging/check.sh" --symbols tree > out
for line in "LIBSCHED_2@LIBSCHED_2 $version" "sched_planted@LIBSCHED_2 $version" 'sched_sort@LIBSCHED_1 1.0.0'; do
    grep -q -F -x -e " $line" out || { cat out; fail "Debian's list of symbols has not \"$line\""; }
done
planted
sed -i '0,/^version = .*/s//version = "1.2.3"/' tree/Cargo.toml
refused 'packaging/debian/changelog has version .*, and Cargo.toml 1.2.3'
refused 'libsched.spec has version .*, and Cargo.toml 1.2.3'
refused 'CHANGELOG.md has no section 1.2.3'
planted
sed -i 's/^rust-version = .*/rust-version = "1.99"/' tree/Cargo.toml
refused 'packaging/debian/control does not ask for rustc 1.99'
refused 'libsched.spec does not ask for rust 1.99'
refused 'docs/INSTALL.md does not ask for Rust 1.99'
planted
echo '/* pkg-config: planted (libplanted-dev) */' > tree/programs/planted.c
refused 'planted.c needs libplanted-dev, which is not in Build-Depends'
refused 'planted.c needs pkgconfig(planted)'
planted
mkdir -p tree/vendor/planted-1.0.0/src
printf '[package]\nname = "planted"\nlicense = "Zlib"\n' > tree/vendor/planted-1.0.0/Cargo.toml
echo '//' > tree/vendor/planted-1.0.0/src/lib.rs
refused 'vendor/planted-1.0.0 has licence "Zlib", and packaging/debian/copyright says "Apache-2.0 MIT"'

# Other tests run beside this one, so nothing is built here: this cargo fails.
cat > cargo-version <<'END'
#!/bin/sh
[ "$1" = --version ] && exec cargo --version
echo "make stage first"
exit 1
END
chmod +x cargo-version
quietly make -C "$ROOT" -s install CARGO="$PWD/cargo-version" CARGO_TARGET_DIR="$TARGET" DESTDIR="$PWD/root" PREFIX=/usr \
    LIBDIR=/usr/lib/triplet DOCDIR=/usr/share/doc/libsched-dev WITH_DEBUG=
quietly make -C "$ROOT/programs" -s install OUT="$TARGET/programs" DESTDIR="$PWD/root" BINDIR=/usr/bin MANDIR=/usr/share/man
cat "$ROOT"/packaging/debian/*.install "$ROOT/packaging/debian/not-installed" > lists
set -f
while read -r pattern; do
    set +f
    found=$(cd root && ls -d $pattern 2>/dev/null) || :
    set -f
    [ -n "$found" ] || fail "packaging/debian/*.install has $pattern, which make install does not install"
done < lists
(cd root && find . ! -type d) | sed 's|^\./||' > files
while read -r file; do
    listed=
    while read -r pattern; do
        case $file in $pattern | $pattern/*) listed=yes ;; esac
    done < lists
    [ -n "$listed" ] || fail "make install installs $file, which packaging/debian/*.install does not have"
done < files
