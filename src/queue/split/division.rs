//! How tasks become public: the owner publishes them, or thieves request and raid them.

use crate::lock::monitor::RawLock;
use crate::queue::split::record::{EACH, Held, Split, slots};
use crate::queue::{Deque, Portion, PrivatePart, Published, Raid};
use crate::sys::atomic::{Ordering, fence as processor_fence};
use crate::sys::fence::Mode;
use std::ptr;

impl<M: Mode> PrivatePart for Split<M> {
    fn ask(&self) {
        if !self.watched.lim.load(Ordering::Relaxed).is_null() {
            self.watched.lim.store(ptr::null_mut(), Ordering::Relaxed);
        }
    }

    fn request(&self) -> bool {
        // If `split` is at `bot`, no task is private, or a request is pending.
        if self.split() >= self.bot() {
            return false;
        }
        let Some(_held) = Held::as_thief(&self.thieves) else { return false };
        let was_pending = self.is_requested();
        self.request_held();
        self.ask();
        !was_pending && self.is_requested()
    }

    /// Exact if the caller holds the lock.
    fn is_requested(&self) -> bool {
        self.public_end() < self.split()
    }

    fn raid_if_requested(&self) -> Raid {
        // (A request above an empty deque is pending until the owner's next push and pop.)
        if !self.is_requested() || self.looks_empty() {
            return Raid::NotMade;
        }
        let Some(_held) = Held::as_thief(&self.thieves) else { return Raid::NotMade };
        self.raid_held()
    }

    fn raid(&self) -> bool {
        let Some(_held) = Held::as_thief(&self.thieves) else { return false };
        self.raid_held();
        self.top() < self.public_end()
    }

    fn alarm(&self) {
        if self.watched.alarm.load(Ordering::Relaxed) != EACH {
            self.thieves.lock.lock();
            self.set_alarm(EACH);
            // SAFETY: locked just now.
            unsafe { self.thieves.lock.unlock() };
        }
    }

    #[inline]
    fn is_alarmed(&self) -> bool {
        !self.watched.alarm.load(Ordering::Relaxed).is_null()
    }

    unsafe fn silence(&self) {
        let held = Held::wait(&self.thieves);
        self.set_alarm(ptr::null_mut());
        drop(held);
        processor_fence(Ordering::SeqCst); // with the alarming thread's: see the essay, 6
    }

    unsafe fn publish(&self, portion: Portion) -> Published {
        let part_of = |tasks: isize| match portion {
            Portion::Half => tasks / 2,
            Portion::HalfOrLone => (tasks + 1) / 2,
            Portion::AllIfNone | Portion::All => tasks,
        };
        let (bot, public_end) = (self.bot(), self.public_end());
        let (are_public, more) = (self.top() != public_end, part_of(slots(public_end, bot)));
        if are_public && (portion != Portion::All || more < 1) {
            return Published::Some;
        }
        if more < 1 {
            return Published::None;
        }
        let Some(_held) = self.hold_to_publish(portion) else { return Published::Busy };
        let public_end = self.public_end(); // a raid may have moved it
        self.divide(public_end.wrapping_offset(part_of(slots(public_end, bot))));
        Published::Some
    }

    unsafe fn rearm(&self) {
        // SAFETY: `armed` is the owner's.
        let armed = self.seldom.with_mut(|seldom| unsafe { (*seldom).armed });
        self.watched.lim.store(armed, Ordering::Relaxed);
        processor_fence(Ordering::SeqCst); // with the sleeper's: see the essay, 2
    }

    #[inline]
    fn is_asked(&self) -> bool {
        // Relaxed: an owner that sees the null late publishes later. The writes before the null are
        // read after the fences of the essay, 2.
        self.watched.lim.load(Ordering::Relaxed).is_null()
    }
}

impl<M: Mode> Split<M> {
    /// The lock, if it is free. An owner that should publish all of its tasks tries several times,
    /// because its private tasks are out of reach while it runs a task. (With one try, thieves kept
    /// the owner out: loops of 300 µs on 16 workers took 66 µs instead of 49.) If a raid holds the
    /// lock, the raid itself publishes half of the tasks.
    fn hold_to_publish(&self, portion: Portion) -> Option<Held<'_>> {
        let held = Held::try_now(&self.thieves);
        if held.is_none() && portion == Portion::All {
            return Held::try_often(&self.thieves);
        }
        held
    }

    /// Raids: publishes the older half of the private tasks. The caller holds the thieves' lock.
    fn raid_held(&self) -> Raid {
        let public_end = self.public_end();
        let private = slots(public_end, self.bot());
        if private <= 0 {
            return Raid::NotMade;
        }
        let wanted = public_end.wrapping_offset((private + 1) / 2);
        self.watched.split.store(wanted.max(self.alarm()), Ordering::Relaxed);
        let safe = if M::heavy() {
            // Acquire: pairs with the Release store of the push: the slots below are written.
            self.own.bot.load(Ordering::Acquire).clamp(public_end, wanted)
        } else {
            public_end
        };
        self.divide(safe);
        if self.top() < self.public_end() { Raid::Published } else { Raid::InVain }
    }
}
