//! Tasks that are ordered by an address: those that write there run one after the other, in the
//! order in which they were added, while the blocks of those that have ended get new tasks. The
//! table is freed only when nobody uses it.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use sched::lock::mutex::Mutex;
use sched::sync::dag::{Edge, Vertex};
use sched::sync::depend::entry::Part;
use sched::sync::depend::lines::Line;
use sched::sync::depend::{self, Table};
use sched_model::{Reached, explore, join, thread_with};
use std::cell;

/// A task, as `api::depend` has it. The edges lie behind the vertex.
#[repr(C)]
struct Block {
    part: Part,
    vertex: Vertex,
    edges: cell::UnsafeCell<[Edge; MOST]>,
    writes: bool,
}

const LINES: usize = size_of::<Block>().div_ceil(size_of::<Line>());
const MOST: usize = 3;
/// The address.
const OBJECT: usize = 64;

struct Tasks {
    table: Table,
    lock: Mutex<()>,
    /// The value that the tasks write and read.
    object: UnsafeCell<usize>,
    /// The blocks so far, under the lock.
    blocks: cell::RefCell<Vec<usize>>,
    /// Read by all that use the table, and written by a thread that frees it.
    in_use: UnsafeCell<usize>,
}

// SAFETY: loom checks the accesses; the table is used as in the library.
unsafe impl Send for Tasks {}
// SAFETY: as above.
unsafe impl Sync for Tasks {}

static REUSED: Reached = Reached::not_yet();
static WAITED: Reached = Reached::not_yet();
static FREED: Reached = Reached::not_yet();

impl Tasks {
    fn new() -> Arc<Tasks> {
        let table = Table::new(1).expect("memory");
        let (object, in_use) = (UnsafeCell::new(0), UnsafeCell::new(0));
        let blocks = cell::RefCell::default();
        Arc::new(Tasks { table, lock: Mutex::new(()), object, blocks, in_use })
    }

    fn note_block(&self, block: usize) {
        let mut blocks = self.blocks.borrow_mut();
        REUSED.note(blocks.contains(&block));
        blocks.push(block);
    }

    fn use_table(&self) {
        // SAFETY: loom checks that nobody frees the table now.
        assert!(self.in_use.with(|at| unsafe { *at }) < 10);
    }

    /// Adds a task, and runs it if it is the first.
    fn add(&self, writes: bool) {
        let task = self.lock.with(|()| {
            self.use_table();
            // SAFETY: the table is locked.
            let state = unsafe { self.table.locked() };
            state.reserve(&self.table, 1, LINES).expect("memory");
            let task: *mut Block = state.block(&self.table, LINES).cast();
            self.note_block(task.addr());
            let part = state.part(&self.table);
            let edges = cell::UnsafeCell::new(std::array::from_fn(|_| Edge::unused()));
            // SAFETY: the block is unused, and large enough. The entry is the table's.
            unsafe {
                task.write(Block { part, vertex: Vertex::new(), edges, writes });
                let (entry, mut before) = (state.entry(OBJECT), Vec::new());
                let all = (*entry).before(writes, |part| {
                    let edge = (*task).edges.get().cast::<Edge>().add(before.len());
                    before.push((&*part.add(1).cast::<Vertex>(), edge));
                    Some(())
                });
                assert!(all.is_some());
                (*task).vertex.follow_all(before.len(), before.into_iter(), |_| ());
                state.note(entry, &raw mut (*task).part, writes);
            }
            state.enter(&self.table);
            state.set_large(&self.table);
            task
        });
        // SAFETY: only this thread makes the vertex ready. It lives until it has ended.
        let is_first = unsafe { (*task).vertex.make_ready() };
        WAITED.note(!is_first);
        if is_first {
            self.run(task);
        }
    }

    fn run(&self, task: *mut Block) {
        // SAFETY: the task has begun on this thread. Loom checks the accesses to the object.
        unsafe {
            if (*task).writes {
                self.object.with_mut(|at| *at += 1);
            } else {
                self.object.with(|at| assert!(*at < 10));
            }
            let task_of = |vertex: *const Vertex| vertex.cast_mut().cast::<Part>().sub(1).cast();
            let edges = (*task).vertex.end().expect("it has not ended");
            edges.release(|vertex| self.run(task_of(vertex)));
            self.use_table();
            if depend::give_back(&raw mut (*task).part).is_some() {
                self.lock.with(|()| {
                    if self.table.is_idle() {
                        FREED.note(true);
                        self.in_use.with_mut(|at| *at += 1);
                    }
                });
            }
        }
    }

    /// No thread uses the tasks any more.
    fn check(&self, written: usize) {
        // SAFETY: loom checks that no other thread writes it now.
        assert_eq!(self.object.with(|at| unsafe { *at }), written);
        // SAFETY: as above.
        assert!(self.in_use.with(|at| unsafe { *at }) > 0, "the table was not freed");
        assert!(self.table.is_idle());
    }
}

/// Two threads add tasks that write.
#[test]
fn writers_in_new_blocks() {
    explore("depend, writers in blocks of others", 3, 200, || {
        let tasks = Tasks::new();
        let other = thread_with(&tasks, |tasks| tasks.add(true));
        tasks.add(true);
        tasks.add(true);
        join([other]);
        tasks.check(3);
    });
    WAITED.expect("a task behind another");
    REUSED.expect("a block with a second task");
    FREED.expect("a table that is freed");
}

/// A thread reads what another writes before and after.
#[test]
fn a_reader_among_writers() {
    explore("depend, a reader among writers", 3, 200, || {
        let tasks = Tasks::new();
        let reader = thread_with(&tasks, |tasks| tasks.add(false));
        tasks.add(true);
        tasks.add(true);
        join([reader]);
        tasks.check(2);
    });
}
