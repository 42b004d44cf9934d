//! Mutex, condition, semaphore and barrier for tasks; what their states are is told in `crate::sync`.
//!
//! # Waiting
//!
//! A task that must wait is set aside, as one that joins is, whatever `SCHED_JOIN` says: helping would put the
//! task that holds the mutex below one that waits for it. For a mutex or a semaphore its node is linked when it has
//! left its stack, by one atomic operation, which also says if it need not wait any more; for a
//! condition or a barrier before. Only where there is no stack to go on with, or a run that this task has started
//! lies on top, does it help; a thread that is no worker sleeps on the node's word. Both link the node
//! first: only who is in the list has its turn.
//!
//! # Where a woken task goes on
//!
//! In the waker's own queue, as a join's does: it is next there, and what it needs is in that
//! processor's cache. Behind the others it would be late with the mutex in hand, and each that comes by
//! meanwhile has to wait, with a stack of its own: in a run of 200,000 tasks over one mutex, kind `lifo`, two
//! workers, that took three times the memory, and it was as bad when one in 61 went behind.
//! But two tasks that wake each other in turn would keep all others of their worker waiting for ever,
//! where the youngest runs first. So one in 1024 goes behind all others, but for those that sched_mutex_unlock
//! wakes: it goes on itself, and somebody must wait before that can be so for ever. (Go lets who is
//! readied last run next, within the time slice of its waker, since 1.5 of 2015; Tokio limits how often
//! its LIFO slot is used in turn.)
//!
//! # Who may free what
//!
//! Each function has done with the mutex, and so on, before it grants it: who gets it may free it.

use crate::api::fork::misuse;
use crate::api::{Latch, suspend_task, wait_in_task, wait_outside_run};
use crate::runtime::record::Fiber;
use crate::runtime::record::Worker;
use crate::runtime::waiter::Waiter;
use crate::runtime::{identity, suspend};
use crate::settings::LEAST_STACK;
use crate::sync::barrier::Barrier;
use crate::sync::cond;
use crate::sync::cond::Cond;
use crate::sync::mutex::{Mutex, NotLocked};
use crate::sync::node::Node;
use crate::sync::sem::{Overflow, Sem};
use crate::sys::atomic::AtomicUsize;
use crate::sys::{errno, registers};
use crate::task::Task;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;

impl Latch for Node {
    fn word(&self) -> &AtomicUsize {
        Node::word(self)
    }

    fn is_over(&self) -> bool {
        self.is_granted()
    }

    fn register(&self, waiter: Waiter) -> Option<usize> {
        let name = waiter.pack();
        self.leave_name(name).then_some(name)
    }
}

/// Waits until the node is granted.
#[cold]
#[inline(never)]
fn wait(node: &Node, worker: Option<&Worker>) {
    match worker.and_then(Worker::mine) {
        Some(mine) => wait_in_task(node, mine.fiber(), true),
        None => wait_outside_run(node),
    }
}

/// Waits for what `get_or_link` asks for: that returns true if the caller has got it; else it has linked the
/// node, which will be granted it. False if the caller has no business there: see `may_wait`. `worker`: of the caller's run; None: the caller is no task.
///
/// # Safety
/// Linking the node, which lives until it is granted, is the last that `get_or_link` does.
#[inline]
unsafe fn wait_for(worker: Option<&Worker>, get_or_link: impl Fn(&Node) -> bool + Copy) -> bool {
    if let Some(mine) = worker.and_then(Worker::mine) {
        let fiber = mine.fiber();
        let mut node = MaybeUninit::uninit();
        let this = &raw mut node;
        let publish = move |task: Task| {
            let name = Waiter::Task(task.closure).pack();
            // SAFETY: it is there until the task goes on.
            !get_or_link(unsafe { (*this).write(Node::named(name)) })
        };
        // SAFETY: the caller is on the fiber, in a task; the rest by its promise.
        let left = unsafe { suspend_task(fiber, publish) };
        return left || wait_on_top(Some(fiber.worker()), get_or_link); // if it was left, it has it
    }
    wait_on_top(worker, get_or_link)
}

/// `wait_for`, of one who cannot leave its stack.
#[cold]
#[inline(never)]
fn wait_on_top(worker: Option<&Worker>, get_or_link: impl Fn(&Node) -> bool) -> bool {
    let may = may_wait(worker);
    let node = Node::default();
    if may && !get_or_link(&node) {
        wait(&node, worker);
    }
    may
}

/// False if the run of `worker` has ended and the caller is not of it: it has no business there.
pub(super) fn may_wait(worker: Option<&Worker>) -> bool {
    worker.is_none_or(|worker| worker.mine().is_some() || !worker.has_ended())
}

/// Where the woken go on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Go {
    Soon,
    /// Soon, but now and then behind all others.
    InTurn,
}

