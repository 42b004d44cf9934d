//! Nodes: tasks that begin after others have ended, and events, which the program ends by hand. The
//! order is kept by `sync::dag`. This is one file because nodes, events and the library's own nodes
//! are one record.
//!
//! A node lies in the program's memory from its initialisation until it has ended. The first
//! [`ROOM`] edges to a node lie in the node, so nothing is allocated for them. Further edges are in
//! chunks from the heap, each twice as long as the one before. They are freed when the node begins.
//!
//! # The run
//!
//! A ready node with a predecessor that has not ended holds its run, as a task that waits does: the
//! predecessor may be an event, or belong to another run. The thread that starts the node queues
//! its task, and then lets go of the run. If the worker's queue is full then, the task goes to the
//! tasks from outside, because no call is left that could report the refusal.
//!
//! # Groups
//!
//! A node of a group counts in the group from the moment it is made ready. In a cancelled group its
//! function is not called, and its successors begin as if it had ended.
//!
//! # Events
//!
//! An event has no function, and tasks may wait for it: it has the state of a group with one task
//! where a node has its edges. So a waiter may free the event at once. The end of an event first
//! ends the vertex, then the group, which is its last access, and then starts the successors. A
//! call of `sched_after` that finds the vertex ended waits for the few instructions until the group
//! has ended, since its node may free the event.

use crate::api::edges::Chunk;
use crate::api::graph_state::GraphState;
use crate::api::group::Group;
use crate::deadline::check::sum as check_sum;
use crate::runtime::identity::Mine;
use crate::runtime::record::Worker;
use crate::runtime::wait_note::WaitsFor;
use crate::sync::dag::{Edge, Edges, Vertex};
use crate::sync::pending;
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::errno::Errno;
use crate::sys::memory::NoMemory;
use crate::sys::unwind::{NodeTask, call_guarded};
use crate::sys::{detector, errno, output, time};
use crate::task::{Level, Scheduler, Task, TaskFn};
use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_int, c_void};
use std::mem::{ManuallyDrop, offset_of};
use std::ptr;

/// How many edges to a node need no allocation.
pub const ROOM: usize = 4;

#[repr(C)]
#[derive(Clone, Copy)]
union Home {
    /// A worker of the run in which the node was made ready.
    worker: *const Worker,
    /// The next node of its graph.
    next: *const TaskNode,
}

/// A node's room for its edges, or an event's group of those that wait for it.
#[repr(C)]
union Room {
    edges: ManuallyDrop<[Edge; ROOM]>,
    waiters: ManuallyDrop<Group>,
}

/// The C types `sched_node` and `sched_event`.
///
/// ```text
///   0   vertex, 16 bytes
///  16   room for four edges, 64 bytes
///  80   f, closure, home, group, used, chunk
/// ```
/// The end of a predecessor reads an edge to the node and changes the vertex: of a node in an array
/// of 64-byte lines that is one line for the first three edges. (With the room at the end they are
/// two, and the nodes of a random graph took a third longer.)
#[repr(C)]
pub struct TaskNode {
    pub(super) vertex: Vertex,
    room: UnsafeCell<Room>,
    /// None: an event.
    f: Cell<Option<TaskFn>>,
    closure: Cell<*mut c_void>,
    home: Cell<Home>,
    /// In a graph, the group of the graph.
    group: Cell<*const Group>,
    /// The number of edges to the node, and the bits below. Relaxed: only the thread that uses the
    /// node writes it, and others only ask whether it is in a graph.
    used: AtomicUsize,
    /// The youngest chunk of edges.
    chunk: Cell<*mut Chunk>,
}

const _: () = assert!(offset_of!(TaskNode, vertex) == 0);
const _: () = assert!(offset_of!(TaskNode, f) == pending::FUNCTION);
const _: () = assert!(offset_of!(TaskNode, closure) == pending::CLOSURE);
const _: () = assert!(offset_of!(TaskNode, used) == pending::EDGES);
const _: () = assert!(EDGES == pending::MOST_EDGES);

/// A node in memory of the library, which is freed when the node has ended.
#[repr(C)]
pub struct OwnedNode {
    pub node: TaskNode,
    /// Called after the node's function, before its successors begin.
    pub leave: unsafe fn(*const OwnedNode),
    /// Called when nobody uses the node any more.
    pub free: unsafe fn(*mut OwnedNode),
}

