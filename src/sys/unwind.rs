//! The frontier between a run and the program that started it. An exception or a thread's end that
//! would cross this frontier ends the process with a message instead.
//!
//! *Exceptions.* The stack of a worker consists of the program (or the thread's start), this
//! frontier, the worker's loop, and the task. An exception that leaves a task would unwind the
//! loop, which does not support this, and a handler around sched_init might catch it. The frontier
//! is one frame with a personality routine, the function that an unwinder calls for each frame. Our
//! routine ends the process during the search for a handler, before anything is unwound, so that a
//! debugger finds the thrower's stack whole. Tasks pay nothing for it.
//!
//! A task's own handler around a call of this library does not help: unwinding would leave a loop
//! whose other half is in a queue, or a join whose child has not ended. So every function of ours
//! that calls a function of the program, directly or through others, also has such a personality
//! ([`call_guarded`]), as does the code that runs tasks on top of a waiting task. The personality,
//! a word in the unwind tables, says which kind of function the exception has left. It costs
//! nothing.
//!
//! *Ending the thread.* pthread_exit and cancellation also unwind, unless some frame lacks unwind
//! tables. They always run the destructors of thread-specific data. The destructor of a key whose
//! value is set while a worker is inside a run catches both.
//!
//! *Another copy of the library.* A process may contain several copies of this library, each with
//! its own variables: for example a program linked with the shared library, and a plugin that
//! contains the static one. Any copy may read the thread's value of any key by
//! `pthread_getspecific`. So all copies store the same number, [`INSIDE`], as the value. A thread
//! that finds this number at a key of another copy is inside a run of that copy. (All copies would
//! also see a symbol or an environment variable; but the linker may hide the symbol, and the
//! program may change the variable.)

use crate::sys::assembly;
use crate::sys::atomic::statics::{AtomicU32, Ordering};
use crate::sys::output::die;
use std::ffi::{c_int, c_void};

const FORCED_UNWIND: c_int = 8; // _UA_FORCE_UNWIND of the Itanium C++ ABI

fn thread_ended() -> ! {
    die(format_args!(
        "a task has ended its thread, by pthread_exit or by a cancellation; a task must return"
    ));
}

/// A kind of function of the program that this library calls.
pub trait ProgramFunction {
    /// The name of this kind in messages.
    const NAME: &'static str;
}

macro_rules! program_functions {
    ($($name:ident: $text:literal,)*) => {
        $(
            pub struct $name;

            impl ProgramFunction for $name {
                const NAME: &'static str = $text;
            }
        )*
    };
}

program_functions! {
    Task: "a task",
    ForkedTask: "a task of sched_fork",
    GroupTask: "a task of sched_group_spawn",
    CopyTask: "a task of sched_spawn_copy",
    TimerTask: "the function of a timer",
    NodeTask: "the function of a node",
    LoopBody: "a body of sched_for",
    Reducer: "a body or a combination of sched_reduce",
    RelaxedReducer: "a body or a combination of sched_reduce_relaxed",
    Scanner: "a body or a combination of sched_scan",
    Comparison: "a comparison of sched_sort",
}

/// Ends the process, because an exception has left a function of the program.
pub fn exception_left(name: &str) -> ! {
    die(format_args!("an exception left {name}; it must catch the exceptions of its own code"));
}

/// Calls `work`, which calls a function of kind `C`, in a frame that no exception crosses. This
/// costs no instruction: the personality belongs to the whole function into which this one is
/// inlined, and the empty asm after `work` prevents a tail call.
#[inline(always)]
pub fn call_guarded<C: ProgramFunction, R>(work: impl FnOnce() -> R) -> R {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: the asm contains no instructions, only a directive for the unwind tables.
    unsafe {
        std::arch::asm!(
            ".cfi_personality 0x1b, {personality}", // 0x1b: a 4-byte offset from here
            personality = sym personality::<C>,
            options(nomem, nostack, preserves_flags)
        );
    }
    let result = work();
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: the asm contains no instructions.
    unsafe {
        std::arch::asm!("", options(nomem, nostack, preserves_flags));
    }
    result
}

