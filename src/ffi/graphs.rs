//! Graphs in the C interface: nodes and edges that run any number of times.
//! `include/sched_tasks.h` is made from this and other files.

use crate::api::dag::TaskNode;
use crate::api::graph::Graph;
use crate::ffi::nodes::sched_node;
use crate::ffi::{INVALID, given, object, report, set};
use crate::task::Scheduler;
use std::ffi::{c_int, c_void};

/// A graph consists of nodes and edges that are made once and run any number of times.
/// SCHED_GRAPH_INIT is a graph without nodes, and sched_graph_init makes such a graph. A graph must
/// not be copied.
#[repr(C)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct sched_graph {
    // For the library only.
    group: [usize; 4],
    state: usize,
    roots: usize,
    first: *mut c_void,
    last: *mut c_void,
    nodes: usize,
}

/// Makes *graph a graph without nodes, as SCHED_GRAPH_INIT does for a variable.
///
/// Returns 0, or -1 with errno: EINVAL (graph is NULL).
/// Not thread-safe: nobody may use the graph at the same time. Cost: some stores.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_graph_init(graph: *mut sched_graph) -> c_int {
    set(graph, Graph::without_nodes())
}

/// Puts a node into the graph: one that sched_node_init has made, without edges, and that is in no
/// group. sched_after then adds edges between nodes of the graph, and sched_graph_run runs them. A
/// node of a graph must not be passed to sched_node_ready or sched_node_group, and must live as
/// long as the graph is used.
///
/// Returns 0, or -1 with errno, and nothing has changed: EINVAL (graph or n is NULL, or n is an
/// event, or in a graph), EBUSY (the graph runs, or n has an edge, is in a group, or was made
/// ready).
/// Not thread-safe: nobody may use the node, or change the graph, at the same time. Cost: some
/// stores.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_graph_add(graph: *mut sched_graph, n: *mut sched_node) -> c_int {
    // SAFETY: the pointers are NULL, or point to initialised objects; the rest is the program's
    // promise.
    report(|| unsafe { object::<Graph>(graph)?.add(object::<TaskNode>(n)?).map(|()| 0) })
}

/// Runs each node of the graph once, in the run of s, and returns when all have ended. A node
/// begins when all its predecessors have ended, and sees what they have written. The graph may be
/// run again, also in another run, and may be changed between two runs. If the caller is not a task
/// of the run, it works on the graph itself, as in sched_for.
///
/// The first run after a change looks for circles. If the graph has one, the call writes a line to
/// stderr that names the functions of its nodes, and fails.
///
/// Returns 0, or -1 with errno: ECANCELED (sched_graph_cancel was called; the functions of some
/// nodes were perhaps not called), and, if no node was run: EINVAL (graph is NULL, or the run of s
/// has ended), EBUSY (the graph runs), EDEADLK (the graph has a circle), ENOMEM (memory could not
/// be allocated; only the first run after a change allocates).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe; but nobody may change the graph at the same time. Cost: that of sched_spawn for
/// each node, and an atomic operation for each edge. The first run after a change also sorts the
/// nodes.
///
/// Example:
///
///     sched_graph graph = SCHED_GRAPH_INIT;
///     sched_node load, filter, store;
///     sched_node_init(&load, load_frame, &frame);
///     ...                                 (and the other two; then sched_graph_add for all three)
///     sched_after(&filter, &load);
///     sched_after(&store, &filter);
///     while (has_frame())
///         if (sched_graph_run(&graph, s) != 0)
///             return -1;
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_graph_run(graph: *mut sched_graph, s: *mut Scheduler) -> c_int {
    // SAFETY: `graph` is NULL, or points to a graph; the rest is the caller's promise.
    report(|| unsafe { Ok(object::<Graph>(graph)?.run(given(s)?)) })
}

/// Cancels the run of the graph that is in progress: the functions of its nodes that have not begun
/// are not called, and sched_graph_run returns -1 with ECANCELED. sched_group_cancel(3) says what
/// else a cancellation reaches. If the graph does not run, the next run is cancelled.
///
/// Returns 0, or -1 with errno: EINVAL (graph is NULL).
/// Thread-safe; async-signal-safe. Cost: an atomic operation and a fence.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_graph_cancel(graph: *mut sched_graph) -> c_int {
    report(|| {
        // SAFETY: `graph` is NULL, or points to a graph.
        unsafe { object::<Graph>(graph) }?.group().cancel();
        Ok(0)
    })
}

/// Writes the graph to an open file in the language of graphviz's dot(1): a box for each node, with
/// the name of its function, and an arrow from each predecessor to each successor. If the graph has
/// a circle, the nodes and edges of one are red.
///
/// Returns 0, or -1 with errno: EINVAL (graph or file is NULL), EBUSY (the graph runs), ENOMEM
/// (there is no memory), or an error of fwrite(3).
/// Not thread-safe: nobody may run or change the graph at the same time. Cost: some microseconds
/// for each node, and some hundred for each function that it has not looked up.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_graph_dot(graph: *mut sched_graph, file: *mut libc::FILE) -> c_int {
    report(|| {
        // SAFETY: `graph` is NULL, or points to a graph.
        let graph = unsafe { object::<Graph>(graph) }?;
        if file.is_null() {
            return Err(INVALID);
        }
        // SAFETY: the file is open, by the program's promise.
        unsafe { graph.write_dot(file) }.map(|()| 0)
    })
}

/// Takes all nodes out of the graph, and frees the memory that the library has allocated for the
/// edges of nodes with more than four predecessors. It has allocated nothing else. The nodes may be
/// made anew.
///
/// Returns 0, or -1 with errno: EINVAL (graph is NULL), EBUSY (the graph runs).
/// Not thread-safe: nobody may use the graph or its nodes at the same time. Cost: that of free(3)
/// for each such node.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_graph_destroy(graph: *mut sched_graph) -> c_int {
    // SAFETY: `graph` is NULL, or points to a graph; the rest is the program's promise.
    report(|| unsafe { object::<Graph>(graph)?.destroy().map(|()| 0) })
}
