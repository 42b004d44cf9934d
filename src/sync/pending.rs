//! The edges of the order among tasks whose predecessors have not ended, for observers: which nodes
//! wait, and for what. The library records them only on request (`is_on`), because a node knows the
//! edges that lead from it but not the edges that lead to it, and no list has the nodes that wait.
//!
//! Rejected: to know this at all times, by a third word for the predecessor in each edge, and a
//! list of the nodes that wait. A node would need 32 bytes more, and two operations under a lock.
//!
//! The edges are in [`SHARDS`] tables with open addressing, each under a lock. An edge is added
//! before it can be released. It is removed before the predecessor releases it, or when the
//! predecessor was found to have ended. So the two nodes of each edge in a table exist. If there is
//! no memory, edges are missing.

use crate::lock::mutex::Mutex;
use crate::settings;
use crate::sync::dag::{Edge, Vertex};
use crate::sys::memory::{self, NoMemory};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::mem::{self, offset_of};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::{ptr, slice};

const SHARDS: usize = 16;

// The offsets of these fields in a node (`api::dag`), for an observer. A node begins with its
// vertex.
pub const FUNCTION: usize = size_of::<Vertex>() + 4 * size_of::<Edge>();
pub const CLOSURE: usize = FUNCTION + size_of::<usize>();
/// The number of edges that lead to the node, in the bits of `MOST_EDGES`.
pub const EDGES: usize = CLOSURE + 3 * size_of::<usize>();
pub const MOST_EDGES: usize = (1 << 32) - 1;

/// An edge: the addresses of two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C)]
pub struct Pending {
    pub to: usize,
    pub from: usize,
}

/// A place without an edge, and one whose edge was removed.
const FREE: Pending = Pending { to: 0, from: 0 };
const REMOVED: Pending = Pending { to: 0, from: 1 };

/// A hash table. The number of its places is a power of two, or 0, and at least half of them are
/// free.
#[repr(C)]
struct Table {
    places: *mut Pending,
    number: usize,
    /// The number of places that are not free.
    used: usize,
}

// SAFETY: the places are the table's own.
unsafe impl Send for Table {}

#[unsafe(link_section = "sched_words")]
static TABLES: [Mutex<Table>; SHARDS] = [const { Mutex::new(Table::without_edges()) }; SHARDS];

/// The address of the tables, for a debugger.
pub const fn first_table() -> *const () {
    (&raw const TABLES).cast()
}

pub const FOR_DEBUGGER: [(&str, usize); 8] = [
    ("pending.tables", SHARDS),
    ("pending.size", size_of::<Mutex<Table>>()),
    ("pending.places", Mutex::<Table>::VALUE + offset_of!(Table, places)),
    ("pending.number", Mutex::<Table>::VALUE + offset_of!(Table, number)),
    ("node.function", FUNCTION),
    ("node.closure", CLOSURE),
    ("node.edges", EDGES),
    ("node.most_edges", MOST_EDGES),
];

/// Tells whether the library records edges; UNKNOWN until a thread has read the environment.
/// Relaxed: all threads read the same environment, so all store the same value.
#[unsafe(link_section = "sched_words")]
static IS_ON: AtomicU8 = AtomicU8::new(UNKNOWN);

/// False if an edge is missing in the tables: there was no memory for it, or this process is a
/// child of fork. Relaxed: the thread that removes an edge has synchronised with the one that added
/// it (`sync::dag`: `follow` and `end`).
#[unsafe(link_section = "sched_words")]
static IS_COMPLETE: AtomicBool = AtomicBool::new(true);

const UNKNOWN: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

/// True in the debug library, and if the environment has SCHED_WATCHDOG.
#[inline]
pub fn is_on() -> bool {
    cfg!(debug_assertions)
        || match IS_ON.load(Ordering::Relaxed) {
            OFF => false,
            ON => true,
            _ => find_out(),
        }
}

#[cold]
fn find_out() -> bool {
    let is_on = settings::environment_has_watchdog();
    IS_ON.store(if is_on { ON } else { OFF }, Ordering::Relaxed);
    is_on
}

impl Table {
    const fn without_edges() -> Table {
        Table { places: ptr::null_mut(), number: 0, used: 0 }
    }

    fn places(&mut self) -> &mut [Pending] {
        if self.number == 0 {
            return &mut [];
        }
        // SAFETY: `grow` has allocated this many, all of them initialised.
        unsafe { slice::from_raw_parts_mut(self.places, self.number) }
    }

