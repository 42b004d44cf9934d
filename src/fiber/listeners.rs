//! Tells whether somebody must learn of each switch of stacks: a sanitizer, the C++ runtime, or an
//! observed run. A switch asks with one load; if somebody listens, it takes a slower path.

use crate::fiber::{exceptions, sanitizers};
use crate::sys::atomic::{AtomicUsize, Ordering};

/// 0: nobody listens. Bit 0: a sanitizer or the C++ runtime does. Each observed run adds two.
#[unsafe(link_section = "sched_words")]
static LISTENERS: AtomicUsize = AtomicUsize::new(0);

const RUN: usize = 2;

/// Called before a run.
pub fn detect() {
    sanitizers::detect();
    if sanitizers::watched() || exceptions::has_runtime() {
        LISTENERS.fetch_or(1, Ordering::Relaxed); // Relaxed: see `any`
    }
}

/// True if somebody listens. Relaxed: the value that a run needs was stored before the run began.
/// The slower path is also correct if nobody listens, so runs need not notice each other.
#[inline(always)]
pub fn any() -> bool {
    LISTENERS.load(Ordering::Relaxed) != 0
}

/// An observed run listens until this is dropped.
pub struct Listener(());

impl Listener {
    pub fn new() -> Self {
        LISTENERS.fetch_add(RUN, Ordering::Relaxed);
        Listener(())
    }
}

impl Default for Listener {
    fn default() -> Self {
        Listener::new()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        LISTENERS.fetch_sub(RUN, Ordering::Relaxed);
    }
}
