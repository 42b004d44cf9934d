//! Identifies the caller: the workers of its thread, and the blocking section of its task.

use crate::fiber::exceptions;
use crate::policy::Place;
use crate::policy::operations::Occupant;
use crate::runtime::record::{Fiber, HostStack, Worker};
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::process::{self, NullAfterFork};
use crate::sys::{detector, output, registers};
use crate::task::Scheduler;
use std::ptr;

thread_local! {
    /// The innermost worker that this thread occupies; `Worker::outer_worker` links the others.
    static CURRENT: NullAfterFork<Worker> = const { NullAfterFork::null() };
    /// The fiber of the innermost section for which this thread has left a worker;
    /// `Section::outer_fiber` links the others.
    static INNERMOST_SECTION: NullAfterFork<Fiber> = const { NullAfterFork::null() };
}

/// Stores the thread's innermost worker also in its slot (`process::slot_of_thread`).
fn keep(worker: *const Worker) {
    if let Some(slot) = process::slot_of_thread() {
        // Pairs with the Acquire load in `kept`: another thread with this slot reads the owner.
        slot.store(worker.cast_mut().cast(), Ordering::Release);
    }
}

/// The innermost worker of the calling thread, unless another thread has overwritten the slot.
///
/// A thread stores its innermost worker whenever it occupies or leaves a worker, so it stores only
/// workers that it occupies. Another thread with the same slot may have stored this worker while
/// that thread occupied it. But that thread has replaced the entry when it left the worker, before
/// the caller could occupy it: the hand-over, or the registry's lock, orders the two. So if the
/// caller occupies the worker in the slot, the caller has stored it, and it is the innermost.
#[inline(always)]
fn kept<'a>() -> Option<&'a Worker> {
    let slot = process::slot_of_thread()?;
    // SAFETY: null or a record, and records are never freed.
    let worker = unsafe { slot.load(Ordering::Acquire).cast::<Worker>().as_ref() }?;
    worker.is_mine().then_some(worker)
}

/// The number of open sections in the process for which a thread has left its worker.
#[unsafe(link_section = "sched_words")]
static OPEN_SECTIONS: AtomicUsize = AtomicUsize::new(0);

/// A worker that the calling thread occupies. Operations that only the owner may call take this
/// value or are its methods.
///
/// The value comes from a comparison of the worker's owner with the calling thread, or from a
/// caller that knows that the thread occupies the worker. A suspended task may continue on another
/// thread, so the value must not be used after a suspension: a function that suspends its task
/// takes the fiber, and afterwards asks the fiber for its worker. (After rayon's `IdleState`:
/// holding the value is the evidence.)
pub type Mine<'a> = crate::policy::Mine<'a, Worker>;

impl<'a> Mine<'a> {
    /// The fiber that the thread is on.
    #[inline(always)]
    pub fn fiber(self) -> &'a Fiber {
        // SAFETY: the owner's thread is on the fiber, or about to leave it, so the stack is in use.
        unsafe { &*self.worker().fiber.get() }
    }

    #[inline(always)]
    pub fn operations(self) -> Occupant<'a, Worker, Fiber> {
        // SAFETY: the run has not ended, and the row is the run's.
        unsafe { Occupant::new(self, &self.worker().row().operations) }
    }

    pub fn host_stack(self) -> &'a HostStack {
        // SAFETY: the record lies in the frame of `host` until the thread leaves the worker.
        unsafe { &*self.worker().host_stack.get() }
    }
}

impl Fiber {
    /// The fiber's worker, which the calling thread occupies.
    ///
    /// # Safety
    /// The calling thread occupies the fiber's worker; for instance, it is on the fiber.
    #[inline(always)]
    pub unsafe fn mine(&self) -> Mine<'_> {
        // SAFETY: the calling thread occupies the fiber's worker.
        unsafe { self.worker().owned() }
    }
}

