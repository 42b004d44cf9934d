//! The environment of the process.

use std::ffi::{CStr, c_char};

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// Calls `visit` with each `SCHED_*` variable of the environment that is not empty. The function
/// reads the environment once. (getenv would read it once for each variable.)
///
/// As with secure_getenv, a process that gained rights by its execve (by a set-user-ID program or
/// file capabilities) has no such variables: its caller chooses the environment, and must not
/// control through it how the process uses these rights.
pub fn visit_all(mut visit: impl FnMut(&'static str, &'static CStr)) {
    // SAFETY: getauxval accepts any number, and has no side effect.
    if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
        return;
    }
    // SAFETY: environ is the process's, a list that ends with null. As with getenv, the program
    // must not change it concurrently, and its strings stay valid until the program changes it.
    unsafe {
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            if begins(*entry, b"SCHED_") {
                let bytes = CStr::from_ptr(*entry).to_bytes();
                let at = bytes.iter().position(|&b| b == b'=').filter(|at| at + 1 < bytes.len());
                if let Some((at, Ok(name))) = at.map(|at| (at, std::str::from_utf8(&bytes[..at]))) {
                    visit(name, CStr::from_ptr((*entry).add(at + 1)));
                }
            }
            entry = entry.add(1);
        }
    }
}

/// True if the text begins with this prefix, which contains no 0. (Measuring the length of each
/// variable would take a twentieth of an empty run in a long environment.)
///
/// # Safety
/// The text is a string of C.
unsafe fn begins(text: *const c_char, prefix: &[u8]) -> bool {
    // SAFETY: the comparison ends at the first difference, so at the 0 of a shorter text.
    prefix.iter().enumerate().all(|(i, &byte)| unsafe { *text.add(i) } as u8 == byte)
}
