//! Tables of the addresses that the tasks of groups read and write, for the order among the tasks
//! (`api::depend`).
//!
//! A group has a table while tasks of it are ordered. The table has an *entry* for each address:
//! the last task that writes there, and the tasks that have read there since. Each table is in one
//! of [`SHARDS`] maps, under the map's lock. A call notes its task at all addresses under that
//! lock, so two calls at the same time have an order, which is the same at each address: their
//! tasks cannot wait for each other.
//!
//! # Tasks that have ended
//!
//! A task that ends takes no lock, and leaves its entries as they are. So an entry may name a task
//! that has ended, and whose memory, its *block*, has got another task since. The blocks of a table
//! are its own until it is freed, and a block gets another task only under the lock. Each task has
//! a number, its *serial*, in its block and in the entries. So under the lock an entry's task has
//! not ended if the block has the same serial, and its vertex says so (`sync::dag`). It may end at
//! any moment after that, and `follow` finds this out.
//!
//! A task that has ended gives its block back (`returned`). A table of less than [`KEPT`] bytes
//! stays, for the group's next task or another group's. The last task of a larger table frees it.
//! When the slots for addresses are used up (`index`) and most tasks have ended, the table drops
//! each entry whose tasks have all ended. So its size is bounded by the number of tasks that lived
//! at the same time.
//!
//! # Rejected
//!
//! *A table in the group.* A `sched_group` has no room for it, and would have to be destroyed.
//!
//! *Tasks that take themselves out of the entries when they end*, under the lock, in tables of the
//! standard library, and in memory from the heap. With 90,000 tasks of three addresses each took
//! 450 ns instead of 165, and with a million 750 instead of 155. The thread that adds tasks waited
//! for the threads that end tasks, and each end looked for its addresses again.

pub mod entry;
pub mod index;
pub mod lines;
pub mod returned;

use crate::lock::mutex::Mutex;
use crate::sync::depend::entry::{Entry, Part, Whose};
use crate::sync::depend::index::Index;
use crate::sync::depend::lines::{Line, Lines};
use crate::sync::depend::returned::{Link, Returned};
use crate::sys::atomic::Pad;
use crate::sys::memory::{self, NoMemory};
use std::cell::{Cell, UnsafeCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ptr;

const SHARDS: usize = 16;

/// A table with fewer bytes stays when its tasks have ended.
const KEPT: usize = 128 << 10;
/// A shard with this many tables looks for tables without tasks.
const FEW: usize = 2;

type Shards = [Pad<Mutex<Shard>>; SHARDS];

#[unsafe(link_section = "sched_words")]
static SHARD: Shards = [const { Pad(Mutex::new(Shard::empty())) }; SHARDS];

/// The tables of some groups.
struct Shard {
    tables: HashMap<usize, Box<Table>, BuildHasherDefault<Mix>>,
    /// The table that was used last, or null.
    last: *const Table,
    /// When the shard has this many tables, the making of the next one looks for tables without
    /// tasks.
    at_most: usize,
}

// SAFETY: the tables are used under the shard's lock, but for what all threads may use.
unsafe impl Send for Shard {}

/// The table of a group.
pub struct Table {
    returned: Pad<Returned>,
    /// Written when the table has no tasks.
    group: Cell<usize>,
    state: UnsafeCell<State>,
}

/// The data that are used under the lock.
pub struct State {
    index: Index,
    lines: Lines,
    /// Blocks that came back.
    blocks: *mut Link,
    /// The serial of the last task.
    serial: u64,
    /// The last task to end will free the table.
    is_large: bool,
}

/// Multiplication by 2^64 divided by the golden ratio.
#[derive(Default)]
struct Mix(u64);

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

fn shard_of(group: usize) -> &'static Mutex<Shard> {
    let mut hash = Mix::default();
    hash.write_usize(group);
    &SHARD[hash.finish() as usize % SHARDS]
}

impl Shard {
    const fn empty() -> Shard {
        Shard {
            tables: HashMap::with_hasher(BuildHasherDefault::new()),
            last: ptr::null(),
            at_most: FEW,
        }
    }

