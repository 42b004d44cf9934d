//! Cuts: a cancellation cuts off each wait of its group's tasks, also a wait that begins at the
//! same time. A wait that is overlooked leaves the keeper asleep forever, which loom reports as a
//! deadlock. And the proof of a deadlock waits for each cut.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use sched::deadline::{Deadlines, Entry, FOREVER, Then, Why};
use sched::sync::cancel::Cancellation;
use sched::sync::cuts::Cuts;
use sched::sys::futex::LONGEST;
use sched::threads::requests::{ASKED, NEWS, Requests};
use sched_model::{explore, explore_seeing, join, saw, thread_with};
use std::ptr;

/// A task of a group, which waits; and a group of whose tasks one may wait for this group.
#[repr(C)]
struct Waiter {
    entry: Entry,
    group: Cancellation,
    /// A task of `outer` has noted that it waits for the group.
    is_awaited: AtomicBool,
    outer: Cancellation,
    /// A task of `outermost` has noted that it waits for `outer`.
    outer_is_awaited: AtomicBool,
    outermost: Cancellation,
    /// The object that the task tells that it has resumed.
    resumed: *const Resumed,
}

/// The number of tasks that have not resumed, and the keeper's requests.
struct Resumed {
    left: AtomicUsize,
    requests: Requests,
}

/// See `deadline::Claim`.
///
/// # Safety
/// The entry is a [`Waiter`]'s.
unsafe fn claim(entry: *const Entry, why: Why) -> Option<Then> {
    assert!(why == Why::Cut);
    // SAFETY: by the caller's promise; the scene outlives its threads.
    let resumed = unsafe { (*entry.cast::<Waiter>()).resumed };
    Some(Then { act: resume, with: [resumed.expose_provenance(), 0] })
}

/// The task of an entry that was claimed. The last one ends the keeper's life.
fn resume([resumed, _]: [usize; 2]) {
    // SAFETY: the scene outlives its threads.
    let resumed = unsafe { &*ptr::with_exposed_provenance::<Resumed>(resumed) };
    if resumed.left.fetch_sub(1, Ordering::Relaxed) == 1 {
        resumed.requests.add(ASKED);
    }
}

struct Scene {
    deadlines: Deadlines,
    cuts: Cuts,
    waiters: Vec<Waiter>,
    resumed: Box<Resumed>,
    is_cutting: AtomicBool,
}

// SAFETY: the deadlines order the uses of the entries.
unsafe impl Send for Scene {}
// SAFETY: as above.
unsafe impl Sync for Scene {}

impl Scene {
    fn new(waiters: usize) -> Arc<Self> {
        let left = AtomicUsize::new(waiters);
        let resumed = Box::new(Resumed { left, requests: Requests::new() });
        let waiter = |_| Waiter {
            entry: Entry::new(claim),
            group: Cancellation::default(),
            is_awaited: AtomicBool::new(false),
            outer: Cancellation::default(),
            outer_is_awaited: AtomicBool::new(false),
            outermost: Cancellation::default(),
            resumed: &raw const *resumed,
        };
        let waiters = (0..waiters).map(waiter).collect();
        let (deadlines, cuts) = (Deadlines::new(), Cuts::new());
        deadlines.prepare().expect("there is memory");
        let is_cutting = AtomicBool::new(false);
        Arc::new(Scene { deadlines, cuts, waiters, resumed, is_cutting })
    }

    /// Like `api::timed::Deadline::wait`.
    fn wait(&self, i: usize) {
        // SAFETY: each model adds an entry that is in no wheel; the scene outlives its threads.
        unsafe { self.deadlines.add(&raw const self.waiters[i].entry, FOREVER, 0) };
        let waiter = &self.waiters[i];
        let is_awaited = || waiter.is_awaited.load(Ordering::Relaxed);
        self.request_if(|| waiter.group.is_cancelled() || is_awaited());
    }

    /// Like `runtime::deadlines::waits_in_group`.
    fn request_if(&self, is_reached: impl FnOnce() -> bool) {
        if self.cuts.waits(&self.deadlines, is_reached) {
            self.resumed.requests.add(NEWS);
        }
    }

    /// Like `api::cancel::Group::awaited_by`.
    fn note(&self, i: usize) {
        let waiter = &self.waiters[i];
        waiter.is_awaited.store(true, Ordering::Relaxed);
        let is_awaited = || waiter.outer_is_awaited.load(Ordering::Relaxed);
        self.request_if(|| waiter.outer.is_cancelled() || is_awaited());
    }

    /// Like `note`, for a task of the outermost group.
    fn note_outer(&self, i: usize) {
        let waiter = &self.waiters[i];
        waiter.outer_is_awaited.store(true, Ordering::Relaxed);
        self.request_if(|| waiter.outermost.is_cancelled());
    }

    /// Like `runtime::deadlines::cancel`.
    fn cancel(&self, group: &Cancellation) {
        if self.cuts.cancel(group, &self.deadlines) {
            self.resumed.requests.add(NEWS);
        }
    }

