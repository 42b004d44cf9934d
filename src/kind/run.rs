//! A run: from `sched_init` to quiescence, the same for every kind.

use super::parcel::Depot;
use super::table::Request;
use super::worker::{self, Lease, Worker};
use super::{Kind, Place, Plan, strand};
use crate::base::config::{Join, Overflow};
use crate::base::cpu::Mask;
use crate::base::crew::{Crew, Job, Terms};
use crate::base::mem::{self, NoMemory};
use crate::base::{Errno, frontier, futex};
use crate::fiber::stack;
use crate::probe::report::{Report, Summary};
use std::ffi::c_void;
use std::ptr;
use std::time::Instant;

/// A thread's work, inside the frontier.
unsafe extern "C" fn work(worker: *mut c_void) {
    // SAFETY: `start` and `member` pass their worker, whose record is never freed.
    let worker = unsafe { &*worker.cast::<Worker>() };
    worker.occupy();
    // SAFETY: occupied just now.
    unsafe { strand::host(worker) };
    worker.vacate();
}

/// The job of a thread of the crew.
unsafe fn member(worker: *const c_void) {
    // SAFETY: `start` passes a worker.
    unsafe { frontier::inside(work, worker.cast_mut()) };
}

/// Runs the first task and all that comes from it, on the caller's thread and others.
pub fn start<K: Kind>(request: &Request) -> Result<(), Errno> {
    let &Request { uncancelled, config, row, threads, qlen, first } = request;
    const NO_MEMORY: Errno = Errno(libc::ENOMEM);
    worker::watch_process();
    let report = Report::open(config)?;
    let began = Instant::now();
    futex::probe();

    let mask = Mask::of_caller();
    let limit = if config.overflow == Overflow::Refuse { qlen } else { usize::MAX };
    let plan = Plan {
        idle: config.idle,
        shuffled: config.seed.is_some(),
        workers: threads,
        limit,
        processors: mask.count(),
    };
    let kind = K::new(&plan).map_err(|NoMemory| NO_MEMORY)?;
    // SAFETY: `kind` stays where it is until the end of this function.
    unsafe { kind.settle() };
    let depot = Depot::default();
    let leases = mem::slice(threads, |_| Lease::new()).map_err(|NoMemory| NO_MEMORY)?;
    let worker = |i: usize| ptr::from_ref(leases[i].worker()).cast::<c_void>();
    let jobs = (1..threads).map(|i| Job { main: member, arg: worker(i) });
    let crew =
        Crew::new(Terms::of_caller(mask, config.warm), jobs).map_err(|NoMemory| NO_MEMORY)?;

    let seed = config.seed.unwrap_or_else(some_seed);
    let terms = strand::Terms {
        stack: config.stack.unwrap_or_else(stack::default_size),
        sets_aside: config.join == Join::Suspend,
    };
    for (i, lease) in leases.iter().enumerate() {
        lease.worker().assign(i, row, &kind, &crew, &depot, terms, seed);
    }
    // SAFETY: the run has not started.
    unsafe { kind.spawn(leases[0].worker(), first) }.map_err(|_| NO_MEMORY)?;
    if !kind.starts_asleep() {
        // Those that can be had do the work; the statistics say how many cannot.
        // SAFETY: each once; leases and kind live until the crew has finished.
        (1..threads).for_each(|i| _ = unsafe { crew.call(i) });
    }

    // The tasks may be cancelled, and end the process thereby; the rest of the run must not be.
    // SAFETY: `work` takes a worker.
    uncancelled.except(|| unsafe { frontier::inside(work, worker(0).cast_mut()) });
    // From now on no foreign thread can wake a worker, so none is called any more.
    leases.iter().for_each(Lease::retire);
    crew.finish();
    // SAFETY: all threads are back on stacks of their own.
    leases.iter().for_each(|lease| unsafe { lease.worker().rack.close() });

    let present = |i: &usize| !crew.is_missing(*i);
    report.print(&Summary {
        kind: config.kind.word(),
        deque: row.deque.map_or("none", |d| d.word()),
        idle: config.idle.word(),
        qlen,
        time: began.elapsed(),
        threads_missing: threads - (0..threads).filter(present).count(),
        workers: &(0..threads).filter(present).map(|i| leases[i].worker().counters().values()),
    });
    Ok(())
}

/// A seed that differs between runs: the clock's nanoseconds, and this frame's address, which
/// the system randomises.
fn some_seed() -> u64 {
    let here = 0u8;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.map_or(0, |t| t.as_nanos() as u64);
    now ^ (ptr::from_ref(&here) as u64).rotate_left(32)
}
