//! Loops, reductions and sorts in the C interface. `include/sched_tasks.h` is made from this and
//! other files. This is one file because the header has these functions in the same order.

use crate::api::loops::{Loop, Plain};
use crate::api::range::Range;
use crate::api::reduce;
use crate::api::reduce::Reduction;
use crate::api::sort;
use crate::api::stop;
use crate::ffi::{INVALID, report, running};
use crate::runtime::record::Worker;
use crate::sys::errno::Errno;
use crate::sys::unwind::{Comparison, LoopBody, Reducer, RelaxedReducer, call_guarded};
use crate::task::Scheduler;
use std::ffi::{c_int, c_void};
use std::ptr;

/// The body of a loop. It does the work for each number from lo to hi - 1.
#[allow(non_camel_case_types, reason = "the name in C")]
pub type sched_range =
    Option<unsafe extern "C" fn(lo: usize, hi: usize, ctx: *mut c_void, s: *mut Scheduler)>;

/// Divides the numbers lo to hi - 1 into parts, and calls body(l, h, ctx, s) for each part, which
/// consists of the numbers l to h - 1. Each number is in exactly one part. The function returns
/// when all calls have returned; the caller then sees what they have written. Any worker of the run
/// may call body, in any order and at the same time as others; each call gets the s of its worker.
/// The body may itself fork, spawn and loop. Like a task, it must return; longjmp out of it is
/// undefined. If lo >= hi, body is not called.
///
/// A part must not wait for another part, since one task may do both, one after the other.
///
/// grain  0: the library chooses. The first part has one number; the size of the next ones depends
///        on how many numbers are left and on whether workers are idle.
///        More than 0: each part has exactly grain numbers, but the last one may have fewer.
///
/// A thread that is not a worker of the run works on its own call, on its own stack, and the
/// workers help: see libsched(7), THREADS OUTSIDE.
///
/// Returns 0, or -1 with errno: EINVAL (body is NULL, lo or hi is greater than PTRDIFF_MAX (a
/// negative argument converts to such a value), or the run of s has ended), EAGAIN (the caller is
/// not a worker of the run, and there is no memory to hand the work to one, or the queue already
/// holds qlen tasks under SCHED_OVERFLOW=refuse), ECANCELED (body has called sched_stop, or the
/// caller's task belongs to a group that is cancelled). Except with ECANCELED, nothing was called.
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: nothing is allocated. While no other worker takes a part, n numbers cost
/// about 2 log2(n) forks and 10 log2(n) calls of body, or n / grain calls if grain is not 0. Each
/// part that another worker takes costs a steal.
///
/// Example:
///
///     static void scale(size_t lo, size_t hi, void *ctx, struct scheduler *s) {
///         double *a = ctx;
///         (void)s;
///         for (size_t i = lo; i < hi; i++)
///             a[i] *= 2;
///     }
///     ...
///     if (sched_for(0, n, 0, scale, a, s) != 0)
///         err(1, "sched_for");
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_for(
    lo: usize,
    hi: usize,
    grain: usize,
    body: sched_range,
    ctx: *mut c_void,
    s: *mut Scheduler,
) -> c_int {
    report(|| {
        let function = body.filter(|_| !is_negative(lo) && !is_negative(hi)).ok_or(INVALID)?;
        // SAFETY: `s` is NULL or a task's.
        let worker = unsafe { running(s) }?;
        let Some(range) = Range::new(lo, hi, grain.max(1)) else { return Ok(0) };
        let body = Plain { function, ctx };
        // SAFETY: the body accepts `ctx` and these numbers on any thread.
        Ok(call_guarded::<LoopBody, _>(|| unsafe {
            Loop::run(range, most_units(grain), body, ptr::null_mut(), worker)
        }))
    })
}

