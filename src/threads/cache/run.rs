//! The threads of a run, from its beginning to its end.

use crate::sys::atomic::Ordering;
use crate::sys::float::FloatControl;
use crate::sys::futex;
use crate::sys::memory::NoMemory;
use crate::threads::affinity::Origin;
use crate::threads::cache::ending::{end_kept, is_unloaded};
use crate::threads::cache::records::{
    ALL, CACHE, Job, MISSING, Member, Reliefs, RunThreads, Terms, ThreadCache, ThreadSlot, WORKS,
    get,
};
use std::time::{Duration, Instant};

impl Terms {
    /// Those of the calling thread.
    pub fn of_caller(keep: Duration, most_reliefs: usize) -> Self {
        let kept = !keep.is_zero() && futex::works() && !is_unloaded();
        let keep = kept.then_some(keep);
        Terms { affinity: Origin::of_caller(), float: FloatControl::get(), keep, most_reliefs }
    }
}

impl RunThreads {
    /// Reserves a slot for each of `jobs`, which are those of the workers from `first`.
    ///
    /// # Safety
    /// The terms live for as long as the run's threads.
    pub unsafe fn new(
        terms: &Terms,
        first: usize,
        mut jobs: impl ExactSizeIterator<Item = Job>,
    ) -> Result<RunThreads, NoMemory> {
        let reliefs = Reliefs::default();
        let mut threads = RunThreads { first, members: Vec::new(), reliefs, terms };
        let warm = terms.keep.is_some();
        let mut members = Vec::new();
        members.try_reserve_exact(jobs.len()).map_err(|_| NoMemory)?;
        CACHE.with(|lists| {
            while jobs.len() > 0 {
                let kept = if warm { lists.take_warm() } else { None };
                let Some(slot) = kept.or_else(|| lists.take_blank()) else { break };
                members.extend(jobs.next().map(|job| Member::new(slot, job)));
            }
        });
        let mut result = Ok(());
        for job in jobs {
            match ThreadSlot::new() {
                Ok(slot) => members.push(Member::new(slot, job)),
                Err(NoMemory) => result = Err(NoMemory),
            }
        }
        threads.members = members; // in any case: its drop gives them back
        result.map(|()| threads)
    }

    /// Brings worker `index` a thread, which does its job. False if none can be made.
    ///
    /// # Safety
    /// Once for each worker, before `finish`; job and run's threads stay as they are until then.
    pub unsafe fn call(&self, index: usize) -> bool {
        let member = &self.members[index - self.first];
        // SAFETY: passed on.
        let works = unsafe { member.slot.call(member.job, index, self, true) };
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
                    member.slot.call.wait();
                    works += 1;
                }
            }
            for slot in self.reliefs.all() {
                slot.call.wait();
                works += 1;
            }
            if std::mem::replace(&mut waited, works) == works {
                return;
            }
        }
    }

    /// True if worker `index` was called and could not have a thread.
    pub fn is_missing(&self, index: usize) -> bool {
        let member = index.checked_sub(self.first).map(|at| &self.members[at]);
        member.is_some_and(|member| member.call.load(Ordering::Relaxed) == MISSING)
    }
}

/// The slots go back: those with a thread to the warm, or they are joined.
impl Drop for RunThreads {
    fn drop(&mut self) {
        self.finish();
        // SAFETY: the terms live.
        let keep = unsafe { (*self.terms).keep };
        if keep.is_none() {
            // SAFETY: their jobs are done.
            self.slots().for_each(|slot| unsafe { slot.join() });
        }
        let until = keep.map(|keep| Instant::now() + keep);
        let slots = self.slots();
        CACHE.with(|lists| {
            for slot in slots {
                slot.spare.set(false);
                match until {
                    Some(until) if slot.call.is_alive() => lists.add_warm(slot, until),
                    _ => lists.add_blank(slot),
                }
            }
        });
        if is_unloaded() {
            end_kept();
        }
    }
}

/// The process is a child made by fork, and has none of the threads: all slots are blank.
///
/// # Safety
/// No other thread of this process uses a run's threads before this returns.
pub unsafe fn renew() {
    let mut lists = ThreadCache::none();
    // SAFETY: slots are never freed.
    let mut next = unsafe { get(ALL.load(Ordering::Acquire)) };
    while let Some(slot) = next {
        slot.call.forget();
        slot.listed.set(false);
        slot.spare.set(false);
        lists.add_blank(slot);
        // SAFETY: as above.
        next = unsafe { get(slot.other.get()) };
    }
    // SAFETY: by the caller's promise; a holder of the lock is in the parent.
    unsafe { CACHE.reset(lists) };
}
