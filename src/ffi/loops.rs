//! Loops, reductions and sorts in the C interface. `include/sched_tasks.h` is made from this file,
//! too.

use crate::api::range::{Loop, Range, Reduction};
use crate::api::{range, sort};
use crate::ffi::running;
use crate::sys::errno;
use crate::sys::errno::Errno;
use crate::sys::unwind::{Comparison, LoopBody, Reducer, call_guarded};
use crate::task::Scheduler;
use std::ffi::{c_int, c_void};

/// The body of a loop: to be done for each number from lo to hi - 1.
#[allow(non_camel_case_types, reason = "the name in C")]
pub type sched_range =
    Option<unsafe extern "C" fn(lo: usize, hi: usize, ctx: *mut c_void, s: *mut Scheduler)>;

/// Calls body(l, h, ctx, s) for parts l to h - 1 of the numbers lo to hi - 1, each of which is in
/// exactly one part, and returns when all calls have; what they wrote is then seen. Parts are done
/// by any worker of the run, in any order, several at a time; a call gets the s of its worker. The
/// body may fork, spawn and loop in turn. Like a task, it must return; longjmp out of it is
/// undefined. If lo >= hi nothing is called.
///
/// grain  0: the library chooses, beginning with one number, by how much is left and by whether
///        workers are idle.
///        More: each part has exactly so many numbers; the last one may have fewer.
///
/// If the calling thread is no worker of the run, the workers do all the work while the thread
/// sleeps. Returns 0, or -1 with errno, and nothing was called: EINVAL (body is NULL, lo or hi is
/// greater than PTRDIFF_MAX, as a negative number becomes, or the run of s has ended), EAGAIN (the
/// caller is no worker of the run, and there is no memory to hand the work to one, or the queue
/// holds qlen tasks already under SCHED_OVERFLOW=refuse).
/// Suspension point: the task may go on in another thread, see libsched(7).
/// Thread-safe. Cost: nothing is allocated. While no other worker takes a part, n numbers cost
/// about 2 log2(n) forks and 10 log2(n) calls of body, or n / grain calls with a grain; each part
/// that another worker takes costs a steal.
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
    let Some(body) = body else { return errno::failed(libc::EINVAL) };
    if is_negative(lo) || is_negative(hi) {
        return errno::failed(libc::EINVAL);
    }
    // SAFETY: by the caller's promise.
    let worker = match unsafe { running(s) } {
        Ok(worker) => worker,
        Err(Errno(error)) => return errno::failed(error),
    };
    let Some(range) = Range::new(lo, hi, grain.max(1)) else { return 0 };
    let most = if grain == 0 { usize::MAX } else { 1 };
    // SAFETY: by the caller's promise.
    call_guarded::<LoopBody, _>(|| unsafe {
        Loop { range, max_chunk: most, body, ctx }.run(worker)
    })
}

/// Reduces the numbers lo to hi - 1 to one value of size bytes. The numbers are cut into parts of
/// grain numbers; the last part may have fewer. For each part, body(l, h, acc, ctx, s) adds the
/// numbers l to h - 1 to the value at acc, which begins as a copy of the identity. combine(into,
/// from, ctx) adds the value at from, which stands for one or several parts, to the value at into,
/// which stands for the parts just before those. At the end the value of all parts is copied to
/// result; if lo >= hi, it is the identity.
///
/// combine must be associative; it need not be commutative. Which parts there are, and which values
/// are combined, depends on lo, hi, grain and size alone, not on the number of workers or on their
/// speed. So the result is the same each time, even if combine is only nearly associative, as the
/// addition of floating-point numbers is, provided that the caller has the floating-point modes of
/// the run.
///
/// grain  0: chosen from hi - lo and size, so that there are at most 1024 parts.
///
/// The values are aligned for any type. Calls are made by any worker of the run, several at a time;
/// a call of body gets the s of its worker. Both functions must return; longjmp out of them is
/// undefined.
///
/// If the calling thread is no worker of the run, the workers do all the work while the thread
/// sleeps. Returns 0, or -1 with errno, result unchanged: EINVAL (body, combine, identity or result
/// is NULL, size is 0, lo or hi is greater than PTRDIFF_MAX, as a negative number becomes, or the
/// run of s has ended), ENOMEM (size is greater than 128, and there is no memory for a value; some
/// parts may have been done), EAGAIN (the caller is no worker of the run, and there is no memory to
/// hand the work to one, or the queue holds qlen tasks already under SCHED_OVERFLOW=refuse).
/// Suspension point: the task may go on in another thread, see libsched(7).
/// Thread-safe. Cost: for each part a fork, a copy of the identity and a call of each function; an
/// allocation, if size is more than 128.
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
    let (Some(body), Some(combine)) = (body, combine) else { return errno::failed(libc::EINVAL) };
    if size == 0 || identity.is_null() || result.is_null() || is_negative(lo) || is_negative(hi) {
        return errno::failed(libc::EINVAL);
    }
    // SAFETY: by the caller's promise.
    let worker = match unsafe { running(s) } {
        Ok(worker) => worker,
        Err(Errno(error)) => return errno::failed(error),
    };
    let grain = if grain > 0 { grain } else { range::default_grain(hi.saturating_sub(lo), size) };
    let reduction = Reduction { size, identity, body, combine, ctx };
    // SAFETY: by the caller's promise.
    call_guarded::<Reducer, _>(|| unsafe {
        reduction.run(Range::new(lo, hi, grain), result, worker)
    })
}

/// Sorts the n elements of size bytes at base in the order that cmp defines, as qsort(3) does, on
/// all workers of the run. The sort is stable: elements that compare equal keep their order. It
/// needs memory for n more elements, and O(n log n) time in every case; n - 1 comparisons if the
/// elements are in order, or strictly in the reverse order.
///
/// cmp is called by several threads at once, with pointers to elements or to copies of them that
/// are aligned like the elements. It must return; longjmp out of it is undefined. If its answers
/// contradict each other, the elements end in some order.
///
/// If the calling thread is no worker of the run, the workers do all the work while the thread
/// sleeps. Returns 0, or -1 with errno, the array unchanged: EINVAL (cmp is NULL, size is 0, base
/// is NULL and n is not 0, or the run of s has ended), ENOMEM (there is no memory for the copies),
/// EAGAIN (the caller is no worker of the run, and there is no memory to hand the work to one, or
/// the queue holds qlen tasks already under SCHED_OVERFLOW=refuse).
/// Suspension point: the task may go on in another thread, see libsched(7).
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
    let Some(cmp) = cmp else { return errno::failed(libc::EINVAL) };
    if size == 0 || (base.is_null() && n > 0) {
        return errno::failed(libc::EINVAL);
    }
    // SAFETY: by the caller's promise.
    let worker = match unsafe { running(s) } {
        Ok(worker) => worker,
        Err(Errno(error)) => return errno::failed(error),
    };
    // SAFETY: by the caller's promise.
    call_guarded::<Comparison, _>(|| unsafe { sort::sort(base, n, size, cmp, worker) })
}

/// The number was negative before C made it a size_t: a loop that ends at -5 would not come
/// there.
fn is_negative(n: usize) -> bool {
    n > isize::MAX as usize
}
