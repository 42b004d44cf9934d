//! A part of a path, and how the parts are stored.

use crate::sys::word::Word;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The most functions of a path that have a part: ten that the report shows, and two more.
pub const PARTS: usize = 12;

/// How many of the parts need no block on the heap.
pub(super) const NEAR: usize = 5;

/// The part of a path that lies in the tasks of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The function's number: see `Context::number`. `REST` for several functions.
    pub function: u32,
    /// How many tasks of the function the path goes through.
    pub tasks: u32,
    pub ticks: u64,
}

/// The functions that have no part of their own.
pub const REST: u32 = u32::MAX;

impl Part {
    pub(super) const NO_REST: Part = Part { function: REST, tasks: 0, ticks: 0 };
}

/// A part in two words: the number of the function below the number of tasks, and the ticks.
pub(super) struct Stored(pub(super) [Word; 2]);

impl Stored {
    pub(super) fn set(&self, part: Part) {
        self.0[0].set((u64::from(part.tasks) << 32) | u64::from(part.function));
        self.0[1].set(part.ticks);
    }

    pub(super) fn get(&self) -> Part {
        let (counts, ticks) = (self.0[0].get(), self.0[1].get());
        Part { function: counts as u32, tasks: (counts >> 32) as u32, ticks }
    }

    #[inline(always)]
    pub(super) fn copy(&self, other: &Stored) {
        self.0.iter().zip(&other.0).for_each(|(to, from)| to.set(from.get()));
    }

    #[inline(always)]
    pub(super) fn add_task(&self) {
        let counts = self.0[0].get();
        self.0[0].set(counts.checked_add(1 << 32).unwrap_or(counts));
    }

    /// Modulo 2^64.
    pub(super) fn shift(&self, ticks: u64) {
        self.0[1].set(self.0[1].get().wrapping_add(ticks));
    }
}

/// The parts beyond the near ones, and the floors of all parts.
#[repr(align(32))] // the address leaves room for the low bits of `State`
pub(super) struct Far {
    pub(super) parts: [Stored; PARTS - NEAR],
    /// No floor is less than the one before.
    pub(super) floors: [Word; PARTS],
}

/// ```text
/// bits 0..4   how many functions have a part
/// bits 5..    the address of the `Far`, if there is one
/// ```
pub(super) struct State(pub(super) AtomicPtr<Far>);

impl State {
    const USED: usize = 15;

    /// Relaxed, here and in `set`: only one thread at a time uses a path.
    #[inline(always)]
    pub(super) fn get(&self) -> *mut Far {
        self.0.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn set(&self, state: *mut Far) {
        self.0.store(state, Ordering::Relaxed);
    }

    #[inline(always)]
    pub(super) fn used(&self) -> u8 {
        (self.get().addr() & Self::USED) as u8
    }

    /// True if there is no `Far`.
    #[inline(always)]
    pub(super) fn is_near(&self) -> bool {
        self.get().addr() <= Self::USED
    }

    #[inline(always)]
    pub(super) fn far(&self) -> *mut Far {
        self.get().map_addr(|state| state & !Self::USED)
    }

    pub(super) fn set_both(&self, used: u8, far: *mut Far) {
        self.set(far.map_addr(|address| address | usize::from(used)));
    }
}
