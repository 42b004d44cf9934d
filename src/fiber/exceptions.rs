//! The C++ exceptions that a task handles while it waits: the list of them is its thread's.
//!
//! A task that waits in a `catch` block leaves that list to the tasks that its thread runs meanwhile, and would
//! end its handler in another thread's. So it takes the list along. C++'s runtime tells where
//! it is, by a function of its ABI; a program without that runtime pays a comparison.

use crate::sys::weak::weak;
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

/// True if C++'s runtime is there.
pub fn there() -> bool {
    weak!("__cxa_get_globals", unsafe extern "C" fn() -> *mut Globals).is_some()
}

/// Takes them from the calling thread, which handles none from now on.
#[inline]
pub fn take() -> Handled {
    // SAFETY: the calling thread's own.
    Handled(globals().map_or(NONE, |globals| unsafe { globals.replace(NONE) }))
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
