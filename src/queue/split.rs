//! The split deque: the owner's path needs no fence, no read-modify-write and no contended line.
//! This is one file because the essay, a third of it, is read beside the code.
//!
//! A part of the deque is public, the rest is private to the owner (after T. van Dijk and J. van de
//! Pol, "Lace: non-blocking split deque for work-stealing", 2014, and U. Acar, A. Charguéraud and
//! M. Rainey, "Scheduling parallel programs by work stealing with private deques", 2013). This
//! deque adds two operations. By a *raid* a thief publishes the private tasks of an owner that
//! computes and publishes nothing itself, so every task is within reach. By a *request* a thief
//! reaches an owner that only pops. An owner without a request pays nothing: a request changes the
//! word `split`, with which each pop compares anyway.
//!
//! # States
//!
//! ```text
//!      base      top      public_end          bot          end
//!       v         v            v               v            v
//!       |.........|a b c d e f |g h i j k l m n|............|spare|
//!        stolen    public       private         free
//! ```
//!
//! The owner's fast path ends at `split`. `split` equals `public_end`, except during a raid, while
//! a request is pending, and while an alarm is set: then `split` is above `public_end`.
//!
//! | word | written by | read by |
//! | --- | --- | --- |
//! | `bot` | owner, at each operation | raiders, sleepers |
//! | `split` | under the lock | owner at each pop; thieves |
//! | `public_end` | under the lock, by the owner or by a raid | thieves; owner on its slow path |
//! | `lim` | owner; anyone writes null | owner at each push |
//! | `alarm` | under the lock; null by the owner alone | owner on its slow path; a thread that sets an alarm |
//! | `top` | under the lock | thieves; owner on its slow path |
//! | slots | owner: from `public_end` on, or locked | owner; thieves, locked, below `public_end` |
//!
//! The words lie on three cache lines. The owner writes the line of `bot`. It reads the line of
//! `split` and `lim` at each operation, and other threads seldom write there. Thieves poll the line
//! of `top` and `public_end`.
//!
//! Only `bot` publishes the writes before it: its stores release, and the raider's load acquires.
//! The other words are read under the lock, or as hints, or the fences below order them.
//!
//! # Protocol
//!
//! *push* writes the slot and `bot + 1`, then compares with `lim`. One comparison serves two needs:
//! the room ends (`lim` is the slot after the last one), or somebody has *asked* by writing null. A
//! thief that finds no public task asks from time to time, and a worker asks when it is about to
//! sleep. The owner then publishes the older half of its private tasks, or all of them if several
//! workers search (`publish`). When no worker sleeps, the owner arms `lim` again (`rearm`). The
//! owner of a loop also checks for null between two chunks, and publishes its offers there
//! (`Policy::publish_tasks`).
//!
//! *pop* writes `bot - 1`, then compares with `split`: a task at or above `split` is the owner's.
//! Below `split` the owner takes the lock. If a request is pending, the owner publishes the older
//! half of the other private tasks. Otherwise it has reached the public part, and makes half of
//! that part private again, or finds the deque empty. A join pops one particular task ([`join`]).
//!
//! *steal* takes the oldest public task, under the lock. A thief that takes the last public task
//! asks and requests at once, so that the owner can publish more while the thief runs the task.
//!
//! *request* moves `split` up to `bot`, under the lock, and leaves `public_end` where it is: the
//! request is *pending*. It neither fences nor takes tasks, since the owner may be popping the same
//! tasks: the owner's next pop publishes them. A pop that does not see the request leaves it to the
//! next pop.
//!
//! *raid* moves `split` to the middle of the private part, under the lock, executes the heavy half
//! of an asymmetric fence (`sys::fence`), reads `bot` again, and moves `split` down to `bot` if the
//! owner has popped below it; then it sets `public_end` to `split`. A thief first requests, and
//! raids if the request is still pending after the time that a raid takes.
//!
//! *alarm* brings the owner to its slow path, whether or not it has tasks: a task from outside the
//! run waits (`policy::stealing::outside`). `alarm` is beyond all slots, and `split` is not below
//! `alarm` until the owner removes it. So each pop and join takes the slow path, and the owner
//! looks for the reason of the alarm. To thieves an alarm looks like a request, so they can raid an
//! owner that computes.
//!
//! # The bad interleavings
//!
//! 1. *The task taken twice*, by its owner and by a raid. It is Dekker's pattern: the owner writes
//!    `bot` and reads `split`; the raider writes `split` and reads `bot`. Let `wanted` be the value
//!    that the raider wrote. A pop whose fence comes after the raider's fence sees `wanted` (or a
//!    value written later, under the lock); if the pop claims a slot below that value, it stops at
//!    the lock. If the pop's fence comes first, the raider sees the `bot` that the pop wrote. So
//!    among the slots below both `wanted` and the `bot` read at the end, none was popped unseen:
//!    the raid publishes these slots and no others. A slot that was popped before and pushed again
//!    holds the new task, which the same reading of `bot` makes visible. The owner's fence is free
//!    because the raider's interrupts the owner; without membarrier both are real
//!    (`fence::Fenced`).
//! 2. *The question overwritten.* A sleeper writes null to `lim` while the owner arms it. Then the
//!    owner's next pushes are silent, and the sleeper may sleep while their tasks are queued. So
//!    the owner arms, fences, and *then* looks for sleepers again; if there is one, the owner
//!    itself writes null. A sleeper announces itself, fences, and *then* asks. Suppose that the
//!    owner arms `lim` after the null that the sleeper wrote, or found there: then the owner's
//!    fence comes after the sleeper's first fence, and the owner sees the announcement. Suppose
//!    that the owner arms `lim` before that null: then a push whose fence comes after the sleeper's
//!    heavy fence reads the null, and the sleeper sees the task of every other push. (Without the
//!    sleeper's first fence it would not suffice to look at `lim` again before sleeping: a third
//!    thread may have asked since, after a silent push.)
//! 3. *The slot that moved.* Growing, compacting, and the replacement of a long block by a short
//!    one when the deque is empty, move the tasks under the lock (`room`). Every other thread also
//!    reads slots under the lock. Thieves compare the pointers without the lock, but only as a
//!    hint. A sleeper that looks during the move may see an empty deque; the owner is then on the
//!    slow path of a push and looks for sleepers at its end.
//! 4. *The request for popped tasks.* The thief reads `bot` before the owner pops, and sets `split`
//!    above the new `bot`. The owner's next pop then takes the slow path once, and resets `split`.
//!    Thieves and sleepers compare with `public_end`, which a request does not change. (If they
//!    compared with `split`, the deque of an idle owner would look filled forever, and no worker
//!    would sleep.)
//! 5. *The task behind a claim.* A join claims the youngest task, and restores it if it is not the
//!    awaited one. A sleeper's last look between claim and restoration misses that task, and the
//!    owner may compute for long before it pops. So the owner looks for sleepers after it has
//!    restored the task, as it does after a push (`Policy::restored`): it sees the sleeper, or the
//!    sleeper sees the restored `bot`. A pop that an alarm stops also restores its task.
//! 6. *The alarm for a reason that the owner has looked for already.* A thread writes the reason of
//!    the alarm, fences, finds an alarm set, and does not set another; the owner has just looked,
//!    seen nothing, and removes that alarm. So the owner removes the alarm first, fences, and then
//!    looks. If the thread has found the alarm set, its fence comes before the owner's, and the
//!    owner sees what it wrote.
//!
//! # Cost
//!
//! push and pop take about 6 instructions each beyond the slot's two words. A steal costs two
//! swaps. A request costs the owner some 0.2 µs, most of it for cache lines that the thief has
//! written. A raid costs thief and owner 3 to 10 µs each, most of it for the kernel's interrupt.
//!
//! Rejected: a raid every 16 searches instead of requests. Each raid interrupts the owner: on two
//! workers loops of 20 µs took 61 µs instead of 39.
//!
//! # Files
//!
//! This file has the owner's push and pop, and the steal. [`record`] has the words and the steps
//! that all operations share; [`division`] has requests, raids and publishing; [`join`] has the pop
//! of one particular task; [`room`] has growth.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | push, pop, join: store of `bot` | Release | the raid's second load of `bot`: the slots are written |
//! | push: light fence | asymmetric | the heavy fence of a sleeper that has asked (2) |
//! | `retake`: the light fence of `published`, which follows | asymmetric | the same heavy fence (5) |
//! | pop, join: light fence | asymmetric | the heavy fence of a raid (1) |
//! | raid: heavy fence | asymmetric | the light fences of pop and join (1) |
//! | raid: second load of `bot` | Acquire | the owner's stores of `bot` |
//! | `silence`: fence | SeqCst | the fence of the thread that sets the alarm (6) |
//! | `alarm`: loads and stores | Relaxed | the fences of 6, or the lock |
//! | `rearm`: fence | SeqCst | the fence in `policy::stealing::search`, before the sleeper asks (2) |
//! | `lim`: loads and stores | Relaxed | the fences of 2 order them |
//! | `split`: loads and stores | Relaxed | the fences of 1, or the lock |
//! | `top`, `public_end` | Relaxed | the lock; without it they are hints |
//! | the lock | Acquire, Release | its own unlock (`lock::trylock`): all slots below `public_end` |

