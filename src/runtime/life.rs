//! The jobs that a run gives to its threads: each thread occupies a worker and runs its loop.

use crate::policy::{Place, UNAWAITED};
use crate::runtime::beside;
use crate::runtime::host::{WorkerStart, host};
use crate::runtime::record::Worker;
use crate::stats::Phase;
use crate::sys::unwind;
use crate::threads::handoff::Found;
use std::ffi::c_void;
use std::time::Duration;

/// The longest pause between two looks of a relief that watches a worker. The first pause is
/// `UNAWAITED`, and each is twice as long as the one before. So a section that follows many short
/// ones is noticed within a millisecond, and within about as long as the worker has been watched.
/// (Rejected: pauses of 50 µs. An echo server then made three times as many futex calls.)
const LONGEST_NAP: Duration = Duration::from_micros(400);

pub(super) struct Occupation {
    worker: &'static Worker,
    start: WorkerStart,
    /// True if another thread has taken over the worker, which the thread left in the middle of the
    /// run.
    surplus: bool,
}

impl Occupation {
    /// Occupies the worker and runs its loop. Returns true if the thread is surplus.
    ///
    /// # Safety
    /// No other thread occupies the worker. The run does not end before the caller has left it.
    pub(super) unsafe fn run(worker: &'static Worker, start: WorkerStart) -> bool {
        let mut occupation = Occupation { worker, start, surplus: false };
        // SAFETY: `work` takes a pointer to an `Occupation`, and this one outlives the call.
        unsafe { unwind::call_in_run(work, (&raw mut occupation).cast()) };
        occupation.surplus
    }
}

/// The part of `run` inside the frame that stops exceptions (`sys::unwind`).
pub(super) unsafe extern "C" fn work(occupation: *mut c_void) {
    // SAFETY: `run` passes a pointer to an `Occupation` that nothing else uses during the call.
    let occupation = unsafe { &mut *occupation.cast::<Occupation>() };
    occupation.worker.occupy();
    occupation.worker.begin_phase(match occupation.start {
        WorkerStart::Idle => Phase::Searching,
        WorkerStart::FirstTask | WorkerStart::Relief => Phase::Busy,
    });
    // SAFETY: the worker was occupied just now; the run has not ended by the promise made to `run`.
    match unsafe { host(occupation.worker, occupation.start) } {
        Some(worker) => {
            worker.begin_phase(Phase::Parked);
            worker.announce_end();
            worker.vacate();
            if worker.is_relief() {
                beside::go(worker);
                occupation.surplus = true;
            }
        }
        None => occupation.surplus = true,
    }
}

/// The job of each thread that starts with the run.
pub(super) unsafe fn run_member(worker: *const c_void) -> bool {
    // SAFETY: `Run::new` passes a worker, and workers are never freed.
    let worker = unsafe { &*worker.cast::<Worker>() };
    // SAFETY: the run ends only after all jobs of its threads; each worker has one such job.
    unsafe {
        Occupation::run(
            worker,
            if worker.index() == 0 { WorkerStart::FirstTask } else { WorkerStart::Idle },
        )
    }
}

/// The job of a relief: a thread that takes over a worker whose thread blocks.
pub(super) unsafe fn run_relief(worker: *const c_void) -> bool {
    // SAFETY: `call_relief` passes a worker, and workers are never freed.
    let worker = unsafe { &*worker.cast::<Worker>() };
    // SAFETY: the thread has claimed the worker; the run ends only after all jobs of its threads.
    !worker.claim_if_vacant() || unsafe { Occupation::run(worker, WorkerStart::Relief) }
}

impl Worker {
    /// Called by a relief when it comes. True if the worker was vacant, and the caller has claimed
    /// it. False if the worker no longer needs the relief.
    pub fn claim_if_vacant(&self) -> bool {
        let (mut seen, mut nap) = (self.handoff.called(), UNAWAITED);
        loop {
            match self.handoff.look(&mut seen) {
                Found::Vacant => return true,
                Found::Occupied => return false,
                Found::Busy => {
                    // SAFETY: the run waits for the jobs of its threads, and the caller runs one.
                    unsafe { (*self.run.get()).end.sleep(nap) };
                    nap = LONGEST_NAP.min(nap * 2);
                }
            }
        }
    }

    /// Announces the run's end if this is worker 0. The caller occupies it; its loop has ended.
    pub fn announce_end(&self) {
        if self.index.get() == 0 {
            // SAFETY: the run waits for its workers.
            unsafe { (*self.run.get()).end.happen() };
        }
    }
}
