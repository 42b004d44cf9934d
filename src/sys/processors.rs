//! How many processors this process may use.

use crate::sys::{cgroup, stack_room};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Most workers a run may have.
pub const MOST_WORKERS: usize = 4096;

/// Reading the quota opens some ten files: it is read at most this often.
const QUOTA_KEPT: Duration = Duration::from_millis(100);

/// The default number of workers: the affinity mask, capped by the tightest quota of the
/// cgroup and its ancestors, rounded up; at least 1.
pub fn default_threads() -> usize {
    let quota = quota().map_or(usize::MAX, |millis| millis.div_ceil(1000));
    allowed().min(quota).clamp(1, MOST_WORKERS)
}

/// Processors in the calling thread's affinity mask; 1 if it cannot be read.
pub fn allowed() -> usize {
    Mask::of_caller().count()
}

/// The processor that the calling thread runs on at this moment; negative if it cannot be told.
pub fn here() -> i32 {
    // SAFETY: no arguments.
    unsafe { libc::sched_getcpu() }
}

/// An affinity mask. The kernel's may be longer than cpu_set_t's 1024 bits: up to 8192 here.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Mask {
    words: [u64; 128],
    /// How much of it the kernel has filled; 0: it could not be read.
    bytes: usize,
}

impl Mask {
    /// That of no thread.
    pub const fn empty() -> Self {
        Mask { words: [0; 128], bytes: 0 }
    }

    /// It could be read.
    pub fn is_known(&self) -> bool {
        self.bytes > 0
    }

    /// It has no processor that the other has not.
    pub fn is_within(&self, other: &Mask) -> bool {
        std::iter::zip(self.words, other.words).all(|(word, others)| word & !others == 0)
    }

    /// The calling thread's.
    pub fn of_caller() -> Self {
        let mut words = [0; 128];
        // SAFETY: the mask is a buffer of the length given.
        let n = unsafe {
            let length = size_of_val(&words);
            libc::syscall(libc::SYS_sched_getaffinity, 0, length, words.as_mut_ptr())
        };
        Mask { words, bytes: usize::try_from(n).unwrap_or(0) }
    }

    /// Processors in it, at least 1.
    pub fn count(&self) -> usize {
        let words = self.bytes.div_ceil(8).min(self.words.len());
        self.words[..words].iter().map(|w| w.count_ones() as usize).sum::<usize>().max(1)
    }

    /// The others than the one that the calling thread runs on; None if there are none.
    pub fn elsewhere(&self) -> Option<Mask> {
        let here = usize::try_from(here()).ok()?;
        let mut others = *self;
        *others.words.get_mut(here / 64)? &= !(1 << (here % 64));
        others.words[..self.bytes.div_ceil(8)].iter().any(|&word| word != 0).then_some(others)
    }

    /// Its bytes, for system calls.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `bytes` is at most the size of the words.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.bytes) }
    }

    /// Makes it the calling thread's.
    pub fn apply(&self) {
        // SAFETY: a mask of the length given. Fails if none of the processors is left.
        unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, self.bytes, self.words.as_ptr()) };
    }
}

/// Lets the calling thread run on all processors of its cpuset, also on those that the cpuset is given later.
pub fn allow_all() {
    static ALL: [u64; 128] = [!0; 128];
    // SAFETY: a mask of the length given. Fails if a sandbox forbids it.
    unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(&ALL), ALL.as_ptr()) };
}

/// The quota in thousandths of a processor, if there is one; kept for `QUOTA_KEPT`.
fn quota() -> Option<usize> {
    /// Milliseconds of the clock at the last reading, plus one; 0: never read.
    static READ_AT: AtomicUsize = AtomicUsize::new(0);
    /// What was read; 0: no quota.
    static QUOTA: AtomicUsize = AtomicUsize::new(0);

    let now = clock_millis() + 1;
    let read_at = READ_AT.load(Ordering::Acquire);
    let old = read_at == 0 || now.wrapping_sub(read_at) >= QUOTA_KEPT.as_millis() as usize;
    if old && stack_room::look_for_room().is_ok() {
        let quota = cgroup::quota(c"").map_or(0, |millis| millis.max(1));
        QUOTA.store(quota, Ordering::Relaxed);
        READ_AT.store(now, Ordering::Release); // pairs with the load: the quota is there
    }
    Some(QUOTA.load(Ordering::Relaxed)).filter(|&millis| millis > 0)
}

fn clock_millis() -> usize {
    // SAFETY: zero is a valid timespec, and a valid place for one.
    let mut now: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut now) };
    now.tv_sec as usize * 1000 + now.tv_nsec as usize / 1_000_000
}
