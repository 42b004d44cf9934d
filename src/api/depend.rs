//! Tasks of a group that are ordered by what they read and write, as OpenMP's `depend` does: a task
//! that reads at an address begins after the last task before it that writes there, and a task that
//! writes begins after that one and after all that have read since. The order of the calls counts,
//! not that of the tasks. So the tasks have the effect of being called one after the other.
//!
//! `sync::depend` keeps the last task that writes at each address, and those that have read there
//! since. A task is a node (`api::dag`) in memory of the library, with a record for each of its
//! addresses behind it. It holds its run until it begins.

use crate::api::dag::{OwnedNode, TaskNode};
use crate::api::group::Group;
use crate::runtime::record::Worker;
use crate::sync::depend::{self, Record, Table};
use crate::sys::errno::Errno;
use crate::sys::{detector, errno};
use crate::task::TaskFn;
use std::alloc::{Layout, alloc, dealloc};
use std::ffi::{c_int, c_void};
use std::{ptr, slice};

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

/// A task, behind which its records lie.
#[repr(C)]
struct Dependent {
    owned: OwnedNode,
    group: *const Group,
    records: usize,
}

impl Dependent {
    fn layout(records: usize) -> Option<Layout> {
        let records = Layout::array::<Record>(records).ok()?;
        Layout::new::<Dependent>().extend(records).ok().map(|(all, _)| all)
    }

    /// # Safety
    /// The task exists.
    unsafe fn record(task: *mut Dependent, at: usize) -> *mut Record {
        // SAFETY: the records are behind the task, whose size is a multiple of their alignment.
        unsafe { task.add(1).cast::<Record>().add(at) }
    }

    /// A task with records that are in no entry; null if there is no memory.
    fn new(group: &Group, f: TaskFn, closure: *mut c_void, deps: &[Dep]) -> *mut Dependent {
        let Some(layout) = Dependent::layout(deps.len()) else { return ptr::null_mut() };
        // SAFETY: the layout is not empty; all is written at once.
        unsafe {
            let task: *mut Dependent = alloc(layout).cast();
            if !task.is_null() {
                let owned = OwnedNode { node: TaskNode::new(f, closure), leave, free };
                task.write(Dependent { owned, group, records: deps.len() });
                for (at, dep) in deps.iter().enumerate() {
                    let record = Record::new(task.cast(), dep.address.addr());
                    Dependent::record(task, at).write(record);
                }
            }
            task
        }
    }
}

/// Spawns a task of the group. Returns what `sched_group_spawn_after` returns.
///
/// # Safety
/// `f` accepts `closure`; the group lives until its tasks have been waited for.
pub unsafe fn spawn(
    group: &Group,
    f: TaskFn,
    closure: *mut c_void,
    deps: &[Dep],
    worker: &Worker,
) -> c_int {
    if deps.iter().any(|dep| dep.how & !(IN | OUT) != 0 || dep.how == 0) {
        return errno::failed(libc::EINVAL);
    }
    // SAFETY: by the caller's promise.
    detector::ignored(|| match unsafe { spawn_now(group, f, closure, deps, worker) } {
        Ok(()) => 0,
        Err(Errno(error)) => errno::failed(error),
    })
}

/// # Safety
/// As for `spawn`.
unsafe fn spawn_now(
    group: &Group,
    f: TaskFn,
    closure: *mut c_void,
    deps: &[Dep],
    worker: &Worker,
) -> Result<(), Errno> {
    if !worker.hold_run() {
        return Err(Errno(libc::EINVAL));
    }
    let (task, group_at) = (Dependent::new(group, f, closure, deps), ptr::from_ref(group).addr());
    // SAFETY: the task was made just now, or is null.
    let added = unsafe {
        !task.is_null()
            && depend::table_of(group_at).with(|table| {
                add(table, task, deps).is_some() || {
                    free(task.cast());
                    false
                }
            })
    };
    if !added {
        worker.let_go_of_run();
        return Err(Errno(libc::EAGAIN));
    }
    group.members.enter();
    // SAFETY: the task lives until it has ended.
    unsafe { (*task).owned.make_ready(group, worker) };
    Ok(())
}

/// Adds the task's records to the table, and makes those that it must follow its predecessors. None:
/// there is no memory, and nothing has changed.
///
/// # Safety
/// The task is new, and has a record for each of `deps`. The table is locked.
unsafe fn add(table: &mut Table, task: *mut Dependent, deps: &[Dep]) -> Option<()> {
    // SAFETY: the task is new; the records of an entry exist, since the table is locked.
    unsafe {
        let (owned, group) = (&(*task).owned, (*task).group.addr());
        let records = slice::from_raw_parts_mut(Dependent::record(task, 0), deps.len());
        depend::find(table, group, records)?;
        detector::acquire(table); // tasks that have left it are before this one, without an edge
        let before = || {
            let of = |(record, dep): (&Record, &Dep)| (*record.entry).before(dep.how & OUT != 0);
            let all = records.iter().zip(deps).flat_map(of);
            all.map(|task| &*task.cast::<OwnedNode>())
        };
        if owned.follow_all(before().count(), before()).is_none() {
            depend::give_up(table, group, records);
            return None;
        }
        for (at, dep) in deps.iter().enumerate() {
            let record = &mut *Dependent::record(task, at);
            (*record.entry).take_over(record, dep.how & OUT != 0);
        }
    }
    Some(())
}

/// See `OwnedNode::leave`: takes the task's records out of the table.
///
/// # Safety
/// The node is that of a [`Dependent`] whose records were added.
unsafe fn leave(task: *const OwnedNode) {
    let task: *mut Dependent = task.cast_mut().cast();
    // SAFETY: by the caller's promise; `place` and the links are used under the lock.
    unsafe {
        let group = (*task).group;
        depend::table_of(group.addr()).with(|table| {
            detector::release(table);
            for at in 0..(*task).records {
                depend::remove(table, group.addr(), &*Dependent::record(task, at));
            }
        });
    }
}

/// See `OwnedNode::free`.
///
/// # Safety
/// The node is that of a [`Dependent`], which nobody uses.
unsafe fn free(task: *mut OwnedNode) {
    let task: *mut Dependent = task.cast();
    // SAFETY: `new` has allocated it with this layout.
    unsafe { dealloc(task.cast(), Dependent::layout((*task).records).unwrap_unchecked()) };
}
