//! The targets of the edges of the order among tasks. An event where a predecessor ends has the
//! address of the node to which its edge leads. An event where a node begins also has that node's
//! address. The node begins after all its predecessors have ended, so an edge leads to the next
//! beginning at that address.

use crate::trace::event::{Event, Kind};
use crate::trace::steps;
use crate::trace::track::Track;

/// The events of nodes that begin, sorted by node and time.
#[derive(Default)]
pub struct Edges(Vec<Event>);

impl Edges {
    /// Returns no edges if there is no memory.
    pub fn of(tracks: &[Track]) -> Edges {
        let mut ends = Vec::new();
        let is_end = |event: &Event, _: &[Event]| event.kind == Kind::Edge && event.length == 1;
        steps::add(&mut ends, tracks, is_end).map_or(Edges::default(), |()| Edges(ends))
    }

    /// The beginning of the node to which the edge leads, if it was recorded.
    pub fn end_of(&self, edge: &Event) -> Option<&Event> {
        let key = (edge.task, edge.time);
        let at = self.0.partition_point(|event| (event.task, event.time) < key);
        self.0.get(at).filter(|end| end.task == edge.task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_leads_to_the_next_beginning() {
        let event = |task, time| Event { task, ..Event::plain(time, Kind::Edge, 0, 1) };
        let edges = Edges(vec![event(8, 10), event(8, 30), event(16, 5)]);
        let end = |task, time| edges.end_of(&event(task, time)).map(|end| (end.task, end.time));
        assert_eq!(end(8, 3), Some((8, 10)));
        assert_eq!(end(8, 11), Some((8, 30)));
        assert_eq!(end(8, 31), None);
        assert_eq!(end(16, 1), Some((16, 5)));
        assert_eq!(end(24, 1), None);
    }
}
