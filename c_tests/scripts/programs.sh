# Each program in programs/ has a manual page, --help and --version, refuses an option that it does not have with
# status 2 and one line, notices that its output cannot be written, and has at most 400 lines.
for source in "$ROOT"/programs/*.c; do
    [ -e "$source" ] || continue
    name=$(basename "$source" .c)
    [ "$(wc -l < "$source")" -le 400 ] || { echo "$name.c has more than 400 lines"; exit 1; }
    [ -s "$ROOT/programs/$name.1" ] || { echo "programs/$name.1 is not there"; exit 1; }
    program=$TARGET/programs/$name
    [ -x "$program" ] || continue # make programs said why
    "$program" --help > help || { echo "$name --help failed"; exit 1; }
    grep -q "^usage: $name" help || { echo "$name --help says:"; cat help; exit 1; }
    version=$(pkg-config --modversion libsched)
    [ "$("$program" --version)" = "$name (libsched) $version" ] || { echo "$name --version: $("$program" --version)"; exit 1; }
    status=0
    "$program" --no-such-option > out 2> error < /dev/null || status=$?
    [ $status = 2 ] || { echo "$name --no-such-option: status $status instead of 2"; exit 1; }
    status=0
    "$program" --help > /dev/full 2> error || status=$?
    [ $status = 2 ] || { echo "$name --help > /dev/full: status $status instead of 2"; exit 1; }
    # Each long option of --help stands in the manual page, and the other way round.
    grep -o -e '--[a-z][a-z-]*' help | sort -u > said
    sed 's/\\-/-/g' "$ROOT/programs/$name.1" | grep -o -e 'Fl -[a-z][a-z-]*' | sed 's/Fl /-/' | sort -u > described
    cmp -s said described || { echo "$name: options of --help and of the page:"; diff said described || :; exit 1; }
done
