//! Observed runs: the functions of their rows, and the steps that the runtime reports to their
//! watches. This is one file because each way to wrap a task has a counterpart that unwraps it.
//!
//! A kind has two rows: the *plain* one, and the *observed* one for runs with `SCHED_TRACE`,
//! `SCHED_PROFILE` or `SCHED_WATCHDOG`, and for all runs of a process with a race detector
//! (`sys::detector`). The functions of the observed row wrap each task: the queued task is
//! `run_observed`, and its closure is an argument block with a [`Watched`]. Then they call the
//! function of the plain row. So queues, policies and plain rows contain no observation. In an
//! observed run the built-in parts of `sched_spawn`, `sched_fork` and `sched_join`, and those of
//! sched_inline.h and sched_typed.h, do not apply (`Worker::occupy`).
//!
//! Observing changes no outcome. A task for whose record there is no memory is counted as unseen.
//!
//! # Where the time of a task is cut
//!
//! | where | call |
//! | --- | --- |
//! | a task begins, ends | `run_observed` |
//! | a worker switches stacks, perhaps in the middle of tasks | `Worker::tell_switch` |
//! | a task is left in the middle, for a new stack | `Worker::tell_departure` |
//! | the worker comes back to a stack | `Worker::tell_arrival` |
//! | kind `cont`: a child is called on another stack, and has returned | `around_child` |
//! | a task begins a blocking section | `Worker::tell_section` |
//! | a suspended task is woken | `tell_resumable` |
//! | a task begins to wait for tasks, a condition or a barrier, and has waited | `Fiber::while_waiting` |
//! | a task begins to wait for a mutex or a semaphore, and has waited | `api::nodes::wait_for` |
//! | a forked task is joined | `joined` |
//!
//! `Fiber::observed` is the youngest task on a fiber, and `Watched::below` links the tasks below
//! it. `SCHED_WATCHDOG` needs nothing else: `inspect::records` reads from them which function a
//! worker runs. So a run with that variable alone reads no clock, and is not told of switches. In a
//! plain row, spawns, forks, and joins of tasks that nobody has taken execute no code for
//! observers. Without observed runs, a process pays one load (`listeners`) where a task is
//! suspended, which the sanitizers need anyway, and a few (`Worker::watch`, `Fiber::observed`)
//! where a worker steals, runs out of tasks or wakes a task, and where a task waits.

use crate::runtime::arg_blocks::CLASS_MASK;
use crate::runtime::forked::{self, misuse};
use crate::runtime::identity::{self, Mine};
use crate::runtime::record::{Fiber, Row, Run, Worker};
use crate::runtime::spawn_copy::{argument, give_back, is_from_heap, pack_for};
use crate::runtime::watch::{Watch, Watched};
use crate::settings::Config;
use crate::sync::forked::Forked;
use crate::sys::atomic::{Ordering, fence};
use crate::sys::detector::{self, Ignored};
use crate::sys::unwind::{ForkedTask, ProgramFunction, call_guarded};
use crate::sys::{clock, errno, peek, unwind};
use crate::task::{Scheduler, Task, TaskFn};
use crate::trace::track::Observed;
use std::ffi::{c_int, c_void};
use std::ptr;

/// Makes the observed row of a plain one.
pub const fn row(plain: &'static Row) -> Row {
    Row {
        spawn,
        fork,
        offer,
        operations: plain.operations,
        calls_at_once: plain.calls_at_once,
        has_threads: plain.has_threads,
        has_guests: plain.has_guests,
        guests_have_queues: false, // their spawns are wrapped like spawns of other threads
        lines_up: plain.lines_up,
        lengths: plain.lengths,
        doctor: plain.doctor,
        plain: Some(plain),
    }
}

/// True if the tasks of a run with this configuration have records.
pub fn is_observed(config: &Config) -> bool {
    hears_of_switches(config) || config.watchdog.is_some()
}