// Bits of `TaskNode::used`.
/// The node is part of an `OwnedNode`.
const OWNED: usize = 1 << 63;
/// The node belongs to a graph (`api::graph`).
const IN_GRAPH: usize = 1 << 62;
/// The number of edges.
const EDGES: usize = (1 << 32) - 1;
/// In debug builds, after the node was made ready: a check sum of its content, which must not
/// change before it begins.
const SUM: usize = ((1 << 24) - 1) << 32;
/// The level of the node's task; if neither bit is set, the level is normal.
const URGENT: usize = 1 << 59;
const BACKGROUND: usize = 1 << 60;

impl TaskNode {
    /// A node that is not ready.
    pub fn new(f: TaskFn, closure: *mut c_void) -> TaskNode {
        let edges = ManuallyDrop::new(std::array::from_fn(|_| Edge::unused()));
        TaskNode::with(Vertex::new(), Some(f), closure, Room { edges })
    }

    /// An event that has not ended.
    pub fn event() -> TaskNode {
        let waiters = ManuallyDrop::new(Group::without_tasks());
        waiters.members.enter();
        TaskNode::with(Vertex::ended_by_hand(), None, ptr::null_mut(), Room { waiters })
    }

    fn with(vertex: Vertex, f: Option<TaskFn>, closure: *mut c_void, room: Room) -> TaskNode {
        TaskNode {
            vertex,
            f: Cell::new(f),
            closure: Cell::new(closure),
            home: Cell::new(Home { worker: ptr::null() }),
            group: Cell::new(ptr::null()),
            used: AtomicUsize::new(0),
            chunk: Cell::new(ptr::null_mut()),
            room: UnsafeCell::new(room),
        }
    }

    /// The waiters of an event.
    fn waiters(&self) -> Option<&Group> {
        // SAFETY: an event has them.
        self.f.get().is_none().then(|| unsafe { &*(&raw const (*self.room.get()).waiters).cast() })
    }

    /// Fails with EINVAL if the node is an event or in a graph. Fails with EBUSY if it was made
    /// ready.
    fn check_unready(&self) -> Result<(), Errno> {
        if self.f.get().is_none() || self.bits() & IN_GRAPH != 0 {
            return Err(Errno(libc::EINVAL));
        }
        if self.vertex.is_unready() { Ok(()) } else { Err(Errno(libc::EBUSY)) }
    }

