//! The place where a suspended task waits: the return addresses on its stack, and its function.
//!
//! The stack is copied, unless the task continues: `runtime::wait_note` has the protocol.
//!
//! A task's record tells which forked task it is (`inspect::records`). Without a record:
//!
//! - A task that was queued: `run_forked` keeps the address of the descriptor in its frame, or in a
//!   register that the task's function saves in its own; so the address lies near the high end of
//!   the stack. An old word may look the same. So the word is taken for the task's descriptor only
//!   if `run_forked` is among the task's callers. (Rejected: a store in each forked task, which
//!   would leave no doubt, at the price of that store.)
//! - A task that kind `cont` has called at once: its fiber has the descriptor
//!   (`Fiber::descriptor`). Other tasks may have come to that stack since then. So the word is
//!   taken for the task's descriptor only if `run_forked` is not among the task's callers, and if
//!   the descriptor names the function that the task executes. If the file has no names, it
//!   suffices that the descriptor's function begins shortly before the task's address.

use crate::fiber::trace::{MOST, return_addresses};
use crate::inspect::walk::SeenTask;
use crate::runtime::continuation::Continuation;
use crate::runtime::forked::run_forked;
use crate::runtime::record::Fiber;
use crate::runtime::waiter::Waiter;
use crate::sync::forked::{self, Forked};
use crate::sys::{peek, symbol};

/// A stack with more bytes in use is not copied.
const MOST_BYTES: usize = 4 << 20;
/// The first frames of a task lie within this many bytes of the high end of the stack.
const FIRST_FRAMES: usize = 1 << 10;

/// At least the size of `run_forked` in bytes.
const MOST_OF_CALLER: usize = 512;
/// Most functions have fewer bytes than this.
const MOST_OF_FUNCTION: usize = 4096;

/// The stack of a suspended task.
pub struct Trace {
    frames: [usize; MOST],
    count: usize,
    /// The task's descriptor, if it is among those that were asked for.
    pub descriptor: Option<usize>,
}

impl Trace {
    /// None if the task is not suspended, continues during the call, or its stack cannot be read.
    /// `descriptors` are sorted.
    pub fn of(task: &SeenTask, descriptors: &[usize]) -> Option<Trace> {
        let noted = task.waits?;
        let word = peek::word(noted.latch.addr())?;
        // SAFETY: a name that `pack` has returned, or no name at all; only its bits are used.
        let at = unsafe { Waiter::continuation(forked::name_in(word)) }?.addr();
        let stack = task.low..task.fiber;
        let (context, fiber) = stack.contains(&at).then(|| Continuation::peek(at))??;
        let bytes = task.fiber.wrapping_sub(context);
        if fiber != task.fiber || !stack.contains(&context) || bytes > MOST_BYTES {
            return None;
        }
        let mut copy = Vec::new();
        copy.try_reserve_exact(bytes / size_of::<usize>()).ok()?;
        copy.resize(bytes / size_of::<usize>(), 0_usize);
        // SAFETY: `copy` has room for this many bytes.
        let copied = unsafe { peek::copy(context, copy.as_mut_ptr().cast(), size_of_val(&*copy)) };
        if !copied || peek::word(noted.latch.addr()) != Some(word) || task.waits_for_other() {
            return None;
        }
        let first_frames = &copy[copy.len().saturating_sub(FIRST_FRAMES / size_of::<usize>())..];
        let descriptor = first_frames.iter().copied().find(|word| {
            !(context..task.fiber).contains(word) && descriptors.binary_search(word).is_ok()
        });
        let mut trace = Trace { frames: [0; MOST], count: 0, descriptor: None };
        trace.count = return_addresses(&mut copy, context, &mut trace.frames);
        trace.descriptor = if trace.was_queued() {
            descriptor
        } else {
            let at_once = peek::word(task.fiber + Fiber::DESCRIPTOR)
                .filter(|at| task.worker.calls_at_once() && descriptors.binary_search(at).is_ok());
            at_once.filter(|&descriptor| trace.may_have_called(descriptor))
        };
        Some(trace)
    }

    /// True if this is a forked task that a worker has taken out of a queue.
    fn was_queued(&self) -> bool {
        let caller = run_forked as *const () as usize;
        let is_call = |frame: &usize| (caller..caller + MOST_OF_CALLER).contains(frame);
        self.frames[..self.count].iter().any(is_call)
    }

    /// True if the outermost function of the trace may be the descriptor's.
    fn may_have_called(&self, descriptor: usize) -> bool {
        let Some(f) = peek::word(descriptor + Forked::FUNCTION) else { return false };
        let mut may_be = false;
        for &frame in &self.frames[..self.count] {
            symbol::locate(frame.wrapping_sub(1), &mut |place| match place.name {
                _ if place.is_ours => {}
                Some(_) => may_be = place.start == f,
                None => may_be = frame.wrapping_sub(f) < MOST_OF_FUNCTION,
            });
        }
        may_be
    }

    /// Calls `show` with each function of the program, the innermost first.
    pub fn each_frame(&self, show: &mut dyn FnMut(&symbol::Place)) {
        for &frame in &self.frames[..self.count] {
            // The return address minus one lies in the call instruction.
            symbol::locate(frame.wrapping_sub(1), &mut |place| {
                if !place.is_ours {
                    show(place);
                }
            });
        }
    }
}
