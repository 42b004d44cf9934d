//! `errno`: how a call of the C interface reports an error.

use std::ffi::{c_int, c_long};

/// An `errno` value: what a failing call of the C interface reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

pub fn get() -> c_int {
    // SAFETY: the address is valid for the calling thread.
    unsafe { *libc::__errno_location() }
}

pub fn set(value: Errno) {
    // SAFETY: the address is valid for the calling thread.
    unsafe { *libc::__errno_location() = value.0 }
}

/// The result of a system call.
pub fn done(result: c_long) -> Result<usize, Errno> {
    usize::try_from(result).map_err(|_| Errno(get()))
}

/// Sets errno and returns -1, the result of a failing function of the C interface.
#[cold]
#[inline(never)]
pub fn failed(error: c_int) -> c_int {
    set(Errno(error));
    -1
}
