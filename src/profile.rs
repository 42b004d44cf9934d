//! `SCHED_PROFILE`: the work and the span of a run, and what follows from them.
//!
//! | file | what |
//! | --- | --- |
//! | [`burden`] | what it costs that a task moves to another worker |
//! | [`path`] | the longest path that leads to a task, while the task goes on |
//! | [`length`] | the length of a path |
//! | [`parts`] | how a path divides among functions |
//! | [`context`] | the functions for which a task runs |
//! | [`sums`] | what a worker adds up |
//! | [`run`] | the profile of a run |
//! | [`figures`] | the measures that follow from the sums |
//! | [`speedup`] | the speed-up that follows from the measures |
//! | [`report`] | the text |
//!
//! # What is measured
//!
//! The *work* T1 is the time that all tasks ran. The *span* T∞ is the length of the longest path
//! through the run. A path continues
//!
//! - within a task, except while the task waits;
//! - from a spawn or a fork to the task that is spawned or forked;
//! - from the end of a task to the join that waits for it, and from the tasks of a group to the
//!   wait for the group;
//! - from a task that wakes another one to the task that is woken.
//!
//! Of several paths that meet, the longest counts. So the span does not depend on how many workers
//! there are, nor on which task runs where. (R. Blumofe and C. Leiserson, "Scheduling multithreaded
//! computations by work stealing", 1999; Y. He, C. Leiserson and W. Leiserson, "The Cilkview
//! scalability analyzer", 2010.)
//!
//! The *burdened span* is the longest path if each step from one task to another costs as much as
//! the move of a task to another worker, whether or not a task has moved there in this run. In kind
//! `cont` a new task is called at once, and it is the rest of its spawner that may move. A path
//! through a loop has two such steps for each halving: to the half, and back.
//!
//! The units of `sched_for` count as parallel, each as long as the average unit of its chunk,
//! although a worker does the units of a chunk one by one.
//!
//! # What is not seen
//!
//! A post of a semaphore before the wait that it ends, a mutex that is free when it is locked, and
//! shared memory lead to no edge: nobody was woken. Time in a blocking section is part of the span
//! and not of the work, since the worker has another thread meanwhile.

pub mod burden;
pub mod context;
pub mod figures;
pub mod length;
pub mod parts;
pub mod path;
pub mod report;
pub mod run;
pub mod speedup;
pub mod sums;
