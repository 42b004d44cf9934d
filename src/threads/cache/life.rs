//! The life of a thread: it is called, works, rests, and ends.

use crate::sys::atomic::spin_loop;
use crate::sys::errno::Errno;
use crate::sys::thread::SignalsBlocked;
use crate::sys::{futex, output, thread, time};
use crate::threads::affinity::Held;
use crate::threads::cache::ending::{is_exiting, join_ended};
use crate::threads::cache::records::{CACHE, Job, RunThreads, ThreadSlot};
use crate::threads::call::Order;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::time::{Duration, Instant};

/// How long a thread rests awake, if there are processors for it and those of lower index: about
/// what it takes to wake one that sleeps.
const AWAKE: Duration = Duration::from_micros(50);

impl ThreadSlot {
    /// Gives the thread a job, making the thread if there is none. False if it cannot be made.
    /// `beside`: the caller goes on working.
    ///
    /// # Safety
    /// The slot is reserved by the run's threads, and job and run's threads live until it is done.
    pub(super) unsafe fn call(
        &'static self,
        job: Job,
        index: usize,
        threads: &RunThreads,
        beside: bool,
    ) -> bool {
        self.job.set(MaybeUninit::new((job, index, ptr::from_ref(threads))));
        // A thread that starts on the processor of one that goes on working may wait there for
        // milliseconds. It starts elsewhere, and takes over the affinity of the terms as its first act.
        // (Without futex: pthread_create would need it for that.)
        let elsewhere =
            || threads.terms().affinity.mask.elsewhere().filter(|_| beside && futex::probe());
        let sleeps = || {
            if let Some(mask) = &elsewhere() {
                self.moved.set(true);
                // SAFETY: alive, and until it is called it does not end.
                unsafe { thread::restrict_to(self.id.get().assume_init(), mask) };
            }
        };
        let create = || {
            let _blocked = SignalsBlocked::block();
            let slot = ptr::from_ref(self).cast_mut().cast();
            // SAFETY: a slot is never freed.
            unsafe { thread::create(main, slot, elsewhere()) }.is_ok()
        };
        self.call.make(sleeps, create)
    }

    /// Waits for the end of the thread, if it has one.
    ///
    /// # Safety
    /// It ends by itself, its job being done and none kept.
    pub(super) unsafe fn join(&self) {
        if !self.call.set_alive(false) {
            return;
        }
        // SAFETY: alive, so there is an id.
        let joined = unsafe { thread::join(self.id.get().assume_init()) };
        if let Err(Errno(error)) = joined {
            output::die(format_args!(
                "a thread of ours cannot be joined (errno {error}); \
                 a task must not detach its thread"
            ));
        }
    }

    /// A thread's rest after a job. True if it was called again; false if it must end, and then
    /// it has no slot any more.
    fn rest(&self, keep: Duration, awake: Duration) -> bool {
        let began = Instant::now();
        while self.call.order() == Order::Rest && began.elapsed() < awake.min(keep) {
            (0..8).for_each(|_| spin_loop());
            time::give_way();
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
            let ends = CACHE.with(|lists| {
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

extern "C" fn main(slot: *mut c_void) -> *mut c_void {
    // SAFETY: `call` passes a slot.
    let slot: &'static ThreadSlot = unsafe { &*slot.cast_const().cast() };
    // SAFETY: the calling thread. A reader has waited for the end of a job.
    slot.id.set(MaybeUninit::new(unsafe { libc::pthread_self() }));
    let mut held = Held::nothing();
    loop {
        // SAFETY: called, so there is a job; its run's threads and terms live until it is done.
        let (job, index, threads) = unsafe { slot.job.get().assume_init() };
        // SAFETY: as above.
        let threads = unsafe { &*threads };
        let (keep, processors) = (threads.terms().keep, threads.terms().processors());
        if slot.moved.replace(false) {
            held.was_moved();
        }
        held.take_over(&threads.terms().affinity);
        thread::prepare_current(index);
        threads.terms().float.set();
        // SAFETY: by the promise to `call`.
        let surplus = unsafe { (job.main)(job.arg) };
        if surplus {
            threads.spare(slot);
        }
        if keep.is_none() && thread::is_detached() {
            output::die(format_args!("a task detached its thread, which the run waits for"));
        }
        slot.call.done();
        let awake = if index < processors && !surplus { AWAKE } else { Duration::ZERO };
        if !keep.is_some_and(|keep| slot.rest(keep, awake)) {
            return ptr::null_mut();
        }
    }
}
