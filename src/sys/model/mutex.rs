//! The models' `lock::mutex`: loom's mutex with the interface of ours.

use loom::sync::MutexGuard;
use std::cell::UnsafeCell;
use std::mem;
use std::sync::OnceLock;

pub struct Mutex<T> {
    /// Made at the first use, by a model: the library has mutexes in statics.
    lock: OnceLock<loom::sync::Mutex<()>>,
    /// Between `lock` and `unlock`: the holder's.
    guard: UnsafeCell<Option<MutexGuard<'static, ()>>>,
    value: UnsafeCell<T>,
}

// SAFETY: value and guard are used only under the lock, by one thread at a time.
unsafe impl<T: Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Mutex<T> {}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

impl<T> Mutex<T> {
    /// No debugger looks at a model.
    pub const VALUE: usize = 0;

    pub const fn new(value: T) -> Self {
        Mutex { lock: OnceLock::new(), guard: UnsafeCell::new(None), value: UnsafeCell::new(value) }
    }

    fn mutex(&self) -> &loom::sync::Mutex<()> {
        self.lock.get_or_init(|| loom::sync::Mutex::new(()))
    }

    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let _guard = self.mutex().lock().expect("a model that panics is over");
        // SAFETY: the calling thread holds the lock.
        work(unsafe { &mut *self.value.get() })
    }

    pub fn try_with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        let _guard = self.mutex().try_lock().ok()?;
        // SAFETY: the calling thread holds the lock.
        Some(work(unsafe { &mut *self.value.get() }))
    }

    /// # Safety
    /// The reference is not used after `unlock`.
    #[allow(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
    pub unsafe fn lock(&self) -> &mut T {
        let guard = self.mutex().lock().expect("a model that panics is over");
        // SAFETY: `unlock` drops the guard before the mutex is moved or dropped. The calling thread
        // holds the lock.
        unsafe {
            *self.guard.get() =
                Some(mem::transmute::<MutexGuard<'_, ()>, MutexGuard<'_, ()>>(guard));
            &mut *self.value.get()
        }
    }

    /// # Safety
    /// The calling thread holds the lock, and uses no other reference to the value.
    #[allow(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
    pub unsafe fn locked(&self) -> &mut T {
        // SAFETY: the lock is held, and this is the only reference.
        unsafe { &mut *self.value.get() }
    }

    /// # Safety
    /// The calling thread has called `lock`.
    pub unsafe fn unlock(&self) {
        // SAFETY: this thread holds the lock, and so the guard.
        drop(unsafe { (*self.guard.get()).take() });
    }

    /// A model does not fork: no thread that does not exist holds the lock.
    ///
    /// # Safety
    /// No other thread uses the lock.
    pub unsafe fn reset(&self, value: T) {
        // SAFETY: no other thread uses the value.
        unsafe { self.value.get().write(value) };
    }
}
