#!/usr/bin/env bash
# Tests of the tests: weakens one ordering or step of the protocols at a time, and expects the
# models to fail. Prints a line per mutant; exits 1 if one survived.
#   model/mutants.sh [NAME…]      all, or those named
#   model/mutants.sh -n           nothing but whether each substitution still changes its file
set -eu
cd "$(dirname "$0")/.."
root=$PWD
copy=$root/target/mutants
export RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=$root/target/loom-mutants
export MODEL_UNCOUNTED=1 CARGO_INCREMENTAL=1

# Not among them:
# - The AcqRel and the fence of Quiescence::enter: the fence in the pop just before stands in; the
#   deques under locks need them.
# - `bot == base` in the split deque's pop_public. Without it the owner of an emptied deque would
#   read a thief's `top` without the lock, and nothing would order the thief's leaving before the
#   owner's entering. But both change `idle` by read-modify-writes, which loom takes in the order in
#   which it runs them.
# - The Release of the split deque's stores to `bot` other than put's. Pop's: a raid that reads such a
#   store executes its fence, and the owner has executed that of the push of each task below. (Where
#   the owner's fence is none, the Release stands in.) The others: made under the lock, or nothing
#   is below `bot`.
# - The heavy fence of `park` over deques that are not quiet: the fence before asking stands in, as
#   long as the owner's fence is a real one, which it is under the model.
# - The lower bound of the raid's clamp: `bot` is below `split` then, so its owner is on its way to
#   the lock, where it takes what is left or starts over.
# - The fence of EventCount::stop_search: who gets true fences again before looking (`listen`), and who
#   gets false has seen in `searching`, by its read-modify-write, each sleeper that relies on it.
# - The Release of Rests::announce: the fence at the start of Quiescence::enter stands in; the shared
#   queues need it.

