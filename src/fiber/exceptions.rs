//! The C++ exceptions that a task handles while it waits: the list of them is its thread's.
//!
//! A task that waits in a `catch` block leaves that list to the tasks that its thread runs meanwhile, and would
//! end its handler in another thread's. So it takes the list along. C++'s runtime tells where
//! it is, by a function of its ABI; a program without that runtime pays a comparison.

use crate::base::weak::weak;
use std::ffi::c_void;
use std::ptr;

/// `__cxa_eh_globals` of the Itanium C++ ABI.
#[repr(C)]
#[derive(Clone, Copy)]
struct Globals {
    caught: *mut c_void,
    uncaught: u32,
}

/// What a task takes along.
pub struct Handled(Globals);

const NONE: Globals = Globals { caught: ptr::null_mut(), uncaught: 0 };

/// The calling thread's.
#[inline]
fn globals() -> Option<*mut Globals> {
    let get = weak!("__cxa_get_globals", unsafe extern "C" fn() -> *mut Globals)?;
    // SAFETY: it takes nothing and returns the calling thread's.
    Some(unsafe { get() })
}

/// Takes them from the calling thread, which handles none from now on.
#[inline]
pub fn take() -> Handled {
    // SAFETY: the calling thread's own.
    Handled(globals().map_or(NONE, |globals| unsafe { globals.replace(NONE) }))
}

/// `take`, for a place that is written only if there is something to be taken.
///
/// # Safety
/// The place may be written.
#[inline(always)]
pub unsafe fn take_to(place: *mut Handled) {
    if let Some(globals) = globals() {
        // SAFETY: by the caller's promise; the calling thread's own.
        unsafe { place.write(Handled(globals.replace(NONE))) };
    }
}

/// `Handled::put`, from where `take_to` has left it.
///
/// # Safety
/// That was called for this place.
#[inline(always)]
pub unsafe fn put_from(place: *const Handled) {
    if let Some(globals) = globals() {
        // SAFETY: written, then; the calling thread's own.
        unsafe { globals.write((*place).0) };
    }
}

impl Handled {
    /// The calling thread goes on with them.
    #[inline]
    pub fn put(self) {
        if let Some(globals) = globals() {
            // SAFETY: the calling thread's own.
            unsafe { globals.write(self.0) };
        }
    }
}
