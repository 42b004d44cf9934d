//! A program's task DAG: spawns, joins, and how long the tasks compute between them.
//!
//! [`tape`] is a recording, event by event, and its file. [`graph`] is the DAG made from it, with a
//! list of steps for each task.

pub mod graph;
pub mod tape;

pub use graph::{Graph, Step, Task, Then};
pub use tape::{Event, Op, Recording};
