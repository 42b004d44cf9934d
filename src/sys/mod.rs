//! The facilities of Linux and the processor, one file each, without policy.
//!
//! In the models (`--cfg loom`) a file of the directory `model` takes the place of the file of the
//! same name here, or of `lock/mutex.rs`. The two have the same items.

pub mod address_space;
pub mod assembly;
pub mod atomic;
pub mod cgroup;
pub mod clock;
pub mod demangle;
pub mod descriptor;
pub mod detector;
#[cfg_attr(loom, path = "model/epoll.rs")]
pub mod epoll;
pub mod errno;
#[cfg_attr(loom, path = "model/fence.rs")]
pub mod fence;
pub mod float;
#[cfg_attr(loom, path = "model/futex.rs")]
pub mod futex;
#[cfg(sched_fuzz)]
pub mod fuzz;
pub mod heap;
pub mod io;
pub mod memory;
pub mod names;
pub mod output;
pub mod peek;
#[cfg(not(loom))]
pub mod probe;
pub mod process;
pub mod process_mask;
pub mod processors;
#[cfg_attr(loom, path = "model/region.rs")]
pub mod region;
pub mod registers;
pub mod signal;
pub mod stack_room;
pub mod symbol;
pub mod system_call;
pub mod terminal;
pub mod thread;
pub mod thread_memory;
pub mod time;
pub mod unwind;
pub mod valgrind;
pub mod weak;
pub mod word;
pub mod zlib;
