//! The order among tasks: a directed acyclic graph. Its *vertices* are tasks, and an *edge* says
//! that one task, the successor, begins after another one, the predecessor, has ended.
//!
//! ```text
//! before   twice the number of predecessors that have not ended, + 1 until the vertex is ready
//! after    the edges to the successors, linked, the youngest first; ENDED: the vertex has ended
//! ```
//!
//! # Protocol
//!
//! A vertex counts its predecessors, and 1 for the program, which makes the vertex *ready* when it
//! has added all edges. The thread that takes `before` to 0 starts the vertex: the last
//! predecessor's, or the program's.
//!
//! An edge lies in memory of its successor. The successor begins after all edges to it were taken
//! out of their lists, so this memory exists for as long as the edges are used. `follow` first
//! counts the new edge, and then pushes it onto the predecessor's list. `end` swaps that list for
//! ENDED, which is the last access to the predecessor, and then takes back the count of each edge.
//! A `follow` that finds ENDED takes its own count back, since there is nothing to wait for.
//! (Reused addresses are no problem for a list that is pushed to and taken as a whole. R. K.
//! Treiber, "Systems programming: coping with parallelism", 1986.)
//!
//! # The bad interleavings
//!
//! *An edge is added while its predecessor ends.* `follow` exchanges, and `end` swaps, the same
//! word. If `follow` is first, `end` gets the edge; if `end` is first, `follow` finds ENDED.
//!
//! *A vertex starts twice, or too early.* The program's 1 lasts until all edges are counted: until
//! then the word is odd, and no subtraction gives 0. Each count is taken back once, and only one
//! subtraction gives 0.
//!
//! *`end` follows an edge whose memory is gone.* The successor may begin, end and be freed as soon
//! as the count of its edge is taken back. So `end` reads the link to the next edge before that.
//!
//! # A graph that runs again
//!
//! The vertices of a graph that is run any number of times keep their edges. `set_back` sets
//! `before` before the first run; the program's 1 is not in it. A vertex that ends leaves its list
//! as it is (`successors`). A vertex that begins has been counted down to 0, so nobody uses its
//! word until the next run: it sets the word back itself. So a run visits only the vertices without
//! predecessors, and not all, before it starts.
//!
//! The next run begins when all vertices have ended, which the caller of `set_back` and
//! `successors` sees to. No edge is added during a run.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `end`: swap of `after` | Release | `follow`: load; who finds ENDED sees what the vertex has written |
//! | `end`: swap of `after` | Acquire | `follow`: exchange; the edge is read |
//! | `follow`: exchange | Release | the swap in `end` |
//! | `follow`, `has_ended`: load of `after` | Acquire | the swap in `end` |
//! | `release`, `make_ready`: subtractions | AcqRel | each other: the starter sees what each has written |
//! | `make_ready_alone`: load | Acquire | the subtractions in `release` |
//! | `follow`, `follow_all`: the count, and what takes it back; `refused` | Relaxed | none: the caller makes ready |
//! | `set_back`, `count_down`, `is_counted`; `successors`: load | Relaxed | none: the end of each run orders the runs |
//! | `prefetch_edges`: load of `after` | Relaxed | none: a hint |

use crate::sys::atomic::{AtomicPtr, AtomicUsize, Ordering, UnsafeCell};
use crate::sys::{detector, memory};
use std::ptr;

/// An edge to a vertex. It lies in memory of that vertex.
#[repr(C)]
pub struct Edge {
    next: UnsafeCell<*mut Edge>,
    to: UnsafeCell<*const Vertex>,
}

/// A task of the graph.
#[repr(C)]
pub struct Vertex {
    before: AtomicUsize,
    after: AtomicPtr<Edge>,
}

/// The bit of `before` until the vertex is ready.
const UNREADY: usize = 1;
/// One predecessor, in `before`.
const ONE: usize = 2;

/// The list of a vertex that has ended.
fn ended() -> *mut Edge {
    ptr::without_provenance_mut(1)
}

impl Edge {
    pub fn unused() -> Self {
        Edge { next: UnsafeCell::new(ptr::null_mut()), to: UnsafeCell::new(ptr::null()) }
    }

    /// # Safety
    /// The edge exists, and nobody else uses it.
    unsafe fn set(edge: *mut Edge, next: *mut Edge, to: *const Vertex) {
        // SAFETY: the edge exists, and nobody else uses it.
        unsafe {
            (*edge).next.with_mut(|at| *at = next);
            (*edge).to.with_mut(|at| *at = to);
        }
    }

