//! Graphs: nodes and edges that a program makes once and runs any number of times.
//!
//! A graph is a list of nodes (`api::dag`) and a group, whose tasks they are during a run. A run
//! counts all nodes in the group, and spawns those without predecessors, the *roots*. The others
//! are spawned as their predecessors end (`sync::dag`, "A graph that runs again"). So a run
//! allocates nothing, and touches only the roots before they begin.
//!
//! # The check
//!
//! The first run after a change sorts the list topologically (A. B. Kahn, "Topological sorting of
//! large networks", 1962), with the roots in front, and sets the counts of predecessors. If nodes
//! are left over, some of them are in a circle; then the run is refused.
//!
//! # Who uses a graph
//!
//! `graph_state` tells whether the graph runs. The calls that change the graph, and `dot`, are not
//! thread-safe among themselves; during a run they fail with EBUSY. A run claims the graph by an
//! exchange, and gives it back when its group has no task left. The last access of a task to its
//! node comes before it leaves the group, so the nodes are free after the run.

use crate::api::dag::TaskNode;
use crate::api::graph_state::GraphState;
use crate::api::group::Group;
use crate::runtime::identity::Mine;
use crate::runtime::record::Worker;
use crate::runtime::{guest, profiled};
use crate::sys::demangle::demangled;
use crate::sys::errno::Errno;
use crate::sys::memory::NoMemory;
use crate::sys::names::Names;
use crate::sys::symbol::Caller;
use crate::sys::{detector, errno, output};
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_int;
use std::fmt::{self, Write};
use std::{iter, ptr};

/// The C type `sched_graph`. If all bytes are zero, it has no nodes.
#[repr(C)]
pub struct Graph {
    state: GraphState,
    /// The first node; `TaskNode::next` has the others.
    first: Cell<*const TaskNode>,
    last: Cell<*const TaskNode>,
    nodes: Cell<usize>,
}

/// Nodes by their addresses.
type Map<T> = HashMap<*const TaskNode, T>;

/// Why a graph cannot run.
enum Refusal<'a> {
    NoMemory,
    /// The nodes of a circle, in the order of its edges.
    Circle(Vec<&'a TaskNode>),
}

impl Graph {
    pub fn without_nodes() -> Self {
        Graph {
            state: GraphState::new(),
            first: Cell::new(ptr::null()),
            last: Cell::new(ptr::null()),
            nodes: Cell::new(0),
        }
    }

    pub fn group(&self) -> &Group {
        &self.state.group
    }

    /// Adds a node. Fails as `sched_graph_add` does.
    ///
    /// # Safety
    /// The node lives as long as the graph is used.
    pub unsafe fn add(&self, node: &TaskNode) -> Result<(), Errno> {
        self.state.begin_change()?;
        node.join_graph(&self.state)?;
        self.append(node);
        self.nodes.set(self.nodes.get() + 1);
        Ok(())
    }

    /// Adds a node at the end of the list.
    fn append(&self, node: &TaskNode) {
        // SAFETY: null, or a node of the graph.
        match unsafe { self.last.replace(node).as_ref() } {
            Some(last) => last.link(node),
            None => self.first.set(node),
        }
    }

    fn nodes(&self) -> impl Iterator<Item = &TaskNode> {
        // SAFETY: the nodes live as long as the graph is used, by the program's promise.
        let get = |node: *const TaskNode| unsafe { node.as_ref() };
        iter::successors(get(self.first.get()), move |node| get(node.next()))
    }