    fn bits(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The number of edges to the node.
    pub(super) fn edges(&self) -> usize {
        self.bits() & EDGES
    }

    /// The graph to which the node belongs.
    pub(super) fn graph(&self) -> Option<&GraphState> {
        let group = self.group.get();
        // SAFETY: a node in a graph has the graph's group, with which its state begins.
        (self.bits() & IN_GRAPH != 0).then(|| unsafe { &*group.cast() })
    }

    /// Puts the node into the graph.
    pub(super) fn join_graph(&self, graph: &GraphState) -> Result<(), Errno> {
        self.check_unready()?;
        if !self.group.get().is_null() || self.edges() > 0 || self.vertex.has_successors() {
            return Err(Errno(libc::EBUSY));
        }
        self.group.set(&raw const graph.group);
        self.used.store(self.bits() | IN_GRAPH, Ordering::Relaxed);
        self.link(ptr::null());
        Ok(())
    }

    /// Makes `next` the next node of the graph.
    pub(super) fn link(&self, next: *const TaskNode) {
        self.home.set(Home { next });
    }

    /// The next node of the graph.
    pub(super) fn next(&self) -> *const TaskNode {
        // SAFETY: the node is in a graph.
        unsafe { self.home.get().next }
    }

    /// The node of a vertex.
    ///
    /// # Safety
    /// The vertex is a node's, which exists.
    pub(super) unsafe fn of<'a>(vertex: *const Vertex) -> &'a TaskNode {
        // SAFETY: the vertex is that of a node, which exists and begins with its vertex.
        unsafe { &*vertex.cast() }
    }

    /// The function and its argument.
    pub(super) fn call(&self) -> (usize, *mut c_void) {
        (self.f.get().map_or(0, |f| f as usize), self.closure.get())
    }

    /// Frees the memory of the edges to a node of a graph, which is not used any more.
    ///
    /// # Safety
    /// No vertex of the graph is used any more.
    pub(super) unsafe fn free_edges(&self) {
        // SAFETY: nobody uses an edge of the graph any more.
        unsafe { Chunk::free_all(self.chunk.replace(ptr::null_mut())) };
    }

    /// The node belongs to the group when it is made ready. Fails as `sched_node_group` does.
    pub fn join_group(&self, group: &Group) -> Result<(), Errno> {
        self.check_unready()?;
        self.group.set(group);
        Ok(())
    }

    /// The node's task has this level. Fails as `sched_node_level` does.
    pub fn set_level(&self, level: Level) -> Result<(), Errno> {
        self.check_unready()?;
        let bits = match level {
            Level::Normal => 0,
            Level::Urgent => URGENT,
            Level::Background => BACKGROUND,
        };
        self.used.store(self.bits() & !(URGENT | BACKGROUND) | bits, Ordering::Relaxed);
        Ok(())
    }

    fn level(&self) -> Level {
        match self.bits() & (URGENT | BACKGROUND) {
            0 => Level::Normal,
            URGENT => Level::Urgent,
            _ => Level::Background,
        }
    }

    /// Makes `before` a predecessor. Fails as `sched_after` does.
    ///
    /// # Safety
    /// The contract of `Vertex::follow`.
    pub unsafe fn follow(&self, before: &TaskNode) -> Result<(), Errno> {
        detector::ignored(|| {
            if ptr::eq(self, before) {
                return Err(Errno(libc::EINVAL));
            }
            if (self.bits() | before.bits()) & IN_GRAPH != 0 {
                self.check_graph(before)?;
            } else {
                self.check_unready()?;
            }
            detector::own(self);
            let edge = self.free_edge().ok_or(NoMemory)?;
            self.note_pending(before);
            // SAFETY: only the caller adds edges to this node; the edge is in memory of this node.
            if unsafe { self.vertex.follow(&before.vertex, edge) } {
                self.used.store(self.bits() + 1, Ordering::Relaxed);
                return Ok(());
            }
            self.note_late(ptr::from_ref(before).addr());
            if let Some(waiters) = before.waiters() {
                // The thread that ends the event has ended the vertex, and is about to leave.
                while !waiters.members.is_over() {
                    time::give_way();
                }
            }
            detector::acquire(before);
            Ok(())
        })
    }

    /// Fails with EINVAL if the nodes are not in the same graph. Fails with EBUSY if the graph
    /// runs.
    #[cold]
    fn check_graph(&self, before: &TaskNode) -> Result<(), Errno> {
        match (self.graph(), before.graph()) {
            (Some(graph), Some(other)) if ptr::eq(graph, other) => graph.begin_change(),
            _ => Err(Errno(libc::EINVAL)),
        }
    }

    /// Tells observers of a new edge. (The end of the other node removes it, perhaps at once.)
    #[inline]
    fn note_pending(&self, before: &TaskNode) {
        if pending::is_on() && self.graph().is_none() {
            pending::add(ptr::from_ref(self).addr(), ptr::from_ref(before).addr());
        }
    }

    /// Undoes `note_pending`, since the other node, whose address is `before`, had ended.
    #[inline]
    fn note_late(&self, before: usize) {
        if pending::is_on() {
            pending::remove(ptr::from_ref(self).addr(), before);
        }
    }

    /// Tells observers that the node of these edges has ended, and releases the edges. `worker` is
    /// the caller's worker, if the caller is a task.
    ///
    /// # Safety
    /// The contract of `Edges::release`.
    #[inline]
    unsafe fn tell_end(&self, edges: &Edges, worker: Option<&Worker>) {
        let worker = worker.filter(|worker| worker.hears_of_edges());
        if worker.is_some() || pending::is_on() {
            // SAFETY: each successor lives until it begins.
            unsafe { self.tell_end_to(edges, worker) };
        }
    }

    /// # Safety
    /// The contract of `tell_end`.
    #[cold]
    unsafe fn tell_end_to(&self, edges: &Edges, worker: Option<&Worker>) {
        // SAFETY: no edge is released yet.
        for to in unsafe { edges.ends() } {
            let is_there = pending::remove(to.addr(), ptr::from_ref(self).addr());
            if cfg!(debug_assertions) && !is_there && self.graph().is_none() {
                lost(); // `to` was read from memory of the node, and may be anything
            }
            worker.inspect(|worker| worker.tell_edge(to.addr()));
        }
    }

    /// A place for one more edge; None if there is no memory.
    fn free_edge(&self) -> Option<*mut Edge> {
        let used = self.edges();
        if used < ROOM {
            // SAFETY: the node has room for it.
            return Some(unsafe { self.own_edge(used) });
        }
        // The chunks have ROOM, twice ROOM, four times ROOM ... edges: each chunk has as many edges
        // as are used before it.
        let begin = ROOM << (used / ROOM).ilog2();
        if begin == used {
            let chunk = Chunk::new(self.chunk.get(), begin);
            if chunk.is_null() {
                return None;
            }
            self.chunk.set(chunk);
        }
        // SAFETY: the youngest chunk has the edges from `begin` on.
        Some(unsafe { Chunk::edge(self.chunk.get(), used - begin) })
    }

    /// # Safety
    /// This is no event, and `at` is less than `ROOM`.
    unsafe fn own_edge(&self, at: usize) -> *mut Edge {
        // SAFETY: the room holds edges, more than `at`.
        unsafe { (&raw mut (*self.room.get()).edges).cast::<Edge>().add(at) }
    }

    /// Returns what `sched_node_ready` returns, or the error of a call that has no effect.
    ///
    /// # Safety
    /// The contract of `Vertex::make_ready_alone`. The function accepts the closure, and the node
    /// lives until it has ended.
    pub unsafe fn make_ready(&self, worker: &Worker) -> Result<c_int, Errno> {
        self.check_unready()?;
        // SAFETY: null, or a group that lives until its tasks have been waited for.
        let group = unsafe { self.group.get().as_ref() };
        group.inspect(|group| group.members.enter());
        let task = self.task();
        detector::ignored(|| {
            self.home.set(Home { worker });
            self.seal();
            detector::own(self);
            detector::release(self);
        });
        // SAFETY: only the caller makes the node ready, and nobody adds edges to it.
        let outcome = if unsafe { self.vertex.make_ready_alone() } {
            let by = worker.mine().map_or(worker, Mine::worker);
            // SAFETY: the function accepts the closure.
            let outcome = unsafe {
                match self.level() {
                    Level::Normal => by.spawn(Some(task.f), task.closure),
                    level => by.spawn_at(level, task),
                }
            };
            if outcome != 0 {
                self.vertex.refused();
            }
            outcome
        } else if !detector::ignored(|| worker.hold_run()) {
            errno::failed(libc::EINVAL)
        } else {
            // SAFETY: only the caller makes it ready. If this returns true, this call starts it.
            detector::ignored(|| unsafe {
                if self.vertex.make_ready() {
                    start(self, Some(worker));
                }
            });
            0
        };
        if outcome != 0 {
            // SAFETY: the group has counted the node above.
            group.inspect(|group| unsafe { group.leave(Some(worker)) });
        }
        Ok(outcome)
    }

    fn sum(&self) -> usize {
        // SAFETY: each is a pointer.
        let home = unsafe { self.home.get().worker };
        let (f, closure) = self.call();
        check_sum(&[f, closure.addr(), home.addr(), self.group.get().addr()]) & SUM
    }

    /// In debug builds: stores a check sum of the node, which is made ready now.
    fn seal(&self) {
        if cfg!(debug_assertions) {
            self.used.store(self.bits() & !SUM | self.sum(), Ordering::Relaxed);
        }
    }

    /// In debug builds: ends the process if the node has changed since `seal`.
    fn check_seal(&self) {
        if cfg!(debug_assertions) && self.bits() & OWNED == 0 && self.bits() & SUM != self.sum() {
            lost();
        }
    }

    fn task(&self) -> Task {
        let f = if self.bits() & OWNED == 0 { run_node } else { run_owned };
        Task { f, closure: ptr::from_ref(self).cast_mut().cast() }
    }

    /// Returns what `sched_event_end` returns. The successors go to the tasks from outside, since
    /// a spawn may suspend its caller (in kind `cont`), and this call is no suspension point.
    pub fn end_event(&self) -> c_int {
        let Some(waiters) = self.waiters() else { return errno::failed(libc::EINVAL) };
        detector::release(self);
        detector::release(waiters);
        detector::ignored(|| {
            let Some(edges) = self.vertex.end() else { return errno::failed(libc::EALREADY) };
            let worker = Worker::current().map(Mine::worker);
            // SAFETY: `event` has counted one task, and only one call ends the vertex. This is the
            // last access to the event. Nodes live until they begin.
            unsafe {
                self.tell_end(&edges, worker);
                waiters.leave(worker);
                edges.release(|vertex| start(vertex.cast(), None));
            }
            0
        })
    }

    /// Returns what `sched_event_wait` returns; with a deadline, what `sched_event_wait_until`
    /// returns.
    pub fn wait(&self, deadline: Option<i64>, worker: Option<&Worker>) -> c_int {
        match self.waiters() {
            Some(waiters) => waiters.wait_for_event(deadline, worker, WaitsFor::event(self)),
            None => errno::failed(libc::EINVAL),
        }
    }
}

/// Queues the task of a ready node, and lets go of its run. `from` is a worker of the caller's run.
///
/// # Safety
/// The caller has taken the word of the node's vertex to 0.
unsafe fn start(node: *const TaskNode, from: Option<&Worker>) {
    // SAFETY: the node lives until it has run; records are never freed.
    unsafe {
        (*node).check_seal();
        let (home, task) = (&*(*node).home.get().worker, (*node).task());
        let mine = from.and_then(|from| from.mine_in_run_of(home));
        let is_spawned = |mine: Mine| mine.worker().spawn(Some(task.f), task.closure) == 0;
        match (*node).level() {
            Level::Normal if mine.is_some_and(is_spawned) => {}
            level => home.queue_held(level, task),
        }
        mine.map_or(home, Mine::worker).let_go_of_run();
    }
}

impl OwnedNode {
    /// Makes each node of `before` a predecessor. Their number is `edges`, and they do not end
    /// during the call. If None, there is no memory, and nothing has changed.
    ///
    /// # Safety
    /// The contract of `Vertex::follow`; the node has no edges yet.
    pub unsafe fn follow_all<'a>(
        &self,
        edges: usize,
        before: impl Iterator<Item = &'a OwnedNode>,
    ) -> Option<()> {
        let node = &self.node;
        node.used.store(OWNED | edges, Ordering::Relaxed);
        if edges > ROOM {
            let chunk = Chunk::new(ptr::null_mut(), edges);
            if chunk.is_null() {
                return None;
            }
            node.chunk.set(chunk);
        }
        // SAFETY: there is room for this many edges, in the node or in the chunk.
        let edge = |at| unsafe {
            match edges {
                0..=ROOM => node.own_edge(at),
                _ => Chunk::edge(node.chunk.get(), at),
            }
        };
        let with_edge = |(at, before): (usize, &'a OwnedNode)| {
            node.note_pending(&before.node);
            (&before.node.vertex, edge(at))
        };
        let late = |before: &Vertex| node.note_late(ptr::from_ref(before).addr());
        // SAFETY: only the caller adds edges to this node, which had none; each edge is unused.
        unsafe { node.vertex.follow_all(edges, before.enumerate().map(with_edge), late) };
        Some(())
    }

