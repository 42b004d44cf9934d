//! Reliefs that go: the keeper looks at each run whose relief has gone. One that it overlooks leaves
//! the keeper asleep forever, which loom reports as a deadlock.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use sched::policy::reliefs::Gone;
use sched::sys::futex::LONGEST;
use sched::threads::requests::{NEWS, Requests};
use sched_model::{explore, join};

const NONE: u32 = 0;
const CALLED: u32 = 2;

/// The states of two runs' reliefs, as in `runtime::relief`.
struct Scene {
    states: [AtomicU32; 2],
    gone: Gone,
    requests: Requests,
}

impl Scene {
    /// As `ReliefState::gone`.
    fn go(&self, run: usize) {
        self.states[run].store(NONE, Ordering::Relaxed);
        self.gone.note();
        self.requests.add(NEWS);
    }

    /// The keeper's life, as in `runtime::keeper` and `threads::watcher`, until it has looked at both
    /// runs without a relief.
    fn keep(&self) {
        let mut looked = [false; 2];
        loop {
            self.requests.take();
            if self.gone.take() {
                for (looked, state) in looked.iter_mut().zip(&self.states) {
                    *looked |= state.load(Ordering::Relaxed) == NONE;
                }
            }
            if looked == [true; 2] {
                return;
            }
            self.requests.sleep(LONGEST);
        }
    }
}

#[test]
fn two_reliefs_go() {
    explore("reliefs, those of two runs go", 3, 6_000, || {
        let states = [CALLED, CALLED].map(AtomicU32::new);
        let scene = Arc::new(Scene { states, gone: Gone::new(), requests: Requests::new() });
        let reliefs = [0, 1].map(|run| {
            let scene = Arc::clone(&scene);
            thread::spawn(move || scene.go(run))
        });
        scene.keep();
        join(reliefs);
    });
}
