//! Which process this is. A child made by fork has its parent's memory and none of its parent's
//! threads.
//!
//! The child renews everything that belongs to threads, once, before using it. A fork handler does
//! this, or the child's first run if it comes earlier: a fork handler of the program may start a
//! run before ours is called, and some ways to fork call no handlers.
//!
//! # The word
//!
//! A process number does not distinguish a child from its parent: in a namespace of its own the
//! child may have the same number (for example when a container's process 1 calls
//! unshare(CLONE_NEWPID) and forks). So each process has a *generation*. This number is stored in a
//! word on a page that the kernel clears in every child (MADV_WIPEONFORK, Linux 4.14), whether the
//! child was made by fork, _Fork or clone. A vfork child shares all memory, including this page.
//!
//! ```text
//! word   | process | generation |   0: not known yet; BUSY: being renewed
//! ```
//! *process* is 0 on such a page. Where the kernel clears no pages, the word is a plain variable,
//! and *process* is the process number: a process compares it with its own. There a fork handler
//! clears the word in a child that has its parent's process number.

use crate::sys::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use crate::sys::{detector, time};
use std::cell::Cell;
use std::ptr;

type Word = AtomicU64;

const BUSY: u32 = u32::MAX;

/// The address of the word; null until its first use.
#[unsafe(link_section = "sched_words")]
static WORD: AtomicPtr<Word> = AtomicPtr::new(ptr::null_mut());

/// The word where the kernel clears no pages.
#[unsafe(link_section = "sched_words")]
static PLAIN: Word = Word::new(0);

/// The highest generation so far, in this process and its ancestors.
#[unsafe(link_section = "sched_words")]
static LAST: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// The generation of the process before the calling thread's last fork.
    static BEFORE: Cell<u32> = const { Cell::new(0) };
}

/// A word that the kernel clears in each child; None if there is none.
fn wiped() -> Option<&'static Word> {
    let (size, access) = (size_of::<Word>(), libc::PROT_READ | libc::PROT_WRITE);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping at no fixed address.
    let page = unsafe { libc::mmap(ptr::null_mut(), size, access, flags, -1, 0) };
    if page == libc::MAP_FAILED {
        return None;
    }
    // An emulator (qemu before 7.1) may accept any advice and follow none; it accepts even -1.
    // SAFETY: the mapping is ours and unused; -1 is no advice, MADV_WIPEONFORK only concerns
    // children.
    unsafe {
        let emulated = libc::madvise(page, size, -1) == 0;
        if !emulated && libc::madvise(page, size, libc::MADV_WIPEONFORK) == 0 {
            detector::own(&*page.cast::<Word>());
            return Some(&*page.cast::<Word>());
        }
        libc::munmap(page, size);
    }
    None
}

fn find() -> Option<&'static Word> {
    // SAFETY: null, or a word that is never freed. The Acquire pairs with the exchange in `word`:
    // the new word is seen zeroed.
    unsafe { WORD.load(Ordering::Acquire).as_ref() }
}

fn word() -> &'static Word {
    find().unwrap_or_else(|| {
        let new = ptr::from_ref(wiped().unwrap_or(&PLAIN)).cast_mut();
        let none = ptr::null_mut();
        let found = WORD.compare_exchange(none, new, Ordering::AcqRel, Ordering::Acquire);
        // If two threads arrive at once, one of the two pages is never used.
        // SAFETY: `new` and `other` are words that are never freed.
        unsafe { &*found.map_or_else(|other| other, |_| new) }
    })
}

/// The upper half of the word if the word belongs to this process.
fn me(word: &Word) -> u32 {
    // SAFETY: the call has no arguments.
    if ptr::eq(word, &PLAIN) { unsafe { libc::getpid() as u32 } } else { 0 }
}

fn pack(me: u32, generation: u32) -> u64 {
    u64::from(me) << 32 | u64::from(generation)
}

fn unpack(value: u64) -> (u32, u32) {
    ((value >> 32) as u32, value as u32)
}

/// The generation of this process; 0 if it is not watched yet. Each use of NULL in place of an `s`
/// asks for it. Where the kernel clears the word, the answer takes a few loads and comparisons.
#[inline]
pub fn generation() -> u32 {
    let Some(word) = find() else { return 0 };
    let value = word.load(Ordering::Acquire); // pairs with the Release store in `watch`
    let (_, generation) = unpack(value);
    if ptr::eq(word, &PLAIN) || generation == BUSY { checked(word, value) } else { generation }
}

/// The generation in `value`, for a word that also holds the process, or that is being renewed.
#[cold]
#[inline(never)] // so that `generation` saves no registers for the call of getpid
fn checked(word: &Word, value: u64) -> u32 {
    let (process, generation) = unpack(value);
    if generation != BUSY && process == me(word) { generation } else { 0 }
}

/// True if the library's state belongs to this process and not to an ancestor.
pub fn is_known() -> bool {
    generation() != 0
}

/// Calls `renew` if this process is a new one. No thread of the process returns from here before
/// that is done.
pub fn watch(renew: fn()) {
    let word = word();
    let me = me(word);
    loop {
        let value = word.load(Ordering::Acquire);
        let (process, generation) = unpack(value);
        let busy = pack(me, BUSY);
        if value == busy {
            time::give_way();
        } else if process == me && generation != 0 {
            return;
        // This exchange selects one thread of the process. It needs no partner in the parent, whose
        // stores fork has copied with the memory.
        } else if word.compare_exchange(value, busy, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            renew();
            let generation = LAST.fetch_add(1, Ordering::Relaxed) + 1;
            // Pairs with the Acquire loads of the word.
            word.store(pack(me, generation), Ordering::Release);
            return;
        }
    }
}

/// Called by the thread that forks, before the fork.
pub fn before_fork() {
    BEFORE.set(generation());
}

/// Called in a child made by fork. Clears the word if it still holds the parent's generation, that
/// is, if no run has begun in the child.
pub fn after_fork_in_child() {
    let generation = generation();
    if generation != 0 && generation == BEFORE.get() {
        word().store(0, Ordering::Relaxed); // Relaxed: the child has one thread
    }
}

/// A pointer in a thread-local variable. It reads as null in a forked child, which has a copy of
/// the variable.
pub struct NullAfterFork<T>(Cell<(u32, *const T)>);

impl<T> NullAfterFork<T> {
    pub const fn null() -> Self {
        NullAfterFork(Cell::new((0, ptr::null())))
    }

    #[inline]
    pub fn get(&self) -> *const T {
        let (of, value) = self.0.get();
        if !value.is_null() && of == generation() { value } else { ptr::null() }
    }

    pub fn set(&self, value: *const T) {
        self.0.set((generation(), value));
    }

    pub fn replace(&self, value: *const T) -> *const T {
        let was = self.get();
        self.set(value);
        was
    }
}
