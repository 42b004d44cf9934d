//! Reductions whose parts depend on the course of the run: `sched_reduce_relaxed`. A relaxed
//! reduction is a loop whose body adds to a value: see "Values" in the essay of
//! [`loops`](super::loops).
//!
//! The parts of `sched_reduce` must not depend on the number of workers or on the pace, so a
//! reduction has up to 1,024. Each costs two calls, a copy of the identity and some mispredicted
//! branches. In a relaxed reduction only a theft costs a copy and a combination.

use crate::api::loops::{Body, Loop};
use crate::api::range::Range;
use crate::api::reduce::{INLINE_BYTES, Reduction};
use crate::api::scratch::{Many, Scratch};
use crate::runtime::record::Worker;
use crate::sys::detector;
use crate::sys::errno;
use crate::sys::unwind::RelaxedReducer;
use crate::task::Scheduler;
use std::ffi::{c_int, c_void};
use std::ptr;

impl Reduction {
    /// Writes the reduction of the range to `result`. A call of `body` gets at most `max_chunk`
    /// units. Returns what `sched_reduce_relaxed` returns.
    ///
    /// # Safety
    /// The contract of `run`.
    pub unsafe fn run_relaxed(
        self,
        range: Option<Range>,
        max_chunk: usize,
        result: *mut c_void,
        worker: &Worker,
    ) -> c_int {
        let Reduction { size, identity, .. } = self;
        // The identity may lie at `result`, and thieves copy the identity until the loop ends.
        let Ok(mut whole) = Scratch::<INLINE_BYTES>::new(size) else {
            return errno::failed(libc::ENOMEM);
        };
        let value = whole.start();
        // SAFETY: the caller promises that all places have `size` bytes. The value outlives the
        // loop.
        unsafe {
            ptr::copy_nonoverlapping(identity.cast(), value, size);
            if let Some(range) = range {
                let outcome = Loop::run(range, max_chunk, self, value.cast(), worker);
                if outcome != 0 {
                    return outcome;
                }
            }
            ptr::copy_nonoverlapping(value, result.cast(), size);
        }
        0
    }
}

impl Body for Reduction {
    type Function = RelaxedReducer;
    type Value = Many; // a pointer: small, since a frame has room for many offers

    fn address(self) -> usize {
        self.body as usize
    }

    unsafe fn value(self) -> Option<Many> {
        let value = Many::new(self.size).ok()?;
        // SAFETY: both places have `size` bytes.
        detector::heeded(|| unsafe {
            ptr::copy_nonoverlapping(self.identity.cast(), value.start(), self.size);
        });
        Some(value)
    }

    fn place(value: &Many) -> *mut c_void {
        value.start().cast()
    }

    unsafe fn call(self, lo: usize, hi: usize, into: *mut c_void, s: *mut Scheduler) {
        let Reduction { body, ctx, .. } = self;
        // SAFETY: the caller of `run_relaxed` promises that the body accepts these arguments.
        unsafe { body(lo, hi, into, ctx, s) }
    }

    unsafe fn combine(self, into: *mut c_void, from: *mut c_void) {
        let Reduction { combine, ctx, .. } = self;
        // SAFETY: as in `call`.
        unsafe { combine(into, from, ctx) }
    }
}
