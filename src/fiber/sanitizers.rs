//! Tells AddressSanitizer, LeakSanitizer and ThreadSanitizer of stacks and of the switches of
//! stacks.
//!
//! ASan must know the bounds of the stack that a thread is on, to clear the stack when an exception
//! is thrown, and to describe an address. For each stack ASan keeps a "fake stack", which holds the
//! local variables if ASan looks for their use after return. LSan looks for pointers at the
//! process's end, also on stacks that no thread is on. TSan keeps a record, a "fiber", for each
//! stack: it says which accesses of other stacks are ordered before those of this one. A switch
//! passes this order on. All functions are called by weak symbols; a program without sanitizers
//! pays a comparison.
//!
//! The sanitizers are told of a switch, and of the arrival, before the switch is made. One case
//! differs: when a child of kind `cont` returns to its spawner, the spawner tells them after the
//! switch. The code in between is the library's, which is not instrumented.
//!
//! TSan only sees accesses by code that was compiled for it. `sys::detector` tells it which tasks
//! this library orders one after the other.
//!
//! To TSan a stack has one fiber for as long as the stack exists, so two tasks that use the same
//! stack one after the other are ordered, like the uses of the stack's memory. Rejected: a new
//! fiber for each loop. Creating a fiber takes a millisecond, and TSan would not know the order.
//!
//! valgrind knows each stack from its creation to its end. DRD takes the stack that a thread has
//! registered last for the thread's own, and treats accesses to it as harmless. So under DRD a
//! stack is registered again whenever a thread switches to it.
//!
//! `make tsan` compiles the library itself for TSan. TSan counts the calls and returns on each
//! stack, and a loop that is abandoned does not return. So such a library makes a new fiber for
//! each loop, and `enter` must be inlined into its caller.

use crate::sys::atomic::{AtomicBool, Ordering};
use crate::sys::detector::{self, tsan};
use crate::sys::stack_room;
use crate::sys::valgrind::{self, Registered};
use crate::sys::weak::weak;
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

/// The sanitizers' data about a stack, and their state for it while no thread is on it.
pub struct SanitizerState {
    low: Cell<*const c_void>,
    size: Cell<usize>,
    fake: Cell<*mut c_void>,
    fiber: Cell<*mut c_void>,
    /// Valgrind's registration of the stack. It is Some(..) even if valgrind is absent.
    registered: Cell<Option<Registered>>,
}

// The sanitizers' interface: <sanitizer/common_interface_defs.h>, asan_interface.h and so on.
type Start = unsafe extern "C" fn(*mut *mut c_void, *const c_void, usize);
type Finish = unsafe extern "C" fn(*mut c_void, *mut *const c_void, *mut usize);
type Region = unsafe extern "C" fn(*const c_void, usize);
type Create = unsafe extern "C" fn(u32) -> *mut c_void;
type Destroy = unsafe extern "C" fn(*mut c_void);
type Current = unsafe extern "C" fn() -> *mut c_void;
type SwitchTo = unsafe extern "C" fn(*mut c_void, u32);

/// The bytes at the high end of a stack: the fiber's record, the red zone below it, and some more.
const HIGH_END: usize = 2048;

#[unsafe(link_section = "sched_words")]
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Called before a run.
pub fn detect() {
    let there = weak!("__sanitizer_start_switch_fiber", Start).is_some()
        || weak!("__tsan_switch_to_fiber", SwitchTo).is_some()
        || weak!("__lsan_register_root_region", Region).is_some()
        || detector::is_present();
    WATCHED.store(there, Ordering::Relaxed);
}

/// True if a sanitizer must be told. Never changes during a run.
#[inline(always)]
pub fn watched() -> bool {
    WATCHED.load(Ordering::Relaxed)
}

/// True if TSan is present, which treats each stack as a thread.
pub fn stacks_are_threads() -> bool {
    watched() && weak!("__tsan_switch_to_fiber", SwitchTo).is_some()
}

/// Tells ASan that the caller switches to the stack with these bounds and this fake stack. `keep`
/// is the place for the fake stack of the stack that is left; null if that stack is left for good.
/// Returns the bounds of the stack that is left.
fn switch_asan(
    keep: *mut *mut c_void,
    fake: *mut c_void,
    low: *const c_void,
    size: usize,
) -> Option<(*const c_void, usize)> {
    let start = weak!("__sanitizer_start_switch_fiber", Start)?;
    let finish = weak!("__sanitizer_finish_switch_fiber", Finish)?;
    let (mut old_low, mut old_size) = (ptr::null(), 0);
    // SAFETY: the places are valid; bounds and fake stack belong to the same stack.
    unsafe {
        start(keep, low, size);
        finish(fake, &raw mut old_low, &raw mut old_size);
    }
    Some((old_low, old_size))
}

/// Calls `what` as if the calling thread was on the stack of this TSan fiber. Does nothing if TSan
/// is absent or the library itself is compiled for TSan.
fn on_fiber(fiber: *mut c_void, what: fn()) {
    const UNORDERED: u32 = 1;
    if !detector::is_present() {
        return;
    }
    let Some(current) = weak!("__tsan_get_current_fiber", Current) else { return };
    let Some(switch) = weak!("__tsan_switch_to_fiber", SwitchTo) else { return };
    // SAFETY: both TSan fibers exist, and no thread is on this one.
    unsafe {
        let own = current();
        switch(fiber, UNORDERED);
        what();
        switch(own, UNORDERED);
    }
}

impl Default for SanitizerState {
    /// The state of a stack that the sanitizers do not know yet.
    fn default() -> Self {
        SanitizerState {
            low: Cell::new(ptr::null()),
            size: Cell::new(0),
            fake: Cell::new(ptr::null_mut()),
            fiber: Cell::new(ptr::null_mut()),
            registered: Cell::new(None),
        }
    }
}

