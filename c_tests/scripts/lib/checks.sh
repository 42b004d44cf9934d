# Functions for the scripts in the folder above. A command that they run leaves its output in the file out and its
# messages in the file error.

# The messages and the order of files and lines are those of the locale C, and no variable of the user's has options.
export LC_ALL=C
unset CDPATH GZIP POSIXLY_CORRECT TAR_OPTIONS

fail() { echo "$*"; exit 1; }

# more WORD...: prints the words if SCRIPTS is set, as by make scripts. In make test, which has less time, it prints nothing.
more() { [ -z "${SCRIPTS-}" ] || printf '%s\n' "$*"; }

# needs COMMAND PACKAGE: without the command the test is skipped.
needs() { command -v "$1" > /dev/null || { echo "no $1 here (Debian: $2)"; exit 77; }; }

needs_cxx() { [ -n "${CXX-}" ] || { echo "no C++ compiler here (Debian: g++)"; exit 77; }; }

# needs_program NAME: without that program of programs/ the test is skipped.
needs_program() { [ -x "$TARGET/programs/$1" ] || { echo "$1 is not built: make programs says why"; exit 77; }; }

# quietly COMMAND...: it succeeds; what it says is shown only if it fails.
quietly() { "$@" > out 2>&1 || { cat out; fail "$* failed"; }; }

# ended STATUS COMMAND...: the command ends with that status.
ended() {
    wanted=$1 status=0
    shift
    "$@" > out 2> error || status=$?
    [ $status = "$wanted" ] || { cat error; fail "$*: status $status instead of $wanted"; }
}

# said WORDS: the messages have them.
said() { grep -q -e "$1" error || { cat error; fail "no message with \"$1\""; }; }

# output_full COMMAND...: on a full device the command ends with status 2 and says why.
output_full() {
    status=0
    "$@" > /dev/full 2> error || status=$?
    [ $status = 2 ] || { cat error; fail "$* > /dev/full: status $status instead of 2"; }
    said 'standard output: No space left on device'
}

# reader_gone COMMAND...: the command ends by SIGPIPE when its reader has ended. env undoes that SIGPIPE is ignored.
reader_gone() {
    default=
    ! env --default-signal=PIPE true 2> error || default='env --default-signal=PIPE'
    { status=0; $default "$@" 2> error || status=$?; echo $status > ended; } | head -n 1 > out
    [ "$(cat ended)" = 141 ] || { cat error; fail "$* | head: status $(cat ended) instead of 141 (SIGPIPE)"; }
}

# same WHAT EXPECTED GOT
same() { [ "$2" = "$3" ] || { printf '%s:\n%s\ninstead of:\n%s\n' "$1" "$3" "$2"; exit 1; }; }

# linked FOLDER PREFIX: in the folder, c-shared and cpp-shared are linked with the prefix's libsched.so.1, and c-static
# and cpp-static with no shared one.
linked() {
    for language in c cpp; do
        found=$(ldd "$1/$language-shared" | sed -n 's/.*libsched.so.1 => \([^ ]*\).*/\1/p')
        same "the library of $1/$language-shared" "$(realpath "$2/lib/libsched.so.1")" "$(realpath "$found")"
        ! ldd "$1/$language-static" | grep libsched || fail "$1/$language-static is linked with the shared library"
    done
}

# cmake_said WORDS: they are in CMake's messages in the file out, which breaks lines between words.
cmake_said() { tr -s ' \n' ' ' < out | grep -q -e "$1" || { cat out; fail "not said: $1"; }; }
