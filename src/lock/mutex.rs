//! The library's own mutex: a value behind the lock of [`super::three_states`]. The child of a fork
//! can free it. In the models loom's mutex stands in its place (`sys/model/mutex.rs`).

use crate::lock::three_states::ThreeStates;
use std::cell::UnsafeCell;
use std::mem::offset_of;

pub struct Mutex<T> {
    state: ThreeStates,
    value: UnsafeCell<T>,
}

// SAFETY: the value is used only under the lock, by one thread at a time.
unsafe impl<T: Send> Sync for Mutex<T> {}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

impl<T> Mutex<T> {
    /// The offset of the value, for a debugger.
    pub const VALUE: usize = offset_of!(Mutex<T>, value);

    pub const fn new(value: T) -> Self {
        Mutex { state: ThreeStates::new(), value: UnsafeCell::new(value) }
    }

    /// Locks, calls `work` with the value, and unlocks.
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: `work` has returned, and the reference is gone, before the unlocking below.
        let result = work(unsafe { self.lock() });
        // SAFETY: the calling thread has locked it above.
        unsafe { self.unlock() };
        result
    }

    /// Like `with`, if the lock is free; otherwise None.
    pub fn try_with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.state.try_lock().then(|| {
            // SAFETY: as in `with`.
            let result = work(unsafe { self.locked() });
            // SAFETY: as in `with`.
            unsafe { self.unlock() };
            result
        })
    }

    /// Locks, and returns the value, which is the caller's alone until `unlock`.
    ///
    /// # Safety
    /// The reference is not used after `unlock`.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
    pub unsafe fn lock(&self) -> &mut T {
        self.state.lock();
        // SAFETY: the calling thread holds the lock from now on.
        unsafe { &mut *self.value.get() }
    }

    /// The value, for a thread that already holds the lock, or that nobody can meet there.
    ///
    /// # Safety
    /// The calling thread holds the lock, or no other thread uses it; no other reference to the
    /// value is used.
    #[allow(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
    pub unsafe fn locked(&self) -> &mut T {
        // SAFETY: the lock is held, and this is the only reference.
        unsafe { &mut *self.value.get() }
    }

    /// # Safety
    /// The calling thread holds the lock.
    #[inline]
    pub unsafe fn unlock(&self) {
        // SAFETY: the calling thread holds the lock.
        unsafe { self.state.unlock() };
    }

    /// Frees the lock, whichever thread held it. The value must be consistent at every moment.
    ///
    /// # Safety
    /// No other thread of this process uses the lock.
    pub unsafe fn force_unlock(&self) {
        // SAFETY: no other thread uses the lock.
        unsafe { self.state.force_unlock() };
    }

    /// Frees the lock, whichever thread held it, and replaces the value: for the child of a
    /// fork, where the holder does not exist.
    ///
    /// # Safety
    /// No other thread of this process uses the lock.
    pub unsafe fn reset(&self, value: T) {
        // SAFETY: no other thread uses the value. The old value is not dropped, because it may be
        // half changed.
        unsafe { self.value.get().write(value) };
        // SAFETY: no other thread uses the lock.
        unsafe { self.state.force_unlock() };
    }
}
