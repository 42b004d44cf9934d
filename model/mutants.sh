#!/usr/bin/env bash
# Tests of the tests: weakens one ordering or step of the protocols at a time, and expects the
# models to fail. Prints a line per mutant; exits 1 if one survived.
#   model/mutants.sh [NAME…]      all, or those named
set -eu
cd "$(dirname "$0")/.."
root=$PWD
copy=$root/target/mutants
export RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=$root/target/loom-mutants

# Not among them: the AcqRel and the fence of Quiescence::enter, for which the fence in the
# Chase-Lev pop just before stands in; the deques under locks need them.

# name ~ file ~ perl substitution that must change the file ~ tests that must fail
mutants='
push-relaxed~src/queue/chaselev.rs~s/(bottom \+ 1, Ordering::)Release(\);\n        Ok)/$1Relaxed$2/~chaselev
pop-relaxed~src/queue/chaselev.rs~s/(bottom\.store\(bottom, Ordering::)Release/$1Relaxed/~chaselev
pop-unfenced~src/queue/chaselev.rs~s/fence\(Ordering::SeqCst\); \/\/ with the fence in steal.*//~chaselev
steal-unfenced~src/queue/chaselev.rs~s/fence\(Ordering::SeqCst\); \/\/ with the fence in pop.*//~chaselev
steal-unswapped~src/queue/chaselev.rs~s/match self\.top\.compare_exchange\(top, top \+ 1, Ordering::SeqCst, Ordering::Relaxed\) \{/match Ok::<_, ()>(self.top.store(top + 1, Ordering::SeqCst)) {/~chaselev
pop-last-unswapped~src/queue/chaselev.rs~s/let won = self\s*\.top\s*\.compare_exchange\(top, top \+ 1, Ordering::SeqCst, Ordering::Relaxed\)\s*\.is_ok\(\);/let won = true; self.top.store(top + 1, Ordering::SeqCst);/~chaselev
grow-relaxed~src/queue/chaselev.rs~s/buffer\.store\(new, Ordering::Release\)/buffer.store(new, Ordering::Relaxed)/~chaselev
grow-short~src/queue/chaselev.rs~s/for position in top\.\.bottom/for position in top + 1..bottom/~chaselev
spawn-unfenced~src/idle/eventcount.rs~s/barrier::light\(\);.*//~eventcount
park-unfenced~src/kind/stealing.rs~s/barrier::heavy\(\)/true/~stealing
park-unchecked~src/kind/stealing.rs~s/ended\(\) \|\| self\.work_visible\(\)/ended()/~stealing
park-deaf-to-end~src/kind/stealing.rs~s/self\.quiescence\.ended\(\) \|\| self\.work_visible/self.work_visible/~stealing
end-unannounced~src/kind/stealing.rs~s/&& self\.parks\(\) \{\n\s*place\.counters\(\)\.wakes\.add\(self\.sleepers\.wake_all\(\)\);/{/~stealing
searcher-silent~src/idle/eventcount.rs~s/more\(\) && self\.wake_one\(\)/more() && false/~eventcount
searcher-unfenced~src/idle/eventcount.rs~s/fence\(Ordering::SeqCst\); \/\/ with the fence in wake_unless_searched.*//~eventcount
seat-cleared-late~src/idle/eventcount.rs~s/self\.woken\(worker\);\n\s*Some\(worker\)(.*?)self\.seats\[worker as usize\]\.wake\(1\);/self.searching.fetch_add(1, Ordering::SeqCst); self.sleeping.fetch_sub(1, Ordering::SeqCst);\n            Some(worker)$1self.seats[worker as usize].store(AWAKE, Ordering::Release); self.seats[worker as usize].wake(1);/s~eventcount
take-before-leaving~src/kind/stealing.rs~s/self\.search\(place, \|\| self\.quiescence\.leave\(\), \|\| self\.enter\(place\)\);/self.search(place, || (), || ());\n                if task.is_some() { self.quiescence.leave(); }/~stealing
end-unconfirmed~src/idle/quiescence.rs~s/self\.idle\.load\(Ordering::Acquire\) == self\.workers/true/~stealing
door-left-open~src/queue/injector.rs~s/inside\.closed = true/inside.closed = false/~stealing
close-over-a-task~src/queue/injector.rs~s/inside\.closed \|\| !inside\.queue\.is_empty\(\)/inside.closed/~stealing'

survivors=0
while IFS='~' read -r name file change tests; do
    [ -n "$name" ] || continue
    [ $# -eq 0 ] || printf '%s\n' "$@" | grep -qx "$name" || continue
    rm -rf "$copy"
    mkdir -p "$copy"
    cp -r Cargo.toml Cargo.lock build.rs cbindgen.toml include src model "$copy"
    # The copy is a workspace of the library and its model alone.
    sed -i 's/^members = .*/members = ["model"]/' "$copy/Cargo.toml"
    perl -0pi -e "$change" "$copy/$file"
    if cmp -s "$file" "$copy/$file"; then
        echo "$name: the substitution no longer changes $file"
        survivors=$((survivors + 1))
        continue
    fi
    if ! (cd "$copy" && cargo test --quiet --profile tools -p sched-model --test "$tests" --no-run) >"$copy/log" 2>&1; then
        echo "$name: does not compile"; sed 's/^/    /' "$copy/log"
        survivors=$((survivors + 1))
        continue
    fi
    status=0
    (cd "$copy" && timeout 300 cargo test --quiet --profile tools -p sched-model --test "$tests") \
        >"$copy/log" 2>&1 || status=$?
    case $status in
        0) echo "$name: SURVIVED"; survivors=$((survivors + 1)) ;;
        124) echo "$name: undecided after 300 s"; survivors=$((survivors + 1)) ;;
        *) echo "$name: killed" ;;
    esac
done <<<"$mutants"
rm -rf "$copy"
exit $((survivors > 0))
