//! The functions of sched.h and sched_tasks.h that are recorded. The headers say what they promise.

use std::ffi::{c_char, c_int, c_void};

use crate::ranges::{Body, Combine, Part, Piece};
use crate::refuse;
use crate::runs;
use crate::stack::{Descriptor, Group, Serial, TaskFn};

#[allow(non_camel_case_types, reason = "the name in C")]
type taskfunc = Option<TaskFn>;

/// NULL stands for the caller's run. Outside of a run it would be the default pool, which is not
/// recorded.
fn run_of(s: *mut Serial) -> *mut Serial {
    if !s.is_null() {
        return s;
    }
    runs::current().unwrap_or_else(|| {
        refuse("the program uses the default pool (s is NULL outside of a task), which is not recorded")
    })
}

fn invalid() -> c_int {
    // SAFETY: the calling thread's own.
    unsafe { *libc::__errno_location() = libc::EINVAL };
    -1
}

/// The number of processors, although the recorder has one thread: the program may divide its work
/// by that number.
#[unsafe(no_mangle)]
pub extern "C" fn sched_default_threads() -> c_int {
    std::thread::available_parallelism().map_or(1, |n| n.get() as c_int)
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_init(_: c_int, _: c_int, f: taskfunc, p: *mut c_void) -> c_int {
    let Some(f) = f else { return invalid() };
    runs::run(f, p);
    0
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_spawn(f: taskfunc, p: *mut c_void, s: *mut Serial) -> c_int {
    // SAFETY: it is not null, so the recorder made it, and no other reference to it lives while a
    // task runs.
    match (f, unsafe { run_of(s).as_mut() }) {
        (Some(f), Some(serial)) => serial.spawn(f, p),
        _ => invalid(),
    }
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_spawn_copy(
    f: taskfunc,
    from: *const c_void,
    size: usize,
    s: *mut Serial,
) -> c_int {
    // SAFETY: as in sched_spawn.
    match (f, unsafe { run_of(s).as_mut() }) {
        (Some(f), Some(serial)) if size == 0 || !from.is_null() => {
            // SAFETY: by the caller's promise.
            let copy = unsafe { serial.copy(from, size) };
            serial.spawn(f, copy)
        }
        _ => invalid(),
    }
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_fork(
    t: *mut Descriptor,
    f: taskfunc,
    p: *mut c_void,
    s: *mut Serial,
) {
    // SAFETY: as in sched_spawn.
    match (f, unsafe { run_of(s).as_mut() }) {
        // SAFETY: by the caller's promise.
        (Some(f), Some(serial)) => unsafe { serial.fork(t, f, p) },
        _ => refuse("sched_fork without a function"),
    }
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_join(t: *mut Descriptor, s: *mut Serial) {
    // SAFETY: by the caller's promise.
    unsafe { Serial::join(run_of(s), t) };
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_group_spawn(
    g: *mut Group,
    f: taskfunc,
    p: *mut c_void,
    s: *mut Serial,
) -> c_int {
    // SAFETY: as in sched_spawn.
    match (f, unsafe { run_of(s).as_mut() }) {
        (Some(f), Some(serial)) if !g.is_null() => {
            // SAFETY: by the caller's promise.
            unsafe { serial.group_spawn(g, f, p) };
            0
        }
        _ => invalid(),
    }
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_group_spawn_copy(
    g: *mut Group,
    f: taskfunc,
    from: *const c_void,
    size: usize,
    s: *mut Serial,
) -> c_int {
    // SAFETY: as in sched_spawn.
    match (f, unsafe { run_of(s).as_mut() }) {
        (Some(f), Some(serial)) if !g.is_null() && (size == 0 || !from.is_null()) => {
            // SAFETY: by the caller's promise.
            unsafe {
                let copy = serial.copy(from, size);
                serial.group_spawn(g, f, copy);
            }
            0
        }
        _ => invalid(),
    }
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_group_wait(g: *mut Group, s: *mut Serial) -> c_int {
    if g.is_null() {
        return invalid();
    }
    let s = run_of(s);
    // SAFETY: by the caller's promise.
    if unsafe { Serial::group_wait(s, g) } {
        return 0;
    }
    // SAFETY: the calling thread's own.
    unsafe { *libc::__errno_location() = libc::ECANCELED };
    -1
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_group_init(g: *mut Group) -> c_int {
    // SAFETY: by the caller's promise.
    unsafe { g.write_bytes(0, 1) };
    0
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_group_cancel(g: *mut Group) {
    // SAFETY: by the caller's promise.
    unsafe { Serial::cancel(g) };
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_group_cancelled(g: *const Group) -> c_int {
    // SAFETY: by the caller's promise.
    c_int::from(unsafe { Serial::cancelled(g) })
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_for(
    lo: usize,
    hi: usize,
    grain: usize,
    body: Option<unsafe extern "C" fn(usize, usize, *mut c_void, *mut Serial)>,
    context: *mut c_void,
    s: *mut Serial,
) -> c_int {
    let Some(body) = body else { return invalid() };
    let s = run_of(s);
    let part = Part::of_loop(lo, hi, grain);
    // SAFETY: by the caller's promise.
    unsafe { part.run(&Piece { body: Body::Each(body), context }, s) };
    0
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_reduce(
    lo: usize,
    hi: usize,
    grain: usize,
    size: usize,
    identity: *const c_void,
    body: Option<unsafe extern "C" fn(usize, usize, *mut c_void, *mut c_void, *mut Serial)>,
    combine: Option<Combine>,
    context: *mut c_void,
    result: *mut c_void,
    s: *mut Serial,
) -> c_int {
    let (Some(body), Some(combine)) = (body, combine) else { return invalid() };
    if size > 0 && (identity.is_null() || result.is_null()) {
        return invalid();
    }
    let s = run_of(s);
    let body = Body::Reduce { body, combine, identity, size };
    let part = Part::of_reduction(lo, hi, grain, size);
    // SAFETY: by the caller's promise.
    unsafe {
        let sum = part.run(&Piece { body, context }, s);
        std::ptr::copy_nonoverlapping(sum.as_ptr().cast::<u8>(), result.cast(), size);
    }
    0
}

/// Recorded as sched_reduce: the parts depend on the workers, and the simulator has any number of
/// these.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_reduce_relaxed(
    lo: usize,
    hi: usize,
    grain: usize,
    size: usize,
    identity: *const c_void,
    body: Option<unsafe extern "C" fn(usize, usize, *mut c_void, *mut c_void, *mut Serial)>,
    combine: Option<Combine>,
    context: *mut c_void,
    result: *mut c_void,
    s: *mut Serial,
) -> c_int {
    // SAFETY: by the caller's promise.
    unsafe { sched_reduce(lo, hi, grain, size, identity, body, combine, context, result, s) }
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_block_begin(s: *mut Serial) -> c_int {
    // SAFETY: as in sched_spawn.
    let Some(serial) = (unsafe { run_of(s).as_mut() }) else { return invalid() };
    serial.block_begin();
    0
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_block_end(s: *mut Serial) -> c_int {
    // SAFETY: as in sched_spawn.
    let Some(serial) = (unsafe { run_of(s).as_mut() }) else { return invalid() };
    if serial.block_end() {
        return 0;
    }
    // SAFETY: the calling thread's own.
    unsafe { *libc::__errno_location() = libc::EPERM };
    -1
}

#[unsafe(no_mangle)]
pub extern "C" fn sched_worker_index(_: *mut Serial) -> c_int {
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn sched_worker_count(_: *mut Serial) -> c_int {
    1
}

#[unsafe(no_mangle)]
pub extern "C" fn sched_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Programs that include sched_inline.h need the symbol. They call it for tasks that they have
/// queued themselves, of which there are none here: see `Serial::quick`.
#[unsafe(no_mangle)]
pub extern "C" fn sched_layout_1(_: *mut c_void, _: *mut Serial) {
    refuse("sched_layout_1 was called")
}
