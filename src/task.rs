//! L1: the task, two words: what `sched_spawn` was given.

use crate::sys::atomic::{AtomicPtr, Ordering};
use std::ffi::c_void;

/// The C side's `struct scheduler`, which is a worker of a higher floor.
#[repr(C)]
pub struct Scheduler {
    opaque: [u8; 0],
}

/// The C side's `taskfunc`, not NULL.
pub type TaskFn = unsafe extern "C" fn(*mut c_void, *mut Scheduler);

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Task {
    pub f: TaskFn,
    pub closure: *mut c_void,
}

/// Where sched_inline.h finds the two words, and the next task.
pub const LAYOUT: [usize; 3] =
    [std::mem::offset_of!(Task, f), std::mem::offset_of!(Task, closure), size_of::<Task>()];

impl PartialEq for Task {
    fn eq(&self, other: &Task) -> bool {
        Pair::of(*self).is(*other)
    }
}

// SAFETY: a task is two numbers to the library; that the closure may be used on another
// thread is the meaning of sched_spawn.
unsafe impl Send for Task {}

/// A place for a task in a queue that a thief may read while the owner writes it. Both
/// words are atomics, so that such a race is no undefined behaviour; the queue's protocol
/// throws a torn pair away. All bytes zero is an empty one.
pub struct Slot {
    f: AtomicPtr<()>,
    closure: AtomicPtr<c_void>,
}

#[cfg(loom)]
impl Default for Slot {
    fn default() -> Self {
        Slot {
            f: AtomicPtr::new(std::ptr::null_mut()),
            closure: AtomicPtr::new(std::ptr::null_mut()),
        }
    }
}

impl Slot {
    #[inline]
    pub fn write(&self, task: Task) {
        let Pair { f, closure } = Pair::of(task);
        self.f.store(f, Ordering::Relaxed);
        self.closure.store(closure, Ordering::Relaxed);
    }

    /// The raw pair: possibly torn, possibly never written.
    #[inline]
    pub fn read(&self) -> Pair {
        Pair { f: self.f.load(Ordering::Relaxed), closure: self.closure.load(Ordering::Relaxed) }
    }
}

/// A task as it lies in memory, or what was read from a slot, before the protocol has confirmed
/// it. All bytes zero is an empty one.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Pair {
    f: *mut (),
    closure: *mut c_void,
}

impl Pair {
    #[cfg(loom)]
    pub fn empty() -> Self {
        Pair { f: std::ptr::null_mut(), closure: std::ptr::null_mut() }
    }

    #[inline]
    pub fn of(task: Task) -> Self {
        Pair { f: task.f as *mut (), closure: task.closure }
    }

    #[inline(always)]
    pub fn is(&self, task: Task) -> bool {
        self.closure == task.closure && std::ptr::eq(self.f, task.f as *mut ())
    }

    /// # Safety
    /// `this` holds a task.
    #[inline(always)]
    pub unsafe fn read(this: *const Pair) -> Task {
        #[cfg(loom)]
        // SAFETY: by the caller's promise a pair.
        assert!(unsafe { !(*this).f.is_null() }, "an empty place was read as a task");
        // SAFETY: the two types have the same layout, and a task is no empty pair.
        unsafe { *this.cast::<Task>() }
    }

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
