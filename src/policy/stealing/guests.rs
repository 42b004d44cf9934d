//! Guests of a run of kind `steal`: see `policy::guests`, which has the protocol.

use crate::idle::quiescence::Sleepers;
use crate::policy::Mine;
use crate::policy::guests::{Purpose, Served, Taken};
use crate::policy::stealing::state::{Stealing, Token};
use crate::policy::{Activity, Place, Step};
use crate::queue::{Deque, Owner, Portion, Published, Steal};
use crate::sys::atomic::{Ordering, fence, spin_loop};
use crate::task::{Scheduler, Task, TaskFn};
use std::ffi::c_void;
use std::ptr;

/// The function of a token. A worker calls it if it has moved the token with other tasks from the
/// injector to its own deque. Puts the token back into the injector.
///
/// # Safety
/// `token` is a [`Token`] of the run of `s`, and was taken out of a queue.
unsafe extern "C" fn go_back<D: Deque>(token: *mut c_void, _s: *mut Scheduler) {
    // SAFETY: `token` is a `Token` of the run, which goes on, since the caller runs a task of it.
    unsafe {
        let token = &*token.cast::<Token<D>>();
        let policy = &*token.policy.load(Ordering::Relaxed);
        policy.put_token(token.index);
        fence(Ordering::SeqCst); // as in `added_outside`; the caller is awake
        policy.alarm_all();
    }
}

impl<D: Deque> Stealing<D> {
    /// Completes the tokens, now that the policy has its address.
    pub(super) fn set_tokens(&self) {
        let this = ptr::from_ref(self).cast_mut();
        self.tokens.iter().for_each(|token| token.policy.store(this, Ordering::Relaxed));
    }

    fn token(&self, index: usize) -> Task {
        let token = &self.tokens[index - self.guests.workers()];
        Task { f: go_back::<D>, closure: ptr::from_ref(token).cast_mut().cast() }
    }

    /// Puts the token of a place into the injector. Returns the number of tasks from outside there.
    fn put_token(&self, index: usize) -> usize {
        self.injector.put_back(self.token(index)).expect("a slot is reserved for each token")
    }

    fn queue_token(&self, index: usize, place: Mine<'_, impl Place>) {
        let waiting = self.put_token(index);
        self.added_outside(&*place, waiting);
    }

    /// Returns `task`, which was taken out of the injector. If it is the token of a place, returns
    /// a task of that place instead, or None if the place has none.
    #[inline]
    pub(super) fn resolved(&self, task: Task, place: Mine<'_, impl Place>) -> Option<Task> {
        if ptr::fn_addr_eq(task.f, go_back::<D> as TaskFn) {
            return self.serve(task, place);
        }
        Some(task)
    }

    /// Takes the oldest task of the place to which `token` belongs, and queues the token again if
    /// there are more: see `policy::guests`.
    #[cold]
    fn serve(&self, token: Task, place: Mine<'_, impl Place>) -> Option<Task> {
        // SAFETY: its function shows that the task is a token of this run.
        let index = unsafe { (*token.closure.cast::<Token<D>>()).index };
        let deque: &D = &self.deques[index];
        let mut task = None;
        loop {
            task = task.or_else(|| Self::stolen_from(deque));
            if task.is_some() && deque.has_public() {
                self.queue_token(index, place); // the usual case: the state does not change
                break;
            }
            match self.guests.serve(index) {
                Served::Nobody => break,
                Served::Owner => {
                    // SAFETY: the caller owns the place.
                    let mut own = unsafe { Owner::new(deque) };
                    task = task.or_else(|| own.pop());
                    if deque.looks_empty() {
                        if own.keeps_memory() {
                            self.guests.set_keeps_memory(index, true);
                        }
                        self.quiescence.enter(&self.injector); // ends no run: the caller is active
                        self.guests.free_with_token(index);
                    } else {
                        // SAFETY: as above.
                        unsafe { self.publish_all(index) };
                        self.guests.leave(index); // with its token
                        self.queue_token(index, place);
                    }
                    break;
                }
                Served::Stranger(guest) => {
                    task = task.or_else(|| Self::stolen_from(deque));
                    if !deque.has_public()
                        && self.guests.drop_token(index, guest)
                        && !(deque.has_public() && self.guests.take_token_back(index))
                    {
                        break;
                    }
                }
            }
        }
        task.inspect(|_| place.step(Step::Steal(index)));
        task
    }

    fn stolen_from(deque: &D) -> Option<Task> {
        loop {
            match deque.steal() {
                Steal::Taken(task) => return Some(task),
                Steal::Empty => return None,
                Steal::Retry => spin_loop(),
            }
        }
    }

