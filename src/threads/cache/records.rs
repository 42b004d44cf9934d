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
pub(super) struct Hand {
    /// For the owner of the hand: the lists or a run.
    pub(super) call: Call,
    /// Written by the caller, read by the thread.
    pub(super) job: Cell<MaybeUninit<(Job, usize, *const Crew)>>,
    /// Written as the job is: the caller has set the thread's affinity.
    pub(super) moved: Cell<bool>,
    /// Written by the thread when it begins.
    pub(super) id: Cell<MaybeUninit<libc::pthread_t>>,
    /// Under the lists' lock: whether it is warm, whether it is spare, and until when.
    pub(super) listed: Cell<bool>,
    pub(super) spare: Cell<bool>,
    pub(super) until: Cell<Instant>,
    pub(super) next: Cell<*const Hand>,
    /// Under the lists' lock: link of a crew's reliefs.
    pub(super) beside: Cell<*const Hand>,
    /// Link of all hands; never changes.
    pub(super) other: Cell<*const Hand>,
}

// SAFETY: see each field's discipline.
unsafe impl Sync for Hand {}

pub(super) struct Lists {
    /// The one that rested last is taken first: its cache is the warmest.
    pub(super) warm: *const Hand,
    pub(super) blank: *const Hand,
    /// The thread that has ended last, or is about to; it is not joined yet. See `ending`.
    pub(super) ended: Option<libc::pthread_t>,
}

// SAFETY: the hands may be used by any thread.
unsafe impl Send for Lists {}

pub(super) static LISTS: Mutex<Lists> = Mutex::new(Lists::none());
pub(super) static ALL: AtomicPtr<Hand> = AtomicPtr::new(ptr::null_mut());

/// # Safety
/// `hand` is null or a hand.
pub(super) unsafe fn get(hand: *const Hand) -> Option<&'static Hand> {
    // SAFETY: hands are never freed.
    unsafe { hand.as_ref() }
}

impl Hand {
    pub(super) fn new() -> Result<&'static Hand, NoMemory> {
        let place = memory::room::<Hand>()?;
        // SAFETY: room for a hand, which is never freed.
        let hand = unsafe {
            place.write(Hand {
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
        let new = ptr::from_ref(hand).cast_mut();
        let mut head = ALL.load(Ordering::Acquire);
        loop {
            hand.other.set(head);
            // Release: pairs with the load in `renew`, whose walk finds the hand made.
            match ALL.compare_exchange(head, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Ok(hand),
                Err(now) => head = now,
            }
        }
    }
}

impl Lists {
    pub(super) const fn none() -> Self {
        Lists { warm: ptr::null(), blank: ptr::null(), ended: None }
    }

    pub(super) fn add_blank(&mut self, hand: &Hand) {
        hand.next.set(self.blank);
        self.blank = hand;
    }

    pub(super) fn add_warm(&mut self, hand: &Hand, until: Instant) {
        hand.until.set(until);
        hand.listed.set(true);
        hand.next.set(self.warm);
        self.warm = hand;
    }

    pub(super) fn take_warm(&mut self) -> Option<&'static Hand> {
        // SAFETY: the lists hold hands.
        let hand = unsafe { get(self.warm) }?;
        self.warm = hand.next.get();
        hand.listed.set(false);
        Some(hand)
    }

    pub(super) fn take_blank(&mut self) -> Option<&'static Hand> {
        // SAFETY: the lists hold hands.
        let hand = unsafe { get(self.blank) }?;
        self.blank = hand.next.get();
        Some(hand)
    }

    /// Takes a warm hand out of the list.
    pub(super) fn unlist(&mut self, hand: &Hand) {
        hand.listed.set(false);
        if ptr::eq(self.warm, hand) {
            self.warm = hand.next.get();
            return;
        }
        let mut at = self.warm;
        // SAFETY: the lists hold hands.
        while let Some(before) = unsafe { get(at) } {
            if ptr::eq(before.next.get(), hand) {
                before.next.set(hand.next.get());
                return;
            }
            at = before.next.get();
        }
    }
}

