//! Which process this is: a child made by fork has the memory of its parent and none of its threads.
//!
//! What belongs to threads is made anew in it, once, before it is used: by a fork handler, or, since
//! a handler of the program's may come first and start a run, or no handler be called, by the first run.
//!
//! # The word
//!
//! The number of a process does not tell it from its parent: in a namespace of its own the child may have the
//! same one (a container's process 1 that calls unshare(CLONE_NEWPID) and forks). So a process has a
//! *generation*, a number in a word on a page that the kernel empties in every child (MADV_WIPEONFORK, Linux
//! 4.14), whether fork, _Fork or clone has made it; a vfork's shares all memory, and the page.
//!
//! ```text
//! word   | process | generation |   0: not known yet; BUSY: being made anew
//! ```
//! *process* is 0 on such a page. Where there is none, the word is a plain variable, the number of the process is
//! in it and compared, and a fork handler empties it in a child that has its parent's number.

use crate::sys::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use crate::sys::time;
use std::cell::Cell;
use std::ptr;

type Word = AtomicU64;

const BUSY: u32 = u32::MAX;

/// The word; null until it is first used.
static WORD: AtomicPtr<Word> = AtomicPtr::new(ptr::null_mut());

/// The word where the kernel empties no pages.
static PLAIN: Word = Word::new(0);

/// The generation of the last process that was watched, of this one and those that it comes from.
static LAST: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// The generation of the process before the calling thread's last fork.
    static BEFORE: Cell<u32> = const { Cell::new(0) };
}

/// A word that is empty in each child; None if there is none to be had.
fn wiped() -> Option<&'static Word> {
    let (size, access) = (size_of::<Word>(), libc::PROT_READ | libc::PROT_WRITE);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping at no fixed address.
    let page = unsafe { libc::mmap(ptr::null_mut(), size, access, flags, -1, 0) };
    if page == libc::MAP_FAILED {
        return None;
    }
    // An emulator (qemu before 7.1) may take any advice and follow none: it takes -1, too.
    // SAFETY: our own mapping; one advice is no advice, the other about children.
    unsafe {
        let emulated = libc::madvise(page, size, -1) == 0;
        if !emulated && libc::madvise(page, size, libc::MADV_WIPEONFORK) == 0 {
            return Some(&*page.cast::<Word>());
        }
        libc::munmap(page, size);
    }
    None
}

fn find() -> Option<&'static Word> {
    // SAFETY: null, or a word that is never freed. Acquire, with `word`: it is empty, or was.
    unsafe { WORD.load(Ordering::Acquire).as_ref() }
}

fn word() -> &'static Word {
    find().unwrap_or_else(|| {
        let new = ptr::from_ref(wiped().unwrap_or(&PLAIN)).cast_mut();
        let none = ptr::null_mut();
        let found = WORD.compare_exchange(none, new, Ordering::AcqRel, Ordering::Acquire);
        // Where two threads come here at once, one page is never used.
        // SAFETY: as in `find`.
        unsafe { &*found.map_or_else(|other| other, |_| new) }
    })
}

/// The upper half of the word, if that is about this process.
fn me(word: &Word) -> u32 {
    // SAFETY: no arguments.
    if ptr::eq(word, &PLAIN) { unsafe { libc::getpid() as u32 } } else { 0 }
}

fn pack(me: u32, generation: u32) -> u64 {
    u64::from(me) << 32 | u64::from(generation)
}

fn unpack(value: u64) -> (u32, u32) {
    ((value >> 32) as u32, value as u32)
}

/// What tells this process from those that it comes from; 0 if it is not watched yet.
pub fn generation() -> u32 {
    let Some(word) = find() else { return 0 };
    let (process, generation) = unpack(word.load(Ordering::Acquire)); // with `watch`
    if generation != BUSY && process == me(word) { generation } else { 0 }
}

/// True unless this is a child of the process that everything is made for.
pub fn is_known() -> bool {
    generation() != 0
}

/// Calls `renew` if this process is a new one. No thread of it gets past here before that is done.
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
        // The swap picks one thread of this process; what the parent's wrote came with the memory.
        } else if word.compare_exchange(value, busy, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            renew();
            let generation = LAST.fetch_add(1, Ordering::Relaxed) + 1;
            word.store(pack(me, generation), Ordering::Release); // pairs with the loads
            return;
        }
    }
}

/// To be called by the thread that forks, before it does.
pub fn before_fork() {
    BEFORE.set(generation());
}

/// To be called in a child made by fork. If no run has begun in it, nothing is known of it.
pub fn after_fork_in_child() {
    let generation = generation();
    if generation != 0 && generation == BEFORE.get() {
        word().store(0, Ordering::Relaxed); // the child has one thread
    }
}

/// A pointer of the calling thread's that is null in a child, whose thread has its parent's variables.
pub struct Own<T>(Cell<(u32, *const T)>);

impl<T> Own<T> {
    pub const fn null() -> Self {
        Own(Cell::new((0, ptr::null())))
    }

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
