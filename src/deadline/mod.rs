//! Deadlines: events that are to happen at a time. Each timer, each task that sleeps, and each task
//! that waits with a deadline has an [`Entry`]. An entry lies in memory of its owner, so nothing is
//! allocated.
//!
//! # State
//!
//! Each *shard* has a [`wheel`] under a lock, and beside it `next`, a time before which none of its
//! entries is due. A thread adds entries to the shard that its number selects, so threads whose
//! numbers lie close together use different locks; an entry knows its shard, and any thread may
//! take it out. (Rejected: a hash of the thread pointer. In one process of 16 two threads shared
//! one of the 16 shards, and a start and a cancellation took 260 ns on each of them instead of 50.)
//!
//! `armed` is the time at which a *keeper*, a thread that does nothing else, will look next.
//! `covered` is the time until which an idle worker sleeps that will look afterwards.
//!
//! # Protocol
//!
//! An entry leaves its wheel once, under the lock: its owner takes it out (`remove`), or it is due
//! or cut off, and then its `claim` is called under the same lock. A claim is short: it decides
//! what is to be done. Then the entry notes that it is in no shard, which is the last access to it.
//! The thread carries out the decision when it has released the lock. So after `remove` has
//! returned, no other thread uses the entry, whatever it has returned.
//!
//! A thread may take a timer out while the timer's function, on another thread, adds it to another
//! shard. So the entry's place is read twice: to find the lock, and under the lock. It changes from
//! one shard's wheel to none, and from none to a wheel, under the lock of that shard.
//!
//! Whoever adds an entry compares its deadline with `armed`, and wakes the keeper if it would look
//! too late. The keeper stores `armed`, and then looks at all `next` once more before it sleeps.
//! Between the store and the load of each side is a fence, so at least one sees the other.
//!
//! That alone is enough for every entry to be served in time. It takes two wake-ups: of the keeper,
//! and of the worker that gets the task. So an idle worker that is about to sleep limits its sleep
//! by `next`, and serves the due entries itself. It stores this intention in `covered`, so that no
//! other idle worker does the same. The keeper then looks [`GRACE`] later. If that worker is woken
//! for something else meanwhile, the entry is served late by at most `GRACE`. Busy workers never
//! look: there is no instruction for deadlines in their paths. The keeper puts a due task into the
//! queue for tasks from outside, which have turns (`policy::turns`).
//!
//! # Tasks that were queued and must wait
//!
//! After entries were served, the keeper looks whether their tasks wait behind busy workers
//! (`runtime::relief`), although an idle worker may have served them: it was idle then, but may
//! take one of several tasks and compute for long. One word, `servings`, counts the threads that
//! serve entries now, and how often a thread has done so. The keeper arms, and then loads this
//! word. The time until which it sleeps comes from a look at `next` before a fence in `arm`.
//! Suppose that this look does not find an entry any more. By the fences the keeper then sees that
//! the thread which took the entry is counted as serving, and looks again soon; or that thread is
//! done. Then the second number differs from the one that the keeper has seen before, or the keeper
//! has looked since it saw that number. The load of the number acquires that thread's queued tasks.
//!
//! (Rejected: a flag beside the count, set before a thread leaves the count, and cleared by the
//! keeper. The keeper may find the flag set and yet read a count from before. Then the flag alone
//! orders the queued tasks before the keeper's look; its store was relaxed and did not.)
//!
//! # For the proof of a deadlock
//!
//! While an entry that is not *endless* is in a wheel, or a thread serves entries, a task may still
//! be queued without any thread of the program. `may_act` tells so. A thread counts itself in
//! `servings` before it takes entries out, and until it has carried out their decisions. So an
//! observer that finds no entry, and after a fence no serving thread, sees the results of earlier
//! decisions in the queues. (Without its fence it could find that an owner has removed the last
//! entry, and not see the thread which serves the last but one.)
//!
//! # Rejected
//!
//! A wheel for each run: a task may wait in one run for an object that another run's task posts,
//! and the keeper had to find all runs. A keeper alone: a wake-up more for each deadline. Workers
//! that look at the clock between tasks: 61 tasks may take a second, and each look costs all
//! programs. A thread that ticks: idle programs would burn.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | the wheel, its entries | the shard's lock | the shard's lock |
//! | `next`, `endless`, `entries`: stores under the lock | Relaxed | the fences below; else hints |
//! | `add`: fence between `next` and the load of `armed` | SeqCst | `arm`: fence |
//! | `arm`: fence between the store of `armed` and the loads of `next` | SeqCst | `add`, `Serving::begin`: fences |
//! | `Entry::place`: 0, after the claim | Release | `remove`: the first load, Acquire |
//! | `Entry::place`: all else | Relaxed | the shard's lock |
//! | `shards` | Acquire, AcqRel | `memory::zeroed_once`: the wheels are made |
//! | `covered` | Relaxed | none: a stale value delays a look by `GRACE` |
//! | `Serving::begin`: addition to `servings` | Relaxed | the fence that follows |
//! | `Serving::begin`: that fence, before the entries are taken out | SeqCst | `arm`, `may_act`: fences |
//! | `may_act`: fence between the loads of `entries` and of `servings` | SeqCst | `Serving::begin`: fence |
//! | `Serving::drop`: addition to `servings` | Release | `served`, `may_act`: loads, Acquire |
//! | `seen` | Relaxed | none: only the keeper uses it |

