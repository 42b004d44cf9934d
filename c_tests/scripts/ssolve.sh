# ssolve finds the solution of puzzles, the first one where there are several, counts them, says where there is none and
# which line is no puzzle, and prints the same with any kind and number of threads.
ssolve=$TARGET/programs/ssolve
. "$ROOT/c_tests/scripts/lib/checks.sh"
needs_program ssolve

# solves FILE: each line of `out` is a solution of that line of the file: it has the same clues, and each row, column
# and box has each symbol.
solves() {
    paste -d ' ' "$1" out | awk -v all=123456789ABCDEFGHIJKLMNOP '{
        side = int(sqrt(length($2)) + .5); box = int(sqrt(side) + .5)
        if (length($1) != length($2)) { print "line " NR ": " $2; exit 1 }
        delete seen
        for (i = 0; i < side * side; i++) {
            c = substr($2, i + 1, 1); clue = substr($1, i + 1, 1); r = int(i / side); k = i % side
            v = index(all, c)
            if (v < 1 || v > side || (clue ~ /[1-9A-P]/ && clue != c) || seen["r" r, c]++ || seen["c" k, c]++ ||
                seen["b" int(r / box) * box + int(k / box), c]++) { print "line " NR ", cell " i + 1 ": " $2; exit 1 }
        }
    }' || fail "ssolve $1: this is no solution"
}

solved=534678912672195348198342567859761423426853791713924856961537284287419635345286179
puzzle=53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79
pair=534678912672195348198342567859761423426853791713924856961.3728.287.1963.345286179
none=55..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79
same "a puzzle" $solved "$(echo $puzzle | "$ssolve")"
same "a puzzle with zeros, and blanks behind it" $solved "$(echo "$puzzle  " | tr . 0 | "$ssolve" -)"
same "a solved puzzle" $solved "$(echo $solved | "$ssolve" -a)"
same "a file without puzzles" "" "$(printf '\n# none\n' | "$ssolve")"

# This puzzle has two solutions: four cells are 5 4 and 4 5, or 4 5 and 5 4.
same "the first of two solutions" 534678912672195348198342567859761423426853791713924856961437285287519634345286179 \
   "$(echo $pair | "$ssolve")"
echo $pair > file
"$ssolve" --any file > out
solves file
same "the first of very many solutions" \
   123456789456789123789123456214365897365897214897214365531642978642978531978531642 "$(printf '%081d\n' 0 | "$ssolve")"
same "the numbers of solutions" "2 1 1000" \
   "$(printf '%s\n' $pair $puzzle "$(printf '%081d' 0)" | "$ssolve" --count 1000 | tr '\n' ' ' | sed 's/ $//')"
same "the number of solutions up to 1" 1 "$(echo $pair | "$ssolve" -c 1)"

printf '%s\n' $puzzle $none $none $puzzle > file
ended 1 "$ssolve" file
printf '%s\n' $solved "no solution" "no solution" $solved | cmp - out || fail "ssolve of puzzles without a solution"
ended 1 "$ssolve" -c 5 file
printf '%s\n' 1 0 0 1 | cmp - out || fail "ssolve -c 5 of puzzles without a solution"

# A line that is no puzzle is named, and the other lines are solved.
printf '%s\n' $puzzle 123 '' "${puzzle%?}A" "${puzzle%?}!" > file
printf '1%080d\n' 0 | tr 1 '\0' >> file
echo $puzzle >> file
ended 2 "$ssolve" missing file
cat > expected <<'END'
ssolve: missing: No such file or directory
ssolve: file:2: a puzzle has 81, 256 or 625 characters, not 3
ssolve: file:4: column 81: 'A' is no symbol of this puzzle
ssolve: file:5: column 81: '!' is no symbol of this puzzle
ssolve: file:6: column 1: byte 0 is no symbol of this puzzle
END
diff expected error || fail "ssolve has other messages (>) about bad lines"
printf '%s\n' $solved $solved | cmp - out || fail "ssolve of a file with bad lines"
ended 2 "$ssolve" .
ended 2 "$ssolve" -c 0 file
echo $puzzle | output_full "$ssolve"

# Hard and large puzzles. The first has 17 clues; the second needs a search with tasks.
cat > hard <<'END'
000000010400000000020000000000050407008000300001090000300400200050100000000806000
.E.7.2.9..D3.F.54G.F..B...A...21...8..5.61........1...C....GD.......16.3B..8.5.43..1C.A.54..E...2.4.B...C.G7..69.....F.....6.....4..E...G.5..3...D7..4.138B95G..5AFG........1.4...8...F.26........E..5.69...F.......AC....6.7.BE.5..D..7...C8..3F.GA..38D.......
END
printf '%081d\n' 0 >> hard
"$ssolve" hard > first
cp first out
solves hard
for kind in steal cont $(more lifo fifo serial); do
    for threads in 7 $(more 2); do
        SCHED_KIND=$kind "$ssolve" -j $threads hard > out
        cmp first out || fail "ssolve -j $threads, kind $kind, found other solutions"
        same "count -j $threads, kind $kind" "1 1 2000" "$(SCHED_KIND=$kind "$ssolve" -j $threads -c 2000 hard | tr '\n' ' ' | sed 's/ $//')"
    done
done