mod division;
mod join;
mod record;
mod room;

pub use record::{LAYOUT, Split};

use crate::lock::monitor::RawLock;
use crate::lock::trylock::TryLock;
use crate::queue::length::Length;
use crate::queue::split::record::{
    ABANDONED, FIRST_SLOTS, Held, Own, Seldom, Slot, Thieves, Watched, slots,
};
use crate::queue::{Deque, Full, PrivatePart, Steal};
use crate::stats::Counter;
use crate::sys::atomic::{AtomicPtr, MODEL, Ordering, Pad, UnsafeCell};
use crate::sys::fence::Mode;
use crate::sys::memory;
use crate::sys::memory::NoMemory;
use crate::sys::region::Block;
use crate::task::Task;
use std::cell::Cell;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::AtomicBool;

impl<M: Mode> Split<M> {
    /// Abandons the deque's copy in a child that a task has forked: pops then find nothing.
    pub fn abandon(&self) {
        self.watched.alarm.store(ptr::null_mut(), Ordering::Relaxed);
        self.watched.split.store(ABANDONED, Ordering::Relaxed);
    }

    /// `pop_public` for a loop that an alarm stops: undoes the pop and returns None if one is set.
    #[cold]
    #[inline(never)]
    fn pop_public_unless_alarmed(&self) -> Option<Task> {
        let last = self.bot();
        if last < self.alarm() {
            self.own.bot.store(last.wrapping_add(1), Ordering::Release);
            return None;
        }
        self.pop_public()
    }

