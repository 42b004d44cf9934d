//! Gives the shared library its soname, and finds out what a debugger must know of Rust's library.
//! (tests/headers compares the headers with the exported functions: the build needs no crate.)

use std::collections::VecDeque;
use std::process::Command;
use std::{env, mem};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsched.so.1");
    // A task may still be running when a program closes the library; it must stay mapped.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rustc-env=LIBSCHED_VEC_DEQUE={}", words_of_vec_deque());
    // From this version on, asm! may jump, and a selection may be marked as unpredictable. Three
    // hot paths use this, and are an instruction longer with an older compiler.
    println!("cargo::rustc-check-cfg=cfg(sched_rust_1_88)");
    if minor_version().is_some_and(|minor| minor >= 88) {
        println!("cargo::rustc-cfg=sched_rust_1_88");
    }
}

/// N of the compiler's version 1.N.
fn minor_version() -> Option<u32> {
    let version = Command::new(env::var_os("RUSTC")?).arg("--version").output().ok()?.stdout;
    String::from_utf8(version).ok()?.strip_prefix("rustc 1.")?.split('.').next()?.parse().ok()
}

/// Which words of a `VecDeque` are the address of its places, their number, the place of the first
/// element, and the length: a digit each. Rust orders the fields of a type as it likes, but in the
/// same way for this program and for the library, and a debugger must know.
fn words_of_vec_deque() -> String {
    const WORDS: usize = size_of::<VecDeque<usize>>() / size_of::<usize>();
    let mut queue = VecDeque::with_capacity(100);
    queue.extend(0..50_usize);
    queue.drain(..20);
    // SAFETY: a `VecDeque` has so many words, and all of them are initialised: a pointer and three
    // numbers.
    let words: [usize; WORDS] = unsafe { mem::transmute_copy(&queue) };
    let head = 20;
    let places = queue.as_slices().0.as_ptr().wrapping_sub(head).addr();
    let meant = [places, queue.capacity(), head, queue.len()];
    let digits = meant.map(|value| {
        let at = words.iter().position(|&word| word == value);
        at.expect("it keeps each of them in a word").to_string()
    });
    digits.concat()
}
