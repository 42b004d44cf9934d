//! The states of mutex, condition, semaphore, barrier, channel, forked task and group. A higher
//! floor (`api::sync`, `api::channel`) decides how a task waits, so that the models can run these
//! files.
//!
//! | file | contents |
//! | --- | --- |
//! | [`mutex`] | a mutex that newcomers may take before its waiters, for a bounded number of times |
//! | [`cond`] | a condition whose waiters move to the mutex's line |
//! | [`crowd`] | the waiters of a mutex that have a deadline |
//! | [`sem`] | a counting semaphore |
//! | [`barrier`] | a barrier of n tasks |
//! | [`node`], [`list`] | a waiter, and lists of waiters |
//! | [`ends`] | the two ends of a channel's ring |
//! | [`forked`] | a forked task, and its waiter |
//! | [`members`] | the tasks of a group, and its waiters |
//! | [`dag`] | the order among the tasks of a graph |
//! | [`pending`] | which edges lead from tasks that have not ended, for observers |
//! | [`depend`] | which task of a group writes or reads at an address |
//! | [`cancel`] | whether a group is cancelled |
//! | [`cuts`] | who cuts off the waits that a cancellation reaches |
//! | [`outside`] | the number of threads that wait for any of these, for the proof of a deadlock |

pub mod barrier;
pub mod cancel;
pub mod cond;
pub mod crowd;
pub mod cuts;
pub mod dag;
pub mod depend;
pub mod descriptor;
pub mod ends;
pub mod forked;
pub mod lines;
pub mod list;
pub mod members;
pub mod mutex;
pub mod node;
pub mod outside;
pub mod pending;
pub mod sem;
