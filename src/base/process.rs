//! Which process this is: a child made by fork has the memory of its parent and none of its threads.
//!
//! What belongs to threads is made anew in it, once, before it is used: by a fork handler, or, since
//! a handler of the program's may come first and start a run, by the first run.

use super::sync::{AtomicI32, Ordering};
use super::thread;

/// The process that everything is made for; negative while it is made anew; 0: none yet.
static PROCESS: AtomicI32 = AtomicI32::new(0);

fn current() -> i32 {
    // SAFETY: no arguments.
    unsafe { libc::getpid() }
}

/// True unless this is a child of the process that everything is made for.
pub fn is_known() -> bool {
    PROCESS.load(Ordering::Acquire) == current()
}

/// Calls `renew` if this process is a new one. No thread of it gets past here before that is done.
pub fn watch(renew: fn()) {
    let me = current();
    loop {
        let process = PROCESS.load(Ordering::Acquire);
        if process == me {
            return;
        }
        // The swap picks one thread of this process; what the parent's wrote came with the memory.
        if process == -me {
            thread::give_way();
        } else if PROCESS
            .compare_exchange(process, -me, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
        {
            renew();
            PROCESS.store(me, Ordering::Release); // pairs with the loads
            return;
        }
    }
}