/// True if a run with this configuration records what its tasks do, or tells it to a race detector.
/// Such a run also records or tells the switches between its stacks.
pub fn hears_of_switches(config: &Config) -> bool {
    config.is_recorded() || detector::is_present()
}

/// Wraps a task whose function in the program is `function`. `C` names the task in messages. The
/// result must run, or be undone by `unwrap`. Without a watch or memory it is the task itself.
pub fn wrap<C: ProgramFunction>(mine: Mine<'_>, task: Task, function: usize) -> Task {
    let Some(watch) = mine.watch() else { return task };
    let slice = || match watch.track() {
        Some(track) => track.spawn(task, function),
        None => Observed::unrecorded(task, function),
    };
    pack::<C>(Some(mine), watch, slice, Some(mine.fiber())).unwrap_or(task)
}

/// Packs the record of a task into an argument block. `from` is the fiber of its spawner, if any.
#[inline(always)]
fn pack<C: ProgramFunction>(
    mine: Option<Mine>,
    watch: &Watch,
    slice: impl FnOnce() -> Observed,
    from: Option<&Fiber>,
) -> Option<Task> {
    let fill = |place: *mut u8| {
        let place = place.cast::<Watched>();
        // SAFETY: the block has room for the record and is aligned for any type. (The record is
        // made in place: a copy would take as long as all the rest.)
        let watched = unsafe {
            place.write(Watched::new(slice()));
            &*place
        };
        if let Some(profile) = watch.profile() {
            let from = from.and_then(Fiber::youngest_task).map(|task| &task.path);
            profile.begin_path(&watched.path, watched.slice.function(), from);
        }
    };
    let packed = pack_for(mine, run_observed::<C>, size_of::<Watched>(), fill);
    let task = packed.inspect_err(|_| watch.miss()).ok()?;
    if detector::is_present() {
        detector::forget(argument(task.closure)); // what the last task here has released
        detector::release(argument(task.closure));
    }
    Some(task)
}

/// Wraps a task that a thread outside of the run is about to queue.
pub fn wrap_outside(run: &Run, task: Task) -> Task {
    let function = forked::function_of(task);
    if function == Some(SHADOW_MARK as *const () as usize) {
        return task;
    }
    let wrapped = wrap_in_heap::<unwind::Task>(run, task, run.function_of(task));
    if function.is_some() {
        note_descriptor(task.closure.cast(), wrapped);
    }
    wrapped
}

/// Wraps a task from outside of the run. `function` is the address of the program's function.
fn wrap_in_heap<C: ProgramFunction>(run: &Run, task: Task, function: usize) -> Task {
    let Some(watch) = run.watch(0).filter(|_| is_observed(run.config())) else { return task };
    let slice = || match run.timeline() {
        Some(timeline) => Observed::outside(timeline.shared(), task, function),
        None => Observed::unrecorded(task, function),
    };
    // The spawner may be a task in a blocking section.
    let section = identity::current_fiber().filter(|fiber| ptr::eq(fiber.worker().run.get(), run));
    pack::<C>(None, watch, slice, section).unwrap_or(task)
}

/// Undoes `wrap` for a task that was refused or taken back. Returns the inner task.
///
/// # Safety
/// Nobody else has the task. If `mine` is None, `wrap_outside` or `wrap_in_heap` has wrapped the
/// task, or nobody has.
pub unsafe fn unwrap(task: Task, mine: Option<Mine>) -> Task {
    if !is_wrapped(task.f) {
        return task;
    }
    // SAFETY: the closure is that of `pack`, and nobody else has the block.
    unsafe {
        let watched = &*argument(task.closure).cast::<Watched>();
        let inner = watched.slice.task;
        watched.path.end();
        give_back(task.closure, mine);
        inner
    }
}

