//! Deadlines: an entry that is added while the keeper arms is not overlooked; an entry is claimed
//! once, and is its owner's after `remove`; and the keeper finds the tasks of entries that others
//! have served. An entry or a task that is overlooked leaves the keeper asleep forever, which loom
//! reports as a deadlock, or until a time that a check compares.
//!
//! There is no clock: each thread brings the times at which it looks, and a sleep until a time ends
//! at once.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use sched::deadline::{Deadlines, Entry, Then, Why};
use sched::sys::futex::LONGEST;
use sched::threads::requests::{ASKED, NEWS, Requests};
use sched_model::{Cell, Reached, explore, explore_seeing, join, saw, thread_with};
use std::ptr;

/// Times at which entries are due, much more than `GRACE` apart.
const EARLY: u64 = 1 << 20;
const LATE: u64 = 1 << 30;

/// How much later than a covered deadline the keeper looks.
const GRACE: u64 = 250_000;

/// A request: the time until which the keeper sleeps has come.
const TIME_PASSES: u32 = ASKED;

/// Numbers of threads, which select different shards.
const HERE: usize = 0;
const THERE: usize = 1;

/// The owner of an entry, as a timer or a waiter is.
#[repr(C)]
struct Owner {
    entry: Entry,
    /// Used by each claim, and by the owner's thread after `remove`: loom checks their order.
    uses: Cell,
    /// The scene's number of queued tasks.
    queued: *const AtomicUsize,
}

impl Owner {
    fn entry(&self) -> *const Entry {
        ptr::from_ref(self).cast()
    }
}

/// See `deadline::Claim`.
///
/// # Safety
/// The entry is an [`Owner`]'s.
unsafe fn claim(entry: *const Entry, _why: Why) -> Option<Then> {
    // SAFETY: by the caller's promise; the entry's owner lives until its claim.
    let owner = unsafe { &*entry.cast::<Owner>() };
    turn();
    owner.uses.add();
    Some(Then { act: queue, with: [owner.queued.expose_provenance(), 0] })
}

/// Loom tries another order of two accesses only if the last one before was the other thread's. A
/// thread that loads a number and then stores it hides its store from loads of others. So here is
/// an access at which every two threads meet.
fn turn() {
    loom::lazy_static! {
        static ref TURN: AtomicUsize = AtomicUsize::new(0);
    }
    TURN.fetch_add(1, Ordering::Relaxed);
}

/// Queues the task of an entry that was claimed.
fn queue([queued, _]: [usize; 2]) {
    // SAFETY: the scene outlives its threads.
    let queued = unsafe { &*ptr::with_exposed_provenance::<AtomicUsize>(queued) };
    turn();
    // Relaxed: only the deadlines order it before the keeper's reads.
    queued.fetch_add(1, Ordering::Relaxed);
}

struct Scene {
    deadlines: Deadlines,
    requests: Requests,
    owners: Vec<Owner>,
    queued: Box<AtomicUsize>,
}

// SAFETY: the deadlines order the uses of the entries; loom checks the uses of the cells.
unsafe impl Send for Scene {}
// SAFETY: as above.
unsafe impl Sync for Scene {}

impl Scene {
    fn new(owners: usize) -> Arc<Self> {
        let queued = Box::new(AtomicUsize::new(0));
        let owner =
            |_| Owner { entry: Entry::new(claim), uses: Cell::new(), queued: &raw const *queued };
        let owners = (0..owners).map(owner).collect();
        let (deadlines, requests) = (Deadlines::new(), Requests::new());
        deadlines.prepare().expect("there is memory");
        Arc::new(Scene { deadlines, requests, owners, queued })
    }

    /// Like `runtime::deadlines::add`.
    fn add(&self, owner: usize, due: u64, thread: usize) {
        // SAFETY: each model adds an entry that is in no wheel; the scene outlives its threads.
        if unsafe { self.deadlines.add(self.owners[owner].entry(), due as i64, thread) } {
            self.requests.add(NEWS);
        }
    }

    fn remove(&self, owner: usize) -> bool {
        // SAFETY: the entry exists.
        unsafe { self.deadlines.remove(self.owners[owner].entry()) }
    }

    /// Serves all that is due, as a worker that was idle.
    fn serve(&self, now: u64) {
        while self.deadlines.serve(now) {}
    }

    /// An idle worker sleeps once. It is woken for a task, unless it sleeps until `EARLY`.
    fn doze(&self) {
        let Some(next) = self.deadlines.cover(|| 0) else { return };
        thread::yield_now();
        if next == EARLY {
            self.deadlines.uncover();
            self.serve(EARLY);
        }
    }

    /// The keeper sleeps. True if it is `time` when the sleep ends.
    fn sleeps_until(&self, time: u64, passes: &mut bool) -> bool {
        while !*passes || time == u64::MAX {
            self.requests.sleep(LONGEST);
            let requests = self.requests.take();
            *passes |= requests.has(TIME_PASSES);
            if requests.has(NEWS) {
                return false;
            }
        }
        true
    }

