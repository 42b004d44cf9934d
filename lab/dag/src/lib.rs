//! A program's task DAG: spawns, joins, and how long the tasks compute between them.
//!
//! [`tape`] is what a recording holds, event by event, and its file; [`graph`] is the DAG made of
//! it, a list of steps for each task.

pub mod graph;
pub mod tape;

pub use graph::{Graph, Step, Task, Then};
pub use tape::{Event, Op, Recording};

/// The lower quartile: the median of those that others on the machine did not slow down, if half
/// of them were. NaN of none.
pub fn typical(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 4).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::typical;

    #[test]
    fn what_was_slowed_down_does_not_count() {
        assert_eq!(typical(vec![90.0, 10.0, 12.0, 11.0, 80.0]), 11.0);
        assert_eq!(typical(vec![90.0]), 90.0);
        assert!(typical(vec![]).is_nan());
    }
}