    /// The first place for the edge that holds one of the `wanted` values.
    fn place_of(&mut self, edge: Pending, wanted: [Pending; 2]) -> Option<&mut Pending> {
        let hash = (edge.to ^ edge.from.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let last = self.number.wrapping_sub(1);
        let places = self.places();
        let mut all = (0..places.len()).map(|step| hash.wrapping_add(step) & last);
        let at = all.find(|&at| wanted.contains(&places[at]))?;
        Some(&mut places[at])
    }

    fn add(&mut self, edge: Pending) -> Option<()> {
        if (self.used + 1) * 2 > self.number {
            self.grow()?;
        }
        *self.place_of(edge, [FREE; 2])? = edge; // the same edge may be there already
        self.used += 1;
        Some(())
    }

    /// Makes a table with room for twice the edges that there are. None if there is no memory.
    fn grow(&mut self) -> Option<()> {
        let number = ((self.edges().count() + 1) * 4).next_power_of_two();
        let layout = Layout::array::<Pending>(number).ok()?;
        // SAFETY: the layout is not empty. All bytes zero is a free place.
        let places = unsafe { alloc_zeroed(layout) }.cast::<Pending>();
        if places.is_null() {
            return None;
        }
        let mut former = mem::replace(self, Table { places, number, used: 0 });
        former.edges().for_each(|edge| _ = self.add(edge));
        former.free();
        Some(())
    }

    fn free(self) {
        if let Some(layout) = Layout::array::<Pending>(self.number).ok().filter(|_| self.number > 0)
        {
            // SAFETY: `grow` has allocated it with this layout.
            unsafe { dealloc(self.places.cast(), layout) };
        }
    }

    fn remove(&mut self, edge: Pending) -> bool {
        let place = self.place_of(edge, [edge, FREE]).filter(|place| **place == edge);
        place.map(|place| *place = REMOVED).is_some()
    }

    fn edges(&mut self) -> impl Iterator<Item = Pending> {
        self.places().iter().copied().filter(|edge| edge.to != 0)
    }
}

fn table_of(edge: Pending) -> &'static Mutex<Table> {
    &TABLES[(edge.to >> 5) % SHARDS]
}

#[cold]
pub fn add(to: usize, from: usize) {
    let edge = Pending { to, from };
    if table_of(edge).with(|table| table.add(edge)).is_none() {
        IS_COMPLETE.store(false, Ordering::Relaxed);
    }
}

/// Removes an edge. Returns false if the edge is missing for another reason than a lack of memory.
#[cold]
pub fn remove(to: usize, from: usize) -> bool {
    let edge = Pending { to, from };
    table_of(edge).with(|table| table.remove(edge)) || !IS_COMPLETE.load(Ordering::Relaxed)
}

/// All edges. The edges to the same node come one after the other.
pub fn all() -> Result<Vec<Pending>, NoMemory> {
    let (mut all, mut outcome) = (Vec::new(), Ok(()));
    for table in &TABLES {
        table.with(|table| {
            for edge in table.edges() {
                outcome = outcome.and_then(|()| memory::push(&mut all, edge));
            }
        });
    }
    outcome?;
    all.sort_unstable();
    Ok(all)
}

/// Forgets all edges in the child of a fork: the tasks are the parent's.
///
/// # Safety
/// No other thread of this process uses this file.
pub unsafe fn forget() {
    for table in &TABLES {
        // SAFETY: no other thread uses it. The content of the former value is not freed, since
        // another thread of the parent may have been changing it.
        unsafe {
            if table.locked().number > 0 {
                IS_COMPLETE.store(false, Ordering::Relaxed);
            }
            table.reset(Table::without_edges());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_come_and_go() {
        let mut table = Table::without_edges();
        let edge = |n: usize| Pending { to: 8 * (n % 7 + 1), from: 8 * (n % 50) + 8 };
        for round in 0..5 {
            (0..100).for_each(|n| table.add(edge(n)).expect("no memory"));
            assert_eq!(table.edges().count(), 100);
            assert!(!table.remove(Pending { to: 8, from: 4 }));
            (0..100).rev().for_each(|n| {
                assert!(table.remove(edge(n)));
                assert_eq!(table.edges().count(), n, "round {round}");
            });
            assert!(table.number <= 512);
        }
        table.free();
    }
}
