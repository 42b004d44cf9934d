//! Mutex, condition, semaphore and barrier for tasks. `crate::sync` describes their states.
//!
//! # Waiting
//!
//! A task that must wait is suspended, like a task that joins, but whatever `SCHED_JOIN` says:
//! helping could put the task that holds a mutex below a task that waits for it. For a mutex or a
//! semaphore the task leaves its stack first. Then one atomic operation links its node, or finds
//! that the task need not wait. For a condition or a barrier the node is linked before the task
//! leaves its stack. If there is no other stack, or a run that this task has started lies on top of
//! it, the worker helps. A thread that is not a worker sleeps on the node's word. In these two
//! cases the node is linked before the wait begins, since only a linked node is granted.
//!
//! # Where a woken task is queued
//!
//! A woken task is put into the waker's own queue as the next task; its data is in that processor's
//! cache. Rejected: to put it behind all other tasks. It would hold the mutex until its turn comes,
//! and each task that wants the mutex until then would wait with a stack of its own. (200,000 tasks
//! over one mutex, kind `lifo`, two workers, took three times the memory, even if only one woken
//! task in 61 was put behind the others.)
//!
//! But two tasks that wake each other in turn would then starve all other tasks of their worker. So
//! one woken task in 1024 is put behind all others. A task that sched_mutex_unlock wakes is always
//! the next one: the caller of sched_mutex_unlock keeps running, so this cannot repeat forever
//! without a wait. (Since version 1.5, of 2015, Go next runs the goroutine that was readied last,
//! within the time slice of its waker. Tokio limits how often its LIFO slot is used in a row.)
//!
//! # When an object may be freed
//!
//! Each function makes its last access to the object before it grants a waiter's node: the task
//! that gets the object may free it.

use crate::api::fork::misuse;
use crate::api::nodes::{WakeOrder, grant, grant_one, may_wait, wait, wait_for, wait_until};
use crate::runtime::identity;
use crate::runtime::record::{Fiber, Run, Worker};
use crate::runtime::wait_note::{Object, WaitsFor};
use crate::settings::LEAST_STACK;
use crate::sync::barrier::Barrier;
use crate::sync::cond;
use crate::sync::cond::Cond;
use crate::sync::mutex::{Look, Mutex, NotLocked};
use crate::sync::node::Node;
use crate::sync::sem::{Overflow, Sem};
use crate::sys::detector;
use crate::sys::{errno, processors, registers};
use std::ffi::c_int;
use std::ptr;

// --- mutex ------------------------------------------------------------------------------

/// Returns what `sched_mutex_lock` returns. `named` is the worker of the caller's `s`, if `s` is
/// not NULL. `worker` returns a worker of the caller's run, or None if the caller is not a task; it
/// is called only if the caller must wait.
#[inline]
pub fn lock<'a>(
    mutex: &Mutex,
    named: Option<&Worker>,
    worker: impl FnOnce() -> Option<&'a Worker>,
) -> c_int {
    if detector::may_be_present() {
        let contended = |mutex: &Mutex| lock_contended(mutex, worker, detector::own);
        return detector::taking(mutex, |mutex| lock_now(mutex, named, contended));
    }
    lock_now(mutex, named, |mutex| lock_contended(mutex, worker, |_| ()))
}

#[inline(always)]
fn lock_now(
    mutex: &Mutex,
    named: Option<&Worker>,
    contended: impl FnOnce(&Mutex) -> c_int,
) -> c_int {
    if !mutex.try_lock() && !mutex.try_overtake(Look::Once) {
        return contended(mutex);
    }
    match named.and_then(id_if_near) {
        Some(fiber) => {
            mutex.set_holder(fiber);
            0
        }
        None => note_far_holder(mutex),
    }
}

#[cold]
#[inline(never)]
fn note_far_holder(mutex: &Mutex) -> c_int {
    mutex.set_holder(holder_id());
    0
}

/// The rest of `lock`. `own` is `detector::own`, or does nothing if there is no detector. (A test
/// in its place would cost each suspension six instructions.)
#[cold]
#[inline(never)]
fn lock_contended<'a>(
    mutex: &Mutex,
    worker: impl FnOnce() -> Option<&'a Worker>,
    own: impl Fn(&Node) + Copy,
) -> c_int {
    let worker = worker();
    let look = look(worker);
    if look == Look::Awhile && mutex.try_overtake(look) {
        mutex.set_holder(caller_id(worker));
        return 0;
    }
    check_not_holder(mutex, worker, "sched_mutex_lock");
    let what = WaitsFor::new(Object::Mutex, mutex);
    let lock_or_link = move |node: &Node| {
        own(node);
        // SAFETY: the node is in no list; `wait_for` keeps it until the caller holds the mutex.
        unsafe { mutex.lock_or_link(node) }
    };
    // SAFETY: when `lock_or_link` links the node, this is its last action.
    if !unsafe { wait_for(worker, what, lock_or_link, |node| has_it(mutex, node, look)) } {
        return errno::failed(libc::EINVAL);
    }
    mutex.set_holder(caller_id(worker));
    0
}

