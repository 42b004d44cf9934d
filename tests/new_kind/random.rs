//! Kind `random`: one shared queue, any task of which may be the next. `SCHED_SEED` makes the
//! choices of one thread repeatable.

use sched::policy::Place;
use sched::policy::shared::Order;
use sched::queue::End;
use sched::task::Task;
use std::collections::VecDeque;

pub struct Random;

impl Order for Random {
    const NEXT: End = End::Oldest;

    fn arrange(tasks: &mut VecDeque<Task>, place: &impl Place) {
        let any = place.random_below(tasks.len());
        tasks.swap(0, any);
    }
}
