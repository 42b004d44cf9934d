//! Locks of a mutex, and waits for a condition or a semaphore, that end at a deadline at the
//! latest. See [`super::timed`].

use crate::api::nodes::{WakeOrder, wait, wait_until};
use crate::api::sync::{
    caller_id, check_holder, check_not_holder, hand_over, has_it, lock_again, look,
};
use crate::api::timed::{Deadline, End};
use crate::runtime::record::Worker;
use crate::runtime::wait_note::{Object, WaitsFor};
use crate::runtime::waiter::Waiter;
use crate::sync::cond::{self, Cond};
use crate::sync::crowd::{CROWDS, Granted, Server};
use crate::sync::mutex::Mutex;
use crate::sync::node::Node;
use crate::sync::sem::Sem;
use crate::sys::errno::Errno;
use crate::sys::{detector, errno};
use std::ffi::c_int;

/// Returns what `sched_mutex_lock_until` returns. `worker` is a worker of the caller's run, or
/// None.
pub fn lock_until(mutex: &Mutex, deadline: i64, worker: Option<&Worker>) -> c_int {
    detector::taking(mutex, |mutex| {
        if !mutex.try_lock() && !mutex.try_overtake(look(worker)) {
            if let Err(Errno(error)) = wait_until_locked(mutex, deadline, worker) {
                return errno::failed(error);
            }
        }
        mutex.set_holder(caller_id(worker));
        0
    })
}

/// The rest of `lock_until`, for a mutex that is locked.
fn wait_until_locked(mutex: &Mutex, deadline: i64, worker: Option<&Worker>) -> Result<(), Errno> {
    check_not_holder(mutex, worker, "sched_mutex_lock_until");
    let deadline = Deadline::new(deadline, worker)?;
    let node = Node::default();
    detector::own(&node);
    // SAFETY: the node lives until it is granted, or has left the crowd.
    let joined = unsafe { CROWDS.join(mutex, &node, serve_crowd) };
    if joined? {
        return Ok(());
    }
    let end = deadline.wait(&node, Some(WaitsFor::new(Object::Mutex, mutex)));
    // SAFETY: the node has joined the crowd, and the wait has ended.
    if end != End::Granted && unsafe { CROWDS.leave(mutex, &node) } {
        return Err(Errno(end.error()));
    }
    Ok(())
}

/// Called in place of a wake-up when the mutex was handed over to a crowd (`sync::crowd`).
///
/// # Safety
/// The delegate of the crowd was granted.
unsafe fn serve_crowd(server: *const Server) {
    // SAFETY: the delegate of the crowd was granted, and this is the one call for it.
    match unsafe { CROWDS.find_holder(server) } {
        Ok(Granted { name: None, .. }) => {}
        // SAFETY: the name was taken out of a node just now.
        Ok(Granted { name: Some(name), word }) => unsafe {
            Waiter::unpack(name).wake(word, Worker::current_record());
        },
        Err(mutex) => _ = hand_over(mutex, WakeOrder::Ahead),
    }
}

/// Returns what `sched_cond_wait_until` returns.
pub fn cond_wait_until(
    cond: &Cond,
    mutex: &Mutex,
    deadline: i64,
    worker: Option<&Worker>,
) -> c_int {
    let wait = |cond: &Cond| match cond_wait_until_now(cond, mutex, deadline, worker) {
        Ok(()) => 0,
        Err(Errno(error)) => errno::failed(error),
    };
    detector::giving(mutex, |mutex| {
        let outcome = detector::taking(cond, wait);
        detector::acquire(mutex); // the caller has locked it again, also after a failure
        outcome
    })
}

fn cond_wait_until_now(
    cond: &Cond,
    mutex: &Mutex,
    deadline: i64,
    worker: Option<&Worker>,
) -> Result<(), Errno> {
    if !mutex.is_locked() {
        return Err(Errno(libc::EPERM));
    }
    check_holder(mutex, "sched_cond_wait_until");
    let deadline = Deadline::new(deadline, worker)?;
    let waiting = cond::Waiting::new(cond, mutex);
    detector::own(&waiting);
    // SAFETY: the node lives until it is granted, or has left the list.
    unsafe { cond.link_to_leave(&waiting) };
    hand_over(mutex, WakeOrder::MostlyAhead);
    let what = WaitsFor::new(Object::Cond, &raw const waiting);
    let end = deadline.wait(&waiting.node, Some(what));
    // SAFETY: the node was linked above.
    if end != End::Granted && unsafe { cond.leave(&waiting) } {
        lock_again(mutex, worker);
        return Err(Errno(end.error()));
    }
    // The node was signalled: it waits in the line of the mutex, or was granted.
    waiting.node.revive();
    let look = look(worker);
    wait_until(&waiting.node, what, worker, |node| has_it(mutex, node, look));
    mutex.set_holder(caller_id(worker));
    Ok(())
}

/// Returns what `sched_sem_wait_until` returns. `worker` is a worker of the caller's run, or None.
pub fn sem_wait_until(sem: &Sem, deadline: i64, worker: Option<&Worker>) -> c_int {
    let wait = |sem: &Sem| match sem_wait_until_now(sem, deadline, worker) {
        Ok(()) => 0,
        Err(Errno(error)) => errno::failed(error),
    };
    detector::taking(sem, |sem| if sem.try_wait() { 0 } else { wait(sem) })
}

fn sem_wait_until_now(sem: &Sem, deadline: i64, worker: Option<&Worker>) -> Result<(), Errno> {
    let deadline = Deadline::new(deadline, worker)?;
    let node = Node::default();
    detector::own(&node);
    // SAFETY: the node lives until it is granted, or has left the list.
    if unsafe { sem.wait_or_link_to_leave(&node) } {
        return Ok(());
    }
    let what = WaitsFor::new(Object::Sem, sem);
    let end = deadline.wait(&node, Some(what));
    if end != End::Granted {
        // SAFETY: the node was linked above.
        if unsafe { sem.leave(&node) } {
            return Err(Errno(end.error()));
        }
        if node.revive() {
            wait(&node, what, worker); // for the grant of a thread that has unlinked the node
        }
    }
    Ok(())
}
