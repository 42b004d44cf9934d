//! The functions that `include/sched_inline.h` calls to complete an operation that it has begun.
//! The header documents them. A test compares the numbers in the header with those of the records.
//! The function that the header queues for a forked task, `sched_layout_1`, is in
//! `runtime::forked`; the function that it leaves in a joined descriptor is in `sync::forked`.
//!
//! # A typed task beside Lace's
//!
//! A task of fib is a fork, its join, and the calls that belong to them. Instructions a task, by
//! callgrind (the difference between two sizes, divided by the tasks between them), gcc 12 -O2:
//! the calls alone 19, `sched_typed.h` 64, `sched_inline.h` 80, calls of the library 89, Lace 42.
//! Lace's tasks lie in the deque itself, never change their thread, and are joined in reverse
//! order. The instructions of a call that forks, ours and Lace's:
//!
//! ```text
//! is the worker the calling thread's; at fork and join         8  0  our tasks change threads
//! is the end of the queue where this frame knows it            5  0  other spawns come between; Lace
//!                                                                    passes the end on
//! the descriptor: function, closure, argument                  5  3  it may be joined at any time
//! the place in the queue: two words                            3  0  Lace's is the descriptor
//! the end of the queue is stored; at fork and join             4  0  thieves find a task from its
//!                                                                    fork on; Lace's thieves wait
//!                                                                    for the next fork or join
//! does anybody ask, is the queue full; at the fork             3  7
//! is the task private; at the join                             3  5
//! is the youngest task this one, has it this function          6  0  joins in any order
//! the descriptor is marked as joined, the task is counted      3  1  a second join is reported
//! the call of the joined task                               call jmp gcc makes Lace's join a loop
//! ```
//!
//! A join loads the end of the queue that the operation before has stored, straight from the store,
//! so the stores limit the speed: a task stores 13 words (three registers, a return address, the
//! argument, three words of the descriptor, two of the queue, its end twice, the counter), about
//! one a cycle; a task of Lace stores 9. On an Intel Xeon fib took 1.3 to 1.5 times Lace's time.
//! Without single steps, one at a time: the mark 0.15 ns less, the descriptor's second word 0.2,
//! the counter 0.1, the comparison of the function 0.05, those of the thread 0.3.
//!
//! Rejected: the queue's address in a thread-local variable, without a worker to compare or to
//! pass on. It saves a tenth in fib and treef and nothing in nqueens (AMD EPYC), but a program that
//! loads the library by dlopen may have no room for such a variable. Rejected: one tagged word in
//! the queue for a forked task, and the end of the queue in the descriptor (a mock: 4.2 ns instead
//! of 6.0). Thieves could not read such a place safely.

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
    // SAFETY: the spawn's first step was made just now; a task's `s` is a worker.
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
    // SAFETY: the fork's first step was made just now; a task's `s` is a worker.
    unsafe { fork::fork_slowly(&*t, f, closure, Worker::of(s)) }
}

/// # Safety
/// A join with these arguments was begun just now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_inline_join_rest(t: *mut Forked, s: *mut Scheduler) {
    // SAFETY: the join's first step was made just now; a task's `s` is a worker.
    unsafe { fork::join_slowly(&*t, Worker::of(s)) }
}

/// # Safety
/// `s` is a task's `s`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_inline_current(s: *mut Scheduler) -> *mut Scheduler {
    // SAFETY: a task's `s` is a worker.
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
