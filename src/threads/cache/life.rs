//! The life of a thread: it gets a job, works, rests, and ends.

use crate::sys::atomic::spin_loop;
use crate::sys::errno::Errno;
use crate::sys::thread::SignalsBlocked;
use crate::sys::time::Instant;
use crate::sys::{detector, futex, output, thread, time};
use crate::threads::affinity::ThreadAffinity;
use crate::threads::cache::ending::{is_exiting, join_ended};
use crate::threads::cache::records::{CACHE, Caller, Job, RunThreads, ThreadSlot, all_slots};
use crate::threads::job::NextStep;
use crate::threads::resting::Resting;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

/// The time for which a thread rests awake, if there are processors for it and for the threads of
/// lower index: about as long as waking a sleeping thread takes.
const AWAKE: Duration = Duration::from_micros(50);

/// The number of threads that rest until a run that has reserved them gives them a job, or ends. A
/// thread that the caller has seen at a worker before this call, and that has not left that worker,
/// is not counted. (Neither is a thread that no run has reserved. It ends by itself at some time,
/// and then the program's destructors run in it, which may do anything.)
pub fn resting() -> usize {
    Resting::look();
    CACHE.with(|_| {
        let reserved = |slot: &&ThreadSlot| !slot.is_warm.get() && !slot.is_spare.get();
        let rests = |slot: &&ThreadSlot| slot.rests.shows();
        all_slots().filter(reserved).filter(rests).count()
    })
}

impl ThreadSlot {
    /// Gives the thread a job; creates the thread if there is none. False if it cannot be created.
    /// `caller` is what the calling thread does next.
    ///
    /// # Safety
    /// The run has reserved the slot; job and `threads` live until the job is done.
    pub(super) unsafe fn assign(
        &'static self,
        job: Job,
        index: usize,
        threads: &RunThreads,
        caller: Caller,
    ) -> bool {
        self.job.set(MaybeUninit::new((job, index, ptr::from_ref(threads))));
        // A thread that starts on the processor of a thread that keeps working may wait there for
        // milliseconds. So it starts on another processor, and then takes over the affinity of the
        // terms. (Not if futex is refused, which pthread_create needs for this.)
        let elsewhere = || {
            threads
                .terms()
                .affinity
                .mask
                .elsewhere()
                .filter(|_| caller == Caller::KeepsWorking && futex::probe())
        };
        let before_waking = || {
            if let Some(mask) = &elsewhere() {
                self.affinity_changed.set(true);
                // SAFETY: the thread exists, and does not end before it gets this job.
                unsafe { thread::restrict_to(self.id.get().assume_init(), mask) };
            }
        };
        let create = || {
            let _blocked = SignalsBlocked::block();
            let slot = ptr::from_ref(self).cast_mut().cast();
            // SAFETY: a slot is never freed.
            unsafe { thread::create(main, slot, elsewhere()) }.is_ok()
        };
        self.state.start_job(before_waking, create)
    }

    /// Waits for the end of the thread, if there is one.
    ///
    /// # Safety
    /// The thread ends by itself: its job is done, and its run keeps no threads.
    pub(super) unsafe fn join(&self) {
        if !self.state.set_has_thread(false) {
            return;
        }
        // SAFETY: there was a thread, so its id is written; the thread ends by itself.
        let joined = unsafe { thread::join(self.id.get().assume_init()) };
        if let Err(Errno(error)) = joined {
            output::die(format_args!(
                "a thread of the library cannot be joined (errno {error}); \
                 a task must not detach its thread"
            ));
        }
    }

    /// Rests after a job. Returns true if the thread got another job, and false if it has no slot,
    /// and must end.
    fn rest(&self, keep: Duration, awake: Duration) -> bool {
        self.rests.begin();
        let works = self.rest_noted(keep, awake);
        self.rests.end();
        works
    }

    /// The part of `rest` in which the thread is noted as resting.
    fn rest_noted(&self, keep: Duration, awake: Duration) -> bool {
        let began = Instant::now();
        while self.state.next_step() == NextStep::Rest && began.elapsed() < awake.min(keep) {
            (0..8).for_each(|_| spin_loop());
            time::give_way();
        }
        self.state.announce_sleep();
        // Never longer than LONGEST: futex may already be refused when the next job is started.
        let mut time = keep.min(futex::LONGEST);
        loop {
            match self.state.next_step() {
                NextStep::Rest => {}
                NextStep::End => return false,
                NextStep::Work => return true,
            }
            let began = Instant::now();
            self.state.sleep(time);
            if began.elapsed() < time || self.state.next_step() != NextStep::Rest {
                continue;
            }
            // A thread that a task has detached cannot be joined.
            let detached = thread::is_detached();
            let ends = CACHE.with(|cache| {
                let left = self.until.get().saturating_duration_since(Instant::now());
                let (is_warm, is_spare) = (self.is_warm.get(), self.is_spare.get());
                if !is_warm && !is_spare {
                    // A run has reserved the slot, and may keep it for long.
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
                self.state.set_has_thread(false);
                self.rests.end_for_good();
                if is_warm {
                    cache.unlist(self);
                    cache.add_blank(self);
                }
                // SAFETY: the call has no arguments.
                let me = unsafe { libc::pthread_self() };
                let before = if detached { None } else { cache.last_ended.replace(me) };
                cache.joining += usize::from(before.is_some());
                Some(before)
            });
            if let Some(before) = ends {
                if let Some(id) = before {
                    // SAFETY: the thread `id` ends without the calling thread's help. Only the
                    // thread that takes an id from the cache joins the thread of that id.
                    unsafe { join_ended(id) };
                    CACHE.with(|cache| cache.joining -= 1);
                }
                return false;
            }
        }
    }
}

extern "C" fn main(slot: *mut c_void) -> *mut c_void {
    detector::ignored(|| live(slot));
    ptr::null_mut()
}

fn live(slot: *mut c_void) {
    // SAFETY: `assign` passes a slot, which is never freed.
    let slot: &'static ThreadSlot = unsafe { &*slot.cast_const().cast() };
    // SAFETY: the id is the caller's. Readers of the field have waited for the end of a job.
    slot.id.set(MaybeUninit::new(unsafe { libc::pthread_self() }));
    let mut held = ThreadAffinity::nothing();
    loop {
        // SAFETY: the thread was given a job; the job's run and terms live until it is done.
        let (job, index, threads) = unsafe { slot.job.get().assume_init() };
        // SAFETY: the run lives until the job is done.
        let threads = unsafe { &*threads };
        let (keep, processors) = (threads.terms().keep, threads.terms().processors());
        if slot.affinity_changed.replace(false) {
            held.was_moved();
        }
        held.take_over(&threads.terms().affinity);
        thread::prepare_current(index, threads.terms().writes);
        threads.terms().float.set();
        // SAFETY: by the promise to `assign` the job is valid.
        let surplus = unsafe { (job.main)(job.arg) };
        if surplus {
            threads.spare(slot);
        }
        if keep.is_none() && thread::is_detached() {
            output::die(format_args!("a task detached its thread, which the run waits for"));
        }
        slot.state.finish_job();
        let awake = if index < processors && !surplus { AWAKE } else { Duration::ZERO };
        if !keep.is_some_and(|keep| slot.rest(keep, awake)) {
            return;
        }
    }
}
