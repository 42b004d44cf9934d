//! Stacks for tasks.
//!
//! # Layout
//!
//! ```text
//! low                                                                       high
//!  | guard | ......................... room, grows down <-- | StackRecord | offset |
//! ```
//! A stack is address space that is committed when it is touched ([`super::space`]). Its lowest
//! pages are a guard. The *record* contains the library's data about the stack. The *offset* is up
//! to some 2 KiB and differs from stack to stack, so that the busy ends of many stacks do not
//! compete for the same places in a cache.
//!
//! Each stack is in a list from its creation to its unmapping, so that `inspect` finds each waiting
//! task. The list costs a task nothing.

pub mod free;

use crate::fiber::sanitizers::SanitizerState;
use crate::fiber::{limit, space};
use crate::lock::mutex::Mutex;
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::memory::{NoMemory, page_size};
use crate::sys::{detector, memory, peek};
use std::cell::Cell;
use std::mem::offset_of;
use std::ptr::NonNull;

/// The record of a stack; it lies just above the stack's room.
#[repr(C, align(64))]
pub struct StackRecord {
    low: *mut u8,
    /// The size of the whole mapping in bytes.
    size: usize,
    next: Cell<Option<Stack>>,
    /// The links of the list of all stacks, under its lock.
    older: Cell<Option<Stack>>,
    younger: Cell<Option<Stack>>,
    sanitizers: SanitizerState,
}

/// A stack. Its owner may run on it, or give it back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Stack(NonNull<StackRecord>);

// SAFETY: a stack is memory that is passed from one owner to the next.
unsafe impl Send for Stack {}

/// The offset of the `n`-th stack. The busy ends of three consecutive stacks, which a task and its
/// children may use, share no addresses within a page: such a shared address would delay loads
/// after stores (4 KiB aliasing).
const fn offset(n: usize) -> usize {
    n % 3 * 832 + n / 3 % 8 * 64
}

/// An upper bound of the bytes at the end of a mapping that contain records.
const RECORDS: usize = 4096;

/// The size of the guard in bytes. A frame larger than the guard may skip it, unless the compiler
/// probes each page of a frame (-fstack-clash-protection). Rejected: 1 MiB, as the kernel keeps
/// below a thread's own stack. A new stack then takes 14 us and 6.0 KB of page tables; with this
/// guard it takes 10 us and 4.5 KB.
const GUARD: usize = 256 << 10;

/// A stack pointer that is further below a stack than this does not belong to a task of that stack.
const FAR: usize = 1 << 30;

const SMALL_GUARD: usize = 64 << 10;

/// The size of each guard. It never changes during the process's life.
pub(super) fn guard() -> usize {
    #[unsafe(link_section = "sched_words")]
    static SIZE: AtomicUsize = AtomicUsize::new(0);
    limit::known(&SIZE, || {
        let is_limited = limit::address_space() != usize::MAX;
        let size = if is_limited { SMALL_GUARD } else { GUARD };
        size.next_multiple_of(page_size())
    })
}

impl Stack {
    /// A new stack of at least `size` bytes, with a guard below.
    #[cold]
    pub fn new(size: usize) -> Result<Stack, NoMemory> {
        #[unsafe(link_section = "sched_words")]
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let (page, guard) = (page_size(), guard());
        let bytes = size.checked_add(guard + 4096).ok_or(NoMemory)?.next_multiple_of(page);
        limit::count_in(bytes)?;
        let low = space::map(bytes, guard).inspect_err(|NoMemory| limit::count_out())?;
        let offset = offset(MADE.fetch_add(1, Ordering::Relaxed));
        let top = low.wrapping_add(bytes - offset - size_of::<StackRecord>());
        let record = top.cast::<StackRecord>();
        // The records at the stack's end: this one, and a fiber's below it.
        let ends = low as usize + bytes;
        detector::own_bytes(ends - RECORDS, RECORDS);
        // SAFETY: the record lies at the end of our own mapping; it is aligned, because pages are.
        unsafe {
            let sanitizers =
                SanitizerState::of(low as usize + guard, top as usize - low as usize - guard);
            record.write(StackRecord {
                low,
                size: bytes,
                next: Cell::new(None),
                older: Cell::new(None),
                younger: Cell::new(None),
                sanitizers,
            });
            let stack = Stack(NonNull::new_unchecked(record));
            YOUNGEST.with(|youngest| youngest.add(stack));
            Ok(stack)
        }
    }

