//! The calling thread's stack: its bounds, and whether the library has room there.

use crate::sys::futex;
use std::cell::Cell;

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
    if known.1 > 0 || !futex::works() {
        return known; // or as in `thread::is_detached`
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