    /// Completes a pop whose slot is, or was, public. The pop has lowered `bot` already.
    #[cold]
    #[inline(never)]
    fn pop_public(&self) -> Option<Task> {
        let last = self.bot();
        let bot = last.wrapping_add(1);
        // SAFETY: only the owner replaces `block`.
        let base = self.seldom.with_mut(|seldom| unsafe { (*seldom).block.start() });
        if self.split() == ABANDONED {
            return None;
        }
        // The deque is empty, and no thief has moved `top` since the owner set it to `base`: there
        // is nothing to reset, and nothing that the lock would order.
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
        // If `last` is not below `split`, a raid had raised `split`, and has lowered it again.
        if last < self.split() {
            self.redivide(last);
        }
        drop(held);
        Some(self.take(last))
    }

    /// Reads the task that a pop has claimed.
    #[inline(always)]
    fn take(&self, last: *mut Slot) -> Task {
        if last >= self.own.mark.get() {
            self.note_peak(last.wrapping_add(1));
        }
        // SAFETY: a slot below the old `bot`: the owner has written it, and nobody else takes it.
        unsafe { (*last).read() }
    }

    /// The last task is beyond the mark: perhaps more tasks are queued than ever before.
    #[cold]
    #[inline(never)]
    fn note_peak(&self, bot: *mut Slot) {
        let top = self.top();
        self.own.peak.peak(slots(top, bot).unsigned_abs());
        self.set_mark(top);
    }
}

impl<M: Mode> Deque for Split<M> {
    type Private = Self;
    type Batches = Infallible;
    const ABANDONED_IN_CHILD: bool = M::IS_FREE;
    const LENGTH: Length = Self::WHERE_LENGTH;

    #[inline(always)]
    fn private_part(&self) -> Option<&Self> {
        Some(self)
    }

