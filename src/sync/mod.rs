//! L2c: mutex, condition, semaphore and barrier, as far as they are states: what happens to tasks that
//! wait is for a higher floor (`ext::sync`), so that the models can run these files.
//!
//! | file | what |
//! | --- | --- |
//! | [`mutex`] | a mutex that its holder hands over |
//! | [`cond`] | a condition whose waiters go over to the mutex |
//! | [`sem`] | a counting semaphore |
//! | [`barrier`] | a barrier of n |
//! | [`forked`] | a forked task, and who waits for it |
//! | [`members`] | the tasks of a group, and who waits for them |

pub mod barrier;
pub mod cond;
pub mod forked;
pub mod members;
pub mod mutex;
pub mod node;
pub mod sem;