    /// Makes the node ready: it belongs to the group, which counts it, and runs in the run of
    /// `worker`, which is held for it.
    ///
    /// # Safety
    /// The contract of `TaskNode::make_ready`.
    pub unsafe fn make_ready(&self, group: &Group, worker: &Worker) {
        self.node.group.set(group);
        self.node.home.set(Home { worker });
        detector::release(&self.node);
        // SAFETY: only the caller makes it ready. If this returns true, this call starts it.
        unsafe {
            if self.node.vertex.make_ready() {
                start(&raw const self.node, Some(worker));
            }
        }
    }
}

#[cold]
fn lost() -> ! {
    output::die(format_args!(
        "the memory of a sched_node was freed or used for something else before its function began"
    ))
}

/// Tells observers that the task of a node begins.
///
/// # Safety
/// The caller runs the task, which was given `s`.
#[inline]
unsafe fn tell_beginning(node: *const TaskNode, s: *mut Scheduler) {
    // SAFETY: `s` is the worker of the node's task, whose node lives while it runs.
    let (worker, edges) = unsafe { (Worker::of(s), (*node).edges()) };
    if edges > 0 && worker.hears_of_edges() {
        worker.tell_end_of_edges(node.addr());
    }
}

/// The function of a node's task.
///
/// # Safety
/// `node` is a [`TaskNode`] that was started. `s` is the calling thread's worker.
unsafe extern "C" fn run_node(node: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the node was started, and `s` is the calling thread's worker.
    unsafe { run(node.cast(), s, || ()) };
}