    /// See `Policy::come`. The place stops counting as idle under the lock that decides the end of
    /// the run, like a task from outside, which is accepted under the same lock.
    pub(super) fn admit_guest(&self, thread: usize, purpose: Purpose) -> Option<usize> {
        let index = match self.guests.take(thread, purpose)? {
            Taken::Left(index) => index,
            Taken::Free(index) => {
                if !self.injector.while_open(|| self.quiescence.leave()) {
                    self.guests.free(index);
                    return None;
                }
                index
            }
        };
        if purpose == Purpose::Work {
            self.sleepers.guest_comes();
        }
        Some(index)
    }

    /// See `Policy::go`.
    pub(super) fn guest_goes(&self, place: Mine<'_, impl Place>, purpose: Purpose) {
        let index = place.index();
        let deque: &D = &self.deques[index];
        if purpose == Purpose::Work {
            self.sleepers.guest_goes();
        } else if purpose == Purpose::AddTasks
            && self.guests.has_token(index)
            && !deque.looks_empty()
        {
            // The worker that serves the place will publish its tasks. (The token is queued as long
            // as the place has tasks, so a flood of spawns takes no lock here.)
            return self.leave_tasks(index, place);
        }
        place.counters().queue_peak.peak(deque.peak());
        let keeps_memory = self.own(place).keeps_memory() || place.keeps_memory();
        self.guests.set_keeps_memory(index, keeps_memory);
        if !deque.looks_empty() {
            // SAFETY: the caller owns the place.
            unsafe { self.publish_all(index) };
            return self.leave_tasks(index, place);
        }
        let ended = self.quiescence.enter(&self.injector);
        self.guests.free(index);
        if ended && self.parks() {
            self.sleepers.wake_all();
        }
    }

    /// Leaves the place with tasks. If its token exists already, no worker need be woken: queueing
    /// the token has woken one, and a worker that holds the token will see the tasks.
    fn leave_tasks(&self, index: usize, place: Mine<'_, impl Place>) {
        if self.guests.leave(index) {
            self.queue_token(index, place);
        }
    }

    /// See `Policy::sleep_as_guest`. A guest without tasks counts as idle, and its call as a
    /// waiting task, so that a deadlock is detected. A guest with tasks stays active.
    pub(super) fn guest_sleeps(&self, place: Mine<'_, impl Place>, sleep: &mut dyn FnMut()) {
        if place.index() >= self.reliefs {
            return sleep(); // it uses no worker's processor, and remains active
        }
        self.sleepers.guest_goes();
        let index = place.index();
        let waits = self.deques[index].looks_empty();
        if waits {
            self.quiescence.waiting(index).hold();
            self.enter(place);
        } else {
            // SAFETY: the caller owns the place.
            unsafe { self.publish_all(index) };
            if self.guests.begin_sleep(index) {
                self.queue_token(index, place);
            }
        }
        if self.work_visible() {
            self.sleepers.call_surplus(); // a processor is free
            self.published(place);
        }
        sleep();
        if waits {
            // Under the lock, so that no thread sees the count of idle places before this and the
            // count of waiting tasks after it.
            let is_open = self.injector.while_open(|| self.quiescence.leave());
            debug_assert!(is_open, "the run has ended although a guest's call waits");
            place.step(Step::Activity(Activity::Active));
            self.quiescence.waiting(index).let_go();
        } else {
            self.guests.end_sleep(index);
        }
        self.sleepers.guest_comes();
    }

    /// The guests that sleep and count as active.
    pub(super) fn sleeping_guests(&self) -> Sleepers {
        let mut sleepers = Sleepers::default();
        for index in self.guests.sleeping() {
            sleepers.number += 1;
            sleepers.have_tasks |= !self.deques[index].looks_empty();
        }
        sleepers
    }

    /// Returns the memory of the free places to the system, for the worker at `place`.
    pub(super) fn guests_give_back(&self, place: Mine<'_, impl Place>) {
        for index in self.guests.keeping_memory() {
            if self.guests.take_free(index) {
                // SAFETY: the caller owns the place from now on, whose deque is empty.
                unsafe { Owner::new(&*self.deques[index]) }.give_back();
                place.guest_gives_back(index);
                self.guests.set_keeps_memory(index, false);
                self.guests.free(index);
            }
        }
    }

    /// Publishes all tasks of a place, and waits for a raid that is in the way: a worker that
    /// serves the place finds only public tasks.
    ///
    /// # Safety
    /// The caller owns the place.
    unsafe fn publish_all(&self, index: usize) {
        // SAFETY: the caller owns the place, and so its deque.
        let mut own = unsafe { Owner::new(&*self.deques[index]) };
        if let Some(mut private) = own.private_part() {
            while private.publish(Portion::All) == Published::Busy {
                spin_loop();
            }
        }
    }
}
