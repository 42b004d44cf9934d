# mpi_sort and mpi_uts on 1, 2 and 4 ranks of 1 and 2 threads: the answers of one rank, and of plain programs.
# limit: 120
. "$ROOT/c_tests/scripts/lib/checks.sh"
needs mpirun openmpi-bin
needs_program mpi_sort

# ranks N THREADS PROGRAM ARGUMENT...: runs the program on N ranks; its output goes to out. The options are those of
# Open MPI.
options=
if mpirun --version | grep -q 'Open MPI'; then options="--oversubscribe --bind-to none"; fi
if [ "$(id -u)" = 0 ] && [ -n "$options" ]; then options="$options --allow-run-as-root"; fi
ranks() {
    count=$1 program=$3
    export SCHED_THREADS="$2"
    shift 3
    status=0
    mpirun $options -n "$count" "$TARGET/programs/$program" "$@" > out 2> error || status=$?
}
expect() {
    grep -q "$1" out && [ $status = 0 ] || { cat out error; fail "status $status instead of 0, or no \"$1\""; }
}

# The order is that of sort -n. Many numbers of the second file are equal; most ranks have no number of the third.
head -c 800000 /dev/urandom > numbers
od -An -v -tu1 -w8 numbers | awk '{ for (i = 0; i < 8; i++) printf "%c", i == 0 ? 48 + $1 % 3 : 48 }' > equal
head -c 16 numbers > few
: > none
for case in "numbers 2:1 $(more 1:2 4:1)" "equal 4:1 $(more 2:2)" "few 4:1" "none 2:1"; do
    file=${case%% *}
    od -An -v -tu8 -w8 $file | sort -n > expected
    for shape in ${case#* }; do
        ranks ${shape%:*} ${shape#*:} mpi_sort --input $file --output sorted --message 1000 --parts 3
        expect ": sorted,"
        od -An -v -tu8 -w8 sorted > found
        cmp -s expected found || fail "$file on $shape is not sorted as sort -n sorts it"
    done
done

# The numbers that mpi_sort makes up are the same on any number of ranks.
ranks 1 2 mpi_sort --count 300000
expect ": sorted,"
checksum=$(grep -o 'checksum [0-9a-f]*' out)
for shape in 2:2 $(more 4:1); do
    ranks ${shape%:*} ${shape#*:} mpi_sort --count 300000
    expect "300000 numbers, ${shape%:*} ranks of ${shape#*:} thread.*sorted, $checksum"
done

# If a file is not there, all ranks end with status 2, and one rank prints a message.
ended 2 mpirun $options -n 2 "$TARGET/programs/mpi_sort" --input absent
same "messages" 1 "$(grep -c 'mpi_sort: absent: No such file' error)"

# Both kinds of trees, with more nodes than a rank can keep, and a tree of one node.
for case in "--depth=8 4:1 $(more 1:2 2:1)" "--binomial=100 2:2 $(more 4:2)" "--depth=0 2:1"; do
    arguments=${case%% *}
    nodes=$("$TARGET/programs/mpi_uts" --serial $arguments | sed 's/ nodes.*//')
    for shape in ${case#* }; do
        ranks ${shape%:*} ${shape#*:} mpi_uts $arguments
        expect "^$nodes nodes, ${shape%:*} rank"
    done
done
ranks 2 2 mpi_uts
expect "^4130071 nodes, as published, 2 ranks of 2 threads"

# With the kind serial no other thread runs tasks while one task waits for messages, so that task yields.
export SCHED_KIND=serial
ranks 2 1 mpi_uts --depth 7
serial=$("$TARGET/programs/mpi_uts" --serial --depth 7 | sed 's/ nodes.*//')
expect "^$serial nodes"
