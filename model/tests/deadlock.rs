//! The counts on which the proof of a deadlock relies (`inspect::deadlock`): an observer that
//! proves a deadlock is wrong in these models, because each of their waits ends.
#![cfg(loom)]

use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread::{self, JoinHandle};
use sched::sync::node::Node;
use sched::sync::outside::Outside;
use sched::threads::event::Event;
use sched::threads::resting::Resting;
use sched_model::{Reached, explore, join};

/// The threads of a process, apart from the observer.
struct Process {
    outside: Outside,
    /// The kernel's knowledge. Each look is a read-modify-write, so that it is never out of date.
    threads: AtomicUsize,
    first: Wait,
    second: Wait,
}

/// An object that one thread waits for. The event stands for the futex on which the thread sleeps.
struct Wait {
    node: Node,
    woken: Event,
}

// SAFETY: each node belongs to its waiter, and to the thread that grants it, in turn.
unsafe impl Send for Process {}
// SAFETY: as above.
unsafe impl Sync for Process {}

const NAME: usize = 8;

impl Wait {
    fn new() -> Self {
        Wait { node: Node::default(), woken: Event::new() }
    }
}

impl Process {
    fn new(threads: usize) -> Arc<Self> {
        Arc::new(Process {
            outside: Outside::new(),
            threads: AtomicUsize::new(threads),
            first: Wait::new(),
            second: Wait::new(),
        })
    }

    fn thread(this: &Arc<Self>, f: impl FnOnce(&Arc<Self>) + 'static) -> JoinHandle<()> {
        let process = Arc::clone(this);
        thread::spawn(move || {
            f(&process);
            process.threads.fetch_sub(1, Ordering::AcqRel); // the thread's last visible step
        })
    }

    /// Like `api::sleep_until_over`.
    fn wait(&self, wait: &Wait) {
        if wait.node.leave_name(NAME) {
            self.outside.count();
            wait.woken.wait();
        }
    }

    /// Like `Waiter::wake`.
    fn wake(&self, wait: &Wait) {
        // SAFETY: the node lives as long as the process, and is granted once.
        if unsafe { Node::grant(&wait.node) }.is_some() {
            self.outside.uncount();
            wait.woken.happen();
        }
    }

    /// The observer, as in `inspect::deadlock`: true if every thread sleeps forever.
    fn is_proved(&self) -> bool {
        let all_sleep = |count: sched::sync::outside::Count| {
            let threads = self.threads.fetch_add(0, Ordering::AcqRel);
            (threads > 0 && count.number() == threads).then_some(())
        };
        self.outside.unchanged_while(all_sleep).is_some()
    }
}

/// The waker ends as soon as it has woken the waiter.
#[test]
fn a_waker_that_ends() {
    explore("deadlock, a waker that ends", 3, 50, || {
        let process = Process::new(2);
        let waiter = Process::thread(&process, |process| process.wait(&process.first));
        let waker = Process::thread(&process, |process| process.wake(&process.first));
        assert!(!process.is_proved(), "a thread is awake, or will be");
        join([waiter, waker]);
    });
}

/// The woken waiter creates a thread, which will wake it again, and waits a second time.
#[test]
fn a_waiter_that_waits_again() {
    explore("deadlock, a waiter that waits again", 3, 30_000, || {
        let process = Process::new(2);
        let waiter = Process::thread(&process, |process| {
            process.wait(&process.first);
            process.threads.fetch_add(1, Ordering::AcqRel);
            let next = Process::thread(process, |process| process.wake(&process.second));
            process.wait(&process.second);
            next.join().unwrap();
        });
        let waker = Process::thread(&process, |process| process.wake(&process.first));
        assert!(!process.is_proved(), "a thread is awake, or will be");
        join([waiter, waker]);
    });
}

static MET: Reached = Reached::not_yet();

/// A thread stops resting and occupies a worker. An observer that has seen it as the worker's owner
/// does not count it among the resting threads.
#[test]
fn a_thread_that_leaves_its_rest() {
    explore("deadlock, a thread that leaves its rest", 4, 5, || {
        let this = Arc::new((Resting::new(), AtomicUsize::new(0), Mutex::new(())));
        this.0.begin();
        let other = Arc::clone(&this);
        let other = thread::spawn(move || {
            other.0.end();
            other.1.store(1, Ordering::Relaxed); // the worker's owner
        });
        let is_at_worker = this.1.load(Ordering::Relaxed) == 1;
        Resting::look();
        let rests = {
            let _cache = this.2.lock().unwrap();
            this.0.shows()
        };
        assert!(!(is_at_worker && rests), "the thread is counted twice");
        MET.note(is_at_worker);
        other.join().unwrap();
    });
    MET.expect("a thread at a worker");
}
