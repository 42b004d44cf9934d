//! L1: the task, two words: what `sched_spawn` was given.

use crate::base::sync::{AtomicPtr, Ordering};
use std::ffi::c_void;

/// The C side's `struct scheduler`, which is a worker of a higher floor.
#[repr(C)]
pub struct Scheduler {
    opaque: [u8; 0],
}

/// The C side's `taskfunc`, not NULL.
pub type TaskFn = unsafe extern "C" fn(*mut c_void, *mut Scheduler);

#[derive(Clone, Copy, Debug)]
pub struct Task {
    pub f: TaskFn,
    pub closure: *mut c_void,
}

// SAFETY: a task is two numbers to the library; that the closure may be used on another
// thread is the meaning of sched_spawn.
unsafe impl Send for Task {}

/// A place for a task in a queue that a thief may read while the owner writes it. Both
/// words are atomics, so that such a race is no undefined behaviour; the queue's protocol
/// throws a torn pair away.
pub struct Slot {
    f: AtomicPtr<()>,
    closure: AtomicPtr<c_void>,
}

impl Slot {
    #[cfg(loom)]
    pub fn empty() -> Self {
        Slot {
            f: AtomicPtr::new(std::ptr::null_mut()),
            closure: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    #[inline]
    pub fn write(&self, task: Task) {
        self.f.store(task.f as *mut (), Ordering::Relaxed);
        self.closure.store(task.closure, Ordering::Relaxed);
    }

    /// The raw pair: possibly torn, possibly never written.
    #[inline]
    pub fn read(&self) -> Pair {
        Pair { f: self.f.load(Ordering::Relaxed), closure: self.closure.load(Ordering::Relaxed) }
    }
}

/// What was read from a slot, before the protocol has confirmed it.
#[derive(Clone, Copy)]
pub struct Pair {
    f: *mut (),
    closure: *mut c_void,
}

impl Pair {
    /// # Safety
    /// The pair must have been read whole from a slot that held a task.
    #[inline]
    pub unsafe fn confirmed(self) -> Task {
        Task {
            // SAFETY: `Slot::write` stored a TaskFn in these bits.
            f: unsafe { std::mem::transmute::<*mut (), TaskFn>(self.f) },
            closure: self.closure,
        }
    }
}