/// Stops the innermost loop, reduction or scan of the caller, which is in the function body of
/// sched_for, sched_reduce, sched_reduce_relaxed or sched_scan, or in a function that this body
/// calls. No further part is begun; the parts that have begun are completed. Then the call of the
/// loop returns -1 with ECANCELED, even if no part was left out, and a reduction or a scan leaves
/// result as it was. A call without a loop has no effect. A task that the body forks or spawns is
/// not in the body: it must not call sched_stop for that loop.
///
/// s  the s of the call of body, or NULL.
///
/// A loop that a task of a group calls is also stopped by sched_group_cancel.
/// Cost: a store. A loop costs one load more for each part, whether or not it is stopped.
///
/// Example: any number with a property.
///
///     static void look(size_t lo, size_t hi, void *found, struct scheduler *s) {
///         for (size_t i = lo; i < hi; i++)
///             if (has_property(i)) {
///                 atomic_store((atomic_size_t *)found, i);
///                 sched_stop(s);
///                 return;
///             }
///     }
///     ...
///     if (sched_for(0, n, 0, look, &found, s) != 0 && errno == ECANCELED)
///         printf("%zu\n", atomic_load(&found));
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_stop(s: *mut Scheduler) {
    _ = s; // the caller's fiber names the loop, whatever s is
    stop::stop();
}

/// Reduces the numbers lo to hi - 1 to one value of size bytes. The numbers are divided into parts
/// of grain numbers; the last part may have fewer. For each part, body(l, h, acc, ctx, s) adds the
/// numbers l to h - 1 to the value at acc, which is at first a copy of the identity. combine(into,
/// from, ctx) adds the value at from to the value at into; each is the value of one or several
/// parts, and the parts of from directly follow those of into. At the end the value of all parts is
/// copied to result; if lo >= hi, the identity is copied.
///
/// The identity must be neutral: combined with any value, it leaves that value as it is (0 for a
/// sum, 1 for a product). It is copied for each part, so it is not a start value, and must not
/// change before the function returns.
///
/// combine must be associative; it need not be commutative. The parts and the combinations depend
/// only on lo, hi, grain and size, not on the number or the speed of the workers. So the result is
/// the same each time, even if combine is only nearly associative, like the addition of
/// floating-point numbers. (This requires that the caller has the same floating-point modes as the
/// run.)
///
/// grain  0: the library chooses from hi - lo and size; there are at most 1024 parts, or, if size
///        is more than 128, at most 131072 / size or 64, whichever is more.
///
/// A part must not wait for another part, since one task may reduce both, one after the other.
///
/// The values are aligned for any type. Any worker of the run may call the two functions, at the
/// same time as others; each call of body gets the s of its worker. Both functions must return;
/// longjmp out of them is undefined.
///
/// A thread that is not a worker of the run works on its own call, on its own stack, and the
/// workers help: see libsched(7), THREADS OUTSIDE.
///
/// Returns 0. A failure returns -1 with errno, and leaves result as it was: EINVAL (body, combine,
/// identity or result is NULL, size is 0, lo or hi is greater than PTRDIFF_MAX (a negative argument
/// converts to such a value), or the run of s has ended), ENOMEM (size is greater than 128, and
/// there is no memory for a value; some parts may have been done), EAGAIN (the caller is not a
/// worker of the run, and there is no memory to hand the work to one, or the queue already holds
/// qlen tasks under SCHED_OVERFLOW=refuse), ECANCELED (body has called sched_stop, or the caller's
/// task belongs to a group that is cancelled; some parts may have been done).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: for each part a copy of the identity, a call of each function and, except for
/// some short parts, a fork; also an allocation if size is more than 128.
///
/// Example:
///
///     static void add(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s) {
///         const double *a = ctx;
///         (void)s;
///         for (size_t i = lo; i < hi; i++)
///             *(double *)acc += a[i];
///     }
///     static void plus(void *into, const void *from, void *ctx) {
///         (void)ctx;
///         *(double *)into += *(const double *)from;
///     }
///     ...
///     double zero = 0, sum;
///     if (sched_reduce(0, n, 0, sizeof sum, &zero, add, plus, a, &sum, s) != 0)
///         err(1, "sched_reduce");
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_reduce(
    lo: usize,
    hi: usize,
    grain: usize,
    size: usize,
    identity: *const c_void,
    body: Option<
        unsafe extern "C" fn(
            lo: usize,
            hi: usize,
            acc: *mut c_void,
            ctx: *mut c_void,
            s: *mut Scheduler,
        ),
    >,
    combine: Option<unsafe extern "C" fn(into: *mut c_void, from: *const c_void, ctx: *mut c_void)>,
    ctx: *mut c_void,
    result: *mut c_void,
    s: *mut Scheduler,
) -> c_int {
    report(|| {
        // SAFETY: `s` is NULL or a task's.
        let (reduction, worker) =
            unsafe { checked(lo, hi, size, identity, body, combine, ctx, result, s) }?;
        let grain =
            if grain > 0 { grain } else { reduce::default_grain(hi.saturating_sub(lo), size) };
        // SAFETY: both functions accept `ctx` and places of `size` bytes, which both places have.
        Ok(call_guarded::<Reducer, _>(|| unsafe {
            reduction.run(Range::new(lo, hi, grain), result, worker)
        }))
    })
}