/// The function of an owned node's task.
///
/// # Safety
/// The contract of `run_node`; the node is that of an [`OwnedNode`].
unsafe extern "C" fn run_owned(node: *mut c_void, s: *mut Scheduler) {
    let owned: *mut OwnedNode = node.cast();
    // SAFETY: the node is an `OwnedNode`, and was started; when `run` has returned, nobody uses it.
    unsafe {
        run(node.cast(), s, || detector::ignored(|| ((*owned).leave)(owned)));
        detector::ignored(|| ((*owned).free)(owned));
    }
}

/// Runs the task of a node: calls its function, then `leave`, and ends the vertex.
///
/// # Safety
/// The contract of `run_node`.
#[inline(always)]
unsafe fn run(node: *const TaskNode, s: *mut Scheduler, leave: impl FnOnce()) {
    // SAFETY: the node lives until it has ended; nobody uses its edges any more.
    let (f, closure, group) = detector::ignored(|| unsafe {
        detector::acquire(node);
        (*node).check_seal();
        Chunk::free_all((*node).chunk.replace(ptr::null_mut()));
        (*node).vertex.prefetch_edges();
        ((*node).f.get(), (*node).closure.get(), (*node).group.get().as_ref())
    });
    // SAFETY: as above.
    unsafe { tell_beginning(node, s) };
    let call = || {
        if let Some(f) = f {
            // SAFETY: the program promises that `f` accepts its closure and returns.
            call_guarded::<NodeTask, _>(|| unsafe { f(closure, s) });
        }
    };
    // SAFETY: as above; the task was given to the run of `s`. The caller's worker may differ from
    // `s` after the call of the function.
    unsafe {
        let end = || {
            leave();
            detector::release(node);
            detector::ignored(|| {
                let Some(edges) = (*node).vertex.end() else { return };
                (*node).tell_end(&edges, Some(Worker::current_in_run_of(s)));
                edges.release(|vertex| start(vertex.cast(), Some(Worker::current_in_run_of(s))));
            });
        };
        match group {
            Some(group) => group.run(s, call, end),
            None => {
                call();
                end();
            }
        }
    }
}

