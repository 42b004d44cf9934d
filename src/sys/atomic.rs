//! The gate for atomics and cells. The library gets the real types; `--cfg loom` replaces them by
//! loom's, so that the models run the shipped code, and `--cfg sched_fuzz` by delayed ones
//! (`sys::fuzz`). Five files have a twin for the models in `sys/model`. All other code that differs
//! in the models tests [`MODEL`].

/// True in the models. They take fewer rounds and smaller capacities where these reach every
/// interleaving, and have no clock.
pub const MODEL: bool = cfg!(loom);

#[cfg(not(loom))]
mod real {
    #[cfg(sched_fuzz)]
    pub use crate::sys::fuzz::{
        AtomicBool, AtomicI32, AtomicIsize, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    pub use core::hint::spin_loop;
    pub use core::sync::atomic::Ordering;
    #[cfg(not(sched_fuzz))]
    pub use core::sync::atomic::{
        AtomicBool, AtomicI32, AtomicIsize, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
    };

    /// The types for statics.
    pub mod statics {
        pub use super::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
    }

    /// Makes a function `const`, except in the models: loom's types have no `const` functions.
    macro_rules! const_fn {
        ($(#[$attribute:meta])* $visibility:vis fn $($function:tt)*) => {
            $(#[$attribute])* $visibility const fn $($function)*
        };
    }
    pub(crate) use const_fn;

    /// `core`'s cell with the interface of loom's cell.
    #[derive(Default)]
    pub struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub const fn new(value: T) -> Self {
            UnsafeCell(core::cell::UnsafeCell::new(value))
        }

        #[inline(always)]
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        #[inline(always)]
        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

#[cfg(loom)]
mod real {
    pub use loom::cell::UnsafeCell;
    pub use loom::hint::spin_loop;
    pub use loom::sync::atomic::{
        AtomicBool, AtomicIsize, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };

    /// Loom's types cannot be in statics. No model explores these.
    pub mod statics {
        pub use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
    }

    macro_rules! const_fn {
        ($($function:tt)*) => {
            $($function)*
        };
    }
    pub(crate) use const_fn;
}

pub use real::*;

/// Keeps a value alone on its pair of cache lines. Processors prefetch lines in pairs, so an
/// alignment of 64 bytes would still let two neighbours disturb each other.
#[derive(Default)]
#[repr(align(128))]
pub struct Pad<T>(pub T);

impl<T> core::ops::Deref for Pad<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}