impl Go {
    /// Whether one that is woken by this worker's task is to go on soon. The caller occupies the place.
    #[inline]
    fn is_soon(self, worker: &Worker) -> bool {
        self == Go::Soon || !worker.wakes_behind()
    }
}

/// Lets those go on whose nodes these are. `from`: as for `Waiter::wake`; asked where that is needed.
///
/// # Safety
/// Taken out of the lists just now.
#[cold]
#[inline(never)]
pub(super) unsafe fn grant<'a>(
    nodes: impl Iterator<Item = *const Node>,
    from: impl Fn() -> Option<&'a Worker>,
    go: Go,
) {
    for node in nodes {
        // SAFETY: passed on.
        unsafe { grant_one(node, &from, go) };
    }
}

/// # Safety
/// As for `grant`.
#[inline]
unsafe fn grant_one<'a>(node: *const Node, from: impl Fn() -> Option<&'a Worker>, go: Go) {
    // SAFETY: it waits until it is granted. Only the address is used afterwards.
    let word = ptr::from_ref(unsafe { (*node).word() });
    // SAFETY: by the caller's promise; the name was packed.
    let Some(name) = (unsafe { Node::grant(node) }) else { return };
    // SAFETY: it was packed; who was set aside waits until now, and was published.
    let home =
        unsafe { Waiter::continuation(name).and_then(|task| suspend::local_continuation(task)) };
    match home {
        Some((home, task)) if go.is_soon(&home) => home.queue_soon(task),
        Some((home, task)) => home.requeue(task),
        // SAFETY: it was packed.
        None => unsafe { wake_elsewhere(name, word, from, go) },
    }
}

/// # Safety
/// The name was packed.
#[cold]
#[inline(never)]
unsafe fn wake_elsewhere<'a>(
    name: usize,
    word: *const AtomicUsize,
    from: impl Fn() -> Option<&'a Worker>,
    go: Go,
) {
    // SAFETY: passed on.
    let waiter = unsafe { Waiter::unpack(name) };
    waiter.wake(word, from().filter(|from| go.is_soon(from)));
}

// --- mutex ------------------------------------------------------------------------------

/// Returns as `sched_mutex_lock` does. `named`: what `s` is, if that is not NULL; `worker`: as for `wait_for`, asked
/// where that is needed.
#[inline]
pub fn lock<'a>(
    mutex: &Mutex,
    named: Option<&Worker>,
    worker: impl FnOnce() -> Option<&'a Worker>,
) -> c_int {
    if !mutex.try_lock() {
        return lock_contended(mutex, worker);
    }
    match named.and_then(near) {
        Some(fiber) => {
            mutex.set_holder(fiber);
            0
        }
        None => locked_elsewhere(mutex),
    }
}

#[cold]
#[inline(never)]
fn locked_elsewhere(mutex: &Mutex) -> c_int {
    mutex.set_holder(identity());
    0
}

#[cold]
#[inline(never)]
fn lock_contended<'a>(mutex: &Mutex, worker: impl FnOnce() -> Option<&'a Worker>) -> c_int {
    let worker = worker();
    if may_wait(worker) && mutex.holder() == caller(worker) {
        misuse(
            "sched_mutex_lock",
            "the caller has locked the mutex already, or a task that was on its stack has, and has not unlocked it",
        );
    }
    // SAFETY: linking the node is the last that `lock_or_link` does.
    if !unsafe { wait_for(worker, |node| mutex.lock_or_link(node)) } {
        return errno::failed(libc::EINVAL);
    }
    mutex.set_holder(caller(worker));
    0
}

pub fn try_lock(mutex: &Mutex) -> c_int {
    if mutex.try_lock() { 0 } else { errno::failed(libc::EBUSY) }
}

#[inline]
pub fn unlock(mutex: &Mutex) -> c_int {
    if is_near(mutex.holder()) { hand_over(mutex, Go::Soon) } else { unlock_far(mutex) }
}

#[cold]
#[inline(never)]
fn unlock_far(mutex: &Mutex) -> c_int {
    check_holder(mutex, "sched_mutex_unlock");
    hand_over(mutex, Go::Soon)
}

fn hand_over(mutex: &Mutex, go: Go) -> c_int {
    mutex.set_holder(0);
    match mutex.unlock() {
        Ok(None) => {}
        // SAFETY: taken out just now.
        Ok(Some(next)) => unsafe { grant_one(next, Worker::current_record, go) },
        Err(NotLocked) => return errno::failed(libc::EPERM),
    }
    0
}

/// Who locks a mutex, to itself: the caller's fiber, which stays its own wherever it goes on; or its thread. (Not the
/// fiber of the run that is named: a task may name an outer run, and then go on in another thread.) Tasks on one stack
/// cannot wait for each other.
#[cold]
#[inline(never)]
fn identity() -> usize {
    identity::current_fiber()
        .map_or_else(registers::thread_pointer, |fiber| ptr::from_ref(fiber).addr())
}