    /// # Safety
    /// The edge exists, and nobody writes to it.
    unsafe fn get(edge: *mut Edge) -> (*mut Edge, *const Vertex) {
        // SAFETY: the edge exists, and nobody writes to it.
        unsafe { ((*edge).next.with(|at| *at), (*edge).to.with(|at| *at)) }
    }
}

/// The data that an observer finds in the word of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenVertex {
    pub is_ready: bool,
    /// The number of predecessors that have not ended.
    pub before: usize,
}

impl Vertex {
    /// The word, with which a vertex begins.
    pub fn seen(word: usize) -> SeenVertex {
        SeenVertex { is_ready: word & UNREADY == 0, before: word / ONE }
    }

    /// For a debugger: the numbers that `seen` uses.
    pub const FOR_DEBUGGER: [(&str, usize); 2] = [("node.unready", UNREADY), ("node.one", ONE)];

    /// A vertex that is not ready, without predecessors.
    #[allow(clippy::new_without_default, reason = "one constructor is enough")]
    pub fn new() -> Self {
        Vertex { before: AtomicUsize::new(UNREADY), after: AtomicPtr::new(ptr::null_mut()) }
    }

    /// A vertex that is never made ready, since the program ends it.
    pub fn ended_by_hand() -> Self {
        Vertex { before: AtomicUsize::new(0), after: AtomicPtr::new(ptr::null_mut()) }
    }

    /// True until `make_ready`, or a `make_ready_alone` that is not followed by `refused`.
    pub fn is_unready(&self) -> bool {
        self.before.load(Ordering::Relaxed) & UNREADY != 0
    }

    /// Adds an edge: `before` is a predecessor of this vertex. False if `before` has ended already,
    /// and the edge is not used.
    ///
    /// # Safety
    /// Only the caller adds edges to this vertex, which is not ready. The edge is unused.
    /// It and the vertex live until the vertex begins. `before` has not ended, or lives during the
    /// call.
    pub unsafe fn follow(&self, before: &Vertex, edge: *mut Edge) -> bool {
        if before.has_ended() {
            return false;
        }
        self.before.fetch_add(ONE, Ordering::Relaxed);
        // SAFETY: the edge is unused and counted, and lives until the vertex begins.
        let is_added = unsafe { self.push_edge(before, edge) };
        if !is_added {
            self.before.fetch_sub(ONE, Ordering::Relaxed); // not to 0: the vertex is not ready
        }
        is_added
    }

    /// Like `follow` with each of `edges` predecessors and a place for its edge, but the edges are
    /// counted at once. Calls `late` with each predecessor that has ended already.
    ///
    /// # Safety
    /// The contract of `follow`; the vertex has no edges yet.
    pub unsafe fn follow_all<'a>(
        &self,
        edges: usize,
        before: impl Iterator<Item = (&'a Vertex, *mut Edge)>,
        late: impl Fn(&Vertex),
    ) {
        // The vertex has no edge yet, so no other thread changes the word.
        self.before.store(UNREADY + edges * ONE, Ordering::Relaxed);
        let mut missing = 0;
        for (before, edge) in before {
            // SAFETY: the edge is unused and counted, and lives until the vertex begins.
            if !unsafe { self.push_edge(before, edge) } {
                late(before);
                missing += ONE;
            }
        }
        if missing > 0 {
            self.before.fetch_sub(missing, Ordering::Relaxed); // as in `follow`
        }
    }

    /// Adds the edge of `follow`, which is counted already. False if `before` has ended.
    ///
    /// # Safety
    /// The contract of `follow`.
    #[inline(always)]
    unsafe fn push_edge(&self, before: &Vertex, edge: *mut Edge) -> bool {
        let mut first = before.after.load(Ordering::Acquire); // pairs with `end`
        while first != ended() {
            // SAFETY: nobody else uses the edge before the exchange.
            unsafe { Edge::set(edge, first, self) };
            let (release, acquire) = (Ordering::Release, Ordering::Acquire); // pair with `end`
            match before.after.compare_exchange_weak(first, edge, release, acquire) {
                Ok(_) => return true,
                Err(now) => first = now,
            }
        }
        false
    }

