//! The compilers of C++ and Rust encode ("mangle") the names of functions. This file decodes them.
//!
//! A process with C++ has a function that decodes all C++ names, and the similar names of older
//! versions of Rust. Its result ends with the types of the parameters, which this file removes. In
//! a process without that function this file decodes the simple names: paths without types. Any
//! other name is passed on unchanged.

use crate::sys::weak::weak;
use std::ffi::{CStr, c_char, c_int};
use std::ptr;

/// A longer name is not decoded.
const MOST_LETTERS: usize = 512;

/// Passes on the decoded name, or the name itself.
pub fn demangled(name: &str, to: &mut dyn FnMut(&str)) {
    let is_cpp = name.starts_with("_Z");
    if !(is_cpp || name.starts_with("_R")) {
        return to(name);
    }
    let mut text = Text { letters: [0; MOST_LETTERS], count: 0 };
    if is_cpp && by_runtime(name, to) {
        return;
    }
    let decoded = if is_cpp { path_of_cpp(name, &mut text) } else { path_of_rust(name, &mut text) };
    to(if decoded.is_some() { text.as_str() } else { name });
}

/// Lets the C++ runtime decode the name. False if there is no runtime, or it cannot.
fn by_runtime(name: &str, to: &mut dyn FnMut(&str)) -> bool {
    type Demangle =
        unsafe extern "C" fn(*const c_char, *mut c_char, *mut usize, *mut c_int) -> *mut c_char;
    let Some(demangle) = weak!("__cxa_demangle", Demangle) else { return false };
    let mut letters = [0_u8; MOST_LETTERS];
    if name.len() >= MOST_LETTERS {
        return false;
    }
    letters[..name.len()].copy_from_slice(name.as_bytes());
    let mut status = 0;
    // SAFETY: the name ends with a zero byte, and the function allocates the result.
    let text = unsafe {
        demangle(letters.as_ptr().cast(), ptr::null_mut(), ptr::null_mut(), &raw mut status)
    };
    if text.is_null() {
        return false;
    }
    // SAFETY: the function gave this string, which the caller frees.
    unsafe {
        let decoded = CStr::from_ptr(text).to_str().map(without_parameters);
        let found = decoded.is_ok_and(|decoded| {
            to(without_hash(decoded));
            true
        });
        libc::free(text.cast());
        found
    }
}

/// The name without the parentheses at its end.
fn without_parameters(name: &str) -> &str {
    let mut depth = 0;
    for (at, letter) in name.bytes().enumerate().rev() {
        match letter {
            b')' => depth += 1,
            b'(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            // A name that does not end with a parenthesis stays as it is. "(f)" also stays.
            return if letter == b'(' && at > 0 { &name[..at] } else { name };
        }
    }
    name
}

/// The name without the number that older versions of Rust put at the end.
fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::") {
        Some((path, hash)) if is_hash(hash) => path,
        _ => name,
    }
}

fn is_hash(part: &str) -> bool {
    part.len() == 17 && part.starts_with('h') && part[1..].bytes().all(|b| b.is_ascii_hexdigit())
}

struct Text {
    letters: [u8; MOST_LETTERS],
    count: usize,
}

impl Text {
    fn add(&mut self, part: &str) -> Option<()> {
        let parts = if self.count > 0 { ["::", part] } else { ["", part] };
        for byte in parts.iter().flat_map(|part| part.bytes()) {
            *self.letters.get_mut(self.count)? = byte;
            self.count += 1;
        }
        Some(())
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.letters[..self.count]).unwrap_or("?")
    }
}

/// Takes a number, and that many letters after it.
fn take_part<'a>(name: &mut &'a str) -> Option<&'a str> {
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    let length: usize = name[..digits].parse().ok()?;
    let part = name.get(digits..digits.checked_add(length)?)?;
    *name = &name[digits + length..];
    Some(part)
}

/// `_Z4task...`, `_ZL4task...` (static), `_ZN5outer4taskE...`; and a lambda in one of these:
/// `_ZZ4task...Ul...`.
fn path_of_cpp(name: &str, to: &mut Text) -> Option<()> {
    let name = name.strip_prefix("_Z")?;
    let Some(outer) = name.strip_prefix('Z') else { return entity_of_cpp(name, to) };
    entity_of_cpp(outer, to)?;
    if outer.contains("Ul") { to.add("{lambda}") } else { None }
}

