//! The order among tasks: each vertex begins once, after all vertices before it, and sees what they
//! have written; also if an edge is added while the vertex before it ends.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread::JoinHandle;
use sched::sync::dag::{Edge, Vertex};
use sched_model::{Reached, explore, join, thread_with};
use std::cell;
use std::ptr;

const MOST: usize = 3;

/// A vertex, its written value, and the places of the edges to it.
struct Node {
    vertex: Vertex,
    edges: cell::UnsafeCell<[Edge; 2]>,
    written: UnsafeCell<usize>,
    before: &'static [usize],
}

impl Node {
    fn times_run(&self) -> usize {
        // SAFETY: loom checks that no other thread writes it now.
        self.written.with(|at| unsafe { *at })
    }
}

/// Vertices by their numbers. Each begins on the thread that starts it.
struct Graph([Node; MOST]);

// SAFETY: loom checks the accesses to the values that the vertices write, and to the edges.
unsafe impl Send for Graph {}
// SAFETY: as above.
unsafe impl Sync for Graph {}

impl Graph {
    fn new(before: [&'static [usize]; MOST]) -> Arc<Graph> {
        Arc::new(Graph(before.map(|before| Node {
            vertex: Vertex::new(),
            edges: cell::UnsafeCell::new([Edge::unused(), Edge::unused()]),
            written: UnsafeCell::new(0),
            before,
        })))
    }

    /// The task of vertex `n`.
    fn run(&self, n: usize) {
        let node = &self.0[n];
        for &before in node.before {
            assert_eq!(self.0[before].times_run(), 1, "{n} after {before}");
        }
        // SAFETY: loom checks that no other thread uses it now.
        node.written.with_mut(|at| unsafe { *at += 1 });
        // SAFETY: the vertex has begun, so the edges to it are its own again.
        unsafe { *node.edges.get() = [Edge::unused(), Edge::unused()] };
        if let Some(edges) = node.vertex.end() {
            // SAFETY: the vertices live until the end of the model.
            unsafe { edges.release(|vertex| self.start(vertex)) };
        }
    }

    /// Like `run`, in the given run of a graph that runs again.
    fn run_in_graph(&self, n: usize, run: usize) {
        let node = &self.0[n];
        node.vertex.set_back(node.before.len());
        for &before in node.before {
            assert_eq!(self.0[before].times_run(), run, "{n} after {before}");
        }
        // SAFETY: loom checks that no other thread uses it now.
        node.written.with_mut(|at| unsafe { *at += 1 });
        let start = |vertex| self.run_in_graph(self.number(vertex), run);
        // SAFETY: the vertices live until the end of the model.
        unsafe { node.vertex.successors().release(start) };
    }

    fn start(&self, vertex: *const Vertex) {
        self.run(self.number(vertex));
    }

    fn number(&self, vertex: *const Vertex) -> usize {
        let is_it = |node: &Node| ptr::eq(&raw const node.vertex, vertex);
        self.0.iter().position(is_it).expect("a vertex of the graph")
    }

    /// Adds the edges to vertex `n`, and makes it ready, as `api::dag` does. Returns how many edges
    /// were added too late.
    fn make_ready(&self, n: usize) -> usize {
        let node = &self.0[n];
        let mut late = 0;
        for (place, &before) in node.before.iter().enumerate() {
            // SAFETY: the vertex is not ready, and only this thread adds edges to it.
            let added = unsafe {
                let edge = node.edges.get().cast::<Edge>().add(place);
                node.vertex.follow(&self.0[before].vertex, edge)
            };
            late += usize::from(!added);
        }
        // SAFETY: only this thread makes it ready.
        unsafe {
            if node.vertex.make_ready_alone() || node.vertex.make_ready() {
                self.run(n);
            }
        }
        late
    }

    fn check(&self) {
        for (n, node) in self.0.iter().enumerate() {
            assert_eq!(node.times_run(), 1, "vertex {n}");
        }
    }
}

fn make_ready_beside(graph: &Arc<Graph>, n: usize) -> JoinHandle<()> {
    thread_with(graph, move |graph| _ = graph.make_ready(n))
}

static LATE: Reached = Reached::not_yet();
static EARLY: Reached = Reached::not_yet();

/// One vertex ends while edges to two others are added.
#[test]
fn an_edge_beside_an_end() {
    explore("dag, edges beside an end", 3, 50, || {
        let graph = Graph::new([&[], &[0], &[0]]);
        let ends = make_ready_beside(&graph, 0);
        let late = graph.make_ready(1) + graph.make_ready(2);
        LATE.note(late == 2);
        EARLY.note(late == 0);
        join([ends]);
        graph.check();
    });
    LATE.expect("two edges that are too late");
    EARLY.expect("two edges in time");
}

/// Two vertices end while the one behind both is made ready.
#[test]
fn the_last_one_starts() {
    explore("dag, two ends beside make_ready", 3, 200, || {
        let graph = Graph::new([&[], &[], &[0, 1]]);
        let ends = [0, 1].map(|n| make_ready_beside(&graph, n));
        graph.make_ready(2);
        join(ends);
        graph.check();
    });
}

/// Two threads add edges to one vertex that ends.
#[test]
fn two_add_edges() {
    explore("dag, two add edges", 3, 200, || {
        let graph = Graph::new([&[], &[0], &[0]]);
        let adds = [1, 2].map(|n| make_ready_beside(&graph, n));
        graph.make_ready(0);
        join(adds);
        graph.check();
    });
}

/// A graph that runs twice: two vertices end while the counts of the one behind both, which were
/// set before the first run, are set back by itself.
#[test]
fn a_graph_runs_again() {
    explore("dag, two runs of a graph", 3, 10, || {
        let graph = Graph::new([&[], &[], &[0, 1]]);
        for &before in graph.0[2].before {
            // SAFETY: nobody else uses the graph yet.
            let added = unsafe {
                let edge = graph.0[2].edges.get().cast::<Edge>().add(before);
                graph.0[2].vertex.follow(&graph.0[before].vertex, edge)
            };
            assert!(added);
        }
        graph.0.iter().for_each(|node| node.vertex.set_back(node.before.len()));
        for run in 1..=2 {
            let other = thread_with(&graph, move |graph| graph.run_in_graph(0, run));
            graph.run_in_graph(1, run);
            join([other]);
            for (n, node) in graph.0.iter().enumerate() {
                assert_eq!(node.times_run(), run, "vertex {n}");
            }
        }
    });
}
