//! How the threads that are kept end: by themselves, when the library is unloaded, or with the process.
//!
//! # Who waits for a thread's end
//!
//! A thread that is kept ends by itself when its time is up. Its last instructions are this library's, which
//! may be part of a plugin. After those run the destructors of its thread-local variables; these are the
//! program's, and may wait for anything. So the thread is not detached, and no call of the program's joins it:
//! the thread that ends next does. `ThreadCache::ended` holds the one that has ended last.
//!
//! *Unloading* (dlclose of a plugin that contains libsched.a) waits until all threads have ended. Those that
//! rest are dismissed and joined. Then the one in `ThreadCache::ended` is joined, which has joined the one before it.
//!
//! *The process's exit* joins nobody: the caller of exit may hold what a destructor waits for. From then on no
//! resting thread ends, so no destructor of a thread-local variable runs beside those of the program's static
//! variables. The thread rests until the process is gone. A host may still unload a plugin later in its exit,
//! but these threads need the plugin's code. So the exit handler makes the C library keep it mapped: it
//! registers a destructor of a thread-local variable, which is never called.
//!
//! *Telling the two apart.* The handler registered with atexit and the function in .fini_array are called in
//! both cases. At exit the handler comes first, since the dynamic linker's work is the last part of exit. In
//! unloading the function comes first: an object's atexit handlers are called by the first function in its
//! .fini_array, and that array is called from its last entry to its first.

use crate::sys::atomic::{AtomicBool, Ordering};
use crate::sys::thread::Uncancelled;
use crate::sys::weak::weak;
use crate::sys::{process, thread};
use crate::threads::cache::records::{CACHE, ThreadCache};
use std::ffi::{c_int, c_void};
use std::ptr;

/// The process's exit has begun: no resting thread ends any more. Relaxed: threads read it under the lists' lock,
/// under which it is written unless there is only one thread; `unload` comes after `at_exit` on the same thread.
static EXITING: AtomicBool = AtomicBool::new(false);

/// The library is being unloaded: no thread is kept. Relaxed: `unload` stores it and then empties the lists under
/// their lock; a run's threads's drop puts its threads there under the lock and then loads it. So the threads are found by
/// the one, or the store is seen by the other.
static UNLOADED: AtomicBool = AtomicBool::new(false);

/// For a thread that rests; under the lists' lock.
pub(super) fn is_exiting() -> bool {
    EXITING.load(Ordering::Relaxed)
}

/// The library is being unloaded: each owner of threads ends them.
pub fn is_unloaded() -> bool {
    UNLOADED.load(Ordering::Relaxed)
}

/// Joins a thread that ends by itself.
///
/// # Safety
/// It is a thread of ours, and nobody else joins it.
pub(super) unsafe fn join_ended(id: libc::pthread_t) {
    let _uncancelled = Uncancelled::begin(); // pthread_join is a cancellation point
    // SAFETY: passed on. It fails for one that a task has detached meanwhile.
    let _ = unsafe { thread::join(id) };
}

/// To be called before the first use of a run's threads in a process; a child of fork inherits it.
pub fn watch_exit() {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        // SAFETY: a function of the right type, which is called, or forgotten, before it is unmapped.
        unsafe { libc::atexit(at_exit) };
    }
}

extern "C" fn at_exit() {
    if is_unloaded() {
        return;
    }
    if !process::is_known() {
        EXITING.store(true, Ordering::Relaxed); // a child of fork has no threads
        return;
    }
    let ended = CACHE.with(|lists| {
        EXITING.store(true, Ordering::Relaxed);
        lists.ended.take()
    });
    if let Some(id) = ended {
        // So that tools which look for threads that nobody has joined find none.
        // SAFETY: as in `ThreadSlot::rest`; this does not wait. If it has not ended yet, it ends with the process.
        unsafe { libc::pthread_tryjoin_np(id, ptr::null_mut()) };
    }
    stay_mapped();
}

/// The object that contains this library is not unmapped any more.
fn stay_mapped() {
    type Destructor = unsafe extern "C" fn(*mut c_void);
    type Register = unsafe extern "C" fn(Destructor, *mut c_void, *const c_void) -> c_int;
    if let Some(register) = weak!("__cxa_thread_atexit_impl", Register) {
        // SAFETY: the last argument is an address in the object. The C library keeps the object mapped until it has
        // called the destructor when this thread ends; the thread is in exit, and so never ends. (free does nothing
        // with NULL.)
        unsafe { register(libc::free, ptr::null_mut(), ptr::from_ref(&EXITING).cast()) };
    }
}

/// To be called when the object that contains this library is unloaded, before it is unmapped; and at the process's
/// end, after `at_exit`. True in the first case: then all threads that were kept have ended.
pub fn unload() -> bool {
    if is_exiting() {
        return false;
    }
    UNLOADED.store(true, Ordering::Relaxed);
    if process::is_known() {
        end_kept();
    }
    true
}

/// Waits for the end of all threads that rest or have ended by themselves.
#[cold]
pub(super) fn end_kept() {
    while let Some(slot) = CACHE.with(ThreadCache::take_warm) {
        slot.call.dismiss();
        slot.call.set_alive(false);
        // SAFETY: it was warm, so it has a thread, which ends now, and which only this joins.
        unsafe { join_ended(slot.id.get().assume_init()) };
        CACHE.with(|lists| lists.add_blank(slot));
    }
    if let Some(id) = CACHE.with(|lists| lists.ended.take()) {
        // SAFETY: as in `ThreadSlot::rest`.
        unsafe { join_ended(id) };
    }
}