/// The function of the task of a node in a graph.
///
/// # Safety
/// The contract of `run_node`; the node is in a graph, in which it was started.
unsafe extern "C" fn run_in_graph(node: *mut c_void, s: *mut Scheduler) {
    let node: *const TaskNode = node.cast();
    // SAFETY: the nodes of the graph live during its run, whose group counts this one. The task was
    // given to the run of `s`. The caller's worker may differ from `s` after the function's call.
    unsafe {
        let (f, closure, group) = detector::ignored(|| {
            detector::acquire(node);
            (*node).vertex.set_back((*node).edges());
            (*node).vertex.prefetch_edges();
            ((*node).f.get().unwrap_unchecked(), (*node).closure.get(), &*(*node).group.get())
        });
        tell_beginning(node, s);
        let call = || call_guarded::<NodeTask, _>(|| f(closure, s));
        let end = || {
            detector::release(node);
            detector::ignored(|| {
                let worker = Worker::current_in_run_of(s);
                let edges = (*node).vertex.successors();
                (*node).tell_end(&edges, Some(worker));
                edges.release(|vertex| TaskNode::of(vertex).start_in_graph(worker));
            });
        };
        group.run(s, call, end);
    }
}

impl TaskNode {
    /// Queues the task of a node in a graph. `worker` is in the graph's run, which does not end
    /// until the node has ended.
    ///
    /// # Safety
    /// The graph runs, all predecessors of the node have ended, and this is the only call since.
    pub(super) unsafe fn start_in_graph(&self, worker: &Worker) {
        let task = Task { f: run_in_graph, closure: ptr::from_ref(self).cast_mut().cast() };
        let by = worker.mine().map_or(worker, Mine::worker);
        // SAFETY: the node is ready and is started once; `run_in_graph` accepts it.
        unsafe {
            match self.level() {
                Level::Normal if by.spawn(Some(task.f), task.closure) == 0 => {}
                level => worker.queue_held(level, task),
            }
        }
    }

    /// True if this is the task of a node in the graph with this group.
    pub(super) fn is_in_graph(task: Task, group: &Group) -> bool {
        ptr::fn_addr_eq(task.f, run_in_graph as TaskFn)
            // SAFETY: the task is queued, so its node exists.
            && unsafe { ptr::eq((*task.closure.cast::<TaskNode>()).group.get(), group) }
    }
}

/// The program's function of a node's task. None if the task is not a node's.
pub fn function_of(f: TaskFn, closure: *mut c_void) -> Option<usize> {
    [run_node as TaskFn, run_owned, run_in_graph]
        .iter()
        .any(|&run| ptr::fn_addr_eq(f, run))
        // SAFETY: the task is queued, so the node exists.
        .then(|| unsafe { (*closure.cast::<TaskNode>()).f.get() })?
        .map(|f| f as usize)
}
