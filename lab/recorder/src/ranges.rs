//! Loops and reductions, recorded as a binary tree of forks over parts of their range.

use std::ffi::c_void;
use std::ptr;

use crate::stack::{Descriptor, Serial};

pub type Combine = unsafe extern "C" fn(*mut c_void, *const c_void, *mut c_void);

/// The number of parts of a loop, if the program leaves the division to the library. The library
/// divides as long as a worker has nothing to do, and the simulator has up to 1024 workers.
const LOOP_PARTS: usize = 4096;

/// The number of parts of a reduction in the same case, if its values have `size` bytes. It is the
/// library's number, which does not depend on the workers.
fn reduction_parts(size: usize) -> usize {
    (1024 * 128 / size.max(128)).max(64)
}

pub enum Body {
    Each(unsafe extern "C" fn(usize, usize, *mut c_void, *mut Serial)),
    Reduce {
        body: unsafe extern "C" fn(usize, usize, *mut c_void, *mut c_void, *mut Serial),
        combine: Combine,
        identity: *const c_void,
        size: usize,
    },
}

/// What is done to each part.
pub struct Piece {
    pub body: Body,
    pub context: *mut c_void,
}

/// The value of a part, aligned for any type.
type Value = Box<[u128]>;

#[derive(Clone, Copy)]
pub struct Part {
    lo: usize,
    hi: usize,
    grain: usize,
}

struct Other<'a> {
    part: Part,
    piece: &'a Piece,
    value: Value,
}

impl Part {
    /// Of a loop; `grain` as in the header.
    pub fn of_loop(lo: usize, hi: usize, grain: usize) -> Part {
        Part::new(lo, hi, grain, LOOP_PARTS)
    }

    /// Of a reduction; `grain` and `size` as in the header.
    pub fn of_reduction(lo: usize, hi: usize, grain: usize, size: usize) -> Part {
        Part::new(lo, hi, grain, reduction_parts(size))
    }

    fn new(lo: usize, hi: usize, grain: usize, parts: usize) -> Part {
        let hi = hi.max(lo);
        let grain = if grain > 0 { grain } else { (hi - lo).div_ceil(parts).max(1) };
        Part { lo, hi, grain }
    }

    /// Cuts the range in two near its middle, at a multiple of `grain` from `lo`.
    fn halves(self) -> Option<(Part, Part)> {
        let parts = (self.hi - self.lo).div_ceil(self.grain);
        let middle = self.lo + parts / 2 * self.grain;
        (parts > 1).then_some((Part { hi: middle, ..self }, Part { lo: middle, ..self }))
    }

    /// # Safety
    /// `s` is that of the running task, and the piece keeps to the header's contract.
    pub unsafe fn run(self, piece: &Piece, s: *mut Serial) -> Value {
        let Some((lower, upper)) = self.halves() else {
            // SAFETY: passed on.
            return unsafe { self.leaf(piece, s) };
        };
        // SAFETY: zero bytes are a valid descriptor, which was not forked.
        let mut t: Descriptor = unsafe { std::mem::zeroed() };
        let mut other = Other { part: upper, piece, value: Value::default() };
        let at = &raw mut other;
        // SAFETY: both live until the join has returned; the rest is the caller's promise.
        unsafe {
            (*s).fork(&mut t, run_other, at.cast());
            let mut value = lower.run(piece, s);
            Serial::join(s, &mut t);
            if let Body::Reduce { combine, .. } = piece.body {
                combine(value.as_mut_ptr().cast(), (*at).value.as_ptr().cast(), piece.context);
            }
            value
        }
    }

    /// # Safety
    /// As for `run`.
    unsafe fn leaf(self, piece: &Piece, s: *mut Serial) -> Value {
        let Part { lo, hi, .. } = self;
        match piece.body {
            Body::Each(body) => {
                if lo < hi {
                    // SAFETY: passed on.
                    unsafe { body(lo, hi, piece.context, s) };
                }
                Value::default()
            }
            Body::Reduce { body, identity, size, .. } => {
                let mut value = vec![0; size.div_ceil(size_of::<u128>())].into_boxed_slice();
                // SAFETY: passed on; the value has `size` bytes.
                unsafe {
                    let bytes = value.as_mut_ptr().cast::<u8>();
                    ptr::copy_nonoverlapping(identity.cast::<u8>(), bytes, size);
                    if lo < hi {
                        body(lo, hi, bytes.cast(), piece.context, s);
                    }
                }
                value
            }
        }
    }
}

unsafe extern "C" fn run_other(closure: *mut c_void, s: *mut Serial) {
    // SAFETY: forked above with an Other, which nobody else uses before the join.
    unsafe {
        let other = &mut *closure.cast::<Other>();
        other.value = other.part.run(other.piece, s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn first(closure: *mut c_void, s: *mut Serial) {
        // SAFETY: as below.
        let (part, result) = unsafe { &mut *closure.cast::<(Part, Vec<(usize, usize)>)>() };
        // SAFETY: the body gets a vector.
        unsafe {
            part.run(&Piece { body: Body::Each(push_part), context: (&raw mut *result).cast() }, s)
        };
    }

    unsafe extern "C" fn push_part(lo: usize, hi: usize, context: *mut c_void, _: *mut Serial) {
        // SAFETY: one task at a time.
        unsafe { (*context.cast::<Vec<(usize, usize)>>()).push((lo, hi)) };
    }

    #[test]
    fn parts_are_of_one_size_and_cover_the_range() {
        for (lo, hi, grain) in [(3, 3, 0), (5, 4, 1), (0, 1000, 7), (10, 20, 100), (0, 9999, 0)] {
            let mut closure = (Part::of_loop(lo, hi, grain), Vec::<(usize, usize)>::new());
            let mut serial = Serial::new();
            // SAFETY: all of it is this thread's.
            unsafe { Serial::run(&mut serial, first, (&raw mut closure).cast(), true) };
            let mut parts = closure.1;
            parts.sort_unstable();
            let mut at = lo;
            for &(from, to) in &parts {
                assert_eq!(from, at);
                assert!(grain == 0 || to - from == grain || to == hi);
                at = to;
            }
            assert_eq!(at, hi.max(lo), "{lo} to {hi} by {grain}");
        }
    }

    unsafe extern "C" fn reduce(closure: *mut c_void, s: *mut Serial) {
        let (zero, size) = (0usize, size_of::<usize>());
        let identity = (&raw const zero).cast();
        let body = Body::Reduce { body: add_numbers, combine: add, identity, size };
        let piece = Piece { body, context: ptr::null_mut() };
        // SAFETY: the closure is a number.
        unsafe {
            let value = Part::of_reduction(0, 1000, 0, size).run(&piece, s);
            *closure.cast::<usize>() = *value.as_ptr().cast();
        }
    }

    unsafe extern "C" fn add_numbers(
        lo: usize,
        hi: usize,
        acc: *mut c_void,
        _: *mut c_void,
        _: *mut Serial,
    ) {
        // SAFETY: the accumulator of this test.
        unsafe { *acc.cast::<usize>() += (lo..hi).sum::<usize>() };
    }

    unsafe extern "C" fn add(into: *mut c_void, from: *const c_void, _: *mut c_void) {
        // SAFETY: as above.
        unsafe { *into.cast::<usize>() += *from.cast::<usize>() };
    }

    #[test]
    fn a_reduction_has_every_number_once() {
        let mut sum = 0usize;
        let mut serial = Serial::new();
        // SAFETY: all of it is this thread's.
        unsafe { Serial::run(&mut serial, reduce, (&raw mut sum).cast(), true) };
        assert_eq!(sum, 499_500);
    }
}
