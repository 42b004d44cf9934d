//! How kept threads end: by themselves, when the library is unloaded, or with the process.
//!
//! # Joining a thread that ends by itself
//!
//! A kept thread ends by itself when its time is up. Its last instructions are this library's,
//! which may be part of a plugin. After those, the destructors of the thread's thread-local
//! variables run; these are the program's, and may wait for anything. So the thread is not
//! detached, and no call of the program's joins it: the next thread that ends joins it.
//! `ThreadCache::last_ended` holds the thread that has ended last.
//!
//! *Unloading* (dlclose of a plugin that contains libsched.a) waits until all threads have ended.
//! The resting threads are dismissed and joined. Then the thread in `ThreadCache::last_ended` is
//! joined, which has joined the one before it.
//!
//! *The process's exit* joins no thread: the caller of exit may hold what a destructor waits for.
//! (But the exit handler gives a thread that is joining the one before it some time to finish:
//! tools report a thread that has ended and was not joined.) Once exit has begun, no resting thread
//! ends, so no destructor of a thread-local variable runs beside the destructors of the program's
//! static variables. A resting thread stays until the process is gone. A host may still unload a
//! plugin later in its exit, but these threads need the plugin's code. So the exit handler makes
//! the C library keep the plugin mapped: it registers a destructor of a thread-local variable,
//! which is never called.
//!
//! *Telling unloading from exit.* The handler registered with atexit and the function in
//! .fini_array are called in both cases. At exit the handler comes first, since the dynamic
//! linker's work is the last part of exit. In unloading the function comes first: an object's
//! atexit handlers are called by the first function in its .fini_array, and that array is called
//! from its last entry to its first.

use crate::sys::atomic::{AtomicBool, Ordering};
use crate::sys::thread::Uncancelled;
use crate::sys::weak::weak;
use crate::sys::{detector, process, thread, time};
use crate::threads::cache::records::{CACHE, ThreadCache};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::time::Duration;

/// True if the process's exit has begun: no resting thread ends any more. Relaxed: threads read it
/// under the cache's lock, and it is written under that lock unless there is only one thread;
/// `unload` comes after `at_exit` on the same thread.
#[unsafe(link_section = "sched_words")]
static EXITING: AtomicBool = AtomicBool::new(false);

/// True if the library is being unloaded: no thread is kept. Relaxed: `unload` stores it and then
/// empties the cache under its lock; dropping a `RunThreads` puts its threads into the cache under
/// the lock and then loads it. So either `unload` finds the threads, or the drop sees the store.
#[unsafe(link_section = "sched_words")]
static UNLOADED: AtomicBool = AtomicBool::new(false);

/// While a thread joins another one, the exit sleeps for `JOIN_NAP`, at most `JOIN_NAPS` times.
const JOIN_NAPS: u32 = 200;
const JOIN_NAP: Duration = Duration::from_micros(50);

/// True if no resting thread ends any more. Called under the cache's lock.
pub(super) fn is_exiting() -> bool {
    EXITING.load(Ordering::Relaxed)
}

/// True if the library is being unloaded. Each owner of threads then ends them.
pub fn is_unloaded() -> bool {
    UNLOADED.load(Ordering::Relaxed)
}

/// Joins a thread that ends by itself.
///
/// # Safety
/// The thread is ours, and nobody else joins it.
pub(super) unsafe fn join_ended(id: libc::pthread_t) {
    let _uncancelled = Uncancelled::begin(); // pthread_join is a cancellation point
    // SAFETY: only the caller may join the thread. The join fails if a task has detached it.
    let _ = unsafe { thread::join(id) };
}

/// Registers the exit handler, which a child of fork inherits. Called before the first run.
pub fn watch_exit() {
    #[unsafe(link_section = "sched_words")]
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        // SAFETY: the function is called, or forgotten, before it is unmapped.
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
    CACHE.with(|_| EXITING.store(true, Ordering::Relaxed));
    for _ in 0..JOIN_NAPS {
        if CACHE.with(|cache| cache.joining == 0) {
            break;
        }
        time::sleep(JOIN_NAP);
    }
    let ended = CACHE.with(|cache| cache.last_ended.take());
    if let Some(id) = ended {
        // For tools that look for threads that were never joined: joins a thread that has already
        // ended. A race detector knows pthread_detach, but not pthread_tryjoin_np.
        // SAFETY: this thread took the id from the cache, so only it may join or detach. The calls
        // do not wait; a thread that has not ended yet ends with the process.
        unsafe {
            if detector::is_present() || cfg!(sched_instrumented) {
                libc::pthread_detach(id);
            } else {
                libc::pthread_tryjoin_np(id, ptr::null_mut());
            }
        }
    }
    stay_mapped();
}

/// Prevents the object that contains this library from being unmapped.
fn stay_mapped() {
    type Destructor = unsafe extern "C" fn(*mut c_void);
    type Register = unsafe extern "C" fn(Destructor, *mut c_void, *const c_void) -> c_int;
    if let Some(register) = weak!("__cxa_thread_atexit_impl", Register) {
        // SAFETY: the last argument is an address in the object. The C library keeps the object
        // mapped until it has called the destructor at this thread's end; the thread is in exit,
        // and so never ends. (free does nothing with NULL.)
        unsafe { register(libc::free, ptr::null_mut(), ptr::from_ref(&EXITING).cast()) };
    }
}

/// Called when the object that contains this library is unloaded, before it is unmapped; and at the
/// process's end, after `at_exit`. True in the first case: then all kept threads have ended.
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
        slot.state.dismiss();
        slot.state.set_has_thread(false);
        // SAFETY: a warm slot has a thread. The thread ends now, and only this call joins it.
        unsafe { join_ended(slot.id.get().assume_init()) };
        CACHE.with(|cache| cache.add_blank(slot));
    }
    if let Some(id) = CACHE.with(|cache| cache.last_ended.take()) {
        // SAFETY: this thread took the id from the cache, so only it may join.
        unsafe { join_ended(id) };
    }
}
