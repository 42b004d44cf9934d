# examples/make.c: prerequisites first, as many commands at a time as -j says, nothing after a failure, circles refused.
. "$ROOT/c_tests/scripts/lib/checks.sh"

quietly $CC -std=c11 -O2 -Wall -Wextra -Wpedantic -Werror -o small "$ROOT/examples/make.c" \
    $(pkg-config --cflags --libs libsched) "-Wl,-rpath,$PREFIX/lib"

# Each of the parts waits for the other one: they end only if both run at the same time.
cat > pair <<'END'
# A comment.
all: whole

whole: left right first
	cat first left right > whole
left: first
	echo left > one; cat two > left
right: first
	cat one > right; echo right > two
first:
	echo first > first
	sleep 0.1; echo last >> first
END
cat > many <<'END'
all: a b c d e f
END
for name in a b c d e f; do
    printf '%s:\n\techo begin >> log; sleep 0.1; echo end >> log\n' $name >> many
done
cat > fails <<'END'
all: good bad behind
	touch all
bad: good
	false
	touch after
behind: bad
	touch behind
good:
	touch good
END
cat > queue <<'END'
all: a b c d e f g h
END
for name in a b c d e f g h; do printf '%s:\n\techo %s >> began; false\n' $name $name >> queue; done
printf 'a: b\nb: c\n\techo never\nc: a\n' > circle
printf 'a: b none\nb:\n\techo b\n' > missing
printf 'a: b\n\ttouch a\nb c: d\n' > wrong
printf 'a: b\nb:\na: b\n' > twice
printf 'a: a\n\techo made\n' > itself

# most: the greatest number of commands in log that have run at the same time.
most() { awk '/begin/ { n++; if (n > most) most = n } /end/ { n-- } END { print most }' log; }

for kind in steal cont $(more lifo fifo); do
    export SCHED_KIND=$kind
    rm -f one two whole left right first
    mkfifo one two
    ended 0 ./small -j 2 pair
    same "$kind: whole" 'first last right left' "$(echo $(cat whole))"
    ended 0 ./small -j 2 pair
    same "$kind: what has not changed is not made" '' "$(cat out)"
    sleep 0.02
    touch left
    ended 0 ./small pair
    same "$kind: what has changed" 'cat first left right > whole' "$(cat out)"
    for jobs in 1 3; do
        rm -f log
        ended 0 ./small -j $jobs many
        [ "$(most)" -le $jobs ] || fail "$kind: $(most) commands at a time, with -j $jobs"
        same "$kind: commands with -j $jobs" 12 "$(wc -l < log)"
    done
    rm -f good
    ended 2 ./small fails
    said 'make: bad: a command has failed'
    for file in all after behind; do [ ! -e $file ] || fail "$kind: $file was made"; done
    [ -e good ]
    rm -f began
    ended 2 ./small -j 1 queue
    same "$kind: commands after a failure" 1 "$(wc -l < began)"
    ended 2 ./small circle
    said 'targets need each other in a circle'
    same "$kind: commands of a circle" '' "$(cat out)"
    ended 2 ./small missing
    said 'make: none: there is no rule'
    ended 0 ./small itself
    grep -qx made out
done
unset SCHED_KIND
ended 2 ./small wrong
said 'line 3'
ended 2 ./small twice
said 'line 3'
ended 2 ./small -j 0 pair
said usage
ended 2 ./small no-such-file
said 'no-such-file: No such file'
ended 0 ./small
same 'the last line' 'Hello from a make' "$(tail -n 1 out)"