# name ~ file ~ perl substitution that must change the file ~ TEST or TEST:MODEL that must fail
mutants='
push-relaxed~src/queue/chaselev.rs~s/(bottom \+ 1, Ordering::)Release(\);\n        true)/$1Relaxed$2/~chaselev
pop-relaxed~src/queue/chaselev.rs~s/(bottom\.store\(bottom, Ordering::)Release/$1Relaxed/~chaselev
pop-unfenced~src/queue/chaselev.rs~s/fence\(Ordering::SeqCst\); \/\/ pairs with the fence in steal.*//~chaselev
steal-unfenced~src/queue/chaselev.rs~s/fence\(Ordering::SeqCst\); \/\/ pairs with the fence in pop.*//~chaselev
steal-unswapped~src/queue/chaselev.rs~s/match self\.top\.compare_exchange\(top, top \+ 1, Ordering::SeqCst, Ordering::Relaxed\) \{/match Ok::<_, ()>(self.top.store(top + 1, Ordering::SeqCst)) {/~chaselev
pop-last-unswapped~src/queue/chaselev.rs~s/let won = self\s*\.top\s*\.compare_exchange\(top, top \+ 1, Ordering::SeqCst, Ordering::Relaxed\)\s*\.is_ok\(\);/let won = true; self.top.store(top + 1, Ordering::SeqCst);/~chaselev
grow-relaxed~src/queue/chaselev.rs~s/buffer\.store\(new, Ordering::Release\)/buffer.store(new, Ordering::Relaxed)/~chaselev
grow-short~src/queue/chaselev.rs~s/for position in top\.\.bottom/for position in top + 1..bottom/~chaselev
ring-put-relaxed~src/queue/ring.rs~s/(tail\.wrapping_add\(1\), Ordering::)Release/$1Relaxed/~ring
ring-pop-unswapped~src/queue/ring.rs~s/if n > 0 \{\s*self\.swap\(word, word\.taken\(n\), Ordering::Relaxed\)/if n > 0 { Ok(self.word.store(word.taken(n).0, Ordering::Relaxed))/~ring
ring-pop-releases~src/queue/ring.rs~s/if self\.has_thief\(\) \{ Word::new\(self\.steal\(\), head\) \} else \{ Word::at\(head\) \}/Word::at(head)/~ring
ring-pop-keeps~src/queue/ring.rs~s/if self\.has_thief\(\) \{ (Word::new\(self\.steal\(\), head\)) \} else \{ Word::at\(head\) \}/$1/~ring:a_theft_after_a_pop
ring-steal-unswapped~src/queue/ring.rs~s/if self\.swap\(word, reserved, Ordering::Release\)\.is_err\(\) \{/self.word.store(reserved.0, Ordering::Release); if false {/~ring
ring-two-thieves~src/queue/ring.rs~s/if word\.has_thief\(\) \{/if false {/~ring
ring-unreserved~src/queue/ring.rs~s/let reserved = Word::new\(head, /let reserved = Word::at(/~ring
ring-release-unswapped~src/queue/ring.rs~s/while let Err\(now\) = self\.swap\(word, Word::at\(word\.head\(\)\), Ordering::Release\) \{\s*word = now;/self.word.store(Word::at(word.head()).0, Ordering::Release); if false { word = reserved;/~ring
ring-room-blind~src/queue/ring.rs~s/(let slots = Self::SIZE - tail\.wrapping_sub\(word\.)steal/$1head/~ring
ring-torn~src/queue/ring.rs~s/if queued > Self::SIZE \{/if false {/~ring
ring-tail-unlifted~src/queue/ring.rs~s/const SHIFT: u32 = 2 \* Self::SIZE;/const SHIFT: u32 = 0;/~ring:a_join_at_a_full_ring
ring-join-unswapped~src/queue/ring.rs~s/match self\.swap\(word, word\.shifted\(Self::SHIFT\), Ordering::Relaxed\) \{/self.word.store(word.shifted(Self::SHIFT).0, Ordering::Relaxed); match Ok::<(), Word>(()) {/~ring
ring-join-relaxed~src/queue/ring.rs~s/(last\.wrapping_add\(Self::SHIFT\), Ordering::)Release/$1Relaxed/~ring
ring-half-too-much~src/queue/ring.rs~s/queued\.div_ceil\(2\)/(queued + 1)/~ring
batch-without-room~src/queue/ring.rs~s/queued\.div_ceil\(2\)\.min\(1 \+ rest as u32\)/queued.div_ceil(2)/~ring:a_batch_on_its_way
batch-silent~src/policy/stealing/batches.rs~s/(stolen_tasks\.add\(more\);\n\s*)self\.added\(&mut own, place\);/$1/~ring:a_sleeper_beside_a_batch
spill-lost~src/policy/stealing/batches.rs~s/\.or_else\(\|Full\| self\.injector\.put_back_some\(1, limit, \|_, put\| put\(task\)\)\)/.or(Ok(()))/~ring:a_full_ring_of_a_worker
split-put-relaxed~src/queue/split.rs~s/(wrapping_add\(1\), Ordering::)Release(\);\n\s*fence::light)/$1Relaxed$2/~split:a_raid_while_the_owner_pushes
split-put-unfenced~src/queue/split.rs~s/fence::light_for::<FENCED>\(\); \/\/ with the fence of the thread.*//~sleep:a_sleeper_beside_an_armed_owner
split-pop-unfenced~src/queue/split/join.rs~s/fence::light_for::<FENCED>\(\); \/\/ with the raid.*//~split:owner_and_raider_at_the_last_task
split-put-beyond~src/queue/split.rs~s/bot < self\.watched\.lim/bot <= self.watched.lim/~split:pushes_after_growth_beside_a_raid
raid-unfenced~src/queue/split/division.rs~s/fence::heavy_for::<FENCED>\(\)/true/~split:owner_and_raider_at_the_last_task
raid-unwritten~src/queue/split/division.rs~s/self\.watched\.split\.store\(wanted, Ordering::Relaxed\);//~split:owner_and_raider_at_the_last_task
raid-undrawn~src/queue/split/division.rs~s/\.clamp\(open, wanted\)/.max(wanted).min(wanted)/~split:owner_and_raider_at_the_last_task
raid-blind~src/queue/split/division.rs~s/(bot\.load\(Ordering::)Acquire(\)\.clamp)/$1Relaxed$2/~split:a_slot_is_reused_beside_a_raid
raid-unlocked~src/queue/split/division.rs~s/let Some\(_held\) = Held::try_now\(&self\.thieves\) else \{ return false \};(\n\s*let open = self\.open\(\);\n\s*let private)/$1/~split:two_raiders
steal-unlocked~src/queue/split.rs~s/let Some\(_held\) = Held::try_now\(&self\.thieves\) else \{ return Steal::Retry \};//~split:two_thieves_and_the_owner
publish-unlocked~src/queue/split/division.rs~s/let Some\(_held\) = Held::try_now\(&self\.thieves\) else \{ return Published::Busy \};(\n\s*let open = self\.open\(\); \/\/ a raid)/$1/~split:tasks_are_published_beside_a_raid
publish-outdated~src/queue/split/division.rs~s/let open = self\.open\(\); \/\/ a raid.*//~split:tasks_are_published_beside_a_raid
publish-too-much~src/queue/split/division.rs~s/self\.divide\(open\.wrapping_offset\(older_half\(slots\(open, bot\)\)\)\);/self.divide(open.wrapping_offset(slots(open, bot) + 1));/~split:tasks_are_published_beside_a_raid
take-back-short~src/queue/split/record.rs~s/let half = slots\(top, open\) \/ 2;/let half = slots(top, open) \/ 2 + 1;/~split:owner_and_thief_at_the_last_task
take-back-unwritten~src/queue/split/record.rs~s/self\.divide\(top\.wrapping_offset\(half\)\);/let _ = half;/~split:owner_and_thief_at_the_last_task
take-back-unlocked~src/queue/split.rs~s/let held = Held::wait\(&self\.thieves\);/let held = ();/~split:owner_and_thief_at_the_last_task
start-over-unlocked~src/queue/split.rs~s/(if top == bot \{\n)(\s*\/\/ All stolen)/$1drop(held);\n$2/~split:an_emptied_deque_starts_over_beside_a_thief
start-over-half~src/queue/split.rs~s/self\.divide\(base\);//~split:an_emptied_deque_starts_over_beside_a_thief
room-unlocked~src/queue/split/room.rs~s/let _held = Held::wait\(&self\.thieves\);//~split:growth_beside_a_raid
room-unsplit~src/queue/split/room.rs~s/self\.divide\(to\.wrapping_offset\(slots\(top, open\)\)\);/let _ = open;/~split:growth_beside_a_thief
room-untopped~src/queue/split/room.rs~s/self\.thieves\.top\.store\(to, Ordering::Relaxed\);//~split:growth_beside_a_thief
room-short~src/queue/split/room.rs~s/for i in 0\.\.queued/for i in 1..queued/~split:tasks_move_down_beside_a_raid
room-unasked~src/queue/split/room.rs~s/(seldom\.armed = armed;\n\s*)self\.ask\(\);/$1/~split:pushes_after_growth_beside_a_raid
refusal-public~src/queue/split/room.rs~s/if self\.split\(\) > bot \{/if false {/~split:a_public_task_is_refused
refusal-kept~src/queue/split/room.rs~s/self\.own\.bot\.store\(bot, Ordering::Release\);(\n\s*if self\.split\(\) > bot)/$1/~split:the_limit_beside_a_raid
lock-relaxed~src/lock/trylock.rs~s/compare_exchange\(false, true, Ordering::Acquire/compare_exchange(false, true, Ordering::Relaxed/~split:two_thieves_and_the_owner
unlock-relaxed~src/lock/trylock.rs~s/store\(false, Ordering::Release\)/store(false, Ordering::Relaxed)/~split:two_thieves_and_the_owner
rearm-unfenced~src/queue/split/division.rs~s/processor_fence\(Ordering::SeqCst\); \/\/ with the sleeper.*//~sleep:the_question_overwritten
rearm-unchecked~src/queue/mod.rs~s/self\.0\.ask\(\); \/\/ a sleep was.*//~sleep:the_question_overwritten
rearm-late~src/queue/mod.rs~s/self\.rearm\(\);\n\s*if anybody\(\) \{/let any = anybody(); self.rearm(); if any {/~sleep:the_question_overwritten
announce-unfenced~src/policy/stealing/search.rs~s/fence\(Ordering::SeqCst\); \/\/ with the one in rearm.*//~sleep:a_sleeper_and_an_asker
park-unasked~src/policy/stealing/search.rs~s/self\.ask_all\(\);//~sleep:a_sleeper_beside_an_armed_owner
asked-unheard~src/policy/stealing/batches.rs~s/(rely_on_spawns\(\), searched\);)/$1 return;/~sleep:a_sleeper_beside_its_first_task
lend-silent~src/policy/stealing/batches.rs~s/(private\.publish\(LoneTask::Publish\);)/$1 return;/~sleep:a_sleeper_beside_an_owner_that_lends
lend-private~src/policy/stealing/batches.rs~s/private\.publish\(LoneTask::Publish\);//~sleep:a_sleeper_beside_an_owner_that_lends
lend-never~src/policy/stealing/lending.rs~s/self\.0\[owner\]\.lends\.store\(true, Ordering::Relaxed\);/let _ = owner;/~sleep:a_sleeper_beside_an_owner_that_lends
lend-unasked~src/policy/stealing/search.rs~s/self\.ask\(place\.index\(\)\);//~sleep:a_sleeper_beside_a_thief_that_lends
search-unraided~src/policy/stealing/search.rs~s/Reach::Raid => !victim\.looks_empty\(\) && private\.raid\(\),/Reach::Raid => false,/~stealing:split::a_blocked_parent
spawn-unfenced~src/idle/eventcount.rs~s/fence::light\(\);.*//~eventcount
park-unfenced~src/policy/stealing/search.rs~s/fence::heavy\(\)/true/~sleep:a_sleeper_beside_an_armed_owner
park-unchecked~src/policy/stealing/search.rs~s/if self\.work_visible\(\) \{(\n\s*self\.sleepers\.cancel)/if false {$1/~stealing:split::a_blocked_parent
park-deaf-to-end~src/policy/stealing/search.rs~s/if self\.is_over\(until\) \{(\n\s*self\.sleepers\.cancel)/if false {$1/~stealing:split::one_child_two_workers
park-deaf-to-child~src/policy/stealing/search.rs~s/if self\.is_over\(until\) \{(\n\s*self\.sleepers\.cancel)/if false {$1/~join:split::against_the_end
child-unawaited~src/policy/stealing/search.rs~s/if !awaited\.enlist\(\) => UNAWAITED/if { awaited.enlist(); false } => UNAWAITED/~join:split::against_an_end_without_a_word
child-unroused~src/policy/stealing/mod.rs~s/self\.sleepers\.rouse\(worker\);//~join:split::against_the_end
group-unroused~src/policy/stealing/mod.rs~s/self\.sleepers\.rouse\(worker\);//~join:split::group_against_its_ends
rouse-unlisted~src/idle/eventcount.rs~s/let woken = self\.list\.with\(\|list\| self\.unlist\(list, worker\)\);/let waits = self.seats[worker].load(Ordering::Relaxed) == WAITING;\n        let woken = waits && self.list.with(|list| self.unlist(list, worker));/~join:split::against_the_end
join-silent~src/policy/stealing/search.rs~s/if searching && !idle \{(\n\s*self\.found)/if false {$1/~join:split::against_a_task_and_the_end
join-blind~src/queue/split/join.rs~s/self\.is_private\(last\) && unsafe/unsafe/~split:a_join_beside_a_raid
join-keeps-claim~src/queue/split/join.rs~s/if !taken \{\n(\s*self\.own\.bot\.store)/if false {\n$1/~split:a_join_beside_a_thief
retake-unlocked~src/queue/split/join.rs~s/let _held = Held::wait\(&self\.thieves\);(\n\s*\/\/ SAFETY: not stolen)/$1/~split:a_join_beside_a_thief
retake-blind~src/queue/split/join.rs~s/let taken = self\.top\(\) <= last && unsafe/let taken = unsafe/~split:a_join_beside_a_thief
request-opens~src/queue/split/record.rs~s/self\.watched\.split\.store\(bot, Ordering::Relaxed\);/self.divide(bot);/~split:a_request_while_the_owner_pops
request-seen~src/queue/split.rs~s/let open = self\.open\(\); \/\/ once/let open = self.split(); \/\/ once/~split:a_request_for_what_is_gone
request-unanswered~src/queue/split/record.rs~s/if private >= 0 && self\.is_requested\(\) \{/if false {/~split:a_request_while_the_owner_pops
answer-too-much~src/queue/split/record.rs~s/self\.divide\(open\.wrapping_offset\(\(private \+ 1\) \/ 2\)\);/self.divide(open.wrapping_offset(private + 1));/~split:a_request_while_the_owner_pops
end-unannounced~src/policy/stealing/search.rs~s/&& self\.parks\(\) \{\n\s*place\.counters\(\)\.wakes\.add\(self\.sleepers\.wake_all\(\)\);/{/~stealing:split::one_child_two_workers
searcher-silent~src/idle/eventcount.rs~s/(interleaving 2\n\s*)self\.has_sleepers\(\)\n/$1false\n/~eventcount
searcher-silent-run~src/policy/stealing/search.rs~s/if self\.work_visible\(\) \{(\n\s*let woke)/if false {$1/~sleep:two_sleepers
announce-unordered~src/idle/eventcount.rs~s/let was = self\.searching\.fetch_sub\(u32::from\(searching\), Ordering::SeqCst\);/let was = if searching { self.searching.fetch_sub(1, Ordering::SeqCst) } else { self.searching.load(Ordering::SeqCst) };/~eventcount
seat-cleared-late~src/idle/eventcount.rs~s/Some\(\(worker as usize, self\.woken\(worker\)\)\)(.*?)Some\(\(worker, WAITING\)\) => \{/self.searching.fetch_add(1, Ordering::SeqCst); self.sleeping.fetch_sub(1, Ordering::SeqCst);\n                Some((worker as usize, WAITING))$1Some((worker, WAITING)) => {\n                    self.seats[worker].store(AWAKE, Ordering::Release);/s~eventcount
take-before-leaving~src/policy/stealing/search.rs~s/self\.search\(place, reach, \|\| self\.quiescence\.leave\(\), \|\| self\.enter\(place\)\)/let task = self.search(place, reach, || (), || ());\n                if task.is_some() { self.quiescence.leave(); }\n                task/~stealing:split::one_child_two_workers
end-unconfirmed~src/idle/quiescence.rs~s/self\.idle\.load\(Ordering::Acquire\) == self\.workers/true/~stealing:split::a_foreign_task
gate-left-open~src/queue/run_gate.rs~s/self\.closed = true/self.closed = false/~stealing:split::a_foreign_task
close-over-a-task~src/queue/injector.rs~s/&& state\.queue\.is_empty\(\)( && still)/$1/~stealing:split::a_foreign_task
gate-not-held~src/queue/run_gate.rs~s/if self\.ends == Ends::AfterRelease \{/if false {/~pool:split::awaited
rest-unannounced~src/queue/run_gate.rs~s/rests\.announce\(\);//~pool:split::awaited
rest-announced-late~src/queue/run_gate.rs~s/self\.0\.add\(1, Ordering::Release\);.*\n\s*self\.0\.wake\(i32::MAX\);/self.0.wake(i32::MAX);\n        self.0.add(1, Ordering::Release);/~pool:split::awaited
rest-unexpected~src/queue/injector.rs~s/state\.gate\.expect_rest\(\);//~pool:split::awaited
rest-unconfirmed~src/idle/quiescence.rs~s/injector\.wait_for_rest\(\|\| self\.is_full\(\)\)/injector.wait_for_rest(|| true)/~pool:split::awaited
rest-over-a-task~src/queue/injector.rs~s/let rests = state\.queue\.is_empty\(\) && still\(\)/let rests = still()/~pool:split::awaited
rest-unseen~src/idle/quiescence.rs~s/self\.idle\.load\(Ordering::Acquire\)/self.idle.load(Ordering::Relaxed)/~pool:split::awaited
rest-looked-at-first~src/queue/run_gate.rs~s/let seen = self\.0\.load\(Ordering::Relaxed\);\n(\s*)while self\.0\.load\(Ordering::Acquire\) == seen && !now\(\) \{/while !now() {\n$1    let seen = self.0.load(Ordering::Acquire);/~pool:split::awaited
release-blind~src/queue/injector.rs~s/state\.gate\.release\(\);\n\s*self\.close\(state, still\)/state.gate.release();\n            let _ = still;\n            false/~pool:split::destroyed
release-over-a-task~src/idle/quiescence.rs~s/injector\.release\(\|\| self\.is_full\(\)\)/injector.release(|| true)/~pool:split::destroyed
release-silent~src/policy/stealing/mod.rs~s/(self\.quiescence\.release\(&self\.injector\)) && self\.parks\(\)/$1 && false/~pool:split::destroyed
sync-name-stored~src/sync/node.rs~s/match self\.word\.compare_exchange\(word, name, Ordering::Release, Ordering::Acquire\) \{/match Ok::<usize, usize>(self.word.swap(name, Ordering::AcqRel)) {/~sync:a_mutex_is_handed_over_again_and_again
sync-name-relaxed~src/sync/node.rs~s/(let mut word = self\.word\.load\(Ordering::)Acquire/$1Relaxed/~sync
sync-grant-relaxed~src/sync/node.rs~s/swap\(GRANTED, Ordering::AcqRel\)/swap(GRANTED, Ordering::Relaxed)/~sync
sync-unlocked-list~src/sync/node.rs~s/self\.lock\.lock\(\);\n//; s/unsafe \{ self\.lock\.unlock\(\) \};//~sync
mutex-lock-relaxed~src/sync/mutex.rs~s/(FREE, LOCKED, Ordering::)Acquire/$1Relaxed/~sync:a_mutex_excludes
mutex-unlock-relaxed~src/sync/mutex.rs~s/(LOCKED, FREE, Ordering::)Release/$1Relaxed/~sync:a_mutex_excludes
mutex-link-relaxed~src/sync/mutex.rs~s/(state, linked, Ordering::)Release/$1Relaxed/~sync:a_mutex_excludes
mutex-take-relaxed~src/sync/mutex.rs~s/(swap\(LOCKED, Ordering::)Acquire/$1Relaxed/~sync:a_mutex_excludes
mutex-link-to-free~src/sync/mutex.rs~s/if state == FREE \{/if false {/~sync:a_mutex_is_handed_over_again_and_again
mutex-unturned~src/sync/mutex.rs~s/let older = Node::next\(node\);\n\s*Node::set_next\(node, younger\);\n\s*\(younger, node\) = \(node, older\);/(younger, node) = (node, ptr::null());/~sync:a_mutex_keeps_the_order
mutex-queue-lost~src/sync/mutex.rs~s/\*queue = Node::next\(oldest\)/*queue = (Node::next(oldest), ptr::null()).1/~sync:a_mutex_excludes
cond-relock-free~src/sync/cond.rs~s/unsafe \{ \(\*\(\*node\.cast::<Waiting>\(\)\)\.mutex\)\.lock_or_link\(node\) \}/!node.is_null()/~sync:a_signal_is_not_lost
cond-broadcast-to-one~src/sync/node.rs~s/self\.0 = unsafe \{ Node::next\(node\) \};/self.0 = ptr::null();/~sync:all_hear_a_broadcast
sem-wait-relaxed~src/sync/sem.rs~s/(state, less, Ordering::)Acquire/$1Relaxed/~sync:a_unit_is_passed_on
sem-post-relaxed~src/sync/sem.rs~s/(state \+ 1, Ordering::)Release/$1Relaxed/~sync:a_unit_is_passed_on
sem-link-beside-a-unit~src/sync/sem.rs~s/1\.\.=MOST => return self\.take\(state\)\.map\(\|\(\)\| true\),/MOST => unreachable!(),/~sync:two_units_for_two
sem-waited-too-short~src/sync/sem.rs~s/if last \{ 0 \} else \{ WAITED \}/0/~sync:two_post_to_two_who_wait
sem-waited-for-ever~src/sync/sem.rs~s/if last \{ 0 \} else \{ WAITED \}/WAITED/~sync:a_unit_is_passed_on
sem-lock-relaxed~src/sync/sem.rs~s/(state, LOCKED, Ordering::)Acquire/$1Relaxed/~sync:a_unit_is_passed_on
sem-unlock-relaxed~src/sync/sem.rs~s/(store\(state, Ordering::)Release/$1Relaxed/~sync:a_unit_is_passed_on
sem-unlocked-too-soon~src/sync/sem.rs~s/self\.list\.push\(node\);\n\s*self\.unlock\(WAITED\);/self.unlock(WAITED);\n            self.list.push(node);/~sync:a_unit_is_passed_on
sem-post-touches~src/sync/sem.rs~s/\.map\(\|_\| None\)/.map(|_| { self.state.load(Ordering::Relaxed); None })/~sync:a_semaphore_is_freed_by_who_gets_the_unit
sem-unnamed~src/sync/node.rs~s/Node::new\(name\)/Node::new((name, WAITING).1)/~sync:a_unit_is_passed_on
barrier-too-late~src/sync/barrier.rs~s/\*arrived < self\.size/*arrived <= self.size/~sync:a_barrier_in_rounds
barrier-one-round~src/sync/barrier.rs~s/\*arrived = 0;//~sync:a_barrier_in_rounds
barrier-forgets~src/sync/node.rs~s/self\.0 = unsafe \{ Node::next\(node\) \};/self.0 = ptr::null();/~sync:a_barrier_of_three
suspend-unheld~src/idle/quiescence.rs~s/self\.count\(1\);//~suspend:split::for_one_outside
suspend-held-for-ever~src/idle/quiescence.rs~s/self\.count\(u32::MAX\);//~suspend:split::for_one_outside
end-over-a-waiter~src/idle/quiescence.rs~s/&& self\.waits\(\) == 0//~suspend:split::for_one_outside
requeue-silent~src/policy/stealing/mod.rs~s/(put_back\(task\)\?;\n)\s*self\.wake_for_injected\(place\);/$1let _ = place;/~suspend:split::for_one_outside
line-lost~src/policy/stealing/mod.rs~s/(return Ok\(\(\)\);\n            \}\n        \}\n        )self\.requeue\(place, task\)/$1Ok(())/~ring:a_yield_beside_a_thief
forked-end-relaxed~src/sync/forked.rs~s/swap\(over\(\), Ordering::AcqRel\)/swap(over(), Ordering::Relaxed)/~join:split::against_the_end
forked-over-relaxed~src/sync/forked.rs~s/(load\(Ordering::)Acquire(\) == over\(\))/$1Relaxed$2/~join:chaselev::against_a_task
forked-one-name~src/sync/forked.rs~s/(self\.f\.store\(state, Ordering::Relaxed\); \/\/ for `begin`\n\s*)\}/$1} else if state != begun() { return None; }/~join:a_name_in_place_of_another
forked-begun-lost~src/sync/forked.rs~s/self\.f\.store\(0, Ordering::Relaxed\); \/\/ somebody has begun it meanwhile//~join:a_task_that_was_begun_is_not_lost
forked-unwoken~src/sync/forked.rs~s/Some\(state & !WAITED\)/(state == over()).then_some(state \& !WAITED)/~join:split::against_the_end
members-leave-relaxed~src/sync/members.rs~s/(let new = if last.*?\(state, new, Ordering::)AcqRel/$1Relaxed/s~suspend:split::for_two
members-over-relaxed~src/sync/members.rs~s/(state\.load\(Ordering::)Acquire(\) == 0)/$1Relaxed$2/~sync:two_wait_for_a_group
members-deaf~src/sync/members.rs~s/\(state \| WAITED\) & !TAKING/state | WAITED/~sync:two_wait_for_a_group
members-dropped~src/sync/members.rs~s/unsafe \{ self\.put_back\(nodes\) \};//~sync:two_wait_for_a_group
members-alone~src/sync/members.rs~s/Some\(self\.take\(\)\)/Some(Taken(ptr::null()))/~sync:two_wait_for_a_group
members-linked-relaxed~src/sync/members.rs~s/(first, Ordering::)Release, /$1Relaxed, /~sync:two_wait_for_a_group
event-happens-relaxed~src/threads/event.rs~s/swap\(PAST, Ordering::Release\)/swap(PAST, Ordering::Relaxed)/~block:an_event
event-waits-relaxed~src/threads/event.rs~s/(load\(Ordering::)Acquire(\) != PAST)/$1Relaxed$2/~block:an_event
event-silent~src/threads/event.rs~s/self\.0\.wake\(i32::MAX\);//~block:an_event
event-torn~src/threads/event.rs~s/if self\.0\.swap\(PAST, Ordering::Release\) == AWAITED \{/let was = self.0.load(Ordering::Relaxed);\n        self.0.store(PAST, Ordering::Release);\n        if was == AWAITED {/~block:an_event
event-overwritten~src/threads/event.rs~s/self\.0\.swap_if\(TO_COME, AWAITED\);/self.0.store(AWAITED, Ordering::Relaxed);/~block:an_event
block-unheld~src/idle/quiescence.rs~s/self\.count\(1\);//~block:split::any_of_two_is_left
block-held-for-ever~src/idle/quiescence.rs~s/self\.count\(u32::MAX\);//~block:split::the_only_is_left
end-over-a-section~src/idle/quiescence.rs~s/&& self\.waits\(\) == 0//~block:split::the_first_of_two_is_left
section-end-silent~src/policy/stealing/mod.rs~s/(put_back\(task\)\?;\n)\s*self\.wake_for_injected\(place\);/$1let _ = place;/~block:split::the_first_of_two_is_left
creator-late~src/threads/job.rs~s/        self\.set_has_thread\(true\);\n        let made = create\(\);/        let made = create();\n        self.set_has_thread(true);/~block:a_creator_beside_the_next_who_calls
caller-late~src/threads/job.rs~s/let has_thread = self\.has_thread\(\);(.*?swap\(CALLED, Ordering::AcqRel\);)/let has_thread = true;$1\n        let has_thread = self.has_thread();/s~block:a_creator_beside_the_next_who_calls
handoff-unswapped~src/threads/handoff.rs~s/self\.word\.compare_exchange\(left, back, Ordering::Relaxed, Ordering::Relaxed\)\.is_ok\(\)/{ let still = self.word.load(Ordering::Relaxed) == left; if still { self.word.store(back, Ordering::Relaxed); } still }/~block:a_place_that_stays_vacant
handoff-uncounted~src/threads/handoff.rs~s/fetch_add\(ABSENCE \+ VACANT, Ordering::AcqRel\);\n(\s*)let left = \(was \+ ABSENCE \+ VACANT\) \| COMING;/fetch_add(VACANT, Ordering::AcqRel);\n$1let left = (was + VACANT) | COMING;/~block:a_place_that_is_left_by_two
handoff-left-relaxed~src/threads/handoff.rs~s/(fetch_add\(ABSENCE \+ VACANT, Ordering::)AcqRel/$1Relaxed/~block:a_place_that_stays_vacant
handoff-taken-relaxed~src/threads/handoff.rs~s/compare_exchange\(word, count, Ordering::AcqRel, /compare_exchange(word, count, Ordering::Relaxed, /~block:a_place_that_stays_vacant
handoff-deserted~src/threads/handoff.rs~s/match self\.word\.compare_exchange\(word, count, Ordering::AcqRel, Ordering::Relaxed\) \{/self.word.store(count, Ordering::Release);\n        match Ok::<usize, usize>(word) {/~block:a_place_that_stays_vacant
handoff-kept-coming~src/threads/handoff.rs~s/self\.word\.fetch_and\(!\(VACANT \| COMING\), Ordering::Relaxed\);/self.word.fetch_and(!VACANT, Ordering::Relaxed);/~block:a_place_that_nobody_comes_to
section-retaken-blind~src/threads/handoff.rs~s/self\.word\.compare_exchange\(left, back, Ordering::Relaxed, Ordering::Relaxed\)\.is_ok\(\)/{ self.word.store(back, Ordering::Relaxed); true }/~block:split::the_only_is_left
shared-end-too-soon~src/policy/shared.rs~s/if state\.active == 0 && (state\.gate\.rest\(&self\.rests\) \{\n\s*place)/if $1/~shared:fifo::children
shared-end-silent~src/policy/shared.rs~s/place\.counters\(\)\.wakes\.add\(self\.wake_all_and_unlock\(\)\);/unsafe { self.monitor.unlock() };/~shared:fifo::children
shared-task-silent~src/policy/shared.rs~s/Ok\(\(state\.queue\.len\(\), self\.choose\(state\)\)\)/Ok((state.queue.len(), Wake::Nobody))/~shared:fifo::rest
shared-joiner-unroused~src/policy/shared/state.rs~s/(AWAKE, Ordering::Relaxed\)\);\n\s*)self\.joiner_words\[worker\]\.wake\(1\);/$1/~shared:fifo::helper
shared-joiner-unlocked~src/policy/shared/state.rs~s/self\.with\(\|_\| (self\.joiner_words\[worker\]\.store\(AWAKE, Ordering::Relaxed\))\);/$1;/~shared:fifo::helper
serial-silent~src/policy/serial.rs~s/self\.bell\.wake\(1\);//~shared:serial::rest
serial-asleep-late~src/policy/serial.rs~s/self\.bell\.store\(ASLEEP, Ordering::Relaxed\);\n(\s*if self\.injector\.is_quiet\(\) \{)/$1 self.bell.store(ASLEEP, Ordering::Relaxed);/~shared:serial::rest'

dry=
[ "${1:-}" != -n ] || { dry=1; shift; }
survivors=0
while IFS='~' read -r name file change tests; do
    [ -n "$name" ] || continue
    [ $# -eq 0 ] || printf '%s\n' "$@" | grep -qx "$name" || continue
    if perl -0pe "$change" "$file" | cmp -s - "$file"; then
        echo "$name: the substitution no longer changes $file"
        survivors=$((survivors + 1))
        continue
    fi
    [ -z "$dry" ] || continue
    rm -rf "$copy"
    mkdir -p "$copy"
    cp -r Cargo.toml Cargo.lock build.rs cbindgen.toml cbindgen_tasks.toml include src model "$copy"
    # The copy is a workspace of the library and its model alone.
    sed -i 's/^members = .*/members = ["model"]/; s/^crate-type = .*/crate-type = ["rlib"]/' "$copy/Cargo.toml"
    perl -0pi -e "$change" "$copy/$file"
    test=${tests%%:*}
    model=${tests#"$test"} model=${model#:}
    if ! (cd "$copy" && cargo test --quiet --profile tools -p sched-model --test "$test" --no-run) >"$copy/log" 2>&1; then
        echo "$name: does not compile"; sed 's/^/    /' "$copy/log"
        survivors=$((survivors + 1))
        continue
    fi
    status=0
    (cd "$copy" && timeout 300 cargo test --profile tools -p sched-model --test "$test" \
        -- ${model:+--exact "$model"}) >"$copy/log" 2>&1 || status=$?
    if grep -q '^running 0 tests' "$copy/log"; then
        echo "$name: there is no model $tests"
        survivors=$((survivors + 1))
        continue
    fi
    case $status in
        0) echo "$name: SURVIVED"; survivors=$((survivors + 1)) ;;
        124) echo "$name: undecided after 300 s"; survivors=$((survivors + 1)) ;;
        *) echo "$name: killed" ;;
    esac
done <<<"$mutants"
rm -rf "$copy"
exit $((survivors > 0))
