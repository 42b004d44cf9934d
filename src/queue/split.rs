//! The split deque: the owner's path without a fence, a read-modify-write or a contended line.
//!
//! A part of the deque is public, the rest is the owner's own (after T. van Dijk and J. van de
//! Pol, "Lace: non-blocking split deque for work-stealing", 2014, and U. Acar, A. Charguéraud
//! and M. Rainey, "Scheduling parallel programs by work stealing with private deques", 2013).
//! Two things are added. With a *raid* a thief opens the private part of an owner that computes and does
//! not answer, so no task is out of reach. With a *request* a thief asks an owner that only pops; an owner
//! that is not asked pays nothing for this, since each pop compares that word anyway.
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
//! The owner's fast path ends at `split`. `split` equals `open`, but for the time of a raid and the time
//! until a request is answered: then it is above `open`.
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
//! The words lie on three cache lines. The owner writes the line of `bot`. It reads that of `split` and
//! `lim` at each operation, and others seldom write there. Thieves poll the line of `top` and `open`.
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
//! Below, the owner takes the lock. If a request is pending, it makes the older half of the other private
//! tasks public. Otherwise it has reached the public part, and makes half of that private again, or
//! finds the deque empty. A join is a pop of one particular task ([`join`]).
//!
//! *steal* takes the oldest public task, under the lock. A thief that takes the last public task asks
//! and requests at once, so that the owner can answer while the thief runs the task.
//!
//! *request* moves `split` up to `bot`, under the lock, and leaves `open` where it is. A request neither
//! fences nor takes tasks, since the owner may be popping the same tasks: the owner's next pop gives them
//! away. A pop that does not see the request leaves it to the next pop.
//!
//! *raid* moves `split` to the middle of the private part, under the lock, executes the heavy
//! half of an asymmetric fence (`sys::fence`), reads `bot` again, and moves `split` down to
//! it if the owner was there first; then it sets `open` to `split`. A thief first requests, and raids if
//! the owner has not answered for as long as a raid takes.
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
//! 4. *The request for popped tasks.* The thief reads `bot` before the owner pops, and sets `split` above
//!    the new `bot`. The owner's next pop then takes the slow path once, and resets `split`. Thieves and
//!    sleepers compare with `open`, which a request does not change. (If they compared with `split`, the
//!    deque of an idle owner would look filled for ever, and no worker would sleep.)
//!
//! # Cost
//!
//! push and pop are about 6 instructions each beyond the slot's two words. A steal is two
//! swaps' worth. A request costs the owner some 0.2 µs, most of it for cache lines that the thief has
//! written. A raid costs thief and owner 3 to 10 µs each, most of it for the kernel's interrupt.
//!
//! Rejected: a raid every 16 searches instead of requests. Each raid interrupts the owner: on two workers
//! loops of 20 µs took 61 µs instead of 39.

mod join;
mod room;

use crate::lock::trylock::TryLock;
use crate::queue::{Deque, Full, Published, Steal};
use crate::stats::Counter;
use crate::sys::atomic::{AtomicPtr, Ordering, Pad, UnsafeCell, fence};
use crate::sys::memory::NoMemory;
use crate::sys::region::Block;
use crate::sys::{fence, memory};
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

    /// Makes the tasks below `end` public and the others private. The caller holds the lock. It is the
    /// owner, or a raider whose fence came after `split` was at or above `end` (essay, 1).
    fn divide(&self, end: *mut Place) {
        self.thieves.open.store(end, Ordering::Relaxed);
        self.watched.split.store(end, Ordering::Relaxed);
    }

    /// True if a request is pending. A hint, unless the caller holds the lock.
    fn is_requested(&self) -> bool {
        self.open() < self.split()
    }

    /// Requests the private tasks, if there are any. The caller holds the lock, and no task is public.
    fn request_held(&self) {
        let bot = self.bot();
        if self.split() < bot {
            self.watched.split.store(bot, Ordering::Relaxed);
        }
    }

    /// Divides the tasks anew, on the slow path of a pop or a join; the tasks below `bot` remain. If a request
    /// is pending, the older half of the private tasks becomes public; otherwise half of the public part
    /// becomes private. The caller is the owner and holds the lock.
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
}

impl<const FENCED: bool> Deque for Split<FENCED> {
    const QUIET: bool = true;
    const ABANDONED_IN_CHILD: bool = !FENCED;

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
        fence::light_for::<FENCED>(); // with who asks: see the essay, 2
        bot < self.watched.lim.load(Ordering::Relaxed)
    }

    /// The task is in its place already.
    unsafe fn put_slowly(&self, _task: Task) -> Result<(), Full> {
        // Who asks has both, and they will be written: so they come at once, side by side.
        memory::prefetch_to_write((&raw const self.thieves).cast());
        memory::prefetch_to_write((&raw const self.watched).cast());
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
            self.request_held();
            self.ask();
        }
        Steal::Taken(task)
    }

    fn offers(&self) -> bool {
        let top = self.top();
        if top < self.open() {
            memory::prefetch(top.cast()); // on its way while the lock is
            return true;
        }
        self.ask();
        false
    }

    fn request(&self) {
        if self.split() < self.bot()
            && let Some(_held) = Held::try_now(&self.thieves)
        {
            self.request_held();
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
            let safe = if fence::heavy_for::<FENCED>() {
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
