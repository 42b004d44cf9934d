//! The split deque: the owner's path without a fence, a read-modify-write or a contended line.
//!
//! A part of the deque is public, the rest is the owner's own (after T. van Dijk and J. van de
//! Pol, "Lace: non-blocking split deque for work-stealing", 2014, and U. Acar, A. Charguéraud
//! and M. Rainey, "Scheduling parallel programs by work stealing with private deques", 2013).
//! What those lack is here the *raid*: a thief can open the private part of an owner that
//! computes and does not answer, so no task is out of reach. And an owner that only pops is asked at
//! no cost to those who are not: by the word that each pop compares anyway.
//!
//! # States
//!
//! ```text
//!      base      top         open             bot          end
//!       v         v            v               v            v
//!       |.........|a b c d e f |g h i j k l m n|............|spare|
//!        stolen    public       private         free
//! ```
//!
//! `split` is where the owner's fast path ends: at `open`, or above it while a request is not
//! answered yet, or a raid goes on.
//!
//! | word | written by | read by |
//! | --- | --- | --- |
//! | `bot` | owner, at each operation | raiders, sleepers |
//! | `split` | under the lock | owner at each pop; thieves |
//! | `open` | under the lock, by the owner or by a raid | thieves; owner on its slow path |
//! | `lim` | owner; anyone writes null | owner at each push |
//! | `top` | under the lock | thieves; owner on its slow path |
//! | slots | owner: at and above `open`, or with the lock | the same; below `open` with the lock |
//!
//! Three lines: `bot`; `split` and `lim`, which the owner reads at each operation and nobody writes
//! in the usual course; `top` and `open`, which thieves look at again and again.
//!
//! Only `bot` carries what was written before it: its stores release, and the raider acquires. The
//! others are read under the lock, or as hints, or their order comes from the fences below.
//!
//! # Protocol
//!
//! *push* writes the slot and `bot + 1`, then compares with `lim`. One comparison serves two
//! needs: the room ends (`lim` is the place after the last one), or somebody has *asked*, by
//! writing null: a thief that finds no public task, or a worker about to sleep. The owner
//! then publishes the older half of its private tasks (`publish`), and, when nobody sleeps,
//! arms `lim` again (`rearm`).
//!
//! *pop* writes `bot - 1`, then compares with `split`: at or above it the task is its own.
//! Below, it takes the lock. If a request is pending, the owner makes the older half of the other
//! private tasks public. If not, it has come to the public part, and takes half of that back, or finds
//! the deque empty. A join is a pop that takes one particular task.
//!
//! *steal* takes the oldest public task, under the lock. If that was the last, the thief asks and
//! requests at once: the owner has time to answer while the thief runs the task.
//!
//! *request*, under the lock, moves `split` up to `bot`, and leaves `open` where it is. It fences nothing and takes
//! nothing, for the owner may be popping those very tasks: only the owner's next pop gives them away. (A request
//! that comes in the middle of a pop is at worst answered by a later one.)
//!
//! *raid*, under the lock, moves `split` to the middle of the private part, executes the heavy
//! half of an asymmetric fence (`base::barrier`), reads `bot` again, and moves `split` down to
//! it if the owner was there first; `open` follows. A thief that has requested raids only when
//! it has waited for an answer as long as a raid takes.
//!
//! # The bad interleavings
//!
//! 1. *The task taken twice*, by its owner and by a raid. It is Dekker's pattern: the owner
//!    writes `bot` and reads `split`; the raider writes `split` and reads `bot`. Let `wanted` be
//!    what the raider wrote. A pop whose fence comes after the raider's sees `wanted` (or what
//!    was written later, under the lock); if it claims a slot below, it stops at the lock. A
//!    pop whose fence comes before has its `bot` seen. So of the slots below both `wanted` and
//!    the `bot` read at the end, none was popped unseen: those become public, no others. A slot
//!    popped before and pushed anew holds the new task, which the same reading of `bot` makes
//!    visible. The owner's fence is free because the raider's interrupts it; without
//!    membarrier both are real (`FENCED`).
//! 2. *The question overwritten.* A sleeper writes null to `lim` while the owner arms it. Then
//!    the owner's next pushes are silent and the sleeper may sleep beside them. So the owner
//!    arms, fences, and *then* looks for sleepers again, and asks itself if there is one; a
//!    sleeper announces itself, fences, and *then* asks. An arming that comes after the null
//!    which the sleeper wrote, or found, has its fence after the sleeper's, so that owner sees
//!    the announcement. One that comes before is over for pushes whose fence comes after the
//!    sleeper's heavy one; the sleeper sees the others. (Without the sleeper's first fence it
//!    would not do to look at `lim` again before sleeping: a third party may have asked since,
//!    and after a silent push.)
//! 3. *The slot that moved.* Growing and compacting move the tasks: under the lock, as all
//!    reading of slots by others is. Thieves compare the pointers without it, but only as a
//!    hint. A sleeper that looks in the middle may see an empty deque; the owner is then on
//!    the slow path of a push and looks for sleepers at its end.
//!
//! 4. *The request for what is gone.* The thief reads an old `bot`, and moves `split` above the new one: the owner has
//!    popped those tasks, and its next operations take the slow path once. Nobody takes a task for public by that:
//!    thieves and sleepers look at `open`. (If they looked at `split`, the deque of an owner that is
//!    idle by now would seem to hold tasks for ever, and nobody would sleep.)
//!
//! # Cost
//!
//! push and pop are about 6 instructions each beyond the slot's two words. A steal is two
//! swaps' worth; a request takes the owner some 0.2 µs, most of it for lines that come from the thief; a raid takes
//! both 3 to 10 µs, most of it the kernel's interrupt.
//!
//! Rejected: raids every 16 searches, in place of requests (loops of 20 µs took 61 µs on two workers in place of 39: each
//! raid interrupts the owner).