/// The task that was wrapped; another task is itself.
///
/// # Safety
/// The task is queued, and nobody takes it during the call.
pub unsafe fn inner(task: Task) -> Task {
    if !is_wrapped(task.f) {
        return task;
    }
    // SAFETY: the closure is that of `pack`; the block lasts until the task has run.
    unsafe { (*argument(task.closure).cast::<Watched>()).slice.task }
}

fn is_wrapped(f: TaskFn) -> bool {
    let ours: [TaskFn; 2] = [run_observed::<unwind::Task>, run_observed::<ForkedTask>];
    ours.iter().any(|&our| ptr::fn_addr_eq(our, f))
}

/// The function of a forked task that was wrapped, for a debugger.
pub const RUN_FORKED: TaskFn = SHADOW_MARK;

/// The offset and the mask with which a debugger does the work of `seen_function`.
pub const FOR_DEBUGGER: [(&str, usize); 2] =
    [("record.function", Watched::FUNCTION), ("record.low_bits", CLASS_MASK)];

/// For an observer: the program's function of a forked task whose descriptor contains `f` and
/// `closure`. The record to which `closure` leads may be gone.
pub fn seen_function(f: usize, closure: usize) -> usize {
    if f != SHADOW_MARK as *const () as usize {
        return f;
    }
    let record = argument(ptr::without_provenance_mut(closure)).addr();
    peek::word(record.wrapping_add(Watched::FUNCTION)).unwrap_or(f)
}

/// Notes, for an observer, which descriptor is queued for the task, if the task was wrapped.
fn note_descriptor(queued: *const Forked, wrapped: Task) {
    if is_wrapped(wrapped.f) {
        // SAFETY: `wrap` has made the closure, and the task was not queued yet.
        let watched = unsafe { &*argument(wrapped.closure).cast::<Watched>() };
        watched.note_descriptor(queued);
    }
}

/// `Row::spawn`.
///
/// # Safety
/// The contract of `entry::spawn`.
unsafe extern "C" fn spawn(f: Option<TaskFn>, closure: *mut c_void, worker: &Worker) -> c_int {
    let Some(f) = f else { return errno::failed(libc::EINVAL) };
    let _ignored = Ignored::begin();
    let task = Task { f, closure };
    let Some(mine) = worker.mine() else {
        // SAFETY: `f` accepts `closure`.
        return unsafe { worker.inject(f, closure) };
    };
    let worker = mine.worker();
    let wrapped = wrap::<unwind::Task>(mine, task, worker.function_of(task));
    let Task { f, closure } = wrapped;
    // SAFETY: the calling thread occupies the worker, whose run has this plain row.
    let outcome = around_child(mine, |worker| unsafe {
        (worker.plain_row().spawn)(Some(f), closure, worker)
    });
    if outcome != 0 {
        // SAFETY: a refused task has not left this thread.
        unsafe { unwrap(wrapped, worker.mine()) };
    }
    outcome
}

/// `Row::fork`.
///
/// # Safety
/// The contract of `forked::fork`.
unsafe extern "C" fn fork(
    forked: &Forked,
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) {
    let Some(f) = f else { misuse("sched_fork", "f is NULL") };
    let _ignored = Ignored::begin();
    let task = Task { f, closure };
    let Some(mine) = worker.mine() else {
        // Wrapped here, not by `wrap_outside`, so that the join finds the record.
        let wrap = |run: &Run| wrap_in_heap::<ForkedTask>(run, task, run.function_of(task));
        let is_told = detector::is_present();
        let task = if is_told { worker.with_run(wrap).unwrap_or(task) } else { task };
        let forked = add_shadow(forked, task);
        note_descriptor(forked, task);
        // SAFETY: the function accepts the closure, and the descriptor lives until it is joined.
        return unsafe { (worker.plain_row().fork)(forked, Some(task.f), task.closure, worker) };
    };
    let function = mine.worker().function_of(task);
    let wrapped = wrap::<ForkedTask>(mine, task, function);
    let forked = if joins_are_told(mine) { add_shadow(forked, wrapped) } else { forked };
    note_descriptor(forked, wrapped);
    let Task { f, closure } = wrapped;
    // SAFETY: the calling thread occupies the worker, whose run has this plain row.
    around_child(mine, |worker| unsafe {
        (worker.plain_row().fork)(forked, Some(f), closure, worker)
    });
}

