//! The reliefs of a run (`policy::reliefs`): the calls, the arrival and the leaving of a relief.
//!
//! While descriptors are awaited, and after a deadline, the keeper (`runtime::keeper`) looks
//! whether a run wants a relief. If the run still wants one a millisecond later, the keeper calls a
//! thread of the run, as for a blocking section. That thread takes the relief's place, occupies its
//! record, and runs the relief's loop there. A task on the place may have a blocking section; then
//! another thread takes over the record, as it does a worker's. The last thread to leave the loop
//! gives the place back.
//!
//! A relief has no number, since a program may have an element of an array for each number below
//! sched_worker_count. A task that asks for its number there first moves to a worker (`leave`).

use crate::policy::guests::Purpose;
use crate::runtime::beside;
use crate::runtime::host::WorkerStart;
use crate::runtime::life::Occupation;
use crate::runtime::record::{Run, Worker};
use crate::runtime::suspend;
use crate::sys::registers;
use crate::threads::cache::Job;
use std::ffi::c_void;
use std::ptr;

/// Called by the keeper now and then, for a run that does not end during the call. True if the
/// keeper must look again soon.
pub fn look(run: &Run) -> bool {
    if run.numbers() == run.places() {
        return false;
    }
    let first = run.worker(0);
    // SAFETY: the run does not end during the call.
    let suspended = || unsafe { first.operations_for_any() }.suspended();
    let job = Job { main: run_beside, arg: ptr::from_ref(first).cast() };
    // SAFETY: the run does not end during the call, so its threads are not finished.
    let call = || unsafe { run.threads.relieve(job, run.numbers()) }.is_ok();
    run.relief.look(suspended, call)
}

/// The job of a relief.
unsafe fn run_beside(first: *const c_void) -> bool {
    // SAFETY: `look` passes a worker; the run waits for the jobs of its threads.
    let (first, run) = unsafe {
        let first = &*first.cast::<Worker>();
        (first, &*first.run.get())
    };
    let thread = registers::thread_pointer();
    let come = |_: &Run| {
        // SAFETY: the run has not ended.
        unsafe { first.operations_for_any() }.come(thread, Purpose::Relief)
    };
    match first.with_run(come).flatten() {
        // SAFETY: the thread has taken the place; the run does not end before it has gone.
        Some(index) => _ = unsafe { Occupation::run(run.place(index), WorkerStart::Relief) },
        None => beside::gone(run),
    }
    true
}

/// Called in a task: moves it to a worker, if it is at a relief's place and can be suspended.
#[cold]
pub fn leave() {
    while let Some(mine) = Worker::current().filter(|mine| mine.is_relief()) {
        let (fiber, worker) = (mine.fiber(), mine.worker());
        // SAFETY: the caller occupies the place, so the run has not ended.
        unsafe { (*worker.run.get()).relief.dismiss() };
        let publish = move |task| {
            worker.requeue(task);
            true
        };
        // SAFETY: the caller is a task on the fiber; `requeue` publishes the task.
        if unsafe { suspend::suspend(fiber, publish) }.is_err() {
            return;
        }
    }
}
