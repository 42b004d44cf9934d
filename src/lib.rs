//! libsched: a task scheduler behind the C headers `sched.h` and `sched_tasks.h`.
//!
//! This crate is a C library: its interface is the directory `include/`. Items are public only for
//! this repository's models and tests, without a promise of stability.
//!
//! # The way of a task
//!
//! ```text
//! C program --sched_spawn(f, p, s)--> ffi: is the caller the thread of worker s?
//!    yes: the task {f, p} goes into the worker's own queue (the default deque: inlined; others: by
//!         the policy's spawn)
//!    no : the task goes to the caller's own worker of that run, else to the run's injector
//! worker: own queue -> run f(p, s) -> own queue ... empty? the injector, then the victims
//! nothing anywhere? wait as SCHED_IDLE says; the last worker to find nothing ends the run
//! ```
//!
//! # Floors
//!
//! A lower floor never imports a higher one, and no two files import each other. A record that
//! several files share (a worker, a fiber, a run) stands low; the operations on several records
//! stand higher. From the lowest floor to the highest:
//!
//! | floor | contents |
//! | --- | --- |
//! | [`sys`] | what Linux and the processor provide: atomics, futex, memory, threads |
//! | [`lock`] | the library's mutex, the one-byte lock, the line of waiters, the compared locks |
//! | [`settings`] | the environment variables and their valid combinations |
//! | [`threads`] | the cache of threads; the hand-over of a worker from one thread to another |
//! | [`task`] | the two-word task |
//! | [`stats`] | the counters of each worker, how it spends its time, and the report of a run |
//! | [`trace`] | the timeline of a run |
//! | [`profile`] | the work and the span of a run |
//! | [`pace`] | how fast loops run: now, in earlier loops, and in each part of the range |
//! | [`deadline`] | what is to happen at a time: timers, and waits with a deadline |
//! | `fiber` | stacks, the switch between two stacks, sanitizers, stack overflow |
//! | [`queue`] | the queues, one file each, without policy; the injector; the gate of a run |
//! | [`idle`] | waiting for work; the event count; the end of a run |
//! | [`sync`] | the states of mutex, condition, semaphore, barrier, forked task and group |
//! | [`policy`] | the policies: stealing, shared, serial |
//! | `runtime` | workers, fibers, suspension, blocking sections, argument blocks, runs |
//! | `inspect` | what all runs do and wait for: the watchdog, the deadlock proof, the live line |
//! | `table` | one row for each kind and queue: the only file that names every policy |
//! | `api` | what C programs build from tasks: fork and join, groups, loops, sort, pools, mutexes |
//! | `ffi` | the exported functions: checks of arguments, errno, no panic beyond |
//!
//! The models (`--cfg loom`) contain the floors with a link. They run all of these but [`profile`]
//! and [`pace`], and of [`trace`] only the ring.
//!
//! # Vocabulary
//!
//! - *Kind*: what `SCHED_KIND` names: a *policy*, and what its spawn does. *Row*: a kind with one
//!   deque or lock; a row of `table`.
//! - *Policy*: how workers get their tasks: by stealing, from one shared queue, or serially.
//! - *Run*: the time from `sched_init` to quiescence. The run of a *pool* stays open until the pool
//!   is destroyed.
//! - *Worker*: one of the `nthreads` records that execute tasks. At any moment one thread occupies
//!   it. The `struct scheduler *` that a task receives is its worker.
//! - *Place*: a worker as its policy sees it: one of the `nthreads` records, or the record of a
//!   guest or a relief.
//! - *Guest*: a thread outside that works on its own call while it waits for it (`runtime::guest`).
//! - *Fiber*: a stack with a worker's loop, which runs tasks on it. A task that waits keeps its
//!   fiber; its worker continues on another fiber.
//! - *Continuation*: a suspended task in the form of a task of two words, which resumes it. It can
//!   lie in any queue. *Spawner* (kind `cont`): a task that waits while a child that it has spawned
//!   is called; thieves take its continuation.
//! - *Host stack*: the stack with which the thread that occupies a worker was created.
//! - *Relief*: a thread that takes over a worker whose thread blocks (`runtime::blocking`), or that
//!   runs beside busy workers the tasks that have waited (`policy::reliefs`).
//! - *Keeper*: the thread of `threads::watcher`, which does what no worker has time for: deadlines,
//!   descriptors, signals.
//! - *Injector*: the queue of a run for tasks from threads that are not its workers.
//! - *Active*, *idle*: a worker that runs a task or has tasks in its own queue is active. An idle
//!   worker searches for tasks, dozes (sleeps for a limited time) or parks.
//! - *Victim*, *thief*: the worker that a task is stolen from, and the worker that steals it.
//! - *Public*, *private*: a task that thieves can reach, and one that its owner alone can reach.
//! - *Publish*: to make a task reachable for other threads. The owner of a deque publishes private
//!   tasks when somebody has asked, when they were requested, or *eagerly*: each of its tasks at
//!   once.
//! - *Ask*: to bring the owner of a deque to publish tasks, and to wake sleepers for them, at its
//!   next push or between two parts of a loop. Thieves ask, and workers that are about to sleep.
//! - *Request*: to bring the owner of a deque to publish tasks at its next pop or join.
//! - *Raid*: to publish the private tasks of an owner without its help, as a thief does if the
//!   owner computes and neither pushes nor pops.
//! - *Offer*: to queue a task that its maker takes back and runs unless a thief has taken it. A
//!   worker in a loop offers parts of its range.
//! - *Park*: to sleep until woken.
//! - *Quiescence*: no task runs, waits, or is queued. *Rest*: quiescence of a run that is held
//!   open.

pub mod sys;

pub mod lock;

pub mod settings;

pub mod threads;

pub mod task;

pub mod stats;

pub mod trace;

pub mod profile;

pub mod pace;

pub mod deadline;

#[cfg(not(loom))]
pub mod fiber;

pub mod queue;

pub mod idle;

pub mod sync;

pub mod policy;

#[cfg(not(loom))]
pub mod runtime;

#[cfg(not(loom))]
pub mod inspect;

#[cfg(not(loom))]
pub mod table;

#[cfg(not(loom))]
pub mod api;

#[cfg(not(loom))]
pub mod ffi;