impl Worker {
    /// Evidence that the calling thread occupies this worker.
    ///
    /// # Safety
    /// The calling thread occupies this worker.
    #[inline(always)]
    pub unsafe fn owned(&self) -> Mine<'_> {
        // SAFETY: the calling thread occupies this worker.
        unsafe { Mine::new(self) }
    }

    /// The worker of a `struct scheduler *`.
    ///
    /// # Safety
    /// This library has passed `s` to a task.
    #[inline]
    pub unsafe fn of<'a>(s: *mut Scheduler) -> &'a Worker {
        // SAFETY: a task's `s` is the address of a record, and records are never freed.
        unsafe { &*s.cast::<Worker>() }
    }

    /// The calling thread's worker in the run of `s`. Must be called when a task that was given `s`
    /// has returned: the task may have waited, and continued on another worker.
    ///
    /// # Safety
    /// The contract of `of`; the calling thread is a worker of the run.
    #[inline]
    pub unsafe fn current_in_run_of<'a>(s: *mut Scheduler) -> &'a Worker {
        // SAFETY: the caller makes the promise that `of` requires.
        let given = unsafe { Worker::of(s) };
        given.mine().map(Mine::worker).unwrap_or_else(|| {
            check_no_section_left();
            given
        })
    }

    /// True if the calling thread occupies this worker.
    #[inline(always)]
    pub fn is_mine(&self) -> bool {
        // Relaxed: see `record`
        self.owner.load(Ordering::Relaxed) == registers::thread_pointer()
    }

    /// The worker that the calling thread occupies in this worker's run, if it occupies one.
    #[inline]
    pub fn mine(&self) -> Option<Mine<'_>> {
        let mine = if self.is_mine() { Some(self) } else { self.mine_elsewhere() };
        // SAFETY: the worker's owner was compared, or the worker is in the thread's list.
        mine.map(|worker| unsafe { worker.owned() })
    }

    /// The fiber of the caller's task, if the calling thread has left its worker for a blocking
    /// section of a task in this worker's run.
    #[cold]
    pub(super) fn section_of_caller<'a>(&self) -> Option<&'a Fiber> {
        current_fiber().filter(|fiber| fiber.worker().run_id() == self.run_id())
    }

    /// Like `mine`, for another worker than the caller's, without access to thread-local variables.
    /// None if another thread has overwritten the slot, or its worker is in another run.
    #[inline(always)]
    pub(super) fn mine_in_slot(&self) -> Option<Mine<'_>> {
        // SAFETY: the caller occupies the worker in its slot.
        kept().filter(|kept| self.is_beside(kept)).map(|worker| unsafe { worker.owned() })
    }

    /// True if both workers belong to the same run, which has not ended.
    #[inline(always)]
    fn is_beside(&self, other: &Worker) -> bool {
        let run = self.run_tag.load(Ordering::Relaxed); // Relaxed, here and below: only compared
        run != 0 && other.run_tag.load(Ordering::Relaxed) == run
    }

    /// `mine`, if this worker is not the caller's own.
    #[inline(never)]
    pub(super) fn mine_elsewhere(&self) -> Option<&Worker> {
        self.mine_in_slot().map(Mine::worker).or_else(|| self.mine_in_list())
    }

    /// `mine`, found in the list of the workers that the calling thread occupies.
    #[cold]
    #[inline(never)]
    fn mine_in_list(&self) -> Option<&Worker> {
        let mut mine = CURRENT.with(NullAfterFork::get);
        // SAFETY: records are never freed, and the list belongs to this thread.
        while let Some(worker) = unsafe { mine.as_ref() } {
            if self.is_beside(worker) {
                return Some(worker);
            }
            mine = worker.outer_worker.get();
        }
        None
    }

    /// The worker of the calling thread in the run to which both `self` and `other` belong.
    pub fn mine_in_run_of(&self, other: &Worker) -> Option<Mine<'_>> {
        self.mine().filter(|mine| mine.run_id() == other.run_id())
    }

    /// The innermost worker that the calling thread occupies, in any run.
    #[inline(never)]
    pub fn current<'a>() -> Option<Mine<'a>> {
        // SAFETY: the caller occupies the worker in its slot.
        kept().map(|worker| unsafe { worker.owned() }).or_else(Worker::current_in_list)
    }

    #[cold]
    #[inline(never)] // so that no thread-local address is kept while a task waits
    fn current_in_list<'a>() -> Option<Mine<'a>> {
        // SAFETY: records are never freed; the thread occupies this one until `vacate`.
        unsafe { CURRENT.with(NullAfterFork::get).as_ref().map(|worker| worker.owned()) }
    }

    pub fn current_record<'a>() -> Option<&'a Worker> {
        Worker::current().map(Mine::worker)
    }

    /// True if `test` returns true for a worker that the calling thread occupies, in any run.
    #[cold]
    #[inline(never)] // as in `current`
    pub fn any_of_thread(test: impl FnMut(Mine) -> bool) -> bool {
        // SAFETY: records are never freed, and the list belongs to this thread.
        let outer = |mine: &Mine<'_>| unsafe {
            mine.worker().outer_worker.get().as_ref().map(|worker| worker.owned())
        };
        std::iter::successors(Worker::current(), outer).any(test)
    }

    /// This worker's index, if it belongs to the run of `other`.
    pub fn index_in_run_of(&self, other: &Worker) -> Option<usize> {
        // Relaxed: the tag is only compared
        let run = other.run_tag.load(Ordering::Relaxed);
        // Acquire: pairs with the Release in `assign`, which has set the index
        (self.run_tag.load(Ordering::Acquire) == run).then(|| self.index.get())
    }

    /// Makes the calling thread the occupant of this worker.
    pub fn occupy(&self) {
        detector::acquire(self);
        self.outer_worker.set(CURRENT.with(|current| current.replace(self)));
        keep(self);
        self.fiber.set(ptr::null());
        self.child_fiber.set(ptr::null());
        // Relaxed, here and below: see `record`
        self.owner.store(registers::thread_pointer(), Ordering::Relaxed);
        // In most kinds a spawn only puts the task into the built-in deque; `sched_spawn` then does
        // so itself, without the row's function. Debug builds always call it: it counts forks and
        // joins, which sched_inline.h does not. An observed row's functions see each task.
        let puts =
            cfg!(not(debug_assertions)) && !self.calls_at_once() && self.row().plain.is_none();
        if puts && !self.built_in.load(Ordering::Relaxed).is_null() {
            self.spawn_owner.store(registers::thread_pointer(), Ordering::Relaxed);
            if !exceptions::has_runtime() {
                self.join_owner.store(registers::thread_pointer(), Ordering::Relaxed);
            }
        }
    }

    /// Ends the calling thread's occupation of this worker. Relaxed stores: see `record`.
    pub fn vacate(&self) {
        detector::release(self);
        self.spawn_owner.store(0, Ordering::Relaxed);
        self.join_owner.store(0, Ordering::Relaxed);
        self.owner.store(0, Ordering::Relaxed);
        let outer = self.outer_worker.get();
        CURRENT.with(|current| current.set(outer));
        keep(outer);
    }
}

