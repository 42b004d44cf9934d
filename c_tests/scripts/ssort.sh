# limit: 180
# ssort writes what sort writes, byte for byte: by bytes, numbers and locale, in memory and by temporary files, with any
# kind and number of threads; and it ends as it should where files are missing or cannot be written.
ssort=$TARGET/programs/ssort
. "$ROOT/c_tests/scripts/lib/checks.sh"
needs_program ssort

# as_sort OPTIONS FILE...: ssort writes what sort writes.
as_sort() {
    sort "$@" > expected
    ended 0 "$ssort" "$@"
    cmp expected out || fail "ssort $* (${SCHED_KIND-} ${SCHED_THREADS-}) differs from sort"
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
    for options in -s -ru -n -nrs -nu $(more -r -u -rs -nr -ns -nru); do
        as_sort $options $file
    done
    sort $file > expected
    "$ssort" -o written $file
    cmp expected written || fail "ssort -o written $file differs from sort"
done
as_sort noend zeros noend random
as_sort -z zeros random
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
    cmp expected got || fail "ssort $options -S 1M differs from sort"
done
cat random long numbers large zeros equal > mixed
sort mixed > expected
for kind in steal cont $(more lifo serial); do
    for threads in 1 7 $(more 2); do
        for size in 0 1M; do
            SCHED_KIND=$kind "$ssort" -j $threads -S $size mixed > got
            cmp expected got || fail "ssort -j $threads -S $size, kind $kind, differs from sort"
        done
    done
done
sort -u expected > unique
"$ssort" -u -S 1M expected expected > got
cmp unique got || fail "ssort -u -S 1M of sorted files differs from sort"
seq 1000000 1 1400000 > increasing
"$ssort" -r -S 1M increasing > got
sort -r increasing | cmp - got
[ -z "$(find . -name 'ssort??????')" ] || fail "temporary files are left"
cp mixed both
"$ssort" -S 1M -o both both
cmp expected both || fail "ssort -o both both differs from sort"
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
ended 1 "$ssort" -c wrong
said "ssort: wrong:$((lines + 1)): disorder: "
ended 1 "$ssort" -c -S 1M wrong
said "ssort: wrong:$((lines + 1)): disorder: "
ended 1 "$ssort" -cu equal
said "ssort: equal:2: disorder: equal"
ended 1 "$ssort" -c noend
said "ssort: noend:2: disorder: a"
ended 2 "$ssort" -c noend random
said "one file"

# Trouble: nothing is written that looks like an answer.
ended 2 "$ssort" random missing
said "ssort: missing: No such file or directory"
[ ! -s out ] || fail "ssort random missing wrote something"
ended 2 "$ssort" .
said "Is a directory"
ended 2 "$ssort" -o missing/folder random
said "missing/folder: No such file or directory"
ended 2 "$ssort" -S 1M -T missing large
said "missing"
output_full "$ssort" random
ended 2 "$ssort" -S 1M -o /dev/full large
said "No space left"
# Whichever thread writes, SIGPIPE ends the process.
for run in 1 2 3 $(more 4 5 6 7 8); do reader_gone "$ssort" -j 4 large; done

# A locale with an order of its own, where one can be made.
if command -v localedef > made && localedef -i en_US -f UTF-8 ./en_US.UTF-8 > made 2>&1; then
    export LOCPATH=$PWD LC_ALL=en_US.UTF-8
    printf '%s\n' Zebra apple Apple 'a b' ab a-b AB co-op coop Ärger Arger arger äRger ärger é e É 1,234 999 12 '' ' ' _ _a >> random
    for options in -s -ru -n $(more -r -u -nr -nu); do
        as_sort $options random zeros noend numbers
    done
    as_sort -S 1M -r random common zeros random common random
else
    echo "no localedef here (Debian: locales): the orders of other locales are not tested"
fi
