//! The keeper as the stand-by of the poller: an event is found although each worker computes. One
//! that is overlooked leaves the keeper asleep forever, which loom reports as a deadlock.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use sched::idle::poller::{self, Poller};
use sched::idle::standby::{Next, Standby};
use sched::sys::futex::{Futex, LONGEST};
use sched::threads::requests::{NEWS, Requests};
use sched_model::{explore, join, thread_with};

struct Scene {
    poller: Poller,
    standby: Standby,
    requests: Requests,
    /// A worker sleeps on this word until it is 1.
    word: Futex,
    served: AtomicUsize,
}

impl Scene {
    fn new() -> Arc<Self> {
        Arc::new(Scene {
            poller: Poller::new(),
            standby: Standby::new(),
            requests: Requests::new(),
            word: Futex::new(0),
            served: AtomicUsize::new(0),
        })
    }

    /// Like `runtime::descriptors::begin`.
    fn begin_wait(&self) {
        self.poller.begin_wait();
        if self.standby.begins(&self.poller) {
            self.requests.add(NEWS);
        }
    }

    /// Like `runtime::descriptors::leave_poller`.
    fn leave(&self) {
        if self.standby.leaves(&self.poller) {
            self.requests.add(NEWS);
        }
    }

    fn serve(&self) {
        // SAFETY: the caller has the turn.
        unsafe { self.poller.serve(|_| _ = self.served.fetch_add(1, Ordering::Relaxed)) };
        self.leave();
    }

    /// Like `runtime::descriptors::poll`.
    fn look(&self) {
        if self.poller.look() {
            self.serve();
        }
    }

    /// A worker without tasks sleeps until it is woken for one, and then computes for long.
    fn sleep(&self) {
        while self.word.load(Ordering::Acquire) == 0 {
            if self.poller.sleep(&self.word, 0, LONGEST) {
                self.serve();
            }
        }
        self.leave();
    }

    fn wake(&self) {
        self.word.store(1, Ordering::Release);
        poller::wake(Some(&self.poller), &self.word);
    }

    /// The keeper's life, as in `runtime::descriptors` and `threads::watcher`, until the event was
    /// served.
    fn keep(&self) {
        loop {
            self.requests.take();
            let mut next = Next::Rest;
            if self.standby.may_look(&self.poller) {
                self.look();
                next = self.standby.next(&self.poller);
            }
            if self.served.load(Ordering::Relaxed) == 1 {
                return;
            } else if next == Next::Look {
                thread::yield_now();
            } else {
                self.requests.sleep(LONGEST);
            }
        }
    }
}

/// Explores the keeper's life beside `others`. An event happens when these have returned.
fn beside_the_keeper(
    name: &str,
    preemptions: usize,
    at_least: usize,
    others: impl Fn(&Arc<Scene>) + Sync + Send + 'static,
) {
    explore(name, preemptions, at_least, move || {
        let scene = Scene::new();
        let keeper = thread_with(&scene, Scene::keep);
        others(&scene);
        scene.poller.epoll.happen(1);
        join([keeper]);
    });
}

#[test]
fn a_wait_begins() {
    beside_the_keeper("standby, a wait begins", 4, 8_000, |scene| {
        scene.begin_wait();
        scene.poller.end_wait();
        scene.begin_wait();
    });
}

/// The worker has the turn for a moment, and then computes for long.
#[test]
fn a_wait_begins_beside_a_look() {
    beside_the_keeper("standby, a wait begins beside a look", 3, 10_000, |scene| {
        let worker = thread_with(scene, Scene::look);
        scene.begin_wait();
        join([worker]);
    });
}

#[test]
fn the_poller_leaves() {
    beside_the_keeper("standby, the poller leaves", 2, 9_000, |scene| {
        scene.begin_wait();
        let worker = thread_with(scene, Scene::sleep);
        scene.wake();
        join([worker]);
    });
}

#[test]
fn the_poller_leaves_beside_a_wait() {
    beside_the_keeper("standby, the poller leaves beside a wait", 1, 4_500, |scene| {
        scene.poller.begin_wait();
        let worker = thread_with(scene, Scene::sleep);
        scene.poller.end_wait();
        scene.wake();
        scene.begin_wait();
        join([worker]);
    });
}

/// While the poller leaves, another worker has the turn for a look.
#[test]
fn the_poller_leaves_beside_a_look() {
    beside_the_keeper("standby, the poller leaves beside a look", 1, 4_000, |scene| {
        scene.begin_wait();
        let worker = thread_with(scene, Scene::sleep);
        scene.wake();
        scene.look();
        join([worker]);
    });
}
