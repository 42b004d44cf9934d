//! The records of the cache: a slot for a thread, the lists of slots, and the threads of a run.

use crate::lock::mutex::Mutex;
use crate::sys::atomic::{AtomicPtr, AtomicU32, Ordering};
use crate::sys::float::FloatControl;
use crate::sys::memory;
use crate::sys::memory::NoMemory;
use crate::threads::affinity::Origin;
use crate::threads::call::Call;
use std::cell::Cell;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::time::{Duration, Instant};

/// What the threads of a run take over from its caller.
pub struct Terms {
    pub(super) affinity: Origin,
    pub(super) float: FloatControl,
    /// How long to keep the threads afterwards; None: they end with the run.
    pub(super) keep: Option<Duration>,
    /// See `relief`.
    pub(super) most_reliefs: usize,
}

impl Terms {
    /// The controls of the run.
    pub fn float(&self) -> FloatControl {
        self.float
    }

    /// Threads are kept afterwards.
    pub fn keeps(&self) -> bool {
        self.keep.is_some()
    }

    /// How many of the threads can run at once.
    pub fn processors(&self) -> usize {
        self.affinity.mask.count()
    }
}

/// A worker's main function, and its argument.
#[derive(Clone, Copy)]
pub struct Job {
    /// Returns true if the run goes on and has no use for the thread now.
    pub main: unsafe fn(*const c_void) -> bool,
    pub arg: *const c_void,
}

/// A thread, or the place for one.
pub(super) struct ThreadSlot {
    /// For the owner of the slot: the lists or a run.
    pub(super) call: Call,
    /// Written by the caller, read by the thread.
    pub(super) job: Cell<MaybeUninit<(Job, usize, *const RunThreads)>>,
    /// Written as the job is: the caller has set the thread's affinity.
    pub(super) moved: Cell<bool>,
    /// Written by the thread when it begins.
    pub(super) id: Cell<MaybeUninit<libc::pthread_t>>,
    /// Under the lists' lock: whether it is warm, whether it is spare, and until when.
    pub(super) listed: Cell<bool>,
    pub(super) spare: Cell<bool>,
    pub(super) until: Cell<Instant>,
    pub(super) next: Cell<*const ThreadSlot>,
    /// Under the lists' lock: link of a run's threads's reliefs.
    pub(super) beside: Cell<*const ThreadSlot>,
    /// Link of all slots; never changes.
    pub(super) other: Cell<*const ThreadSlot>,
}

// SAFETY: see each field's discipline.
unsafe impl Sync for ThreadSlot {}

pub(super) struct ThreadCache {
    /// The one that rested last is taken first: its cache is the warmest.
    pub(super) warm: *const ThreadSlot,
    pub(super) blank: *const ThreadSlot,
    /// The thread that has ended last, or is about to; it is not joined yet. See `ending`.
    pub(super) ended: Option<libc::pthread_t>,
}

// SAFETY: the slots may be used by any thread.
unsafe impl Send for ThreadCache {}

pub(super) static CACHE: Mutex<ThreadCache> = Mutex::new(ThreadCache::none());
pub(super) static ALL: AtomicPtr<ThreadSlot> = AtomicPtr::new(ptr::null_mut());

/// # Safety
/// `slot` is null or a slot.
pub(super) unsafe fn get(slot: *const ThreadSlot) -> Option<&'static ThreadSlot> {
    // SAFETY: slots are never freed.
    unsafe { slot.as_ref() }
}

impl ThreadSlot {
    pub(super) fn new() -> Result<&'static ThreadSlot, NoMemory> {
        let place = memory::allocate::<ThreadSlot>()?;
        // SAFETY: room for a slot, which is never freed.
        let slot = unsafe {
            place.write(ThreadSlot {
                call: Call::new(),
                job: Cell::new(MaybeUninit::uninit()),
                moved: Cell::new(false),
                id: Cell::new(MaybeUninit::uninit()),
                listed: Cell::new(false),
                spare: Cell::new(false),
                until: Cell::new(Instant::now()),
                next: Cell::new(ptr::null()),
                beside: Cell::new(ptr::null()),
                other: Cell::new(ptr::null()),
            });
            &*place.as_ptr()
        };
        let new = ptr::from_ref(slot).cast_mut();
        let mut head = ALL.load(Ordering::Acquire);
        loop {
            slot.other.set(head);
            // Release: pairs with the load in `renew`, whose walk finds the slot made.
            match ALL.compare_exchange(head, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Ok(slot),
                Err(now) => head = now,
            }
        }
    }
}

impl ThreadCache {
    pub(super) const fn none() -> Self {
        ThreadCache { warm: ptr::null(), blank: ptr::null(), ended: None }
    }

    pub(super) fn add_blank(&mut self, slot: &ThreadSlot) {
        slot.next.set(self.blank);
        self.blank = slot;
    }

    pub(super) fn add_warm(&mut self, slot: &ThreadSlot, until: Instant) {
        slot.until.set(until);
        slot.listed.set(true);
        slot.next.set(self.warm);
        self.warm = slot;
    }

