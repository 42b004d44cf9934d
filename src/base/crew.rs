//! Threads for runs, kept for a while after each (`SCHED_WARM`): to make a thread and to end it
//! costs some ten microseconds, to wake one that rests a few.
//!
//! # States of a hand
//!
//! ```text
//!             take                call                 (job done)            put
//!   warm  ---------->  reserved  ------>  called  ------------------>  reserved  --->  warm
//!   (a thread rests)                     (it works)                                     | time
//!   blank ---------->  reserved  ------>  called: the thread is made                    v is up
//!   (no thread)                                                                        blank
//! ```
//! Warm and blank hands are in lists, under a lock; a reserved or called hand belongs to a run.
//! The run's thread takes and puts the hands of its workers. *Reliefs* are taken when a thread
//! leaves a worker ([`relief`]), and may be called several times. Hands are never freed, so a
//! thread that is late may look at its own at any time.
//!
//! # Protocol
//!
//! A thread rests while its hand's word is `REST`, first awake, in case the next run follows at
//! once, then, having made the word `ASLEEP`, in a futex. The caller writes the job, swaps `CALLED`
//! in (Release), and wakes the thread if it was asleep. The thread works and swaps `REST` in
//! (Release). If the run's thread waits for that, it has left `AWAITED` in the word, and is woken.
//! A sleeping thread whose time is up takes the lock. If its hand is still in the list of the warm,
//! the thread takes it out and ends ([`ending`]); if not, a run has reserved the hand, and the
//! thread goes on resting.
//!
//! # What a thread would inherit
//!
//! A new thread starts with its creator's affinity, rounding mode and other floating-point
//! controls. A kept thread takes over those of the run's caller at each call, and its signal mask
//! and name are set anew. It keeps its thread-local variables, and does not take over what a caller
//! has changed for its own thread since, such as a nice value.

mod ending;
mod relief;

use self::ending::{end_kept, is_exiting, join_ended};
pub use self::ending::{is_unloaded, unload, watch_exit};
pub use self::relief::MOST_RELIEFS;
use self::relief::Reliefs;
use super::affinity::{Held, Origin};
use super::call::{Call, Order};
use super::futex;
use super::mem::{self, NoMemory};
use super::sync::{AtomicPtr, AtomicU32, Mutex, Ordering, spin_loop};
use super::thread::{self, FloatControl, SignalsBlocked};
use super::{Errno, io};
use std::cell::Cell;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::time::{Duration, Instant};

/// How long a thread rests awake, if there are processors for it and those of lower index: about
/// what it takes to wake one that sleeps.
const AWAKE: Duration = Duration::from_micros(50);

/// What the threads of a run take over from its caller.
pub struct Terms {
    affinity: Origin,
    float: FloatControl,
    /// How long to keep the threads afterwards; None: they end with the run.
    keep: Option<Duration>,
    /// See `relief`.
    most_reliefs: usize,
}

impl Terms {
    /// Those of the calling thread.
    pub fn of_caller(keep: Duration, most_reliefs: usize) -> Self {
        let kept = !keep.is_zero() && futex::works() && !is_unloaded();
        let keep = kept.then_some(keep);
        Terms { affinity: Origin::of_caller(), float: FloatControl::get(), keep, most_reliefs }
    }

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
struct Hand {
    /// For the owner of the hand: the lists or a run.
    call: Call,
    /// Written by the caller, read by the thread.
    job: Cell<MaybeUninit<(Job, usize, *const Crew)>>,
    /// Written as the job is: the caller has set the thread's affinity.
    moved: Cell<bool>,
    /// Written by the thread when it begins.
    id: Cell<MaybeUninit<libc::pthread_t>>,
    /// Under the lists' lock: whether it is warm, whether it is spare, and until when.
    listed: Cell<bool>,
    spare: Cell<bool>,
    until: Cell<Instant>,
    next: Cell<*const Hand>,
    /// Under the lists' lock: link of a crew's reliefs.
    beside: Cell<*const Hand>,
    /// Link of all hands; never changes.
    other: Cell<*const Hand>,
}

// SAFETY: see each field's discipline.
unsafe impl Sync for Hand {}

struct Lists {
    /// The one that rested last is taken first: its cache is the warmest.
    warm: *const Hand,
    blank: *const Hand,
    /// The thread that has ended last, or is about to; it is not joined yet. See `ending`.
    ended: Option<libc::pthread_t>,
}

// SAFETY: the hands may be used by any thread.
unsafe impl Send for Lists {}

static LISTS: Mutex<Lists> = Mutex::new(Lists::none());
static ALL: AtomicPtr<Hand> = AtomicPtr::new(ptr::null_mut());

/// # Safety
/// `hand` is null or a hand.
unsafe fn get(hand: *const Hand) -> Option<&'static Hand> {
    // SAFETY: hands are never freed.
    unsafe { hand.as_ref() }
}

