//! Who the caller is: which workers its thread is, and which blocking section its task is in.

use crate::fiber::exceptions;
use crate::policy::Place;
use crate::runtime::record::{Fiber, HostStack, Worker};
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::process::NullAfterFork;
use crate::sys::{output, registers};
use crate::task::Scheduler;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr;

thread_local! {
    /// The innermost worker that this thread is; the others by `outer`.
    static CURRENT: NullAfterFork<Worker> = const { NullAfterFork::null() };
    /// The innermost section for which this thread has left a worker; the others by `outer`.
    static INNERMOST_SECTION: NullAfterFork<Fiber> = const { NullAfterFork::null() };
}

/// Sections in the process for which a worker was left.
static OPEN_SECTIONS: AtomicUsize = AtomicUsize::new(0);

/// A worker that the calling thread occupies. What only the owner may do is done by this value.
///
/// It is got by comparing the worker's owner with the calling thread, or from a caller that knows it. A task that was
/// suspended may go on in another thread, so the value must not be used after that: what suspends a task takes its
/// fiber, and asks it anew for its worker. (After rayon's `IdleState`: to hold the value is the evidence.)
#[derive(Clone, Copy)]
pub struct Mine<'a> {
    worker: &'a Worker,
    /// Not `Send`.
    thread: PhantomData<*mut ()>,
}

impl Deref for Mine<'_> {
    type Target = Worker;

    #[inline(always)]
    fn deref(&self) -> &Worker {
        self.worker
    }
}

impl<'a> Mine<'a> {
    /// The record, without the evidence.
    #[inline(always)]
    pub fn worker(self) -> &'a Worker {
        self.worker
    }

    /// The fiber that this worker is on.
    #[inline(always)]
    pub fn fiber(self) -> &'a Fiber {
        // SAFETY: the owner's thread is on the fiber, or about to leave it, so its stack is in use.
        unsafe { &*self.worker.fiber.get() }
    }

    /// The own stack of the thread.
    pub fn host_stack(self) -> &'a HostStack {
        // SAFETY: it lies in the frame of `host`, which lasts until the thread leaves the worker.
        unsafe { &*self.worker.host_stack.get() }
    }
}

impl Fiber {
    /// Its worker, as the calling thread's.
    ///
    /// # Safety
    /// The caller is on the fiber, or on top of it; or the fiber's worker is the calling thread's for another reason.
    #[inline(always)]
    pub unsafe fn mine(&self) -> Mine<'_> {
        // SAFETY: by the caller's promise.
        unsafe { self.worker().owned() }
    }
}

impl Worker {
    /// # Safety
    /// The calling thread occupies this place.
    #[inline(always)]
    pub unsafe fn owned(&self) -> Mine<'_> {
        Mine { worker: self, thread: PhantomData }
    }

    /// # Safety
    /// `s` was given to a task by this library.
    #[inline]
    pub unsafe fn of<'a>(s: *mut Scheduler) -> &'a Worker {
        // SAFETY: a task's `s` is the address of a record, and records are never freed.
        unsafe { &*s.cast::<Worker>() }
    }

    /// The calling thread's worker in the run of `s`, after a task which was given that: it may have
    /// waited, and go on with another.
    ///
    /// # Safety
    /// As for `of`; the caller is a worker of the run.
    #[inline]
    pub unsafe fn now<'a>(s: *mut Scheduler) -> &'a Worker {
        // SAFETY: passed on.
        let given = unsafe { Worker::of(s) };
        given.mine().map(Mine::worker).unwrap_or_else(|| {
            check_no_section_left();
            given
        })
    }

    /// True if the calling thread occupies this place.
    #[inline(always)]
    pub fn is_mine(&self) -> bool {
        self.owner.load(Ordering::Relaxed) == registers::thread_pointer()
    }

    /// The calling thread's own place in this worker's run, if it has one.
    #[inline]
    pub fn mine(&self) -> Option<Mine<'_>> {
        let mine = if self.is_mine() { Some(self) } else { self.mine_elsewhere() };
        // SAFETY: compared with the calling thread, or out of that thread's own list.
        mine.map(|worker| unsafe { worker.owned() })
    }

    #[cold]
    #[inline(never)]
    pub(super) fn mine_elsewhere(&self) -> Option<&Worker> {
        let run = self.run_tag.load(Ordering::Relaxed); // compared, no more
        let mut mine = CURRENT.with(NullAfterFork::get);
        // SAFETY: records are never freed, and the list is this thread's own.
        while let Some(worker) = unsafe { mine.as_ref() } {
            if run != 0 && worker.run_tag.load(Ordering::Relaxed) == run {
                return Some(worker);
            }
            mine = worker.outer_worker.get();
        }
        None
    }

    /// The calling thread's place in this worker's run, if it has one and that is the run of `other`, too.
    pub(super) fn mine_in_run_of(&self, other: &Worker) -> Option<Mine<'_>> {
        self.mine().filter(|mine| mine.run_id() == other.run_id())
    }

    /// The innermost worker that the calling thread is, in any run.
    #[cold]
    #[inline(never)] // so that nothing thread-local is remembered where a task waits
    pub fn current<'a>() -> Option<Mine<'a>> {
        // SAFETY: records are never freed; it is this thread's until the thread leaves it.
        unsafe { CURRENT.with(NullAfterFork::get).as_ref().map(|worker| worker.owned()) }
    }

    /// The same, without the evidence.
    pub fn innermost<'a>() -> Option<&'a Worker> {
        Worker::current().map(Mine::worker)
    }

    /// True if `is` is so of a worker that the calling thread is, in any run.
    #[cold]
    #[inline(never)] // as in `current`
    pub fn any_of_thread(is: impl FnMut(Mine) -> bool) -> bool {
        // SAFETY: records are never freed, and the list is this thread's own.
        let outer = |mine: &Mine<'_>| unsafe {
            mine.worker().outer_worker.get().as_ref().map(|worker| worker.owned())
        };
        std::iter::successors(Worker::current(), outer).any(is)
    }

    /// The worker's index in the run of `other`; None if it is not of that.
    pub fn index_in_run_of(&self, other: &Worker) -> Option<usize> {
        let run = other.run_tag.load(Ordering::Relaxed);
        (self.run_tag.load(Ordering::Acquire) == run).then(|| self.index.get())
    }

    /// The calling thread takes this place.
    pub fn occupy(&self) {
        self.outer_worker.set(CURRENT.with(|current| current.replace(self)));
        self.fiber.set(ptr::null());
        self.child_fiber.set(ptr::null());
        self.owner.store(registers::thread_pointer(), Ordering::Relaxed);
        // `sched_spawn` may put tasks there itself, where that is what a spawn does. Debug builds count
        // and mark what is forked and joined, which sched_inline.h does not.
        let puts = cfg!(not(debug_assertions)) && !self.calls_at_once();
        if puts && !self.built_in.load(Ordering::Relaxed).is_null() {
            self.spawn_owner.store(registers::thread_pointer(), Ordering::Relaxed);
            if !exceptions::has_runtime() {
                self.join_owner.store(registers::thread_pointer(), Ordering::Relaxed);
            }
        }
    }

    /// The calling thread leaves this place.
    pub fn vacate(&self) {
        self.spawn_owner.store(0, Ordering::Relaxed);
        self.join_owner.store(0, Ordering::Relaxed);
        self.owner.store(0, Ordering::Relaxed);
        CURRENT.with(|current| current.set(self.outer_worker.get()));
    }
}

