//! Describes to a debugger where it finds the length of a queue, and its tasks. Each queue counts
//! its tasks in its own way, by a function that a debugger cannot call. So a queue describes its
//! length as numbers, from which tools/libsched-gdb.py computes what `len_hint` returns, and finds
//! the slots. The library itself does not use them.

use crate::task;
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
    slots: Slots,
}

/// The place of the tasks of a queue, in consecutive slots, the oldest first.
///
/// If `address` is absent, the word `low` is the address of the oldest task. Otherwise the slots
/// are a ring. If `via` is absent, the word at `address` is the ring's address, and the word at
/// `count` is the number of slots. Otherwise the word at `address` leads to a record, which has the
/// ring's address at the offset `via` and the number of slots at the offset `count`. The word at
/// `oldest`, or `low` if `oldest` is absent, is the position of the oldest task, modulo the number
/// of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Slots {
    address: usize,
    via: usize,
    count: usize,
    oldest: usize,
    /// The bytes from one slot to the next. A slot begins with its task.
    size: usize,
}

/// The offset of an absent word, which counts as 0.
const ABSENT: usize = usize::MAX;

/// The offset of this word of a `VecDeque`; build.rs has found the offsets.
const fn vec_deque(word: usize) -> usize {
    let digits = env!("LIBSCHED_VEC_DEQUE").as_bytes();
    (digits[word] - b'0') as usize * size_of::<usize>()
}
const VEC_DEQUE_PLACES: usize = vec_deque(0);
const VEC_DEQUE_COUNT: usize = vec_deque(1);
const VEC_DEQUE_HEAD: usize = vec_deque(2);
const VEC_DEQUE_LEN: usize = vec_deque(3);

/// The offsets of the words of a boxed slice.
const SLICE_PLACES: usize = 0;
const SLICE_COUNT: usize = size_of::<usize>();

impl Slots {
    /// The word `low` is the address of the oldest task.
    const AT_LOW: Slots = Slots {
        address: ABSENT,
        via: ABSENT,
        count: ABSENT,
        oldest: ABSENT,
        size: task::LAYOUT[2],
    };

    const fn of_vec_deque(at: usize) -> Slots {
        Slots {
            address: at + VEC_DEQUE_PLACES,
            via: ABSENT,
            count: at + VEC_DEQUE_COUNT,
            oldest: at + VEC_DEQUE_HEAD,
            ..Slots::AT_LOW
        }
    }

    const fn within(self, at: usize) -> Slots {
        let count = if self.via == ABSENT { moved(self.count, at) } else { self.count };
        Slots { address: moved(self.address, at), count, oldest: moved(self.oldest, at), ..self }
    }
}

const fn moved(word: usize, by: usize) -> usize {
    if word == ABSENT { ABSENT } else { word + by }
}

impl Length {
    /// The length of an absent queue: 0.
    pub const NONE: Length = Length::difference([ABSENT, ABSENT], ABSENT, 1, size_of::<usize>());

    pub const fn difference(high: [usize; 2], low: usize, unit: usize, bytes: usize) -> Length {
        Length { high, low, unit, bytes, slots: Slots::AT_LOW }
    }

    /// A word at this offset is the length.
    pub const fn word(at: usize) -> Length {
        Length { high: [at, ABSENT], ..Length::NONE }
    }

    /// The length of a `VecDeque` at this offset.
    pub const fn of_vec_deque(at: usize) -> Length {
        Length::word(at + VEC_DEQUE_LEN).in_vec_deque(at)
    }

    /// The tasks are in a `VecDeque` at this offset.
    pub const fn in_vec_deque(self, at: usize) -> Length {
        Length { slots: Slots::of_vec_deque(at), ..self }
    }

    /// The tasks are in the boxed slice at this offset; `low` is the position of the oldest.
    pub const fn in_slice(self, at: usize) -> Length {
        let (address, count) = (at + SLICE_PLACES, at + SLICE_COUNT);
        Length { slots: Slots { address, count, ..Slots::AT_LOW }, ..self }
    }

    /// Like `in_slice`, for a boxed slice at the offset `slice` of the record to which the word at
    /// the offset `at` leads.
    pub const fn in_slice_via(self, at: usize, slice: usize) -> Length {
        let (via, count) = (slice + SLICE_PLACES, slice + SLICE_COUNT);
        Length { slots: Slots { address: at, via, count, ..Slots::AT_LOW }, ..self }
    }

    /// A slot takes `size` bytes.
    pub const fn with_slots_of(mut self, size: usize) -> Length {
        self.slots.size = size;
        self
    }

    /// The same length, with offsets in an object that contains the queue at this offset.
    pub const fn within(self, at: usize) -> Length {
        let [first, second] = self.high;
        let high = [moved(first, at), moved(second, at)];
        Length { high, low: moved(self.low, at), slots: self.slots.within(at), ..self }
    }
}

/// The lengths of a policy's queues.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Lengths {
    /// A worker's queue. Its offsets start at the worker's deque, or at the policy without a deque.
    pub each: Length,
    /// The queues for all workers. The offsets start at the policy.
    pub for_all: [Length; QUEUES_FOR_ALL],
}

pub const QUEUES_FOR_ALL: usize = 5;

/// The names and offsets of the fields, for the debugger.
pub const LAYOUT: [(&str, usize); 17] = [
    ("lengths.each", offset_of!(Lengths, each)),
    ("lengths.for_all", offset_of!(Lengths, for_all)),
    ("lengths.queues_for_all", QUEUES_FOR_ALL),
    ("length.size", size_of::<Length>()),
    ("length.high", offset_of!(Length, high)),
    ("length.low", offset_of!(Length, low)),
    ("length.unit", offset_of!(Length, unit)),
    ("length.bytes", offset_of!(Length, bytes)),
    ("length.absent", ABSENT),
    ("slots.address", offset_of!(Length, slots.address)),
    ("slots.via", offset_of!(Length, slots.via)),
    ("slots.count", offset_of!(Length, slots.count)),
    ("slots.oldest", offset_of!(Length, slots.oldest)),
    ("slots.size", offset_of!(Length, slots.size)),
    ("task.f", task::LAYOUT[0]),
    ("task.closure", task::LAYOUT[1]),
    ("task.size", task::LAYOUT[2]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn words_of_a_boxed_slice() {
        let slice: Box<[u64]> = vec![7; 30].into();
        let word = |at| {
            // SAFETY: the word lies in the value, and was written.
            unsafe { ptr_of(&slice).wrapping_byte_add(at).read() }
        };
        assert_eq!((word(SLICE_PLACES), word(SLICE_COUNT)), (slice.as_ptr().addr(), 30));
    }

    #[test]
    fn words_of_a_vec_deque() {
        let mut queue: VecDeque<u64> = VecDeque::with_capacity(100);
        queue.extend(0..50);
        queue.drain(..20);
        let word = |at| {
            // SAFETY: the word lies in the value, and was written.
            unsafe { ptr_of(&queue).wrapping_byte_add(at).read() }
        };
        assert_eq!((word(VEC_DEQUE_LEN), word(VEC_DEQUE_COUNT)), (30, queue.capacity()));
        let oldest = word(VEC_DEQUE_PLACES) + word(VEC_DEQUE_HEAD) * size_of::<u64>();
        assert_eq!(oldest, queue.as_slices().0.as_ptr().addr());
    }

    fn ptr_of<T>(value: &T) -> *const usize {
        std::ptr::from_ref(value).cast()
    }
}
