//! A message where a task's stack overflows.
//!
//! The access below the stack hits its guard: SIGSEGV, on the stack that has no room left. So the
//! handler needs another, the thread's alternate signal stack: for the time of a run that is a piece of
//! the thread's own stack, which is not used meanwhile. A program that handles SIGSEGV itself, or
//! has an alternate stack, keeps both, and gets the signal. The handler says what it knows and lets
//! the signal have its default effect. All it calls is async-signal-safe, but for dladdr, which takes
//! no lock while no library is being loaded, and comes last.

use super::stack::Stack;
use crate::base::io::Out;
use crate::base::sync::{AtomicBool, Ordering};
use crate::base::thread;
use std::ffi::{CStr, c_int, c_void};
use std::fmt::Write;
use std::mem::MaybeUninit;
use std::ptr;

/// Bytes of an alternate stack: the kernel's frame with the largest registers, and the handler's.
const ALTERNATE: usize = 16 << 10;

/// Bytes between the stack pointer and an address that a frame may have, as the guard's.
const NEAR: usize = 64 << 10;

/// Where the calling thread, a worker, is.
pub enum On {
    Stack(Stack),
    /// Its own.
    Own,
}

/// Tells where the calling thread is that has hit this address; None: it is no worker. Called in the handler.
pub type Find = fn(usize) -> Option<On>;

static FIND: std::sync::OnceLock<Find> = std::sync::OnceLock::new();

/// Installs the handler, if the program has none.
pub fn watch(find: Find) {
    static DONE: AtomicBool = AtomicBool::new(false);
    if DONE.load(Ordering::Relaxed) {
        return;
    }
    let _ = FIND.set(find);
    // SAFETY: valid places, a function of the right type. Twice, by two threads at once, does no
    // harm.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGSEGV, ptr::null(), &raw mut now) == 0
            && now.sa_sigaction == libc::SIG_DFL
        {
            let mut ours: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = handle as *const () as usize;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(libc::SIGSEGV, &raw const ours, ptr::null_mut());
        }
    }
    DONE.store(true, Ordering::Relaxed);
}

/// The handler will be unmapped: the signal's default action, if it is there still.
pub fn unload() {
    // SAFETY: valid places; zero is a valid value: the default action.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGSEGV, ptr::null(), &raw mut now) == 0
            && now.sa_sigaction == handle as *const () as usize
        {
            let default: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGSEGV, &raw const default, ptr::null_mut());
        }
    }
}

unsafe extern "C" fn handle(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: what the kernel passes.
    let address = unsafe { (*info).si_addr() } as usize;
    // SAFETY: what the kernel passes.
    let (at, top) = unsafe { registers(context) };
    let size = match FIND.get().and_then(|find| find(address)) {
        Some(On::Stack(stack)) if stack.guards(address) => Some(stack.room()),
        Some(On::Own) if address.abs_diff(top) < NEAR => Some(0),
        _ => None,
    };
    if let Some(size) = size {
        let mut out = Out::stderr();
        let _ = if size > 0 {
            write!(
                out,
                "libsched: a task has overflowed its stack of {} KiB; SCHED_STACK sets the size",
                size >> 10
            )
        } else {
            write!(out, "libsched: a task has overflowed its thread's stack; there was no other")
        };
        out.flush();
        // SAFETY: zero is a valid value; a valid place.
        unsafe {
            let mut symbol: libc::Dl_info = std::mem::zeroed();
            if libc::dladdr(at, &raw mut symbol) != 0 && !symbol.dli_sname.is_null() {
                let name = CStr::from_ptr(symbol.dli_sname).to_str().unwrap_or("?");
                let _ = write!(out, " (in {name})");
            }
        }
        let _ = writeln!(out);
    }
    // Back to the faulting instruction, with nobody to handle it. A signal that somebody has sent comes
    // once more, when this returns.
    // SAFETY: zero is a valid value: the default action. What the kernel passes.
    unsafe {
        let default: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGSEGV, &raw const default, ptr::null_mut());
        if (*info).si_code <= 0 {
            libc::raise(libc::SIGSEGV);
        }
    }
}

/// Where the program was, and its stack pointer.
///
/// # Safety
/// A signal handler's third argument.
unsafe fn registers(context: *mut c_void) -> (*const c_void, usize) {
    let context = context.cast::<libc::ucontext_t>();
    #[cfg(target_arch = "x86_64")]
    // SAFETY: by the caller's promise.
    let (at, top) = unsafe {
        let registers = &(*context).uc_mcontext.gregs;
        (registers[libc::REG_RIP as usize] as usize, registers[libc::REG_RSP as usize] as usize)
    };
    #[cfg(target_arch = "aarch64")]
    // SAFETY: by the caller's promise.
    let (at, top) =
        unsafe { ((*context).uc_mcontext.pc as usize, (*context).uc_mcontext.sp as usize) };
    (ptr::without_provenance(at), top)
}

/// Calls `f` with an alternate signal stack, unless the thread has one.
pub fn with_alternate_stack(f: impl FnOnce()) {
    let mut room = MaybeUninit::<[u8; ALTERNATE]>::uninit();
    // SAFETY: valid places; the room is there until it is taken out of use again, below.
    unsafe {
        let mut ours: libc::stack_t = std::mem::zeroed();
        ours.ss_sp = room.as_mut_ptr().cast();
        ours.ss_size = ALTERNATE;
        let mut before: libc::stack_t = std::mem::zeroed();
        let set = libc::sigaltstack(&raw const ours, &raw mut before) == 0;
        if !set || before.ss_flags & libc::SS_DISABLE == 0 {
            if set {
                libc::sigaltstack(&raw const before, ptr::null_mut());
            }
            return f();
        }
        f();
        // The program may have set another meanwhile.
        let errno = thread::errno();
        let mut now: libc::stack_t = std::mem::zeroed();
        libc::sigaltstack(&raw const before, &raw mut now);
        if now.ss_sp != ours.ss_sp {
            libc::sigaltstack(&raw const now, ptr::null_mut());
        }
        thread::set_errno(crate::base::Errno(errno));
    }
}