/// The same; `worker` is one of the caller's, most often.
fn caller(worker: Option<&Worker>) -> usize {
    worker.and_then(near).unwrap_or_else(identity)
}

/// `identity`, if the caller is on the fiber of this worker, and near.
#[inline(always)]
fn near(worker: &Worker) -> Option<usize> {
    if !worker.is_mine() {
        return None;
    }
    // SAFETY: compared just now.
    let fiber = ptr::from_ref(unsafe { worker.owned() }.fiber()).addr();
    is_near(fiber).then_some(fiber)
}

/// True if the caller is on this fiber, and not far from where it begins: that lies at the high end of a stack.
#[inline(always)]
fn is_near(fiber: usize) -> bool {
    fiber.wrapping_sub(registers::stack_pointer()) < LEAST_STACK
}

/// Ends the process if another than the caller is known to hold the mutex.
#[cold]
#[inline(never)]
fn check_holder(mutex: &Mutex, function: &str) {
    let holder = mutex.holder();
    let is = |fiber: &Fiber| ptr::from_ref(fiber).addr() == holder;
    // Whatever of the thread's fibers it is: those below the caller's cannot go on before it has.
    let here = || Worker::any_of_thread(|mine| is(mine.fiber())) || identity::any_section(is);
    if holder != 0 && holder != registers::thread_pointer() && !here() {
        misuse(function, "another task or thread has locked the mutex");
    }
}

// --- condition --------------------------------------------------------------------------

/// Returns as `sched_cond_wait` does.
pub fn cond_wait(cond: &Cond, mutex: &Mutex, worker: Option<&Worker>) -> c_int {
    if !may_wait(worker) {
        return errno::failed(libc::EINVAL);
    }
    if !mutex.is_locked() {
        return errno::failed(libc::EPERM);
    }
    check_holder(mutex, "sched_cond_wait");
    let waiting = cond::Waiting::new(mutex);
    // SAFETY: it lives until it was waited for.
    unsafe { cond.link(&waiting) };
    hand_over(mutex, Go::InTurn);
    wait(&waiting.node, worker);
    mutex.set_holder(caller(worker));
    0
}

pub fn signal(cond: &Cond) {
    if let Some(node) = cond.signal() {
        relock(std::iter::once(node));
    }
}

pub fn broadcast(cond: &Cond) {
    relock(cond.broadcast());
}

/// Has those who were taken out of a condition's list lock their mutexes.
fn relock(nodes: impl Iterator<Item = *const Node>) {
    // SAFETY: taken out just now; those who get theirs at once go on.
    unsafe { grant(nodes.filter(|&node| cond::relock(node)), Worker::current_record, Go::InTurn) };
}

// --- semaphore --------------------------------------------------------------------------

/// Returns as `sched_sem_wait` does. `worker`: as for `lock`.
#[inline]
pub fn sem_wait<'a>(sem: &Sem, worker: impl FnOnce() -> Option<&'a Worker>) -> c_int {
    if sem.try_wait() { 0 } else { sem_wait_contended(sem, worker) }
}

#[cold]
#[inline(never)]
fn sem_wait_contended<'a>(sem: &Sem, worker: impl FnOnce() -> Option<&'a Worker>) -> c_int {
    // SAFETY: linking the node is the last that `wait_or_link` does.
    if unsafe { wait_for(worker(), |node| sem.wait_or_link(node)) } {
        0
    } else {
        errno::failed(libc::EINVAL)
    }
}

pub fn sem_try_wait(sem: &Sem) -> c_int {
    if sem.try_wait() { 0 } else { errno::failed(libc::EAGAIN) }
}

#[inline]
pub fn post(sem: &Sem) -> c_int {
    match sem.try_post() {
        Some(next) => posted(next),
        None => post_contended(sem),
    }
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
        // SAFETY: taken out just now.
        unsafe { grant_one(next, Worker::current_record, Go::InTurn) };
    }
    0
}

// --- barrier ----------------------------------------------------------------------------

/// Returns as `sched_barrier_wait` does.
pub fn arrive(barrier: &Barrier, worker: Option<&Worker>) -> c_int {
    if barrier.size() == 0 || !may_wait(worker) {
        return errno::failed(libc::EINVAL);
    }
    let node = Node::default();
    // SAFETY: it lives until it was waited for.
    match unsafe { barrier.arrive(&node) } {
        None => {
            wait(&node, worker);
            0
        }
        Some(others) => {
            // SAFETY: taken out just now.
            unsafe { grant(others, Worker::current_record, Go::InTurn) };
            1
        }
    }
}
