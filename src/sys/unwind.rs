//! The frontier between a run and the program that started it: what must not pass it ends
//! the process with a message instead.
//!
//! *Exceptions.* The stack of a worker is: the program (or the thread's start), this
//! frontier, the worker's loop, the task. An exception that leaves a task would unwind the
//! loop, which knows nothing of it, and perhaps be caught by a handler around sched_init.
//! The frontier is one frame with a personality routine, the function that an unwinder asks
//! at each frame. Ours ends the process during the search for a handler, before anything is
//! unwound, so that a debugger finds the thrower's stack whole. Tasks pay nothing for it.
//!
//! A task's own handler around a call of this library is no better: it would unwind a loop whose other
//! half is in a queue, or a join whose child has not ended. So each function of ours that calls one of the
//! program's, directly or through others, has such a personality, too ([`guarded`]), and so has what runs tasks
//! on top of one that waits. It says whose function the exception has left. It is a word in the unwind
//! tables; nothing is executed for it.
//!
//! *Ending the thread.* pthread_exit and cancellation unwind too, but not if some frame
//! lacks unwind tables; and then they run the destructors of thread-specific data. A key
//! whose value is set while a worker is inside a run catches both.
//!
//! *Another copy of the library.* A process may contain several copies, each with its own variables: a program that is
//! linked with the shared library, and a plugin that contains the static one. `pthread_getspecific` tells each of them
//! the thread's value of any key. So the value is the same number, [`INSIDE`], in all copies: a thread that finds it at
//! a key other than its own copy's is inside a run of another copy. (A symbol or a variable of the environment would be
//! seen by all copies, too; but the first is the linker's to hide, and the second is the program's to change.)

use crate::sys::atomic::{AtomicU32, Ordering};
use crate::sys::output::die;
use std::ffi::{c_int, c_void};

const FORCED_UNWIND: c_int = 8; // _UA_FORCE_UNWIND of the Itanium C++ ABI

fn thread_ended() -> ! {
    die(format_args!(
        "a task ended its thread, by pthread_exit or by being cancelled; a task must return"
    ));
}

/// A function of the program's that this library calls.
pub trait Called {
    /// As a message names it.
    const NAME: &'static str;
}

macro_rules! called {
    ($($name:ident: $text:literal,)*) => {
        $(
            pub struct $name;

            impl Called for $name {
                const NAME: &'static str = $text;
            }
        )*
    };
}

called! {
    Task: "a task",
    ForkedTask: "a task of sched_fork",
    GroupTask: "a task of sched_group_spawn",
    CopyTask: "a task of sched_spawn_copy",
    LoopBody: "a body of sched_for",
    Reducer: "a body or a combination of sched_reduce",
    Comparison: "a comparison of sched_sort",
}

/// An exception has left a function of the program's.
pub fn exception_left(name: &str) -> ! {
    die(format_args!("an exception left {name}; it must catch the exceptions of its own code"));
}

/// Calls `work`, which calls a `C`, in a frame that no exception passes. Nothing is executed for that: the personality
/// is the whole function's into which this is inlined, and what follows `work` keeps it from being a jump.
#[inline(always)]
pub fn guarded<C: Called, R>(work: impl FnOnce() -> R) -> R {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: no instructions: a directive for the unwind tables.
    unsafe {
        std::arch::asm!(
            ".cfi_personality 0x1b, {personality}", // 0x1b: a 4-byte offset from here
            personality = sym personality::<C>,
            options(nomem, nostack, preserves_flags)
        );
    }
    let result = work();
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: no instructions.
    unsafe {
        std::arch::asm!("", options(nomem, nostack, preserves_flags));
    }
    result
}

/// What unwinders ask at the frontier: no exception passes.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub extern "C" fn personality<C: Called>(
    _version: c_int,
    actions: c_int,
    _class: u64,
    _exception: *mut c_void,
    _context: *mut c_void,
) -> c_int {
    if actions & FORCED_UNWIND != 0 {
        thread_ended();
    }
    exception_left(C::NAME);
}

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .text.sched_frontier,\"ax\",@progbits",
    ".globl sched_frontier",
    ".hidden sched_frontier",
    ".type sched_frontier,@function",
    "sched_frontier:",
    ".cfi_startproc",
    ".cfi_personality 0x1b, {personality}", // 0x1b: a 4-byte offset from here
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "mov rax, rdi",
    "mov rdi, rsi",
    "call rax",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    ".size sched_frontier, . - sched_frontier",
    ".popsection",
    personality = sym personality::<Task>,
);

