//! The work of a loop.

use crate::sys::unwind::{LoopBody, ProgramFunction};
use crate::task::Scheduler;
use std::ffi::c_void;
use std::ptr;

/// The work of a loop: a function of the program, and for a reduction the values to which this
/// function adds. A worker adds its units, in ascending order, to one value. Each part that a thief
/// takes has a value of its own.
pub trait Body: Copy {
    /// The kind of the program's function, for messages.
    type Function: ProgramFunction;
    /// The owner of the value of a part.
    type Value;

    /// The address of the program's function.
    fn address(self) -> usize;

    /// Makes the value of a part, before its first unit is done. None means that there is no memory
    /// for it.
    ///
    /// # Safety
    /// The caller is within the loop.
    unsafe fn value(self) -> Option<Self::Value>;

    /// The address of the value. The value stays there when its owner is moved.
    fn place(value: &Self::Value) -> *mut c_void;

    /// Does the work for the numbers `lo` to `hi` - 1, and adds to the value at `into`.
    ///
    /// # Safety
    /// The caller is within the loop and owns the worker `s`; `into` is the place of a value.
    unsafe fn call(self, lo: usize, hi: usize, into: *mut c_void, s: *mut Scheduler);

    /// Adds the value at `from` to that at `into`, whose numbers directly precede those of `from`.
    ///
    /// # Safety
    /// The contract of `call` for both places.
    unsafe fn combine(self, into: *mut c_void, from: *mut c_void);
}

/// The body of `sched_for`: it has no value.
#[derive(Clone, Copy)]
pub struct Plain {
    pub function: unsafe extern "C" fn(usize, usize, *mut c_void, *mut Scheduler),
    pub ctx: *mut c_void,
}

impl Body for Plain {
    type Function = LoopBody;
    type Value = ();

    fn address(self) -> usize {
        self.function as usize
    }

    #[inline(always)]
    unsafe fn value(self) -> Option<()> {
        Some(())
    }

    #[inline(always)]
    fn place((): &()) -> *mut c_void {
        ptr::null_mut()
    }

    #[inline(always)]
    unsafe fn call(self, lo: usize, hi: usize, _: *mut c_void, s: *mut Scheduler) {
        // SAFETY: the caller is within the loop, and owns the worker `s`.
        unsafe { (self.function)(lo, hi, self.ctx, s) }
    }

    #[inline(always)]
    unsafe fn combine(self, _: *mut c_void, _: *mut c_void) {}
}
