//! The calling thread's stack: its bounds, and whether it has room for the library's calls.

use crate::sys::futex;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The stack that the library needs from its caller, in bytes. Most of it is for reading the files
/// of cgroups, and for the dynamic linker, which resolves a function at its first call.
const LEAST_ROOM: usize = if cfg!(debug_assertions) { 24 << 10 } else { 18 << 10 };

/// The calling thread's stack has too little room: `left` bytes of the `least` that are needed.
pub struct NoRoom {
    pub left: usize,
    pub least: usize,
}

/// Checks that the calling thread's stack has enough room. If its bounds are not known, or the
/// caller is on another stack, the room counts as enough.
pub fn look_for_room() -> Result<(), NoRoom> {
    let here = 0u8;
    let here = std::ptr::from_ref(&here).addr();
    let (low, high) = bounds(here);
    if (low..high).contains(&here) && here - low < LEAST_ROOM {
        return Err(NoRoom { left: here - low, least: LEAST_ROOM });
    }
    Ok(())
}

/// The number of bytes left on the calling thread's own stack; 0 if its bounds are not known, or
/// the caller is on another stack.
pub fn left() -> usize {
    let here = 0u8;
    let here = std::ptr::from_ref(&here).addr();
    let (low, high) = bounds(here);
    if (low..high).contains(&here) { here - low } else { 0 }
}

/// The bounds of the stack of the process's first thread. The stack ends below the program's name,
/// which the kernel has put above everything else there; the size is that of RLIMIT_STACK. (The C
/// library would read /proc/self/maps: 120,000 instructions in the first run of each process.)
fn bounds_of_first() -> Option<(usize, usize)> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place; the other calls take no pointers.
    let (known, top) = unsafe {
        let first = libc::gettid() == libc::getpid();
        let known = first && libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) == 0;
        (known, libc::getauxval(libc::AT_EXECFN) as usize)
    };
    let size = usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX);
    (known && top != 0).then(|| (top.saturating_sub(size), top))
}

/// The bounds of the calling thread's own stack, up to the thread's record and variables, which the
/// C library keeps above the stack in the same memory. If the caller is on another stack, or the
/// bounds are not known: the bounds of a page around the caller's frame.
pub fn around() -> (usize, usize) {
    const PAGE: usize = 4096;
    let here = 0u8;
    let here = std::ptr::from_ref(&here).addr();
    let (low, high) = bounds(here);
    if (low..high).contains(&here) {
        (low, end_of_frames(here, high))
    } else {
        (here - PAGE, here + PAGE)
    }
}

/// The end of the calling thread's frames: the least address from `here` to `high` at which it has
/// its record or its variables; `high` if there is none.
fn end_of_frames(here: usize, high: usize) -> usize {
    /// The distance from the lowest address of a thread's variables to its record, plus 1. It is
    /// the same in all threads; 0 until the first thread has looked. (Variables of an object that
    /// is loaded later may lie below.) Relaxed: each thread that looks finds the same.
    #[unsafe(link_section = "sched_words")]
    static DISTANCE: AtomicUsize = AtomicUsize::new(0);
    // In the C libraries of Linux an id is the address of the thread's record.
    // SAFETY: the call has no arguments.
    let record = unsafe { libc::pthread_self() } as usize;
    if !(here..high).contains(&record) {
        return high;
    }
    if DISTANCE.load(Ordering::Relaxed) == 0 {
        let distance = record - least_variable(here, record);
        DISTANCE.store(distance + 1, Ordering::Relaxed);
    }
    record - (DISTANCE.load(Ordering::Relaxed) - 1)
}

/// The least address from `here` to `record` at which an object has variables of the calling
/// thread; `record` if there is none.
fn least_variable(here: usize, record: usize) -> usize {
    unsafe extern "C" fn look(
        object: *mut libc::dl_phdr_info,
        size: libc::size_t,
        range: *mut c_void,
    ) -> c_int {
        // SAFETY: `dl_iterate_phdr` passes the pointer that it was given.
        let range = unsafe { &mut *range.cast::<Range<usize>>() };
        if size >= size_of::<libc::dl_phdr_info>() {
            // SAFETY: `dl_iterate_phdr` passes an object of this size.
            let variables = unsafe { (*object).dlpi_tls_data }.addr();
            if range.contains(&variables) {
                range.end = variables;
            }
        }
        0
    }

    let mut range = here..record;
    // SAFETY: `look` is called before this returns, with a pointer to `range`.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut range).cast()) };
    range.end
}

/// The lowest address of the calling thread's stack, and its end; equal if they are not known. The
/// bounds are remembered, because the C library takes some time to find them.
fn bounds(here: usize) -> (usize, usize) {
    thread_local!(static BOUNDS: Cell<(usize, usize)> = const { Cell::new((0, 0)) });
    let known = BOUNDS.get();
    if known.1 > 0 || !futex::works() {
        return known; // known, or the C library must not be asked: see `thread::is_detached`
    }
    // (A forked child continues on the stack of the thread that forked, perhaps not the first.)
    if let Some((low, high)) = bounds_of_first().filter(|&(low, high)| (low..high).contains(&here))
    {
        BOUNDS.set((low, high));
        return (low, high);
    }
    let (mut low, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: zeroes are a valid value; the places are valid; the attributes are destroyed if made.
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

/// The size of a new thread's stack: the system's (mostly RLIMIT_STACK), but at least `LEAST`.
pub fn default_stack() -> usize {
    const LEAST: usize = 64 << 10;
    let mut size = 0;
    // SAFETY: the attribute object is our own; the default needs no memory, and it is destroyed.
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
