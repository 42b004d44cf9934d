//! Who waits for something, in one word of that; and how each is woken.

use crate::runtime::record::Worker;
use crate::runtime::suspend;
use crate::sys::atomic::AtomicUsize;
use crate::sys::futex::Futex;
use std::ffi::c_void;
use std::ptr;

/// Who waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Waiter {
    /// A task that was set aside.
    Aside(*mut c_void),
    /// A worker that helps.
    Helper(*const Worker),
    /// A thread that is no worker of the run.
    Outside,
}

/// In the low bits of a packed waiter, which its address leaves free.
const OUTSIDE: usize = 2;
const ASIDE: usize = crate::sync::node::LASTING; // it waits for nothing else
const LOW_BITS: usize = 15;

impl Waiter {
    /// In one word: not 0 nor 1, and without the highest bit.
    pub fn pack(self) -> usize {
        match self {
            Waiter::Aside(continuation) => continuation.expose_provenance() | ASIDE,
            Waiter::Helper(worker) => worker.expose_provenance(),
            Waiter::Outside => OUTSIDE,
        }
    }

    /// # Safety
    /// The word was packed.
    pub unsafe fn unpack(word: usize) -> Waiter {
        match word & LOW_BITS {
            OUTSIDE => Waiter::Outside,
            ASIDE => Waiter::Aside(ptr::with_exposed_provenance_mut(word & !LOW_BITS)),
            _ => Waiter::Helper(ptr::with_exposed_provenance(word)),
        }
    }

    /// The continuation, if it is a task that was set aside.
    ///
    /// # Safety
    /// As for `unpack`.
    #[inline]
    pub unsafe fn aside(word: usize) -> Option<*mut c_void> {
        (word & ASIDE != 0).then(|| ptr::with_exposed_provenance_mut(word & !LOW_BITS))
    }

    /// `word`: what it may sleep on, perhaps not there any more; `from`: the caller's worker, if it has
    /// one. Without, a task goes on behind the others.
    pub fn wake(self, word: *const AtomicUsize, from: Option<&Worker>) {
        match self {
            // SAFETY: it waits until now, and was published.
            Waiter::Aside(continuation) => unsafe { suspend::go_on(continuation, from) },
            // SAFETY: records are never freed.
            Waiter::Helper(worker) => unsafe { &*worker }.rouse(from),
            Waiter::Outside => _ = Futex::wake_at(word.cast(), i32::MAX),
        }
    }
}
