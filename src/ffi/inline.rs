//! The functions that `include/sched_inline.h` calls to complete an operation that it has begun.
//! The header documents them. A test compares the numbers in the header with those of the records.
//! The function that the header queues for a forked task, `sched_layout_1`, is in
//! `runtime::forked`; the function that it leaves in a joined descriptor is in `sync::forked`.

use crate::api::fork;
use crate::api::fork::Forked;
use crate::ffi::taskfunc;
use crate::runtime::entry;
use crate::runtime::record::Worker;
use crate::sys::unwind;
use crate::sys::unwind::{ForkedTask, ProgramFunction};
use crate::task::Scheduler;
use std::ffi::{c_int, c_void};

/// # Safety
/// A spawn with these arguments was begun just now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_inline_spawn_rest(
    f: taskfunc,
    closure: *mut c_void,
    s: *mut Scheduler,
) -> c_int {
    // SAFETY: by the caller's promise; a task's `s` is a worker.
    unsafe { entry::finish_spawn(f, closure, Worker::of(s)) }
}

/// # Safety
/// A fork with these arguments was begun just now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_inline_fork_rest(
    t: *mut Forked,
    f: taskfunc,
    closure: *mut c_void,
    s: *mut Scheduler,
) {
    // SAFETY: by the caller's promise.
    unsafe { fork::fork_slowly(&*t, f, closure, Worker::of(s)) }
}

/// # Safety
/// A join with these arguments was begun just now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_inline_join_rest(t: *mut Forked, s: *mut Scheduler) {
    // SAFETY: by the caller's promise.
    unsafe { fork::join_slowly(&*t, Worker::of(s)) }
}

/// # Safety
/// `s` is a task's `s`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_inline_current(s: *mut Scheduler) -> *mut Scheduler {
    // SAFETY: by the caller's promise.
    unsafe { Worker::of(s) }.mine().map_or(s, |mine| mine.worker().handle())
}

/// Reports that an exception has left a task that an inlined join has called.
#[unsafe(no_mangle)]
pub extern "C" fn sched_inline_join_threw() -> ! {
    unwind::exception_left(ForkedTask::NAME)
}

#[cfg(test)]
mod tests {
    use crate::queue::split;
    use crate::runtime::record;
    use crate::task;

    const HEADER: &str = include_str!("../../include/sched_inline.h");

    /// The numbers that the header gives to these names.
    fn header(names: [&str; 3]) -> [usize; 3] {
        names.map(|name| {
            let define = format!("#define SCHED_LAYOUT_{name} ");
            let line = HEADER.lines().find_map(|line| line.strip_prefix(&define));
            line.unwrap_or_else(|| panic!("no {define}")).parse().unwrap()
        })
    }

    #[test]
    fn layout() {
        assert_eq!(header(["QUICK", "DEQUE", "TASKS"]), record::LAYOUT);
        assert_eq!(header(["BOT", "SPLIT", "LIM"]), split::LAYOUT);
        assert_eq!(header(["F", "CLOSURE", "PLACE"]), task::LAYOUT);
        assert_eq!(HEADER.matches("#define SCHED_LAYOUT_").count(), 9);
    }
}