    /// Makes the vertex ready, if no predecessor is left. Then the caller starts it, or calls
    /// `refused`.
    ///
    /// # Safety
    /// Only the caller makes it ready, and nobody adds edges to it.
    pub unsafe fn make_ready_alone(&self) -> bool {
        let is_alone = self.before.load(Ordering::Acquire) == UNREADY; // pairs with `release`
        if is_alone {
            self.before.store(0, Ordering::Relaxed);
        }
        is_alone
    }

    /// Undoes `make_ready_alone`, because the vertex could not be started.
    pub fn refused(&self) {
        self.before.store(UNREADY, Ordering::Relaxed);
    }

    /// Makes the vertex ready. True if the caller starts it.
    ///
    /// # Safety
    /// The contract of `make_ready_alone`. If this returns false, the vertex may be gone.
    pub unsafe fn make_ready(&self) -> bool {
        self.before.fetch_sub(UNREADY, Ordering::AcqRel) == UNREADY
    }

    /// Sets the number of predecessors of a vertex of a graph that runs again. The vertex or the
    /// graph is about to begin.
    pub fn set_back(&self, predecessors: usize) {
        self.before.store(ONE * predecessors, Ordering::Relaxed);
    }

    /// Takes back the count of one edge, while the graph is checked and does not run. Returns true
    /// if that was the last one.
    pub fn count_down(&self) -> bool {
        let left = self.before.load(Ordering::Relaxed) - ONE;
        self.before.store(left, Ordering::Relaxed);
        left == 0
    }

    /// False if `count_down` has returned true.
    pub fn is_counted(&self) -> bool {
        self.before.load(Ordering::Relaxed) > 0
    }

    /// The edges to the successors of a vertex of a graph that runs again, while no edge is added.
    pub fn successors(&self) -> Edges {
        Edges(self.after.load(Ordering::Relaxed))
    }

    /// True if an edge leads from the vertex, or the vertex has ended.
    pub fn has_successors(&self) -> bool {
        !self.successors().0.is_null()
    }

    /// True after `end`. Then the caller sees what the vertex has written.
    pub fn has_ended(&self) -> bool {
        self.after.load(Ordering::Acquire) == ended() // pairs with `end`
    }

    /// Prefetches the edge that was added last, for `end`.
    #[inline]
    pub fn prefetch_edges(&self) {
        prefetch(self.after.load(Ordering::Relaxed));
    }

    /// Ends the vertex; this is the last access to it. Returns the edges to the successors. None if
    /// the vertex had ended before.
    pub fn end(&self) -> Option<Edges> {
        let first = self.after.swap(ended(), Ordering::AcqRel); // pairs with `follow`
        (first != ended()).then_some(Edges(first))
    }
}

/// Prefetches an edge and the line before it, where its vertex may be: the vertex may have been
/// made long ago, and the two lines come at the same time.
#[inline(always)]
fn prefetch(edge: *mut Edge) {
    if !edge.is_null() {
        memory::prefetch_to_write(edge.wrapping_byte_sub(64).cast());
        memory::prefetch_to_write(edge.cast());
    }
}

/// The edges to the successors of a vertex that has ended.
#[must_use]
pub struct Edges(*mut Edge);

impl Edges {
    /// The target vertices of the edges, the youngest edge first. For a graph that runs again.
    ///
    /// # Safety
    /// The vertices exist, and no edge is added meanwhile.
    pub unsafe fn ends(&self) -> impl Iterator<Item = *const Vertex> + use<> {
        let mut edge = self.0;
        std::iter::from_fn(move || {
            if edge.is_null() {
                return None;
            }
            // SAFETY: the vertices with their edges exist, and no edge is added.
            let (next, to) = unsafe { Edge::get(edge) };
            edge = next;
            Some(to)
        })
    }

    /// Takes back the count of each edge, and calls `start` with each successor that can begin now.
    ///
    /// # Safety
    /// Each vertex that was passed to `follow` lives until it begins.
    pub unsafe fn release(self, mut start: impl FnMut(*const Vertex)) {
        let Edges(mut edge) = self;
        while !edge.is_null() {
            // SAFETY: the edge lives until the vertex that it leads to begins, and so at least
            // until its count is taken back.
            unsafe {
                let (next, to) = Edge::get(edge);
                prefetch(next);
                detector::release(to);
                if (*to).before.fetch_sub(ONE, Ordering::AcqRel) == ONE {
                    start(to);
                }
                edge = next;
            }
        }
    }
}
