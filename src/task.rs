//! The task: the two words that `sched_spawn` receives.

use crate::sys::atomic::{AtomicPtr, MODEL, Ordering};
use std::ffi::c_void;

/// The C side's `struct scheduler`, which is a worker of a higher floor.
#[repr(C)]
pub struct Scheduler {
    opaque: [u8; 0],
}

/// The C side's `taskfunc`; never NULL.
pub type TaskFn = unsafe extern "C" fn(*mut c_void, *mut Scheduler);

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Task {
    pub f: TaskFn,
    pub closure: *mut c_void,
}

/// The time at which a task begins, compared with the other tasks of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Normal,
    /// The task begins before all others that are queued.
    Urgent,
    /// The task begins when a worker finds nothing else.
    Background,
}

/// The offsets of the two words and the distance to the next task, for sched_inline.h.
pub const LAYOUT: [usize; 3] =
    [std::mem::offset_of!(Task, f), std::mem::offset_of!(Task, closure), size_of::<Task>()];

impl PartialEq for Task {
    fn eq(&self, other: &Task) -> bool {
        Pair::of(*self).is(*other)
    }
}

// SAFETY: to the library a task is two numbers; its spawner lets another thread use the closure.
unsafe impl Send for Task {}

/// A place for a task in a queue that a thief may read while the owner writes it. Both words are
/// atomics, so that this race is not undefined behaviour; the queue's protocol discards a torn
/// pair. A slot whose bytes are all zero is empty. Its layout is that of a task, for debuggers.
#[repr(C)]
pub struct Slot {
    f: AtomicPtr<()>,
    closure: AtomicPtr<c_void>,
}

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

    /// Empties the slot, as the kernel does when it discards the slot's page.
    pub fn clear(&self) {
        self.f.store(std::ptr::null_mut(), Ordering::Relaxed);
        self.closure.store(std::ptr::null_mut(), Ordering::Relaxed);
    }

    /// The raw pair: it may be torn, or empty.
    #[inline]
    pub fn read(&self) -> Pair {
        Pair { f: self.f.load(Ordering::Relaxed), closure: self.closure.load(Ordering::Relaxed) }
    }
}

/// The two words of a task, or two words that were read from a slot and may not be a task. A pair
/// whose bytes are all zero is empty.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Pair {
    f: *mut (),
    closure: *mut c_void,
}

impl Pair {
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
        // SAFETY: `this` is a pair.
        assert!(!MODEL || unsafe { !(*this).f.is_null() }, "an empty slot was read as a task");
        // SAFETY: the two types have the same layout, and a task is never an empty pair.
        unsafe { *this.cast::<Task>() }
    }

    /// # Safety
    /// The pair was read whole from a slot that held a task.
    #[inline]
    pub unsafe fn confirmed(self) -> Task {
        Task {
            // SAFETY: `Slot::write` stored a TaskFn in these bits.
            f: unsafe { std::mem::transmute::<*mut (), TaskFn>(self.f) },
            closure: self.closure,
        }
    }
}
