# swc counts the words that tr, sort and uniq count, and what wc counts, for any number of threads and each kind.
swc=$TARGET/programs/swc
. "$ROOT/c_tests/scripts/lib/checks.sh"
needs_program swc

mkdir -p tree/a/b tree/.hidden tree/many
: > tree/empty
printf 'one two,two;three-three three\n\nFour FOUR four\tfo_ur 4' > tree/no-newline
printf 'caf\303\251 caf\303\251s \377\376 \303\251\n' > tree/letters
printf ' \t\n \r\n\v\f  x \n' > tree/a/space
printf 'hidden\n' > tree/.hidden/file
i=0
while [ $i -lt 60 ]; do echo "file $i file$((i % 7))" > tree/many/$i; i=$((i + 1)); done
# Words and lines of all lengths, so that parts and blocks begin and end anywhere in them; a word of several blocks.
awk 'BEGIN { for (i = 0; i < 150000; i++) { n = i * 7919 % 1009; printf "%s%s%c", "w" n, (n % 13 == 0 ? "ord" n * n : ""), (i % 17 ? " " : "\n") } }' > tree/a/text
awk 'BEGIN { for (i = 0; i < 70000; i++) printf "%s", "longword"; print " end"; for (i = 0; i < 70000; i++) printf "%s", "LongWord" }' > tree/a/b/long

# reference CASE FILES...: all words with their numbers
reference() {
    case $1 in -l) change='tr A-Z a-z' ;; *) change=cat ;; esac
    shift
    for file; do cat "$file"; echo; done | tr -cs 'A-Za-z0-9_\200-\377' '\n' | $change | sed '/^$/d' | sort | uniq -c | sort -k1,1nr -k2,2
}
check() { # check WHAT: out against expected
    cmp -s expected out || { diff expected out | cut -c1-200 | head -5; fail "$1: not what uniq counts"; }
}

find tree -type f > files
for case in '' -l; do
    reference "$case" $(cat files) > expected
    "$swc" $case -n 0 tree > out
    check "swc $case -n 0 tree"
    for setting in steal:1 steal:7 cont:7 $(more steal:2 lifo:2 fifo:7 cont:1 serial:1); do
        SCHED_KIND=${setting%:*} "$swc" -j ${setting#*:} $case --words=0 tree > out
        check "swc $case with $setting"
    done
    # Standard input: all files in a row, from a file, and from a pipe that pauses.
    for file in $(cat files); do cat "$file"; echo; done > all
    "$swc" $case -n 0 < all > out
    check "swc $case < file"
    { head -c 70001 all; sleep 0.1; tail -c +70002 all; } | "$swc" -j 2 $case -n 0 - > out
    check "a pipe | swc $case"
done
# A file with more parts than 64, and a stream of more than two blocks.
awk 'BEGIN { for (i = 0; i < 1200000; i++) print "number", i * 7919 % 10007 }' > large
reference '' large > expected
"$swc" -n 0 large > out
check 'swc large'
cat large | "$swc" -n 0 > out
check 'cat large | swc'

reference '' $(cat files) > expected
same 'the first ten' "$(head -n 10 expected)" "$("$swc" tree)"
same 'the first three' "$(head -n 3 expected)" "$("$swc" -n3 tree)"
same 'several paths' "$(reference '' tree/letters tree/no-newline tree/letters)" "$("$swc" -n 0 tree/letters tree/no-newline tree/letters)"
same 'a file and a pipe' "$(reference '' tree/letters tree/no-newline)" "$("$swc" -n 0 tree/letters - < tree/no-newline)"
same 'no words' '' "$("$swc" tree/empty)"

# Totals, without the words that cannot be printed, which some versions of wc do not count.
rm tree/letters
total() { wc -lwc "$@" | awk 'END { print $1, $2, $3 }'; }
same 'totals' "$(total $(find tree -type f))" "$("$swc" -t tree)"
same 'totals of a large file' "$(total large)" "$("$swc" --totals large)"
same 'totals of a stream' "$(total large)" "$(cat large | "$swc" -t)"
same 'totals with one thread' "$(total tree/a/text)" "$("$swc" -j 1 -t tree/a/text)"
same 'totals of nothing' '0 0 0' "$("$swc" -t < /dev/null)"
same 'totals of bytes' '0 1 3' "$(printf '\377\001\376' | "$swc" -t)"

# Trouble: status 2, and the other files are counted.
ended 2 "$swc" tree/no-newline nowhere
said '^swc: nowhere: No such file'
same 'the others' "$("$swc" tree/no-newline)" "$(cat out)"
ended 2 "$swc" -n x tree
output_full "$swc" tree
