//! Requests to the watcher's thread: none is lost, the thread sees what was written before a
//! request, and each handler of a fatal signal is answered or need not wait. A lost request leaves
//! the thread asleep forever, which loom reports as a deadlock.
#![cfg(loom)]

use loom::sync::Arc;
use sched::sys::futex::LONGEST;
use sched::threads::event::Event;
use sched::threads::requests::{ASKED, DIES, END, NEWS, Requests};
use sched_model::{Cell, Reached, explore, join, thread_with};

struct Scene {
    requests: Requests,
    /// Written before `NEWS` is requested.
    duty: Cell,
    /// The answer to `DIES`.
    looked: Event,
}

impl Scene {
    fn new() -> Arc<Self> {
        let (requests, duty, looked) = (Requests::new(), Cell::new(), Event::new());
        Arc::new(Scene { requests, duty, looked })
    }

    /// The watcher's life, as in `threads::watcher`. It ends by itself when it has seen `awaited`.
    fn watch(&self, awaited: u32) {
        let mut seen = 0;
        while seen != awaited {
            let taken = self.requests.take();
            if taken.has(NEWS) {
                assert_eq!(self.duty.get(), 1);
            }
            if taken.has(DIES) {
                self.looked.happen();
            }
            if taken.has(END) {
                return;
            }
            seen |= [ASKED, NEWS].into_iter().filter(|&bit| taken.has(bit)).sum::<u32>();
            if seen != awaited {
                self.requests.sleep(LONGEST);
            }
        }
    }
}

/// A signal comes while a run begins.
#[test]
fn a_signal_beside_news() {
    explore("watcher, a signal beside news", 3, 200, || {
        let scene = Scene::new();
        let asks = thread_with(&scene, |scene| {
            scene.requests.add(ASKED);
        });
        let begins = thread_with(&scene, |scene| {
            scene.duty.add();
            scene.requests.add(NEWS);
        });
        scene.watch(ASKED | NEWS);
        join([asks, begins]);
    });
}

static ANSWERED: Reached = Reached::not_yet();
static REFUSED: Reached = Reached::not_yet();

/// A fatal signal comes while the thread is told to end.
#[test]
fn a_fatal_signal_beside_the_end() {
    explore("watcher, a fatal signal beside the end", 3, 200, || {
        let scene = Scene::new();
        let watcher = thread_with(&scene, |scene| scene.watch(u32::MAX));
        let dies = thread_with(&scene, |scene| {
            let waits = scene.requests.add(DIES);
            if waits {
                scene.looked.wait();
            }
            ANSWERED.note(waits);
            REFUSED.note(!waits);
        });
        scene.requests.add(END);
        join([watcher, dies]);
    });
    ANSWERED.expect("a handler that was answered");
    REFUSED.expect("a handler that came after the end");
}