    /// The keeper's life, as in `runtime::keeper` and `threads::watcher`, from the time 0. It ends
    /// when the keeper has found a task for each of these times, at the latest then. Until the
    /// model requests `TIME_PASSES`, a sleep until `LATE` is as one without an end.
    fn keep(&self, latest: &[u64]) {
        let (mut now, mut found, mut wanted, mut passes) = (0, 0, false, false);
        loop {
            passes |= self.requests.take().has(TIME_PASSES);
            self.serve(now);
            let time = self.deadlines.arm(now);
            let served = self.deadlines.served();
            if served.any || wanted {
                let queued = self.queued.load(Ordering::Relaxed);
                assert!(latest[found..queued].iter().all(|&latest| now <= latest), "found late");
                found = queued;
            }
            wanted = served.serving;
            if found == latest.len() {
                return;
            } else if wanted {
                thread::yield_now();
            } else if time < LATE {
                now = time; // no yield: after one loom returns no old values any more
            } else if self.sleeps_until(time, &mut passes) {
                now = time;
            }
        }
    }
}

/// Explores the keeper's life beside `others`. There are entries of these times and threads at
/// first. The time until which the keeper sleeps comes when `others` has returned.
fn beside_the_keeper(
    name: &str,
    preemptions: usize,
    at_least: usize,
    (entries, latest): (&'static [(u64, usize)], &'static [u64]),
    others: impl Fn(&Arc<Scene>) + Sync + Send + 'static,
) {
    explore(name, preemptions, at_least, move || {
        let scene = Scene::new(latest.len());
        for (owner, &(due, thread)) in entries.iter().enumerate() {
            scene.add(owner, due, thread);
        }
        let keeper = thread_with(&scene, |scene| scene.keep(latest));
        others(&scene);
        scene.requests.add(TIME_PASSES);
        join([keeper]);
    });
}

/// The first deadline of a run: the keeper may be about to sleep forever.
#[test]
fn a_first_entry() {
    let name = "deadlines, a first entry beside the keeper";
    beside_the_keeper(name, 4, 300, (&[], &[EARLY]), |scene| scene.add(0, EARLY, HERE));
}

/// The keeper looks at `EARLY`, and then may be about to sleep forever.
#[test]
fn a_later_entry() {
    let name = "deadlines, a later entry beside the keeper";
    let times = (&[(EARLY, HERE)] as _, &[EARLY, LATE] as _);
    beside_the_keeper(name, 4, 1_500, times, |scene| scene.add(1, LATE, THERE));
}

/// The keeper may be about to sleep until another entry is due.
#[test]
fn an_earlier_entry() {
    let name = "deadlines, an earlier entry beside the keeper";
    let times = (&[(LATE, HERE)] as _, &[EARLY, LATE] as _);
    beside_the_keeper(name, 4, 1_500, times, |scene| scene.add(1, EARLY, HERE));
}

/// Only the first entry of a shard is compared with the time at which the keeper looks.
#[test]
fn two_entries_of_a_shard() {
    let name = "deadlines, two entries of a shard beside the keeper";
    beside_the_keeper(name, 2, 1_600, (&[], &[EARLY, LATE]), |scene| {
        let early = thread_with(scene, |scene| scene.add(0, EARLY, HERE));
        scene.add(1, LATE, HERE);
        join([early]);
    });
}

#[test]
fn entries_of_two_shards() {
    let name = "deadlines, entries of two shards beside the keeper";
    beside_the_keeper(name, 2, 1_400, (&[], &[EARLY, LATE]), |scene| {
        let early = thread_with(scene, |scene| scene.add(0, EARLY, HERE));
        scene.add(1, LATE, THERE);
        join([early]);
    });
}

/// The worker may cover one of the entries, and be woken for a task.
#[test]
fn an_idle_worker() {
    let name = "deadlines, an idle worker beside the keeper";
    let times = (&[(LATE, HERE)] as _, &[EARLY + GRACE, LATE + GRACE] as _);
    beside_the_keeper(name, 2, 6_000, times, |scene| {
        let worker = thread_with(scene, Scene::doze);
        scene.add(1, EARLY, THERE);
        join([worker]);
    });
}

/// A worker that was idle serves an entry; the keeper may be about to sleep until another one is
/// due.
#[test]
fn a_server() {
    let name = "deadlines, a server beside the keeper";
    let times = (&[(EARLY, HERE), (LATE, HERE)] as _, &[EARLY, LATE] as _);
    beside_the_keeper(name, 4, 900, times, |scene| scene.serve(EARLY));
}

/// While one server queues its task, the other server may serve the second entry.
#[test]
fn two_servers() {
    let name = "deadlines, two servers beside the keeper";
    let times = (&[(EARLY, HERE), (EARLY, THERE)] as _, &[EARLY, EARLY] as _);
    beside_the_keeper(name, 1, 1_500, times, |scene| {
        let other = thread_with(scene, |scene| scene.serve(EARLY));
        scene.serve(EARLY);
        join([other]);
    });
}

