# sgrep finds what grep finds, in the order of the paths, for any number of threads and each kind; and its statuses are
# grep's.
sgrep=$TARGET/programs/sgrep
. "$ROOT/c_tests/scripts/lib/checks.sh"
needs_program sgrep

# --- a tree of difficult names and contents ---
mkdir -p tree/a tree/a-b tree/a.d/deep/deeper tree/.hidden tree/empty tree/many
: > tree/empty-file
printf 'last line without an end: needle' > tree/no-newline
printf 'needle\r\nother\r\n\r\nend needle\r\n' > tree/crlf
printf 'needle\0binary\nneedle\n' > tree/binary
printf '\n\n\nneedle\n\n' > tree/a/blank
printf 'Needle NEEDLE\nneedles\nthe needle_\na needle!\n_needle\nfoo bar\nfoobar\n' > tree/a/words
printf 'abc\nabbc\nabbbc\nac\na{2}\n(a)\n[x]\na.c\na\\c\n^x$\n\tindented\n  two  blanks \n-dash\n' > tree/a-b/signs
printf 'gr\303\274n\nd\303\251j\303\240 vu\n\377\376 no UTF-8\n' > tree/a.d/letters
printf 'needle in the dark\n' > tree/.hidden/.file
printf 'needle\n' > 'tree/a.d/deep/a name with  blanks'
printf 'needle %d\n' 1 2 3 > "tree/a.d/deep/deeper/$(printf 'new\tline')"
i=0
while [ $i -lt 70 ]; do printf 'file %d\nneedle %d\nx\n' $i $((i % 7)) > tree/many/$i; i=$((i + 1)); done
ln -s ../a tree/empty/link
ln -s nowhere tree/dangling
# Lines longer than a block, and files of many blocks whose line ends meet the blocks' ends anywhere.
awk 'BEGIN { for (i = 0; i < 60000; i++) printf "%s", "long " i; print " needle"; print "short"
             for (i = 0; i < 60000; i++) printf "%s", "again" i; print ""; print "needle behind" }' > tree/long-lines
awk 'BEGIN { for (i = 0; i < 40000; i++) { s = i * 7919 % 101; printf "%*d", s + 1, i; print i % 997 ? "" : " needle" } }' > tree/many-lines
cp -r tree copy

# The same files in the same order. grep takes a file as text if it has no zero byte in its first 32 KiB.
find tree -type f | sort | tr '\n' '\0' > files

# compare F|E OPTIONS... PATTERN: with grep -F or -E.
compare() {
    type=$1
    shift
    xargs -0 grep -$type -HI "$@" < files > expected 2> warnings || :
    [ $type = E ] || set -- -F "$@"
    got=0
    "$sgrep" "$@" tree > out 2> error || got=$?
    cmp -s expected out || { diff expected out | head -5; fail "sgrep $*: not what grep -$type finds"; }
    same "messages of sgrep $*" "" "$(cat error)"
    case " $* " in
    *' -c '*) wanted=1; grep -q -v ':0$' expected && wanted=0 ;;
    *) wanted=1; [ -s expected ] && wanted=0 ;;
    esac
    same "status of sgrep $*" $wanted $got
}

for option in -H -n -i -v -c -l '-n -i -w' '-c -v' '-l -v' '-h -n' '-w -v'; do
    [ "$option" = -H ] && option= # none
    compare F $option needle
    compare F $option nowhere
    compare F $option -e needle -e 'foo bar'
    compare E $option 'needle|^$'
    compare E $option 'ab{2,3}c'
done
compare F -n 'a{2}'
compare F -n '[x]'
compare F -n -i 'THE NEEDLE_'
compare F -n "$(printf 'needle\n^x$')"
compare F -n -- -dash

# Expressions with and without a string that they require, with assertions, brackets and numbers.
for pattern in '' '^' '$' '^$' 'e$' '^n' 'nee+dle' '(nee|foo)' 'n.*e' 'x*' 'a{2}' 'a\{2\}' 'a{' 'ab{0}c' 'ab{,2}c' 'ab{2,}c' \
    '(ab+)+c' '(a|b|c){3}' 'a(b|)c' '()' '|x' '*abc' '[abc]{4}' '[^a-z ]' '[]x]' '[^]x]' '[a\]' '[[:upper:]]' '[[:space:]]x*$' \
    '[[:alpha:][:digit:]_]{9,}' '[[.a.]-[.c.]]b' '[[=n=]]ee' '[a-]d' '\<needle' 'needle\>' '\bneedle\b' '\Bneedle' 'needle\B' \
    '\w+ \w+' '\W\W' '\s\S*$' '^\W*$' 'foo\.?bar' 'a\.c' 'a\\c' '\(a\)' '^[^n]*needle.$' '(^|x)needle' 'needle($|!)' '.{200}' \
    'a^b' '$x' '(needle [0-9]|file 1..)$' '(n(e(e(d(l(e)))))) 3' '[0-9]needle' ' {3}[0-9]{5}$'; do
    compare E -n -e "$pattern"
    compare E -c -i -e "$pattern"
    case $pattern in *\\*|*'{'*|*'*'*|'') ;; *) compare E -n -w -e "$pattern" ;; esac # grep -w is not reliable with these
done

