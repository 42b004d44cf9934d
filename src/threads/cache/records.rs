//! The records of the cache: a slot for a thread, the lists of slots, and the threads of a run.

use crate::lock::mutex::Mutex;
use crate::sys::atomic::{AtomicPtr, AtomicU32, Ordering};
use crate::sys::float::FloatControl;
use crate::sys::memory;
use crate::sys::memory::NoMemory;
use crate::sys::thread::WriteSignals;
use crate::sys::time::Instant;
use crate::threads::affinity::CallerAffinity;
use crate::threads::job::JobState;
use crate::threads::resting::Resting;
use std::cell::Cell;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

/// The attributes that the threads of a run take over from its caller.
pub struct Terms {
    pub(super) affinity: CallerAffinity,
    pub(super) float: FloatControl,
    pub(super) writes: WriteSignals,
    /// The time to keep the threads after the run. None if they end with the run.
    pub(super) keep: Option<Duration>,
    /// The most reliefs (see `relief`) that the run may have beside its workers' threads.
    pub(super) most_reliefs: usize,
}

impl Terms {
    pub fn most_reliefs(&self) -> usize {
        self.most_reliefs
    }

    pub fn float(&self) -> FloatControl {
        self.float
    }

    pub fn keeps(&self) -> bool {
        self.keep.is_some()
    }

    /// How many of the threads can run at once.
    pub fn processors(&self) -> usize {
        self.affinity.mask.count()
    }
}

/// A worker's main function and its argument.
#[derive(Clone, Copy)]
pub struct Job {
    /// Returns true if the run continues and does not need the thread now.
    pub main: unsafe fn(*const c_void) -> bool,
    pub arg: *const c_void,
}

/// The next action of a thread that has given another thread a job.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    KeepsWorking,
    Leaves,
}

/// A thread, or the place for one.
pub(super) struct ThreadSlot {
    /// Used by the owner of the slot (the cache or a run) and by the thread: see `threads::job`.
    pub(super) state: JobState,
    /// Written by the caller before it starts the job; read by the thread.
    pub(super) job: Cell<MaybeUninit<(Job, usize, *const RunThreads)>>,
    /// The caller has changed the thread's affinity. Written and read like `job`.
    pub(super) affinity_changed: Cell<bool>,
    /// Written by the thread when it begins.
    pub(super) id: Cell<MaybeUninit<libc::pthread_t>>,
    /// The three fields tell whether the slot is warm, whether it is spare, and until when. They
    /// are used under the cache's lock.
    pub(super) is_warm: Cell<bool>,
    pub(super) is_spare: Cell<bool>,
    /// Tells whether the thread is in `rest`. Written by the thread.
    pub(super) rests: Resting,
    pub(super) until: Cell<Instant>,
    pub(super) next_in_list: Cell<*const ThreadSlot>,
    /// Under the cache's lock: the link of a run's reliefs.
    pub(super) next_relief: Cell<*const ThreadSlot>,
    /// Links all slots. It does not change after `ThreadSlot::new`.
    pub(super) next_slot: Cell<*const ThreadSlot>,
}

// SAFETY: the comment of each field says which thread uses it when.
unsafe impl Sync for ThreadSlot {}

pub(super) struct ThreadCache {
    /// The thread that began to rest last is taken first: its data are still in the caches.
    pub(super) warm: *const ThreadSlot,
    pub(super) blank: *const ThreadSlot,
    /// The thread that has ended last, or is about to end, and is not joined yet. See `ending`.
    pub(super) last_ended: Option<libc::pthread_t>,
    /// The number of ending threads that are joining the thread that ended before them.
    pub(super) joining: usize,
}

// SAFETY: any thread may use the slots, under the cache's lock.
unsafe impl Send for ThreadCache {}

#[unsafe(link_section = "sched_words")]
pub(super) static CACHE: Mutex<ThreadCache> = Mutex::new(ThreadCache::none());
#[unsafe(link_section = "sched_words")]
pub(super) static ALL: AtomicPtr<ThreadSlot> = AtomicPtr::new(ptr::null_mut());