/// `Row::offer`.
///
/// # Safety
/// The contract of `forked::offer`.
unsafe fn offer(
    forked: &Forked,
    task: Task,
    function: usize,
    worker: &Worker,
) -> Result<(), c_int> {
    let _ignored = Ignored::begin();
    let Some(mine) = worker.mine() else {
        // Wrapped here, because `wrap_outside` does not know the program's function.
        let wrap = |run: &Run| wrap_in_heap::<ForkedTask>(run, task, function);
        let wrapped = worker.with_run(wrap).unwrap_or(task);
        note_descriptor(forked, wrapped);
        // SAFETY: the descriptor lives until it is joined; nobody else has a task that was refused.
        return unsafe {
            (worker.plain_row().offer)(forked, wrapped, function, worker)
                .inspect_err(|_| _ = unwrap(wrapped, None))
        };
    };
    let wrapped = wrap::<ForkedTask>(mine, task, function);
    let worker = mine.worker();
    let queued = if joins_are_told(mine) { add_shadow(forked, wrapped) } else { forked };
    note_descriptor(queued, wrapped);
    // SAFETY: the descriptors live until they are joined; a refused task has not left this thread.
    unsafe {
        (worker.plain_row().offer)(queued, wrapped, function, worker).inspect_err(|_| {
            forked.forget_shadow();
            unwrap(wrapped, Some(mine));
        })
    }
}

/// True if a join needs the record of the ended task: in a profiled run, or with a race detector.
fn joins_are_told(mine: Mine<'_>) -> bool {
    mine.sums().is_some() || detector::is_present()
}

/// Makes the record of a forked task last until the join. A descriptor in the record, the *shadow*,
/// is queued instead of the program's descriptor, which leads to the shadow. So the join finds the
/// length of the path to the task's end, and the state that the task has released for a race
/// detector. Returns the descriptor to queue; the program's if the task was not wrapped.
///
/// To a join, the program's descriptor looks as if its task had already been joined. Only a join
/// that finds such a descriptor tests whether it leads to a shadow; if it does not, the process
/// ends with a message. So joins in other runs pay nothing for the test (`api::fork`).
fn add_shadow(forked: &Forked, wrapped: Task) -> &Forked {
    if !ptr::fn_addr_eq(wrapped.f, SHADOW_MARK) {
        return forked;
    }
    // SAFETY: `wrap` has made the closure, and the block lives until the join.
    let watched = unsafe { &*argument(wrapped.closure).cast::<Watched>() };
    watched.block.set(wrapped.closure);
    forked.lead_to(&raw const watched.shadow, SHADOW_MARK);
    &watched.shadow
}

/// The mark of a descriptor that leads to a shadow.
const SHADOW_MARK: TaskFn = run_observed::<ForkedTask>;

/// The descriptor that is queued in place of the program's, if there is one.
pub fn shadow_of(forked: &Forked) -> Option<&Forked> {
    // SAFETY: a shadow lives until `joined`, after which the descriptor no longer leads to it.
    unsafe { forked.shadow(SHADOW_MARK).as_ref() }
}

