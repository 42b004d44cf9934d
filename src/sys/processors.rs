//! How many processors this process may use.

use crate::sys::{cgroup, stack_room, time};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub const MOST_WORKERS: usize = 4096;

/// Reading the quota opens some ten files, so it is read at most this often.
const QUOTA_KEPT: Duration = Duration::from_millis(100);

/// The default number of workers: the processors in the affinity mask, limited by the tightest CPU
/// quota of the cgroup and its ancestors (rounded up); at least 1.
pub fn default_threads(mask: &Mask) -> usize {
    let quota = quota().map_or(usize::MAX, |millis| millis.div_ceil(1000));
    mask.count().min(quota).clamp(1, MOST_WORKERS)
}

/// The number of processors in the calling thread's affinity mask; 1 if the mask cannot be read.
#[inline(never)] // its frame is large, and `seen` is called on the stacks of waiting tasks
pub fn allowed() -> usize {
    Mask::of_caller().count()
}

/// `allowed` at the first call: a hint that costs a load.
pub fn seen() -> usize {
    /// 0: not read yet. Relaxed: each thread may read the mask for itself.
    #[unsafe(link_section = "sched_words")]
    static SEEN: AtomicUsize = AtomicUsize::new(0);

    let seen = SEEN.load(Ordering::Relaxed);
    if seen != 0 {
        return seen;
    }
    let allowed = allowed();
    SEEN.store(allowed, Ordering::Relaxed);
    allowed
}

/// The processor that the calling thread runs on now; negative if it is not known.
pub fn here() -> i32 {
    // SAFETY: the call has no arguments.
    unsafe { libc::sched_getcpu() }
}

/// An affinity mask of up to 8192 bits: the kernel's may be longer than the 1024 of cpu_set_t.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Mask {
    words: [u64; 128],
    /// The number of bytes that the kernel has filled; 0 if the mask could not be read.
    bytes: usize,
}

impl Mask {
    /// A mask that belongs to no thread.
    pub const fn empty() -> Self {
        Mask { words: [0; 128], bytes: 0 }
    }

    /// True if the mask could be read.
    pub fn is_known(&self) -> bool {
        self.bytes > 0
    }

    /// True if `other` has every processor of this mask.
    pub fn is_within(&self, other: &Mask) -> bool {
        std::iter::zip(self.words, other.words).all(|(word, others)| word & !others == 0)
    }

    pub fn of_caller() -> Self {
        Mask::of(0)
    }

    pub fn add(&mut self, other: &Mask) {
        self.bytes = self.bytes.max(other.bytes);
        std::iter::zip(&mut self.words, other.words).for_each(|(word, others)| *word |= others);
    }

    /// The mask of a thread of this process; 0: of the calling thread.
    pub fn of(thread: libc::pid_t) -> Self {
        let mut words = [0; 128];
        // SAFETY: `words` is a buffer of the given length.
        let n = unsafe {
            let length = size_of_val(&words);
            libc::syscall(libc::SYS_sched_getaffinity, thread, length, words.as_mut_ptr())
        };
        Mask { words, bytes: usize::try_from(n).unwrap_or(0) }
    }

    /// The number of processors in the mask, at least 1.
    pub fn count(&self) -> usize {
        let words = self.bytes.div_ceil(8).min(self.words.len());
        self.words[..words].iter().map(|w| w.count_ones() as usize).sum::<usize>().max(1)
    }

    /// This mask without the processor that the calling thread runs on; None if no other is left.
    pub fn elsewhere(&self) -> Option<Mask> {
        let here = usize::try_from(here()).ok()?;
        let mut others = *self;
        *others.words.get_mut(here / 64)? &= !(1 << (here % 64));
        others.words[..self.bytes.div_ceil(8)].iter().any(|&word| word != 0).then_some(others)
    }

    /// The mask's bytes, for system calls.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `bytes` is at most the size of `words`.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.bytes) }
    }

    /// Sets the calling thread's mask.
    pub fn apply(&self) {
        // SAFETY: `words` has `bytes` bytes. The call fails if none of the processors is left.
        unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, self.bytes, self.words.as_ptr()) };
    }
}

/// Lets the calling thread run on all processors that its cpuset has now, or gains later.
pub fn allow_all() {
    static ALL: [u64; 128] = [!0; 128];
    // SAFETY: `ALL` has the given length. The call fails if a sandbox forbids it.
    unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(&ALL), ALL.as_ptr()) };
}

/// The quota in thousandths of a processor, if there is one; remembered for `QUOTA_KEPT`.
fn quota() -> Option<usize> {
    /// The clock's milliseconds at the last reading plus one; 0: never read.
    #[unsafe(link_section = "sched_words")]
    static READ_AT: AtomicUsize = AtomicUsize::new(0);
    /// The value that was read; 0: no quota.
    #[unsafe(link_section = "sched_words")]
    static QUOTA: AtomicUsize = AtomicUsize::new(0);

    let now = time::coarse().as_millis() as usize + 1;
    let read_at = READ_AT.load(Ordering::Acquire);
    let old = read_at == 0 || now.wrapping_sub(read_at) >= QUOTA_KEPT.as_millis() as usize;
    if old && stack_room::look_for_room().is_ok() {
        let quota = cgroup::quota(c"").map_or(0, |millis| millis.max(1));
        QUOTA.store(quota, Ordering::Relaxed);
        READ_AT.store(now, Ordering::Release); // pairs with the load of READ_AT; publishes QUOTA
    }
    Some(QUOTA.load(Ordering::Relaxed)).filter(|&millis| millis > 0)
}