# In UTF-8 a dot matches a character, and no byte that is not part of one.
if [ "$(LC_ALL=C.UTF-8 locale charmap 2> /dev/null)" = UTF-8 ]; then
    export LC_ALL=C.UTF-8
    for pattern in '^gr.n$' 'gr[^a-z]n' 'd[éx]j[àá] ' '^d.{3} vu$' 'é' '[^a-zé]$'; do
        xargs -0 grep -E -a -n -H -e "$pattern" tree/a.d/letters < /dev/null > expected || :
        "$sgrep" -n -e "$pattern" tree/a.d/letters > out || :
        diff expected out || fail "sgrep $pattern in UTF-8: not what grep finds"
    done
    for pattern in 'd[è-ê]j' 'd[^ê-𐍈]j' '[^a-zè-]j'; do
        same "sgrep $pattern" 'déjà vu' "$("$sgrep" -h -e "$pattern" tree)"
    done
    export LC_ALL=C
fi

# The output is the same for each kind and number of threads; also when there is much of it, and the reader is slow.
for arguments in '-n needle' '-v needle' '-c .' '-n -v xyzzy'; do
    "$sgrep" -j 1 $arguments tree copy > expected
    for setting in steal:7 lifo:2 cont:7 serial:1 $(more steal:2 lifo:1 lifo:7 fifo:2 cont:1 cont:2 serial:7); do
        SCHED_KIND=${setting%:*} "$sgrep" -j ${setting#*:} $arguments tree copy > out
        cmp -s expected out || { diff expected out | head -5; fail "sgrep $arguments with $setting: not as with -j 1"; }
    done
done
"$sgrep" -v xyzzy tree copy tree copy tree copy | { sleep 0.3; cat > out; }
"$sgrep" -j 1 -v xyzzy tree copy tree copy tree copy > expected
cmp -s expected out || fail "sgrep into a slow pipe: not all output came"

# --- paths ---
same 'without a path' "$(cd tree && "$sgrep" -n needle)" "$("$sgrep" -n needle tree | sed 's|^tree/||')"
same 'a path with a /' "$("$sgrep" -n needle tree)" "$("$sgrep" -n needle tree/)"
same 'standard input' '(standard input):2:b' "$(printf 'a\nb' | "$sgrep" -n b -)"
same 'a file named -' '-:a' "$(mkdir dash && cd dash && echo a > - && "$sgrep" a < /dev/null)"
same 'a link as a path' 'tree/empty/link/blank:needle' "$("$sgrep" needle tree/empty/link --exclude words)"
same 'a link to a file' 'link:abc' "$(ln -s tree/a-b/signs link && "$sgrep" '^abc' link)"
same 'several paths' "$(printf 'tree/crlf:4\ntree/a/words:7')" "$("$sgrep" -c '' tree/crlf tree/a/words)"
same 'a binary file' '2' "$("$sgrep" -a -c needle tree/binary | sed 's/.*://')"
same 'hidden files' '' "$("$sgrep" --no-hidden needle tree | grep '/\.' || :)"
same '--include' 'tree/a/words' "$("$sgrep" -l --include='w*' --include nothing . tree)"
same '--exclude' 'tree/a/words' "$("$sgrep" -l --exclude many --exclude='*-*' --exclude='[bc]*' --exclude='.*' --exclude=deep '\<n' tree | grep -v letters)"
same '-q' 0 "$("$sgrep" -q needle tree nowhere 2> error && echo $?)"
printf 'in a pipe\n' | "$sgrep" -h pipe /dev/stdin > out
same 'a pipe as a path' 'in a pipe' "$(cat out)"

# --- trouble ---
for wrong in '(' ')' 'a(b' '[' '[a' '[[:alpha:]' '[[:nothing:]]' '[b-a]' 'a{2,1}' 'a{99999}' '\' '(a)\1' '\d' '((a{999}){999}){999}'; do
    ended 2 "$sgrep" -e "$wrong" tree
    said '^sgrep: .'
done
ended 2 "$sgrep"
said 'pattern'
ended 2 "$sgrep" needle tree nowhere
said 'nowhere: No such file'
same 'the others are searched' "$("$sgrep" needle tree)" "$(cat out)"
ended 2 "$sgrep" -j x needle tree
said 'threads'
cp -r tree growing
same 'the output is an input' 2 "$("$sgrep" needle growing > growing/out 2> error || echo $?)"
said 'growing/out: input file is also the output'
output_full "$sgrep" needle tree
# A folder and a file that may not be read. Root may read everything, so another user tries, where there is setpriv.
as=
[ "$(id -u)" != 0 ] || as='setpriv --reuid=65534 --clear-groups'
if [ -z "$as" ] || { $as test -r . && ! $as test -r /etc/shadow; } 2> /dev/null; then
    mkdir closed && echo needle > closed/open && echo needle > closed/file && mkdir closed/folder
    chmod 000 closed/file closed/folder
    got=0
    $as "$sgrep" needle closed > out 2> error || got=$?
    chmod 755 closed/folder
    same 'what may not be read' '2 closed/open:needle' "$got $(cat out)"
    same 'its messages' 2 "$(grep -c -e '^sgrep: closed/f[a-z]*: Permission denied' error)"
fi
reader_gone "$sgrep" '' tree copy tree copy
