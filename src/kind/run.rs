//! A run: from `sched_init` to quiescence, the same for every kind.

use super::table::Request;
use super::worker::{Lease, Worker};
use super::{Kind, Place};
use crate::base::config::Overflow;
use crate::base::mem::{self, NoMemory};
use crate::base::thread::{self, SignalsBlocked};
use crate::base::{Errno, frontier, futex};
use crate::probe::report::{Report, Summary};
use std::ffi::c_void;
use std::time::Instant;

/// What a thread needs to be a worker; it lives in the frame of `start` until the threads are
/// joined.
struct Seat<'a, K> {
    kind: &'a K,
    worker: &'static Worker,
}

/// A thread's work, inside the frontier.
unsafe extern "C" fn work<K: Kind>(seat: *mut c_void) {
    // SAFETY: `start` and `thread_main` pass their seat.
    let seat = unsafe { &*seat.cast::<Seat<K>>() };
    seat.worker.occupy();
    // SAFETY: occupied just now.
    unsafe { seat.kind.work(seat.worker) };
    seat.worker.vacate();
}

extern "C" fn thread_main<K: Kind>(seat: *mut c_void) -> *mut c_void {
    // SAFETY: a seat, which lives until this thread is joined.
    let index = unsafe { &*seat.cast::<Seat<K>>() }.worker.index();
    thread::settle(index);
    // SAFETY: `work::<K>` takes a seat of K.
    unsafe { frontier::inside(work::<K>, seat) };
    std::ptr::null_mut()
}

/// Runs the first task and all that comes from it, on the caller's thread and others.
pub fn start<K: Kind>(request: &Request) -> Result<(), Errno> {
    let &Request { uncancelled, config, row, threads, qlen, first } = request;
    const NO_MEMORY: Errno = Errno(libc::ENOMEM);
    let report = Report::open(config)?;
    let began = Instant::now();
    futex::probe();

    let limit = if config.overflow == Overflow::Refuse { qlen } else { usize::MAX };
    let kind = K::new(config, threads, limit).map_err(|NoMemory| NO_MEMORY)?;
    // SAFETY: `kind` stays where it is until the end of this function.
    unsafe { kind.settle() };
    let leases = mem::slice(threads, |_| Lease::new()).map_err(|NoMemory| NO_MEMORY)?;
    let seats = mem::slice(threads, |i| Ok(Seat { kind: &kind, worker: leases[i].worker() }))
        .map_err(|NoMemory| NO_MEMORY)?;
    let mut ids = Vec::new();
    ids.try_reserve_exact(threads - 1).map_err(|_| NO_MEMORY)?;

    let seed = config.seed.unwrap_or_else(some_seed);
    for (i, seat) in seats.iter().enumerate() {
        seat.worker.assign(i, row, &kind, seed);
    }
    // SAFETY: the run has not started.
    unsafe { kind.spawn(seats[0].worker, first) }.map_err(|_| NO_MEMORY)?;

    {
        let _blocked = (threads > 1).then(SignalsBlocked::block);
        for seat in &seats[1..] {
            // SAFETY: the seats live until the joins below.
            match unsafe {
                thread::create(thread_main::<K>, std::ptr::from_ref(seat).cast_mut().cast())
            } {
                Ok(id) => ids.push(id),
                // Those that could be created do the work; the statistics say how many could not.
                Err(_) => break,
            }
        }
    }

    let seat = std::ptr::from_ref(&seats[0]).cast_mut().cast();
    // The tasks may be cancelled, and end the process thereby; the rest of the run must not be.
    // SAFETY: `work::<K>` takes a seat of K.
    uncancelled.except(|| unsafe { frontier::inside(work::<K>, seat) });
    let created = ids.len();
    for id in ids {
        // SAFETY: created above, joined once.
        unsafe { thread::join(id) };
    }

    report.print(&Summary {
        kind: config.kind.word(),
        deque: row.deque.map_or("none", |d| d.word()),
        idle: config.idle.word(),
        qlen,
        time: began.elapsed(),
        threads_missing: threads - 1 - created,
        workers: &leases[..=created].iter().map(|lease| lease.worker().counters().values()),
    });
    Ok(())
}

/// A seed that differs between runs: the clock's nanoseconds, and this frame's address, which
/// the system randomises.
fn some_seed() -> u64 {
    let here = 0u8;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.map_or(0, |t| t.as_nanos() as u64);
    now ^ (std::ptr::from_ref(&here) as u64).rotate_left(32)
}