    /// The group's table, made if need be.
    #[inline]
    fn table(&mut self, group: usize) -> Result<&Table, NoMemory> {
        // SAFETY: null, or one of the shard's tables.
        match unsafe { self.last.as_ref() } {
            Some(table) if table.group.get() == group => Ok(table),
            _ => self.find(group),
        }
    }

    #[inline(never)]
    fn find(&mut self, group: usize) -> Result<&Table, NoMemory> {
        if !self.tables.contains_key(&group) {
            self.tables.try_reserve(1).map_err(|_| NoMemory)?;
            let table = match self.idle_table() {
                Some(table) => table,
                None => memory::boxed(Table::new(group)?)?,
            };
            table.group.set(group);
            self.tables.insert(group, table);
        }
        let table = &self.tables[&group];
        self.last = &raw const **table;
        Ok(table)
    }

    /// A table without tasks, taken out of the map. Other tables without tasks are freed. The
    /// function looks for them only when there may be many.
    fn idle_table(&mut self) -> Option<Box<Table>> {
        if self.tables.len() < self.at_most {
            return None;
        }
        self.last = ptr::null();
        let idle = self.tables.values().find(|table| table.is_idle());
        let group = idle.map(|table| table.group.get());
        let found = group.and_then(|group| self.tables.remove(&group));
        self.tables.retain(|_, table| !table.is_idle());
        self.at_most = FEW.max(2 * self.tables.len());
        found
    }
}

impl Table {
    pub fn new(group: usize) -> Result<Table, NoMemory> {
        let (index, lines, blocks) = (Index::new()?, Lines::default(), ptr::null_mut());
        let state = UnsafeCell::new(State { index, lines, blocks, serial: 0, is_large: false });
        Ok(Table { returned: Pad::default(), group: Cell::new(group), state })
    }

    /// # Safety
    /// The table is locked, and the reference is not used after that.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
    pub unsafe fn locked(&self) -> &mut State {
        // SAFETY: the table is locked, and this is the only reference.
        unsafe { &mut *self.state.get() }
    }

    /// True if no other thread uses the table, which is locked.
    pub fn is_idle(&self) -> bool {
        self.returned.is_idle()
    }
}

/// Calls `work` with the group's table, under its lock. None if there is no memory, or `work` says
/// so.
pub fn with_table<R>(
    group: usize,
    work: impl FnOnce(&Table, &mut State) -> Option<R>,
) -> Option<R> {
    shard_of(group).with(|shard| {
        let table = shard.table(group).ok()?;
        // SAFETY: the lock is held until `work` has returned.
        work(table, unsafe { table.locked() })
    })
}

impl State {
    /// Makes room for a task with `n` addresses.
    #[inline]
    pub fn reserve(&mut self, table: &Table, n: usize, block_lines: usize) -> Result<(), NoMemory> {
        if !self.index.has_room_for(n) {
            self.make_room(table, n)?;
        }
        // The lines of a block, and for each address an entry and a line for more readers.
        self.lines.reserve(block_lines + 2 * n)
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self, table: &Table, n: usize) -> Result<(), NoMemory> {
        let State { index, lines, .. } = self;
        let asks = index.is_many(4 * table.returned.live());
        // SAFETY: null, or entries of this table, which is locked.
        let soon = |entry: *mut Entry, sooner: *mut Entry| unsafe {
            memory::prefetch(entry.cast_const().cast());
            sooner.as_ref().inspect(|entry| entry.prefetch_writer());
        };
        // SAFETY: the entries are this table's, which is locked.
        let is_over = |entry: *mut Entry| unsafe { (*entry).is_over() };
        // SAFETY: as above; `make_room` forgets the entry.
        let forget = |entry| unsafe { Entry::free(entry, lines) };
        index.make_room(n, asks, soon, is_over, forget)
    }

    #[inline]
    pub fn prefetch(&self, address: usize) {
        self.index.prefetch(address);
    }

