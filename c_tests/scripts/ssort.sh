# limit: 180
# ssort writes what sort writes, byte for byte: by bytes, numbers and locale, in memory and by temporary files, with any
# kind and number of threads; and it ends as it should where files are missing or cannot be written.
ssort=$TARGET/programs/ssort
[ -x "$ssort" ] || { echo "programs/ssort is not built"; exit 77; }
export LC_ALL=C

# same OPTIONS FILE: what ssort does, and sort.
same() {
    sort "$@" > expected
    status=0
    "$ssort" "$@" > got 2> error || status=$?
    [ $status = 0 ] || { echo "ssort $*: status $status"; cat error; exit 1; }
    cmp expected got || { echo "ssort $* (${SCHED_KIND-} ${SCHED_THREADS-}) differs from sort"; exit 1; }
}
# fails STATUS TEXT ARGUMENTS: ssort ends with the status and says the text.
fails() {
    expected=$1 text=$2 status=0
    shift 2
    "$ssort" "$@" > got 2> error || status=$?
    [ $status = "$expected" ] || { echo "ssort $*: status $status instead of $expected"; cat error; exit 1; }
    grep -q -F -e "$text" error || { echo "ssort $* does not say \"$text\" but:"; cat error; exit 1; }
}

: > empty
printf '\n' > newline
printf '\n\n\na\n\n' > newlines
printf 'b\na' > noend
printf 'a\0b\na\0a\na\n\0\n\na\0\na\0\0\nab\nabcdefgh\nabcdefgh\0\nabcdefghi\n' > zeros
printf 'x\n%s\n%s\n\n' "$(seq -s, 1 60000)" "$(seq -s, 1 60001)" > long
awk 'BEGIN { for (i = 0; i < 20000; i++) print "equal" }' > equal
awk 'BEGIN { for (i = 0; i < 10000; i++) { x = (x * 69069 + 1234567) % 1000003; print "common beginning " x % 5000 } }' > common
awk 'BEGIN { srand(3); for (i = 0; i < 10000; i++) { s = ""; n = int(rand() * 12)
     while (n-- > 0) s = s sprintf("%c", 32 + int(rand() * rand() * 200)); print s } }' | tr -d '\200' > random
# (Without the byte 0x80, which coreutils 9.1 takes for a separator of thousands.)
printf '%s\n' 10 9 -1 -10 '  7' +3 0 -0 00 -0.0 0.5 .5 -.5 1e3 abc '' 007 1.50 1.5 1.500000000000000000001 -- - 1.2.3 \
    123456789012345678901234567890 123456789012345678901234567891 -123456789012345678901234567890 0.0000000000000000001 \
    -0.0000000000000000001 '- 5' '5 x' '5 a' 1,000 999 > numbers
awk 'BEGIN { srand(4); for (i = 0; i < 10000; i++) print int(rand() * 2000 - 1000) / (rand() < .5 ? 1 : 16), rand() }' >> numbers

for file in empty newline newlines noend zeros long equal common random numbers; do
    for options in -s -r -u -rs -ru -n -nr -ns -nrs -nu -nru; do
        same $options $file
    done
    same -o written $file # (in both cases the file is the same one)
done
same noend zeros noend random
same -z zeros random
"$ssort" < random > got
sort random | cmp - got
cat random | "$ssort" -u - noend > got
sort -u random noend | cmp - got

# Larger than the memory, so that runs of several levels are merged.
i=0
while [ $i -lt 9 ]; do
    sed "s/\$/ $((i * 7 % 60))/" common
    cat random numbers
    i=$((i + 1))
done > large
for options in -s -ru -n -nsr -nu; do
    sort $options large > expected
    "$ssort" $options -S 1M -T . large > got
    cmp expected got || { echo "ssort $options -S 1M differs from sort"; exit 1; }
done
cat random long numbers large zeros equal > mixed
sort mixed > expected
for kind in steal lifo cont serial; do
    for threads in 1 2 7; do
        for size in 0 1M; do
            SCHED_KIND=$kind "$ssort" -j $threads -S $size mixed > got
            cmp expected got || { echo "ssort -j $threads -S $size, kind $kind, differs from sort"; exit 1; }
        done
    done
done
sort -u expected > unique
"$ssort" -u -S 1M expected expected > got
cmp unique got || { echo "ssort -u -S 1M of sorted files differs from sort"; exit 1; }
seq 1000000 1 1400000 > increasing
"$ssort" -r -S 1M increasing > got
sort -r increasing | cmp - got
[ -z "$(find . -name 'ssort??????')" ] || { echo "temporary files are left"; exit 1; }
cp mixed both
"$ssort" -S 1M -o both both
cmp expected both || { echo "ssort -o both both differs from sort"; exit 1; }
cp random both
"$ssort" -o both both
sort random | cmp - both

# -c
"$ssort" -c expected
"$ssort" -c -S 1M expected
"$ssort" -cu unique
"$ssort" -c empty
(cat expected; echo; cat expected) > wrong
lines=$(wc -l < expected)
fails 1 "ssort: wrong:$((lines + 1)): disorder: " -c wrong
fails 1 "ssort: wrong:$((lines + 1)): disorder: " -c -S 1M wrong
fails 1 "ssort: equal:2: disorder: equal" -cu equal
fails 1 "ssort: noend:2: disorder: a" -c noend
fails 2 "one file" -c noend random

# Trouble: nothing is written that looks like an answer.
fails 2 "ssort: missing: No such file or directory" random missing
[ ! -s got ] || { echo "ssort random missing wrote something"; exit 1; }
fails 2 "Is a directory" .
fails 2 "missing/folder: No such file or directory" -o missing/folder random
fails 2 "missing" -S 1M -T missing large
status=0
"$ssort" random > /dev/full 2> error || status=$?
[ $status = 2 ] || { echo "ssort > /dev/full: status $status"; exit 1; }
grep -q "No space left" error || { echo "ssort > /dev/full says:"; cat error; exit 1; }
fails 2 "No space left" -S 1M -o /dev/full large
# It ends with its reader, by SIGPIPE (which may be ignored where this test runs), whichever thread writes.
if env --default-signal=PIPE true 2> made; then
    for run in 1 2 3 4 5 6 7 8; do
        { status=0; env --default-signal=PIPE "$ssort" -j 4 large 2> error || status=$?; echo $status > ended; } |
            head -n 1 > out
        [ "$(cat ended)" = 141 ] || { echo "ssort | head: status $(cat ended), not 141"; cat error; exit 1; }
    done
fi

# A locale with an order of its own, where one can be made.
export LC_ALL=C
if command -v localedef > made && localedef -i en_US -f UTF-8 ./en_US.UTF-8 > made 2>&1; then
    export LOCPATH=$PWD LC_ALL=en_US.UTF-8
    printf '%s\n' Zebra apple Apple 'a b' ab a-b AB co-op coop Ärger Arger arger äRger ärger é e É 1,234 999 12 '' ' ' _ _a >> random
    for options in -s -r -u -ru -n -nr -nu; do
        same $options random zeros noend numbers
    done
    same -S 1M -r random common zeros random common random
else
    echo "no localedef here (Debian: locales): the orders of other locales are not tested"
fi
