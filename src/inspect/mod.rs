//! The report of a program that hangs: the activity of each worker, and the waiting tasks with
//! their awaited objects and their places. Also the line that is shown while runs are in progress
//! ([`live`]).
//!
//! | file | what |
//! | --- | --- |
//! | [`walk`] | the runs, their workers, and the tasks that wait |
//! | [`trace`] | a waiting task's function, and the functions in which it waits |
//! | [`objects`] | what a task waits for, and who could end the wait |
//! | [`nodes`] | the nodes that wait for others |
//! | [`records`] | the functions of the tasks on a fiber, where tasks have records |
//! | [`known`] | all of this together: what is known of each worker and each waiting task |
//! | [`dump`] | the text on stderr |
//! | [`deadlock`] | the proof that no task can ever continue; then the process ends |
//! | [`shared_memory`] | whether another process may share what is awaited |
//! | [`description`] | what a debugger must know to find all this: offsets and addresses |
//! | [`live`] | `SCHED_STATS=live`: a line about the runs in progress, renewed every second |
//! | [`watchdog`] | `SCHED_WATCHDOG`: the text after a time without progress, and at SIGQUIT |
//!
//! An observer disturbs nobody: it holds the lock of a run or of the list of stacks only for
//! moments, and reads what belongs to other threads as plain words, from memory that may be gone
//! (`sys::peek`). So its readings may not belong to one moment. It checks where a mixture would
//! mislead: it does not show the stack of a task that has continued (`runtime::wait_note`).

pub mod deadlock;
pub mod description;
mod doubt;
mod dump;
mod known;
mod live;
mod nodes;
mod objects;
mod records;
mod shared_memory;
mod trace;
mod walk;
mod watchdog;

use crate::runtime::record::Doctor;
use crate::runtime::{deadlines, keeper};
use crate::sys::{futex, output};
use crate::threads::watcher::{self, Duty, Reason};
use crate::trace::timeline;
use std::time::Duration;

pub static DOCTOR: Doctor = Doctor { begin, end, idles_long: deadlock::check };

fn begin(duty: Duty) {
    watcher::begin(
        duty,
        match duty {
            Duty::Doctor => watchdog::look,
            Duty::Live => live::look,
            Duty::Timeline => write_timelines,
            Duty::Clock => keeper::look,
        },
    );
}

fn end(duty: Duty) {
    if watcher::end(duty) {
        match duty {
            Duty::Live => output::clear_line(),
            Duty::Clock => deadlines::DEADLINES.disarm(), // there is no keeper any more
            Duty::Doctor | Duty::Timeline => {}
        }
    }
}

/// `SCHED_TRACE`: a signal ends the process in the middle of runs.
fn write_timelines(reason: Reason) -> Duration {
    if reason == Reason::Fatal {
        timeline::write_open();
    }
    futex::LONGEST
}