impl Hand {
    fn new() -> Result<&'static Hand, NoMemory> {
        let place = mem::room::<Hand>()?;
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

    /// Gives the thread a job, making the thread if there is none. False if it cannot be made.
    /// `beside`: the caller goes on working.
    ///
    /// # Safety
    /// The hand is reserved by the crew, and job and crew live until it is done.
    unsafe fn call(&'static self, job: Job, index: usize, crew: &Crew, beside: bool) -> bool {
        self.job.set(MaybeUninit::new((job, index, ptr::from_ref(crew))));
        // A thread that starts on the processor of one that goes on working may wait there for
        // milliseconds. It starts elsewhere, and takes over the affinity of the terms as its first act.
        // (Without futex: pthread_create would need it for that.)
        let elsewhere =
            || crew.terms().affinity.mask.elsewhere().filter(|_| beside && futex::probe());
        let sleeps = || {
            if let Some(mask) = &elsewhere() {
                self.moved.set(true);
                // SAFETY: alive, and until it is called it does not end.
                unsafe { thread::move_to(self.id.get().assume_init(), mask) };
            }
        };
        let create = || {
            let _blocked = SignalsBlocked::block();
            let hand = ptr::from_ref(self).cast_mut().cast();
            // SAFETY: a hand is never freed.
            unsafe { thread::create(main, hand, elsewhere()) }.is_ok()
        };
        self.call.make(sleeps, create)
    }

    /// Waits for the end of the thread, if it has one.
    ///
    /// # Safety
    /// It ends by itself, its job being done and none kept.
    unsafe fn join(&self) {
        if !self.call.set_alive(false) {
            return;
        }
        // SAFETY: alive, so there is an id.
        let joined = unsafe { thread::join(self.id.get().assume_init()) };
        if let Err(Errno(error)) = joined {
            io::die(format_args!(
                "a thread of ours cannot be joined (errno {error}); \
                 a task must not detach its thread"
            ));
        }
    }

    /// A thread's rest after a job. True if it was called again; false if it must end, and then
    /// it has no hand any more.
    fn rest(&self, keep: Duration, awake: Duration) -> bool {
        let began = Instant::now();
        while self.call.order() == Order::Rest && began.elapsed() < awake.min(keep) {
            (0..8).for_each(|_| spin_loop());
            thread::give_way();
        }
        self.call.lie_down();
        // Never longer than LONGEST: futex may be refused by the time that it is called.
        let mut time = keep.min(futex::LONGEST);
        loop {
            match self.call.order() {
                Order::Rest => {}
                Order::End => return false,
                Order::Work => return true,
            }
            let began = Instant::now();
            self.call.sleep(time);
            if began.elapsed() < time || self.call.order() != Order::Rest {
                continue;
            }
            // A thread that a task has detached cannot be joined.
            let joinable = !thread::is_detached();
            let ends = LISTS.with(|lists| {
                let left = self.until.get().saturating_duration_since(Instant::now());
                let (listed, spare) = (self.listed.get(), self.spare.get());
                if !listed && !spare {
                    // Reserved: its run may keep it for long.
                    time = (time * 2).min(futex::LONGEST);
                    return None;
                }
                if is_exiting() {
                    time = futex::LONGEST;
                    return None;
                }
                if !left.is_zero() {
                    time = left.min(futex::LONGEST);
                    return None;
                }
                self.call.set_alive(false);
                if listed {
                    lists.unlist(self);
                    lists.add_blank(self);
                }
                // SAFETY: no arguments.
                let me = unsafe { libc::pthread_self() };
                Some(if joinable { lists.ended.replace(me) } else { None })
            });
            if let Some(before) = ends {
                // SAFETY: that thread ends without this one's help, and only the thread that takes it from
                // the lists joins it.
                before.inspect(|&id| unsafe { join_ended(id) });
                return false;
            }
        }
    }
}

