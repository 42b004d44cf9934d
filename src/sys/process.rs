//! The identity of this process. A child made by fork has its parent's memory but not its threads.
//!
//! The child renews everything that belongs to threads, once, before it uses it. A fork handler
//! does this, or the child's first run if that comes earlier: a fork handler of the program may
//! start a run before ours is called, and some ways to fork call no handlers.
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
//! *process* is 0 on such a page. If the kernel clears no pages, the word is a plain variable, and
//! *process* is the process number: a process compares it with its own. In that case a fork handler
//! clears the word in a child that has its parent's process number.
//!
//! # What threads keep on the page
//!
//! The rest of the page is a table of pointers. A hash of the thread pointer selects a thread's
//! *slot*, which a few loads read. A thread-local variable costs a shared library more: a call, and
//! a comparison of generations, because a forked child has a copy of the variable. (A spawn of kind
//! `cont` whose spawner had been stolen takes 11.1 ns with the table, and 13.4 with the variable
//! alone.) Threads with the same hash share a slot and overwrite each other's pointers, so a reader
//! must be able to recognize its own.

use crate::sys::atomic::statics::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use crate::sys::{detector, registers, time};
use std::cell::Cell;
use std::ptr;

type Word = AtomicU64;

const BUSY: u32 = u32::MAX;

/// The table has 2^SLOT_BITS pointers.
const SLOT_BITS: u32 = 8;

/// The page's contents. The slots fill whole cache lines, so that their writers do not take away
/// the line of the word, which is read at each use of NULL in place of an `s`.
#[repr(C)]
struct Page {
    slots: [AtomicPtr<()>; 1 << SLOT_BITS],
    word: Word,
}

/// The address of the page; null until its first use.
#[unsafe(link_section = "sched_words")]
static PAGE: AtomicPtr<Page> = AtomicPtr::new(ptr::null_mut());

/// Stands in for the page if the kernel clears none. Its slots are not used.
#[unsafe(link_section = "sched_words")]
static PLAIN: Page =
    Page { slots: [const { AtomicPtr::new(ptr::null_mut()) }; 1 << SLOT_BITS], word: Word::new(0) };

/// The highest generation so far, in this process and its ancestors.
#[unsafe(link_section = "sched_words")]
static LAST: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// The generation of the process before the calling thread's last fork.
    static BEFORE: Cell<u32> = const { Cell::new(0) };
}

/// A page that the kernel clears in each child; None if there is none.
fn wiped() -> Option<&'static Page> {
    let (size, access) = (size_of::<Page>(), libc::PROT_READ | libc::PROT_WRITE);
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
            detector::own(&*page.cast::<Page>());
            return Some(&*page.cast::<Page>());
        }
        libc::munmap(page, size);
    }
    None
}

#[inline]
fn find() -> Option<&'static Page> {
    // SAFETY: null, or a page that is never freed. The Acquire pairs with the exchange in `page`:
    // the new page is seen zeroed.
    unsafe { PAGE.load(Ordering::Acquire).as_ref() }
}

fn page() -> &'static Page {
    find().unwrap_or_else(|| {
        let new = ptr::from_ref(wiped().unwrap_or(&PLAIN)).cast_mut();
        let none = ptr::null_mut();
        let found = PAGE.compare_exchange(none, new, Ordering::AcqRel, Ordering::Acquire);
        // If two threads arrive at once, one of the two pages is never used.
        // SAFETY: `new` and `other` are pages that are never freed.
        unsafe { &*found.map_or_else(|other| other, |_| new) }
    })
}

/// The upper half of the page's word if it belongs to this process.
fn me(page: &Page) -> u32 {
    // SAFETY: the call has no arguments.
    if ptr::eq(page, &PLAIN) { unsafe { libc::getpid() as u32 } } else { 0 }
}

fn pack(me: u32, generation: u32) -> u64 {
    (u64::from(me) << 32) | u64::from(generation)
}

fn unpack(value: u64) -> (u32, u32) {
    ((value >> 32) as u32, value as u32)
}

/// The generation of this process; 0 if it is not watched yet. It is read at each use of NULL in
/// place of an `s`, by a few loads and comparisons if the kernel clears the word.
#[inline]
pub fn generation() -> u32 {
    let Some(page) = find() else { return 0 };
    let value = page.word.load(Ordering::Acquire); // pairs with the Release store in `watch`
    let (_, generation) = unpack(value);
    if ptr::eq(page, &PLAIN) || generation == BUSY { checked(page, value) } else { generation }
}

/// The generation in `value`, which also holds the process, or says that the word is being renewed.
#[cold]
#[inline(never)] // so that `generation` saves no registers for the call of getpid
fn checked(page: &Page, value: u64) -> u32 {
    let (process, generation) = unpack(value);
    if generation != BUSY && process == me(page) { generation } else { 0 }
}

/// True if the library's state belongs to this process and not to an ancestor.
pub fn is_known() -> bool {
    generation() != 0
}

/// Calls `renew` if this process is new. No thread of the process returns before `renew` returns.
pub fn watch(renew: fn()) {
    let page = page();
    let (word, me) = (&page.word, me(page));
    loop {
        let value = word.load(Ordering::Acquire);
        let (process, generation) = unpack(value);
        let busy = pack(me, BUSY);
        if value == busy {
            time::give_way();
        } else if process == me && generation != 0 {
            return;
        // This exchange selects one thread of the process. It pairs with nothing in the parent,
        // whose stores fork has copied with the memory.
        } else if word.compare_exchange(value, busy, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            renew();
            let generation = LAST.fetch_add(1, Ordering::Relaxed) + 1;
            // Pairs with the Acquire loads of the word.
            word.store(pack(me, generation), Ordering::Release);
            return;
        }
    }
}

/// The calling thread's slot, which threads with the same hash share. In a forked child it is null
/// until the child stores a pointer. None means that the kernel clears no pages.
#[inline]
pub fn slot_of_thread() -> Option<&'static AtomicPtr<()>> {
    let page = find().filter(|page| !ptr::eq(*page, &PLAIN))?;
    // The thread pointers of most threads lie at equal distances. Multiplying by the golden ratio
    // spreads these well (Knuth, "The Art of Computer Programming", volume 3, 6.4).
    let hash = (registers::thread_pointer() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    Some(&page.slots[(hash >> (u64::BITS - SLOT_BITS)) as usize])
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
        page().word.store(0, Ordering::Relaxed); // Relaxed: the child has one thread
    }
}

/// A thread-local pointer that reads as null in a forked child, which has a copy of the variable.
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