    /// Like `runtime::deadlines::cut_requested`.
    fn cut(&self) -> bool {
        self.cuts.serve(|| {
            assert!(!self.is_cutting.swap(true, Ordering::Relaxed), "two threads cut");
            let is_cut = |entry: *const Entry| {
                // SAFETY: the entry is a waiter's, in a wheel that is locked.
                let waiter = unsafe { &*entry.cast::<Waiter>() };
                let is_awaited = || waiter.is_awaited.load(Ordering::Relaxed);
                let outer_is_awaited = || waiter.outer_is_awaited.load(Ordering::Relaxed);
                let outer = || {
                    waiter.outer.is_cancelled()
                        || outer_is_awaited() && waiter.outermost.is_cancelled()
                };
                waiter.group.is_cancelled() || is_awaited() && outer()
            };
            self.deadlines.cut(claim, is_cut);
            self.is_cutting.store(false, Ordering::Relaxed);
        })
    }

    /// Like `runtime::deadlines::serve`.
    fn cut_as_worker(&self) {
        if self.cut() {
            self.resumed.requests.add(NEWS);
        }
    }

    /// The keeper's life, as in `runtime::deadlines` and `threads::watcher`, until all tasks have
    /// resumed.
    fn keep(&self) {
        loop {
            self.resumed.requests.take();
            self.cut();
            if self.resumed.left.load(Ordering::Relaxed) == 0 {
                return;
            }
            self.resumed.requests.sleep(LONGEST);
        }
    }
}

/// Explores the keeper's life beside `others`.
fn beside_the_keeper(
    name: &str,
    (preemptions, at_least): (usize, usize),
    waiters: usize,
    others: impl Fn(&Arc<Scene>) + Sync + Send + 'static,
) {
    explore(name, preemptions, at_least, move || {
        let scene = Scene::new(waiters);
        let keeper = thread_with(&scene, Scene::keep);
        others(&scene);
        join([keeper]);
    });
}

#[test]
fn a_wait_begins() {
    beside_the_keeper("cuts, a wait begins beside a cancellation", (4, 5_500), 1, |scene| {
        let waiter = thread_with(scene, |scene| scene.wait(0));
        scene.cancel(&scene.waiters[0].group);
        join([waiter]);
    });
}

/// A line: the task waits, a task of another group begins to wait for its group, and that group is
/// cancelled, in any order.
#[test]
fn a_line_begins() {
    beside_the_keeper("cuts, a line begins beside a cancellation", (3, 20_000), 1, |scene| {
        let waiter = thread_with(scene, |scene| scene.wait(0));
        let awaiter = thread_with(scene, |scene| scene.note(0));
        scene.cancel(&scene.waiters[0].outer);
        join([waiter, awaiter]);
    });
}

/// Like `a_line_begins`, with three groups: the task waits, and tasks of the two others begin to
/// wait.
#[test]
fn a_longer_line_begins() {
    let name = "cuts, a line of three groups begins beside a cancellation";
    beside_the_keeper(name, (2, 6_000), 1, |scene| {
        scene.wait(0);
        let inner = thread_with(scene, |scene| scene.note(0));
        let outer = thread_with(scene, |scene| scene.note_outer(0));
        scene.cancel(&scene.waiters[0].outermost);
        join([inner, outer]);
    });
}

/// The second cancellation may come while the keeper cuts.
#[test]
fn two_cancellations() {
    beside_the_keeper("cuts, two cancellations", (4, 2_200), 2, |scene| {
        (0..2).for_each(|i| scene.wait(i));
        (0..2).for_each(|i| scene.cancel(&scene.waiters[i].group));
    });
}

/// An idle worker also cuts.
#[test]
fn a_worker() {
    beside_the_keeper("cuts, a worker beside the keeper", (3, 16_000), 2, |scene| {
        (0..2).for_each(|i| scene.wait(i));
        let worker = thread_with(scene, Scene::cut_as_worker);
        (0..2).for_each(|i| scene.cancel(&scene.waiters[i].group));
        join([worker]);
    });
}

/// An observer that finds that nothing may act sees that each wait was cut off whose group it has
/// cancelled.
#[test]
fn an_observer() {
    explore_seeing(
        "no observer finds nothing",
        "cuts, an observer beside two cuts",
        4,
        12_000,
        || {
            let scene = Scene::new(2);
            (0..2).for_each(|i| scene.wait(i));
            scene.cancel(&scene.waiters[0].group);
            let cuts = [(); 2].map(|()| thread_with(&scene, Scene::cut_as_worker));
            scene.cancel(&scene.waiters[1].group);
            let may_act = scene.cuts.may_act() || scene.deadlines.may_act();
            assert!(
                may_act || scene.resumed.left.load(Ordering::Relaxed) == 0,
                "a cut was overlooked"
            );
            saw(usize::from(!may_act));
            join(cuts);
        },
    );
}
