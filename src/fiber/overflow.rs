//! The messages for a stack's overflow, and for a forked task whose descriptor was overwritten.
//!
//! An access below the stack hits the stack's guard, and the kernel sends SIGSEGV. The kernel also
//! sends SIGSEGV if a frame larger than the guard reaches unmapped memory. If such a frame reaches
//! another stack, the overflow is not reported: the handler cannot tell that stack from one that
//! the program has made itself.
//!
//! The overflowed stack has no room left, so the handler runs on the thread's alternate signal
//! stack. During a run this is a mapping of the library's with a guard. It is as large as a
//! thread's stack, since the program's own handlers with SA_ONSTACK also run there; without this
//! library they would have the thread's stack. A program that handles SIGSEGV itself, or has an
//! alternate stack, keeps both, and gets the signal. The handler reports its findings, and then the
//! signal has its default effect. Everything that the handler calls is async-signal-safe except for
//! dladdr, which comes last and takes no lock while no library is being loaded.

use crate::fiber::stack::Stack;
use crate::fiber::{limit, space, stack};
use crate::sys::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use crate::sys::memory::page_size;
use crate::sys::output::Out;
use crate::sys::{errno, signal, stack_room};
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_int, c_void};
use std::fmt::Write;
use std::mem::MaybeUninit;
use std::ptr;

/// A fault this near the stack pointer of a thread's own stack, in bytes, counts as its overflow.
const NEAR: usize = 64 << 10;

/// The stack of a calling thread that serves a worker.
pub enum On {
    Stack(Stack),
    ThreadStack,
}

/// The functions that the handler calls.
pub struct Hooks {
    /// The stack of the calling thread, which has hit this address. None if the thread serves no
    /// worker.
    pub find: fn(usize) -> Option<On>,
    /// True if the calling thread was about to begin a forked task whose descriptor is gone or was
    /// overwritten. The arguments are the program counter and the address.
    pub begins_overwritten: fn(usize, usize) -> bool,
    /// Called when the process is about to end.
    pub ends: fn(),
}

#[unsafe(link_section = "sched_words")]
static HOOKS: std::sync::OnceLock<Hooks> = std::sync::OnceLock::new();

/// Installs the handler, unless the program has one.
pub fn watch(hooks: Hooks) {
    #[unsafe(link_section = "sched_words")]
    static DONE: AtomicBool = AtomicBool::new(false);
    if DONE.load(Ordering::Relaxed) {
        return;
    }
    let _ = HOOKS.set(hooks);
    signal::handle(libc::SIGSEGV, handle); // two threads may do this at once without harm
    DONE.store(true, Ordering::Relaxed);
}

/// Called before the handler is unmapped: restores the signal's default action if the handler is
/// still installed, and frees the spare alternate stacks.
pub fn unload() {
    PLACES.store(0, Ordering::Relaxed);
    for place in &SPARE {
        // Acquire: pairs with the exchange in `give_back`.
        let low = place.swap(ptr::null_mut(), Ordering::Acquire);
        if !low.is_null() {
            // SAFETY: the mapping is ours, and nobody uses it.
            unsafe { space::unmap(low, Alternate::size()) };
        }
    }
    signal::unhandle(libc::SIGSEGV, handle);
}

unsafe extern "C" fn handle(number: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid siginfo.
    let address = unsafe { (*info).si_addr() } as usize;
    // SAFETY: the kernel passes a valid context.
    let (at, top) = unsafe { registers(context) };
    let size = match HOOKS.get().and_then(|hooks| (hooks.find)(address)) {
        Some(On::Stack(stack)) if stack.guards(address) || stack.is_left_at(top) => {
            Some(stack.room())
        }
        Some(On::ThreadStack) if address.abs_diff(top) < NEAR => Some(0),
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
        // SAFETY: all zero is a valid value, in a valid place.
        unsafe {
            let mut symbol: libc::Dl_info = std::mem::zeroed();
            if libc::dladdr(at, &raw mut symbol) != 0 && !symbol.dli_sname.is_null() {
                let name = CStr::from_ptr(symbol.dli_sname).to_str().unwrap_or("?");
                let _ = write!(out, " (in {name})");
            }
        }
        let _ = writeln!(out);
    } else if HOOKS.get().is_some_and(|hooks| (hooks.begins_overwritten)(at.addr(), address)) {
        let _ = writeln!(
            Out::stderr(),
            "libsched: sched_fork: the descriptor of a task was overwritten before the task began: a \
             sched_join is missing"
        );
    }
    HOOKS.get().inspect(|hooks| (hooks.ends)());
    // SAFETY: the kernel passes a valid siginfo.
    unsafe { signal::take_default_action(number, info) };
}

/// The program counter and the stack pointer of the interrupted code.
///
/// # Safety
/// `context` is the third argument of a signal handler.
unsafe fn registers(context: *mut c_void) -> (*const c_void, usize) {
    let context = context.cast::<libc::ucontext_t>();
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the kernel made this context.
    let (at, top) = unsafe {
        let registers = &(*context).uc_mcontext.gregs;
        (registers[libc::REG_RIP as usize] as usize, registers[libc::REG_RSP as usize] as usize)
    };
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the kernel made this context.
    let (at, top) =
        unsafe { ((*context).uc_mcontext.pc as usize, (*context).uc_mcontext.sp as usize) };
    (ptr::without_provenance(at), top)
}

struct Alternate {
    low: *mut u8,
    /// Including the guard.
    bytes: usize,
    guard: usize,
}

