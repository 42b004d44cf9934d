//! Tasks with a copy of their argument: how they are spawned and run.

use crate::runtime::arg_blocks::{
    BlockHead, CLASS_MASK, FUNCTION_BYTES, HEAP_CLASS, MAX_BYTES, class_for,
};
use crate::runtime::identity::Mine;
use crate::runtime::record::Worker;
use crate::sys::errno;
use crate::sys::memory::NoMemory;
use crate::sys::memory::copy_few;
use crate::sys::unwind::{CopyTask, call_guarded};
use crate::task::{Level, Scheduler, Task, TaskFn};
use std::alloc::Layout;
use std::ffi::{c_int, c_void};

/// The layout of a block from the heap. Its first 8 bytes only align the argument.
const HEAP_LAYOUT: Layout = match Layout::from_size_align(16 + MAX_BYTES, 16) {
    Ok(layout) => layout,
    Err(_) => panic!("16 is a power of two"),
};

/// Makes a task with an argument of `bytes` bytes, at most `MAX_BYTES`, which `fill` writes.
/// Without a worker the block comes from the heap.
#[inline]
fn pack(
    mine: Option<Mine>,
    f: TaskFn,
    bytes: usize,
    fill: impl FnOnce(*mut u8),
) -> Result<Task, NoMemory> {
    let (block, task) = pack_block(mine, run_block, bytes, fill)?;
    // SAFETY: the block is the caller's, and has room for its head.
    unsafe { block.write(BlockHead { f }) };
    Ok(task)
}

/// Makes a task {`f`, closure}, with an argument of `bytes` bytes, at most `MAX_BYTES`, which
/// `fill` writes. `f` finds the argument by `argument`, and ends with `give_back`.
pub(super) fn pack_for(
    mine: Option<Mine>,
    f: TaskFn,
    bytes: usize,
    fill: impl FnOnce(*mut u8),
) -> Result<Task, NoMemory> {
    pack_block(mine, f, bytes, fill).map(|(_, task)| task)
}

/// `pack_for` without writing the head of the block.
#[inline]
fn pack_block(
    mine: Option<Mine>,
    f: TaskFn,
    bytes: usize,
    fill: impl FnOnce(*mut u8),
) -> Result<(*mut BlockHead, Task), NoMemory> {
    let (block, class) = if let Some(mine) = mine {
        let class = class_for(bytes);
        // SAFETY: the thread owns the worker, so the run of the worker has not ended.
        (unsafe { mine.block_cache.take(class) }?, class)
    } else {
        // SAFETY: the size of the layout is not 0.
        let place = unsafe { std::alloc::alloc(HEAP_LAYOUT) };
        if place.is_null() {
            return Err(NoMemory);
        }
        (place.wrapping_add(16 - FUNCTION_BYTES).cast::<BlockHead>(), HEAP_CLASS)
    };
    // SAFETY: the block is empty, nobody else uses it, and it has room for `bytes` bytes.
    let copy: *mut u8 = unsafe { block.add(1) }.cast();
    fill(copy);
    Ok((block, Task { f, closure: copy.wrapping_add(class).cast() }))
}

/// The argument of a task that `pack_for` has made.
pub(super) fn argument(closure: *mut c_void) -> *mut c_void {
    closure.wrapping_byte_sub(closure as usize & CLASS_MASK)
}

/// The function of a task with a copy of its argument, and the copy. None means that it is another
/// task.
pub fn content_of(task: Task) -> Option<(TaskFn, *mut c_void)> {
    std::ptr::fn_addr_eq(task.f, run_block as TaskFn).then(|| {
        let (block, _) = block_of(task.closure);
        // SAFETY: `pack` has made the task, so its block has a head.
        (unsafe { (*block).f }, argument(task.closure))
    })
}

/// Spawns `f` with a copy of the `bytes` bytes at `arg`, at most `MAX_ARG`, like `sched_spawn`.
///
/// # Safety
/// `arg` may be read, and `f` accepts a pointer to a copy.
#[inline]
pub unsafe fn spawn(f: TaskFn, arg: *const c_void, bytes: usize, worker: &Worker) -> c_int {
    // SAFETY: `arg` has `bytes` bytes to read, and the block has room for them.
    let fill = |copy| unsafe { copy_few(arg.cast(), copy, bytes) };
    // SAFETY: `f` accepts a pointer to a copy, which `fill` writes.
    unsafe { spawn_filled(f, bytes, fill, worker) }
}

