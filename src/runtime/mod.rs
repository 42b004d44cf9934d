//! The part of the library that all policies share: workers, fibers, suspension, blocking sections,
//! and runs.

pub mod arg_blocks;
pub mod blocking;
pub mod cont;
pub mod continuation;
pub mod countdown;
pub mod default_worker;
pub mod entry;
pub mod fiber;
pub mod forked;
pub mod host;
pub mod identity;
pub mod life;
pub mod place;
pub mod record;
pub mod registry;
pub mod run;
pub mod spawn_copy;
pub mod suspend;
pub mod tasks;
pub mod waiter;
pub mod yielding;
