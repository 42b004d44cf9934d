//! Scans in the C interface: `sched_scan`. `include/sched_tasks.h` is made from this and other
//! files.

use crate::api::range::Range;
use crate::api::reduce;
use crate::api::scan::Scan;
use crate::ffi::loops::is_negative;
use crate::ffi::{INVALID, report, running};
use crate::sys::unwind::{Scanner, call_guarded};
use crate::task::Scheduler;
use std::ffi::{c_int, c_void};

/// The body of a scan. It adds the numbers lo to hi - 1 to the value at acc and, if before is not
/// NULL, writes their results.
#[allow(non_camel_case_types, reason = "the name in C")]
pub type sched_scan_body = Option<
    unsafe extern "C" fn(
        lo: usize,
        hi: usize,
        acc: *mut c_void,
        before: *const c_void,
        ctx: *mut c_void,
        s: *mut Scheduler,
    ),
>;

/// Scans the numbers lo to hi - 1: computes, for each number, the value of all numbers up to it
/// (an inclusive scan) or before it (an exclusive scan). The numbers are divided into parts of
/// grain numbers; the last part may have fewer. Values have size bytes.
///
/// body(l, h, acc, before, ctx, s) adds the numbers l to h - 1 to the value at acc, which is at
/// first a copy of the identity. If before is not NULL, it is the value of all numbers before l,
/// and body also writes the results of its numbers: the result of a number is the value at before
/// combined with the value at acc, as it is after the number was added to acc (inclusive) or before
/// it was added (exclusive). The program decides which, and where the results are; they may replace
/// the numbers' own data. body must leave the same value at acc whether before is NULL or not, and
/// must not change the value at before.
///
/// For each part, body is called once with a value before, or first with before NULL and later with
/// a value. combine(into, from, ctx) adds the value of a part, at from, to the value of all parts
/// before it, at into. The value at into begins as a copy of the identity. combine is called once
/// for each part, in ascending order. At the end, the value of all parts is copied to result if
/// that is not NULL; if lo >= hi, the identity is copied.
///
/// The identity must be neutral: combined with any value, it leaves that value as it is (0 for a
/// sum, 1 for a product). It is copied for each part, and must not change before the function
/// returns. combine must be associative; it need not be commutative. All values that body and
/// combine get depend only on lo, hi and grain (if it is 0, also on size), not on the number or the
/// speed of the workers. So the results are the same each time, even if combine is only nearly
/// associative, like the addition of floating-point numbers. (This requires that the caller has the
/// same floating-point modes as the run.)
///
/// grain  the same as in sched_reduce.
///
/// A part must not wait for another part, since one task may do both, one after the other.
///
/// The values are aligned for any type. Any worker of the run may call the two functions, body at
/// the same time as others; each call of body gets the s of its worker. Both functions must return;
/// longjmp out of them is undefined.
///
/// A thread that is not a worker of the run works on its own call, on its own stack, and the
/// workers help: see libsched(7), THREADS OUTSIDE.
///
/// Returns 0. A failure returns -1 with errno, and leaves result as it was; except with ECANCELED,
/// nothing was called: EINVAL (body, combine or identity is NULL, size is 0, lo or hi is greater
/// than PTRDIFF_MAX (a negative argument converts to such a value), or the run of s has ended),
/// ENOMEM (size is greater than 128, and there is no memory for two values), EAGAIN (the caller is
/// not a worker of the run, and there is no memory to hand the work to one, or the queue already
/// holds qlen tasks under SCHED_OVERFLOW=refuse), ECANCELED (body has called sched_stop, or the
/// caller's task belongs to a group that is cancelled; some results may have been written).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: for each part a copy of the identity, and a call of each function; while no
/// other worker helps, that is all, and the data of each number is read once. A part that another
/// worker helps with costs a second call of body. A scan that others help with also allocates two
/// values for each part, at most a megabyte (or 32 values, if that is more); if there is no memory
/// for them, no other worker helps.
///
/// Example: running sums in place.
///
///     static void add(size_t lo, size_t hi, void *acc, const void *before, void *ctx,
///                     struct scheduler *s) {
///         double *a = ctx, sum = 0;
///         (void)s;
///         for (size_t i = lo; i < hi; i++) {
///             sum += a[i];
///             if (before != NULL)
///                 a[i] = *(const double *)before + sum;
///         }
///         *(double *)acc = sum;
///     }
///     static void plus(void *into, const void *from, void *ctx) {
///         (void)ctx;
///         *(double *)into += *(const double *)from;
///     }
///     ...
///     double zero = 0, total;
///     if (sched_scan(0, n, 0, sizeof zero, &zero, add, plus, a, &total, s) != 0)
///         err(1, "sched_scan");
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_scan(
    lo: usize,
    hi: usize,
    grain: usize,
    size: usize,
    identity: *const c_void,
    body: sched_scan_body,
    combine: Option<unsafe extern "C" fn(into: *mut c_void, from: *const c_void, ctx: *mut c_void)>,
    ctx: *mut c_void,
    result: *mut c_void,
    s: *mut Scheduler,
) -> c_int {
    report(|| {
        let is_valid = size > 0 && !identity.is_null() && !is_negative(lo) && !is_negative(hi);
        let (Some(body), Some(combine), true) = (body, combine, is_valid) else {
            return Err(INVALID);
        };
        // SAFETY: `s` is NULL or a task's.
        let worker = unsafe { running(s) }?;
        let grain =
            if grain > 0 { grain } else { reduce::default_grain(hi.saturating_sub(lo), size) };
        let (scan, range) =
            (Scan { size, identity, body, combine, ctx }, Range::new(lo, hi, grain));
        // SAFETY: both functions accept `ctx` and places of `size` bytes, which the places have.
        Ok(call_guarded::<Scanner, _>(|| unsafe { scan.run(range, result, worker) }))
    })
}
