//! Tables of what the tasks of groups read and write, for the order among them (`api::depend`).
//!
//! A table has an entry for each address of a group: the last task that writes there, and the tasks
//! that have read there since; both only while they have not ended. A task has a record for each of
//! its addresses, linked into the entry. All tables are in [`SHARDS`] maps, each under a lock; a group
//! is in one of them. A call adds all records of its task under that lock, so two calls at the same
//! time have an order, which is the same at each address: their tasks cannot wait for each other.
//!
//! A task takes its records out when its function has returned, and ends only then. So each task in a
//! table is one to which an edge can still be added, and whose memory exists.
//!
//! Rejected: a table in the group. A `sched_group` has no room for it, and would have to be destroyed.

use crate::lock::mutex::Mutex;
use std::collections::HashMap;
use std::collections::hash_map::Entry::Occupied;
use std::hash::{BuildHasherDefault, Hasher};
use std::ptr;

const SHARDS: usize = 16;

/// A map with more capacity is shrunk when it becomes empty.
const KEPT: usize = 1024;

pub type Table = HashMap<Key, Entry, BuildHasherDefault<Mix>>;

#[unsafe(link_section = "sched_words")]
static TABLES: [Mutex<Table>; SHARDS] =
    [const { Mutex::new(HashMap::with_hasher(BuildHasherDefault::new())) }; SHARDS];

/// A group and an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    pub group: usize,
    pub address: usize,
}

pub struct Entry {
    writer: *mut Record,
    /// The youngest of the readers since, linked by `Record::next`.
    reader: *mut Record,
}

/// A task's part in an entry.
pub struct Record {
    pub task: *const (),
    pub address: usize,
    /// In the list of readers.
    next: *mut Record,
    before: *mut Record,
    place: Place,
    /// See `find`.
    pub entry: *mut Entry,
}

/// Where a record is in its entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A later task has taken over the entry, or the task has the same address twice.
    None,
    Writer,
    Reader,
}

/// Mixes the words of a key (multiplication by 2^64 divided by the golden ratio).
#[derive(Default)]
pub struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_usize(byte.into()));
    }

    fn write_usize(&mut self, word: usize) {
        self.0 = (self.0 ^ word as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    }
}

/// The table of a group.
pub fn table_of(group: usize) -> &'static Mutex<Table> {
    let mut hash = Mix::default();
    hash.write_usize(group);
    &TABLES[hash.finish() as usize % SHARDS]
}

impl Record {
    /// A record that is in no entry.
    pub fn new(task: *const (), address: usize) -> Self {
        let (next, before, entry) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        Record { task, address, next, before, place: Place::None, entry }
    }
}

// SAFETY: the records that an entry points to are used under the table's lock.
unsafe impl Send for Entry {}

impl Entry {
    pub fn without_tasks() -> Self {
        Entry { writer: ptr::null_mut(), reader: ptr::null_mut() }
    }

    /// The tasks that a task must follow which writes, or only reads, here.
    ///
    /// # Safety
    /// The records of the entry exist, and the entry does not change while the result is used.
    pub unsafe fn before(&self, writes: bool) -> impl Iterator<Item = *const ()> {
        let readers = if writes { self.reader } else { ptr::null_mut() };
        // SAFETY: by the caller's promise.
        let get = |record: *mut Record| unsafe { record.as_ref() };
        let all = std::iter::successors(get(readers), move |one| get(one.next));
        get(self.writer).into_iter().chain(all).map(|record| record.task)
    }

    /// Links the record of a task. `writes`: the task writes the object, and does not only read it.
    ///
    /// # Safety
    /// The records of the entry exist, and the new one is in no entry.
    pub unsafe fn take_over(&mut self, record: &mut Record, writes: bool) {
        // SAFETY: by the caller's promise.
        unsafe {
            if !writes {
                let is_own_writer = self.writer.as_ref().is_some_and(|w| w.task == record.task);
                let is_own_reader = self.reader.as_ref().is_some_and(|r| r.task == record.task);
                if !is_own_writer && !is_own_reader {
                    record.place = Place::Reader;
                    record.next = self.reader;
                    if let Some(next) = self.reader.as_mut() {
                        next.before = record;
                    }
                    self.reader = record;
                }
                return;
            }
            while let Some(reader) = self.reader.as_mut() {
                self.reader = reader.next;
                reader.place = Place::None;
            }
            if let Some(writer) = self.writer.as_mut() {
                writer.place = Place::None;
            }
            record.place = Place::Writer;
            self.writer = record;
        }
    }

    /// Unlinks a record of this entry. True if the entry is empty now.
    ///
    /// # Safety
    /// The records of the entry exist.
    unsafe fn unlink(&mut self, record: &Record) -> bool {
        if record.place == Place::Writer {
            self.writer = ptr::null_mut();
        } else {
            // SAFETY: by the caller's promise.
            unsafe {
                match record.before.as_mut() {
                    Some(before) => before.next = record.next,
                    None => self.reader = record.next,
                }
                if let Some(next) = record.next.as_mut() {
                    next.before = record.before;
                }
            }
        }
        self.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.writer.is_null() && self.reader.is_null()
    }
}

/// Takes a record out of the table. The table is locked.
///
/// # Safety
/// The record was added to this table, for this group; the records of its entry exist.
pub unsafe fn remove(table: &mut Table, group: usize, record: &Record) {
    if record.place == Place::None {
        return;
    }
    if let Occupied(mut entry) = table.entry(Key { group, address: record.address }) {
        // SAFETY: by the caller's promise.
        if unsafe { entry.get_mut().unlink(record) } {
            entry.remove();
        }
    }
    if table.is_empty() && table.capacity() > KEPT {
        table.shrink_to_fit();
    }
}

/// The entries of a task's records, made if need be. None: there is no memory. The table is locked,
/// and the pointers are valid until it changes.
///
/// # Safety
/// The records exist.
pub unsafe fn find(table: &mut Table, group: usize, records: &mut [Record]) -> Option<()> {
    table.try_reserve(records.len()).ok()?;
    for record in records {
        let key = Key { group, address: record.address };
        record.entry = table.entry(key).or_insert_with(Entry::without_tasks);
    }
    Some(())
}

/// Removes the entries without tasks that `find` has made.
pub fn give_up(table: &mut Table, group: usize, records: &[Record]) {
    for record in records {
        match table.entry(Key { group, address: record.address }) {
            Occupied(entry) if entry.get().is_empty() => _ = entry.remove(),
            _ => {}
        }
    }
}

/// Forgets all tasks in the child of a fork: they are the parent's.
///
/// # Safety
/// No other thread of this process uses this file.
pub unsafe fn forget() {
    for table in &TABLES {
        // SAFETY: by the caller's promise. What the former value holds is not freed, since another
        // thread of the parent may have been changing it.
        unsafe { table.reset(HashMap::with_hasher(BuildHasherDefault::new())) };
    }
}
