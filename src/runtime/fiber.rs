//! Operations on a fiber by the thread that is on it: it counts the tasks, decides whether the
//! fiber can be left, and returns the stacks of its child fibers.

use crate::fiber::limit;
use crate::fiber::sanitizers::SanitizerState;
use crate::fiber::stack::Stack;
use crate::policy::{Activity, LookFirst, LoopStack, Place, Step, TICK};
use crate::runtime::identity::{self, Mine};
use crate::runtime::record::{Fiber, LoopStart, Worker};
use crate::runtime::suspend::fiber_of;
use crate::sys::{registers, unwind};
use crate::task::Task;
use std::ffi::c_void;
use std::ptr;

impl LoopStack for Fiber {
    type Place = Worker;

    #[inline(always)]
    fn place(&self) -> &Worker {
        // SAFETY: records are never freed.
        unsafe { &*self.worker.get() }
    }

    fn activity(&self) -> Activity {
        match self.loop_start.get() {
            LoopStart::Idle => Activity::Idle,
            _ => Activity::Active,
        }
    }

    fn begins_outside(&self) -> bool {
        self.loop_start.get() == LoopStart::Injector
    }

    fn ends_outside(&self) {
        self.loop_start.set(LoopStart::OwnQueue);
    }

    fn give_way(&self) {
        self.place().give_way();
    }

    fn run_from_outside(&self, task: Task) {
        // SAFETY: the task was taken out of a queue, so only the caller has it.
        let runs_on = unsafe { fiber_of(task) }.unwrap_or(self);
        runs_on.loop_start.set(LoopStart::Injector);
        self.run(task);
    }

    #[inline(always)]
    fn tick(&self) -> bool {
        let countdown = self.countdown.get() - 1;
        self.countdown.set(countdown);
        if countdown > 0 {
            return false;
        }
        identity::check_section_closed(self);
        self.count_tasks();
        self.release_scarce_child_fibers();
        true
    }

    fn out_of_tasks(&self) {
        self.flush();
        self.nesting.set(0);
        self.place().tell(Step::OutOfTasks);
    }

    #[inline]
    fn run(&self, task: Task) {
        self.place().call(task);
        identity::check_section_closed(self);
        let place = self.place(); // the task may have moved to it
        place.counters().tasks.add(1);
        place.stay();
    }

    fn run_on_top(&self, task: Task) {
        self.work_on_top(|| self.run(task));
    }
}

impl Fiber {
    /// Adds the tasks that were counted here to the worker's counter.
    #[cold]
    fn count_tasks(&self) {
        let counted = self.countdown_start.replace(TICK) - self.countdown.replace(TICK);
        self.place().counters().tasks.add(counted as usize);
    }

    /// Counts the tasks as `count_tasks` does, and returns the stacks of child fibers.
    pub(super) fn flush(&self) {
        self.count_tasks();
        self.release_child_fibers();
    }

    /// Pins the fiber: it cannot be left from now on. Returns true if it was pinned already. The
    /// fiber's worker is the calling thread's, or the fiber has no child fiber.
    pub(super) fn pin(&self) -> bool {
        self.release_child_fibers();
        let before = self.pinned.replace(true);
        self.update_leave_limit();
        before
    }

    /// Moves the fiber to another worker, which continues it.
    #[cold]
    #[inline(never)]
    pub(super) fn move_to(&self, worker: &Worker) {
        self.worker.set(worker);
        self.force_tick(); // the new worker counts the fiber's last tasks; the total is right
    }

    /// Makes this fiber the current one of the worker, which the calling thread occupies.
    #[inline(always)]
    pub fn make_current(&self, worker: &Worker) {
        worker.fiber.set(self);
        worker.child_fiber.set(self.child_fiber.get());
    }

    pub(super) fn release_scarce_child_fibers(&self) {
        if limit::is_scarce() {
            self.release_child_fibers();
        }
    }