/// Ends the process if the caller holds the mutex.
pub(super) fn check_not_holder(mutex: &Mutex, worker: Option<&Worker>, function: &str) {
    if may_wait(worker) && mutex.holder() == caller_id(worker) {
        misuse(
            function,
            "the caller has locked the mutex already, or a task that has ended on the same stack \
             has not unlocked it",
        );
    }
}

/// Locks the mutex for a caller that has waited for a condition.
pub(super) fn lock_again(mutex: &Mutex, worker: Option<&Worker>) {
    lock_now(mutex, None, |mutex| lock_contended(mutex, || worker, detector::own));
}

/// True if the caller, whose node was granted, holds the mutex. Else the node is granted again.
pub(super) fn has_it(mutex: &Mutex, node: &Node, look: Look) -> bool {
    // SAFETY: the node was linked, and was granted just now.
    unsafe { mutex.lock_again_or_wait(node, look) }
}

/// How long a caller spins before it waits: `Awhile` if each worker of the caller's run can have a
/// processor of its own, so that the holder may be running on another one.
pub(super) fn look(worker: Option<&Worker>) -> Look {
    let mine = worker.filter(|worker| worker.mine().is_some());
    let threads = mine.and_then(|worker| worker.with_run(Run::workers)).unwrap_or(2);
    let has_processors = (2..=processors::seen()).contains(&threads);
    if has_processors { Look::Awhile } else { Look::Once }
}

pub fn try_lock(mutex: &Mutex) -> c_int {
    detector::taking(mutex, |mutex| {
        let is_locked = mutex.try_lock() || mutex.try_overtake(Look::Once);
        if is_locked { 0 } else { errno::failed(libc::EBUSY) }
    })
}

#[inline]
pub fn unlock(mutex: &Mutex) -> c_int {
    detector::giving(mutex, |mutex| {
        if is_near(mutex.holder()) { hand_over(mutex, WakeOrder::Ahead) } else { unlock_far(mutex) }
    })
}

#[cold]
#[inline(never)]
fn unlock_far(mutex: &Mutex) -> c_int {
    check_holder(mutex, "sched_mutex_unlock");
    hand_over(mutex, WakeOrder::Ahead)
}

#[inline(never)] // so that `unlock` keeps no registers for it
pub(super) fn hand_over(mutex: &Mutex, order: WakeOrder) -> c_int {
    mutex.set_holder(0);
    match mutex.unlock() {
        Ok(None) => {}
        // SAFETY: the node was taken out of the mutex's list just now.
        Ok(Some(next)) => unsafe { grant_one(next, Worker::current_record, order) },
        Err(NotLocked) => return errno::failed(libc::EPERM),
    }
    0
}

/// The identity of the caller as the holder of a mutex: the address of its fiber, which a task
/// keeps wherever it is resumed; or the thread pointer, if the caller is not a task. (The fiber
/// must not be looked up in the run of `s`: a task may pass an outer run's `s`, and later be
/// resumed on another thread.) Tasks on one stack share an identity, and cannot wait for each
/// other.
#[cold]
#[inline(never)]
fn holder_id() -> usize {
    identity::current_fiber()
        .map_or_else(registers::thread_pointer, |fiber| ptr::from_ref(fiber).addr())
}

/// Like `holder_id`, but faster if `worker` is the caller's.
pub(super) fn caller_id(worker: Option<&Worker>) -> usize {
    worker.and_then(id_if_near).unwrap_or_else(holder_id)
}

/// `holder_id`, if the caller is on the fiber of this worker and near its record.
#[inline(always)]
fn id_if_near(worker: &Worker) -> Option<usize> {
    if !worker.is_mine() {
        return None;
    }
    // SAFETY: `is_mine` has compared the owner with the calling thread just now.
    let fiber = ptr::from_ref(unsafe { worker.owned() }.fiber()).addr();
    is_near(fiber).then_some(fiber)
}

/// True if the caller is on this fiber, less than `LEAST_STACK` below the fiber's record, which
/// lies at the high end of the stack.
#[inline(always)]
fn is_near(fiber: usize) -> bool {
    fiber.wrapping_sub(registers::stack_pointer()) < LEAST_STACK
}

/// Ends the process if the mutex is known to be held by another task or thread.
#[cold]
#[inline(never)]
pub(super) fn check_holder(mutex: &Mutex, function: &str) {
    let holder = mutex.holder();
    let is = |fiber: &Fiber| ptr::from_ref(fiber).addr() == holder;
    // Any fiber of this thread is accepted: the tasks below the caller cannot run before it ends.
    let here = || Worker::any_of_thread(|mine| is(mine.fiber())) || identity::any_section(is);
    if holder != 0 && holder != registers::thread_pointer() && !here() {
        misuse(function, "another task or thread has locked the mutex");
    }
}

// --- condition --------------------------------------------------------------------------

/// Returns what `sched_cond_wait` returns.
pub fn cond_wait(cond: &Cond, mutex: &Mutex, worker: Option<&Worker>) -> c_int {
    let wait = |cond: &Cond| cond_wait_now(cond, mutex, worker);
    detector::giving_and_taking(mutex, |_| detector::taking(cond, wait))
}

