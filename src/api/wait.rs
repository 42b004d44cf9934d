//! Waiting for an object.
//!
//! A task that waits is suspended (`runtime::suspend`): it keeps its stack, and its worker runs
//! other tasks on another stack. If `SCHED_JOIN` is `help`, or there is no memory for another
//! stack, the task is not suspended: the worker runs other tasks on top of it, and sleeps if there
//! are none (`Policy::help`). A thread that is not a worker of the run sleeps.
//!
//! A task that waits for its loop or reduction first runs parts of it on top of itself, if other
//! workers have parts that nobody has begun (`Awaited::parts`). Any other task there could wait and
//! so delay the waiting task, or could want a lock that the waiting task holds. A part may delay
//! the part below it, but not the loop, which ends when all parts have ended. If a part waits for a
//! lock that the caller of the loop holds, the program deadlocks, whichever stack the part runs on.
//! (To suspend the task and resume it would take 2 µs more.)
//!
//! Each waiter registers itself in the object that it waits for; the thread that ends the wait
//! finds it there, and resumes or wakes it. A forked task has room for one waiter, the one that
//! joins it. A group or an object of [`sync`] has any number of waiters, each with a node.
//!
//! The object lies in the program's memory, which the program may free as soon as a waiter sees
//! that the wait is over. So the thread that ends the wait does this by one atomic operation, its
//! last access to that memory, and learns from the old value which waiter to wake. It may wake a
//! worker that no longer waits, since worker records are never freed. To wake a thread it passes
//! the address of the object to the kernel, which does not access the object. If the kernel then
//! wakes no thread, or another one that sleeps on this address by then, no harm is done.

use crate::policy::{Awaited, Parts, UNAWAITED};
use crate::runtime::beside;
use crate::runtime::identity::Mine;
use crate::runtime::record::Fiber;
use crate::runtime::record::Worker;
use crate::runtime::wait_note::WaitsFor;
use crate::runtime::waiter::Waiter;
use crate::runtime::{identity, suspend, waiter, yielding};
use crate::settings::Join;
use crate::sys::atomic::AtomicUsize;
use crate::sys::futex::Futex;
use crate::sys::memory::NoMemory;
use crate::sys::{thread, time};
use crate::task::Task;
use std::time::Duration;

/// How often a task in `Wait::nested` looks at its latch between two short sleeps. Nobody wakes it.
const LOOKS_PER_SLEEP: u32 = 4;

/// The longest sleep of a registered thread: the kernel may refuse the futex call that wakes it.
pub(super) const MAX_SLEEP: Duration = Duration::from_millis(100);

/// An object to wait for, whose state is one word.
pub(super) trait Latch {
    /// If the wait ends while the task leaves its stack, the task waits for its turn with the tasks
    /// from outside, where a relief finds it (`policy::reliefs`). If false, the task is the
    /// worker's own.
    const ENDS_OUTSIDE: bool = false;

    fn word(&self) -> &AtomicUsize;
    fn is_over(&self) -> bool;

    /// Registers the waiter in the state, in place of the caller's earlier registration. Returns
    /// the new state, which changes before the waiter is woken. None means that the wait is over.
    fn register(&self, waiter: Waiter) -> Option<usize>;

    /// The worker that runs the awaited task, if it is known.
    fn thief(&self) -> Option<&Worker> {
        None
    }
}

/// A wait for a latch.
pub(super) struct Wait<'a, L> {
    latch: &'a L,
    /// What observers are told about the wait.
    what: WaitsFor,
    /// See [`Awaited::parts`].
    parts: Parts<'a>,
}

/// A wait of the task on `fiber`, as its worker sees it while it helps or waits awake.
struct Help<'a, L> {
    wait: &'a Wait<'a, L>,
    fiber: &'a Fiber,
}