/// # Safety
/// `slot` is null or the address of a slot.
pub(super) unsafe fn get(slot: *const ThreadSlot) -> Option<&'static ThreadSlot> {
    // SAFETY: the address is null or a slot's; slots are never freed.
    unsafe { slot.as_ref() }
}

pub(super) fn all_slots() -> impl Iterator<Item = &'static ThreadSlot> {
    // SAFETY: null or a slot; slots are never freed. The Acquire pairs with `ThreadSlot::new`.
    let first = unsafe { get(ALL.load(Ordering::Acquire)) };
    // SAFETY: as above.
    std::iter::successors(first, |slot| unsafe { get(slot.next_slot.get()) })
}

impl ThreadSlot {
    pub(super) fn new() -> Result<&'static ThreadSlot, NoMemory> {
        let place = memory::allocate::<ThreadSlot>()?;
        // SAFETY: `place` is uninitialised memory for a slot, which is never freed.
        let slot = unsafe {
            place.write(ThreadSlot {
                state: JobState::new(),
                job: Cell::new(MaybeUninit::uninit()),
                affinity_changed: Cell::new(false),
                id: Cell::new(MaybeUninit::uninit()),
                is_warm: Cell::new(false),
                is_spare: Cell::new(false),
                rests: Resting::new(),
                until: Cell::new(Instant::now()),
                next_in_list: Cell::new(ptr::null()),
                next_relief: Cell::new(ptr::null()),
                next_slot: Cell::new(ptr::null()),
            });
            &*place.as_ptr()
        };
        let new = ptr::from_ref(slot).cast_mut();
        let mut head = ALL.load(Ordering::Acquire);
        loop {
            slot.next_slot.set(head);
            // Release: the Acquire load in `all_slots` finds the slot initialised.
            match ALL.compare_exchange(head, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Ok(slot),
                Err(now) => head = now,
            }
        }
    }
}

impl ThreadCache {
    pub(super) const fn none() -> Self {
        ThreadCache { warm: ptr::null(), blank: ptr::null(), last_ended: None, joining: 0 }
    }

    pub(super) fn add_blank(&mut self, slot: &ThreadSlot) {
        slot.next_in_list.set(self.blank);
        self.blank = slot;
    }

    pub(super) fn add_warm(&mut self, slot: &ThreadSlot, until: Instant) {
        slot.until.set(until);
        slot.is_warm.set(true);
        slot.next_in_list.set(self.warm);
        self.warm = slot;
    }

    pub(super) fn take_warm(&mut self) -> Option<&'static ThreadSlot> {
        // SAFETY: the lists hold slots.
        let slot = unsafe { get(self.warm) }?;
        self.warm = slot.next_in_list.get();
        slot.is_warm.set(false);
        Some(slot)
    }

    pub(super) fn take_blank(&mut self) -> Option<&'static ThreadSlot> {
        // SAFETY: the lists hold slots.
        let slot = unsafe { get(self.blank) }?;
        self.blank = slot.next_in_list.get();
        Some(slot)
    }

    pub(super) fn unlist(&mut self, slot: &ThreadSlot) {
        slot.is_warm.set(false);
        if ptr::eq(self.warm, slot) {
            self.warm = slot.next_in_list.get();
            return;
        }
        let mut at = self.warm;
        // SAFETY: the lists hold slots.
        while let Some(before) = unsafe { get(at) } {
            if ptr::eq(before.next_in_list.get(), slot) {
                before.next_in_list.set(slot.next_in_list.get());
                return;
            }
            at = before.next_in_list.get();
        }
    }
}

/// The reason why a worker gets no relief.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NoRelief {
    /// The run has as many reliefs as it may have.
    AtLimit,
    /// There is no thread, or no memory for one.
    NoThread,
}