fn entity_of_cpp(name: &str, to: &mut Text) -> Option<()> {
    let Some(mut rest) = name.strip_prefix('N') else {
        let mut rest = name.strip_prefix('L').unwrap_or(name);
        let part = take_part(&mut rest)?;
        // The rest describes the parameters, unless the function is a template.
        return if rest.starts_with('I') { None } else { to.add(part) };
    };
    while !rest.starts_with('E') {
        rest = rest.strip_prefix('L').unwrap_or(rest);
        let part = take_part(&mut rest)?;
        if part == "_GLOBAL__N_1" {
            to.add("(anonymous namespace)")?;
        } else if !(is_hash(part) && rest.starts_with('E')) {
            to.add(part)?;
        }
    }
    Some(())
}

/// `_RNvNtCs1234_7program5outer4task`. A path is `N`, a letter, a path, and a part; or it is `C`
/// and a part. A part is a length and that number of letters. Before the length there may be a
/// hash, which begins with `s` and ends with `_`; there may be a `_` between length and letters.
fn path_of_rust(name: &str, to: &mut Text) -> Option<()> {
    let mut rest = name.strip_prefix("_R")?;
    let mut parts = 1;
    while let Some(path) = rest.strip_prefix('N') {
        rest = path.get(1..)?;
        parts += 1;
    }
    rest = rest.strip_prefix('C')?;
    for _ in 0..parts {
        if rest.starts_with('s') {
            rest = rest.split_once('_')?.1;
        }
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let length: usize = rest[..digits].parse().ok()?;
        let letters = &rest[digits..];
        let letters = letters.strip_prefix('_').unwrap_or(letters);
        let part = letters.get(..length)?;
        rest = &letters[length..];
        to.add(if part.is_empty() { "{closure}" } else { part })?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(of: fn(&str, &mut Text) -> Option<()>, name: &str) -> Option<String> {
        let mut text = Text { letters: [0; MOST_LETTERS], count: 0 };
        of(name, &mut text).map(|()| text.as_str().to_string())
    }

    #[test]
    fn simple_names_are_decoded() {
        let cpp = |name| path(path_of_cpp, name);
        assert_eq!(cpp("_Z4naptPvP9scheduler"), Some("napt".to_string()));
        assert_eq!(cpp("_ZL4naptPvP9scheduler"), Some("napt".to_string()));
        assert_eq!(cpp("_ZN5outer4naptEPvP9scheduler"), Some("outer::napt".to_string()));
        assert_eq!(cpp("_ZN5outerL4naptEPvP9scheduler"), Some("outer::napt".to_string()));
        let lambda = "_ZZ4mainENUlPvP9schedulerE_4_FUNES_S1_";
        assert_eq!(cpp(lambda), Some("main::{lambda}".to_string()));
        assert_eq!(cpp("_ZZ4mainE3now"), None);
        assert_eq!(cpp("_ZN7program4task17h0123456789abcdefE"), Some("program::task".to_string()));
        assert_eq!(cpp("_Z4naptIiEvPvP9scheduler"), None);
        assert_eq!(cpp("_Z99short"), None);
        let rust = |name| path(path_of_rust, name);
        let name = "_RNvNtCs9ltgdHTiPiY_7program5outer4task";
        assert_eq!(rust(name), Some("program::outer::task".to_string()));
        assert_eq!(rust("_RNCNvC7program4main0B3_"), Some("program::main::{closure}".to_string()));
        assert_eq!(rust("_RINvC7program4taskmE"), None);
    }

    #[test]
    fn what_the_runtime_adds_is_left_out() {
        assert_eq!(without_parameters("a::f(void*, scheduler*)"), "a::f");
        let lambda = "main::{lambda(void*, scheduler*)#1}::_FUN";
        assert_eq!(without_parameters(lambda), lambda);
        assert_eq!(without_parameters(&format!("{lambda}(void*, scheduler*)")), lambda);
        assert_eq!(without_parameters(")("), ")(");
        assert_eq!(without_hash("program::task::h0123456789abcdef"), "program::task");
        assert_eq!(without_hash("program::task"), "program::task");
    }

    #[test]
    fn other_names_stay_as_they_are() {
        for name in ["task", "_Z", "_Zx", "_R", "_Rx", "_ZN3abc"] {
            demangled(name, &mut |decoded| assert_eq!(decoded, name));
        }
    }
}