fn cond_wait_now(cond: &Cond, mutex: &Mutex, worker: Option<&Worker>) -> c_int {
    if !may_wait(worker) {
        return errno::failed(libc::EINVAL);
    }
    if !mutex.is_locked() {
        return errno::failed(libc::EPERM);
    }
    check_holder(mutex, "sched_cond_wait");
    let waiting = cond::Waiting::new(cond, mutex);
    detector::own(&waiting);
    // SAFETY: the node lives until it is granted: the wait below lasts until then.
    unsafe { cond.link(&waiting) };
    hand_over(mutex, WakeOrder::MostlyAhead);
    let what = WaitsFor::new(Object::Cond, &raw const waiting);
    let look = look(worker);
    wait_until(&waiting.node, what, worker, |node| has_it(mutex, node, look));
    mutex.set_holder(caller_id(worker));
    0
}

pub fn signal(cond: &Cond) {
    detector::giving(cond, |cond| {
        if let Some(node) = cond.signal() {
            relock(std::iter::once(node));
        }
    });
}

pub fn broadcast(cond: &Cond) {
    detector::giving(cond, |cond| relock(cond.broadcast()));
}

/// Makes waiters that were taken out of a condition's list lock their mutexes.
fn relock(nodes: impl Iterator<Item = *const Node>) {
    // SAFETY: the nodes were taken out of the list just now.
    let nodes = nodes.filter_map(|node| unsafe { cond::relock(node) });
    // SAFETY: `cond::relock` returns nodes to be granted.
    unsafe { grant(nodes, Worker::current_record, WakeOrder::MostlyAhead) };
}

// --- semaphore --------------------------------------------------------------------------

/// Returns what `sched_sem_wait` returns. `worker` returns what it does in `lock`.
#[inline]
pub fn sem_wait<'a>(sem: &Sem, worker: impl FnOnce() -> Option<&'a Worker>) -> c_int {
    if detector::may_be_present() {
        return detector::taking(sem, |sem| {
            if sem.try_wait() { 0 } else { sem_wait_contended(sem, worker, detector::own) }
        });
    }
    if sem.try_wait() { 0 } else { sem_wait_contended(sem, worker, |_| ()) }
}

/// The rest of `sem_wait`. `own` is the same as in `lock_contended`.
#[cold]
#[inline(never)]
fn sem_wait_contended<'a>(
    sem: &Sem,
    worker: impl FnOnce() -> Option<&'a Worker>,
    own: impl Fn(&Node) + Copy,
) -> c_int {
    let what = WaitsFor::new(Object::Sem, sem);
    let wait_or_link = move |node: &Node| {
        own(node);
        // SAFETY: the node is in no list; `wait_for` keeps it until it is granted.
        unsafe { sem.wait_or_link(node) }
    };
    // SAFETY: when `wait_or_link` links the node, this is its last action.
    if !unsafe { wait_for(worker(), what, wait_or_link, |_| true) } {
        return errno::failed(libc::EINVAL);
    }
    0
}

pub fn sem_try_wait(sem: &Sem) -> c_int {
    detector::taking(sem, |sem| if sem.try_wait() { 0 } else { errno::failed(libc::EAGAIN) })
}

#[inline]
pub fn post(sem: &Sem) -> c_int {
    detector::giving(sem, |sem| match sem.try_post() {
        Some(next) => posted(next),
        None => post_contended(sem),
    })
}

#[cold]
#[inline(never)]
fn post_contended(sem: &Sem) -> c_int {
    match sem.post() {
        Ok(next) => posted(next),
        Err(Overflow) => errno::failed(libc::EOVERFLOW),
    }
}

#[inline]
fn posted(next: Option<*const Node>) -> c_int {
    if let Some(next) = next {
        // SAFETY: the node was taken out of the semaphore's list just now.
        unsafe { grant_one(next, Worker::current_record, WakeOrder::MostlyAhead) };
    }
    0
}

// --- barrier ----------------------------------------------------------------------------

/// Returns what `sched_barrier_wait` returns.
pub fn arrive(barrier: &Barrier, worker: Option<&Worker>) -> c_int {
    detector::giving_and_taking(barrier, |barrier| arrive_now(barrier, worker))
}

fn arrive_now(barrier: &Barrier, worker: Option<&Worker>) -> c_int {
    if barrier.size() == 0 || !may_wait(worker) {
        return errno::failed(libc::EINVAL);
    }
    let node = Node::default();
    detector::own(&node);
    // SAFETY: the node lives until it is granted: the wait below lasts until then.
    match unsafe { barrier.arrive(&node) } {
        None => {
            wait(&node, WaitsFor::new(Object::Barrier, barrier), worker);
            0
        }
        Some(others) => {
            // SAFETY: the nodes were taken out of the barrier's list just now.
            unsafe { grant(others, Worker::current_record, WakeOrder::MostlyAhead) };
            1
        }
    }
}