/// `spawn` with an argument of `bytes` bytes, at most `MAX_BYTES`, which `fill` writes.
///
/// # Safety
/// `f` accepts a pointer to the bytes that `fill` writes.
#[inline]
pub unsafe fn spawn_filled(
    f: TaskFn,
    bytes: usize,
    fill: impl FnOnce(*mut u8),
    worker: &Worker,
) -> c_int {
    let mine = worker.mine();
    let by = mine.map_or(worker, Mine::worker);
    // SAFETY: `f` accepts a pointer to the bytes that `fill` writes.
    unsafe { spawn_by(f, bytes, fill, mine, |task| by.spawn(Some(task.f), task.closure)) }
}

/// `spawn_filled` for a task with a level: see `Worker::spawn_at`.
///
/// # Safety
/// The contract of `spawn_filled`.
pub unsafe fn spawn_at(
    level: Level,
    f: TaskFn,
    bytes: usize,
    fill: impl FnOnce(*mut u8),
    worker: &Worker,
) -> c_int {
    // SAFETY: `run_block` accepts the block.
    let put = |task| unsafe { worker.spawn_at(level, task) };
    // SAFETY: `f` accepts a pointer to the bytes that `fill` writes.
    unsafe { spawn_by(f, bytes, fill, worker.mine(), put) }
}

/// `spawn_filled` into the queue of a guest's place.
///
/// # Safety
/// The contract of `spawn_filled`.
pub unsafe fn queue(f: TaskFn, bytes: usize, fill: impl FnOnce(*mut u8), guest: Mine) -> c_int {
    // SAFETY: `f` accepts a pointer to the bytes that `fill` writes.
    unsafe { spawn_by(f, bytes, fill, Some(guest), |task| guest.queue(task)) }
}

/// The rest of `spawn_filled`. `put` adds the task.
///
/// # Safety
/// The contract of `spawn_filled`.
#[inline]
unsafe fn spawn_by(
    f: TaskFn,
    bytes: usize,
    fill: impl FnOnce(*mut u8),
    mine: Option<Mine>,
    put: impl FnOnce(Task) -> c_int,
) -> c_int {
    let Ok(task) = pack(mine, f, bytes, fill) else { return errno::failed(libc::EAGAIN) };
    let outcome = put(task);
    if outcome != 0 {
        // SAFETY: the task was refused, so nobody else has the block.
        unsafe { give_back(task.closure, mine) };
    }
    outcome
}

/// The block to which a closure points, and its size class.
#[inline]
fn block_of(closure: *mut c_void) -> (*mut BlockHead, usize) {
    let class = closure as usize & CLASS_MASK;
    (closure.wrapping_byte_sub(class + FUNCTION_BYTES).cast(), class)
}

pub(super) fn is_from_heap(closure: *mut c_void) -> bool {
    block_of(closure).1 == HEAP_CLASS
}

/// Gives back a block whose task has run, or was refused.
///
/// # Safety
/// Nobody uses the block afterwards. Without a worker, the block is from the heap.
#[inline]
pub(super) unsafe fn give_back(closure: *mut c_void, mine: Option<Mine>) {
    let (block, class) = block_of(closure);
    match mine {
        // SAFETY: the block is of the worker's run, and nobody else uses it.
        Some(mine) if class != HEAP_CLASS => unsafe { mine.block_cache.put(block, class) },
        // SAFETY: `pack` has allocated the block with this layout.
        _ => unsafe {
            std::alloc::dealloc(block.cast::<u8>().wrapping_sub(16 - FUNCTION_BYTES), HEAP_LAYOUT);
        },
    }
}

/// Runs the task of a block.
///
/// # Safety
/// `pack` has made `closure`, and the task was given to the run of `s`.
unsafe extern "C" fn run_block(closure: *mut c_void, s: *mut Scheduler) {
    let (block, _) = block_of(closure);
    // SAFETY: the block holds a function, which accepts a pointer to a copy of its argument.
    call_guarded::<CopyTask, _>(|| unsafe { ((*block).f)(block.add(1).cast(), s) });
    // SAFETY: the task has ended. The worker, which may differ from `s` by now, is of the same run.
    unsafe { give_back(closure, Some(Worker::current_in_run_of(s).owned())) };
}