extern "C" fn main(hand: *mut c_void) -> *mut c_void {
    // SAFETY: `call` passes a hand.
    let hand: &'static Hand = unsafe { &*hand.cast_const().cast() };
    // SAFETY: the calling thread. A reader has waited for the end of a job.
    hand.id.set(MaybeUninit::new(unsafe { libc::pthread_self() }));
    let mut held = Held::nothing();
    loop {
        // SAFETY: called, so there is a job; its crew and terms live until it is done.
        let (job, index, crew) = unsafe { hand.job.get().assume_init() };
        // SAFETY: as above.
        let crew = unsafe { &*crew };
        let (keep, processors) = (crew.terms().keep, crew.terms().processors());
        if hand.moved.replace(false) {
            held.was_moved();
        }
        held.take_over(&crew.terms().affinity);
        thread::settle(index);
        crew.terms().float.set();
        // SAFETY: by the promise to `call`.
        let surplus = unsafe { (job.main)(job.arg) };
        if surplus {
            crew.spare(hand);
        }
        if keep.is_none() && thread::is_detached() {
            io::die(format_args!("a task detached its thread, which the run waits for"));
        }
        hand.call.done();
        let awake = if index < processors && !surplus { AWAKE } else { Duration::ZERO };
        if !keep.is_some_and(|keep| hand.rest(keep, awake)) {
            return ptr::null_mut();
        }
    }
}

impl Lists {
    const fn none() -> Self {
        Lists { warm: ptr::null(), blank: ptr::null(), ended: None }
    }

    fn add_blank(&mut self, hand: &Hand) {
        hand.next.set(self.blank);
        self.blank = hand;
    }

    fn add_warm(&mut self, hand: &Hand, until: Instant) {
        hand.until.set(until);
        hand.listed.set(true);
        hand.next.set(self.warm);
        self.warm = hand;
    }