/// As sched_reduce, but the parts and the combinations depend on the course of the run: there is
/// one value, and another one for each part that another worker takes. The result is the same each
/// time if the operation is exact, as with integers. If combine is only nearly associative, like
/// the addition of floating-point numbers, the result may differ a little.
///
/// body(l, h, acc, ctx, s) adds the numbers l to h - 1 to the value at acc, which is a copy of the
/// identity or stands for the numbers just before l. So body must add to the value and not replace
/// it, and the value must not depend on whether body gets numbers in one call or in two. combine
/// must be associative; it need not be commutative.
///
/// grain  the same as in sched_for.
///
/// The other arguments are those of sched_reduce. Returns 0. A failure returns -1 with errno, and
/// leaves result as it was: EINVAL (body, combine, identity or result is NULL, size is 0, lo or hi
/// is greater than PTRDIFF_MAX (a negative argument converts to such a value), or the run of s has
/// ended), ENOMEM (size is greater than 128, and there is no memory for a value; some parts may
/// have been done), EAGAIN (the caller is not a worker of the run, and there is no memory to hand
/// the work to one, or the queue already holds qlen tasks under SCHED_OVERFLOW=refuse), ECANCELED
/// (body has called sched_stop, or the caller's task belongs to a group that is cancelled; some
/// parts may have been done). A worker that has no memory for a value of its own takes no part.
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of sched_for. Each part that another worker takes also costs a copy of
/// the identity, an allocation and a call of combine.
///
/// Example: the histogram of n bytes.
///
///     static void count(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s) {
///         size_t *counts = acc;
///         const unsigned char *bytes = ctx;
///         (void)s;
///         for (size_t i = lo; i < hi; i++)
///             counts[bytes[i]]++;
///     }
///     static void add(void *into, const void *from, void *ctx) {
///         (void)ctx;
///         for (int i = 0; i < 256; i++)
///             ((size_t *)into)[i] += ((const size_t *)from)[i];
///     }
///     ...
///     size_t none[256] = {0}, counts[256];
///     if (sched_reduce_relaxed(0, n, 0, sizeof counts, none, count, add, bytes, counts, s) != 0)
///         err(1, "sched_reduce_relaxed");
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_reduce_relaxed(
    lo: usize,
    hi: usize,
    grain: usize,
    size: usize,
    identity: *const c_void,
    body: Option<
        unsafe extern "C" fn(
            lo: usize,
            hi: usize,
            acc: *mut c_void,
            ctx: *mut c_void,
            s: *mut Scheduler,
        ),
    >,
    combine: Option<unsafe extern "C" fn(into: *mut c_void, from: *const c_void, ctx: *mut c_void)>,
    ctx: *mut c_void,
    result: *mut c_void,
    s: *mut Scheduler,
) -> c_int {
    report(|| {
        // SAFETY: `s` is NULL or a task's.
        let (reduction, worker) =
            unsafe { checked(lo, hi, size, identity, body, combine, ctx, result, s) }?;
        let range = Range::new(lo, hi, grain.max(1));
        // SAFETY: both functions accept `ctx` and places of `size` bytes, which both places have.
        Ok(call_guarded::<RelaxedReducer, _>(|| unsafe {
            reduction.run_relaxed(range, most_units(grain), result, worker)
        }))
    })
}

