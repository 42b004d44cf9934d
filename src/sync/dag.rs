//! The order among tasks: a directed acyclic graph, whose *vertices* are tasks, and whose *edges* say
//! that one task begins after another has ended.
//!
//! ```text
//! before   twice the number of vertices before this one that have not ended, + 1 until it is ready
//! after    the edges to the vertices after this one, linked; the youngest first. ENDED: it has ended
//! ```
//!
//! # Protocol
//!
//! A vertex counts the vertices before it, and 1 for the program, which makes the vertex *ready* when
//! it has added all edges. Whoever takes the word `before` to 0 starts the vertex: the last of the
//! vertices before it, or the program.
//!
//! An edge lies in memory of the vertex that it leads to. That vertex begins after all edges to it
//! were taken out of their lists, so the memory exists for long enough. A new edge first counts, and
//! then is pushed onto the list of the vertex before. That vertex's end swaps the list for ENDED, its
//! last access to its own memory, and then counts down for each edge. A push that finds ENDED takes
//! its count back: there is nothing to wait for. (A list that one side pushes to and the other takes
//! as a whole has no problem of reused addresses. R. K. Treiber, "Systems programming: coping with
//! parallelism", 1986.)
//!
//! # The bad interleavings
//!
//! *An edge is pushed while the vertex before it ends.* The exchange of the push and the swap of the
//! end are operations on one word. If the push is first, the swap returns the edge; if the swap is
//! first, the push finds ENDED, and fails for good.
//!
//! *A vertex starts twice, or before its time.* The push has counted before it can be seen, so the
//! number never misses an edge; and the 1 of the program lasts until all have been counted. Each
//! count is taken back once, and only one of these subtractions gives 0.
//!
//! *The end follows an edge whose memory is gone.* The end reads an edge, and the next one, before it
//! takes back the count of the first, since the vertex may begin, end and be freed right after that.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `end`: swap of `after` | Release | `follow`: load; who finds ENDED sees what the vertex has written |
//! | `end`: swap of `after` | Acquire | `follow`: exchange; the edge is read |
//! | `follow`: exchange | Release | the swap in `end` |
//! | `follow`: load of `after` | Acquire | the swap in `end` |
//! | `release`, `make_ready`: subtractions | AcqRel | each other: the starter sees what each has written |
//! | `make_ready_alone`: load | Acquire | the subtractions in `release` |
//! | `follow`: addition, and what takes it back; `refused` | Relaxed | none: the caller makes ready |

use crate::sys::atomic::{AtomicPtr, AtomicUsize, Ordering, UnsafeCell};
use crate::sys::detector;
use std::ptr;

/// An edge to a vertex. It lies in memory of that vertex.
#[repr(C)]
pub struct Edge {
    next: UnsafeCell<*mut Edge>,
    to: UnsafeCell<*const Vertex>,
}

/// A task that begins after others have ended.
#[repr(C)]
pub struct Vertex {
    before: AtomicUsize,
    after: AtomicPtr<Edge>,
}

/// The bit of `before` until the vertex is ready.
const UNREADY: usize = 1;
/// A vertex before this one, in `before`.
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
        // SAFETY: by the caller's promise.
        unsafe {
            (*edge).next.with_mut(|at| *at = next);
            (*edge).to.with_mut(|at| *at = to);
        }
    }

    /// # Safety
    /// The edge exists, and nobody writes to it.
    unsafe fn get(edge: *mut Edge) -> (*mut Edge, *const Vertex) {
        // SAFETY: by the caller's promise.
        unsafe { ((*edge).next.with(|at| *at), (*edge).to.with(|at| *at)) }
    }
}

impl Vertex {
    /// A vertex that is not ready, and comes after no other.
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

    pub fn has_ended(&self) -> bool {
        self.after.load(Ordering::Acquire) == ended() // pairs with `end`
    }

    /// For an observer: the number of vertices before this one that have not ended.
    pub fn waits_for(word: usize) -> usize {
        word / ONE
    }

    /// Adds an edge: this vertex begins after `before` has ended. False: it has ended already, and
    /// the edge is not used.
    ///
    /// # Safety
    /// Only the caller adds edges to this vertex, which is not ready. The edge is unused, and lives
    /// until the vertex begins; so does the vertex. `before` has not ended, or lives during the call.
    pub unsafe fn follow(&self, before: &Vertex, edge: *mut Edge) -> bool {
        let mut first = before.after.load(Ordering::Acquire); // pairs with `end`
        if first == ended() {
            return false;
        }
        self.before.fetch_add(ONE, Ordering::Relaxed);
        loop {
            // SAFETY: nobody else uses the edge before the exchange.
            unsafe { Edge::set(edge, first, self) };
            let (release, acquire) = (Ordering::Release, Ordering::Acquire); // pair with `end`
            match before.after.compare_exchange_weak(first, edge, release, acquire) {
                Ok(_) => return true,
                Err(now) if now == ended() => break,
                Err(now) => first = now,
            }
        }
        self.before.fetch_sub(ONE, Ordering::Relaxed); // not to 0: the vertex is not ready
        false
    }

    /// Makes the vertex ready, if no vertex before it is left. Then the caller starts it, or calls
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

    /// Makes the vertex ready. True: the caller starts it.
    ///
    /// # Safety
    /// As for `make_ready_alone`. If this returns false, the vertex may be gone.
    pub unsafe fn make_ready(&self) -> bool {
        self.before.fetch_sub(UNREADY, Ordering::AcqRel) == UNREADY
    }

    /// The vertex has ended; this is the last access to it. Returns the edges to the vertices after
    /// it. None: it had ended before.
    pub fn end(&self) -> Option<Edges> {
        let first = self.after.swap(ended(), Ordering::AcqRel); // pairs with `follow`
        (first != ended()).then_some(Edges(first))
    }
}

/// The edges from a vertex that has ended.
#[must_use]
pub struct Edges(*mut Edge);

impl Edges {
    /// Takes back what the edges count, and calls `start` with each vertex that can begin now.
    ///
    /// # Safety
    /// Each vertex that was passed to `follow` lives until it begins.
    pub unsafe fn release(self, mut start: impl FnMut(*const Vertex)) {
        let Edges(mut edge) = self;
        while !edge.is_null() {
            // SAFETY: the edge lives until the vertex that it leads to begins, and so at least until
            // its count is taken back.
            unsafe {
                let (next, to) = Edge::get(edge);
                detector::release(to);
                if (*to).before.fetch_sub(ONE, Ordering::AcqRel) == ONE {
                    start(to);
                }
                edge = next;
            }
        }
    }
}
