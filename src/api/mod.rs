//! The objects and calls that C programs build from tasks. Each file has one idea and uses the
//! floor below.
//!
//! | file | what |
//! | --- | --- |
//! | [`fork`] | a task that is waited for by its descriptor, which the caller owns |
//! | [`cancel`] | the cancellation of a group, and what it reaches |
//! | [`group`] | a set of tasks, waited for together |
//! | `wait` | how a task or a thread waits for an object |
//! | `nodes` | waiting with a node: for groups and for [`sync`] |
//! | [`loops`], [`reduce`] | loops and reductions over a [`range`]; the `offer` of a part |
//! | [`relaxed`] | reductions whose parts depend on the course of the run |
//! | [`scan`] | the values of all beginnings of a range |
//! | [`stop`] | a loop, reduction or scan that begins no further part |
//! | [`sort`] | a parallel qsort(3) |
//! | [`until`] | mutex, condition and semaphore until a deadline |
//! | `timed` | waiting no longer than until a deadline |
//! | [`timer`] | a task that is spawned at a time |
//! | [`channel`] | a queue of elements between tasks |
//! | [`io`] | descriptors: the functions of POSIX, for tasks |
//! | [`dag`] | tasks that begin after others have ended; `edges`: memory for them |
//! | [`graph`] | nodes and edges that run any number of times; `graph_state`: what its nodes know of it |
//! | [`depend`] | tasks of a group, ordered by what they read and write |
//! | [`names`] | the program's function behind a task |
//! | [`scratch`] | memory for the time of a call |
//! | [`pool`] | a run that stays open |
//! | [`default_pool`] | the pool of the process, and the meaning of NULL in place of an `s` |
//! | [`sync`] | mutex, condition, semaphore and barrier for tasks |

pub mod cancel;
pub mod channel;
pub mod dag;
pub mod default_pool;
pub mod depend;
mod edges;
pub mod fork;
pub mod graph;
mod graph_state;
pub mod group;
pub mod io;
pub mod loops;
pub mod names;
mod nodes;
mod offer;
pub mod pool;
pub mod range;
pub mod reduce;
pub mod relaxed;
pub mod scan;
pub mod scratch;
pub mod sort;
pub mod stop;
pub mod sync;
pub mod timed;
pub mod timer;
pub mod until;
mod wait;