pub mod check;
mod shard;
pub mod wheel;

pub use shard::{Claim, Entry, FOREVER, Then, Why};

use crate::sys::atomic::{
    AtomicPtr, AtomicU64, AtomicUsize, MODEL, Ordering, Pad, const_fn, fence,
};
use crate::sys::memory::{self, NoMemory};
use shard::{Shard, Time};
use std::mem;
use std::ptr;

/// The keeper looks later than a covered deadline by this many nanoseconds.
const GRACE: u64 = 250_000;

/// How many entries a thread takes out under one lock.
const BATCH: usize = if MODEL { 1 } else { 32 };

const SHARDS: usize = if MODEL { 2 } else { 16 };

/// The bits of `Deadlines::servings` for the number of threads that serve entries now.
const NOW: u64 = (1 << 32) - 1;
/// The number that is added to `Deadlines::servings` when a thread has served entries.
const DONE: u64 = 1 << 32;

/// Tells whether entries were served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// A thread has served entries since the keeper last asked; the tasks are queued.
    pub any: bool,
    /// A thread serves entries now.
    pub serving: bool,
}

/// A thread that serves entries.
struct Serving<'a>(&'a Deadlines);

impl<'a> Serving<'a> {
    fn begin(deadlines: &'a Deadlines) -> Self {
        deadlines.servings.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst); // pairs with the fences in `arm` and `may_act`
        Serving(deadlines)
    }
}

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        self.0.servings.fetch_add(DONE - 1, Ordering::Release); // pairs with `served`, `may_act`
    }
}

pub struct Deadlines {
    /// Made when the first entry is added.
    shards: AtomicPtr<Pad<Shard>>,
    armed: Time,
    covered: Time,
    /// The bits `NOW` hold the number of threads that serve entries; the bits above, how often a
    /// thread has served some.
    servings: AtomicU64,
    /// The value of `servings` at the keeper's last look, without the bits `NOW`.
    seen: AtomicU64,
    /// How many forks made this process from the first one. An entry of a parent process is in no
    /// wheel of this one.
    forks: AtomicUsize,
}

impl Deadlines {
    const_fn! {
        #[allow(clippy::new_without_default, reason = "one constructor is enough")]
        pub fn new() -> Self {
            Deadlines {
                shards: AtomicPtr::new(ptr::null_mut()),
                armed: Time::never(),
                covered: Time::never(),
                servings: AtomicU64::new(0),
                seen: AtomicU64::new(0),
                forks: AtomicUsize::new(0),
            }
        }
    }

    /// Makes the wheels, unless they are made already. Must be called before `add`.
    pub fn prepare(&self) -> Result<(), NoMemory> {
        // SAFETY: all bytes zero is a shard.
        unsafe { memory::zeroed_once(&self.shards, SHARDS) }.map(|_| ())
    }

