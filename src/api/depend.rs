//! Tasks of a group that are ordered by what they read and write, as OpenMP's `depend` does: a task
//! that reads at an address begins after the last earlier task that writes there. A task that
//! writes begins after the last earlier writer, and after all tasks that have read since. The order
//! of the calls counts, not the order of the tasks. So the tasks have the effect of being called
//! one after the other.
//!
//! `sync::depend` keeps the last task that writes at each address, and those that have read there
//! since. A task is a node (`api::dag`) in a block of its group's table. It holds its run until it
//! begins.

use crate::api::dag::{OwnedNode, TaskNode};
use crate::api::group::Group;
use crate::runtime::record::Worker;
use crate::sync::depend::entry::{Entry, Part};
use crate::sync::depend::lines::Line;
use crate::sync::depend::{self, State, Table};
use crate::sys::errno::Errno;
use crate::sys::{detector, memory};
use crate::task::TaskFn;
use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::ptr;

/// A task only reads at the address.
pub const IN: c_int = 1;
/// A task writes at the address.
pub const OUT: c_int = 2;

/// The C type `sched_dep`.
#[repr(C)]
pub struct Dep {
    pub address: *const c_void,
    pub how: c_int,
}

/// A task, in a block of the group's table.
#[repr(C)]
struct Dependent {
    part: Part,
    owned: OwnedNode,
}

/// The lines of a block.
const LINES: usize = size_of::<Dependent>().div_ceil(size_of::<Line>());

// A node begins with its vertex, so the vertex lies directly behind the part: `Part::has_ended`
// reads it there.
const _: () = assert!(offset_of!(Dependent, owned) == size_of::<Part>());

/// This many addresses, and this many tasks that a task follows, need no second look and no
/// allocation.
const FEW: usize = 8;

/// The tasks that a task follows.
struct Before {
    few: [*const OwnedNode; FEW],
    used: usize,
    more: Vec<*const OwnedNode>,
}

impl Before {
    fn none() -> Before {
        Before { few: [ptr::null(); FEW], used: 0, more: Vec::new() }
    }

    #[inline]
    fn add(&mut self, part: *mut Part) -> Option<()> {
        let node = part.wrapping_add(1).cast_const().cast();
        match self.few.get_mut(self.used) {
            Some(place) => *place = node,
            None => memory::push(&mut self.more, node).ok()?,
        }
        self.used += 1;
        Some(())
    }

    fn all(&self) -> impl Iterator<Item = *const OwnedNode> {
        self.few[..self.used.min(FEW)].iter().chain(&self.more).copied()
    }
}

/// Spawns a task of the group. Fails as `sched_group_spawn_after` does.
///
/// # Safety
/// `f` accepts `closure`; the group lives until its tasks have been waited for.
pub unsafe fn spawn(
    group: &Group,
    f: TaskFn,
    closure: *mut c_void,
    deps: &[Dep],
    worker: &Worker,
) -> Result<(), Errno> {
    if deps.iter().any(|dep| dep.how & !(IN | OUT) != 0 || dep.how == 0) {
        return Err(Errno(libc::EINVAL));
    }
    detector::ignored(|| {
        if !worker.hold_run() {
            return Err(Errno(libc::EINVAL));
        }
        // SAFETY: the table is locked in `add`.
        let added = depend::with_table(ptr::from_ref(group).addr(), |table, state| unsafe {
            add(table, state, f, closure, deps)
        });
        let Some(task) = added else {
            worker.let_go_of_run();
            return Err(Errno(libc::EAGAIN));
        };
        group.members.enter();
        // SAFETY: the task lives until it has ended.
        unsafe { (*task).owned.make_ready(group, worker) };
        Ok(())
    })
}

/// Makes a task, notes it in the table, and makes the tasks that it must follow its predecessors.
/// None if there is no memory; then nothing has changed.
///
/// # Safety
/// The table is locked.
#[inline]
unsafe fn add(
    table: &Table,
    state: &mut State,
    f: TaskFn,
    closure: *mut c_void,
    deps: &[Dep],
) -> Option<*mut Dependent> {
    state.reserve(table, deps.len(), LINES).ok()?;
    deps.iter().for_each(|dep| state.prefetch(dep.address.addr()));
    let task: *mut Dependent = state.block(table, LINES).cast();
    let owned = OwnedNode { node: TaskNode::new(f, closure), leave, free };
    // SAFETY: the block is unused. The entries are the table's, which is locked.
    unsafe {
        task.write(Dependent { part: state.part(table), owned });
        let mut entries = [ptr::null_mut::<Entry>(); FEW];
        let mut before = Before::none();
        let has_memory = deps.iter().enumerate().try_for_each(|(at, dep)| {
            let entry = state.entry(dep.address.addr());
            if let Some(place) = entries.get_mut(at) {
                *place = entry;
            }
            (*entry).before(dep.how & OUT != 0, |part| before.add(part))
        });
        // SAFETY: a block gets another task only under the table's lock, so each node exists,
        // although its task may end meanwhile.
        let nodes = before.all().map(|node| &*node);
        let owned = &(*task).owned;
        let done = has_memory.and_then(|()| owned.follow_all(before.used, nodes));
        if done.is_none() {
            state.give_up(&raw mut (*task).part);
            return None;
        }
        for (at, dep) in deps.iter().enumerate() {
            let found = entries.get(at).copied();
            let entry = found.unwrap_or_else(|| state.entry(dep.address.addr()));
            state.note(entry, &raw mut (*task).part, dep.how & OUT != 0);
        }
    }
    state.enter(table);
    detector::acquire(table); // tasks that have left it are before this one, without an edge
    Some(task)
}

/// See `OwnedNode::leave`.
///
/// # Safety
/// The node is that of a [`Dependent`] that was noted.
unsafe fn leave(task: *const OwnedNode) {
    if detector::is_present() {
        // SAFETY: the task was noted; the table lives until the task has given its block back.
        detector::release(unsafe { &*(*part_of(task.cast_mut())).table.cast::<Table>() });
    }
}

/// See `OwnedNode::free`.
///
/// # Safety
/// The node is that of a [`Dependent`] that was noted, which nobody uses.
unsafe fn free(task: *mut OwnedNode) {
    // SAFETY: the task was noted, and nobody uses its block.
    unsafe { depend::ended(part_of(task)) };
}

/// The part before a node, which is that of a [`Dependent`].
fn part_of(task: *mut OwnedNode) -> *mut Part {
    task.wrapping_byte_sub(offset_of!(Dependent, owned)).cast()
}