impl<L: Latch> Awaited for Help<'_, L> {
    fn over(&self) -> bool {
        self.wait.latch.is_over()
    }

    fn enlist(&self) -> bool {
        self.wait.latch.register(Waiter::Worker(self.fiber.worker())).is_some()
    }

    fn leave(&self, task: Task) -> bool {
        self.wait.latch.register(Waiter::Task(task.closure)).is_some()
    }

    fn thief(&self) -> Option<usize> {
        let mine = self.fiber.worker();
        if mine.calls_at_once() {
            return None; // unknown: a task that fork has called at once does not note its worker
        }
        self.wait.latch.thief()?.index_in_run_of(mine)
    }

    fn parts(&self) -> Parts<'_> {
        self.wait.parts.filter(|_| self.fiber.has_room_on_top())
    }
}

/// Waits without running other tasks: the calling thread sleeps.
pub(super) fn sleep_until_over(latch: &impl Latch) {
    let mut sleeping = None;
    let _uncancelled = thread::Uncancelled::begin(); // the object has this thread registered
    while !latch.is_over() {
        if let Some(value) = latch.register(Waiter::Thread) {
            sleeping.get_or_insert_with(waiter::SleepingThread::count);
            <&Futex>::from(latch.word()).wait(value as u32, MAX_SLEEP);
        }
    }
}

impl<'a, L: Latch> Wait<'a, L> {
    pub(super) fn new(latch: &'a L, what: WaitsFor) -> Self {
        Wait { latch, what, parts: None }
    }

    /// Like `new`. While the caller waits, it may run tasks that are `parts` of what it waits for.
    pub(super) fn amid(latch: &'a L, what: WaitsFor, parts: Parts<'a>) -> Self {
        Wait { latch, what, parts }
    }

    /// Waits for tasks of the run of `worker`, which is any worker of that run. If the calling
    /// thread is a worker of that run, its task waits there. Returns false if the wait would never
    /// end: the run has ended, or belongs to a parent process, and the latch is not over.
    pub(super) fn in_run_of(&self, worker: &Worker) -> bool {
        match worker.mine() {
            Some(mine) => self.for_tasks(mine.fiber()),
            // When the run has ended, all its tasks have ended.
            None if worker.has_ended() => return self.latch.is_over(),
            None => self.outside_run(),
        }
        true
    }

    /// Waits in a task on this fiber until other tasks have ended. If no task is queued, they will
    /// most likely end soon, and the worker waits awake for a while before it suspends its task: a
    /// suspended task is resumed a microsecond after the end, and often on another worker. (The
    /// worker does not wait awake if the caller is a task of an inner run: that run may have tasks
    /// that only this thread can run, and on which the end may depend. See `nested`.)
    pub(super) fn for_tasks(&self, fiber: &Fiber) {
        let join = fiber.join();
        self.noted(fiber, || {
            if join == Join::Suspend && !fiber.is_covered() {
                // SAFETY: the caller is on the fiber.
                unsafe { fiber.wait_awake(&Help { wait: self, fiber }) };
            }
            self.asleep(fiber, join);
        });
    }

    /// Waits in a task on this fiber. The task is suspended if it can leave its fiber. It keeps the
    /// fiber, whichever worker resumes it.
    pub(super) fn on_fiber(&self, fiber: &Fiber) {
        self.noted(fiber, || self.asleep(fiber, Join::Suspend));
    }

    /// Waits for a caller that is not a task of the latch's run. A task of another run is suspended
    /// there, if its thread is a worker of that run alone. Otherwise the thread sleeps.
    pub(super) fn outside_run(&self) {
        match identity::lone_fiber() {
            Some(fiber) => self.on_fiber(fiber),
            None => sleep_until_over(self.latch),
        }
    }

    /// Calls `wait`. During the call the fiber has a note of what its task waits for.
    fn noted(&self, fiber: &Fiber, wait: impl FnOnce()) {
        fiber.wait.begin(self.what, self.latch.word());
        fiber.while_waiting(wait);
        fiber.wait.end();
    }

