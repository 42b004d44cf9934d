//! Delays around atomic operations, to widen the windows in which a race happens.
//!
//! Between two steps of a protocol there are some nanoseconds, and few tests hit them. In the build
//! for this purpose (`--cfg sched_fuzz`; `make fuzz` makes and uses it), the gate of `sys::atomic`
//! exports the types of this file: with `SCHED_FUZZ=N`, threads sometimes spin, yield their
//! processor or sleep before and after an atomic operation. Relaxed loads are not delayed, because
//! the next operation is. Every other build has the plain types.
//!
//! # What the seed decides
//!
//! A *site* is the point before or after an atomic operation in the source. Its *mood* follows from
//! N: most files are calm, and in the others some sites delay often or for long. (If all sites did
//! so, all threads would be slowed down equally, and their order would change little. This is how
//! "swarm testing" chooses, A. Groce and others, 2012.) N, n and k determine what happens at the
//! k-th site that the n-th thread passes. The kernel still decides which thread comes first, so the
//! same seed need not give the same run.
//!
//! # The other change in this build
//!
//! A sleeping thread of the library wakes by itself after a second, because a filter may have
//! forbidden the wake-up (`futex::LONGEST`). So a lost wake-up is only a delay. In this build the
//! second is an hour, so that a lost wake-up is a hang, which a test notices.
//!
//! Rejected: named points between the steps of the protocols, 50 of them. Someone had to find the
//! points of each protocol, and a window without a point was never widened.

use crate::sys::errno::{self, Errno};
use crate::sys::time;
use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::atomic::{self, Ordering};
use std::time::Duration;

/// 0: no delays. All accesses here are Relaxed, so that the delays hide no missing order.
#[unsafe(link_section = "sched_words")]
static SEED: atomic::AtomicU64 = atomic::AtomicU64::new(0);
/// The number of threads that have passed a site.
#[unsafe(link_section = "sched_words")]
static THREADS: atomic::AtomicU64 = atomic::AtomicU64::new(0);

thread_local! {
    /// The state of the thread's random numbers; 0: the thread has not passed a site yet.
    static RANDOM: Cell<u64> = const { Cell::new(0) };
}

/// The value of `SCHED_FUZZ`.
pub fn seed(n: u64) {
    SEED.store(mix(n) | 1, Ordering::Relaxed);
}

/// An atomic with delays. Functions that are not defined below are those of `A`, without delays.
#[derive(Default, Debug)]
#[repr(transparent)]
pub struct Delayed<A>(A);

impl<A> Deref for Delayed<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.0
    }
}

impl<A> DerefMut for Delayed<A> {
    fn deref_mut(&mut self) -> &mut A {
        &mut self.0
    }
}

#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

#[track_caller]
fn around<R>(operation: impl FnOnce() -> R) -> R {
    delay(Side::Before);
    let result = operation();
    delay(Side::After);
    result
}

#[track_caller]
pub fn fence(order: Ordering) {
    around(|| atomic::fence(order));
}

macro_rules! delayed {
    ($atomic:ident $(<$t:ident>)?, $value:ty; $($operation:ident)*) => {
        pub type $atomic $(<$t>)? = Delayed<atomic::$atomic $(<$t>)?>;

        impl $(<$t>)? $atomic $(<$t>)? {
            pub const fn new(value: $value) -> Self {
                Delayed(atomic::$atomic::new(value))
            }

            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                if order == Ordering::Relaxed { self.0.load(order) } else { around(|| self.0.load(order)) }
            }

            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                around(|| self.0.store(value, order));
            }

            #[track_caller]
            pub fn compare_exchange(
                &self,
                old: $value,
                new: $value,
                order: Ordering,
                failed: Ordering,
            ) -> Result<$value, $value> {
                around(|| self.0.compare_exchange(old, new, order, failed))
            }

            $(
                #[track_caller]
                pub fn $operation(&self, value: $value, order: Ordering) -> $value {
                    around(|| self.0.$operation(value, order))
                }
            )*
        }
    };
}

delayed!(AtomicBool, bool; swap fetch_or fetch_and);
delayed!(AtomicI32, i32; swap fetch_add fetch_sub);
delayed!(AtomicIsize, isize; swap fetch_add fetch_sub);
delayed!(AtomicU32, u32; swap fetch_add fetch_sub fetch_or fetch_and fetch_max);
delayed!(AtomicU64, u64; swap fetch_add fetch_sub fetch_or fetch_and fetch_max);
delayed!(AtomicUsize, usize; swap fetch_add fetch_sub fetch_or fetch_and fetch_max);
delayed!(AtomicPtr<T>, *mut T; swap);

/// The finalizer of SplitMix64 (G. Steele and others, 2014).
fn mix(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

#[track_caller]
#[inline]
fn delay(side: Side) {
    let seed = SEED.load(Ordering::Relaxed);
    if seed != 0 {
        delay_at(seed, Location::caller(), side);
    }
}

#[cold]
#[inline(never)] // so that no thread-local address is kept where a task changes its thread
fn delay_at(seed: u64, site: &Location<'_>, side: Side) {
    let dice = RANDOM.with(|random| {
        let state = match random.get() {
            0 => mix(seed ^ THREADS.fetch_add(1, Ordering::Relaxed)),
            state => mix(state),
        };
        random.set(state | 1);
        state
    });
    let file = site
        .file()
        .bytes()
        .fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let place = u64::from(site.line()) << 16 | u64::from(site.column()) << 1 | side as u64;
    let mood = if mix(file) % 4 == 0 { mix(file.wrapping_add(place)) % 16 } else { 0 };
    let (often, length) = ((dice >> 8) as u32, dice >> 48);
    match mood {
        0..=8 if often % 1024 == 0 => time::give_way(),
        9..=10 if often % 8 == 0 => time::give_way(),
        11..=12 if often % 4 == 0 => (0..length % 1024).for_each(|_| std::hint::spin_loop()),
        13..=14 if often % 32 == 0 => sleep(20 + length % 256),
        15 if often % 4 == 0 => sleep(length % 64),
        _ => {}
    }
}

fn sleep(micros: u64) {
    let errno = errno::get();
    time::sleep(Duration::from_micros(micros));
    errno::set(Errno(errno));
}
