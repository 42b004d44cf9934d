# render: the same bytes for any number of threads and any kind; previews are whole pictures; a signal ends it early
# with a whole picture; an output that cannot be written is named; sizes that make no sense are refused.
render=$TARGET/programs/render
[ -x "$render" ] || { echo "render is not built: it needs libpng (Debian: libpng-dev)"; exit 77; }

# whole FILE WIDTH HEIGHT: it begins as a PNG of that size and 8 bits, and ends as one.
whole() {
    expected=$(printf '89504e470d0a1a0a0000000d49484452%08x%08x0802' "$2" "$3")
    begin=$(od -An -v -tx1 -N 26 "$1" | tr -d ' \n')
    end=$(tail -c 8 "$1" | od -An -v -tx1 | tr -d ' \n')
    [ "$begin" = "$expected" ] || { echo "$1 begins with $begin instead of $expected"; exit 1; }
    [ "$end" = 49454e44ae426082 ] || { echo "$1 ends with $end instead of IEND"; exit 1; }
    if command -v pngcheck > /dev/null; then pngcheck -q "$1" || { echo "pngcheck refuses $1"; exit 1; }; fi
}

"$render" -j 1 -s 83x50 -n 5 -o one.png
whole one.png 83 50
for setting in "steal 2" "steal 7" "lifo 1" "lifo 7" "fifo 3" "cont 1" "cont 2" "cont 7" "serial 1"; do
    set -- $setting
    SCHED_KIND=$1 "$render" -j "$2" -s 83x50 -n 5 -o other.png
    cmp one.png other.png || { echo "kind $1, $2 threads: not the picture of 1 thread"; exit 1; }
done
"$render" -s 83x50 -n 5 -o - > other.png
cmp one.png other.png || { echo "standard output: another picture"; exit 1; }
"$render" -s 83x50 -n 5 --seed 2 -o other.png
! cmp -s one.png other.png || { echo "--seed 2: the same picture as with 1"; exit 1; }
"$render" -s 1x1 -n 1
whole render.png 1 1

# Previews, at the time and by a signal; then an early end. (The first preview shows that the handlers are there.)
until_there() {
    for i in $(seq 300); do
        [ ! -e "$1" ] || return 0
        sleep 0.05
    done
    echo "no $1 after 15 s"
    kill -KILL "$pid"
    exit 1
}
for threads in 1 2; do
    rm -f early.png
    "$render" -j $threads -s 83x50 -n 1000000 -p 1 -o early.png &
    pid=$!
    until_there early.png
    whole early.png 83 50
    kill -INT $pid
    status=0
    wait $pid || status=$?
    [ $status = 1 ] || { echo "after SIGINT, $threads threads: status $status instead of 1"; exit 1; }
    whole early.png 83 50
done
rm -f early.png
"$render" -s 83x50 -n 1000000 -o early.png &
pid=$!
for i in $(seq 300); do # until it handles SIGUSR1, bit 9 of this mask
    ! grep -q '^SigCgt:.*[2367abef]..$' /proc/$pid/status || break
    sleep 0.05
done
kill -USR1 $pid
until_there early.png
whole early.png 83 50
kill -TERM $pid
status=0
wait $pid || status=$?
[ $status = 1 ] || { echo "after SIGTERM: status $status instead of 1"; exit 1; }

# The file is replaced, a symbolic link to it stays, and nothing is left beside it.
mkdir folder
echo old > folder/old.png
chmod 640 folder/old.png
ln -s folder/old.png link.png
"$render" -s 83x50 -n 5 -o link.png
cmp one.png folder/old.png || { echo "the file behind the link was not replaced"; exit 1; }
[ -L link.png ] || { echo "the link is none any more"; exit 1; }
mode=$(stat -c %a folder/old.png)
[ "$mode" = 640 ] || { echo "the mode is $mode instead of 640"; exit 1; }
[ "$(ls folder)" = old.png ] || { echo "files beside the picture:"; ls folder; exit 1; }

# refused MESSAGE OPTION...: status 2, one line on standard error with the message.
refused() {
    message=$1
    shift
    status=0
    timeout 20 "$render" -n 1 "$@" > out 2> error || status=$?
    [ $status = 2 ] || { echo "render $*: status $status instead of 2"; exit 1; }
    [ "$(wc -l < error)" = 1 ] || { echo "render $*: not one line:"; cat error; exit 1; }
    grep -q -e "$message" error || { echo "render $*: without \"$message\":"; cat error; exit 1; }
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
[ -c /dev/full ] || { echo "/dev/full is no device any more"; exit 1; }
status=0
"$render" -s 20x20 -n 1 -o - > /dev/full 2> error || status=$?
[ $status = 2 ] || { echo "standard output is full: status $status instead of 2"; exit 1; }
grep -q 'standard output: No space left' error || { echo "standard output is full:"; cat error; exit 1; }
