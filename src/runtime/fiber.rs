//! A fiber, changed by the thread that is on it: it can be left or not, has others above it, counts its tasks.

use crate::fiber::sanitizers::SanitizerState;
use crate::fiber::stack::Stack;
use crate::policy::{LookFirst, Place, Seat, TICK};
use crate::runtime::identity::{self, Mine};
use crate::runtime::record::{Fiber, LoopStart, Worker};
use crate::sys::{registers, unwind};
use crate::task::Task;
use std::ptr;

impl Seat for Fiber {
    type Place = Worker;

    #[inline(always)]
    fn place(&self) -> &Worker {
        // SAFETY: records are never freed.
        unsafe { &*self.worker.get() }
    }

    fn begins_idle(&self) -> bool {
        self.loop_start.get() == LoopStart::Idle
    }

    fn begins_outside(&self) -> bool {
        self.loop_start.get() == LoopStart::Injector
    }

    #[inline(always)]
    fn tick(&self) -> bool {
        let countdown = self.countdown.get() - 1;
        self.countdown.set(countdown);
        if countdown > 0 {
            return false;
        }
        identity::check_section_closed(self);
        self.flush();
        true
    }

    #[cold]
    fn flush(&self) {
        let counted = self.countdown_start.replace(TICK) - self.countdown.replace(TICK);
        self.place().counters().tasks.add(counted as usize);
        self.release_child_fibers();
    }

    #[inline]
    fn run(&self, task: Task) {
        self.place().call(task);
        identity::check_section_closed(self);
        let place = self.place(); // another, perhaps
        place.counters().tasks.add(1);
        place.stay();
    }
}

impl Fiber {
    /// It cannot be left from now on. Returns whether that is not new. Its worker is the calling thread's, or it has
    /// nothing above.
    pub(super) fn pin(&self) -> bool {
        self.release_child_fibers();
        let before = self.pinned.replace(true);
        self.update_leave_limit();
        before
    }

    /// Another worker has left it.
    #[cold]
    #[inline(never)]
    pub(super) fn move_to(&self, worker: &Worker) {
        self.worker.set(worker);
        self.force_tick(); // what it has counted is the new worker's: the sum is right
    }

    /// It is the one that the worker, which is the caller's, is on from now on.
    #[inline(always)]
    pub fn make_current(&self, worker: &Worker) {
        worker.fiber.set(self);
        worker.child_fiber.set(self.child_fiber.get());
    }

    /// Gives what is above, and above that, back to the worker's stack cache. Nobody is on it.
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
        // SAFETY: each is the caller's, and was the one below's alone.
        while let Some(fiber) = unsafe { next.as_ref() } {
            next = fiber.child_fiber.replace(ptr::null());
            fiber.update_leave_limit();
            if let Some(stack) = fiber.stack {
                // SAFETY: nobody is on it, and the worker is the calling thread's.
                unsafe { worker.owned().put_stack(stack) };
            }
        }
        self.update_leave_limit();
    }

    /// True if the task here has started another run, whose tasks are running now. The caller is on it, or on top of it.
    pub fn is_covered(&self) -> bool {
        self.stack.is_some() && !self.can_be_left()
    }

    /// (One that is in a section has nothing above: it has released them, and no child comes there.)
    pub fn set_pinned(&self, pinned: bool) {
        self.pinned.set(pinned);
        self.update_leave_limit();
    }

    /// Takes the task that its worker runs next, if the task here is left. When it is time, the worker
    /// looks outside first, whatever `first` says.
    pub(super) fn next_in_line(&self, first: LookFirst) -> Option<Task> {
        let worker = self.worker();
        let first = if worker.tick() { LookFirst::Outside } else { first };
        // SAFETY: the calling thread's, of the run that the row belongs to.
        unsafe { (worker.row().operations.next_in_line)(worker, first) }
    }

    /// True once in so many calls.
    pub(super) fn is_nth_yield(&self, n: u32) -> bool {
        self.yields.set((self.yields.get() + 1) % n);
        self.yields.get() == 0
    }

    /// The next tick is at once. What was counted until now is the worker's, which is the caller's.
    pub fn force_tick(&self) {
        self.flush();
        self.countdown.set(1);
        self.countdown_start.set(1);
    }

    /// Sets `reach`: `fixed` or `above` has changed.
    #[inline(always)]
    pub(super) fn update_leave_limit(&self) {
        let is_bare = !self.pinned.get() && self.child_fiber.get().is_null();
        self.leave_limit.set(if is_bare { self.usable_bytes } else { 0 });
    }

    /// True if its task can be set aside. The caller is on it, or on top of it.
    #[inline]
    pub fn can_be_left(&self) -> bool {
        self.can_be_left_as_is() || self.can_be_left_slowly()
    }

    /// The same; if so, it has nothing above afterwards.
    #[inline(always)]
    pub(super) fn prepare_to_leave(&self) -> bool {
        self.can_be_left_as_is() || self.prepare_to_leave_slowly()
    }

    /// True if it can be left and has nothing above, where the caller is on its stack.
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

    /// The caller may be on another stack than the fiber's. One of the program's own goes with the task that is on it.
    /// One of another copy of this library does not: its thread occupies that copy's worker.
    #[cold]
    #[inline(never)]
    pub(super) fn can_be_left_slowly(&self) -> bool {
        let is_here = registers::depth_below(ptr::from_ref(self).addr()) < self.usable_bytes;
        !self.pinned.get() && (is_here || !unwind::inside_another_copy())
    }

    /// True if its loop can be left for good, where that is at hand: the thread's own stack goes on at `base`, after the
    /// run, and keeps nothing for a loop that has no task in hand.
    pub(super) fn loop_can_be_left(&self) -> bool {
        self.can_be_left() || self.stack.is_none() && self.help_depth.get() == 0
    }

    /// As the sanitizers know it. The caller is on it, or about to be.
    pub(super) fn sanitizer_state(&self) -> &SanitizerState {
        // SAFETY: a fiber without a stack is on its thread's own, so its worker is the caller's.
        let host = || &unsafe { self.mine() }.host_stack().sanitizers;
        self.stack.as_ref().map_or_else(host, Stack::sanitizer_state)
    }

    /// True if a task here has started the run of `mine`, the calling thread's innermost worker, and no other task of the run
    /// here lies on top of that task.
    pub fn is_right_below(&self, mine: Mine) -> bool {
        ptr::eq(mine.outer_worker.get(), self.worker.get())
            && mine.host_stack().outer_help_depth.get() == self.help_depth.get()
    }
}