#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".pushsection .text.sched_frontier,\"ax\",@progbits",
    ".globl sched_frontier",
    ".hidden sched_frontier",
    ".type sched_frontier,@function",
    "sched_frontier:",
    ".cfi_startproc",
    ".cfi_personality 0x1b, {personality}",
    "stp x29, x30, [sp, -16]!",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset x29, -16",
    ".cfi_offset x30, -8",
    "mov x29, sp",
    ".cfi_def_cfa_register x29",
    "mov x8, x0",
    "mov x0, x1",
    "blr x8",
    "ldp x29, x30, [sp], 16",
    ".cfi_def_cfa sp, 0",
    "ret",
    ".cfi_endproc",
    ".size sched_frontier, . - sched_frontier",
    ".popsection",
    personality = sym personality::<Task>,
);

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
unsafe extern "C" {
    fn sched_frontier(f: unsafe extern "C" fn(*mut c_void), arg: *mut c_void);
}

/// Where there is no frame of ours, an exception reaches frames of Rust that cannot unwind.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn sched_frontier(f: unsafe extern "C" fn(*mut c_void), arg: *mut c_void) {
    // SAFETY: passed on.
    unsafe { f(arg) }
}

extern "C" fn ended_inside(_inside: *mut c_void) {
    thread_ended();
}

/// The value of the key in each thread inside a run; it must be the same in all versions of the library. It is not the
/// address of anything.
const INSIDE: *mut c_void = std::ptr::without_provenance_mut(0xb5c3_ed5c_4ed1_175d_u64 as usize);

/// True if the calling thread is inside a run of another copy of this library, too: that run lies below this copy's
/// innermost run, or on top of it. This looks at all keys, which takes some microseconds.
#[cold]
pub fn inside_another_copy() -> bool {
    let own = key();
    // SAFETY: no pointers.
    let most = unsafe { libc::sysconf(libc::_SC_THREAD_KEYS_MAX) };
    let mut keys = 0..libc::pthread_key_t::try_from(most).unwrap_or(0);
    // SAFETY: both C libraries answer null for a key below that limit which nobody has made; no value is followed.
    keys.any(|key| own != Some(key) && unsafe { libc::pthread_getspecific(key) } == INSIDE)
}

/// The process's key, made at first use. None where no key is left: then a task that ends its
/// thread is only caught by the unwinder. Two threads may make one at once, and a fork may come
/// in between: no one waits for another here.
fn key() -> Option<libc::pthread_key_t> {
    /// The key plus one; 0: none yet. The swap that sets it, after the key was made, pairs with the
    /// load.
    static KEY: AtomicU32 = AtomicU32::new(0);
    if let Some(key) = KEY.load(Ordering::Acquire).checked_sub(1) {
        return Some(key);
    }
    let mut key = 0;
    // SAFETY: a valid place and a function of the right type.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(ended_inside)) } != 0 {
        return None;
    }
    match KEY.compare_exchange(0, key + 1, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Some(key),
        Err(other) => {
            // SAFETY: made above, and used by nobody.
            unsafe { libc::pthread_key_delete(key) };
            Some(other - 1)
        }
    }
}

/// Calls `f(arg)` on another stack of a thread that is inside the frontier.
///
/// # Safety
/// `f` must accept `arg`.
pub unsafe fn again(f: unsafe extern "C" fn(*mut c_void), arg: *mut c_void) {
    // SAFETY: passed on.
    unsafe { sched_frontier(f, arg) };
}

/// Calls `f(arg)`, inside the frontier.
///
/// # Safety
/// `f` must accept `arg`.
pub unsafe fn inside(f: unsafe extern "C" fn(*mut c_void), arg: *mut c_void) {
    let key = key();
    // SAFETY: the key exists; the value is not null.
    let outer = key.map(|key| unsafe {
        let outer = libc::pthread_getspecific(key);
        libc::pthread_setspecific(key, INSIDE);
        (key, outer)
    });
    // SAFETY: by the caller's promise.
    unsafe { sched_frontier(f, arg) };
    if let Some((key, outer)) = outer {
        // SAFETY: as above; `outer` is null in the outermost run of a thread.
        unsafe { libc::pthread_setspecific(key, outer) };
    }
}