    fn shards(&self) -> &[Pad<Shard>] {
        let first = self.shards.load(Ordering::Acquire); // pairs with `prepare`
        if first.is_null() {
            return &[];
        }
        // SAFETY: `prepare` has made them; they are never freed.
        unsafe { std::slice::from_raw_parts(first, SHARDS) }
    }

    /// Adds an entry. `thread` is the caller's number. True if the caller must wake the keeper.
    ///
    /// # Safety
    /// `prepare` has succeeded. The entry is in no wheel, and lives until `remove` or
    /// its claim has returned.
    pub unsafe fn add(&self, entry: *const Entry, deadline: i64, thread: usize) -> bool {
        let number = thread % SHARDS;
        let shard = &self.shards()[number];
        // SAFETY: the entry is in no wheel, and lives until it is taken out.
        let first = shard.wheel.with(|wheel| unsafe {
            wheel.insert(entry.cast(), deadline);
            (*entry).place.store(self.place_in(number), Ordering::Relaxed);
            shard.count(&(*entry).links, 1);
            let due = (*entry).links.due();
            (due < shard.next.get()).then(|| {
                shard.next.set(due);
                due
            })
        });
        // An entry that is not the first of its shard is behind one for which this was done.
        first.filter(|_| deadline != FOREVER).is_some_and(|due| {
            fence(Ordering::SeqCst);
            due < self.armed.get()
        })
    }

    /// Takes an entry out, if it is in a wheel. Afterwards no other thread uses it.
    ///
    /// # Safety
    /// The entry exists. (Another thread may be about to add it.)
    pub unsafe fn remove(&self, entry: *const Entry) -> bool {
        // SAFETY: the entry exists.
        let place = unsafe { &(*entry).place };
        loop {
            let found = place.load(Ordering::Acquire); // pairs with `claim`
            let Some(number) = found.checked_sub(self.place_in(0)) else { return false };
            let shard = &self.shards()[number];
            let is_there = shard.wheel.with(|wheel| {
                // Another thread may have removed it meanwhile, and added it to another wheel.
                let is_there = place.load(Ordering::Relaxed) == found;
                if is_there {
                    // SAFETY: the entry is in this wheel, which is locked.
                    unsafe {
                        wheel.remove(entry.cast());
                        shard.count(&(*entry).links, -1);
                    }
                    place.store(0, Ordering::Relaxed);
                }
                is_there
            });
            if is_there {
                return true;
            }
        }
    }

    /// The value of `Entry::place` for an entry in this shard's wheel.
    fn place_in(&self, shard: usize) -> usize {
        self.forks.load(Ordering::Relaxed) * SHARDS + shard + 1
    }

    /// A time in nanoseconds before which nothing is due.
    pub fn next(&self) -> u64 {
        self.shards().iter().map(|shard| shard.next.get()).fold(u64::MAX, u64::min)
    }

    /// Serves entries that are due at the time `now`: at most `BATCH` of each shard. True if there
    /// may be more.
    pub fn serve(&self, now: u64) -> bool {
        if self.next() > now {
            return false;
        }
        let _serving = Serving::begin(self);
        let mut more = false;
        for shard in self.shards().iter().filter(|shard| shard.next.get() <= now) {
            let mut then = [None; BATCH];
            more |= shard.wheel.with(|wheel| {
                let all = then.iter_mut().all(|then| match wheel.take_due(now as i64) {
                    Some(entry) => {
                        *then = shard.claim(entry, Why::Due);
                        true
                    }
                    None => false,
                });
                shard.next.set(wheel.next());
                all
            });
            then.into_iter().flatten().for_each(|Then { act, with }| act(with));
        }
        more
    }

