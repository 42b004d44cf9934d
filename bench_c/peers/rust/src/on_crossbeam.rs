//! crossbeam-deque with plain threads: the pool one writes oneself in an afternoon.
//!
//! A thread a worker, made for each run; a Chase-Lev deque each, own tasks youngest first,
//! others' oldest first, one at a time. Who finds nothing says so in `idle`, spins and
//! yields as crossbeam's `Backoff` does, and then sleeps 100 µs at a time: a spawn wakes
//! nobody, and pays nothing for it.
//!
//! The end: a worker counts as idle only while its own deque is empty and it holds no task,
//! and it stops counting as idle before it steals. Only owners push, so when all are idle
//! at once all deques are empty, and stay so.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam_deque::{Steal, Stealer, Worker};
use crossbeam_utils::{Backoff, CachePadded};

use crate::work::{Arg, Spawner, System, Task};

type Job = (fn(&Local, Arg), Arg);

pub struct Crossbeam {
    threads: usize,
}

pub struct Local<'a> {
    deque: Worker<Job>,
    index: usize,
    shared: &'a Shared,
}

struct Shared {
    stealers: Vec<Stealer<Job>>,
    idle: CachePadded<AtomicUsize>,
}

impl System for Crossbeam {
    fn new(threads: usize) -> Crossbeam {
        Crossbeam { threads }
    }

    fn run<T: Task>(&self, arg: Arg) {
        let deques: Vec<_> = (0..self.threads).map(|_| Worker::new_lifo()).collect();
        let shared = Shared {
            stealers: deques.iter().map(Worker::stealer).collect(),
            idle: CachePadded::new(AtomicUsize::new(0)),
        };
        deques[0].push((run::<T>, arg));
        thread::scope(|scope| {
            let mut locals = deques.into_iter().enumerate().map(|(index, deque)| Local {
                deque,
                index,
                shared: &shared,
            });
            let first = locals.next();
            for local in locals {
                scope.spawn(move || local.work());
            }
            if let Some(first) = first {
                first.work();
            }
        });
    }
}

fn run<T: Task>(local: &Local, arg: Arg) {
    T::run(local, arg);
}

impl Spawner for Local<'_> {
    fn spawn<T: Task>(&self, arg: Arg) {
        self.deque.push((run::<T>, arg));
    }
}

impl Local<'_> {
    fn work(&self) {
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

    /// A task of another worker, or none when the run is over.
    fn wait(&self) -> Option<Job> {
        let Shared { stealers, idle } = self.shared;
        let backoff = Backoff::new();
        idle.fetch_add(1, Ordering::SeqCst);
        loop {
            if idle.load(Ordering::SeqCst) == stealers.len() {
                return None;
            }
            let others =
                || (1..stealers.len()).map(|i| &stealers[(self.index + i) % stealers.len()]);
            if others().any(|other| !other.is_empty()) {
                idle.fetch_sub(1, Ordering::SeqCst);
                for other in others() {
                    if let Steal::Success(job) = other.steal() {
                        return Some(job);
                    }
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
