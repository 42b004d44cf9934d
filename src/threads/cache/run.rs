//! The threads of a run, from its beginning to its end.

use crate::sys::atomic::Ordering;
use crate::sys::float::FloatControl;
use crate::sys::futex;
use crate::sys::memory::NoMemory;
use crate::sys::processors::Mask;
use crate::sys::thread::WriteSignals;
use crate::sys::time::Instant;
use crate::threads::affinity::CallerAffinity;
use crate::threads::cache::ending::{end_kept, is_unloaded};
use crate::threads::cache::records::{
    CACHE, Caller, Job, MISSING, Member, Reliefs, RunThreads, Terms, ThreadCache, ThreadSlot,
    WORKS, all_slots,
};
use std::time::Duration;

impl Terms {
    /// The terms of a run that the calling thread starts on the processors of `mask`.
    pub fn of_caller(keep: Duration, most_reliefs: usize, mask: Mask) -> Self {
        let kept = !keep.is_zero() && futex::works() && !is_unloaded();
        let keep = kept.then_some(keep);
        Terms {
            affinity: CallerAffinity::new(mask),
            float: FloatControl::get(),
            writes: WriteSignals::of_caller(),
            keep,
            most_reliefs,
        }
    }
}

impl RunThreads {
    /// Reserves a slot for each of `jobs`, which belong to the workers from `first` on.
    ///
    /// # Safety
    /// The terms live as long as the run's threads.
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
        CACHE.with(|cache| {
            while jobs.len() > 0 {
                let kept = if warm { cache.take_warm() } else { None };
                let Some(slot) = kept.or_else(|| cache.take_blank()) else { break };
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
        threads.members = members; // even after an error: dropping `threads` returns them
        result.map(|()| threads)
    }

    /// Brings a thread to worker `index`, to do its job. False if no thread can be created.
    ///
    /// # Safety
    /// Called once for each worker, before `finish`; until then job and `self` do not change.
    pub unsafe fn start(&self, index: usize) -> bool {
        let member = &self.members[index - self.first];
        // SAFETY: the run has reserved the slot; by the promise job and `self` live until `finish`.
        let works = unsafe { member.slot.assign(member.job, index, self, Caller::KeepsWorking) };
        member.started.store(if works { WORKS } else { MISSING }, Ordering::Relaxed);
        works
    }

    /// Waits until all started jobs are done. From now on only these jobs may start others.
    pub fn finish(&self) {
        let mut waited = usize::MAX;
        // A job may have started another one in a slot that the loop had passed before.
        loop {
            let mut works = 0;
            for member in &self.members {
                if member.started.load(Ordering::Relaxed) == WORKS {
                    member.slot.state.wait_for_job();
                    works += 1;
                }
            }
            for slot in self.reliefs.all() {
                slot.state.wait_for_job();
                works += 1;
            }
            if std::mem::replace(&mut waited, works) == works {
                return;
            }
        }
    }

    /// True if worker `index` was started and no thread could be created for it.
    pub fn is_missing(&self, index: usize) -> bool {
        let member = index.checked_sub(self.first).map(|at| &self.members[at]);
        member.is_some_and(|member| member.started.load(Ordering::Relaxed) == MISSING)
    }
}

/// Returns the slots to the cache. If the run keeps no threads, the threads are joined first.
impl Drop for RunThreads {
    fn drop(&mut self) {
        self.finish();
        // SAFETY: by the promise to `new` the terms still live.
        let keep = unsafe { (*self.terms).keep };
        if keep.is_none() {
            // SAFETY: `finish` has waited for their jobs, and threads that are not kept never rest.
            self.slots().for_each(|slot| unsafe { slot.join() });
        }
        let until = keep.map(|keep| Instant::now() + keep);
        let slots = self.slots();
        CACHE.with(|cache| {
            for slot in slots {
                slot.is_spare.set(false);
                match until {
                    Some(until) if slot.state.has_thread() => cache.add_warm(slot, until),
                    _ => cache.add_blank(slot),
                }
            }
        });
        if is_unloaded() {
            end_kept();
        }
    }
}

/// Called in the child of a fork, which has none of the threads: makes all slots blank.
///
/// # Safety
/// No other thread of this process uses a run's threads before this returns.
pub unsafe fn renew() {
    let mut cache = ThreadCache::none();
    for slot in all_slots() {
        slot.state.forget_thread();
        slot.is_warm.set(false);
        slot.is_spare.set(false);
        slot.rests.forget();
        cache.add_blank(slot);
    }
    // SAFETY: no other thread uses the lock; a thread that held it exists only in the parent.
    unsafe { CACHE.reset(cache) };
}
