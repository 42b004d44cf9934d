//! What might still help in a deadlock (`inspect::deadlock`):
//!
//! - A signal's handler. It cannot wake a task, since no function that does so may be called in a
//!   handler; but it can end the process, or leave a wait by a jump. (Most programs handle SIGINT,
//!   and nobody sends it.)
//! - Another process: a process that shares the awaited object (`inspect::shared_memory`), though
//!   the objects of this library are for one process; or a process that runs in this memory.
//! - A signal that ends the process, if a thread outside all runs waits for just that.

use crate::inspect::shared_memory;
use crate::runtime::waiter;
use crate::sync::outside::Count;
use crate::sys::{address_space, thread};
use crate::threads::watcher;
use std::ffi::c_int;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    SharedMemory,
    SharedProcess,
    Handler(c_int),
    /// This many threads outside all runs wait for an object. One of them may wait for the
    /// process's end.
    Threads(usize),
}

pub fn doubt(waiting: Count) -> Option<Doubt> {
    if shared_memory::may_hold_awaited(waiting.number()) {
        return Some(Doubt::SharedMemory);
    }
    if address_space::may_be_shared() {
        return Some(Doubt::SharedProcess);
    }
    if let Some(signal) = thread::handled_signal(&watcher::handlers()) {
        return Some(Doubt::Handler(signal));
    }
    let lone = waiter::lone_threads();
    (lone > 0).then_some(Doubt::Threads(lone))
}
