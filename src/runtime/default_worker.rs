//! The worker of the default pool (`api::default_pool`), and the lock under which it is made.
//!
//! `WORKER` is that worker, or null if this process has no pool. The Release store in `get_or_make`
//! pairs with the Acquire load in `get`: a thread that finds the worker finds a run that is ready
//! for use. `MAKING` is held while a pool is made or forgotten. A child made by fork has neither
//! the pool's threads nor the thread that holds the lock, so `renew` resets both variables there.
//!
//! `FORMER` is the worker of the previous pool: the parent's pool, or a pool that was released at
//! exit. Its run has ended: a call that waits for one of its tasks returns an error.

use crate::lock::mutex::Mutex;
use crate::runtime::record::Worker;
use crate::sys::atomic::{AtomicPtr, Ordering};
use std::ptr;

#[unsafe(link_section = "sched_words")]
static WORKER: AtomicPtr<Worker> = AtomicPtr::new(ptr::null_mut());
#[unsafe(link_section = "sched_words")]
static FORMER: AtomicPtr<Worker> = AtomicPtr::new(ptr::null_mut());
#[unsafe(link_section = "sched_words")]
static MAKING: Mutex<()> = Mutex::new(());

pub fn get() -> Option<&'static Worker> {
    // SAFETY: records are never freed.
    unsafe { WORKER.load(Ordering::Acquire).as_ref() }
}

pub fn former() -> Option<&'static Worker> {
    // SAFETY: records are never freed.
    unsafe { FORMER.load(Ordering::Acquire).as_ref() }
}

/// Returns the worker. If there is no pool, one thread calls `make`; the others wait for it.
pub fn get_or_make<E>(
    make: impl FnOnce() -> Result<&'static Worker, E>,
) -> Result<&'static Worker, E> {
    if let Some(worker) = get() {
        return Ok(worker);
    }
    MAKING.with(|()| {
        if let Some(worker) = get() {
            return Ok(worker);
        }
        let worker = make()?;
        WORKER.store(ptr::from_ref(worker).cast_mut(), Ordering::Release);
        Ok(worker)
    })
}

/// Forgets the pool, so that the next `get_or_make` makes a new one. Then calls `newest`, before
/// any thread can make that new pool, and returns its result. None if there is no pool.
pub fn forget<T>(newest: impl FnOnce() -> T) -> Option<T> {
    MAKING.with(|()| forget_worker().then(newest))
}

/// Makes the worker the former one. False if there is none. Must be called with the lock, or alone.
fn forget_worker() -> bool {
    let worker = WORKER.swap(ptr::null_mut(), Ordering::Relaxed);
    if !worker.is_null() {
        FORMER.store(worker, Ordering::Release); // pairs with the load in `former`
    }
    !worker.is_null()
}

/// Forgets the parent's pool. Must be called in a child made by fork.
///
/// # Safety
/// No other thread of this process uses the functions of this file before this function returns.
pub unsafe fn renew() {
    forget_worker();
    // SAFETY: no other thread uses the lock.
    unsafe { MAKING.reset(()) };
}
