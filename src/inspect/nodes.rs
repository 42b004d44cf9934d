//! The nodes that wait for their predecessors (`sched_node`, `sched_group_spawn_after`), and for
//! which ones. They lie in memory of the program, which is read as in [`objects`](super::objects).

use crate::inspect::known::Name;
use crate::sync::dag::{SeenVertex, Vertex};
use crate::sync::pending::{self, CLOSURE, EDGES, FUNCTION, MOST_EDGES, Pending};
use crate::sys::memory::NoMemory;
use crate::sys::output::Out;
use crate::sys::{peek, symbol};
use std::fmt::{self, Write};

/// The most nodes that are shown, and the most predecessors of each.
const MOST_NODES: usize = 64;
const MOST_PREDECESSORS: usize = 4;

/// A node, or an event.
struct SeenNode {
    at: usize,
    vertex: SeenVertex,
    /// 0 for an event.
    function: usize,
    closure: usize,
    edges: usize,
}

impl SeenNode {
    fn at(at: usize) -> Option<SeenNode> {
        let word = |offset| peek::word(at + offset);
        Some(SeenNode {
            at,
            vertex: Vertex::seen(word(0)?),
            function: word(FUNCTION)?,
            closure: word(CLOSURE)?,
            edges: word(EDGES)? & MOST_EDGES,
        })
    }
}

impl fmt::Display for SeenNode {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.function {
            0 => write!(f, "the event {:#x}", self.at)?,
            function => {
                write!(f, "{}({:#x}) at {:#x}", Name::at(function).text(), self.closure, self.at)?
            }
        }
        write!(f, "{}", symbol::Variable(self.at))
    }
}

/// Writes the nodes that are ready and wait. `shown` is the number of other tasks that wait. If
/// these tasks and the nodes are fewer than `all`, says how the other nodes can be shown.
pub fn write(out: &mut Out, shown: usize, all: usize) -> fmt::Result {
    let edges = pending::all().map_err(|NoMemory| fmt::Error)?;
    let mut nodes = 0;
    for edges in edges.chunk_by(|one, other| one.to == other.to) {
        let node = SeenNode::at(edges[0].to).filter(|node| node.vertex.is_ready);
        let Some(node) = node else { continue };
        nodes += 1;
        if nodes <= MOST_NODES {
            write_node(out, &node, edges)?;
        }
    }
    if nodes > MOST_NODES {
        writeln!(out, "  and {} more nodes", nodes - MOST_NODES)?;
    }
    let hidden = all.saturating_sub(shown + nodes);
    if hidden == 0 || pending::is_on() {
        return Ok(());
    }
    let wait = if hidden == 1 { "node waits" } else { "nodes wait" };
    writeln!(
        out,
        "  {hidden} {wait} for others; SCHED_WATCHDOG=1min in the environment shows which"
    )
}

fn write_node(out: &mut Out, node: &SeenNode, edges: &[Pending]) -> fmt::Result {
    write!(out, "  node {node} waits for {} of {}: ", edges.len(), node.edges)?;
    for (at, edge) in edges.iter().take(MOST_PREDECESSORS).enumerate() {
        write!(out, "{}", if at > 0 { "; " } else { "" })?;
        match SeenNode::at(edge.from) {
            None => write!(out, "{:#x}, whose memory is gone", edge.from)?,
            Some(before) => {
                write!(out, "{before}")?;
                match before.vertex {
                    SeenVertex { is_ready: false, .. } => {
                        out.write_str(", which was not made ready")?
                    }
                    SeenVertex { before: 0, .. } => {}
                    _ => out.write_str(", which waits")?,
                }
            }
        }
    }
    let more = edges.len().saturating_sub(MOST_PREDECESSORS);
    if more > 0 { writeln!(out, "; and {more} more") } else { writeln!(out) }
}