/// All under the lists' lock.
pub(super) struct Reliefs {
    /// Linked by `beside`; grows at the head.
    pub(super) all: Cell<*const Hand>,
    /// Linked by `next`.
    pub(super) spare: Cell<*const Hand>,
    pub(super) count: Cell<usize>,
    /// The thread that has started the run has left its worker for good. It has no hand that could become spare, so one
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
    /// Every hand that has been taken from the lists as a relief so far.
    pub(super) fn all(&self) -> impl Iterator<Item = &'static Hand> {
        let first = LISTS.with(|_| self.all.get());
        // SAFETY: hands, or null; their links do not change.
        std::iter::successors(unsafe { get(first) }, |hand| unsafe { get(hand.beside.get()) })
    }

    pub(super) fn take_spare(&self) -> Option<&'static Hand> {
        // SAFETY: the list holds hands.
        let hand = unsafe { get(self.spare.get()) }?;
        self.spare.set(hand.next.get());
        hand.spare.set(false);
        Some(hand)
    }

    pub(super) fn put_spare(&self, hand: &Hand, until: Instant) {
        hand.until.set(until);
        hand.spare.set(true);
        hand.next.set(self.spare.get());
        self.spare.set(hand);
    }

    /// One more relief, if the limit allows it.
    pub(super) fn recruit(
        &self,
        lists: &mut Lists,
        terms: &Terms,
        new: Option<&'static Hand>,
    ) -> Option<&'static Hand> {
        if self.count.get() >= terms.most_reliefs + usize::from(self.caller_left.get()) {
            return None;
        }
        let warm = if terms.keeps() { lists.take_warm() } else { None };
        let hand = warm.or_else(|| lists.take_blank()).or(new)?;
        self.count.set(self.count.get() + 1);
        hand.beside.set(self.all.get());
        self.all.set(hand);
        Some(hand)
    }
}

/// The threads of one run: one for each worker, except worker 0 where that is the caller's; and
/// reliefs.
pub struct Crew {
    /// The worker of the first member.
    pub(super) first: usize,
    pub(super) members: Vec<Member>,
    pub(super) reliefs: Reliefs,
    /// Not in here: they take a kilobyte, and a crew is moved.
    pub(super) terms: *const Terms,
}

pub(super) struct Member {
    pub(super) hand: &'static Hand,
    pub(super) job: Job,
    /// `IDLE`, or what came of the one call. Relaxed: the caller is a job whose end `finish` has
    /// waited for, or a foreign thread that has left before (`run`: the gates are closed first).
    pub(super) call: AtomicU32,
}

impl Member {
    pub(super) fn new(hand: &'static Hand, job: Job) -> Self {
        Member { hand, job, call: AtomicU32::new(IDLE) }
    }
}

pub(super) const IDLE: u32 = 0;
pub(super) const WORKS: u32 = 1;
pub(super) const MISSING: u32 = 2;

// SAFETY: each member is called by one thread, as `call` says; jobs are for other threads; the
// reliefs are used under the lists' lock.
unsafe impl Sync for Crew {}

impl Crew {
    /// All of them. Backwards, so that the next run's worker 1 has the thread of this one's.
    pub(super) fn hands(&self) -> impl Iterator<Item = &'static Hand> {
        self.reliefs.all().chain(self.members.iter().rev().map(|member| member.hand))
    }

    pub fn terms(&self) -> &Terms {
        // SAFETY: they live for as long as the crew.
        unsafe { &*self.terms }
    }

    /// Neither the thread of this hand nor a caller needs the hand now.
    pub(super) fn spare(&self, hand: &Hand) {
        let until = Instant::now() + self.terms().keep.unwrap_or_default();
        LISTS.with(|_| self.reliefs.put_spare(hand, until));
    }
}