    fn new(limit: usize) -> Result<Self, NoMemory> {
        // SAFETY: a slot may hold any bytes.
        let block = unsafe { Block::<Slot>::new(FIRST_SLOTS) }?;
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
                alarm: AtomicPtr::new(ptr::null_mut()),
            }),
            thieves: Pad(Thieves {
                top: AtomicPtr::new(base),
                public_end: AtomicPtr::new(base),
                lock: TryLock::new(),
                owner_tries: AtomicBool::new(false),
            }),
            seldom: Pad(UnsafeCell::new(Seldom { block, limit, armed })),
            mode: PhantomData,
        })
    }

    #[inline(always)]
    unsafe fn put(&self, task: Task) -> bool {
        let bot = self.bot();
        if MODEL {
            self.assert_room(bot);
        }
        // SAFETY: `bot` is at most the spare slot, and only the owner uses it.
        unsafe { (*bot).write(task) };
        // Release: a thread that reads the new `bot` sees the slot. (`bot` is loaded again, because
        // the compiler then makes one instruction of load, addition and store.)
        self.own.bot.store(self.bot().wrapping_add(1), Ordering::Release);
        M::light(); // with the fence of the thread that asks: see the essay, 2
        bot < self.watched.lim.load(Ordering::Relaxed)
    }

    /// Does not write the task again: `put` has written it to its slot.
    unsafe fn put_slowly(&self, _task: Task) -> Result<(), Full> {
        // The thread that asked has both lines in its cache, and the owner will write both. The two
        // prefetches bring them at the same time.
        memory::prefetch_to_write((&raw const self.thieves).cast());
        memory::prefetch_to_write((&raw const self.watched).cast());
        // SAFETY: `armed` is the owner's.
        let armed = self.seldom.with_mut(|seldom| unsafe { (*seldom).armed });
        if self.bot() > armed { self.make_room() } else { Ok(()) } // else somebody asks
    }

    #[inline(always)]
    unsafe fn pop_into(&self, then: impl FnOnce(Task)) -> bool {
        let last = self.claim();
        let task = if last < self.split() {
            match self.pop_public_unless_alarmed() {
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
        // SAFETY: at or above `split` the slot is the owner's and holds a whole task.
        (last >= self.split() && last < self.own.mark.get()).then(|| unsafe { (*last).read() })
    }

    unsafe fn pop_slowly(&self) -> Option<Task> {
        // A raid may have come or gone since the first look at `split`. This second look also comes
        // after the claim, and so is as good as the first.
        let last = self.bot();
        if last < self.split() { self.pop_public() } else { Some(self.take(last)) }
    }

    unsafe fn take_back(&self, task: Task) -> bool {
        // SAFETY: the caller is the one owner.
        unsafe { self.claim_this(task) || self.retake(task) }
    }

    unsafe fn keeps_memory(&self) -> bool {
        // SAFETY: only the owner replaces `block`.
        self.seldom.with_mut(|seldom| unsafe { Self::is_long(&(*seldom).block) })
    }

    unsafe fn give_back(&self) {
        self.shorten();
    }

    #[inline]
    unsafe fn pop(&self) -> Option<Task> {
        let last = self.claim();
        if last < self.split() { self.pop_public() } else { Some(self.take(last)) }
    }

    fn peak(&self) -> usize {
        self.own.peak.get()
    }

    fn steal(&self) -> Steal {
        let Some(_held) = Held::as_thief(&self.thieves) else { return Steal::Retry };
        let top = self.top();
        if top >= self.public_end() {
            return Steal::Empty;
        }
        // SAFETY: a public slot, read under the lock.
        let task = unsafe { (*top).read() };
        let next = top.wrapping_add(1);
        self.thieves.top.store(next, Ordering::Relaxed);
        if next == self.public_end() {
            // The thief will want another task after this one: until then the owner can publish.
            self.request_held();
            self.ask();
        }
        Steal::Taken(task)
    }

    fn has_public(&self) -> bool {
        let top = self.top();
        if top < self.public_end() {
            memory::prefetch(top.cast()); // the line arrives while the thief takes the lock
            return true;
        }
        false
    }

    fn is_in_use(&self) -> bool {
        self.thieves.lock.is_held() || self.thieves.owner_tries.load(Ordering::Relaxed)
    }

    fn len_hint(&self) -> usize {
        let tasks = slots(self.top(), self.public_end().max(self.bot()));
        usize::try_from(tasks).unwrap_or(0)
    }

    fn looks_empty(&self) -> bool {
        let public_end = self.public_end(); // once: a raid may move it meanwhile
        self.top() >= public_end && self.bot() <= public_end
    }
}
