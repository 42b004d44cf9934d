# render: the same bytes for any number of threads and any kind; previews are whole pictures; a signal ends it early
# with a whole picture; an output that cannot be written is named; sizes that make no sense are refused.
render=$TARGET/programs/render
. "$ROOT/c_tests/scripts/lib/checks.sh"
needs_program render

# whole FILE WIDTH HEIGHT: it begins as a PNG of that size and 8 bits, and ends as one.
whole() {
    expected=$(printf '89504e470d0a1a0a0000000d49484452%08x%08x0802' "$2" "$3")
    begin=$(od -An -v -tx1 -N 26 "$1" | tr -d ' \n')
    end=$(tail -c 8 "$1" | od -An -v -tx1 | tr -d ' \n')
    same "the begin of $1" "$expected" "$begin"
    same "the end of $1" 49454e44ae426082 "$end"
    ! command -v pngcheck > /dev/null || pngcheck -q "$1" || fail "pngcheck refuses $1"
}

"$render" -j 1 -s 83x50 -n 5 -o one.png
whole one.png 83 50
for setting in steal:2 steal:7 cont:7 serial:1 $(more lifo:1 lifo:7 fifo:3 cont:1 cont:2); do
    SCHED_KIND=${setting%:*} "$render" -j "${setting#*:}" -s 83x50 -n 5 -o other.png
    cmp one.png other.png || fail "$setting: not the picture of 1 thread"
done
"$render" -s 83x50 -n 5 -o - > other.png
cmp one.png other.png || fail "standard output: another picture"
"$render" -s 83x50 -n 5 --seed 2 -o other.png
! cmp -s one.png other.png || fail "--seed 2: the same picture as with 1"
"$render" -s 1x1 -n 1
whole render.png 1 1

# Previews, after a time and by SIGUSR1; then a signal that ends the process. A preview shows that signals are handled.
# previews_until SIGNAL: the process writes a preview, is ended by the signal, and has written a picture.
previews_until() {
    for i in $(seq 1200); do
        [ ! -e early.png ] || break
        sleep 0.05
    done
    [ -e early.png ] || { kill -KILL $pid; fail "no early.png after 60 s"; }
    whole early.png 83 50
    kill -"$1" $pid
    status=0
    wait $pid || status=$?
    same "status after SIG$1" 1 $status
    whole early.png 83 50
}
for threads in 1 2; do
    rm -f early.png
    "$render" -j $threads -s 83x50 -n 1000000 -p 1 -o early.png &
    pid=$!
    previews_until INT
done
rm -f early.png
"$render" -s 83x50 -n 1000000 -o early.png &
pid=$!
for i in $(seq 300); do # until it handles SIGUSR1, bit 9 of this mask
    ! grep -q '^SigCgt:.*[2367abef]..$' /proc/$pid/status || break
    sleep 0.05
done
kill -USR1 $pid
previews_until TERM

# The file is replaced, a symbolic link to it stays, and nothing is left beside it.
mkdir folder
echo old > folder/old.png
chmod 640 folder/old.png
ln -s folder/old.png link.png
"$render" -s 83x50 -n 5 -o link.png
cmp one.png folder/old.png || fail "the file behind the link was not replaced"
[ -L link.png ] || fail "link.png is no link any more"
same "the mode" 640 "$(stat -c %a folder/old.png)"
same "files beside the picture" old.png "$(ls folder)"

# refused MESSAGE OPTION...: status 2, one line on standard error with the message.
refused() {
    message=$1
    shift
    ended 2 timeout 20 "$render" -n 1 "$@"
    same "lines of messages of render $*" 1 "$(wc -l < error)"
    said "$message"
}
for size in 0x5 5x0 5 x5 5x 5x5x 5x5a -5x5 +5x5 16385x1 8193x8192 99999999999x1 ''; do
    refused 'WIDTHxHEIGHT is expected' --size "$size"
done
refused 'from 1 to' --samples 0
refused 'from 1 to' --preview 0.5
refused 'from 0 to 4096' --threads 5000
refused 'no arguments' picture.png
refused 'needs a file' --preview 1 --output -
refused 'No such file or directory' --output missing/picture.png
refused 'Is a directory' --output folder
refused 'No space left on device' --output /dev/full -s 20x20
[ -c /dev/full ] || fail "/dev/full is no device any more"
output_full "$render" -s 20x20 -n 1 -o -