    /// Sorts the list if the graph has changed. The graph does not run.
    fn check(&self) -> Result<(), Refusal<'_>> {
        let nodes = self.nodes.get();
        if self.state.roots.get() > 0 || nodes == 0 {
            return Ok(());
        }
        let mut sorted = Vec::new();
        sorted.try_reserve_exact(nodes).map_err(|_| Refusal::NoMemory)?;
        for node in self.nodes() {
            node.vertex.set_back(node.edges());
            if node.edges() == 0 {
                sorted.push(node);
            }
        }
        let (roots, mut at) = (sorted.len(), 0);
        while let Some(&node) = sorted.get(at) {
            at += 1;
            let ready = successors(node).filter(|after| after.vertex.count_down());
            sorted.extend(ready); // within the capacity
        }
        let left = nodes - sorted.len();
        if left > 0 {
            return Err(self.circle(left).map_or(Refusal::NoMemory, Refusal::Circle));
        }
        self.last.set(ptr::null());
        for node in sorted {
            self.append(node);
            node.link(ptr::null());
            node.vertex.set_back(node.edges());
        }
        self.state.roots.set(roots);
        Ok(())
    }

    /// The nodes of a circle, in the order of its edges. `left` nodes were not counted down to 0:
    /// each of these nodes has another one of them as a predecessor. None if there is no memory.
    fn circle(&self, left: usize) -> Option<Vec<&TaskNode>> {
        let mut before: Map<&TaskNode> = Map::new();
        let mut path: Vec<&TaskNode> = Vec::new();
        before.try_reserve(left).ok()?;
        path.try_reserve_exact(left).ok()?;
        let mut is_left = self.nodes().filter(|node| node.vertex.is_counted());
        let mut node = is_left.next()?;
        for one in iter::once(node).chain(is_left) {
            let left = successors(one).filter(|after| after.vertex.is_counted());
            left.for_each(|after| _ = before.insert(ptr::from_ref(after), one));
        }
        for _ in 0..left {
            node = before[&ptr::from_ref(node)]; // at last on a circle
        }
        while !path.first().is_some_and(|&first| ptr::eq(first, node)) {
            path.push(node);
            node = before[&ptr::from_ref(node)];
        }
        path.reverse();
        Some(path)
    }

    /// Returns what `sched_graph_run` returns.
    pub fn run(&self, worker: &Worker) -> c_int {
        if !self.state.begin_run() {
            return errno::failed(libc::EBUSY);
        }
        let outcome = match detector::ignored(|| self.check()) {
            Ok(()) if self.nodes.get() == 0 => 0,
            Ok(()) => detector::taking(self.group(), |_| self.run_checked(worker)),
            Err(Refusal::NoMemory) => errno::failed(libc::ENOMEM),
            Err(Refusal::Circle(nodes)) => {
                tell_circle(&nodes);
                errno::failed(libc::EDEADLK)
            }
        };
        self.state.end_run();
        outcome
    }

    /// Like `Group::wait`, after the roots were spawned: see there for guests.
    fn run_checked(&self, worker: &Worker) -> c_int {
        let (group, awaited) = (self.group(), self.group().as_awaited());
        let as_guest = |guest: Mine| {
            self.start(&guest);
            group.wait_as_guest(guest, &|task| TaskNode::is_in_graph(task, group))
        };
        let waited = match worker.mine() {
            None => guest::visit(worker, as_guest),
            Some(mine) => mine.is_guest().then(|| as_guest(mine)),
        };
        let outcome = waited.unwrap_or_else(|| {
            let is_outside = worker.mine().is_none();
            if is_outside && !detector::ignored(|| worker.hold_run()) {
                return errno::failed(libc::EINVAL);
            }
            self.start(worker);
            if is_outside {
                detector::ignored(|| worker.let_go_of_run());
            }
            group.wait_for_tasks(Some(worker), awaited)
        });
        if outcome != 0 {
            return outcome;
        }
        profiled::note_group_over(Some(worker), ptr::from_ref(group).addr());
        group.end_cancellation()
    }

    /// Counts the nodes in the group, and spawns the roots. `worker` is in the run, which does not
    /// end during the call.
    fn start(&self, worker: &Worker) {
        self.group().members.enter_all(self.nodes.get());
        for node in self.nodes().take(self.state.roots.get()) {
            detector::release(node);
            // SAFETY: the graph runs, and the node has no predecessors.
            unsafe { node.start_in_graph(worker) };
        }
    }

    /// Writes the graph in graphviz's language. Fails as `sched_graph_dot` does.
    ///
    /// # Safety
    /// The file is open for writing.
    pub unsafe fn write_dot(&self, file: *mut libc::FILE) -> Result<(), Errno> {
        self.state.begin_change()?;
        let circle = match self.check() {
            Ok(()) => Vec::new(),
            Err(Refusal::Circle(nodes)) => nodes,
            Err(Refusal::NoMemory) => return Err(NoMemory.into()),
        };
        let mut numbers = Map::new();
        numbers.try_reserve(self.nodes.get()).map_err(|_| NoMemory)?;
        numbers.extend(self.nodes().map(ptr::from_ref).zip(1..));
        // SAFETY: the file is open for writing.
        let file = unsafe { &mut File::new(file) };
        write_dot(self, &numbers, &circle, file).map_err(|fmt::Error| Errno(file.error))
    }

    /// Frees what the edges need beyond the nodes. Fails with EBUSY if the graph runs.
    ///
    /// # Safety
    /// The nodes are not used as nodes of the graph any more.
    pub unsafe fn destroy(&self) -> Result<(), Errno> {
        self.state.begin_change()?;
        // SAFETY: nobody uses the nodes as nodes of the graph any more.
        self.nodes().for_each(|node| unsafe { node.free_edges() });
        self.first.set(ptr::null());
        self.last.set(ptr::null());
        self.nodes.set(0);
        Ok(())
    }
}

