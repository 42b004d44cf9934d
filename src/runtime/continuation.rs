//! What is left of a task that waits, until another worker goes on with it.

use crate::fiber::switch::{self, Arrival, Context};
use crate::runtime::record::{Fiber, Worker};
use crate::task::{Task, TaskFn};
use std::ffi::c_void;
use std::ptr;

/// A task that waits; it lies on its fiber. The low bits of its address are left to who packs it.
#[derive(Clone, Copy)]
#[repr(align(16))]
pub(super) struct Continuation {
    pub context: Context,
    pub fiber: *const Fiber,
}

/// A task that is left, until it is known that it waits.
pub(super) struct Unpublished<'a> {
    pub continuation: Continuation,
    /// The function of the task that continues it.
    pub resume: TaskFn,
    /// Makes it known; false if it has nothing to wait for.
    pub publish: &'a mut dyn FnMut(Task) -> bool,
}

impl Unpublished<'_> {
    /// # Safety
    /// Its context is saved, and nobody is on its stack. It is not touched any more if that returns true.
    pub(super) unsafe fn publish(this: *mut Self) -> Result<(), Task> {
        // SAFETY: by the caller's promise.
        unsafe {
            let closure = (&raw const (*this).continuation).cast_mut().cast();
            let task = Task { f: (*this).resume, closure };
            if ((*this).publish)(task) { Ok(()) } else { Err(task) }
        }
    }
}

/// In the word that is passed to who is continued: the thread has no worker any more.
pub(super) const RETIRED: usize = 1;

/// What who is continued does first: if a task was left for it, makes that known, or queues it. False if the
/// thread has no worker any more.
///
/// # Safety
/// The caller occupies `worker`, or has occupied it and the run goes on; the word was passed to it.
pub(super) unsafe fn finish_switch(worker: &Worker, left: *mut c_void) -> bool {
    if !left.is_null() {
        let left: *mut Unpublished = left.map_addr(|word| word & !RETIRED).cast();
        // SAFETY: it was left just now, and waits to be published.
        if let Err(task) = unsafe { Unpublished::publish(left) } {
            // SAFETY: a thread that has left its worker leaves no task that is refused; so this one occupies it.
            unsafe { worker.owned() }.queue_soon(task);
        }
    }
    left.addr() & RETIRED == 0
}

/// The fiber of a spawner, noted in the room of its context, whose address is the closure of the task that continues
/// it.
///
/// # Safety
/// It was noted, and nobody has continued the context.
#[inline(always)]
pub(super) unsafe fn spawner_fiber<'a>(room: *mut c_void) -> &'a Fiber {
    // SAFETY: by the caller's promise; a fiber that waits stays.
    unsafe { &**room.cast::<*const Fiber>() }
}

/// A spawner goes on by another way than its child's return: its context. The child's stack is the child's own from
/// now on.
///
/// # Safety
/// It was published, and is the caller's.
pub(super) unsafe fn detach_spawner(room: *mut c_void) -> Continuation {
    let context = switch::context_of(room);
    // SAFETY: passed on.
    unsafe {
        switch::make_ready::<DetachedSpawner>(context);
        let fiber = spawner_fiber(room);
        fiber.child_fiber.set(ptr::null());
        fiber.leave_limit.set(fiber.usable_bytes); // it was left, so it is not fixed
        Continuation { context, fiber }
    }
}

/// Where such a spawner goes on.
struct DetachedSpawner;

impl Arrival for DetachedSpawner {
    unsafe extern "C" fn arrive(left: *mut c_void, room: *mut c_void) {
        // SAFETY: of this context, which is continued now.
        unsafe {
            let fiber = spawner_fiber(room);
            fiber.resumed_by_other.set(true);
            finish_switch(fiber.worker(), left);
        }
    }
}
