//! L5: what C programs build from tasks: each file one idea, over the verbs of the floor below.
//!
//! | file | what |
//! | --- | --- |
//! | [`fork`] | a task whose end one waits for; its descriptor is the caller's |
//! | [`group`] | any number of tasks, waited for together |
//! | [`range`] | loops and reductions over a range of numbers |
//! | [`sort`] | a parallel qsort(3) |
//! | [`scratch`] | memory for the time of a call |
//! | [`pool`] | a run that stays open |
//!
//! # Waiting
//!
//! A thread that is a worker of the run helps (`Kind::help`): it runs other tasks on top of its
//! own, and sleeps if there are none. Any other thread sleeps. Either leaves word in what it waits
//! for, so that it is woken; at most one at a time can, and any more look again now and then.
//!
//! What is waited for lies in the program's memory and may be gone as soon as it is seen to be
//! over. So who ends it does that by one atomic operation, the last on that memory, and learns
//! by it whom to wake. Workers can be woken for no reason: their records are never freed. Another
//! thread sleeps on an address; that is only passed to the kernel, and waking nobody, or somebody
//! else who sleeps there by then, does no harm.

pub mod fork;
pub mod group;
pub mod pool;
pub mod range;
pub mod scratch;
pub mod sort;

use crate::base::futex::Futex;
use crate::base::sync::AtomicUsize;
use crate::base::thread;
use crate::kind::Awaited;
use crate::kind::worker::Worker;
use std::ptr;
use std::time::Duration;

/// How long a thread sleeps that could not leave word.
const UNAWAITED: Duration = Duration::from_micros(50);
/// How long one sleeps that could, in case that futex is refused by then.
const AT_MOST: Duration = Duration::from_millis(100);

/// Who is to be woken: a worker, or (null) a thread that is none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Waiter(pub *const Worker);

impl Waiter {
    pub const OUTSIDE: Waiter = Waiter(ptr::null());

    /// `word`: what it may sleep on, perhaps not there any more; `from`: the caller's worker.
    fn wake(self, word: *const AtomicUsize, from: &Worker) {
        // SAFETY: records are never freed.
        match unsafe { self.0.as_ref() } {
            Some(worker) => worker.rouse(from),
            None => _ = Futex::wake_at(word.cast(), i32::MAX),
        }
    }
}

/// Something to wait for, whose state is one word.
pub trait Latch {
    fn word(&self) -> &AtomicUsize;
    fn is_over(&self) -> bool;

    /// Leaves word in the state. Some(its new value): from now on the waiter is woken when it is
    /// over, and the word changes by then.
    fn leave_word(&self, waiter: Waiter) -> Option<usize>;
}

/// Waits, without helping, as a thread that is no worker of the run.
fn wait_outside(latch: &impl Latch) {
    while !latch.is_over() {
        match latch.leave_word(Waiter::OUTSIDE) {
            Some(value) => <&Futex>::from(latch.word()).wait(value as u32, AT_MOST),
            None if latch.is_over() => {}
            None => thread::sleep(UNAWAITED),
        }
    }
}

/// Waits for `awaited`, which is `latch` seen by the calling thread's worker, if it has one; `worker`
/// is any of the run. False if it cannot end: the run was a parent process's.
fn wait(latch: &impl Latch, mine: Option<&Worker>, awaited: &dyn Awaited, worker: &Worker) -> bool {
    match mine {
        // SAFETY: the calling thread's.
        Some(mine) => unsafe { mine.help(awaited) },
        // With the run, all its tasks have ended.
        None if worker.has_ended() => return latch.is_over(),
        None => wait_outside(latch),
    }
    true
}