/// Sorts the n elements of size bytes at base in the order that cmp defines, as qsort(3) does, on
/// all workers of the run. This version is stable, but programs that rely on this should call
/// sched_stable_sort, which says so. The sort needs memory for n more elements or, if an element
/// has 160 bytes or more, for two pointers for each and for one element in 64. It takes O(n log n)
/// time in every case, less if the elements have few distinct values. An array that is already
/// sorted, or that is sorted strictly in the reverse order, takes n - 1 comparisons.
///
/// Several threads may call cmp at the same time, with pointers to elements or to copies of them,
/// which are aligned like the elements. cmp must return; longjmp out of it is undefined. If its
/// results contradict each other, the order of the elements is unspecified.
///
/// A thread that is not a worker of the run works on its own call, on its own stack, and the
/// workers help: see libsched(7), THREADS OUTSIDE.
///
/// Returns 0. A failure returns -1 with errno, and leaves the array as it was: EINVAL (cmp is NULL,
/// size is 0, base is NULL and n is not 0, or the run of s has ended), ENOMEM (there is no memory
/// for the copies), EAGAIN (the caller is not a worker of the run, and there is no memory to hand
/// the work to one, or the queue already holds qlen tasks under SCHED_OVERFLOW=refuse).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe, for different arrays. Cost: with one worker that of qsort(3) or less.
///
/// Example:
///
///     static int by_value(const void *a, const void *b) {
///         int x = *(const int *)a, y = *(const int *)b;
///         return (x > y) - (x < y);
///     }
///     ...
///     if (sched_sort(a, n, sizeof *a, by_value, s) != 0)
///         err(1, "sched_sort");
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_sort(
    base: *mut c_void,
    n: usize,
    size: usize,
    cmp: Option<unsafe extern "C" fn(a: *const c_void, b: *const c_void) -> c_int>,
    s: *mut Scheduler,
) -> c_int {
    report(|| {
        let is_valid = size > 0 && (!base.is_null() || n == 0);
        let cmp = cmp.filter(|_| is_valid).ok_or(INVALID)?;
        // SAFETY: `s` is NULL or a task's.
        let worker = unsafe { running(s) }?;
        // SAFETY: `base` has `n` elements of `size` bytes, which `cmp` accepts on any thread.
        Ok(call_guarded::<Comparison, _>(|| unsafe { sort::sort(base, n, size, cmp, worker) }))
    })
}

/// Sorts as sched_sort does, and is stable: elements that compare equal keep their order.
///
/// Returns 0. A failure returns -1 with errno, and leaves the array as it was: EINVAL (cmp is NULL,
/// size is 0, base is NULL and n is not 0, or the run of s has ended), ENOMEM (there is no memory
/// for the copies), EAGAIN (the caller is not a worker of the run, and there is no memory to hand
/// the work to one, or the queue already holds qlen tasks under SCHED_OVERFLOW=refuse).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe, for different arrays. Cost: that of sched_sort.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_stable_sort(
    base: *mut c_void,
    n: usize,
    size: usize,
    cmp: Option<unsafe extern "C" fn(a: *const c_void, b: *const c_void) -> c_int>,
    s: *mut Scheduler,
) -> c_int {
    // SAFETY: `base` has `n` elements of `size` bytes, which `cmp` accepts on any thread.
    unsafe { sched_sort(base, n, size, cmp, s) }
}

/// The reduction and its worker, if the arguments are valid.
///
/// # Safety
/// The contract of `sched_reduce`.
#[allow(clippy::too_many_arguments, reason = "those of the interface")]
unsafe fn checked<'a>(
    lo: usize,
    hi: usize,
    size: usize,
    identity: *const c_void,
    body: Option<reduce::Body>,
    combine: Option<reduce::Combine>,
    ctx: *mut c_void,
    result: *mut c_void,
    s: *mut Scheduler,
) -> Result<(Reduction, &'a Worker), Errno> {
    let (Some(body), Some(combine)) = (body, combine) else { return Err(INVALID) };
    if size == 0 || identity.is_null() || result.is_null() || is_negative(lo) || is_negative(hi) {
        return Err(INVALID);
    }
    // SAFETY: `s` is NULL or a task's.
    let worker = unsafe { running(s) }?;
    Ok((Reduction { size, identity, body, combine, ctx }, worker))
}

/// The most units of one call of the body of a loop.
fn most_units(grain: usize) -> usize {
    if grain == 0 { usize::MAX } else { 1 }
}

/// True if the number was negative before C converted it to size_t. (A loop to -5 would otherwise
/// count nearly to SIZE_MAX.)
pub(super) fn is_negative(n: usize) -> bool {
    n > isize::MAX as usize
}
