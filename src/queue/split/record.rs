//! The words of a split deque, and the steps that its operations share. The essay says which thread
//! reads or writes which word, and when.

use crate::lock::monitor::RawLock;
use crate::lock::trylock::TryLock;
use crate::queue::PrivatePart;
use crate::queue::length::Length;
use crate::stats::Counter;
use crate::sys::atomic::{AtomicPtr, MODEL, Ordering, Pad, UnsafeCell, spin_loop};
use crate::sys::fence::{Asymmetric, Mode};
use crate::sys::region::Block;
use crate::task::{Pair, Task};
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::AtomicBool;

/// The number of times that the owner tries to get the lock before it waits longer, or continues
/// without it. A thief holds the lock for a fraction of a microsecond, a raid for ten.
const TRIES: u32 = if MODEL { 0 } else { 64 };

/// Slots of a new deque, the spare one included: few under the model, so that it reaches growth.
pub(super) const FIRST_SLOTS: usize = if MODEL { 3 } else { 256 };

/// A slot: room for a task.
pub(super) struct Slot(UnsafeCell<MaybeUninit<Pair>>);

impl Default for Slot {
    fn default() -> Self {
        Slot(UnsafeCell::new(MaybeUninit::new(Pair::empty())))
    }
}

impl Slot {
    /// # Safety
    /// Nobody else has access to the slot at this moment.
    #[inline(always)]
    pub(super) unsafe fn write(&self, task: Task) {
        // SAFETY: nobody else has access to the slot.
        self.0.with_mut(|slot| unsafe {
            (*slot).write(Pair::of(task));
        });
    }

    /// # Safety
    /// A task was written, and nobody writes at this moment.
    #[inline(always)]
    pub(super) unsafe fn read(&self) -> Task {
        // SAFETY: the slot has a task, and nobody writes.
        self.0.with(|slot| unsafe { Pair::read(slot.cast()) })
    }

    /// # Safety
    /// A task was written, and nobody writes at this moment.
    #[inline(always)]
    pub(super) unsafe fn holds(&self, task: Task) -> bool {
        // SAFETY: the slot has a task, and nobody writes.
        self.0.with(|slot| unsafe { (*slot).assume_init_ref() }.is(task))
    }
}

/// The value of `split` in a forked child.
pub(super) const ABANDONED: *mut Slot = ptr::without_provenance_mut(usize::MAX);

/// The value of a set `alarm`: each pop takes the slow path. No slot has this address.
pub(super) const EACH: *mut Slot = ptr::without_provenance_mut(usize::MAX - 1);

/// The deque. `M` is the kind of fence between the owner and the raiders.
#[repr(C)]
pub struct Split<M: Mode> {
    pub(super) own: Pad<Own>,
    pub(super) watched: Pad<Watched>,
    pub(super) thieves: Pad<Thieves>,
    pub(super) seldom: Pad<UnsafeCell<Seldom>>,
    pub(super) mode: PhantomData<M>,
}

/// The offsets at which sched_inline.h finds `bot`, `split` and `lim`.
pub const LAYOUT: [usize; 3] = [
    offset_of!(Split<Asymmetric>, own) + offset_of!(Own, bot),
    offset_of!(Split<Asymmetric>, watched) + offset_of!(Watched, split),
    offset_of!(Split<Asymmetric>, watched) + offset_of!(Watched, lim),
];

impl<M: Mode> Split<M> {
    /// The places of the words of `len_hint`, for a debugger.
    pub(super) const WHERE_LENGTH: Length = {
        let thieves = offset_of!(Split<M>, thieves);
        let bot = offset_of!(Split<M>, own) + offset_of!(Own, bot);
        let (top, public_end) = (offset_of!(Thieves, top), offset_of!(Thieves, public_end));
        let high = [bot, thieves + public_end];
        Length::difference(high, thieves + top, size_of::<Slot>(), size_of::<usize>())
    };
}

/// Written by the owner.
#[repr(C)]
pub(super) struct Own {
    /// The slot of the next push.
    pub(super) bot: AtomicPtr<Slot>,
    /// A pop at or beyond this slot finds more tasks queued than ever before. Owner only.
    pub(super) mark: Cell<*mut Slot>,
    pub(super) peak: Counter,
}

/// Read by the owner at each operation, seldom written.
#[repr(C)]
pub(super) struct Watched {
    pub(super) split: AtomicPtr<Slot>,
    /// A push here or beyond takes the slow path; null: somebody has asked.
    pub(super) lim: AtomicPtr<Slot>,
    /// [`EACH`]: an alarm is set. Then `split` is also `EACH`, and the owner finds the alarm on the
    /// slow path of each pop. Null: no alarm is set.
    pub(super) alarm: AtomicPtr<Slot>,
}