/// The alternate stack of a thread for which nothing can be mapped: then tasks run on top of each
/// other, and an overflow is likely. It is part of the library's data, so it is always there, and
/// its pages are touched only in an overflow.
#[repr(align(4096))]
struct Reserve(UnsafeCell<MaybeUninit<[u8; RESERVE_BYTES]>>);

// SAFETY: one thread at a time has the reserve (`RESERVE_IS_TAKEN`), and only the kernel and the
// handler use its bytes.
unsafe impl Sync for Reserve {}

const RESERVE_BYTES: usize = 96 << 10;
static RESERVE: Reserve = Reserve(UnsafeCell::new(MaybeUninit::uninit()));
#[unsafe(link_section = "sched_words")]
static RESERVE_IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The alternate stacks of threads that have left their runs, kept because mapping and unmapping
/// take some microseconds. Each has `Alternate::size()` bytes.
#[unsafe(link_section = "sched_words")]
static SPARE: [AtomicPtr<u8>; 16] = [const { AtomicPtr::new(ptr::null_mut()) }; 16];

/// The number of places of `SPARE` that may be filled; 0 once the library is being unloaded.
#[unsafe(link_section = "sched_words")]
static PLACES: AtomicUsize = AtomicUsize::new(SPARE.len());

impl Alternate {
    /// The size in bytes, the same for the process's life. Untouched memory takes only address
    /// space; where address space is limited, the size is the least that suffices.
    fn size() -> usize {
        #[unsafe(link_section = "sched_words")]
        static SIZE: AtomicUsize = AtomicUsize::new(0);
        limit::known(&SIZE, || {
            let is_limited = limit::address_space() != usize::MAX;
            let wanted = if is_limited { 0 } else { stack_room::default_stack() };
            Self::least().max((wanted + stack::guard()).next_multiple_of(page_size()))
        })
    }

    /// The least size that suffices, in bytes, including the guard.
    fn least() -> usize {
        const LEAST: usize = 64 << 10;
        // SAFETY: the call takes no pointers.
        let frame = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
        (LEAST + frame + stack::guard()).next_multiple_of(page_size())
    }

    fn take() -> Option<Alternate> {
        // Acquire: pairs with the Release exchange in `give_back`.
        let mut spare = SPARE.iter().map(|place| place.swap(ptr::null_mut(), Ordering::Acquire));
        let low = spare.find(|low| !low.is_null());
        let guard = stack::guard();
        if let Some(low) = low {
            return Some(Alternate { low, bytes: Self::size(), guard });
        }
        let map = |bytes| space::map(bytes, guard).ok().map(|low| Alternate { low, bytes, guard });
        let mapped = map(Self::size()).or_else(|| map(Self::least()));
        mapped.or_else(|| Self::take_reserve(Self::least() - guard))
    }

    /// The reserve, if it has at least this size, and nobody has it.
    fn take_reserve(least: usize) -> Option<Alternate> {
        let low = RESERVE.0.get().cast();
        // Acquire: pairs with the Release store in `give_back`.
        let is_ours = RESERVE_BYTES >= least && !RESERVE_IS_TAKEN.swap(true, Ordering::Acquire);
        is_ours.then_some(Alternate { low, bytes: RESERVE_BYTES, guard: 0 })
    }

    /// Gives the stack back; nobody uses it any more.
    fn give_back(self) {
        if self.guard == 0 {
            return RESERVE_IS_TAKEN.store(false, Ordering::Release); // nobody uses it any more
        }
        let is_like_others = self.bytes == Self::size();
        let places = if is_like_others { PLACES.load(Ordering::Relaxed) } else { 0 };
        for place in SPARE.iter().take(places) {
            // Release: a thread that takes the stack comes after everything that has run on it.
            let (none, low) = (ptr::null_mut(), self.low);
            if place.compare_exchange(none, low, Ordering::Release, Ordering::Relaxed).is_ok() {
                return;
            }
        }
        // SAFETY: the mapping is ours, and nobody uses it.
        unsafe { space::unmap(self.low, self.bytes) };
    }

    fn stack_t(&self) -> libc::stack_t {
        // SAFETY: all zero is a valid value.
        let mut stack: libc::stack_t = unsafe { std::mem::zeroed() };
        stack.ss_sp = self.low.wrapping_add(self.guard).cast();
        stack.ss_size = self.bytes - self.guard;
        stack
    }
}

/// Calls `f` with an alternate signal stack, unless the thread has one, or memory is missing.
pub fn with_alternate_stack(f: impl FnOnce()) {
    let Some(alternate) = Alternate::take() else { return f() };
    let ours = alternate.stack_t();
    // SAFETY: the places are valid; the mapping stays until the kernel no longer uses it, below.
    unsafe {
        let mut before: libc::stack_t = std::mem::zeroed();
        let set = libc::sigaltstack(&raw const ours, &raw mut before) == 0;
        if !set || before.ss_flags & libc::SS_DISABLE == 0 {
            if set {
                libc::sigaltstack(&raw const before, ptr::null_mut());
            }
            alternate.give_back();
            return f();
        }
        f();
        // `f` may have set another alternate stack.
        let errno = errno::get();
        let mut now: libc::stack_t = std::mem::zeroed();
        libc::sigaltstack(&raw const before, &raw mut now);
        if now.ss_sp != ours.ss_sp {
            libc::sigaltstack(&raw const now, ptr::null_mut());
        }
        errno::set(crate::sys::errno::Errno(errno));
    }
    alternate.give_back();
}
