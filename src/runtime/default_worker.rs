//! The worker through which the default pool is used (`kind::default_pool`), and the lock under which the pool is made.
//!
//! `WORKER` is that worker, or null if this process has no pool. The Release store pairs with the Acquire load in
//! `get`, so that a thread that finds the worker finds the run settled. `MAKING` is held while a pool is made. A child
//! made by fork has neither the pool's threads nor the thread that holds the lock, so both are reset there. `FORMER` is
//! the worker of the pool before: the parent's, or one that was released at exit. To this process its run has ended, and
//! a caller that waits for one of its tasks is told so.

use crate::lock::mutex::Mutex;
use crate::runtime::record::Worker;
use crate::sys::atomic::{AtomicPtr, Ordering};
use std::ptr;

static WORKER: AtomicPtr<Worker> = AtomicPtr::new(ptr::null_mut());
static FORMER: AtomicPtr<Worker> = AtomicPtr::new(ptr::null_mut());
static MAKING: Mutex<()> = Mutex::new(());

/// The worker, if there is a pool.
pub fn get() -> Option<&'static Worker> {
    // SAFETY: records are never freed.
    unsafe { WORKER.load(Ordering::Acquire).as_ref() }
}

/// The worker of the former pool, if there was one.
pub fn former() -> Option<&'static Worker> {
    // SAFETY: records are never freed.
    unsafe { FORMER.load(Ordering::Acquire).as_ref() }
}

/// The worker. Where there is no pool, one thread calls `make`, and the others wait for it.
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

/// From now on there is no pool: the next `get_or_make` makes one. Returns the worker of the one that there was.
pub fn forget() -> Option<&'static Worker> {
    let worker = WORKER.swap(ptr::null_mut(), Ordering::Relaxed);
    if !worker.is_null() {
        FORMER.store(worker, Ordering::Release); // pairs with the load in `former`
    }
    // SAFETY: records are never freed.
    unsafe { worker.as_ref() }
}

/// This is a child made by fork.
///
/// # Safety
/// No other thread of this process uses these functions before this returns.
pub unsafe fn renew() {
    forget();
    // SAFETY: passed on.
    unsafe { MAKING.reset(()) };
}