    /// The entry of an address, for which room was made.
    #[inline]
    pub fn entry(&mut self, address: usize) -> *mut Entry {
        let lines = &mut self.lines;
        self.index.find(address, || {
            let entry: *mut Entry = lines.take().cast();
            // SAFETY: the line is unused, and of an entry's size.
            unsafe { entry.write(Entry::NEW) };
            entry
        })
    }

    /// A block of this many lines, for which room was made. All blocks of all tables are equally
    /// long.
    #[inline]
    pub fn block(&mut self, table: &Table, lines: usize) -> *mut Line {
        if self.blocks.is_null() {
            self.blocks = table.returned.take_all();
        }
        if self.blocks.is_null() {
            return self.lines.cut(lines);
        }
        let block = self.blocks;
        // SAFETY: the block came back, and nobody uses it.
        self.blocks = unsafe { Link::next(block) };
        block.cast()
    }

    /// The part of a new task.
    #[inline]
    pub fn part(&mut self, table: &Table) -> Part {
        self.serial += 1;
        let table = ptr::from_ref(table).cast();
        Part { link: Link::default(), table, serial: self.serial }
    }

    /// Notes at an entry that the task writes, or only reads, at the entry's address.
    ///
    /// # Safety
    /// The entry is the table's; the part belongs to a new task, and room was made for it.
    #[inline]
    pub unsafe fn note(&mut self, entry: *mut Entry, part: *mut Part, writes: bool) {
        // SAFETY: the table is locked, the entry and the lines are its own, and room was made.
        unsafe {
            let task = Whose::new(part);
            if writes {
                (*entry).write(task, &mut self.lines);
            } else {
                (*entry).read(task, &mut self.lines);
            }
        }
    }

    /// Counts a task that has been noted, and will call `ended`.
    #[inline]
    pub fn enter(&mut self, table: &Table) {
        table.returned.enter();
        if self.lines.bytes() + self.index.bytes() >= KEPT {
            self.set_large(table);
        }
    }

    /// From now on the last task to end frees the table.
    #[inline]
    pub fn set_large(&mut self, table: &Table) {
        if !self.is_large {
            self.is_large = true;
            table.returned.set_large();
        }
    }

    /// Takes back a block whose task was not noted.
    ///
    /// # Safety
    /// The block is the table's, and nobody uses it. Its task's vertex was written.
    pub unsafe fn give_up(&mut self, block: *mut Part) {
        let block: *mut Link = block.cast();
        // SAFETY: the block is the table's, and nobody else uses it.
        unsafe { Link::set_next(block, self.blocks) };
        self.blocks = block;
    }
}

/// Gives back the block of a task that has ended. Returns the group whose table the caller must
/// free if the table is idle, or None.
///
/// # Safety
/// The task was noted, and this is the last access to it.
#[inline]
pub unsafe fn give_back(part: *mut Part) -> Option<usize> {
    // SAFETY: the table lives until this task has also given its block back.
    unsafe {
        let table: *const Table = (*part).table.cast();
        let group = (*table).group.get();
        (*table).returned.give_back(part.cast()).then_some(group)
    }
}

/// `give_back`, and frees the table if that was the last task of a large one.
///
/// # Safety
/// The contract of `give_back`.
pub unsafe fn ended(part: *mut Part) {
    // SAFETY: the task was noted, and this is the last access to it.
    unsafe { give_back(part) }.into_iter().for_each(free_if_idle);
}

#[cold]
#[inline(never)]
fn free_if_idle(group: usize) {
    let table = shard_of(group).with(|shard| {
        let is_idle = shard.tables.get(&group).is_some_and(|table| table.is_idle());
        if is_idle {
            shard.last = ptr::null();
        }
        is_idle.then(|| shard.tables.remove(&group))
    });
    drop(table); // without the lock
}

/// Forgets all tasks in the child of a fork: they are the parent's.
///
/// # Safety
/// No other thread of this process uses this file.
pub unsafe fn forget() {
    for shard in &SHARD {
        // SAFETY: no other thread uses it. The content of the former value is not freed, since
        // another thread of the parent may have been changing it.
        unsafe { shard.reset(Shard::empty()) };
    }
}