/// An entry is added to the shard whose last entry a worker takes out.
#[test]
fn an_entry_beside_a_server() {
    let name = "deadlines, an entry beside a server and the keeper";
    let times = (&[(EARLY, HERE)] as _, &[EARLY, LATE] as _);
    beside_the_keeper(name, 3, 8_000, times, |scene| {
        let server = thread_with(scene, |scene| scene.serve(EARLY));
        scene.add(1, LATE, HERE);
        join([server]);
    });
}

static REMOVED: Reached = Reached::not_yet();
static CLAIMED: Reached = Reached::not_yet();

/// An owner takes its entry out while the entry is due, and then uses its own memory.
#[test]
fn an_owner_removes_what_is_due() {
    explore("deadlines, an owner removes what is due", 4, 30, || {
        let scene = Scene::new(1);
        scene.add(0, EARLY, HERE);
        let server = thread_with(&scene, |scene| scene.serve(EARLY));
        turn();
        let removed = scene.remove(0);
        let claims = scene.owners[0].uses.get();
        scene.owners[0].uses.add();
        assert_eq!(claims + usize::from(removed), 1);
        assert!(!scene.remove(0));
        join([server]);
        assert_eq!(scene.queued.load(Ordering::Relaxed), claims);
        assert!(!scene.deadlines.has_entries());
        REMOVED.note(removed);
        CLAIMED.note(!removed);
    });
    REMOVED.expect("an entry that was removed");
    CLAIMED.expect("an entry that was claimed first");
}

/// A timer's function starts the timer again, on another thread than before, while a thread takes
/// the timer out.
#[test]
fn an_entry_changes_its_shard() {
    static REMOVED_ONCE: Reached = Reached::not_yet();
    static REMOVED_AGAIN: Reached = Reached::not_yet();
    explore("deadlines, an entry changes its shard", 4, 200, || {
        let scene = Scene::new(1);
        scene.add(0, EARLY, HERE);
        let other = thread_with(&scene, |scene| {
            scene.serve(EARLY);
            if scene.queued.load(Ordering::Relaxed) == 1 {
                scene.add(0, LATE, THERE);
            }
        });
        turn();
        let removed = scene.remove(0);
        join([other]);
        let added = 1 + scene.queued.load(Ordering::Relaxed);
        assert_eq!(scene.owners[0].uses.get(), added - 1);
        let is_left = scene.remove(0);
        assert_eq!(usize::from(removed) + usize::from(is_left), 1);
        assert!(!scene.deadlines.has_entries());
        REMOVED_ONCE.note(removed && added == 1);
        REMOVED_AGAIN.note(removed && added == 2);
    });
    REMOVED_ONCE.expect("an entry that was removed from its first shard");
    REMOVED_AGAIN.expect("an entry that was removed from its second shard");
}

/// Two threads cut entries off, while one of the entries is due and its owner takes it out.
#[test]
fn each_entry_is_cut_off_once() {
    explore("deadlines, entries are cut off", 3, 2_000, || {
        let scene = Scene::new(2);
        scene.add(0, EARLY, HERE);
        scene.add(1, LATE, HERE);
        let cuts = thread_with(&scene, |scene| scene.deadlines.cut(claim, |_| true));
        let serves = thread_with(&scene, |scene| scene.serve(EARLY));
        turn();
        let removed = scene.remove(0);
        let claims = scene.owners[0].uses.get();
        scene.owners[0].uses.add();
        assert_eq!(claims + usize::from(removed), 1);
        join([cuts, serves]);
        assert_eq!(scene.owners[1].uses.get(), 1);
        assert_eq!(scene.queued.load(Ordering::Relaxed), 1 + claims);
        assert!(!scene.deadlines.may_act());
    });
}

/// An observer that finds that no deadline may act sees the task that has been queued before.
/// `acts` are the threads that take out the entries.
fn an_observer<const N: usize>(
    name: &str,
    preemptions: usize,
    at_least: usize,
    acts: [fn(&Scene); N],
) {
    explore_seeing("no observer finds nothing", name, preemptions, at_least, move || {
        let scene = Scene::new(N);
        for (owner, due) in (0..N).zip([EARLY, LATE]) {
            scene.add(owner, due, HERE);
        }
        let threads = acts.map(|act| thread_with(&scene, act));
        turn();
        let may_act = scene.deadlines.may_act();
        assert!(may_act || scene.queued.load(Ordering::Relaxed) == 1, "a task was overlooked");
        saw(usize::from(!may_act));
        join(threads);
    });
}

#[test]
fn an_observer_beside_a_server() {
    an_observer("deadlines, an observer beside a server", 4, 30, [|scene| scene.serve(EARLY)]);
}

/// An owner takes out the last entry after a server has taken out the other one.
#[test]
fn an_observer_beside_a_server_and_an_owner() {
    let name = "deadlines, an observer beside a server and an owner";
    let owner = |scene: &Scene| {
        turn();
        assert!(scene.remove(1));
    };
    an_observer(name, 3, 400, [|scene| scene.serve(EARLY), owner]);
}

#[test]
fn an_observer_beside_a_cut() {
    let cut = |scene: &Scene| scene.deadlines.cut(claim, |_| true);
    an_observer("deadlines, an observer beside a cut", 4, 30, [cut]);
}
