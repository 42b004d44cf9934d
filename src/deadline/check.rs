//! In debug builds: the memory of entries is checked, which the program might free or use for
//! something else too early. Other builds have nothing of this.

use crate::sys::output;

/// Ends the process if an entry is not what it was when it was added.
#[inline(always)]
pub(super) fn ensure(is_so: impl FnOnce() -> bool) {
    if cfg!(debug_assertions) && !is_so() {
        output::die(format_args!(
            "the memory of a pending sched_timer, or of a task that waits with a deadline, was freed or \
             used for something else"
        ));
    }
}

/// A check sum. Its upper bits depend on all words.
pub fn sum(words: &[usize]) -> usize {
    words
        .iter()
        .fold(0, |sum, word| (sum.rotate_left(29) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}