use super::{Deque, Full, Published, Steal};
use crate::base::barrier;
use crate::base::block::Block;
use crate::base::mem::{self, NoMemory};
use crate::base::sync::{AtomicPtr, Ordering, Pad, UnsafeCell, fence};
use crate::base::trylock::TryLock;
use crate::probe::Counter;
use crate::task::{Pair, Task};
use std::cell::Cell;
use std::mem::MaybeUninit;
#[cfg(not(loom))]
use std::mem::offset_of;
use std::ptr;

/// Slots of a new deque, the spare one included: few under the model, so that it reaches growth.
#[cfg(not(loom))]
const FIRST_SLOTS: usize = 256;
#[cfg(loom)]
const FIRST_SLOTS: usize = 3;

/// Room for a task.
struct Place(UnsafeCell<MaybeUninit<Pair>>);

#[cfg(loom)]
impl Default for Place {
    fn default() -> Self {
        Place(UnsafeCell::new(MaybeUninit::new(Pair::empty())))
    }
}

impl Place {
    /// # Safety
    /// Nobody else has access to the place at this moment.
    #[inline(always)]
    unsafe fn write(&self, task: Task) {
        // SAFETY: by the caller's promise.
        self.0.with_mut(|place| unsafe {
            (*place).write(Pair::of(task));
        });
    }

    /// # Safety
    /// A task was written, and nobody writes at this moment.
    #[inline(always)]
    unsafe fn read(&self) -> Task {
        // SAFETY: by the caller's promise.
        self.0.with(|place| unsafe { Pair::read(place.cast()) })
    }

    /// # Safety
    /// As for `read`.
    #[inline(always)]
    unsafe fn holds(&self, task: Task) -> bool {
        // SAFETY: by the caller's promise.
        self.0.with(|place| unsafe { (*place).assume_init_ref() }.is(task))
    }
}

/// What `split` is in a forked child.
const ABANDONED: *mut Place = ptr::without_provenance_mut(usize::MAX);

/// `FENCED`: membarrier is not to be had.
#[repr(C)]
pub struct Split<const FENCED: bool> {
    own: Pad<Own>,
    watched: Pad<Watched>,
    thieves: Pad<Thieves>,
    seldom: Pad<UnsafeCell<Seldom>>,
}

/// Where sched_inline.h finds `bot`, `split` and `lim`.
#[cfg(not(loom))]
pub const LAYOUT: [usize; 3] = [
    offset_of!(Split<false>, own) + offset_of!(Own, bot),
    offset_of!(Split<false>, watched) + offset_of!(Watched, split),
    offset_of!(Split<false>, watched) + offset_of!(Watched, lim),
];

/// Written by the owner.
#[repr(C)]
struct Own {
    /// The place of the next push.
    bot: AtomicPtr<Place>,
    /// A pop at or beyond this finds more tasks queued than ever before. Owner only.
    mark: Cell<*mut Place>,
    peak: Counter,
}

