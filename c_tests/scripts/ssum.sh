# ssum: prints and checks as sha256sum does, names included; trees in the order of sort; a file that cannot be read is
# named, and the others are summed.
ssum=$TARGET/programs/ssum
. "$ROOT/c_tests/scripts/lib/checks.sh"
needs_program ssum
needs sha256sum coreutils
# alike FILE FILE MESSAGE
alike() { cmp "$1" "$2" || { diff "$1" "$2" || :; fail "$3"; }; }

# A tree: empty files and folders, sizes around those that are read at once, names that sort badly or must be escaped.
mkdir -p tree/a/b tree/a-b tree/a.b tree/empty 'tree/with blank' tree/A
head -c 3000000 /dev/urandom > noise
for size in 0 1 55 56 63 64 65 4096 65535 65536 65537 262143 262144 262145 524288 1000000 3000000; do
    head -c $size noise > tree/a/$size
done
for name in a/b/x a-b/y a.b/z aa A/upper 'with blank/ lead' 'back\slash' 'new
line' 'both\
' '*star' -dash; do
    echo "$name" > "tree/$name"
done
i=0; while [ $i -lt 500 ]; do i=$((i + 1)); echo $i > tree/a/b/many$i; done
ln -s aa tree/link
ln -s ../tree tree/a/loop
mkfifo tree/fifo
find tree -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum > wanted
for how in '' '-j 1' '-j 2' '-j 7'; do
    "$ssum" $how tree > got
    alike got wanted "ssum $how tree prints other lines than sha256sum"
done
for kind in steal lifo fifo cont serial; do
    SCHED_KIND=$kind "$ssum" tree > got
    alike got wanted "kind $kind prints other lines than sha256sum"
done
(cd tree && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum) > wanted.dot
(cd tree && "$ssum" .) > got
alike got wanted.dot "ssum . prints other lines than sha256sum"
"$ssum" tree/ | cmp - wanted || fail "tree/ is not as tree"
sha256sum -c --quiet wanted || fail "sha256sum -c refuses the list"
# Files, standard input, a link that is named, other sums.
"$ssum" tree/link - noise < tree/aa > got
sha256sum tree/link - noise < tree/aa > wanted.files
alike got wanted.files "files and standard input"
"$ssum" < noise | cmp - "$(sha256sum < noise > wanted.stdin; echo wanted.stdin)" || fail "standard input"
dd if=noise obs=777 2> dd.said | "$ssum" | cmp - wanted.stdin || fail "standard input that comes slowly"
for sum in sha1 sha512 md5; do
    ${sum}sum noise tree/aa > wanted.sum
    "$ssum" -a $sum noise tree/aa > got
    alike got wanted.sum "--algorithm $sum"
    "$ssum" -a $sum -c wanted.sum > out || fail "--algorithm $sum --check"
done
# Files that are missing or cannot be read are named. Not even root can read this one.
ended 1 "$ssum" tree/aa gone noise
said 'gone: No such file or directory'
[ "$(wc -l < out)" = 2 ] || { cat out; fail "a missing file stops the others"; }
if [ -r /proc/self/mem ]; then
    ended 1 "$ssum" noise /proc/self/mem tree/aa
    said '/proc/self/mem: Input/output error'
    [ "$(wc -l < out)" = 2 ] || { cat out; fail "a file that cannot be read stops the others"; }
fi
if [ "$(id -u)" != 0 ]; then
    echo secret > secret; chmod 0 secret
    ended 1 "$ssum" secret noise; said 'secret: Permission denied'
fi
# Checks: the lines, the messages and the status are those of sha256sum; only the program's name differs.
compare() { # ARGUMENT...: both programs say the same
    status=0; sha256sum "$@" > wanted.out 2> wanted.error || status=$?
    ended $status "$ssum" "$@"
    alike out wanted.out "$*: other lines than sha256sum's"
    sed 's/^ssum: //' error | sort > error.sorted
    sed 's/^sha256sum: //; s/formatted SHA256 checksum line/formatted checksum line/' wanted.error | sort > wanted.sorted
    alike error.sorted wanted.sorted "$*: other messages than sha256sum's"
}
grep '^[0-9a-f]*  [a-zA-Z0-9/._-]*$' wanted > plain
{ head -n 3 plain; tail -n 3 plain; } > few
zeros=$(printf %064d 0)
{ cat few; echo "$zeros  tree/aa"; echo "$zeros *tree/a/4096"; } > bad
{ cat few; echo "$zeros  gone"; } > missing
echo "$zeros  gone" > onlymissing
{ echo '# a comment'; cat few; echo "12  short"; echo "$zeros tree/aa"; echo "${zeros}0  long"; } > odd
sed 's/^\\\{0,1\}[0-9a-f]*/\U&/' few > capitals
sed 's/$/\r/' few > dos
{ cat bad; echo "$zeros  gone"; echo nonsense; } > all
: > none
printf 'not\na list\n\0\nXYZ%s  name\n' "$zeros" > junk
for list in few bad missing onlymissing odd capitals all none junk gone; do
    for option in '' --quiet --status --strict --warn --ignore-missing '--strict --ignore-missing --quiet'; do
        compare -c $option $list
    done
done
compare -c few bad missing
compare -c dos
ended 0 "$ssum" -c wanted
ended 0 "$ssum" -c - < wanted
[ "$(wc -l < out)" = "$(wc -l < wanted)" ] || fail "standard input as a list: $(wc -l < out) lines"
# Names that are escaped, as coreutils 9.4 does. Sums have had a carriage return escaped since 9.0. Answers had only
# names with a line's end escaped before 9.4, and have names quoted as for a shell since 9.11.
mkdir odds
for name in back_slash cr_name new_line; do echo $name > $name; done
mv back_slash 'odds/back\slash'; mv cr_name "$(printf 'odds/cr\rname')"; mv new_line 'odds/new
line'
for name in 'back\\slash' 'cr\rname' 'new\nline'; do
    sum=$(printf '%s\n' "$name" | sed 's/\\./_/' | sha256sum)
    printf '\\%s  odds/%s\n' "${sum%% *}" "$name"
    printf '\\odds/%s: OK\n' "$name" >&3
    printf '\\odds/%s: FAILED\n' "$name" >&4
done > wanted.odd 3> wanted.ok 4> wanted.failed
"$ssum" odds > got
alike got wanted.odd "sums of names that are escaped"
ended 0 "$ssum" -c wanted.odd
alike out wanted.ok "-c wanted.odd"
sed "s/[0-9a-f]\{64\}/$zeros/" wanted.odd > bad.odd
ended 1 "$ssum" -c bad.odd
alike out wanted.failed "-c bad.odd"
rm -r odds
ended 1 "$ssum" -c wanted.odd
sed 's/: OK$/: FAILED open or read/' wanted.ok > wanted.unread
alike out wanted.unread "-c wanted.odd without the files"
# Output that is full, or whose reader ends; options.
output_full "$ssum" tree
reader_gone "$ssum" tree tree tree tree tree tree tree tree
ended 2 "$ssum" -a nothing noise; said '--algorithm nothing'
ended 2 "$ssum" -j many noise;    said '--threads many'
