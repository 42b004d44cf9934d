//! The program's function behind a task, for messages and reports. A task in a queue has a function
//! of this library if it is forked, has a copy of its argument, belongs to a group, or is a
//! timer's or a node's.

use crate::api::{dag, group, timer};
use crate::runtime::{forked, spawn_copy};
use crate::task::Task;

/// The address of the function of the program that the task will call.
pub fn function_of(task: Task) -> usize {
    if let Some((f, copy)) = spawn_copy::content_of(task) {
        return group::function_of(f, copy).unwrap_or(f as usize);
    }
    let timers = || timer::function_of(task.f, task.closure);
    let nodes = || dag::function_of(task.f, task.closure);
    forked::function_of(task).or_else(timers).or_else(nodes).unwrap_or(task.f as usize)
}