/// Read by the owner at each operation, written seldom.
#[repr(C)]
struct Watched {
    split: AtomicPtr<Place>,
    /// A push here or beyond takes the slow path; null: somebody asks.
    lim: AtomicPtr<Place>,
}

struct Thieves {
    top: AtomicPtr<Place>,
    open: AtomicPtr<Place>,
    lock: TryLock,
}

/// The owner's, under the lock or in `new`, but for `armed`.
struct Seldom {
    block: Block<Place>,
    /// The most tasks the deque may hold.
    limit: usize,
    /// What `lim` is when nobody asks. Owner only.
    armed: *mut Place,
}

// SAFETY: who reads or writes which word and which slot, and when, is said above.
unsafe impl<const FENCED: bool> Send for Split<FENCED> {}
// SAFETY: as above.
unsafe impl<const FENCED: bool> Sync for Split<FENCED> {}

/// Slots from `a` up to `b`; negative if `b` is below.
#[inline(always)]
fn slots(a: *mut Place, b: *mut Place) -> isize {
    (b as isize - a as isize) / size_of::<Place>() as isize
}

/// The lock of the deque, until dropped.
struct Held<'a>(&'a Thieves);

impl<'a> Held<'a> {
    fn wait(thieves: &'a Thieves) -> Self {
        thieves.lock.lock();
        Held(thieves)
    }

    fn try_now(thieves: &'a Thieves) -> Option<Self> {
        thieves.lock.try_lock().then(|| Held(thieves))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // SAFETY: held by the maker of this value.
        unsafe { self.0.lock.unlock() };
    }
}

