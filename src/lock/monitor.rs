//! The locks that the course asks to compare, as a trait. A lock is a type parameter of the queue
//! that it guards.
//!
//! | type | lock | place to wait |
//! | --- | --- | --- |
//! | `posix::PthreadMutex` | pthread_mutex_t | pthread_cond_t |
//! | `posix::Semaphore` | sem_t at 1 | sem_t at 0 |
//! | `spin::Spin` | test-and-test-and-set, exponential backoff, then sched_yield | futex |
//!
//! The models bring a monitor of their own.

/// A lock with a place to wait, as a monitor has (C. A. R. Hoare, 1974).
///
/// # Safety
/// Between `lock` and `unlock` the holder must be alone, and the next holder must see everything
/// that this one wrote.
pub unsafe trait Monitor: Send + Sync + 'static {
    fn new() -> Self;

    /// Called once, when the value has its final address, before its first use.
    ///
    /// # Safety
    /// The value does not move afterwards, and nobody has used it yet.
    unsafe fn initialize_in_place(&self) {}

    fn lock(&self);

    /// # Safety
    /// The caller holds the lock.
    unsafe fn unlock(&self);

    /// Unlocks, sleeps until a `notify` that comes after the unlocking, and locks again. May return
    /// spuriously: callers loop on their condition.
    ///
    /// # Safety
    /// The caller holds the lock.
    unsafe fn wait(&self);

    /// Wakes one of the threads in `wait`; at least one is there.
    fn notify_one(&self);

    /// Wakes all threads in `wait`; at most `n` are there.
    fn notify_all(&self, n: usize);
}
