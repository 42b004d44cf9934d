//! Continuations: the record of a suspended task, with which a worker resumes the task.
//!
//! A switch passes a word to the context that it resumes. The word consists of the address of an
//! [`Unpublished`] that the thread has left behind, or 0, and the bit [`RETIRED`]. The code at the
//! end of each switch gives the word to [`finish_switch`].

use crate::fiber::switch::{self, Context};
use crate::runtime::record::{Fiber, Worker};
use crate::sys::peek;
use crate::task::{Task, TaskFn};
use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr;

/// A suspended task. The record lies on the task's fiber. It is aligned to 16, so that four bits of
/// its address are free for `Waiter`, which packs it into a word.
#[derive(Clone, Copy)]
#[repr(align(16))]
pub struct Continuation {
    pub context: Context,
    pub fiber: *const Fiber,
}

impl Continuation {
    /// The fields that a debugger reads, and their offsets.
    pub const FOR_DEBUGGER: [(&str, usize); 2] = [
        ("continuation.context", offset_of!(Continuation, context)),
        ("continuation.fiber", offset_of!(Continuation, fiber)),
    ];

    /// For an observer: the context and the fiber of the continuation at this address.
    pub fn peek(at: usize) -> Option<(usize, usize)> {
        // SAFETY: any bytes are two pointers.
        let seen = unsafe { peek::read::<Continuation>(at) }?;
        Some((seen.context.addr(), seen.fiber.addr()))
    }
}

/// A suspended task that no other thread knows yet.
pub(super) struct Unpublished<'a> {
    pub continuation: Continuation,
    /// The function of the queued task that continues this one.
    pub resume: TaskFn,
    /// Makes the continuation known to the thread that will queue it. False if nothing is left to
    /// wait for.
    pub publish: &'a mut dyn FnMut(Task) -> bool,
}

impl Unpublished<'_> {
    /// Publishes the task. Fails if nothing is left to wait for; the caller then resumes or queues
    /// the task.
    ///
    /// # Safety
    /// The context of `this` is saved, and no thread is on its stack. The caller does not touch
    /// `this` after Ok: another thread may have continued the task.
    pub(super) unsafe fn publish(this: *mut Self) -> Result<(), Task> {
        // SAFETY: `this` is complete, and no other thread has it until `publish` returns true.
        unsafe {
            let closure = (&raw const (*this).continuation).cast_mut().cast();
            let task = Task { f: (*this).resume, closure };
            if ((*this).publish)(task) { Ok(()) } else { Err(task) }
        }
    }
}

/// A bit of the word that a switch passes: the thread no longer has a worker.
pub(super) const RETIRED: usize = 1;

/// Ends a switch, in the resumed context: publishes the task that the thread has left, if any, or
/// queues it if nothing is left to wait for. Returns false if the thread no longer has a worker.
///
/// # Safety
/// The calling thread occupies `worker`, or has occupied it and the run has not ended. The switch
/// has passed `word` to the caller.
pub(super) unsafe fn finish_switch(worker: &Worker, word: *mut c_void) -> bool {
    if !word.is_null() {
        let left: *mut Unpublished = word.map_addr(|word| word & !RETIRED).cast();
        // SAFETY: the thread has left the task just now, and nobody has published it.
        if let Err(task) = unsafe { Unpublished::publish(left) } {
            // SAFETY: `publish` of a thread that retires never returns false (`suspend::retire`),
            // so this thread occupies the worker.
            unsafe { worker.owned() }.queue_soon(task);
        }
    }
    word.addr() & RETIRED == 0
}

/// The fiber of a spawner, which `cont` has stored in the room of the spawner's context
/// (`switch::room_of`). The room's address is the closure of the task that resumes the spawner.
///
/// # Safety
/// The address was stored, and the context was not continued since.
#[inline(always)]
pub(super) unsafe fn spawner_fiber<'a>(room: *mut c_void) -> &'a Fiber {
    // SAFETY: the room holds a fiber's address; the stack of a suspended fiber stays in use.
    unsafe { &**room.cast::<*const Fiber>() }
}

/// Takes a spawner's continuation away from its child, so that the child's return will not resume
/// the spawner. From now on the child's fiber is no longer the spawner's child fiber.
///
/// # Safety
/// The continuation was published, and only the caller resumes it.
pub(super) unsafe fn detach_spawner(room: *mut c_void) -> Continuation {
    let context = switch::context_of(room);
    // SAFETY: the context is a suspended spawner's, and only the caller resumes it.
    unsafe {
        switch::make_ready(context, detached_spawner_arrives);
        let fiber = spawner_fiber(room);
        fiber.child_fiber.set(ptr::null());
        fiber.leave_limit.set(fiber.usable_bytes); // a fiber that was left is not pinned
        Continuation { context, fiber }
    }
}

/// The code that a detached spawner runs first when it resumes.
///
/// # Safety
/// Only the resumed context calls it: see `switch::Arrive`.
unsafe extern "C" fn detached_spawner_arrives(word: *mut c_void, room: *mut c_void) {
    // SAFETY: the room belongs to this context; the thread occupies the fiber's worker.
    unsafe {
        let fiber = spawner_fiber(room);
        fiber.resumed_by_other.set(true);
        finish_switch(fiber.worker(), word);
    }
}
