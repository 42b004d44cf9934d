//! Threads, as this library needs them: made by hand, so that failures are values and the
//! new thread's signal mask and name are right before it runs anything.

use crate::sys::errno::Errno;
use crate::sys::processors::Mask;
use crate::sys::{futex, stack_room, time};
use std::ffi::{c_int, c_void};
use std::fmt::Write;
use std::time::Duration;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
    fn pthread_attr_setaffinity_np(
        attributes: *mut libc::pthread_attr_t,
        length: usize,
        mask: *const u8,
    ) -> c_int;
    fn pthread_setaffinity_np(id: libc::pthread_t, length: usize, mask: *const u8) -> c_int;
    fn pthread_attr_getdetachstate(
        attributes: *const libc::pthread_attr_t,
        state: *mut c_int,
    ) -> c_int;
}

const CANCEL_DISABLE: c_int = 1; // PTHREAD_CANCEL_DISABLE

/// The calling thread is not cancelled while this lives: a request waits. The library has no way
/// to clean up after one, so its code is never a cancellation point: those that it needs are
/// called under this. Tasks may be cancelled (which ends the process: see `frontier`).
pub struct Uncancelled(c_int);

impl Uncancelled {
    pub fn begin() -> Self {
        Uncancelled(set_cancel_state(CANCEL_DISABLE))
    }

    /// Calls `f` in the state that was before.
    pub fn except<R>(&self, f: impl FnOnce() -> R) -> R {
        set_cancel_state(self.0);
        let result = f();
        set_cancel_state(CANCEL_DISABLE);
        result
    }
}

impl Drop for Uncancelled {
    fn drop(&mut self) {
        set_cancel_state(self.0);
    }
}

fn set_cancel_state(state: c_int) -> c_int {
    let mut old = 0;
    // SAFETY: `old` is a valid place, `state` one of the two values.
    unsafe { pthread_setcancelstate(state, &raw mut old) };
    old
}

/// All signals are blocked while this lives, so that a new thread starts with none.
pub struct SignalsBlocked(libc::sigset_t);

impl SignalsBlocked {
    pub fn block() -> Self {
        // SAFETY: both sets are valid places; sigfillset cannot fail.
        unsafe {
            let mut all = std::mem::zeroed();
            let mut old = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
            SignalsBlocked(old)
        }
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        // SAFETY: the set is the one that pthread_sigmask gave.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut())
        };
    }
}

/// Signals a thread of ours takes: those it raises itself by a fault or abort, and the
/// profiler's.
const TAKEN: [c_int; 8] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGABRT,
    libc::SIGPROF,
];

/// The signal mask of a thread of ours, and its name, `sched/index`: a task may have changed both.
pub fn settle(index: usize) {
    // SAFETY: the set is a valid place, the signals are valid numbers.
    unsafe {
        let mut mask = std::mem::zeroed();
        libc::sigfillset(&raw mut mask);
        for signal in TAKEN {
            libc::sigdelset(&raw mut mask, signal);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const mask, std::ptr::null_mut());
    }
    let mut name = Name([0; 16], 0);
    let _ = write!(name, "sched/{index}");
    // SAFETY: `name` ends with a zero byte: `Name` never writes its last one.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.0.as_ptr()) };
}

struct Name([u8; 16], usize);

impl Write for Name {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for &byte in text.as_bytes().iter().take(15 - self.1) {
            self.0[self.1] = byte;
            self.1 += 1;
        }
        Ok(())
    }
}

pub type Main = extern "C" fn(*mut c_void) -> *mut c_void;

/// A new thread that runs `main(arg)`, on the processors of `mask`, without one on its creator's; to
/// be called with the signals blocked.
///
/// # Safety
/// `arg` must stay valid for `main` until the thread is joined.
pub unsafe fn create(
    main: Main,
    arg: *mut c_void,
    mask: Option<Mask>,
) -> Result<libc::pthread_t, Errno> {
    // SAFETY: zero is a valid bit pattern; pthread_create overwrites it.
    let mut id = unsafe { std::mem::zeroed() };
    // SAFETY: as above; initialised in the next line.
    let mut attributes = unsafe { std::mem::zeroed() };
    // SAFETY: valid places; destroyed below.
    unsafe {
        libc::pthread_attr_init(&raw mut attributes);
        libc::pthread_attr_setstacksize(&raw mut attributes, stack_room::default_stack());
    }
    if let Some(mask) = &mask {
        let bytes = mask.bytes();
        // SAFETY: a mask of the length given. If there is no memory for it, it goes without.
        unsafe { pthread_attr_setaffinity_np(&raw mut attributes, bytes.len(), bytes.as_ptr()) };
    }
    // SAFETY: valid places, initialised attributes.
    let error = unsafe { libc::pthread_create(&raw mut id, &raw const attributes, main, arg) };
    // SAFETY: initialised above.
    unsafe { libc::pthread_attr_destroy(&raw mut attributes) };
    match error {
        0 => Ok(id),
        // The mask may have been refused, with whatever error: its processors are gone, or a sandbox forbids it.
        // SAFETY: passed on.
        _ if mask.is_some() => unsafe { create(main, arg, None) },
        error => Err(Errno(error)),
    }
}

/// Lets a thread of ours run on the processors of `mask` only.
///
/// # Safety
/// `id` is of a thread that has not been joined.
pub unsafe fn move_to(id: libc::pthread_t, mask: &Mask) {
    let bytes = mask.bytes();
    // SAFETY: a mask of the length given. It may fail: then the thread stays where it is.
    unsafe { pthread_setaffinity_np(id, bytes.len(), bytes.as_ptr()) };
}

/// True if a task has detached the calling thread. Not asked where futex is refused: it takes locks of the C library,
/// which aborts the process there if another thread has them.
pub fn is_detached() -> bool {
    if !futex::works() {
        return false;
    }
    let mut state = 0;
    // SAFETY: zero is a valid bit pattern; valid places; destroyed if it was made.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) == 0 {
            pthread_attr_getdetachstate(&raw const attributes, &raw mut state);
            libc::pthread_attr_destroy(&raw mut attributes);
        }
    }
    state == libc::PTHREAD_CREATE_DETACHED
}

/// Waits until the thread has ended. An error if a task has detached it; but of one that has ended newer C libraries
/// do not say so. Where futex is refused, pthread_join would abort the process, so it is only called once the kernel
/// has marked the thread as gone.
///
/// # Safety
/// `id` must come from `create` and be joined once.
pub unsafe fn join(id: libc::pthread_t) -> Result<(), Errno> {
    let error = if futex::probe() {
        // SAFETY: by the caller's promise.
        unsafe { libc::pthread_join(id, std::ptr::null_mut()) }
    } else {
        loop {
            // SAFETY: by the caller's promise; EBUSY leaves the thread unjoined.
            match unsafe { libc::pthread_tryjoin_np(id, std::ptr::null_mut()) } {
                libc::EBUSY => time::sleep(Duration::from_micros(50)),
                error => break error,
            }
        }
    };
    if error == 0 { Ok(()) } else { Err(Errno(error)) }
}
