//! Room for the tasks of a split deque: the block of slots grows, or the tasks move down in it. The
//! owner of an empty deque replaces a long block by a short one.

use crate::queue::split::record::{ABANDONED, FIRST_SLOTS, Held, Seldom, Slot, Split, slots};
use crate::queue::{Full, PrivatePart};
use crate::sys::atomic::{MODEL, Ordering};
use crate::sys::fence::Mode;
use crate::sys::memory::{self, NoMemory};
use crate::sys::region::Block;

impl<M: Mode> Split<M> {
    /// Makes room after a push that has used the spare slot, or seems to have reached the limit.
    #[cold]
    #[inline(never)]
    pub(super) fn make_room(&self) -> Result<(), Full> {
        let _held = Held::wait(&self.thieves);
        let bot = self.bot();
        let queued = slots(self.top(), bot).unsigned_abs();
        self.seldom.with_mut(|seldom| {
            // SAFETY: the owner holds the lock, which is all that `Seldom` asks.
            let seldom = unsafe { &mut *seldom };
            if queued > seldom.limit || self.stretch(seldom, queued).is_err() {
                // The task goes back to its spawner. A raid may have made the task public.
                let bot = bot.wrapping_sub(1);
                self.own.bot.store(bot, Ordering::Release);
                if self.split() > bot {
                    self.divide(self.public_end().min(bot));
                }
                return Err(Full);
            }
            self.set_armed(seldom, self.top());
            Ok(())
        })
    }

    /// Recomputes `armed`, after the room has changed or the tasks have moved. `lim` must be
    /// `armed` or null at all times, so this sets it to null: the old value may be beyond the new
    /// room.
    pub(super) fn set_armed(&self, seldom: &mut Seldom, top: *mut Slot) {
        let end = seldom.block.start().wrapping_add(seldom.block.count() - 1);
        // No block has this many slots, and the address does not wrap around.
        let most = isize::MAX as usize / (2 * size_of::<Slot>());
        let limit = top.wrapping_add(seldom.limit.min(most));
        let armed = end.min(limit);
        if armed != seldom.armed {
            seldom.armed = armed;
            self.ask();
        }
    }

    /// Frees the spare slot, if the last push has used it. Moves the tasks down if that frees half
    /// of the block; otherwise grows the block.
    fn stretch(&self, seldom: &mut Seldom, queued: usize) -> Result<(), NoMemory> {
        let base = seldom.block.start();
        let room = seldom.block.count() - 1;
        let (top, public_end, bot) = (self.top(), self.public_end(), self.bot());
        if slots(base, bot) <= room as isize {
            return Ok(());
        }
        let moved = |to: *mut Slot| {
            self.thieves.top.store(to, Ordering::Relaxed);
            self.divide(to.wrapping_offset(slots(top, public_end)));
            self.own.bot.store(to.wrapping_add(queued), Ordering::Release);
            self.set_mark(to);
        };
        if queued > room / 2 {
            let longer = room.checked_mul(2).ok_or(NoMemory)?;
            match seldom.block.grow(longer + 1) {
                Ok(()) => {
                    moved(seldom.block.start().wrapping_offset(slots(base, top)));
                    return Ok(());
                }
                Err(NoMemory) if top == base => return Err(NoMemory),
                Err(NoMemory) => {} // the tasks move down: less room than wished for
            }
        }
        for i in 0..queued {
            // SAFETY: slots of the block; the owner holds the lock, so the tasks are whole and
            // nobody reads.
            unsafe { (*base.add(i)).write((*top.add(i)).read()) };
        }
        moved(base);
        Ok(())
    }

    /// True if the block is longer than that of a new deque, by enough to be worth a replacement.
    pub(super) fn is_long(block: &Block<Slot>) -> bool {
        if MODEL {
            return block.count() > FIRST_SLOTS;
        }
        block.count() * size_of::<Slot>() >= memory::LONG
    }

    /// Replaces the block of an empty deque by a block of a new deque's length. If memory for that
    /// is refused, or in a forked child, the block stays. Nobody reads a slot of the old block any
    /// more: thieves read slots under the lock, and only if there are public tasks.
    #[cold]
    pub(super) fn shorten(&self) {
        let held = Held::wait(&self.thieves);
        if self.top() != self.bot() || self.split() == ABANDONED {
            return;
        }
        let old = self.seldom.with_mut(|seldom| {
            // SAFETY: the owner holds the lock, which is all that `Seldom` asks.
            let seldom = unsafe { &mut *seldom };
            let old = seldom.block.renew(FIRST_SLOTS)?;
            let base = seldom.block.start();
            self.thieves.top.store(base, Ordering::Relaxed);
            self.divide(base);
            self.own.bot.store(base, Ordering::Release);
            self.set_mark(base);
            self.set_armed(seldom, base);
            Ok::<_, NoMemory>(old)
        });
        drop(held);
        drop(old); // after unlocking: the system may take milliseconds for its pages
    }

    /// For the models.
    pub(super) fn assert_room(&self, bot: *mut Slot) {
        let (start, count) = self.seldom.with(|seldom| {
            // SAFETY: the caller is the owner, and only the owner replaces `block`.
            unsafe { ((*seldom).block.start(), (*seldom).block.count()) }
        });
        assert!((0..count as isize).contains(&slots(start, bot)), "a push outside of the block");
    }
}