/// Called when the caller has joined the task of a shadow, which may be gone afterwards.
///
/// # Safety
/// The task has ended. `worker` is any worker of the run.
pub unsafe fn joined(shadow: &Forked, worker: &Worker) {
    // SAFETY: the task has ended, and its shadow was not joined before.
    let watched = unsafe { &*Watched::of_shadow(shadow) };
    detector::acquire(watched);
    let mine = worker.mine();
    let fiber = mine.map(Mine::fiber).or_else(|| worker.section_of_caller());
    if let Some(caller) = fiber.and_then(Fiber::youngest_task) {
        caller.path.join(&watched.path, worker.burden(), clock::ticks);
    }
    watched.path.end();
    let block = watched.block.get();
    // Without a worker, a block of the run stays in use until the run ends.
    if mine.is_some() || is_from_heap(block) {
        // SAFETY: nobody uses the block any more.
        unsafe { give_back(block, mine) };
    }
}

/// Calls `spawn`, which in kind `cont` calls the child at once, on another stack.
fn around_child<R>(mine: Mine<'_>, spawn: impl FnOnce(&Worker) -> R) -> R {
    let worker = mine.worker();
    if !worker.calls_at_once() {
        return spawn(worker);
    }
    let fiber = mine.fiber();
    let caller = fiber.youngest_task();
    let left = caller.and_then(|caller| Some(mine.track()?.leave(&caller.slice)));
    let timed = caller.map(|caller| &caller.path).filter(|path| path.is_used());
    timed.inspect(|path| path.stop(clock::ticks()));
    let result = spawn(worker);
    // SAFETY: the caller is on the fiber again, whose worker is the calling thread's.
    let track = unsafe { fiber.mine() }.worker().track();
    if let (Some(track), Some(left), Some(caller)) = (track, left, caller) {
        track.come_back(&left, &caller.slice);
    }
    timed.inspect(|path| {
        path.burden(worker.burden());
        path.go_on(clock::ticks());
    });
    result
}

/// The function of a wrapped task.
///
/// # Safety
/// `pack` has made `closure`, and the task was given to the run of `s`.
unsafe extern "C" fn run_observed<C: ProgramFunction>(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the block holds the record until `give_back`.
    let watched = unsafe { &*argument(closure).cast::<Watched>() };
    detector::acquire(watched);
    let Task { f, closure: own } = watched.slice.task;
    // SAFETY: `s` was given to this task.
    let given = unsafe { Worker::of(s) };
    // None: a thread that has left its worker for a blocking section runs a refused task.
    let fiber = given.mine().map(|mine| {
        let fiber = mine.fiber();
        let below = fiber.observed.get();
        watched.slice.below.set(below.cast());
        // Release: an observer that finds the record finds it complete (`inspect::records`).
        fence(Ordering::Release);
        fiber.observed.set(watched);
        mine.track().inspect(|track| track.begin(&watched.slice, || mine.queued()));
        if mine.sums().is_some() {
            let now = clock::ticks();
            // SAFETY: the task below is in the middle of its run.
            unsafe { below.as_ref() }.inspect(|below| below.path.stop(now));
            watched.path.go_on(now);
        }
        fiber
    });
    // SAFETY: the program promises that `f` accepts its closure and returns.
    detector::heeded(|| call_guarded::<C, _>(|| unsafe { f(own, s) }));
    // SAFETY: the task's worker, which may differ from `s` by now, is of the same run.
    let worker = fiber.map(|_| unsafe { Worker::current_in_run_of(s).owned() });
    if let (Some(fiber), Some(worker)) = (fiber, worker) {
        // SAFETY: the task below is in the middle of its run, like this one until now.
        let below = unsafe { watched.below() };
        fiber.observed.set(below.map_or(ptr::null(), ptr::from_ref));
        worker.track().inspect(|track| track.end(&watched.slice));
        if let Some(sums) = worker.sums() {
            let now = clock::ticks();
            sums.end(&watched.path, now);
            below.inspect(|below| below.path.go_on(now));
        }
    }
    detector::release(given.run.get());
    detector::release(watched);
    if watched.block.get().is_null() {
        watched.path.end();
        // SAFETY: the task has ended; without a worker the block is from the heap.
        unsafe { give_back(closure, worker) };
    } // else `joined` does it
}
