//! The data by which a debugger finds runs, workers and tasks: offsets, addresses and words, each
//! with a name. The released library has no debug information, so tools/libsched-gdb.py reads this
//! table instead, and walks as [`walk`](super::walk) does. No code of the library reads it, and no
//! field exists for it alone.
//!
//! ```text
//! Description   version, count, size of an entry
//! entries       name, filled up with zeroes; value       count times
//! ```
//! A name with a blank says of what kind the value is: `kind steal` is the number of that kind,
//! `register rbx` the offset of that register in a suspended context. The script looks entries up
//! by name, so their order may change, and entries may be added. [`VERSION`] changes when a name is
//! gone, or means something else.

use crate::fiber::{stack, switch};
use crate::queue::length;
use crate::queue::run_waits::RunWait;
use crate::runtime::continuation::Continuation;
use crate::runtime::forked::run_forked;
use crate::runtime::observed;
use crate::runtime::suspend;
use crate::runtime::wait_note::WaitNote;
use crate::runtime::waiter::Waiter;
use crate::runtime::{registry, run_wait, seen};
use crate::settings::{DequeOrLock, Kind};
use crate::sync::barrier::Barrier;
use crate::sync::cond::Waiting;
use crate::sync::dag::Vertex;
use crate::sync::forked::Forked;
use crate::sync::members::Members;
use crate::sync::mutex::Mutex;
use crate::sync::pending;
use std::mem::offset_of;
use std::ptr;

pub const VERSION: usize = 1;

/// Bytes of a name, with at least one zero behind it.
const LETTERS: usize = 24;

const OBJECTS: [(&str, usize); 5] = [
    ("mutex.holder", Mutex::HOLDER),
    ("waiting.mutex", offset_of!(Waiting, mutex)),
    ("waiting.cond", offset_of!(Waiting, cond)),
    ("barrier.arrived", Barrier::ARRIVED),
    ("barrier.size", Barrier::SIZE),
];

const NUMBERS: [&[(&str, usize)]; 14] = [
    &seen::FOR_DEBUGGER,
    &length::LAYOUT,
    &stack::FOR_DEBUGGER,
    &switch::FOR_DEBUGGER,
    &Continuation::FOR_DEBUGGER,
    &Waiter::FOR_DEBUGGER,
    &WaitNote::FOR_DEBUGGER,
    &Forked::FOR_DEBUGGER,
    &observed::FOR_DEBUGGER,
    &Members::FOR_DEBUGGER,
    &RunWait::FOR_DEBUGGER,
    &Vertex::FOR_DEBUGGER,
    &pending::FOR_DEBUGGER,
    &OBJECTS,
];

/// The entries with an address: the first record, the youngest stack, the first wait for a run, the
/// tables of pending edges, `run_forked` and its counterpart in an observed run, and the two
/// functions of tasks that continue others.
const ADDRESSES: usize = 8;

const COUNT: usize = {
    let (mut count, mut at) = (0, 0);
    while at < NUMBERS.len() {
        count += NUMBERS[at].len();
        at += 1;
    }
    count + Forked::STATES.len() + ADDRESSES + Kind::WORDS.len() + DequeOrLock::WORDS.len()
};

#[repr(C)]
#[derive(Clone, Copy)]
struct Entry {
    name: [u8; LETTERS],
    /// A number, or an address that the loader completes.
    value: *const (),
}

#[repr(C)]
pub struct Description {
    version: usize,
    count: usize,
    size_of_entry: usize,
    entries: [Entry; COUNT],
}

// SAFETY: nobody writes it, and its pointers are not followed.
unsafe impl Sync for Description {}

impl Entry {
    const fn new(prefix: &str, name: &str, value: *const ()) -> Entry {
        let mut entry = Entry { name: [0; LETTERS], value };
        let (prefix, name) = (prefix.as_bytes(), name.as_bytes());
        assert!(prefix.len() + name.len() < LETTERS, "the name is too long");
        let mut at = 0;
        while at < prefix.len() + name.len() {
            let is_name = at >= prefix.len();
            entry.name[at] = if is_name { name[at - prefix.len()] } else { prefix[at] };
            at += 1;
        }
        entry
    }

    const fn number(prefix: &str, name: &str, value: usize) -> Entry {
        Entry::new(prefix, name, ptr::without_provenance(value))
    }
}

/// The table under construction.
struct Table {
    entries: [Entry; COUNT],
    count: usize,
}

impl Table {
    const fn add(&mut self, entry: Entry) {
        self.entries[self.count] = entry;
        self.count += 1;
    }

    const fn add_words(&mut self, prefix: &str, words: &[&str]) {
        let mut at = 0;
        while at < words.len() {
            self.add(Entry::number(prefix, words[at], at));
            at += 1;
        }
    }
}

pub const DESCRIPTION: Description = {
    let mut table = Table { entries: [Entry::number("", "", 0); COUNT], count: 0 };
    table.add(Entry::new("", "first_record", registry::first_record()));
    table.add(Entry::new("", "youngest_stack", stack::youngest()));
    table.add(Entry::new("", "first_run_wait", run_wait::WAITS.first()));
    table.add(Entry::new("", "pending_tables", pending::first_table()));
    table.add(Entry::new("", "run_forked", run_forked as *const ()));
    table.add(Entry::new("", "run_observed", observed::RUN_FORKED as *const ()));
    let [resume, resume_spawner] = suspend::CONTINUE;
    table.add(Entry::new("", "resume", resume as *const ()));
    table.add(Entry::new("", "resume_spawner", resume_spawner as *const ()));
    let mut at = 0;
    while at < Forked::STATES.len() {
        let (name, state) = Forked::STATES[at];
        table.add(Entry::new("", name, state as *const ()));
        at += 1;
    }
    let mut group = 0;
    while group < NUMBERS.len() {
        let mut at = 0;
        while at < NUMBERS[group].len() {
            let (name, value) = NUMBERS[group][at];
            table.add(Entry::number("", name, value));
            at += 1;
        }
        group += 1;
    }
    table.add_words("kind ", Kind::WORDS);
    table.add_words("deque ", DequeOrLock::WORDS);
    assert!(table.count == COUNT, "all entries are there");
    let Table { entries, .. } = table;
    Description { version: VERSION, count: COUNT, size_of_entry: size_of::<Entry>(), entries }
};
