//! Reliefs: the keeper calls one for a task that was suspended and waits behind busy workers, after
//! a deadline or an event; one at a time, and never for nothing. A task or a relief that it
//! overlooks leaves the keeper asleep forever, which loom reports as a deadlock.
#![cfg(loom)]

use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;
use sched::deadline::{Deadlines, Entry, Served, Then, Why};
use sched::idle::poller::Poller;
use sched::idle::standby::{Next, Standby};
use sched::policy::reliefs::{ReliefState, Reliefs, Suspended};
use sched::sys::futex::LONGEST;
use sched::threads::requests::{NEWS, Requests};
use sched_model::{explore, join, thread_with};
use std::ptr;

/// The time at which the entries are due.
const DUE: u64 = 1 << 20;

/// Numbers of threads, which select different shards.
const THREADS: [usize; 2] = [0, 1];

/// The data that the policy's lock protects.
struct Queue {
    /// The number of suspended tasks that wait from outside.
    tasks: usize,
    is_worker_idle: bool,
}

/// A task that sleeps until its deadline.
#[repr(C)]
struct Sleeper {
    entry: Entry,
    queue: *const Mutex<Queue>,
}

/// See `deadline::Claim`.
///
/// # Safety
/// The entry is a [`Sleeper`]'s.
unsafe fn claim(entry: *const Entry, _why: Why) -> Option<Then> {
    // SAFETY: by the caller's promise; the entry's owner lives until its claim.
    let queue = unsafe { (*entry.cast::<Sleeper>()).queue };
    Some(Then { act: add, with: [queue.expose_provenance(), 0] })
}

/// Queues a task whose entry was claimed.
fn add([queue, _]: [usize; 2]) {
    // SAFETY: the scene outlives its threads.
    let queue = unsafe { &*ptr::with_exposed_provenance::<Mutex<Queue>>(queue) };
    queue.lock().unwrap().tasks += 1;
}

/// A run whose worker computes, or is about to.
struct Scene {
    deadlines: Deadlines,
    poller: Poller,
    standby: Standby,
    reliefs: Reliefs,
    state: ReliefState,
    requests: Requests,
    queue: Box<Mutex<Queue>>,
    sleepers: Vec<Sleeper>,
    /// The number of tasks that have not run.
    left: AtomicUsize,
    /// How many tasks ask for their number at the relief's place.
    asking: AtomicUsize,
    /// How often the system has no thread for a relief.
    refusals: AtomicUsize,
    /// 1 while a relief is there.
    present: AtomicUsize,
}

// SAFETY: the deadlines order the uses of the entries.
unsafe impl Send for Scene {}
// SAFETY: as above.
unsafe impl Sync for Scene {}

/// The state with which a scene begins.
#[derive(Clone, Copy, Default)]
struct Plan {
    sleepers: usize,
    /// The number of tasks that are not sleepers.
    others: usize,
    is_worker_idle: bool,
    asking: usize,
    refusals: usize,
}

impl Scene {
    fn new(plan: Plan) -> Arc<Self> {
        let tasks = Queue { tasks: 0, is_worker_idle: plan.is_worker_idle };
        let queue = Box::new(Mutex::new(tasks));
        let sleeper = |_| Sleeper { entry: Entry::new(claim), queue: &raw const *queue };
        let scene = Scene {
            deadlines: Deadlines::new(),
            poller: Poller::new(),
            standby: Standby::new(),
            reliefs: Reliefs::new(),
            state: ReliefState::default(),
            requests: Requests::new(),
            sleepers: (0..plan.sleepers).map(sleeper).collect(),
            queue,
            left: AtomicUsize::new(plan.sleepers + plan.others),
            asking: AtomicUsize::new(plan.asking),
            refusals: AtomicUsize::new(plan.refusals),
            present: AtomicUsize::new(0),
        };
        scene.deadlines.prepare().expect("there is memory");
        for (sleeper, thread) in scene.sleepers.iter().zip(THREADS) {
            // SAFETY: the entry is in no wheel; the scene outlives its threads.
            unsafe { scene.deadlines.add(&raw const sleeper.entry, DUE as i64, thread) };
        }
        Arc::new(scene)
    }

