//! Tasks with a copy of their argument: how they are packed, spawned, and opened.

use crate::runtime::arg_blocks::{BEFORE, HEADER, HEAP, Head, MOST_IN_ALL, SIZE_MASK, size_for};
use crate::runtime::identity::Mine;
use crate::runtime::record::Worker;
use crate::sys::errno;
use crate::sys::memory::NoMemory;
use crate::sys::memory::copy_few;
use crate::sys::unwind::{CopyTask, call_guarded};
use crate::task::{Scheduler, Task, TaskFn};
use std::alloc::Layout;
use std::ffi::{c_int, c_void};

/// A block from the heap: 8 bytes for nothing, so that its argument is aligned.
const HEAP_LAYOUT: Layout = match Layout::from_size_align(16 + MOST_IN_ALL, 16) {
    Ok(layout) => layout,
    Err(_) => panic!("16 is a power of two"),
};

/// A task for `worker`, the calling thread's, with an argument of `bytes` bytes, at most `MOST_IN_ALL`, which `fill`
/// writes. Without a worker the block is from the heap.
///
/// # Safety
/// The caller owns `worker`.
#[inline]
unsafe fn pack(
    worker: Option<&Worker>,
    f: TaskFn,
    bytes: usize,
    fill: impl FnOnce(*mut u8),
) -> Result<Task, NoMemory> {
    let (block, size) = if let Some(worker) = worker {
        let size = size_for(bytes);
        // SAFETY: the caller owns the worker, so its run has not ended.
        (unsafe { worker.block_cache().take(size) }?, size)
    } else {
        // SAFETY: the layout has a size.
        let place = unsafe { std::alloc::alloc(HEAP_LAYOUT) };
        if place.is_null() {
            return Err(NoMemory);
        }
        (place.wrapping_add(16 - BEFORE).cast(), HEAP)
    };
    // SAFETY: the block is ours and has room for so many bytes.
    unsafe {
        block.write(Head { f });
        let copy = block.add(1).cast();
        fill(copy);
        Ok(Task { f: open, closure: copy.wrapping_add(size).cast() })
    }
}

/// Spawns `f` with a copy of the `bytes` bytes at `arg`, at most `MOST`; returns as `sched_spawn`.
///
/// # Safety
/// `arg` may be read, and `f` accepts a pointer to a copy.
#[inline]
pub unsafe fn spawn(f: TaskFn, arg: *const c_void, bytes: usize, worker: &Worker) -> c_int {
    // SAFETY: by the caller's promise; there is room for so many.
    let fill = |copy| unsafe { copy_few(arg.cast(), copy, bytes) };
    // SAFETY: passed on.
    unsafe { spawn_filled(f, bytes, fill, worker) }
}

/// The same, with a copy of the `HEADER` bytes at `header` before the copy of the argument.
///
/// # Safety
/// Both may be read, and `f` accepts a pointer to such a copy.
pub unsafe fn spawn_two(
    f: TaskFn,
    header: *const c_void,
    arg: *const c_void,
    bytes: usize,
    worker: &Worker,
) -> c_int {
    // SAFETY: by the caller's promise; there is room for so many.
    let fill = |copy: *mut u8| unsafe {
        copy_few(header.cast(), copy, HEADER);
        copy_few(arg.cast(), copy.add(HEADER), bytes);
    };
    // SAFETY: passed on.
    unsafe { spawn_filled(f, HEADER + bytes, fill, worker) }
}

/// Spawns `f` with an argument of `bytes` bytes, which `fill` writes; returns as `sched_spawn` does.
///
/// # Safety
/// `f` accepts a pointer to what `fill` writes.
#[inline]
unsafe fn spawn_filled(
    f: TaskFn,
    bytes: usize,
    fill: impl FnOnce(*mut u8),
    worker: &Worker,
) -> c_int {
    let mine = worker.mine().map(Mine::worker);
    // SAFETY: `mine` is the calling thread's.
    let Task { f, closure } = match unsafe { pack(mine, f, bytes, fill) } {
        Ok(task) => task,
        Err(NoMemory) => return errno::failed(libc::EAGAIN),
    };
    // SAFETY: a task of ours.
    let outcome = unsafe { mine.unwrap_or(worker).spawn(Some(f), closure) };
    if outcome != 0 {
        // SAFETY: not sent; `mine` as above.
        unsafe { discard(closure, mine) };
    }
    outcome
}

/// The block behind a closure, and its size.
#[inline]
fn unwrap(closure: *mut c_void) -> (*mut Head, usize) {
    let size = closure as usize & SIZE_MASK;
    (closure.wrapping_byte_sub(size + BEFORE).cast(), size)
}

/// Gives an opened, or unsent, block back.
///
/// # Safety
/// It is the caller's, who owns `worker`, if it is there; it is not used afterwards. Without one
/// the block is from the heap.
#[inline]
unsafe fn discard(closure: *mut c_void, worker: Option<&Worker>) {
    let (block, size) = unwrap(closure);
    match worker {
        // SAFETY: passed on.
        Some(worker) if size != HEAP => unsafe { worker.block_cache().put(block, size) },
        // SAFETY: allocated by `pack` with this layout.
        _ => unsafe {
            std::alloc::dealloc(block.cast::<u8>().wrapping_sub(16 - BEFORE), HEAP_LAYOUT);
        },
    }
}

/// The task of a block.
///
/// # Safety
/// `closure` is from `pack`, and was given to the run of `s`.
unsafe extern "C" fn open(closure: *mut c_void, s: *mut Scheduler) {
    let (block, _) = unwrap(closure);
    // SAFETY: a full block; its function accepts a pointer to a copy of its argument.
    call_guarded::<CopyTask, _>(|| unsafe { ((*block).f)(block.add(1).cast(), s) });
    // SAFETY: as above; the calling thread's worker, which may be another than `s` by now.
    unsafe { discard(closure, Some(Worker::current_in_run_of(s))) };
}