    fn take_warm(&mut self) -> Option<&'static Hand> {
        // SAFETY: the lists hold hands.
        let hand = unsafe { get(self.warm) }?;
        self.warm = hand.next.get();
        hand.listed.set(false);
        Some(hand)
    }

    fn take_blank(&mut self) -> Option<&'static Hand> {
        // SAFETY: the lists hold hands.
        let hand = unsafe { get(self.blank) }?;
        self.blank = hand.next.get();
        Some(hand)
    }

    /// Takes a warm hand out of the list.
    fn unlist(&mut self, hand: &Hand) {
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

/// The threads of one run: one for each worker, except worker 0 where that is the caller's; and
/// reliefs.
pub struct Crew {
    /// The worker of the first member.
    first: usize,
    members: Vec<Member>,
    reliefs: Reliefs,
    /// Not in here: they take a kilobyte, and a crew is moved.
    terms: *const Terms,
}

struct Member {
    hand: &'static Hand,
    job: Job,
    /// `IDLE`, or what came of the one call. Relaxed: the caller is a job whose end `finish` has
    /// waited for, or a foreign thread that has left before (`run`: the gates are closed first).
    call: AtomicU32,
}

impl Member {
    fn new(hand: &'static Hand, job: Job) -> Self {
        Member { hand, job, call: AtomicU32::new(IDLE) }
    }
}

const IDLE: u32 = 0;
const WORKS: u32 = 1;
const MISSING: u32 = 2;

// SAFETY: each member is called by one thread, as `call` says; jobs are for other threads; the
// reliefs are used under the lists' lock.
unsafe impl Sync for Crew {}

impl Crew {
    /// Reserves a hand for each of `jobs`, which are those of the workers from `first`.
    ///
    /// # Safety
    /// The terms live for as long as the crew.
    pub unsafe fn new(
        terms: &Terms,
        first: usize,
        mut jobs: impl ExactSizeIterator<Item = Job>,
    ) -> Result<Crew, NoMemory> {
        let reliefs = Reliefs::default();
        let mut crew = Crew { first, members: Vec::new(), reliefs, terms };
        let warm = terms.keep.is_some();
        let mut members = Vec::new();
        members.try_reserve_exact(jobs.len()).map_err(|_| NoMemory)?;
        LISTS.with(|lists| {
            while jobs.len() > 0 {
                let kept = if warm { lists.take_warm() } else { None };
                let Some(hand) = kept.or_else(|| lists.take_blank()) else { break };
                members.extend(jobs.next().map(|job| Member::new(hand, job)));
            }
        });
        let mut result = Ok(());
        for job in jobs {
            match Hand::new() {
                Ok(hand) => members.push(Member::new(hand, job)),
                Err(NoMemory) => result = Err(NoMemory),
            }
        }
        crew.members = members; // in any case: its drop gives them back
        result.map(|()| crew)
    }

    /// Brings worker `index` a thread, which does its job. False if none can be made.
    ///
    /// # Safety
    /// Once for each worker, before `finish`; job and crew stay as they are until then.
    pub unsafe fn call(&self, index: usize) -> bool {
        let member = &self.members[index - self.first];
        // SAFETY: passed on.
        let works = unsafe { member.hand.call(member.job, index, self, true) };
        member.call.store(if works { WORKS } else { MISSING }, Ordering::Relaxed);
        works
    }

    /// Waits until all jobs that were called are done. Only these jobs may still call.
    pub fn finish(&self) {
        let mut waited = usize::MAX;
        // A job that was waited for may have called one that was looked at before it.
        loop {
            let mut works = 0;
            for member in &self.members {
                if member.call.load(Ordering::Relaxed) == WORKS {
                    member.hand.call.wait();
                    works += 1;
                }
            }
            for hand in self.reliefs.all() {
                hand.call.wait();
                works += 1;
            }
            if std::mem::replace(&mut waited, works) == works {
                return;
            }
        }
    }

    /// All of them. Backwards, so that the next run's worker 1 has the thread of this one's.
    fn hands(&self) -> impl Iterator<Item = &'static Hand> {
        self.reliefs.all().chain(self.members.iter().rev().map(|member| member.hand))
    }

    pub fn terms(&self) -> &Terms {
        // SAFETY: they live for as long as the crew.
        unsafe { &*self.terms }
    }

    /// True if worker `index` was called and could not have a thread.
    pub fn is_missing(&self, index: usize) -> bool {
        let member = index.checked_sub(self.first).map(|at| &self.members[at]);
        member.is_some_and(|member| member.call.load(Ordering::Relaxed) == MISSING)
    }
}

/// The hands go back: those with a thread to the warm, or they are joined.
impl Drop for Crew {
    fn drop(&mut self) {
        self.finish();
        // SAFETY: the terms live.
        let keep = unsafe { (*self.terms).keep };
        if keep.is_none() {
            // SAFETY: their jobs are done.
            self.hands().for_each(|hand| unsafe { hand.join() });
        }
        let until = keep.map(|keep| Instant::now() + keep);
        let hands = self.hands();
        LISTS.with(|lists| {
            for hand in hands {
                hand.spare.set(false);
                match until {
                    Some(until) if hand.call.is_alive() => lists.add_warm(hand, until),
                    _ => lists.add_blank(hand),
                }
            }
        });
        if is_unloaded() {
            end_kept();
        }
    }
}

/// The process is a child made by fork, and has none of the threads: all hands are blank.
///
/// # Safety
/// No other thread of this process uses a crew before this returns.
pub unsafe fn renew() {
    let mut lists = Lists::none();
    // SAFETY: hands are never freed.
    let mut next = unsafe { get(ALL.load(Ordering::Acquire)) };
    while let Some(hand) = next {
        hand.call.forget();
        hand.listed.set(false);
        hand.spare.set(false);
        lists.add_blank(hand);
        // SAFETY: as above.
        next = unsafe { get(hand.other.get()) };
    }
    // SAFETY: by the caller's promise; a holder of the lock is in the parent.
    unsafe { LISTS.reset(lists) };
}
