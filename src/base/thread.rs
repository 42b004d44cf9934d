//! Threads, as this library needs them: made by hand, so that failures are values and the
//! new thread's signal mask and name are right before it runs anything.

use super::Errno;
use super::cpu::Mask;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::fmt::Write;
use std::time::Duration;

/// The thread pointer: a number that differs between any two living threads, read without
/// a call.
#[inline(always)]
pub fn pointer() -> usize {
    let tp: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: on Linux the word at fs:0 holds the thread pointer itself.
    unsafe {
        std::arch::asm!("mov {}, fs:0", out(reg) tp, options(nostack, preserves_flags, readonly));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: reading the thread pointer register has no effect.
    unsafe {
        std::arch::asm!("mrs {}, tpidr_el0", out(reg) tp, options(nostack, preserves_flags, nomem));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        thread_local!(static HERE: u8 = const { 0 });
        tp = HERE.with(|here| std::ptr::from_ref(here) as usize);
    }
    tp
}

/// How many bytes below this address the stack pointer is; modulo the size of the address space, where it is above.
#[inline(always)]
pub fn depth_below(address: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        let mut depth = address;
        // SAFETY: reading the register has no effect. (To subtract it where it is saves an instruction.)
        unsafe {
            std::arch::asm!("sub {}, rsp", inout(reg) depth, options(nomem, nostack));
        }
        depth
    }
    #[cfg(not(target_arch = "x86_64"))]
    address.wrapping_sub(stack_pointer())
}