    /// A worker that was idle serves the due entries, and then computes.
    fn serve(&self) {
        while self.deadlines.serve(DUE) {}
    }

    /// An idle worker takes a task, if there is one, and computes in it for long.
    fn compute(&self) {
        let mut queue = self.queue.lock().unwrap();
        queue.is_worker_idle = false;
        let taken = usize::from(queue.tasks > 0);
        queue.tasks -= taken;
        drop(queue);
        if self.left.fetch_sub(taken, Ordering::Relaxed) == taken {
            self.requests.add(NEWS); // it was the last task
        }
    }

    /// Like `runtime::descriptors::poll`, by a worker that then computes.
    fn poll(&self) {
        if self.poller.look() {
            // SAFETY: `look` has returned true.
            unsafe {
                self.poller.serve(|_| add([(&raw const *self.queue).expose_provenance(), 0]))
            };
            if self.standby.leaves(&self.poller) {
                self.requests.add(NEWS);
            }
        }
    }

    /// The policy's answer, as `Policy::suspended`.
    fn suspended(&self) -> Suspended {
        let queue = self.queue.lock().unwrap();
        Suspended::new(queue.tasks > 0, false, queue.is_worker_idle)
    }

    /// Like `Policy::take_for_relief`.
    fn take_for_relief(&self) -> bool {
        let mut queue = self.queue.lock().unwrap();
        let takes = queue.tasks > 0 && !self.state.is_dismissed();
        queue.tasks -= usize::from(takes);
        takes
    }

    /// The life of a relief, as in `runtime::beside`.
    fn relieve(&self) {
        let mut takes = self.take_for_relief();
        assert!(takes, "a relief was called for nothing");
        while takes {
            if self.asking.load(Ordering::Relaxed) > 0 {
                self.asking.fetch_sub(1, Ordering::Relaxed);
                self.state.dismiss();
                self.queue.lock().unwrap().tasks += 1;
            } else if self.left.fetch_sub(1, Ordering::Relaxed) == 1 && self.poller.is_used() {
                self.poller.end_wait();
            }
            takes = self.take_for_relief();
        }
        self.present.fetch_sub(1, Ordering::Relaxed);
        self.state.go(&self.reliefs);
        self.requests.add(NEWS);
    }

    /// The keeper's life, as in `runtime::keeper` and `threads::watcher`, until all tasks have run.
    fn keep(this: &Arc<Self>) {
        let mut reliefs = Vec::new();
        let mut now = 0;
        let mut call = || {
            if this.refusals.load(Ordering::Relaxed) > 0 {
                this.refusals.fetch_sub(1, Ordering::Relaxed);
                return false;
            }
            assert_eq!(this.present.fetch_add(1, Ordering::Relaxed), 0, "two reliefs");
            reliefs.push(thread_with(this, Scene::relieve));
            true
        };
        loop {
            this.requests.take();
            let mut looks = false;
            if this.standby.may_look(&this.poller) {
                this.poll();
                looks = this.standby.next(&this.poller) == Next::Look;
            }
            while this.deadlines.serve(now) {}
            let time = this.deadlines.arm(now);
            let served = this.deadlines.served();
            let look = || this.state.look(|| this.suspended(), &mut call);
            looks |= this.reliefs.look(served, this.poller.is_used(), look);
            if this.left.load(Ordering::Relaxed) == 0 {
                break;
            } else if looks {
                thread::yield_now();
            } else if time < u64::MAX {
                now = time;
            } else {
                this.requests.sleep(LONGEST);
            }
        }
        join(reliefs);
    }
}

/// Explores the keeper's life beside `others`.
fn beside_the_keeper(
    name: &str,
    preemptions: usize,
    at_least: usize,
    plan: Plan,
    others: impl Fn(&Arc<Scene>) + Sync + Send + 'static,
) {
    explore(name, preemptions, at_least, move || {
        let scene = Scene::new(plan);
        let kept = Arc::clone(&scene);
        let keeper = thread::spawn(move || Scene::keep(&kept));
        others(&scene);
        join([keeper]);
    });
}