    fn record(&self) -> &StackRecord {
        // SAFETY: the record lives as long as the stack.
        unsafe { self.0.as_ref() }
    }

    /// The address from which the stack grows down; aligned to 64.
    #[inline(always)]
    pub fn top(self) -> *mut u8 {
        self.0.as_ptr().cast()
    }

    /// True if a fault at this address is an overflow of this stack.
    pub fn guards(self, address: usize) -> bool {
        let low = self.record().low as usize;
        (low..low + guard()).contains(&address)
    }

    /// True if a task of this stack has overflowed it by a frame larger than the guard: the task's
    /// stack pointer, whose value is given, points to no memory.
    pub fn is_left_at(self, stack_pointer: usize) -> bool {
        let is_below = self.low().wrapping_sub(stack_pointer) < FAR;
        is_below && peek::word(stack_pointer & !7).is_none()
    }

    fn holds(self, address: usize) -> bool {
        (self.record().low as usize..self.top() as usize).contains(&address)
    }

    pub fn sanitizer_state(&self) -> &SanitizerState {
        &self.record().sanitizers
    }

    /// The lowest address of the mapping, which is in the guard.
    pub fn low(self) -> usize {
        self.record().low.addr()
    }

    /// The room for tasks in bytes.
    pub fn room(self) -> usize {
        self.top() as usize - self.record().low as usize - guard()
    }

    /// Ends the stack, and returns its mapping, which the caller unmaps.
    ///
    /// # Safety
    /// No thread is on the stack, and nobody uses it any more.
    unsafe fn retire(self) -> (*mut u8, usize) {
        YOUNGEST.with(|youngest| youngest.remove(self));
        let StackRecord { low, size, .. } = *self.record();
        self.sanitizer_state().end();
        limit::count_out();
        (low, size)
    }

    /// Returns the stack's pages to the system, except for the highest ones.
    fn discard_pages(self) {
        let low = self.record().low.wrapping_add(guard());
        let bytes = self.record().size.saturating_sub(guard() + 2 * page_size());
        // SAFETY: this is the part of the stack above the guard, and no thread is on the stack.
        unsafe { memory::discard(low, bytes) };
    }
}

/// The list of all stacks; the value is the youngest. The links `older` are complete after each
/// store, because a fork may copy the list at any moment; the child sets the links `younger` again.
struct All(Option<Stack>);

#[unsafe(link_section = "sched_words")]
static YOUNGEST: Mutex<All> = Mutex::new(All(None));

impl All {
    fn add(&mut self, stack: Stack) {
        stack.record().older.set(self.0);
        self.0.inspect(|older| older.record().younger.set(Some(stack)));
        self.0 = Some(stack);
    }

    fn remove(&mut self, stack: Stack) {
        let (older, younger) = (stack.record().older.get(), stack.record().younger.get());
        match younger {
            Some(younger) => younger.record().older.set(older),
            None => self.0 = older,
        }
        older.inspect(|older| older.record().younger.set(younger));
    }

    fn iter(&self) -> impl Iterator<Item = Stack> {
        std::iter::successors(self.0, |stack| stack.record().older.get())
    }

    fn link_back(&self) {
        let mut younger = None;
        for stack in self.iter() {
            stack.record().younger.set(younger.replace(stack));
        }
    }
}

/// For a debugger: the address of the pointer to the youngest stack; and the fields that the
/// debugger reads, with their offsets.
pub const fn youngest() -> *const () {
    (&raw const YOUNGEST).wrapping_byte_add(Mutex::<All>::VALUE + offset_of!(All, 0)).cast()
}

pub const FOR_DEBUGGER: [(&str, usize); 2] =
    [("stack.low", offset_of!(StackRecord, low)), ("stack.older", offset_of!(StackRecord, older))];

/// Calls `visit` with each stack of the process, the youngest first. No stack is unmapped during
/// the call; `visit` must not create or unmap a stack.
pub fn for_each(visit: impl FnMut(Stack)) {
    YOUNGEST.with(|youngest| youngest.iter().for_each(visit));
}