/// The thread has left a worker for the section of the task on this fiber.
pub(super) fn enter_section(fiber: &Fiber) {
    fiber.section.outer_fiber.set(INNERMOST_SECTION.with(|innermost| innermost.replace(fiber)));
}

/// The thread has its worker back, or leaves the fiber.
pub(super) fn leave_section(fiber: &Fiber) {
    INNERMOST_SECTION.with(|innermost| innermost.set(fiber.section.outer_fiber.get()));
}

/// Counts the sections for which a worker was left.
pub(super) fn count_section(more: isize) {
    OPEN_SECTIONS.fetch_add(more.cast_unsigned(), Ordering::Relaxed);
}

/// `here`, for a signal handler: nothing thread-local is touched if no thread is in a section.
pub fn current_fiber_in_handler<'a>() -> Option<&'a Fiber> {
    if OPEN_SECTIONS.load(Ordering::Relaxed) > 0 { current_fiber() } else { None }
}

/// The fiber of the innermost section that the calling thread has left a worker for.
#[cold]
#[inline(never)] // so that nothing thread-local is remembered where a task waits
pub fn innermost_section<'a>() -> Option<&'a Fiber> {
    // SAFETY: it lives until its section has ended.
    unsafe { INNERMOST_SECTION.with(NullAfterFork::get).as_ref() }
}

/// The caller's, if its task is in a section for which a worker was left.
fn open_section<'a>() -> Option<&'a Fiber> {
    innermost_section().filter(|fiber| !fiber.is_covered())
}

/// The same, if that is a section of the run of `worker`.
pub fn section_in_run_of(worker: &Worker) -> Option<&Fiber> {
    open_section().filter(|fiber| fiber.worker().run_id() == worker.run_id())
}

/// True if the caller, or a task beneath it on this thread, is in such a section of the run of `worker`.
pub fn any_section_in_run_of(worker: &Worker) -> bool {
    any_section(|fiber| fiber.worker().run_id() == worker.run_id())
}

/// True if `is` is so of the fiber of a section for which the calling thread has left a worker.
pub fn any_section(is: impl FnMut(&Fiber) -> bool) -> bool {
    // SAFETY: as in `innermost`.
    let outer = |fiber: &&Fiber| unsafe { fiber.section.outer_fiber.get().as_ref() };
    std::iter::successors(innermost_section(), outer).any(is)
}

/// A worker of the run that the caller is a task of, if it is a task; of the innermost such run.
pub fn task_worker<'a>() -> Option<&'a Worker> {
    open_section().map(Fiber::worker).or_else(|| Worker::current().map(Mine::worker))
}

/// The fiber of the caller's task, if its thread occupies that task's worker and no other, and has left none.
pub fn lone_fiber<'a>() -> Option<&'a Fiber> {
    let mine = Worker::current().filter(|worker| worker.outer_worker.get().is_null())?;
    innermost_section().is_none().then(|| mine.fiber())
}

/// The fiber that the caller's task is on, if it is one.
pub fn current_fiber<'a>() -> Option<&'a Fiber> {
    open_section().or_else(|| Worker::current().map(Mine::fiber))
}

/// The process is a child made by fork.
pub fn forget_sections() {
    OPEN_SECTIONS.store(0, Ordering::Relaxed);
}

/// A task has returned to its loop.
#[inline]
pub fn check_section_closed(fiber: &Fiber) {
    if fiber.section.is_open() {
        returned(fiber);
    }
}

#[cold]
fn returned(fiber: &Fiber) -> ! {
    if innermost_section().is_none() {
        fiber.worker().stay(); // no message of ours in a child that it made by fork
    }
    not_ended();
}

/// A task has returned, and its thread occupies no worker: dies, if that is for a section.
#[cold]
pub fn check_no_section_left() {
    if open_section().is_some() {
        not_ended();
    }
}

#[cold]
fn not_ended() -> ! {
    output::die(format_args!("a task returned in a blocking section: a sched_block_end is missing"))
}
