//! ThreadSanitizer's functions, by weak symbols.

use crate::sys::weak::weak;
use std::ffi::c_void;
use std::ptr;

type Edge = unsafe extern "C" fn(*mut c_void);
type Ignore = unsafe extern "C" fn();

pub fn is_present() -> bool {
    weak!("__tsan_acquire", Edge).is_some()
}

pub fn release(tag: usize) {
    if let Some(release) = weak!("__tsan_release", Edge) {
        // SAFETY: the detector takes any address, and does not access what is there.
        unsafe { release(ptr::without_provenance_mut(tag)) };
    }
}

pub fn acquire(tag: usize) {
    if let Some(acquire) = weak!("__tsan_acquire", Edge) {
        // SAFETY: the detector takes any address, and does not access what is there.
        unsafe { acquire(ptr::without_provenance_mut(tag)) };
    }
}

pub fn ignore() {
    if let Some(begin) = weak!("__tsan_ignore_thread_begin", Ignore) {
        // SAFETY: the function has no arguments; the runtime counts the calls.
        unsafe { begin() };
    }
}

pub fn heed_again() {
    if let Some(end) = weak!("__tsan_ignore_thread_end", Ignore) {
        // SAFETY: the function has no arguments, and `ignore` was called.
        unsafe { end() };
    }
}
