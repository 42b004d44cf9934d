//! The lines that the process has printed on stderr about the environment: each is printed once. (A
//! program that passes NULL for the default pool tries to make that pool at each call, and all
//! tries fail for the same reason.)

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Never,
    Before,
    /// There were too many texts to remember this one.
    Unknown,
}

/// The FNV-1a hash of a text.
pub struct Hash(u64);

impl Write for Hash {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for &byte in text.as_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        Ok(())
    }
}

/// Tells whether an earlier call had this text. (Relaxed: the array orders no other memory.)
pub fn note(write: impl FnOnce(&mut Hash) -> fmt::Result) -> Told {
    #[unsafe(link_section = "sched_words")]
    static SEEN: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    let _ = write(&mut hash);
    let hash = hash.0 | 1; // 0 is a free place
    for place in &SEEN {
        match place.compare_exchange(0, hash, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return Told::Never,
            Err(seen) if seen == hash => return Told::Before,
            Err(_) => {}
        }
    }
    Told::Unknown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: fmt::Arguments) -> Told {
        note(|hash| hash.write_fmt(text))
    }

    #[test]
    fn a_text_is_told_once_and_too_many_are_not_remembered() {
        assert_eq!(told(format_args!("SCHED_A={}", 1)), Told::Never);
        assert_eq!(told(format_args!("SCHED_A={}", 2)), Told::Never);
        assert_eq!(told(format_args!("SCHED_A={}", 1)), Told::Before);
        (0..64).for_each(|i| _ = told(format_args!("SCHED_B={i}")));
        assert_eq!(told(format_args!("SCHED_C")), Told::Unknown);
        assert_eq!(told(format_args!("SCHED_C")), Told::Unknown);
        assert_eq!(told(format_args!("SCHED_A={}", 2)), Told::Before);
    }
}
