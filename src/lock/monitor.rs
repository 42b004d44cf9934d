//! The locks that the course asks to compare, as a trait. A queue has its lock as a type parameter.
//!
//! | type | lock | the next holder is | a waiter | place to wait |
//! | --- | --- | --- | --- | --- |
//! | `posix::PthreadMutex` | pthread_mutex_t | whoever comes first | sleeps | pthread_cond_t |
//! | `posix::Semaphore` | sem_t at 1 | whoever comes first | sleeps | sem_t at 0 |
//! | `bell::Spin` | test-and-test-and-set | whoever comes first | spins ever longer, yields | futex |
//! | `bell::Adaptive` | three-state futex | whoever comes first | spins, then sleeps | futex |
//! | `bell::Fair` | hand-over | the oldest waiter | sleeps | futex |
//!
//! The models of whole runs use a monitor of their own.

use std::time::Duration;

/// A lock without a place to wait.
///
/// # Safety
/// Between `lock` and `unlock` the holder must be alone. The next holder must see all its writes.
pub unsafe trait RawLock: Send + Sync + 'static {
    fn new() -> Self;

    fn lock(&self);

    /// # Safety
    /// The caller holds the lock.
    unsafe fn unlock(&self);
}

/// A lock with a place to wait, as a monitor has (C. A. R. Hoare, 1974).
///
/// # Safety
/// Between `lock` and `unlock` the holder must be alone. The next holder must see all its writes.
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

    /// Unlocks, sleeps until a later `notify`, but at most for `limit`, and locks again. May return
    /// spuriously: callers loop on their condition. `limit` is at most `futex::LONGEST`.
    ///
    /// # Safety
    /// The caller holds the lock.
    unsafe fn wait(&self, limit: Duration);

    /// Wakes one of the threads in `wait`, if one is there.
    fn notify_one(&self);

    /// Wakes all threads in `wait`; at most `n` are there.
    fn notify_all(&self, n: usize);
}