/// The personality routine of the frontier: no exception passes.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub extern "C" fn personality<C: ProgramFunction>(
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
assembly::function!(
    "sched_call_in_run",
    [
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
    ]
    personality = sym personality::<Task>,
);

#[cfg(target_arch = "aarch64")]
assembly::function!(
    "sched_call_in_run",
    [
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
    ]
    personality = sym personality::<Task>,
);

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
unsafe extern "C" {
    fn sched_call_in_run(f: unsafe extern "C" fn(*mut c_void), arg: *mut c_void);
}

/// Without a frame of ours, an exception reaches Rust frames, which cannot unwind.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn sched_call_in_run(f: unsafe extern "C" fn(*mut c_void), arg: *mut c_void) {
    // SAFETY: `f` accepts `arg`.
    unsafe { f(arg) }
}

extern "C" fn thread_ended_in_run(_inside: *mut c_void) {
    thread_ended();
}

/// The value of the key in each thread that is inside a run. It must be the same in all versions of
/// the library. It is not the address of anything.
const INSIDE: *mut c_void = std::ptr::without_provenance_mut(0xb5c3_ed5c_4ed1_175d_u64 as usize);

/// True if the calling thread is also inside a run of another copy of this library, whether that
/// run lies below or above this copy's innermost run. It takes microseconds to read all keys.
#[cold]
pub fn inside_another_copy() -> bool {
    let our_key = key();
    // SAFETY: the call takes no pointers.
    let limit = unsafe { libc::sysconf(libc::_SC_THREAD_KEYS_MAX) };
    let mut keys = 0..libc::pthread_key_t::try_from(limit).unwrap_or(0);
    // SAFETY: both C libraries return null for an unused key below that limit.
    keys.any(|key| our_key != Some(key) && unsafe { libc::pthread_getspecific(key) } == INSIDE)
}

/// The process's key, made at its first use. None if no key is left; then only the unwinder catches
/// a task that ends its thread. Two threads may make a key at once, and a fork may come in between:
/// no thread waits for another here.
fn key() -> Option<libc::pthread_key_t> {
    /// The key plus one; 0: none yet. The exchange that publishes the new key pairs with the load.
    #[unsafe(link_section = "sched_words")]
    static KEY: AtomicU32 = AtomicU32::new(0);
    if let Some(key) = KEY.load(Ordering::Acquire).checked_sub(1) {
        return Some(key);
    }
    let mut key = 0;
    // SAFETY: `key` is a valid place, and the function has the right type.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(thread_ended_in_run)) } != 0 {
        return None;
    }
    match KEY.compare_exchange(0, key + 1, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Some(key),
        Err(other) => {
            // SAFETY: the key was made above, and nobody uses it.
            unsafe { libc::pthread_key_delete(key) };
            Some(other - 1)
        }
    }
}

/// Calls `f(arg)` behind a frontier of its own, on a further stack of a thread inside a run.
///
/// # Safety
/// `f` must accept `arg`.
pub unsafe fn call_on_new_stack(f: unsafe extern "C" fn(*mut c_void), arg: *mut c_void) {
    // SAFETY: `f` accepts `arg`.
    unsafe { sched_call_in_run(f, arg) };
}

/// Marks the calling thread as inside a run, and calls `f(arg)` behind the frontier.
///
/// # Safety
/// `f` must accept `arg`.
pub unsafe fn call_in_run(f: unsafe extern "C" fn(*mut c_void), arg: *mut c_void) {
    let key = key();
    // SAFETY: the key exists, and the value is not null.
    let outer = key.map(|key| unsafe {
        let outer = libc::pthread_getspecific(key);
        libc::pthread_setspecific(key, INSIDE);
        (key, outer)
    });
    // SAFETY: `f` accepts `arg`.
    unsafe { sched_call_in_run(f, arg) };
    if let Some((key, outer)) = outer {
        // SAFETY: the key exists; `outer` is its former value, null in a thread's outermost run.
        unsafe { libc::pthread_setspecific(key, outer) };
    }
}
