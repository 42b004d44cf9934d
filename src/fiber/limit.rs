//! How many stacks a process may have at once.
//!
//! Each waiting task has a stack. If a million tasks wait for each other, their stacks would take
//! all memory, and the kernel would then end this process or another one. So stacks take at most
//! half of the memory. Beyond that limit tasks run on top of waiting tasks; if that goes too deep,
//! a stack overflows, with a message. Stacks also take at most half of the address space, where it
//! is limited, and of the mappings, where guards take some.

use crate::sys::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sys::cgroup;
use crate::sys::memory::{NoMemory, page_size};

/// The number of stacks that a process may have before the library reads the system's limits, which
/// takes some ten files. The limit of the address space, which costs a system call, is read again
/// whenever the number of stacks is a multiple of this.
const UNCHECKED: usize = 64;

/// The memory of a stack in pages: one or two pages, their page tables, and those of the guard.
const PAGES_PER_STACK: usize = 4;

const MAPPINGS_PER_STACK: usize = 2;

#[unsafe(link_section = "sched_words")]
static ALIVE: AtomicUsize = AtomicUsize::new(0);
/// The highest allowed number of stacks, computed for the latest new stack.
#[unsafe(link_section = "sched_words")]
static MOST: AtomicUsize = AtomicUsize::new(0);
/// RLIMIT_AS when it was last read.
#[unsafe(link_section = "sched_words")]
static SPACE: AtomicUsize = AtomicUsize::new(0);
#[unsafe(link_section = "sched_words")]
static GUARDS_ARE_MAPPINGS: AtomicBool = AtomicBool::new(false);

/// Counts one more stack of `bytes` bytes, if the limit allows it.
pub fn count_in(bytes: usize) -> Result<(), NoMemory> {
    // Relaxed: only a count, which publishes nothing
    let before = ALIVE.fetch_add(1, Ordering::Relaxed);
    let anew = before % UNCHECKED == 0;
    // The program may have raised the limit of its address space since it was last read.
    if before < most(before, bytes, anew) || !anew && before < most(before, bytes, true) {
        return Ok(());
    }
    count_out();
    Err(NoMemory)
}

/// True if half of the allowed stacks exist: idle stacks should then go back to the store.
/// (Relaxed: an outdated answer gives a stack back too early or too late, which does no harm.)
pub fn is_scarce() -> bool {
    ALIVE.load(Ordering::Relaxed) >= MOST.load(Ordering::Relaxed) / 2
}

pub fn count_out() {
    ALIVE.fetch_sub(1, Ordering::Relaxed);
}

/// Called in the child of a fork, which has `alive` stacks.
pub fn renew(alive: usize) {
    ALIVE.store(alive, Ordering::Relaxed);
}

pub fn guards_are_mappings() {
    GUARDS_ARE_MAPPINGS.store(true, Ordering::Relaxed);
}

/// The highest allowed number of stacks. If `anew`, reads the limit of the address space again.
fn most(alive: usize, bytes: usize, anew: bool) -> usize {
    if anew {
        SPACE.store(address_space(), Ordering::Relaxed);
    }
    let most = most_with(SPACE.load(Ordering::Relaxed), alive, bytes);
    MOST.store(most, Ordering::Relaxed);
    most
}

fn most_with(space: usize, alive: usize, bytes: usize) -> usize {
    let by_space = space / 2 / bytes;
    if alive < UNCHECKED {
        return by_space;
    }
    let by_mappings = if GUARDS_ARE_MAPPINGS.load(Ordering::Relaxed) {
        known(&MOST_MAPPINGS, most_mappings) / 2 / MAPPINGS_PER_STACK
    } else {
        usize::MAX
    };
    by_space.min(by_mappings).min(known(&MEMORY, memory) / 2 / (PAGES_PER_STACK * page_size()))
}

/// The memory in bytes and the number of mappings that the process may use; 0: not known yet. Both
/// are read once, when the process first has `UNCHECKED` stacks.
#[unsafe(link_section = "sched_words")]
static MEMORY: AtomicUsize = AtomicUsize::new(0);
#[unsafe(link_section = "sched_words")]
static MOST_MAPPINGS: AtomicUsize = AtomicUsize::new(0);

/// The number at `place`, which the first call finds out. 0: not known yet. If two threads find it
/// out at once, both use the number that was stored first.
pub(super) fn known(place: &AtomicUsize, find_out: impl FnOnce() -> usize) -> usize {
    let value = place.load(Ordering::Relaxed);
    if value != 0 {
        return value;
    }
    let value = find_out().max(1);
    match place.compare_exchange(0, value, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => value,
        Err(first) => first,
    }
}

#[cold]
#[inline(never)] // its frame is large, and the caller is on the stack of a waiting task
fn most_mappings() -> usize {
    cgroup::number_in(c"/proc/sys/vm/max_map_count").unwrap_or(65_530) // the kernel's default
}

/// The memory that the process may use. A limit that cannot be read counts as none.
#[cold]
#[inline(never)] // as above
fn memory() -> usize {
    installed().unwrap_or(usize::MAX).min(cgroup::memory(c"").unwrap_or(usize::MAX))
}

/// The machine's memory. Rejected: sysconf, whose result is arbitrary if sysinfo is refused.
fn installed() -> Option<usize> {
    // SAFETY: all zero is a valid value, in a valid place.
    let info = unsafe {
        let mut info: libc::sysinfo = std::mem::zeroed();
        (libc::sysinfo(&raw mut info) == 0).then_some(info)
    }?;
    let units = usize::try_from(info.totalram).unwrap_or(usize::MAX);
    Some(units.saturating_mul(info.mem_unit as usize)).filter(|&bytes| bytes > 0)
}

/// RLIMIT_AS in bytes.
pub fn address_space() -> usize {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: 0 };
    // SAFETY: `limit` is a valid place.
    unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
    usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
}