    pub(super) fn take_warm(&mut self) -> Option<&'static ThreadSlot> {
        // SAFETY: the lists hold slots.
        let slot = unsafe { get(self.warm) }?;
        self.warm = slot.next.get();
        slot.listed.set(false);
        Some(slot)
    }

    pub(super) fn take_blank(&mut self) -> Option<&'static ThreadSlot> {
        // SAFETY: the lists hold slots.
        let slot = unsafe { get(self.blank) }?;
        self.blank = slot.next.get();
        Some(slot)
    }

    /// Takes a warm slot out of the list.
    pub(super) fn unlist(&mut self, slot: &ThreadSlot) {
        slot.listed.set(false);
        if ptr::eq(self.warm, slot) {
            self.warm = slot.next.get();
            return;
        }
        let mut at = self.warm;
        // SAFETY: the lists hold slots.
        while let Some(before) = unsafe { get(at) } {
            if ptr::eq(before.next.get(), slot) {
                before.next.set(slot.next.get());
                return;
            }
            at = before.next.get();
        }
    }
}

/// All under the lists' lock.
pub(super) struct Reliefs {
    /// Linked by `beside`; grows at the head.
    pub(super) all: Cell<*const ThreadSlot>,
    /// Linked by `next`.
    pub(super) spare: Cell<*const ThreadSlot>,
    pub(super) count: Cell<usize>,
    /// The thread that has started the run has left its worker for good. It has no slot that could become spare, so one
    /// more relief may be made in its place: else a run with a limit of one would have no further blocking section.
    pub(super) caller_left: Cell<bool>,
}

impl Default for Reliefs {
    fn default() -> Self {
        let none = Cell::new(ptr::null());
        Reliefs {
            all: none.clone(),
            spare: none,
            count: Cell::new(0),
            caller_left: Cell::new(false),
        }
    }
}

impl Reliefs {
    /// Every slot that has been taken from the lists as a relief so far.
    pub(super) fn all(&self) -> impl Iterator<Item = &'static ThreadSlot> {
        let first = CACHE.with(|_| self.all.get());
        // SAFETY: slots, or null; their links do not change.
        std::iter::successors(unsafe { get(first) }, |slot| unsafe { get(slot.beside.get()) })
    }

    pub(super) fn take_spare(&self) -> Option<&'static ThreadSlot> {
        // SAFETY: the list holds slots.
        let slot = unsafe { get(self.spare.get()) }?;
        self.spare.set(slot.next.get());
        slot.spare.set(false);
        Some(slot)
    }

    pub(super) fn put_spare(&self, slot: &ThreadSlot, until: Instant) {
        slot.until.set(until);
        slot.spare.set(true);
        slot.next.set(self.spare.get());
        self.spare.set(slot);
    }

    /// One more relief, if the limit allows it.
    pub(super) fn recruit(
        &self,
        lists: &mut ThreadCache,
        terms: &Terms,
        new: Option<&'static ThreadSlot>,
    ) -> Option<&'static ThreadSlot> {
        if self.count.get() >= terms.most_reliefs + usize::from(self.caller_left.get()) {
            return None;
        }
        let warm = if terms.keeps() { lists.take_warm() } else { None };
        let slot = warm.or_else(|| lists.take_blank()).or(new)?;
        self.count.set(self.count.get() + 1);
        slot.beside.set(self.all.get());
        self.all.set(slot);
        Some(slot)
    }
}

/// The threads of one run: one for each worker, except worker 0 where that is the caller's; and
/// reliefs.
pub struct RunThreads {
    /// The worker of the first member.
    pub(super) first: usize,
    pub(super) members: Vec<Member>,
    pub(super) reliefs: Reliefs,
    /// Not in here: they take a kilobyte, and a run's threads is moved.
    pub(super) terms: *const Terms,
}

pub(super) struct Member {
    pub(super) slot: &'static ThreadSlot,
    pub(super) job: Job,
    /// `IDLE`, or what came of the one call. Relaxed: the caller is a job whose end `finish` has
    /// waited for, or a foreign thread that has left before (`run`: the gates are closed first).
    pub(super) call: AtomicU32,
}

impl Member {
    pub(super) fn new(slot: &'static ThreadSlot, job: Job) -> Self {
        Member { slot, job, call: AtomicU32::new(IDLE) }
    }
}

pub(super) const IDLE: u32 = 0;
pub(super) const WORKS: u32 = 1;
pub(super) const MISSING: u32 = 2;

// SAFETY: each member is called by one thread, as `call` says; jobs are for other threads; the
// reliefs are used under the lists' lock.
unsafe impl Sync for RunThreads {}

impl RunThreads {
    /// All of them. Backwards, so that the next run's worker 1 has the thread of this one's.
    pub(super) fn slots(&self) -> impl Iterator<Item = &'static ThreadSlot> {
        self.reliefs.all().chain(self.members.iter().rev().map(|member| member.slot))
    }

    pub fn terms(&self) -> &Terms {
        // SAFETY: they live for as long as the run's threads.
        unsafe { &*self.terms }
    }

    /// Neither the thread of this slot nor a caller needs the slot now.
    pub(super) fn spare(&self, slot: &ThreadSlot) {
        let until = Instant::now() + self.terms().keep.unwrap_or_default();
        CACHE.with(|_| self.reliefs.put_spare(slot, until));
    }
}
