//! A program's task DAG: spawns, joins, and how long the tasks compute between them.
//!
//! [`tape`] is what a recording holds, event by event, and its file; [`graph`] is the DAG made of
//! it, a list of steps for each task.

pub mod graph;
pub mod tape;

pub use graph::{Graph, Step, Task, Then};
pub use tape::{Event, Op, Recording};
