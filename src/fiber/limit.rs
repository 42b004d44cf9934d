//! How many stacks a process may have at once.
//!
//! Each task that waits has one. Where tasks wait for each other a million deep, stacks would take all memory there
//! is, and then the kernel ends the process, or another. So they take half of it at most; beyond that
//! tasks run on top of those that wait, and if that goes too deep, a stack overflows, with a message.
//! The same of the other things that a stack takes and the program needs, too: address space, where that is
//! limited, and mappings, where guards cost some.
//!
//! (Go lets goroutines have 1 GB of stack each, and ends with the process's memory.)

use crate::sys::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sys::cgroup;
use crate::sys::memory::NoMemory;

/// So many are had without a look at the system's limits, which takes some ten files.
const FREELY: usize = 64;

/// What one takes of memory at least, in pages: its own two highest, and the tables of those and of the
/// guard.
const PAGES: usize = 4;

/// Mappings of one whose guard is made by mprotect.
const MAPPINGS: usize = 2;

static ALIVE: AtomicUsize = AtomicUsize::new(0);
static GUARDS_ARE_MAPPINGS: AtomicBool = AtomicBool::new(false);

/// One more of `bytes` bytes, if there may be.
pub fn count_in(bytes: usize) -> Result<(), NoMemory> {
    let before = ALIVE.fetch_add(1, Ordering::Relaxed); // counted, no more: it publishes nothing
    if before < most(before, bytes) {
        return Ok(());
    }
    count_out();
    Err(NoMemory)
}

pub fn count_out() {
    ALIVE.fetch_sub(1, Ordering::Relaxed);
}

/// The process is a child made by fork, which has so many.
pub fn renew(alive: usize) {
    ALIVE.store(alive, Ordering::Relaxed);
}

/// Guards are made by mprotect.
pub fn guards_are_mappings() {
    GUARDS_ARE_MAPPINGS.store(true, Ordering::Relaxed);
}

/// How many there may be, if there are so many.
fn most(alive: usize, bytes: usize) -> usize {
    let by_space = address_space() / 2 / bytes;
    if alive < FREELY {
        return by_space;
    }
    let by_mappings = if GUARDS_ARE_MAPPINGS.load(Ordering::Relaxed) {
        known(&MOST_MAPPINGS, most_mappings) / 2 / MAPPINGS
    } else {
        usize::MAX
    };
    by_space.min(by_mappings).min(known(&MEMORY, memory) / 2 / (PAGES * page()))
}

/// What the process may use, in bytes, and mappings; 0: not known yet. As it was when there were first so many
/// stacks.
static MEMORY: AtomicUsize = AtomicUsize::new(0);
static MOST_MAPPINGS: AtomicUsize = AtomicUsize::new(0);

/// Two threads may find out at once: both find the same.
fn known(place: &AtomicUsize, find_out: fn() -> usize) -> usize {
    let value = place.load(Ordering::Relaxed);
    if value != 0 {
        return value;
    }
    let value = find_out().max(1);
    place.store(value, Ordering::Relaxed);
    value
}

fn most_mappings() -> usize {
    cgroup::number_in(c"/proc/sys/vm/max_map_count").unwrap_or(65_530) // the kernel's default
}

/// A limit that cannot be found is none.
fn memory() -> usize {
    installed().unwrap_or(usize::MAX).min(cgroup::memory(c"").unwrap_or(usize::MAX))
}

/// The machine's memory. Not by sysconf, which returns any number where sysinfo is refused.
fn installed() -> Option<usize> {
    // SAFETY: zero is a valid value, in a valid place.
    let info = unsafe {
        let mut info: libc::sysinfo = std::mem::zeroed();
        (libc::sysinfo(&raw mut info) == 0).then_some(info)
    }?;
    let units = usize::try_from(info.totalram).unwrap_or(usize::MAX);
    Some(units.saturating_mul(info.mem_unit as usize)).filter(|&bytes| bytes > 0)
}

/// RLIMIT_AS, in bytes.
pub fn address_space() -> usize {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: 0 };
    // SAFETY: a valid place.
    unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
    usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
}

pub fn page() -> usize {
    // SAFETY: no pointers.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}