pub(super) struct Thieves {
    /// The oldest task that is not stolen.
    pub(super) top: AtomicPtr<Slot>,
    /// The first private slot.
    pub(super) public_end: AtomicPtr<Slot>,
    pub(super) lock: TryLock,
    /// True while the owner tries to get the lock and others hold it: thieves then leave the lock
    /// to the owner. Relaxed, and std's atomic, which the models do not explore: a thief that sees
    /// the value late merely takes its turn before the owner.
    pub(super) owner_tries: AtomicBool,
}

/// The fields that only the owner uses. It changes them only under the lock.
pub(super) struct Seldom {
    pub(super) block: Block<Slot>,
    /// The most tasks that the deque may hold.
    pub(super) limit: usize,
    /// The value of `lim` while nobody asks.
    pub(super) armed: *mut Slot,
}

// SAFETY: the essay says which thread reads or writes which word and which slot, and when.
unsafe impl<M: Mode> Send for Split<M> {}
// SAFETY: as above.
unsafe impl<M: Mode> Sync for Split<M> {}

/// The number of slots from `a` up to `b`; negative if `b` is below `a`.
#[inline(always)]
pub(super) fn slots(a: *mut Slot, b: *mut Slot) -> isize {
    (b as isize - a as isize) / size_of::<Slot>() as isize
}

/// The lock of the deque; dropping the value unlocks it.
pub(super) struct Held<'a>(&'a Thieves);

impl<'a> Held<'a> {
    /// For the owner: waits for the lock.
    pub(super) fn wait(thieves: &'a Thieves) -> Self {
        if !MODEL {
            if let Some(held) = Self::try_now(thieves).or_else(|| Self::try_often(thieves)) {
                return held;
            }
        }
        thieves.lock.lock();
        Held(thieves)
    }

    /// For the owner: tries a few times, while thieves leave the lock to it. (An owner that
    /// competed with 15 thieves sometimes waited for 3 to 29 µs.)
    #[cold]
    pub(super) fn try_often(thieves: &'a Thieves) -> Option<Self> {
        thieves.owner_tries.store(true, Ordering::Relaxed);
        let held = (0..TRIES).find_map(|_| {
            spin_loop();
            Self::try_now(thieves)
        });
        thieves.owner_tries.store(false, Ordering::Relaxed);
        held
    }

    /// For the owner: tries once.
    pub(super) fn try_now(thieves: &'a Thieves) -> Option<Self> {
        thieves.lock.try_lock().then(|| Held(thieves))
    }

    /// For a thief: tries once.
    pub(super) fn as_thief(thieves: &'a Thieves) -> Option<Self> {
        if thieves.owner_tries.load(Ordering::Relaxed) {
            return None;
        }
        Self::try_now(thieves)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // SAFETY: locked when this value was made.
        unsafe { self.0.lock.unlock() };
    }
}

impl<M: Mode> Split<M> {
    #[inline(always)]
    pub(super) fn bot(&self) -> *mut Slot {
        self.own.bot.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn split(&self) -> *mut Slot {
        self.watched.split.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn top(&self) -> *mut Slot {
        self.thieves.top.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn public_end(&self) -> *mut Slot {
        self.thieves.public_end.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn alarm(&self) -> *mut Slot {
        self.watched.alarm.load(Ordering::Relaxed)
    }

    /// Makes the tasks below `end` public and the others private. The caller holds the lock, and is
    /// the owner, or a raider that set `split` to `end` or above before its fence (essay, 1).
    pub(super) fn divide(&self, end: *mut Slot) {
        self.thieves.public_end.store(end, Ordering::Relaxed);
        self.watched.split.store(end.max(self.alarm()), Ordering::Relaxed);
    }

    /// Sets the alarm; null: removes it, which only the owner may do. The caller holds the lock.
    pub(super) fn set_alarm(&self, alarm: *mut Slot) {
        self.watched.alarm.store(alarm, Ordering::Relaxed);
        self.divide(self.public_end());
    }

    /// Requests the private tasks, if any. The caller holds the lock, and no task is public.
    pub(super) fn request_held(&self) {
        let bot = self.bot();
        if self.split() < bot {
            self.watched.split.store(bot, Ordering::Relaxed);
        }
    }

    /// Divides the tasks again, on the slow path of a pop or a join; the tasks below `bot` remain.
    /// If a request is pending, publishes the older half of the private tasks; otherwise makes half
    /// of the public part private. The caller is the owner and holds the lock.
    pub(super) fn redivide(&self, bot: *mut Slot) {
        let (top, public_end) = (self.top(), self.public_end());
        let private = slots(public_end, bot);
        let by_thief = self.split() != self.alarm();
        if private >= 0 && by_thief && self.is_requested() {
            self.divide(public_end.wrapping_offset((private + 1) / 2));
        } else {
            let half = slots(top, public_end) / 2;
            self.divide(top.wrapping_offset(half));
        }
    }

    /// Places the mark for a deque whose oldest task is at `top`. Only a pop beyond the mark can
    /// find more tasks than the peak, because `top` only grows until the tasks are moved.
    pub(super) fn set_mark(&self, top: *mut Slot) {
        self.own.mark.set(top.wrapping_add(self.own.peak.get()));
    }
}
