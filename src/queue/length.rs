//! Where a debugger finds the length of a queue. Each queue counts its tasks in its own way, and a
//! debugger cannot call it: so a queue describes its length as numbers, from which
//! tools/libsched-gdb.py computes what `len_hint` returns. The library itself does not use them.

use std::mem::offset_of;

/// The length of a queue is `(max(high) - low) / unit`, where `high` and `low` are words in its
/// memory, `bytes` wide; 0 if that is negative. The fields are the offsets of these words, or
/// [`ABSENT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Length {
    high: [usize; 2],
    low: usize,
    unit: usize,
    bytes: usize,
}

/// There is no such word; it counts as 0.
const ABSENT: usize = usize::MAX;

/// The offset of the length in a `VecDeque`: build.rs has found it.
const VEC_DEQUE_LEN: usize = match usize::from_str_radix(env!("LIBSCHED_VEC_DEQUE_LEN"), 10) {
    Ok(word) => word * size_of::<usize>(),
    Err(_) => panic!("build.rs writes a number"),
};

impl Length {
    /// No queue.
    pub const NONE: Length = Length::difference([ABSENT, ABSENT], ABSENT, 1, size_of::<usize>());

    pub const fn difference(high: [usize; 2], low: usize, unit: usize, bytes: usize) -> Length {
        Length { high, low, unit, bytes }
    }

    /// A word at this offset is the length.
    pub const fn word(at: usize) -> Length {
        Length { high: [at, ABSENT], ..Length::NONE }
    }

    /// The length of a `VecDeque` at this offset.
    pub const fn of_vec_deque(at: usize) -> Length {
        Length::word(at + VEC_DEQUE_LEN)
    }

    /// The same length, seen from something that contains the queue at this offset.
    pub const fn within(self, at: usize) -> Length {
        const fn moved(word: usize, by: usize) -> usize {
            if word == ABSENT { ABSENT } else { word + by }
        }
        let [first, second] = self.high;
        Length { high: [moved(first, at), moved(second, at)], low: moved(self.low, at), ..self }
    }
}

/// The two lengths of a policy.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Lengths {
    /// Of the queue of a worker: from the worker's deque, or from the policy if there is none.
    pub each: Length,
    /// Of the queue for all workers: from the policy.
    pub for_all: Length,
}

/// The names and offsets of the fields, for the debugger.
pub const LAYOUT: [(&str, usize); 7] = [
    ("lengths.each", offset_of!(Lengths, each)),
    ("lengths.for_all", offset_of!(Lengths, for_all)),
    ("length.high", offset_of!(Length, high)),
    ("length.low", offset_of!(Length, low)),
    ("length.unit", offset_of!(Length, unit)),
    ("length.bytes", offset_of!(Length, bytes)),
    ("length.absent", ABSENT),
];

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn length_of_a_vec_deque() {
        let mut queue: VecDeque<u64> = VecDeque::with_capacity(100);
        queue.extend(0..50);
        queue.drain(..20);
        let word = ptr_of(&queue).wrapping_byte_add(VEC_DEQUE_LEN);
        // SAFETY: the word lies in the value, and was written.
        assert_eq!(unsafe { word.read() }, 30);
    }

    fn ptr_of<T>(value: &T) -> *const usize {
        std::ptr::from_ref(value).cast()
    }
}
