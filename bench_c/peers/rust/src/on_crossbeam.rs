//! crossbeam-deque with plain threads: a pool that can be written in an afternoon.
//!
//! Each run makes a thread for each worker. Each worker has a Chase-Lev deque: it takes its own
//! tasks youngest first, and steals others' tasks oldest first, one at a time. A worker that finds
//! no task counts itself in `idle`, spins and yields as crossbeam's `Backoff` does, and then sleeps
//! for 100 µs at a time. A spawn wakes nobody, and so costs nothing more.
//!
//! A join puts one closure into the deque, as a pointer to its place on the stack, and calls the
//! other one. If the first closure is then still at the end of the deque, the join calls it.
//! Otherwise a thief has it, and until it has ended the owner steals and runs other tasks.
//!
//! The end: a worker counts as idle only while its own deque is empty and it holds no task, and it
//! stops counting as idle before it steals. Only owners push. So when all workers are idle at once,
//! all deques are empty and remain empty.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam_deque::{Stealer, Worker};
use crossbeam_utils::{Backoff, CachePadded};

use rust_peers::STACK;
use rust_peers::fork::{self, Joins};
use rust_peers::measure::Bench;
use rust_peers::work::{self, Arg, Spawner, System, Task};

type Job = (fn(&Local, Arg), Arg);

struct Crossbeam {
    threads: usize,
}

/// Were all answers right? None: no such workload.
pub fn run(bench: &Bench) -> Option<bool> {
    let system = Crossbeam { threads: bench.threads };
    bench.repeat(|| work::run(&system, bench).or_else(|| fork::run(&system, bench)))
}

struct Local<'a> {
    deque: Worker<Job>,
    index: usize,
    shared: &'a Shared,
}

struct Shared {
    stealers: Vec<Stealer<Job>>,
    idle: CachePadded<AtomicUsize>,
}

impl System for Crossbeam {
    fn run<T: Task>(&self, arg: Arg) {
        self.work_off((run_task::<T>, arg));
    }
}

impl Crossbeam {
    /// Runs a job and all that come of it.
    fn work_off(&self, job: Job) {
        let deques: Vec<_> = (0..self.threads).map(|_| Worker::new_lifo()).collect();
        let shared = Shared {
            stealers: deques.iter().map(Worker::stealer).collect(),
            idle: CachePadded::new(AtomicUsize::new(0)),
        };
        deques[0].push(job);
        thread::scope(|scope| {
            let mut locals = deques.into_iter().enumerate().map(|(index, deque)| Local {
                deque,
                index,
                shared: &shared,
            });
            let first = locals.next();
            for local in locals {
                let builder = thread::Builder::new().stack_size(STACK);
                builder.spawn_scoped(scope, move || local.work()).expect("a thread");
            }
            if let Some(first) = first {
                first.work();
            }
        });
    }
}

fn run_task<T: Task>(local: &Local, arg: Arg) {
    T::run(local, arg);
}

impl Spawner for Local<'_> {
    fn spawn<T: Task>(&self, arg: Arg) {
        self.deque.push((run_task::<T>, arg));
    }
}

impl Local<'_> {
    fn work(&self) {
        HERE.set(ptr::from_ref(self).cast());
        loop {
            while let Some((f, arg)) = self.deque.pop() {
                f(self, arg);
            }
            match self.wait() {
                Some((f, arg)) => f(self, arg),
                None => return,
            }
        }
    }

    fn others(&self) -> impl Iterator<Item = &Stealer<Job>> {
        let stealers = &self.shared.stealers;
        (1..stealers.len()).map(|i| &stealers[(self.index + i) % stealers.len()])
    }

    fn steal(&self) -> Option<Job> {
        self.others().find_map(|other| other.steal().success())
    }

    /// A task of another worker, or none when the run is over.
    fn wait(&self) -> Option<Job> {
        let Shared { stealers, idle } = self.shared;
        let backoff = Backoff::new();
        idle.fetch_add(1, Ordering::SeqCst);
        loop {
            if idle.load(Ordering::SeqCst) == stealers.len() {
                return None;
            }
            if self.others().any(|other| !other.is_empty()) {
                idle.fetch_sub(1, Ordering::SeqCst);
                if let Some(job) = self.steal() {
                    return Some(job);
                }
                idle.fetch_add(1, Ordering::SeqCst);
            }
            if backoff.is_completed() {
                thread::sleep(Duration::from_micros(100));
            } else {
                backoff.snooze();
            }
        }
    }
}

thread_local! {
    /// This thread's `Local`, while it works.
    static HERE: Cell<*const ()> = const { Cell::new(ptr::null()) };
}

/// A closure on the stack of the worker that joins it, and its result.
struct Forked<F, R> {
    f: Cell<Option<F>>,
    result: Cell<Option<R>>,
    ended: AtomicBool,
}

impl<F: FnOnce() -> R, R> Forked<F, R> {
    fn new(f: F) -> Forked<F, R> {
        let (f, result) = (Cell::new(Some(f)), Cell::new(None));
        Forked { f, result, ended: AtomicBool::new(false) }
    }

    fn job(&self) -> Job {
        (Forked::<F, R>::run, [ptr::from_ref(self) as u64, 0])
    }

    fn run(_: &Local, [this, _]: Arg) {
        // SAFETY: the worker that made the job from a reference waits for `ended`. A job runs
        // once, and `f` and `result` are touched by the one that runs it only, until then.
        let this = unsafe { &*(this as *const Forked<F, R>) };
        this.result.set(this.f.take().map(|f| f()));
        this.ended.store(true, Ordering::Release);
    }
}

impl Joins for Crossbeam {
    type Here<'a> = ();

    fn enter<R: Send>(&self, f: impl FnOnce(&mut ()) -> R + Send) -> R {
        let forked = Forked::new(|| f(&mut ()));
        self.work_off(forked.job());
        forked.result.take().expect("it has run")
    }

    fn join<A: Send, B: Send>(
        (): &mut (),
        a: impl FnOnce(&mut ()) -> A + Send,
        b: impl FnOnce(&mut ()) -> B + Send,
    ) -> (A, B) {
        // SAFETY: joins are called from tasks, within `Local::work`, which has set HERE to a
        // reference to its own `Local`.
        let local = unsafe { &*HERE.get().cast::<Local>() };
        let forked = Forked::new(|| b(&mut ()));
        local.deque.push(forked.job());
        let a = a(&mut ());
        let backoff = Backoff::new();
        while !forked.ended.load(Ordering::Acquire) {
            match local.deque.pop().or_else(|| local.steal()) {
                Some((_, [this, _])) if this == ptr::from_ref(&forked) as u64 => {
                    let b = forked.f.take().expect("it runs once");
                    return (a, b());
                }
                Some((f, arg)) => f(local, arg),
                None => backoff.snooze(),
            }
        }
        (a, forked.result.take().expect("it has run"))
    }
}