    /// Suspends the task on the fiber until the latch is over. If the task cannot leave the fiber,
    /// or `join` is `Help`, other tasks run on top of it.
    #[inline]
    fn asleep(&self, fiber: &Fiber, join: Join) {
        while !self.latch.is_over() {
            let worker = fiber.worker();
            let publish = |task: Task| {
                let is_published = self.latch.register(Waiter::Task(task.closure)).is_some();
                if L::ENDS_OUTSIDE && !is_published {
                    worker.requeue(task);
                    beside::request_look();
                }
                is_published || L::ENDS_OUTSIDE
            };
            // SAFETY: the caller is on the fiber, in a task; once `register` has published the
            // task, it returns true and no longer touches the stack.
            let is_back = join == Join::Suspend && unsafe { suspend_task(fiber, publish) };
            if is_back && self.latch.is_over() {
                break;
            }
            if Worker::current().is_some_and(|mine| fiber.is_right_below(mine)) {
                return self.nested(fiber.worker());
            }
            if fiber.worker().is_visitor() {
                return self.as_guest(fiber);
            }
            // SAFETY: the caller is on the fiber, in a task.
            unsafe { fiber.help(&Help { wait: self, fiber }) };
        }
    }

    /// Waits in a guest's call (`runtime::guest`), or at a relief's place: its thread sleeps.
    #[cold]
    #[inline(never)]
    fn as_guest(&self, fiber: &Fiber) {
        // SAFETY: the caller is on the fiber.
        unsafe { fiber.mine() }.sleep_as_guest(|| sleep_until_over(self.latch));
    }

    /// Waits for a latch of the run of `outer`. The caller is a task of an inner run, which a task
    /// of `outer` has started on the same thread. The latch may depend on tasks of either run. The
    /// caller runs the tasks of the outer run on top of itself until there are none; then it yields
    /// to the tasks of its own run. The tasks of its own run must not run on top of it, since it
    /// may hold an object that they wait for. If another thread resumes the caller after a yield,
    /// it waits there like any task of its run.
    #[cold]
    #[inline(never)]
    fn nested(&self, outer: &Worker) {
        let latch = self.latch;
        let mut looks = 0u32;
        while !latch.is_over() {
            let Some(mine) = Worker::current() else { return sleep_until_over(latch) };
            let below = outer.mine().map(Mine::fiber).filter(|below| below.is_right_below(mine));
            let Some(below) = below else { return self.on_fiber(mine.fiber()) };
            // `help_once` runs a task of the outer run on the caller's fiber. If that task waits
            // with NULL as its `s`, it waits in the inner run, whose other workers could then
            // resume this fiber, and with it a task of the outer run. So the fiber is pinned.
            // SAFETY: `outer` is the calling thread's worker, and the caller is on top of its fiber
            // with no other task in between.
            let help = || !below.worker().is_visitor() && unsafe { yielding::help_once(below) };
            while !latch.is_over() && mine.fiber().pinned_during(help) {}
            yielding::yield_now(&mine);
            looks += 1;
            if looks % LOOKS_PER_SLEEP == 0 {
                time::sleep(UNAWAITED); // nobody wakes this thread
            }
        }
    }
}

/// Suspends the task on the fiber (`suspend::suspend`). Returns false if there is no other stack.
///
/// # Safety
/// The contract of `suspend::suspend`.
#[inline]
pub(super) unsafe fn suspend_task(fiber: &Fiber, publish: impl FnMut(Task) -> bool) -> bool {
    // SAFETY: the caller is on the fiber.
    unsafe { fiber.mine() }.hold(); // the wait may be ended from outside of the run
    // SAFETY: the caller promises the contract of `suspend`.
    let left = unsafe { suspend::suspend(fiber, publish) };
    // SAFETY: the task runs again, on the worker that its fiber has now.
    unsafe {
        match left {
            Ok(()) => {
                fiber.mine().let_go();
                true
            }
            Err(NoMemory) => let_go_at_once(fiber),
        }
    }
}

/// The rest of a `suspend_task` that could not suspend its caller.
///
/// # Safety
/// The caller is on the fiber.
#[cold]
#[inline(never)]
unsafe fn let_go_at_once(fiber: &Fiber) -> bool {
    // SAFETY: the caller is on the fiber.
    unsafe { fiber.mine() }.let_go();
    false
}
