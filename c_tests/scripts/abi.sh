# abidiff finds nothing that would break programs compiled with the last release; and it would: of a function that is
# gone, a parameter or a member of another type, and a member in the middle it says so; new functions and members at
# the end of a struct that is passed with its size are accepted.
status=0
said=$("$ROOT/packaging/abi.sh") || status=$?
[ $status = 0 ] || { echo "$said"; exit $status; }

planted() {
    rm -rf tree
    mkdir tree
    cp -R "$ROOT/include" "$ROOT/sched.map" tree/
}
# NAME WANTED: what make abi says of the tree.
judged() {
    ! diff -r "$ROOT/include" tree/include >/dev/null || ! cmp -s "$ROOT/sched.map" tree/sched.map ||
        { echo "$1: nothing is planted"; exit 1; }
    status=0
    "$ROOT/packaging/abi.sh" "$PWD/tree" > said 2>&1 || status=$?
    [ $status = "$2" ] || { echo "$1: status $status instead of $2"; cat said; exit 1; }
}

planted
sed -i '/sched_sem_trywait/d' tree/include/sched_tasks.h tree/sched.map
judged "a function that is gone" 1
planted
sed -i 's/^\(int sched_sem_init(struct sched_sem \*sem, \)size_t n/\1int n/' tree/include/sched_tasks.h
judged "a parameter of another type" 1
planted
sed -i '/^struct sched_mutex {/a\  size_t planted;' tree/include/sched_tasks.h
judged "a larger mutex" 1
planted
sed -i '/^struct sched_options {/a\  size_t planted;' tree/include/sched_tasks.h
judged "a member before those of struct sched_options" 1
planted
sed -i '/^struct sched_options {/,/^}/s/^}/  size_t planted;\n}/' tree/include/sched_tasks.h
judged "a member at the end of struct sched_options" 0
planted
sed -i 's/^int sched_sem_post/int sched_planted(void);\n&/' tree/include/sched_tasks.h
sed -i 's/^ *sched_sem_post;/&\n    sched_planted;/' tree/sched.map
judged "a new function" 0
