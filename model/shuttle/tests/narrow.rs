//! The models of suspension, of blocking sections and of pools, which loom explores with one or two
//! preemptions, here with random schedules. (`make shuttle` skips one of `block`, which leaves the
//! scheduler no choice in the first schedule.)
#![cfg(loom)]

#[path = "../../tests/block.rs"]
mod block;
#[path = "../../tests/pool.rs"]
mod pool;
#[path = "../../tests/suspend.rs"]
mod suspend;
