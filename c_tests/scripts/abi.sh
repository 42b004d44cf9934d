# abidiff finds nothing that would break programs compiled with the last release. It would find a function that is gone,
# a parameter or a member of another type, and a member in the middle; it accepts new functions, and members at the end
# of a struct that is passed with its size.
. "$ROOT/c_tests/scripts/lib/checks.sh"
status=0
said=$("$ROOT/packaging/abi.sh") || status=$?
[ $status = 0 ] || { echo "$said"; exit $status; }

# judged STATUS CHANGE WHAT: packaging/abi.sh ends with that status when sed has made the change in the project.
judged() {
    rm -rf tree
    mkdir -p tree/src
    cp -R "$ROOT/include" tree/
    cp "$ROOT/src/sched.map" tree/src/
    sed -i "$2" tree/include/sched_tasks.h tree/src/sched.map
    ! diff -r "$ROOT/include" tree/include > /dev/null || ! cmp -s "$ROOT/src/sched.map" tree/src/sched.map ||
        fail "$3: sed has changed nothing"
    status=0
    "$ROOT/packaging/abi.sh" "$PWD/tree" > out 2>&1 || status=$?
    [ $status = "$1" ] || { cat out; fail "$3: status $status instead of $1"; }
}

judged 1 '/sched_sem_trywait/d' "a function that is gone"
judged 1 's/^\(int sched_sem_init(struct sched_sem \*sem, \)size_t n/\1int n/' "a parameter of another type"
judged 1 '/^struct sched_mutex {/a\  size_t planted;' "a larger mutex"
judged 1 '/^struct sched_options {/a\  size_t planted;' "a member before those of struct sched_options"
judged 0 '/^struct sched_options {/,/^}/s/^}/  size_t planted;\n}/' "a member at the end of struct sched_options"
judged 0 's/^int sched_sem_post/int sched_planted(void);\n&/; s/^ *sched_sem_post;/&\n    sched_planted;/' "a new function"
