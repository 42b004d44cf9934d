//! AddressSanitizer, LeakSanitizer and ThreadSanitizer are told of stacks, and of every switch between two.
//!
//! ASan knows the bounds of the stack that a thread is on (for an exception, which it clears the way for, and to
//! say what an address is of), and keeps a "fake stack" for each, where locals lie if it looks for their use after
//! return. LSan, at the process's end, looks for pointers on those stacks, too, that nobody is on then. TSan has a
//! record, a "fiber", for whatever has a stack of its own: what that has seen of the others; a
//! switch passes it on. All are called by weak symbols, and a program built with none pays a comparison a switch.
//!
//! They are told before the switch, of arriving, too; a spawner of kind `cont` to which its child returns tells them
//! itself. What runs in between is the library's, in which nothing is instrumented.
//!
//! TSan sees what code does that was compiled for it. So it takes two tasks, one of which comes after the
//! other by what this library does, for a race, unless the library was compiled for it, too: `make tsan`
//! does that. (TSan alone then counts the calls and returns on each stack; so `enter` is part of its caller.)

use crate::sys::atomic::{AtomicBool, Ordering};
use crate::sys::weak::weak;
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

/// A stack as the sanitizers know it, and what they keep for it while nobody is on it.
pub struct SanitizerState {
    low: Cell<*const c_void>,
    size: Cell<usize>,
    fake: Cell<*mut c_void>,
    fiber: Cell<*mut c_void>,
}

// The sanitizers' interface, as in <sanitizer/common_interface_defs.h>, asan_interface.h and so on.
type Start = unsafe extern "C" fn(*mut *mut c_void, *const c_void, usize);
type Finish = unsafe extern "C" fn(*mut c_void, *mut *const c_void, *mut usize);
type Region = unsafe extern "C" fn(*const c_void, usize);
type Create = unsafe extern "C" fn(u32) -> *mut c_void;
type Destroy = unsafe extern "C" fn(*mut c_void);
type Current = unsafe extern "C" fn() -> *mut c_void;
type SwitchTo = unsafe extern "C" fn(*mut c_void, u32);

/// One of them is there.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Looks for them; before a run.
pub fn look() {
    let there = weak!("__sanitizer_start_switch_fiber", Start).is_some()
        || weak!("__tsan_switch_to_fiber", SwitchTo).is_some()
        || weak!("__lsan_register_root_region", Region).is_some();
    WATCHED.store(there, Ordering::Relaxed);
}

/// It never changes while a run goes on.
#[inline(always)]
pub fn watched() -> bool {
    WATCHED.load(Ordering::Relaxed)
}

/// True if TSan is there, to which each stack is a thread.
pub fn stacks_are_threads() -> bool {
    watched() && weak!("__tsan_switch_to_fiber", SwitchTo).is_some()
}

/// Tells ASan that the caller goes over to the stack of these bounds and this fake stack; where the other's
/// fake stack is to be kept, if it is. Returns the bounds of the other.
fn change(
    keep: *mut *mut c_void,
    fake: *mut c_void,
    low: *const c_void,
    size: usize,
) -> Option<(*const c_void, usize)> {
    let start = weak!("__sanitizer_start_switch_fiber", Start)?;
    let finish = weak!("__sanitizer_finish_switch_fiber", Finish)?;
    let (mut old_low, mut old_size) = (ptr::null(), 0);
    // SAFETY: valid places; bounds and fake stack belong together.
    unsafe {
        start(keep, low, size);
        finish(fake, &raw mut old_low, &raw mut old_size);
    }
    Some((old_low, old_size))
}

impl Default for SanitizerState {
    /// Of a stack that is yet to be told.
    fn default() -> Self {
        SanitizerState {
            low: Cell::new(ptr::null()),
            size: Cell::new(0),
            fake: Cell::new(ptr::null_mut()),
            fiber: Cell::new(ptr::null_mut()),
        }
    }
}

impl SanitizerState {
    /// Of a new stack, on which nobody is, until `forget`.
    pub fn of(low: usize, size: usize) -> SanitizerState {
        let side = SanitizerState::default();
        side.low.set(ptr::without_provenance(low));
        side.size.set(size);
        side.register();
        side
    }

    /// It is that of the stack that the caller is on, until `forget`.
    #[inline]
    pub fn learn_bounds(&self) {
        if watched() {
            self.learn_bounds_watched();
        }
    }

    #[cold]
    fn learn_bounds_watched(&self) {
        // A change tells where one comes from: to nowhere, and back.
        let mut fake = ptr::null_mut();
        if let Some((low, size)) = change(&raw mut fake, fake, ptr::null(), 0) {
            change(&raw mut fake, fake, low, size);
            self.low.set(low);
            self.size.set(size);
        }
        self.register();
        if let Some(current) = weak!("__tsan_get_current_fiber", Current) {
            // SAFETY: it takes nothing.
            self.fiber.set(unsafe { current() });
        }
    }

    fn register(&self) {
        let register = weak!("__lsan_register_root_region", Region);
        if let Some(register) = register.filter(|_| self.size.get() > 0) {
            // SAFETY: a stack, which may be read.
            unsafe { register(self.low.get(), self.size.get()) };
        }
    }

    /// Nobody leaves it any more: it is gone, or the caller is on it.
    pub fn forget(&self) {
        let unregister = weak!("__lsan_unregister_root_region", Region);
        if let Some(unregister) = unregister.filter(|_| self.size.get() > 0) {
            // SAFETY: as it was registered.
            unsafe { unregister(self.low.get(), self.size.get()) };
        }
    }

    /// The stack is gone, on which somebody was perhaps.
    pub fn end(&self) {
        self.forget();
        self.end_fiber();
    }

    fn end_fiber(&self) {
        let fiber = self.fiber.take();
        if let Some(destroy) = weak!("__tsan_destroy_fiber", Destroy).filter(|_| !fiber.is_null()) {
            // SAFETY: of this stack, and not the current one.
            unsafe { destroy(fiber) };
        }
    }

    /// The caller is about to leave its stack, `from`, for this one, which whoever ran on it before has left
    /// for good.
    #[inline(always)]
    pub fn enter_new<'a>(&self, from: impl FnOnce() -> &'a SanitizerState) {
        if watched() {
            self.renew();
            self.enter(|| Some(from()));
        }
    }

    #[cold]
    fn renew(&self) {
        self.end_fiber();
        if let Some(create) = weak!("__tsan_create_fiber", Create) {
            // SAFETY: no flags.
            self.fiber.set(unsafe { create(0) });
        }
    }

    /// The caller is about to leave its stack for this one; `from`, unless for good.
    #[inline(always)]
    pub fn enter<'a>(&self, from: impl FnOnce() -> Option<&'a SanitizerState>) {
        if !watched() {
            return;
        }
        let from = from();
        if from.is_none_or(|from| !ptr::eq(from, self)) {
            let keep = from.map_or(ptr::null_mut(), |from| from.fake.as_ptr());
            change(keep, self.fake.take(), self.low.get(), self.size.get());
            if let Some(switch) = weak!("__tsan_switch_to_fiber", SwitchTo) {
                // SAFETY: the other stack's; 0: what happened here is before what will there.
                unsafe { switch(self.fiber.get(), 0) };
            }
        }
    }
}