impl SanitizerState {
    /// The state of a new stack that no thread is on. The sanitizers know the stack until `forget`.
    pub fn of(low: usize, size: usize) -> SanitizerState {
        let state = SanitizerState::default();
        state.low.set(ptr::without_provenance(low));
        state.size.set(size);
        state.register();
        if !detector::is_drd() {
            state.register_with_valgrind();
        }
        state
    }

    /// Learns the bounds of the stack that the caller is on; the state is that stack's until
    /// `forget`. If the caller is not on its thread's own stack, it is on one of `fiber_stacks`.
    #[inline]
    pub fn learn_bounds<'a>(&self, fiber_stacks: impl Iterator<Item = &'a SanitizerState>) {
        if watched() {
            self.learn_bounds_watched(fiber_stacks);
        }
    }

    #[cold]
    fn learn_bounds_watched<'a>(&self, fiber_stacks: impl Iterator<Item = &'a SanitizerState>) {
        // ASan reports the bounds of the stack that a switch leaves: switch to no stack, and back.
        let mut fake = ptr::null_mut();
        if let Some((low, size)) = switch_asan(&raw mut fake, fake, ptr::null(), 0) {
            switch_asan(&raw mut fake, fake, low, size);
            self.low.set(low);
            self.size.set(size);
        }
        if detector::is_drd() {
            // The bounds of the whole stack: DRD takes memory outside of them for shared memory.
            let here = ptr::from_ref(&fake).addr();
            let mut bounds = fiber_stacks.map(SanitizerState::bounds);
            let (low, high) = bounds
                .find(|&(low, high)| (low..high).contains(&here))
                .unwrap_or_else(stack_room::around);
            self.low.set(ptr::without_provenance(low));
            self.size.set(high - low);
        }
        self.register();
        if let Some(current) = weak!("__tsan_get_current_fiber", Current) {
            // SAFETY: the function takes no argument.
            self.fiber.set(unsafe { current() });
        }
    }

    fn bounds(&self) -> (usize, usize) {
        let low = self.low.get().addr();
        (low, low + self.size.get())
    }

    fn register_with_valgrind(&self) {
        let (low, high) = self.bounds();
        let registered = valgrind::register(low, high);
        self.registered.replace(Some(registered)).inspect(|before| before.forget());
    }

    fn register(&self) {
        let register = weak!("__lsan_register_root_region", Region);
        if let Some(register) = register.filter(|_| self.size.get() > 0) {
            // SAFETY: the bounds are those of a stack, which may be read.
            unsafe { register(self.low.get(), self.size.get()) };
        }
    }

    /// Makes LSan and valgrind forget the stack, which is gone, or on which the caller stays.
    pub fn forget(&self) {
        let unregister = weak!("__lsan_unregister_root_region", Region);
        if let Some(unregister) = unregister.filter(|_| self.size.get() > 0) {
            // SAFETY: the same region was registered.
            unsafe { unregister(self.low.get(), self.size.get()) };
        }
        self.registered.take().inspect(Registered::forget);
    }

    /// The stack is gone; tasks may have run on it.
    pub fn end(&self) {
        self.forget();
        self.end_fiber();
    }

    fn end_fiber(&self) {
        let fiber = self.fiber.replace(ptr::null_mut());
        if let Some(destroy) = weak!("__tsan_destroy_fiber", Destroy).filter(|_| !fiber.is_null()) {
            on_fiber(fiber, tsan::heed_again); // a TSan fiber must not end while it is ignored
            // SAFETY: the TSan fiber belongs to this stack and is not the current one.
            unsafe { destroy(fiber) };
        }
    }

    /// The caller is about to leave its stack, `from`, for this one, which has no user any more.
    #[inline(always)]
    pub fn enter_new<'a>(&self, from: impl FnOnce() -> &'a SanitizerState) {
        if watched() {
            self.renew();
            self.enter(|| Some(from()));
        }
    }

    #[cold]
    fn renew(&self) {
        // Helgrind takes memory of a stack for new when the stack pointer comes within 128 bytes of
        // it (the red zone), but not when the stack pointer comes from another stack. So without
        // the next lines Helgrind would attribute the first frames here to the last user.
        let (_, high) = self.bounds();
        detector::own_bytes(high - HIGH_END, HIGH_END);
        if cfg!(sched_instrumented) {
            self.end_fiber(); // discards the calls for which no return was counted
        }
        let create = weak!("__tsan_create_fiber", Create);
        if let Some(create) = create.filter(|_| self.fiber.get().is_null()) {
            // SAFETY: the function takes flags; 0 is valid.
            let fiber = unsafe { create(0) };
            on_fiber(fiber, tsan::ignore); // ignored until a task begins on the stack
            self.fiber.set(fiber);
        }
    }

    /// The caller is about to leave its stack, `from`, for this one. None means that it leaves
    /// `from` for good.
    #[inline(always)]
    pub fn enter<'a>(&self, from: impl FnOnce() -> Option<&'a SanitizerState>) {
        if !watched() {
            return;
        }
        let from = from();
        if from.is_none_or(|from| !ptr::eq(from, self)) {
            if detector::is_drd() {
                self.register_with_valgrind();
            }
            let keep = from.map_or(ptr::null_mut(), |from| from.fake.as_ptr());
            let fake = self.fake.replace(ptr::null_mut());
            switch_asan(keep, fake, self.low.get(), self.size.get());
            if let Some(switch) = weak!("__tsan_switch_to_fiber", SwitchTo) {
                // SAFETY: the TSan fiber is the other stack's. Flag 0: what happened here is
                // ordered before what happens there.
                unsafe { switch(self.fiber.get(), 0) };
            }
        }
    }
}