    /// Cuts off each entry with this claim for which `is_cut` returns true.
    pub fn cut(&self, claim: Claim, is_cut: impl Fn(*const Entry) -> bool) {
        let _serving = Serving::begin(self);
        for shard in self.shards() {
            loop {
                let mut found = [ptr::null::<Entry>(); BATCH];
                let mut then = [None; BATCH];
                let all = shard.wheel.with(|wheel| {
                    let mut n = 0;
                    wheel.each(&mut |links| {
                        let entry = ptr::from_ref(links).cast::<Entry>();
                        // SAFETY: the links are an entry's first field, and it is in the wheel.
                        let its = unsafe { (*entry).claim.get() };
                        if its.is_some_and(|its| ptr::fn_addr_eq(its, claim)) && is_cut(entry) {
                            found[n] = entry;
                            n += 1;
                        }
                        n < BATCH
                    });
                    for (entry, then) in found[..n].iter().zip(&mut then) {
                        // SAFETY: the entry is in the wheel, which is locked.
                        unsafe { wheel.remove(entry.cast()) };
                        *then = shard.claim(entry.cast(), Why::Cut);
                    }
                    n < BATCH
                });
                then.into_iter().flatten().for_each(|Then { act, with }| act(with));
                if all {
                    break;
                }
            }
        }
    }

    /// Called by the keeper when it is about to sleep. Returns the time until which it may sleep;
    /// it then sleeps unless somebody wakes it.
    pub fn arm(&self, now: u64) -> u64 {
        loop {
            let next = self.next();
            let grace = if self.is_covered(next, now) { GRACE } else { 0 };
            let time = next.saturating_add(grace);
            self.armed.set(time);
            fence(Ordering::SeqCst);
            if self.next() >= next {
                return time;
            }
        }
    }

    /// Called by the keeper after `arm`: tells whether entries were served since the last call.
    pub fn served(&self) -> Served {
        let servings = self.servings.load(Ordering::Acquire); // pairs with `Serving::drop`
        let (seen, done) = (self.seen.load(Ordering::Relaxed), servings & !NOW);
        self.seen.store(done, Ordering::Relaxed);
        Served { any: done != seen, serving: servings & NOW != 0 }
    }

    /// Called when there is no keeper any more, or the keeper does not look again by itself.
    pub fn disarm(&self) {
        self.armed.set(u64::MAX);
    }

    /// For an idle worker that is about to sleep: the time at which it must look. None if it need
    /// not look, because nothing is due, or another worker looks by then.
    pub fn cover(&self, now: impl FnOnce() -> u64) -> Option<u64> {
        let next = self.next();
        if next == u64::MAX || self.is_covered(next, now()) {
            return None;
        }
        self.covered.set(next);
        Some(next)
    }

    /// True if a worker looks when `next` is due. (A worker that has not looked `GRACE` after the
    /// time that it covered does something else by now.)
    fn is_covered(&self, next: u64, now: u64) -> bool {
        let covered = self.covered.get();
        covered <= next && covered.saturating_add(GRACE) > now && covered != u64::MAX
    }

    /// Called when a worker to which `cover` gave a time is awake.
    pub fn uncover(&self) {
        self.covered.set(u64::MAX);
    }

    /// True if an entry is in a wheel. A hint.
    pub fn has_entries(&self) -> bool {
        self.shards().iter().any(|shard| shard.entries.load(Ordering::Relaxed) != 0)
    }

    /// True if an entry that is not endless is in a wheel, or a thread serves entries.
    pub fn may_act(&self) -> bool {
        let number = |number: &AtomicUsize| number.load(Ordering::Relaxed);
        let waits = self.shards().iter().any(|shard| {
            let endless = number(&shard.endless);
            number(&shard.entries) != endless
        });
        fence(Ordering::SeqCst); // pairs with the fence in `Serving::begin`
        waits || self.servings.load(Ordering::Acquire) & NOW != 0 // pairs with `Serving::drop`
    }

    /// Forgets all entries in the child of a fork: they belong to the parent's tasks and runs.
    ///
    /// # Safety
    /// No other thread of this process uses this value.
    pub unsafe fn forget(&self) {
        for shard in self.shards() {
            // SAFETY: no other thread uses the wheel; all bytes zero is a wheel.
            unsafe { shard.wheel.reset(mem::zeroed()) };
            shard.next.set(u64::MAX);
            shard.entries.store(0, Ordering::Relaxed);
            shard.endless.store(0, Ordering::Relaxed);
        }
        self.disarm();
        self.uncover();
        self.servings.store(0, Ordering::Relaxed);
        self.seen.store(0, Ordering::Relaxed);
        self.forks.fetch_add(1, Ordering::Relaxed);
    }
}
