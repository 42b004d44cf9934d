//! The C++ exceptions that a task handles while it waits. The C++ runtime lists them per thread.
//!
//! A task may wait in a `catch` block. If its exceptions stayed in its thread's list, the tasks
//! that the thread runs in the meantime would find them there; and if the task continued on another
//! thread, its handler would end with that thread's list. So the task takes its part of the list
//! along. A function of the C++ ABI returns the list; a program without C++ pays a comparison.

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

/// The exceptions that a waiting task takes along.
pub struct Handled(Globals);

const NONE: Globals = Globals { caught: ptr::null_mut(), uncaught: 0 };

/// The calling thread's list.
#[inline]
fn globals() -> Option<*mut Globals> {
    let get = weak!("__cxa_get_globals", unsafe extern "C" fn() -> *mut Globals)?;
    // SAFETY: the function takes no argument and returns the calling thread's list.
    Some(unsafe { get() })
}

pub fn has_runtime() -> bool {
    weak!("__cxa_get_globals", unsafe extern "C" fn() -> *mut Globals).is_some()
}

/// Takes the list from the calling thread, which handles no exception from now on.
#[inline]
pub fn take() -> Handled {
    // SAFETY: the list is the calling thread's own.
    Handled(globals().map_or(NONE, |globals| unsafe { globals.replace(NONE) }))
}

impl Handled {
    /// Gives the list to the calling thread.
    #[inline]
    pub fn put(self) {
        if let Some(globals) = globals() {
            // SAFETY: the list is the calling thread's own.
            unsafe { globals.write(self.0) };
        }
    }
}