/// About where the caller is on its stack: no frame of its own is needed for that, as for a variable's address.
#[inline(always)]
pub fn stack_pointer() -> usize {
    let here: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reading the register has no effect.
    unsafe {
        std::arch::asm!("mov {}, rsp", out(reg) here, options(nomem, nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("mov {}, sp", out(reg) here, options(nomem, nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let local = 0_u8;
        here = std::hint::black_box(&raw const local).addr();
    }
    here
}

/// `word == pointer()`.
#[inline(always)]
pub fn is_pointer(word: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as in `pointer`; two instructions for three.
    unsafe {
        std::arch::asm!("cmp {}, fs:0", "jne {}", in(reg) word, label { return false },
                        options(nostack, readonly));
        true
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        word == pointer()
    }
}

/// `word ^ pointer()`: zero if they are equal, else less than 2^63, thread pointers being
/// addresses of a process.
#[inline(always)]
pub fn unlike_pointer(word: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as in `pointer`; one instruction for two.
    unsafe {
        let mut word = word;
        std::arch::asm!("xor {}, fs:0", inout(reg) word, options(nostack, readonly));
        word
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        word ^ pointer()
    }
}

pub fn errno() -> c_int {
    // SAFETY: the address is valid for the calling thread.
    unsafe { *libc::__errno_location() }
}

pub fn set_errno(value: Errno) {
    // SAFETY: as in `errno`.
    unsafe { *libc::__errno_location() = value.0 }
}

/// What a failing function of the C interface returns: -1, with errno set.
#[cold]
#[inline(never)]
pub fn failed(error: c_int) -> c_int {
    set_errno(Errno(error));
    -1
}

pub fn timespec(time: Duration) -> libc::timespec {
    libc::timespec { tv_sec: time.as_secs() as libc::time_t, tv_nsec: time.subsec_nanos().into() }
}

/// Sleeps for `time`, less if a signal comes. By the system call itself, since the function is a
/// cancellation point.
pub fn sleep(time: Duration) {
    let time = timespec(time);
    let rest: *mut libc::timespec = std::ptr::null_mut();
    // SAFETY: the first argument is a timespec, the second may be null.
    unsafe { libc::syscall(libc::SYS_nanosleep, &raw const time, rest) };
}

/// The processor time that this process has used.
pub fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid place.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Gives the processor to another thread that wants it.
pub fn give_way() {
    // SAFETY: no arguments.
    unsafe { libc::sched_yield() };
}

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

/// The floating-point controls of a thread: rounding, flushing to zero, masked exceptions. A new
/// thread has its creator's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatControl {
    #[cfg(target_arch = "x86_64")]
    x87: u16,
    #[cfg(target_arch = "x86_64")]
    sse: u32,
    #[cfg(target_arch = "aarch64")]
    fpcr: u64,
}

/// The exception flags among the SSE controls: not controls.
#[cfg(target_arch = "x86_64")]
const SSE_FLAGS: u32 = 0x3f;

impl FloatControl {
    #[cfg(target_arch = "x86_64")]
    pub fn get() -> Self {
        let (mut x87, mut sse) = (0u16, 0u32);
        // SAFETY: each stores its control word at a valid place.
        unsafe {
            std::arch::asm!("fnstcw [{}]", "stmxcsr [{}]", in(reg) &raw mut x87,
                            in(reg) &raw mut sse, options(nostack, preserves_flags));
        }
        FloatControl { x87, sse: sse & !SSE_FLAGS }
    }

    #[cfg(target_arch = "x86_64")]
    pub fn set(self) {
        if self != Self::get() {
            // SAFETY: control words that a thread of this process had. The compiler does not
            // calculate with them in between: no floating-point numbers in this library.
            unsafe {
                std::arch::asm!("fldcw [{}]", "ldmxcsr [{}]", in(reg) &raw const self.x87,
                                in(reg) &raw const self.sse, options(nostack, preserves_flags));
            }
        }
    }

    #[cfg(target_arch = "aarch64")]
    pub fn get() -> Self {
        let fpcr;
        // SAFETY: reading the control register has no effect.
        unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) fpcr, options(nostack, nomem)) };
        FloatControl { fpcr }
    }

    #[cfg(target_arch = "aarch64")]
    pub fn set(self) {
        // SAFETY: a control word that a thread of this process had; see above.
        unsafe { std::arch::asm!("msr fpcr, {}", in(reg) self.fpcr, options(nostack)) };
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub fn get() -> Self {
        FloatControl {}
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub fn set(self) {}
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
        libc::pthread_attr_setstacksize(&raw mut attributes, default_stack());
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
    if !super::futex::works() {
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

/// What the library needs of its caller's stack, in bytes: most of it to read the files of cgroups, and for the dynamic
/// linker's first calls.
const LEAST_ROOM: usize = if cfg!(debug_assertions) { 24 << 10 } else { 18 << 10 };

/// Too little is left of the calling thread's stack, in bytes.
pub struct NoRoom {
    pub left: usize,
    pub least: usize,
}

/// Whether enough is left of the calling thread's stack. It is, if that is unknown, or if the caller is on another.
pub fn look_for_room() -> Result<(), NoRoom> {
    let here = 0u8;
    let here = std::ptr::from_ref(&here).addr();
    let (low, high) = bounds(here);
    if (low..high).contains(&here) && here - low < LEAST_ROOM {
        return Err(NoRoom { left: here - low, least: LEAST_ROOM });
    }
    Ok(())
}

/// The stack of the process's first thread: its limit, below the program's name, which the kernel has put above all that
/// the thread has there. (The C library would read /proc/self/maps: 120,000 instructions, in each process's first run.)
fn bounds_of_first() -> Option<(usize, usize)> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a valid place, and calls without pointers.
    let (known, top) = unsafe {
        let first = libc::gettid() == libc::getpid();
        let known = first && libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) == 0;
        (known, libc::getauxval(libc::AT_EXECFN) as usize)
    };
    let size = usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX);
    (known && top != 0).then(|| (top.saturating_sub(size), top))
}

/// The lowest address of the calling thread's stack, and its end; equal: not known. They are kept, for it takes the C
/// library some time to find them.
fn bounds(here: usize) -> (usize, usize) {
    thread_local!(static BOUNDS: Cell<(usize, usize)> = const { Cell::new((0, 0)) });
    let known = BOUNDS.get();
    if known.1 > 0 || !super::futex::works() {
        return known; // or as in `is_detached`
    }
    // (A child that another thread has made by fork goes on on that one's stack.)
    if let Some((low, high)) = bounds_of_first().filter(|&(low, high)| (low..high).contains(&here))
    {
        BOUNDS.set((low, high));
        return (low, high);
    }
    let (mut low, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: zero is a valid value; valid places; destroyed if it was made.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) == 0 {
            libc::pthread_attr_getstack(&raw const attributes, &raw mut low, &raw mut size);
            libc::pthread_attr_destroy(&raw mut attributes);
        }
    }
    let bounds = (low.addr(), low.addr().saturating_add(size).max(1));
    BOUNDS.set(bounds);
    bounds
}

/// Bytes of a new thread's stack: what the system says (RLIMIT_STACK, most often), unless that is too little for anything.
pub fn default_stack() -> usize {
    const LEAST: usize = 64 << 10;
    let mut size = 0;
    // SAFETY: an attribute object of our own; the default needs no memory, and is destroyed.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_attr_init(&raw mut attributes) != 0 {
            return 8 << 20;
        }
        libc::pthread_attr_getstacksize(&raw const attributes, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
    }
    size.max(LEAST)
}

/// Waits until the thread has ended. An error if a task has detached it; but of one that has ended newer C libraries
/// do not say so. Where futex is refused, pthread_join would abort the process, so it is only called once the kernel
/// has marked the thread as gone.
///
/// # Safety
/// `id` must come from `create` and be joined once.
pub unsafe fn join(id: libc::pthread_t) -> Result<(), Errno> {
    let error = if super::futex::probe() {
        // SAFETY: by the caller's promise.
        unsafe { libc::pthread_join(id, std::ptr::null_mut()) }
    } else {
        loop {
            // SAFETY: by the caller's promise; EBUSY leaves the thread unjoined.
            match unsafe { libc::pthread_tryjoin_np(id, std::ptr::null_mut()) } {
                libc::EBUSY => sleep(Duration::from_micros(50)),
                error => break error,
            }
        }
    };
    if error == 0 { Ok(()) } else { Err(Errno(error)) }
}