/// The successors of a node of a graph that does not change.
fn successors(node: &TaskNode) -> impl Iterator<Item = &TaskNode> {
    // SAFETY: an edge leads to a node of the same graph, whose nodes live as long as it is used.
    unsafe { node.vertex.successors().ends().map(|vertex| TaskNode::of(vertex)) }
}

/// The most nodes of a circle that the message shows.
const MOST_SHOWN: usize = 16;

fn tell_circle(nodes: &[&TaskNode]) {
    let (mut names, mut out) = (Names::default(), output::Out::stderr());
    let _ = write!(out, "libsched: sched_graph_run: nodes wait for each other in a circle: ");
    for node in nodes.iter().take(MOST_SHOWN) {
        let (f, closure) = node.call();
        let _ = write_name(&mut out, &mut names, f);
        let _ = write!(out, "({closure:p}) -> ");
    }
    let _ = match nodes.len().saturating_sub(MOST_SHOWN) {
        0 => write_name(&mut out, &mut names, nodes[0].call().0),
        more => write!(out, "{more} more"),
    };
    let _ = writeln!(out, "{}", Caller);
}

/// Writes the name of a function, which needs no escape between quotes.
fn write_name(out: &mut impl Write, names: &mut Names, function: usize) -> fmt::Result {
    let mut outcome = Ok(());
    demangled(names.get(function), &mut |name| {
        let plain = |c| if matches!(c, '"' | '\\') { '?' } else { c };
        outcome = name.chars().map(plain).try_for_each(|c| out.write_char(c));
    });
    outcome
}

fn write_dot(
    graph: &Graph,
    numbers: &Map<usize>,
    circle: &[&TaskNode],
    out: &mut impl Write,
) -> fmt::Result {
    let mut names = Names::default();
    let number = |node: &TaskNode| numbers[&ptr::from_ref(node)];
    let place = |node: &TaskNode| circle.iter().position(|&other| ptr::eq(other, node));
    writeln!(out, "digraph {{\n    node [shape=box];")?;
    for node in graph.nodes() {
        let (f, closure) = node.call();
        let color = if place(node).is_some() { ", color=red" } else { "" };
        write!(out, "    n{} [label=\"", number(node))?;
        write_name(out, &mut names, f)?;
        writeln!(out, "\", tooltip=\"{closure:p}\"{color}];")?;
    }
    for node in graph.nodes() {
        for after in successors(node) {
            let is_next = |at: usize| ptr::eq(circle[(at + 1) % circle.len()], after);
            let color = if place(node).is_some_and(is_next) { " [color=red]" } else { "" };
            writeln!(out, "    n{} -> n{}{color};", number(node), number(after))?;
        }
    }
    writeln!(out, "}}")
}

/// A file of stdio.
struct File {
    file: *mut libc::FILE,
    error: c_int,
}

impl File {
    /// # Safety
    /// The file is open for writing.
    unsafe fn new(file: *mut libc::FILE) -> File {
        File { file, error: 0 }
    }
}

impl Write for File {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // SAFETY: by the promise to `new`; the text has this many bytes.
        if unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), self.file) } == text.len() {
            return Ok(());
        }
        self.error = errno::get();
        Err(fmt::Error)
    }
}