/// Called when the thread has left its worker for the section of the task on this fiber.
pub(super) fn enter_section(fiber: &Fiber) {
    fiber.section.outer_fiber.set(INNERMOST_SECTION.with(|innermost| innermost.replace(fiber)));
}

/// Called when the thread has its worker back, or is about to leave the fiber.
pub(super) fn leave_section(fiber: &Fiber) {
    INNERMOST_SECTION.with(|innermost| innermost.set(fiber.section.outer_fiber.get()));
}

/// Adds `more` to the number of open sections for which a thread has left its worker. Relaxed: a
/// thread only needs to see its own sections.
pub(super) fn count_section(more: isize) {
    OPEN_SECTIONS.fetch_add(more as usize, Ordering::Relaxed);
}

/// Like `current_fiber`, for a signal handler: touches no thread-local variable if no section is
/// open.
pub fn current_fiber_in_handler<'a>() -> Option<&'a Fiber> {
    if OPEN_SECTIONS.load(Ordering::Relaxed) > 0 { current_fiber() } else { None }
}

/// The fiber of the innermost section for which the calling thread has left a worker.
#[cold]
#[inline(never)] // as in `Worker::current`
pub fn innermost_section<'a>() -> Option<&'a Fiber> {
    // SAFETY: the fiber is in use until its section has ended.
    unsafe { INNERMOST_SECTION.with(NullAfterFork::get).as_ref() }
}

/// The fiber of the caller's task, if the thread has left its worker for a section of that task.
fn open_section<'a>() -> Option<&'a Fiber> {
    innermost_section().filter(|fiber| !fiber.is_covered())
}

/// `open_section`, if the section belongs to the run of `worker`.
pub fn section_in_run_of(worker: &Worker) -> Option<&Fiber> {
    open_section().filter(|fiber| fiber.worker().run_id() == worker.run_id())
}

/// True if `test` returns true for the fiber of any section for which the thread left a worker.
pub fn any_section(test: impl FnMut(&Fiber) -> bool) -> bool {
    // SAFETY: as in `innermost_section`.
    let outer = |fiber: &&Fiber| unsafe { fiber.section.outer_fiber.get().as_ref() };
    std::iter::successors(innermost_section(), outer).any(test)
}

/// A worker of the run of the caller's task, if the caller is a task. If several runs lie on this
/// thread, the run is the innermost one.
#[inline(always)]
pub fn task_worker<'a>() -> Option<&'a Worker> {
    // Relaxed: a thread only needs to see its own sections.
    if OPEN_SECTIONS.load(Ordering::Relaxed) > 0 {
        if let Some(fiber) = open_section() {
            return Some(fiber.worker());
        }
    }
    Worker::current().map(Mine::worker)
}

/// The fiber of the caller's task, if the calling thread occupies only that task's worker, and has
/// left no worker for a section.
pub fn lone_fiber<'a>() -> Option<&'a Fiber> {
    let mine = Worker::current().filter(|worker| worker.outer_worker.get().is_null())?;
    innermost_section().is_none().then(|| mine.fiber())
}

/// The fiber of the caller's task, if the caller is a task.
pub fn current_fiber<'a>() -> Option<&'a Fiber> {
    open_section().or_else(|| Worker::current().map(Mine::fiber))
}

/// Must be called in the child of a fork, where no section is open. Relaxed: it has one thread.
pub fn forget_sections() {
    OPEN_SECTIONS.store(0, Ordering::Relaxed);
}

/// Ends the process if the section of a task that has returned to its loop is open.
#[inline]
pub fn check_section_closed(fiber: &Fiber) {
    if fiber.section.is_open() {
        returned(fiber);
    }
}

#[cold]
fn returned(fiber: &Fiber) -> ! {
    if innermost_section().is_none() {
        // In a child that the task made by fork, `stay` ends the process with a message of its own.
        fiber.worker().stay();
    }
    not_ended();
}

/// Ends the process if the thread has left its worker for a section. Must be called when a task has
/// returned and its thread occupies no worker.
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
