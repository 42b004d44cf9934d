//! The parts of a loop that a worker offers to others.

use crate::api::fork::Forked;
use crate::runtime::forked;
use crate::runtime::loop_shape::LoopTimes;
use crate::runtime::record::Worker;
use crate::sys::atomic::{AtomicPtr, Ordering};
use crate::sys::detector;
use crate::task::{Task, TaskFn};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;

/// The most offers of one worker at a time: see the essay of [`loops`](super).
const MAX_OFFERS: usize = 32;

/// A part of a loop `L` that another worker may run. Its result goes into a value `V`. A thief
/// writes to its offer while the owner reads the other offers, so each offer begins on a cache line
/// of its own.
#[repr(align(64))]
pub struct Offer<L, V> {
    task: Forked,
    whole_loop: *const L,
    pub from: usize,
    pub to: usize,
    /// The worker that has come to join the offer; null: none.
    joiner: AtomicPtr<Worker>,
    /// The value of the units: the offer's task writes it before it ends, and the owner reads it
    /// after the join. None: the task has not run, or has given the units back.
    value: UnsafeCell<Option<V>>,
    /// How long the units took. If the loop is measured, the offer's task writes the times before it
    /// ends, and the owner reads them after the join.
    times: UnsafeCell<LoopTimes>,
}

/// Memory for the offers of one worker.
pub struct Room<L, V>([MaybeUninit<Offer<L, V>>; MAX_OFFERS]);

/// The offers of a worker that are not joined yet, the oldest first. Thieves take the oldest first.
pub struct Offers<L, V> {
    /// The offers are used through pointers only, since other threads have references to them.
    room: *mut Offer<L, V>,
    count: usize,
    /// The number of offers that are known to be taken. They are the oldest ones.
    taken: usize,
    /// The value of `taken` at the last answer.
    answered: Option<usize>,
}

impl<L, V> Room<L, V> {
    pub const fn new() -> Self {
        Room([const { MaybeUninit::uninit() }; MAX_OFFERS])
    }
}

impl<L, V> Offers<L, V> {
    /// No offers. The room must outlive them, and must not move.
    pub fn within(room: &mut Room<L, V>) -> Self {
        detector::own(room);
        Offers { room: (&raw mut room.0).cast(), count: 0, taken: 0, answered: None }
    }

    fn at(&self, i: usize) -> *mut Offer<L, V> {
        self.room.wrapping_add(i)
    }

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn is_full(&self) -> bool {
        self.count == MAX_OFFERS
    }

    /// True until the first call of `answer`.
    pub fn is_unanswered(&self) -> bool {
        self.answered.is_none()
    }

    /// Offers the units `from` to `to` to other workers, as the youngest offer: the task calls `run`
    /// with the offer. `function` is the address of the program's function. False if no queue has
    /// room.
    ///
    /// # Safety
    /// The caller owns `worker`, and joins all offers before the loop and the room end. The offers
    /// are not full.
    #[inline]
    pub unsafe fn push(
        &mut self,
        whole_loop: &L,
        (from, to): (usize, usize),
        run: TaskFn,
        function: usize,
        worker: &Worker,
    ) -> bool {
        let at = self.at(self.count);
        // SAFETY: the place is within the room, and no task uses it. The offer stays there until
        // the task is joined, by the caller's promise.
        let offered = unsafe {
            at.write(Offer {
                task: Forked::unset(),
                whole_loop,
                from,
                to,
                joiner: AtomicPtr::default(),
                value: UnsafeCell::new(None),
                times: UnsafeCell::default(),
            });
            (*at).task.offer(run, at.cast(), function, worker)
        };
        self.count += usize::from(offered);
        offered
    }

    /// How many offers no thief has taken.
    ///
    /// # Safety
    /// The caller owns the offers.
    #[inline]
    pub unsafe fn untaken(&mut self) -> usize {
        // SAFETY: there is such an offer; its memory is the room, which lives.
        while self.taken < self.count && unsafe { !(*self.at(self.taken)).task.is_untaken() } {
            self.taken += 1;
        }
        self.count - self.taken
    }

    /// The oldest offer that no thief has taken, as far as `untaken` has seen.
    ///
    /// # Safety
    /// As for `untaken`.
    #[inline]
    pub unsafe fn oldest_untaken(&self) -> Option<&Offer<L, V>> {
        // SAFETY: as in `untaken`.
        (self.taken < self.count).then(|| unsafe { &*self.at(self.taken) })
    }

    /// The caller answers the thefts that `untaken` has seen. True if there are some that were not
    /// answered yet, and at first.
    pub fn answer(&mut self) -> bool {
        self.answered.replace(self.taken).is_none_or(|answered| answered < self.taken)
    }

    /// The youngest offer, which the caller must join.
    pub fn pop(&mut self) -> Option<*const Offer<L, V>> {
        self.count = self.count.checked_sub(1)?;
        self.taken = self.taken.min(self.count);
        self.answered = self.answered.map(|answered| answered.min(self.count));
        Some(self.at(self.count))
    }
}

impl<L, V> Offer<L, V> {
    /// # Safety
    /// The offer is not joined.
    pub unsafe fn whole_loop(&self) -> &L {
        // SAFETY: the loop lives until the offer is joined.
        unsafe { &*self.whole_loop }
    }

    /// True if `worker` waits for this task already.
    pub fn is_back(&self, worker: &Worker) -> bool {
        // Relaxed: only this worker stores its own address, in `join`, and a thread sees its own stores.
        ptr::eq(self.joiner.load(Ordering::Relaxed), worker)
    }

    /// The units are done. `times`: None if the loop is not measured.
    ///
    /// # Safety
    /// The caller is the offer's task.
    pub unsafe fn done(&self, value: V, times: Option<LoopTimes>) {
        // SAFETY: the owner reads both after the end of the task.
        unsafe {
            *self.value.get() = Some(value);
            if let Some(times) = times {
                *self.times.get() = times;
            }
        }
    }

    /// How long the units took, if `done` was told.
    ///
    /// # Safety
    /// The caller owns the offer, and `join` has returned the value.
    pub unsafe fn times(&self) -> LoopTimes {
        // SAFETY: `join` has acquired the end of the task, so only the owner uses the times.
        unsafe { *self.times.get() }
    }

    /// Joins the offer. Returns the value of the units if they are done; None: they are the owner's
    /// again. `run` is the function of the loop's offers.
    ///
    /// # Safety
    /// The caller owns `worker` and the offer, which is not joined yet.
    #[inline]
    pub unsafe fn join(&self, run: TaskFn, worker: &Worker) -> Option<V> {
        // Relaxed: the owner's thread reads its own store; to other threads the value is a hint.
        self.joiner.store(ptr::from_ref(worker).cast_mut(), Ordering::Relaxed);
        let is_part = |task: Task| {
            let Some((function, offer)) = forked::call_of(task) else { return false };
            // SAFETY: the function's closure is an offer, which is not joined before it has run.
            let is = function == run as usize
                && unsafe { (*offer.cast::<Self>()).whole_loop } == self.whole_loop;
            if is {
                // The part runs now, on top of this wait. Until the part ends, this offer's owner
                // cannot do units that are given back to it.
                self.joiner.store(ptr::null_mut(), Ordering::Relaxed);
            }
            is
        };
        // SAFETY: the caller owns the offer, whose task was forked and is not joined yet.
        if unsafe { self.task.take_back_amid(Some(&is_part), worker) } {
            return None;
        }
        // SAFETY: the task has ended, so only the owner uses the value. `take_back` has acquired
        // what the end of the task released (`sync::forked`).
        unsafe { (*self.value.get()).take() }
    }
}
