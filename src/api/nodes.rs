//! Waiting with a node (`sync::node`): how a task or thread waits until its node is granted, and
//! how the nodes are granted. The essay of [`sync`](super::sync) says where a woken task is queued.

use crate::api::wait::{Latch, Wait, suspend_task};
use crate::runtime::record::{Fiber, Worker};
use crate::runtime::suspend;
use crate::runtime::wait_note::WaitsFor;
use crate::runtime::waiter::Waiter;
use crate::sync::node::Node;
use crate::sys::atomic::AtomicUsize;
use crate::task::Task;
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

/// Waits until the node is granted and then calls `has_it`, until `has_it` returns true.
#[cold]
#[inline(never)]
pub(super) fn wait_until(
    node: &Node,
    what: WaitsFor,
    worker: Option<&Worker>,
    has_it: impl Fn(&Node) -> bool,
) {
    loop {
        wait(node, what, worker);
        if has_it(node) {
            return;
        }
    }
}

/// Waits until the node is granted.
#[cold]
#[inline(never)]
pub(super) fn wait(node: &Node, what: WaitsFor, worker: Option<&Worker>) {
    let wait = Wait::new(node, what);
    match worker.and_then(Worker::mine) {
        Some(mine) => wait.on_fiber(mine.fiber()),
        None => wait.outside_run(),
    }
}

/// Waits for an object, which observers know as `what`. `get_or_link` returns true if the caller
/// gets the object at once; otherwise it links the node, which will be granted. `has_it` is called
/// when the node was granted, and returns true if the caller has the object; otherwise the node
/// will be granted again. `worker` is a worker of the caller's run, or None if the caller is not a
/// task. Returns false if the caller must not wait: see `may_wait`.
///
/// # Safety
/// When `get_or_link` links the node, this is its last action. The node lives until it is granted,
/// and `has_it` has returned true.
#[inline]
pub(super) unsafe fn wait_for(
    worker: Option<&Worker>,
    what: WaitsFor,
    get_or_link: impl Fn(&Node) -> bool + Copy,
    has_it: impl Fn(&Node) -> bool + Copy,
) -> bool {
    if let Some(mine) = worker.and_then(Worker::mine) {
        let fiber = mine.fiber();
        let mut node = MaybeUninit::uninit();
        let this = &raw mut node;
        // SAFETY: the place is the caller's.
        fiber.wait.begin(what, unsafe { Node::begin(this.cast()) });
        let publish = move |task: Task| {
            let name = Waiter::Task(task.closure).pack();
            // SAFETY: the node is on the task's stack, which lives until the task is resumed.
            !get_or_link(unsafe { (*this).write(Node::named(name)) })
        };
        // SAFETY: the caller is on the fiber, in a task, and promises that `publish` links last.
        if unsafe { suspend_task(fiber, publish) } {
            fiber.wait.end();
            // The task is resumed only if it has got the object at once, or the node is granted.
            // SAFETY: `publish` was called, and has made the node.
            let node = unsafe { node.assume_init_ref() };
            if node.is_granted() && !has_it(node) {
                wait_until(node, what, worker, has_it);
            }
            return true;
        }
        return wait_on_fiber(fiber, what, get_or_link, has_it);
    }
    wait_on_top(worker, what, get_or_link, has_it)
}

/// The rest of `wait_for` for a task that could not leave its fiber.
#[cold]
#[inline(never)]
fn wait_on_fiber(
    fiber: &Fiber,
    what: WaitsFor,
    get_or_link: impl Fn(&Node) -> bool,
    has_it: impl Fn(&Node) -> bool,
) -> bool {
    fiber.wait.end();
    wait_on_top(Some(fiber.worker()), what, get_or_link, has_it)
}

/// Like `wait_for`, for a caller that cannot leave its stack.
#[cold]
#[inline(never)]
fn wait_on_top(
    worker: Option<&Worker>,
    what: WaitsFor,
    get_or_link: impl Fn(&Node) -> bool,
    has_it: impl Fn(&Node) -> bool,
) -> bool {
    let may = may_wait(worker);
    let node = Node::default();
    if may && !get_or_link(&node) {
        wait_until(&node, what, worker, has_it);
    }
    may
}

/// False if the run of `worker` has ended and the caller is not a task of that run: there may be no
/// task that could end the wait.
pub(super) fn may_wait(worker: Option<&Worker>) -> bool {
    worker.is_none_or(|worker| worker.mine().is_some() || !worker.has_ended())
}

/// The place at which a woken task is queued.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WakeOrder {
    /// Ahead of all other tasks.
    Ahead,
    /// Like `Ahead`, but one in 1024 behind all others: see the essay of [`sync`](super::sync).
    MostlyAhead,
}

impl WakeOrder {
    /// True if the task that is woken now goes ahead. The caller occupies the worker.
    #[inline]
    fn is_ahead(self, worker: &Worker) -> bool {
        self == WakeOrder::Ahead || !worker.wakes_behind()
    }
}

/// Grants the nodes, and wakes their waiters. `from` gives a worker for `Waiter::wake`; it is
/// called only if that is needed.
///
/// # Safety
/// The nodes were taken out of their lists just now.
#[cold]
#[inline(never)]
pub(super) unsafe fn grant<'a>(
    nodes: impl Iterator<Item = *const Node>,
    from: impl Fn() -> Option<&'a Worker>,
    order: WakeOrder,
) {
    for node in nodes {
        // SAFETY: the node was taken out of its list just now.
        unsafe { grant_one(node, &from, order) };
    }
}

/// Grants one node, and wakes its waiter.
///
/// # Safety
/// The contract of `grant`.
#[inline(always)] // `inline` is not enough: it has several callers
pub(super) unsafe fn grant_one<'a>(
    node: *const Node,
    from: impl Fn() -> Option<&'a Worker>,
    order: WakeOrder,
) {
    // SAFETY: the node lives until it is granted. Afterwards only its address is used.
    let word = ptr::from_ref(unsafe { (*node).word() });
    // SAFETY: the node was taken out of its list, and is granted once.
    let Some(name) = (unsafe { Node::grant(node) }) else { return };
    // SAFETY: a waiter has packed the name. A published task stays suspended until it is woken.
    let home =
        unsafe { Waiter::continuation(name).and_then(|task| suspend::local_continuation(task)) };
    match home {
        Some((home, task)) if order.is_ahead(&home) => home.queue_soon(task),
        Some((home, task)) => home.requeue(task),
        // SAFETY: a waiter has packed the name.
        None => unsafe { wake_elsewhere(name, word, from, order) },
    }
}

/// Wakes a waiter that is not a task of the calling thread's worker.
///
/// # Safety
/// `pack` or `pack_timed` has returned the name.
#[cold]
#[inline(never)]
unsafe fn wake_elsewhere<'a>(
    name: usize,
    word: *const AtomicUsize,
    from: impl Fn() -> Option<&'a Worker>,
    order: WakeOrder,
) {
    // SAFETY: `pack` or `pack_timed` has returned the name.
    let waiter = unsafe { Waiter::unpack(name) };
    waiter.wake(word, from().filter(|from| order.is_ahead(from)));
}