/// The reliefs of one run. All fields are used under the cache's lock.
pub(super) struct Reliefs {
    /// The newest relief; the link to the next one is `next_relief`.
    pub(super) all: Cell<*const ThreadSlot>,
    /// The spare slots, linked by `next_in_list`.
    pub(super) spare: Cell<*const ThreadSlot>,
    pub(super) count: Cell<usize>,
    /// The thread that has started the run has left its worker for good. It has no slot that could
    /// become spare, so one more relief may be created in its place. Otherwise a run with a limit
    /// of one could have no further blocking section.
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
    /// Every slot that the run has taken as a relief so far.
    pub(super) fn all(&self) -> impl Iterator<Item = &'static ThreadSlot> {
        let first = CACHE.with(|_| self.all.get());
        // SAFETY: null or a slot; the links of the reliefs do not change.
        std::iter::successors(unsafe { get(first) }, |slot| unsafe { get(slot.next_relief.get()) })
    }

    pub(super) fn take_spare(&self) -> Option<&'static ThreadSlot> {
        // SAFETY: the list holds slots.
        let slot = unsafe { get(self.spare.get()) }?;
        self.spare.set(slot.next_in_list.get());
        slot.is_spare.set(false);
        Some(slot)
    }

    pub(super) fn put_spare(&self, slot: &ThreadSlot, until: Instant) {
        slot.until.set(until);
        slot.is_spare.set(true);
        slot.next_in_list.set(self.spare.get());
        self.spare.set(slot);
    }

    /// Takes one more relief from the cache, or `new`, if the limit allows it.
    pub(super) fn add_relief(
        &self,
        cache: &mut ThreadCache,
        terms: &Terms,
        new: Option<&'static ThreadSlot>,
    ) -> Result<&'static ThreadSlot, NoRelief> {
        if self.count.get() >= terms.most_reliefs + usize::from(self.caller_left.get()) {
            return Err(NoRelief::AtLimit);
        }
        let warm = if terms.keeps() { cache.take_warm() } else { None };
        let slot = warm.or_else(|| cache.take_blank()).or(new).ok_or(NoRelief::NoThread)?;
        self.count.set(self.count.get() + 1);
        slot.next_relief.set(self.all.get());
        self.all.set(slot);
        Ok(slot)
    }
}

/// The threads of one run: the workers' threads, except for the caller's own, and the reliefs.
pub struct RunThreads {
    /// The worker of the first member.
    pub(super) first: usize,
    pub(super) members: Vec<Member>,
    pub(super) reliefs: Reliefs,
    /// Not stored inline: the terms take a kilobyte, and a `RunThreads` is moved.
    pub(super) terms: *const Terms,
}

pub(super) struct Member {
    pub(super) slot: &'static ThreadSlot,
    pub(super) job: Job,
    /// `NOT_STARTED`, or the result of the only start. Relaxed, because `finish` reads the result
    /// after the start is over: if the starting thread does a job of this run, `finish` has waited
    /// for that job; other starting threads have left the run, whose gates `run` closes first.
    pub(super) started: AtomicU32,
}

impl Member {
    pub(super) fn new(slot: &'static ThreadSlot, job: Job) -> Self {
        Member { slot, job, started: AtomicU32::new(NOT_STARTED) }
    }
}

pub(super) const NOT_STARTED: u32 = 0;
pub(super) const WORKS: u32 = 1;
pub(super) const MISSING: u32 = 2;

// SAFETY: each member is started by one thread, as `start` demands; jobs are made for other
// threads; the reliefs are used under the cache's lock.
unsafe impl Sync for RunThreads {}

impl RunThreads {
    /// All slots, in reverse order, so that worker 1 of the next run gets worker 1's thread.
    pub(super) fn slots(&self) -> impl Iterator<Item = &'static ThreadSlot> {
        self.reliefs.all().chain(self.members.iter().rev().map(|member| member.slot))
    }

    pub fn terms(&self) -> &Terms {
        // SAFETY: by the promise to `new` the terms live as long as the run's threads.
        unsafe { &*self.terms }
    }

    /// Makes the slot spare: its thread and its caller no longer need it.
    pub(super) fn spare(&self, slot: &ThreadSlot) {
        let until = Instant::now() + self.terms().keep.unwrap_or_default();
        CACHE.with(|_| self.reliefs.put_spare(slot, until));
    }
}