/// A deadline expires. Whichever thread serves it, the woken task waits behind the busy worker.
#[test]
fn a_deadline() {
    let plan = Plan { sleepers: 1, ..Plan::default() };
    beside_the_keeper("reliefs, a deadline", 4, 1_300, plan, |scene| scene.serve());
}

/// The second task may be queued before a relief is called, while it is there, or as it goes.
#[test]
fn two_deadlines() {
    let plan = Plan { sleepers: 2, ..Plan::default() };
    beside_the_keeper("reliefs, two deadlines", 4, 19_000, plan, |scene| scene.serve());
}

/// The worker is idle at a look, and then takes one of the tasks.
fn an_idle_worker(name: &str, sleepers: usize, at_least: usize) {
    let plan = Plan { sleepers, is_worker_idle: true, ..Plan::default() };
    beside_the_keeper(name, 3, at_least, plan, |scene| {
        scene.serve();
        scene.compute();
    });
}

#[test]
fn a_worker_that_was_idle() {
    an_idle_worker("reliefs, a worker that was idle", 2, 7_000);
}

#[test]
fn a_worker_that_takes_the_task() {
    an_idle_worker("reliefs, a worker that takes the task", 1, 1_000);
}

#[test]
fn a_dismissed_relief() {
    let plan = Plan { sleepers: 2, asking: 1, ..Plan::default() };
    beside_the_keeper("reliefs, one is dismissed", 3, 18_000, plan, |scene| scene.serve());
}

#[test]
fn no_thread() {
    let plan = Plan { sleepers: 1, refusals: 1, ..Plan::default() };
    beside_the_keeper("reliefs, there is no thread", 4, 1_000, plan, |scene| scene.serve());
}

/// A worker queues a task whose wait ended before the task had left its stack, and then requests a
/// look (`runtime::beside::request_look`).
#[test]
fn a_worker_queues_its_own_task() {
    let plan = Plan { others: 1, ..Plan::default() };
    beside_the_keeper("reliefs, a worker queues its own task", 4, 450, plan, |scene| {
        add([(&raw const *scene.queue).expose_provenance(), 0]);
        scene.reliefs.request_look();
        scene.requests.add(NEWS);
    });
}

/// An event comes for a task that waits for a descriptor.
#[test]
fn an_event() {
    let plan = Plan { others: 1, ..Plan::default() };
    beside_the_keeper("reliefs, an event", 3, 5_500, plan, |scene| {
        scene.poller.begin_wait();
        if scene.standby.begins(&scene.poller) {
            scene.requests.add(NEWS);
        }
        scene.poller.epoll.happen(1);
        scene.poll();
    });
}

// --- the reliefs of two runs ---------------------------------------------------------------------

/// Two runs that have a relief.
struct Runs {
    states: [ReliefState; 2],
    reliefs: Reliefs,
    requests: Requests,
}

impl Runs {
    /// Like `runtime::beside::gone`.
    fn go(&self, run: usize) {
        self.states[run].go(&self.reliefs);
        self.requests.add(NEWS);
    }

    /// The keeper's life, until it has asked whether tasks wait in either run.
    fn keep(&self) {
        let mut asked = [false; 2];
        while asked != [true; 2] {
            self.requests.take();
            self.reliefs.look(Served { any: false, serving: false }, false, || {
                for (asked, state) in asked.iter_mut().zip(&self.states) {
                    let ask = || {
                        *asked = true;
                        Suspended::Absent
                    };
                    state.look(ask, || false);
                }
                false
            });
            if asked != [true; 2] {
                self.requests.sleep(LONGEST);
            }
        }
    }
}

/// The keeper looks at each run whose relief has gone.
#[test]
fn two_reliefs_go() {
    explore("reliefs, those of two runs go", 3, 6_000, || {
        let states = [(); 2].map(|()| {
            let state = ReliefState::default();
            (0..2).for_each(|_| _ = state.look(|| Suspended::Wait, || true));
            state
        });
        let runs = Arc::new(Runs { states, reliefs: Reliefs::new(), requests: Requests::new() });
        let reliefs = [0, 1].map(|run| thread_with(&runs, move |runs| runs.go(run)));
        runs.keep();
        join(reliefs);
    });
}
