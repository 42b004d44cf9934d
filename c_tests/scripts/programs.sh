# Each program in programs/ has a manual page, --help and --version, refuses an option that it does not have with
# status 2, notices that its output cannot be written, and has at most 400 lines.
. "$ROOT/c_tests/scripts/lib/checks.sh"
version=$(pkg-config --modversion libsched)
for source in "$ROOT"/programs/*.c; do
    name=$(basename "$source" .c)
    [ "$(wc -l < "$source")" -le 400 ] || fail "$name.c has more than 400 lines"
    [ -s "$ROOT/programs/$name.1" ] || fail "there is no programs/$name.1"
    program=$TARGET/programs/$name
    [ -x "$program" ] || continue # make programs said why
    ended 0 "$program" --version
    same "$name --version" "$name (libsched) $version" "$(cat out)"
    ended 2 "$program" --no-such-option < /dev/null
    output_full "$program" --help
    ended 0 "$program" --help
    grep -q "^usage: $name" out || { cat out; fail "$name --help does not begin with its usage"; }
    # --help and the manual page have the same long options.
    grep -o -e '--[a-z][a-z-]*' out | sort -u > said
    sed 's/\\-/-/g' "$ROOT/programs/$name.1" | grep -o -e 'Fl -[a-z][a-z-]*' | sed 's/Fl /-/' | sort -u > described
    diff said described || fail "$name: other options in --help (<) than in the manual page (>)"
done