    /// Returns the stacks of the child fiber, of the child fiber's own child fiber, and so on, to
    /// the worker's stack cache. No task is on them.
    pub fn release_child_fibers(&self) {
        if !self.child_fiber.get().is_null() {
            self.release_child_fibers_slowly();
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn release_child_fibers_slowly(&self) {
        let mut next = self.child_fiber.replace(ptr::null());
        let worker = self.worker();
        if ptr::eq(worker.fiber.get(), self) {
            worker.child_fiber.set(ptr::null());
        }
        // SAFETY: only a parent refers to a child fiber without a task, and the caller has it.
        while let Some(fiber) = unsafe { next.as_ref() } {
            next = fiber.child_fiber.replace(ptr::null());
            fiber.update_leave_limit();
            if let Some(stack) = fiber.stack {
                // SAFETY: no task is on the stack, and the calling thread occupies the worker.
                unsafe { worker.owned().put_stack(stack) };
            }
        }
        self.update_leave_limit();
    }

    /// True if the task here has started another run, whose tasks are running now. The caller is on
    /// the fiber, or on top of it.
    pub fn is_covered(&self) -> bool {
        if self.stack.is_some() {
            return !self.can_be_left();
        }
        let worker = self.worker();
        worker.is_guest() && Worker::current_record().is_some_and(|mine| !ptr::eq(mine, worker))
    }

    /// True if the task here is in a blocking section. The caller occupies the fiber's worker, as a
    /// thread in a section of kind `serial` still does.
    pub fn is_in_section(&self) -> bool {
        self.section.is_open()
    }

    /// Sets whether the fiber is pinned. A fiber whose task is in a blocking section has no child
    /// fibers: `blocking::begin` has released them, and a task in a section gets none.
    pub fn set_pinned(&self, pinned: bool) {
        self.pinned.set(pinned);
        self.update_leave_limit();
    }

    pub fn pinned_during<T>(&self, work: impl FnOnce() -> T) -> T {
        let was_pinned = self.pin();
        let result = work();
        self.set_pinned(was_pinned);
        result
    }

    /// Takes the task that the worker runs next if the task here is suspended. The worker first
    /// looks where `first` says, or at the injector if a look there is due.
    pub(super) fn next_in_line(&self, first: LookFirst) -> Option<Task> {
        // SAFETY: the calling thread occupies the worker.
        let mine = unsafe { self.mine() };
        if mine.tick() {
            return next_from_outside(mine);
        }
        mine.operations().next_in_line(first)
    }

    /// Counts a yield. True once in `n` calls.
    pub(super) fn is_nth_yield(&self, n: u32) -> bool {
        self.yields.set((self.yields.get() + 1) % n);
        self.yields.get() == 0
    }

    /// Makes the next `tick` return true. Adds the tasks counted up to now to the counter of the
    /// worker, which the calling thread occupies.
    pub fn force_tick(&self) {
        self.flush();
        self.countdown.set(1);
        self.countdown_start.set(1);
    }

    /// Sets `leave_limit` after a change of `pinned` or `child_fiber`.
    #[inline(always)]
    pub(super) fn update_leave_limit(&self) {
        let is_bare = !self.pinned.get() && self.child_fiber.get().is_null();
        self.leave_limit.set(if is_bare { self.usable_bytes } else { 0 });
    }

    /// True if the task here can be suspended. The caller is on the fiber, or on top of it.
    #[inline]
    pub fn can_be_left(&self) -> bool {
        self.can_be_left_as_is() || self.can_be_left_slowly()
    }

    /// True if the task here can be suspended. The fiber then has no child fiber.
    #[inline(always)]
    pub(super) fn prepare_to_leave(&self) -> bool {
        self.can_be_left_as_is() || self.prepare_to_leave_slowly()
    }

    /// True if the caller is on the fiber's stack, and the fiber is not pinned and has no child
    /// fiber. If false, the fiber may still be one that can be left.
    #[inline(always)]
    pub(super) fn can_be_left_as_is(&self) -> bool {
        registers::depth_below(ptr::from_ref(self).addr()) < self.leave_limit.get()
    }

    #[cold]
    #[inline(never)]
    pub(super) fn prepare_to_leave_slowly(&self) -> bool {
        self.release_child_fibers();
        self.can_be_left_slowly()
    }

    /// Like `can_be_left`, for a caller that may be on another stack than the fiber's. A stack of
    /// the program's own is suspended together with its task. A stack of another copy of this
    /// library is not, since the calling thread occupies a worker of that copy.
    #[cold]
    #[inline(never)]
    pub(super) fn can_be_left_slowly(&self) -> bool {
        let is_here = registers::depth_below(ptr::from_ref(self).addr()) < self.usable_bytes;
        !self.pinned.get() && (is_here || !unwind::inside_another_copy())
    }

    /// True if the loop here can be left for good, so that the worker can switch to the
    /// continuation that the caller is called to resume. This holds for a fiber that can be left,
    /// and for a thread's own stack on which no task but the caller lies: that stack continues at
    /// `HostStack::base` after the run, and a loop that runs no task needs nothing on it.
    pub(super) fn loop_can_be_left(&self) -> bool {
        self.can_be_left() || self.stack.is_none() && self.help_depth.get() == 0
    }

    /// The sanitizers' state of the fiber's stack. The caller is on the fiber or about to be.
    pub(super) fn sanitizer_state(&self) -> &SanitizerState {
        // SAFETY: without a `stack` this is the calling thread's own, so it occupies the worker.
        let host = || &unsafe { self.mine() }.host_stack().sanitizers;
        self.stack.as_ref().map_or_else(host, Stack::sanitizer_state)
    }

    /// True if a task here has started the run of `mine`, the innermost worker of the calling
    /// thread, and no other task of this fiber's run lies on top of that task.
    pub fn is_right_below(&self, mine: Mine) -> bool {
        ptr::eq(mine.outer_worker.get(), self.worker.get())
            && mine.host_stack().outer_help_depth.get() == self.help_depth.get()
    }

    /// Adds `more` to the number of tasks that were forked here and not joined. Returns the sum.
    pub fn count_forks(&self, more: isize) -> isize {
        self.unjoined_forks.set(self.unjoined_forks.get() + more);
        self.unjoined_forks.get()
    }

    /// True if `address` lies in the frame of a task that has returned. The same frame called that
    /// task and now calls the caller: the frame of the loop, or the frame of `work_on_top`. Must be
    /// called before the caller calls its task.
    ///
    /// The address is compared with `calling_frame` and not with the stack pointer, since the
    /// caller's own frame may cover the address.
    #[inline(always)]
    pub fn is_in_returned_frame(&self, address: *const c_void) -> bool {
        let frame = self.calling_frame.get();
        address.addr() < frame && self.is_in_returned_frame_slowly(frame, address.addr())
    }

    /// `is_in_returned_frame`, for an address below `calling_frame`. The low end of the stack is
    /// known if the caller and `calling_frame` are both on the fiber's own stack. Otherwise they
    /// are on a thread's own stack, on a stack of the program, or on the stack of an inner run in
    /// which the task waits. On these stacks only the page below the caller counts, since memory
    /// further down may belong to another stack.
    #[cold]
    #[inline(never)]
    fn is_in_returned_frame_slowly(&self, frame: usize, address: usize) -> bool {
        const PAGE: usize = 4096;
        let here = registers::stack_pointer();
        let own = self.stack.filter(|stack| {
            let bounds = stack.low()..=stack.top().addr();
            bounds.contains(&here) && bounds.contains(&frame)
        });
        match own {
            Some(stack) => address >= stack.low(),
            None => frame.wrapping_sub(here) < PAGE && address >= here - PAGE,
        }
    }
}

/// `Fiber::next_in_line`, when it is time to look at the injector.
#[cold]
#[inline(never)]
fn next_from_outside(mine: Mine) -> Option<Task> {
    mine.operations().next_in_line(LookFirst::Outside)
}