impl<const FENCED: bool> Split<FENCED> {
    #[inline(always)]
    fn bot(&self) -> *mut Place {
        self.own.bot.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn split(&self) -> *mut Place {
        self.watched.split.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn top(&self) -> *mut Place {
        self.thieves.top.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn open(&self) -> *mut Place {
        self.thieves.open.load(Ordering::Relaxed)
    }

    /// The tasks below `end` are public, the others private. The caller holds the lock and is the owner, or `end` is
    /// not above `open`.
    fn divide(&self, end: *mut Place) {
        self.thieves.open.store(end, Ordering::Relaxed);
        self.watched.split.store(end, Ordering::Relaxed);
    }

    /// True if a thief has requested tasks of the owner's pops, and no pop has answered yet. The caller holds the lock,
    /// or wants a hint.
    fn is_requested(&self) -> bool {
        self.open() < self.split()
    }

    /// Requests the private tasks, if there are any. The caller holds the lock, and nothing is public.
    fn want(&self) {
        let bot = self.bot();
        if self.split() < bot {
            self.watched.split.store(bot, Ordering::Relaxed);
        }
    }

    /// The owner, with the lock, on the slow path of a pop or a join. `bot`: above the tasks that remain. Answers a
    /// request with the older half of the private tasks; else half of the public part becomes private.
    fn share(&self, bot: *mut Place) {
        let (top, open) = (self.top(), self.open());
        let private = slots(open, bot);
        if private >= 0 && self.is_requested() {
            self.divide(open.wrapping_offset((private + 1) / 2));
        } else {
            let half = slots(top, open) / 2;
            self.divide(top.wrapping_offset(half));
        }
    }

    #[cfg(loom)]
    fn assert_room(&self, bot: *mut Place) {
        // SAFETY: the caller is the owner, who alone replaces `block`.
        let (start, count) = self
            .seldom
            .with(|seldom| unsafe { ((*seldom).block.start(), (*seldom).block.count()) });
        assert!((0..count as isize).contains(&slots(start, bot)), "a push outside of the block");
    }

    /// More tasks are queued than ever before, perhaps: the last one is beyond the mark.
    #[cold]
    #[inline(never)]
    fn note_peak(&self, bot: *mut Place) {
        let top = self.top();
        self.own.peak.peak(slots(top, bot).unsigned_abs());
        self.set_mark(top);
    }

    /// `top` only grows until the tasks are moved, so the peak needs a `bot` beyond this.
    fn set_mark(&self, top: *mut Place) {
        self.own.mark.set(top.wrapping_add(self.own.peak.get()));
    }

    /// This is a forked child's copy, made in a task: from now on pop finds nothing.
    pub fn abandon(&self) {
        self.watched.split.store(ABANDONED, Ordering::Relaxed);
    }

    /// The claimed slot is, or was, public: `bot` is one below what it was.
    #[cold]
    #[inline(never)]
    fn pop_public(&self) -> Option<Task> {
        let last = self.bot();
        let bot = last.wrapping_add(1);
        // SAFETY: `block` is only replaced by the owner.
        let base = self.seldom.with_mut(|seldom| unsafe { (*seldom).block.start() });
        if self.split() == ABANDONED {
            return None;
        }
        // Nobody moves `top` past `bot`, nor back: stolen empty, or never filled.
        if self.top() == bot && bot == base {
            self.own.bot.store(bot, Ordering::Release);
            return None;
        }
        let held = Held::wait(&self.thieves);
        let top = self.top();
        if top == bot {
            // All stolen: start over with the slots that the caches know.
            self.thieves.top.store(base, Ordering::Relaxed);
            self.divide(base);
            self.own.bot.store(base, Ordering::Release);
            self.set_mark(base);
            // SAFETY: the owner holds the lock, which is all that `Seldom` asks.
            self.seldom.with_mut(|seldom| self.set_armed(unsafe { &mut *seldom }, base));
            return None;
        }
        if last < self.split() {
            self.share(last);
        } // else it was a raid, which has drawn back
        drop(held);
        Some(self.take(last))
    }

    /// The task that pop has claimed.
    #[inline(always)]
    fn take(&self, last: *mut Place) -> Task {
        if last >= self.own.mark.get() {
            self.note_peak(last.wrapping_add(1));
        }
        // SAFETY: a slot of the block, below `bot` before the pop: the owner has written it, and
        // nobody else takes it.
        unsafe { (*last).read() }
    }

    /// The last push has used the spare slot, or the limit is reached as far as was known.
    #[cold]
    #[inline(never)]
    fn make_room(&self) -> Result<(), Full> {
        let _held = Held::wait(&self.thieves);
        let bot = self.bot();
        let queued = slots(self.top(), bot).unsigned_abs();
        self.seldom.with_mut(|seldom| {
            // SAFETY: the owner holds the lock, which is all that `Seldom` asks.
            let seldom = unsafe { &mut *seldom };
            if queued > seldom.limit || self.stretch(seldom, queued).is_err() {
                // The task goes back to its spawner. A raid may have made it public.
                let bot = bot.wrapping_sub(1);
                self.own.bot.store(bot, Ordering::Release);
                if self.split() > bot {
                    self.divide(self.open().min(bot));
                }
                return Err(Full);
            }
            self.set_armed(seldom, self.top());
            Ok(())
        })
    }

    /// The room has changed, or the tasks have moved. `lim` is `armed` or null at all times: the old
    /// one may be beyond the new room.
    fn set_armed(&self, seldom: &mut Seldom, top: *mut Place) {
        let end = seldom.block.start().wrapping_add(seldom.block.count() - 1);
        // No block has as many, and the address does not wrap around.
        let most = isize::MAX as usize / (2 * size_of::<Place>());
        let limit = top.wrapping_add(seldom.limit.min(most));
        let armed = end.min(limit);
        if armed != seldom.armed {
            seldom.armed = armed;
            self.ask();
        }
    }

    /// Makes the spare slot free, if the last push has used it: by moving the tasks down, if
    /// that frees half of the block, else by growing it.
    fn stretch(&self, seldom: &mut Seldom, queued: usize) -> Result<(), NoMemory> {
        let base = seldom.block.start();
        let room = seldom.block.count() - 1;
        let (top, open, bot) = (self.top(), self.open(), self.bot());
        if slots(base, bot) <= room as isize {
            return Ok(());
        }
        let moved = |to: *mut Place| {
            self.thieves.top.store(to, Ordering::Relaxed);
            self.divide(to.wrapping_offset(slots(top, open)));
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
                Err(NoMemory) => {} // less room than wished
            }
        }
        for i in 0..queued {
            // SAFETY: slots of the block; the lock is held, so the owner reads whole tasks and
            // nobody else reads.
            unsafe { (*base.add(i)).write((*top.add(i)).read()) };
        }
        moved(base);
        Ok(())
    }
}

/// The owner's pop in two halves, for a join that has a task of its own in mind.
impl<const FENCED: bool> Split<FENCED> {
    /// Claims the youngest task. True if that is `task`, which is then taken; if false, `retake`
    /// must follow.
    ///
    /// # Safety
    /// Only the owner.
    #[inline(always)]
    pub unsafe fn claim_this(&self, task: Task) -> bool {
        let last = self.claim();
        // SAFETY: at or above `split` the slot is the owner's: a whole task.
        self.is_private(last) && unsafe { (*last).holds(task) }
    }

    /// `last >= self.split()`.
    #[inline(always)]
    fn is_private(&self, last: *mut Place) -> bool {
        #[cfg(all(target_arch = "x86_64", not(loom)))]
        // SAFETY: reads that word: one instruction for the two that the compiler makes of an atomic load.
        unsafe {
            std::arch::asm!("cmp {}, [{} + {}]", "jb {}", in(reg) last, in(reg) self,
                            const LAYOUT[1], label { return false }, options(nostack, readonly));
            true
        }
        #[cfg(not(all(target_arch = "x86_64", not(loom))))]
        {
            last >= self.split()
        }
    }

    /// The rest of a claim that failed: takes `task` after all, if it is the youngest, though public. If not, the claim
    /// is taken back: the slot is as it was, whoever has looked meanwhile. (A sleeper may have missed the task, which
    /// is the next that the owner pops.)
    ///
    /// # Safety
    /// Only the owner, after `claim_this` returned false.
    pub unsafe fn retake(&self, task: Task) -> bool {
        let last = self.bot();
        let bot = last.wrapping_add(1);
        let taken = self.split() != ABANDONED && self.top() <= last && {
            let _held = Held::wait(&self.thieves);
            // SAFETY: not stolen, so a whole task; it is read under the lock.
            let taken = self.top() <= last && unsafe { (*last).holds(task) };
            if taken && last < self.split() || self.is_requested() {
                self.share(if taken { last } else { bot });
            }
            taken
        };
        if !taken {
            self.own.bot.store(bot, Ordering::Release);
        }
        taken
    }

    /// Counts the youngest task out: where it is, unless that is below `split`.
    #[inline(always)]
    fn claim(&self) -> *mut Place {
        self.own.bot.store(self.bot().wrapping_sub(1), Ordering::Release); // as in put
        let last = self.bot();
        barrier::light_for::<FENCED>(); // with the raid: see the essay, 1
        last
    }
}

impl<const FENCED: bool> Deque for Split<FENCED> {
    const QUIET: bool = true;

    fn new(limit: usize) -> Result<Self, NoMemory> {
        // SAFETY: a place may hold any bytes.
        let block = unsafe { Block::<Place>::new(FIRST_SLOTS) }?;
        let base = block.start();
        let armed = base.wrapping_add(limit.min(FIRST_SLOTS - 1));
        Ok(Split {
            own: Pad(Own {
                bot: AtomicPtr::new(base),
                mark: Cell::new(base),
                peak: Counter::default(),
            }),
            watched: Pad(Watched {
                split: AtomicPtr::new(base),
                lim: AtomicPtr::new(ptr::null_mut()),
            }),
            thieves: Pad(Thieves {
                top: AtomicPtr::new(base),
                open: AtomicPtr::new(base),
                lock: TryLock::new(),
            }),
            seldom: Pad(UnsafeCell::new(Seldom { block, limit, armed })),
        })
    }

    fn quick(&self) -> Option<&Split<false>> {
        // SAFETY: the same type.
        (!FENCED).then(|| unsafe { &*ptr::from_ref(self).cast() })
    }

    #[inline(always)]
    unsafe fn put(&self, task: Task) -> bool {
        let bot = self.bot();
        #[cfg(loom)]
        self.assert_room(bot);
        // SAFETY: `bot` is at most the spare slot, and no one else's.
        unsafe { (*bot).write(task) };
        // Release: whoever reads it sees the slot. (Loaded anew, which makes one instruction of
        // load, addition and store.)
        self.own.bot.store(self.bot().wrapping_add(1), Ordering::Release);
        barrier::light_for::<FENCED>(); // with who asks: see the essay, 2
        bot < self.watched.lim.load(Ordering::Relaxed)
    }

    /// The task is in its place already.
    unsafe fn put_slowly(&self, _task: Task) -> Result<(), Full> {
        // Who asks has both, and they will be written: so they come at once, side by side.
        mem::prefetch_to_write((&raw const self.thieves).cast());
        mem::prefetch_to_write((&raw const self.watched).cast());
        // SAFETY: `armed` is the owner's.
        let armed = self.seldom.with_mut(|seldom| unsafe { (*seldom).armed });
        if self.bot() > armed { self.make_room() } else { Ok(()) } // else somebody asks
    }

    unsafe fn publish(&self, even_one: bool) -> Published {
        let (bot, open) = (self.bot(), self.open());
        if self.top() != open {
            return Published::Some;
        }
        if slots(open, bot) < 2 - isize::from(even_one) {
            return Published::None;
        }
        let Some(_held) = Held::try_now(&self.thieves) else { return Published::Busy };
        let open = self.open(); // a raid may have moved it
        let half = (slots(open, bot) + isize::from(even_one)) / 2;
        self.divide(open.wrapping_offset(half));
        Published::Some
    }

    unsafe fn rearm(&self) {
        // SAFETY: `armed` is the owner's.
        let armed = self.seldom.with_mut(|seldom| unsafe { (*seldom).armed });
        self.watched.lim.store(armed, Ordering::Relaxed);
        fence(Ordering::SeqCst); // with the sleeper's: see the essay, 2
    }

    #[inline(always)]
    unsafe fn pop_into(&self, then: impl FnOnce(Task)) -> bool {
        let last = self.claim();
        let task = if last < self.split() {
            match self.pop_public() {
                Some(task) => task,
                None => return false,
            }
        } else {
            self.take(last)
        };
        then(task);
        true
    }

    #[inline(always)]
    unsafe fn pop_quickly(&self) -> Option<Task> {
        let last = self.claim();
        // SAFETY: at or above `split` the slot is the owner's: a whole task.
        (last >= self.split() && last < self.own.mark.get()).then(|| unsafe { (*last).read() })
    }

    unsafe fn pop_slowly(&self) -> Option<Task> {
        // A raid may have come or gone since the first look; this one comes after the claim as well, and is as good.
        let last = self.bot();
        if last < self.split() { self.pop_public() } else { Some(self.take(last)) }
    }

    unsafe fn take_back(&self, task: Task) -> bool {
        // SAFETY: passed on.
        unsafe { self.claim_this(task) || self.retake(task) }
    }

    unsafe fn pop(&self) -> Option<Task> {
        let mut popped = None;
        // SAFETY: passed on.
        unsafe { self.pop_into(|task| popped = Some(task)) };
        popped
    }

    fn peak(&self) -> usize {
        self.own.peak.get()
    }

    fn steal(&self) -> Steal {
        let Some(_held) = Held::try_now(&self.thieves) else { return Steal::Retry };
        let top = self.top();
        if top >= self.open() {
            return Steal::Empty;
        }
        // SAFETY: a public slot, read under the lock.
        let task = unsafe { (*top).read() };
        let next = top.wrapping_add(1);
        self.thieves.top.store(next, Ordering::Relaxed);
        if next == self.open() {
            // More, when this one has ended: the owner has until then to answer.
            self.want();
            self.ask();
        }
        Steal::Taken(task)
    }

    fn offers(&self) -> bool {
        let top = self.top();
        if top < self.open() {
            mem::prefetch(top.cast()); // on its way while the lock is
            return true;
        }
        self.ask();
        false
    }

    fn request(&self) {
        if self.split() < self.bot()
            && let Some(_held) = Held::try_now(&self.thieves)
        {
            self.want();
        } // else nothing is private, or it is requested already
    }

    fn press(&self) -> Option<bool> {
        // (A request above an empty deque is answered by the owner's next push and pop.)
        (self.is_requested() && !self.looks_empty()).then(|| self.raid())
    }

    fn raid(&self) -> bool {
        let Some(_held) = Held::try_now(&self.thieves) else { return false };
        let open = self.open();
        let private = slots(open, self.bot());
        if private > 0 {
            let wanted = open.wrapping_offset((private + 1) / 2);
            self.watched.split.store(wanted, Ordering::Relaxed);
            let safe = if barrier::heavy_for::<FENCED>() {
                // Acquire: the slots below are seen as pushed.
                self.own.bot.load(Ordering::Acquire).clamp(open, wanted)
            } else {
                open
            };
            self.divide(safe);
        }
        self.top() < self.open()
    }

    fn looks_empty(&self) -> bool {
        let open = self.open(); // once: a raid may move it meanwhile
        self.top() >= open && self.bot() <= open
    }

    fn ask(&self) {
        if !self.watched.lim.load(Ordering::Relaxed).is_null() {
            self.watched.lim.store(ptr::null_mut(), Ordering::Relaxed);
        }
    }
}
