# sgz: gunzip reads what it writes, the same for each number of threads and each kind; it reads what gzip writes; a file
# that cannot be read, is damaged or cannot be written is named, and nothing is lost.
sgz=$TARGET/programs/sgz
. "$ROOT/c_tests/scripts/lib/checks.sh"
needs_program sgz
needs gunzip gzip

# Sizes around the borders of blocks (1 MiB), of data that can be compressed and of data that cannot.
yes "$(sed -n '1,200p' "$ROOT/README.md")" | head -c 4600000 | nl | head -c 4600000 > text
head -c 3500000 /dev/urandom > noise
for size in 0 1 2 1048575 1048576 1048577 2097152 3145729; do
    for what in text noise; do
        head -c $size $what > in
        "$sgz" < in > out.gz
        gunzip < out.gz | cmp - in || fail "gunzip: not the same $size bytes of $what"
        "$sgz" -d < out.gz | cmp - in || fail "sgz -d: not the same $size bytes of $what"
        [ "$(wc -c < out.gz)" -le $((size + size / 1000 + 200)) ] || fail "$size bytes became $(wc -c < out.gz)"
        gzip -1 < in | "$sgz" -d | cmp - in || fail "sgz -d: not the same $size bytes of $what from gzip"
    done
done

# The same bytes for each number of threads, each kind, and from a pipe that gives a little at a time.
for level in 1 9; do
    "$sgz" -$level -j 1 < text > one.gz
    for threads in 2 7; do
        "$sgz" -$level -j $threads < text | cmp - one.gz || fail "level $level: $threads threads write other bytes than one"
    done
    for kind in steal cont $(more lifo fifo serial); do
        SCHED_KIND=$kind "$sgz" -$level < text | cmp - one.gz || fail "level $level: kind $kind writes other bytes"
        SCHED_KIND=$kind "$sgz" -d < one.gz | cmp - text || fail "level $level: kind $kind does not decompress"
        SCHED_KIND=$kind SCHED_THREADS=1 "$sgz" -d < one.gz | cmp - text || fail "kind $kind, 1 thread: does not decompress"
    done
done
dd if=text obs=777 2> dd.said | "$sgz" -9 | cmp - one.gz || fail "a slow pipe gives other bytes"
"$sgz" --level 12 < in | gunzip | cmp - in || fail "level 12"
[ "$(SCHED_THREADS=3 SCHED_STATS=json "$sgz" < in 2>&1 > out.gz | grep -c '"threads":3')" = 1 ] \
    || fail "SCHED_THREADS is not honoured"

# Members of several programs, and zeros, follow each other.
{ "$sgz" < text; gzip < noise; "$sgz" < in; gzip < /dev/null; head -c 1000 /dev/zero; } > all.gz
cat text noise in > all
"$sgz" -d < all.gz | cmp - all || fail "a concatenation"
# A damaged or truncated file is named; a pipe gets the data before the damage.
"$sgz" < text > good.gz
size=$(wc -c < good.gz)
for keep in 1 9 17 23 24 30 1000 $((size / 2)) $((size - 1)); do
    head -c $keep good.gz > cut.gz
    ended 1 "$sgz" -t cut.gz
    said 'cut.gz: \(unexpected end of file\|the data are damaged\)'
    gzip < in | head -c $keep > cut.gz
    ended 1 "$sgz" -t cut.gz
done
ended 1 "$sgz" -d < /dev/null; said 'unexpected end of file'
ended 1 "$sgz" -t text;        said 'text: not in gzip format'
{ head -c $((size - 3000)) good.gz; printf damaged; tail -c 2993 good.gz; } > damaged.gz
cp damaged.gz kept
ended 1 "$sgz" -d damaged.gz; said 'damaged.gz: the data are damaged'
[ ! -e damaged ] || fail "a damaged file is not removed"
cmp damaged.gz kept || fail "damaged.gz has changed"
{ cat good.gz; echo more; } > more.gz
ended 1 "$sgz" -dc more.gz; said 'more.gz: what follows the compressed data is ignored'
cmp out text || fail "garbage at the end costs data"
ended 0 "$sgz" -t good.gz all.gz

# Files: the name, the mode, the time; several at once, each its own result; nothing is written over.
mkdir files
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do head -c $((i * 300000)) text > files/$i; done
cp files/15 files/whole
chmod 640 files/15
touch -d '2001-02-03 04:05:06 UTC' files/15
ended 1 "$sgz" files/1 files/gone files/2 files/3 files/4 files/5 files/6 files/7 files/8 files/9 files files/15
said 'files/gone: No such file or directory'
said 'files: Is a directory'
[ ! -e files/15 ] || fail "files/15 is not removed"
[ "$(stat -c '%a %Y' files/15.gz)" = "640 981173106" ] || fail "files/15.gz: $(stat -c '%a %Y' files/15.gz)"
for i in 1 5 9; do head -c $((i * 300000)) text | cmp - "$(gunzip -k files/$i.gz; echo files/$i)" || fail "files/$i"; done
ended 1 "$sgz" files/5;       said 'files/5: the file that it would become exists; -f replaces it'
ended 0 "$sgz" -kf files/5;   [ -e files/5 ] || fail "-k has removed the file"
ln -s 1 files/link
ended 1 "$sgz" files/link; said 'files/link: a symbolic link, which -f follows'
rm files/link
ended 1 "$sgz" files/15.gz;   said 'files/15.gz: the name ends in .gz already'
ended 1 "$sgz" -d files/5;    said 'files/5: the name does not end in .gz'
ended 0 "$sgz" -d files/15.gz
cmp files/15 files/whole || fail "files/15 is another one"
[ "$(stat -c '%a %Y' files/15)" = "640 981173106" ] || fail "files/15: $(stat -c '%a %Y' files/15)"
mv files/9.gz files/9.tgz
ended 0 "$sgz" -d files/9.tgz; [ -e files/9.tar ] || fail "files/9.tgz is not decompressed to files/9.tar"
ln -s whole files/link
ended 1 "$sgz" files/link;    [ -e files/link ] || fail "a link is followed"
mkfifo files/fifo
(echo x > files/fifo) &
ended 1 "$sgz" files/fifo;    said 'files/fifo: not a regular file'
wait
# Several files, and an output that is full, or whose reader ends.
output_full "$sgz" -c text noise text
same "messages" 1 "$(wc -l < error)"
reader_gone "$sgz" -1 -c noise noise noise
# After a signal there is no incomplete file.
mkfifo slow
(sleep 5 > slow) & sleeper=$!
cp text interrupted
"$sgz" -j 2 interrupted slow & process=$!
kill $process; wait $process || :
kill $sleeper 2> error || :
[ -e interrupted ] || [ -e interrupted.gz ] || fail "after a signal neither file is there"
if [ -e interrupted.gz ]; then gunzip -c interrupted.gz | cmp - text || fail "a part of a result is left"; fi
# Options.
ended 2 "$sgz" --level 13 < in;  said '--level 13'
ended 2 "$sgz" -j many < in;     said '--threads many'
ended 2 env SCHED_KIND=none "$sgz" < in
