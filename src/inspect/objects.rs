//! What a task waits for, and which tasks could end the wait. The objects lie in memory of the
//! program, which may be gone: they are read by `sys::peek`, as words. The layouts are those of
//! `crate::sync`, whose types say where their fields are.

use crate::deadline::Entry;
use crate::inspect::walk::{RunAwaited, SeenTask};
use crate::runtime::observed::seen_function;
use crate::runtime::wait_note::Object;
use crate::sync::barrier::Barrier;
use crate::sync::cond::Waiting;
use crate::sync::forked::{Forked, SeenForked};
use crate::sync::members::Members;
use crate::sync::mutex::Mutex;
use crate::sys::peek;
use std::ffi::c_int;
use std::mem::offset_of;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// `holder` is a fiber, a thread, or 0. If `after_signal`, a condition's signal has ended a
    /// wait.
    Mutex {
        at: usize,
        holder: usize,
        after_signal: bool,
    },
    Cond {
        at: usize,
        mutex: usize,
    },
    Sem {
        at: usize,
    },
    Barrier {
        at: usize,
        arrived: usize,
        size: usize,
    },
    Forked {
        at: usize,
        state: SeenForked,
    },
    Group {
        at: usize,
        tasks: usize,
    },
    Channel {
        at: usize,
    },
    Event {
        at: usize,
    },
    /// In nanoseconds of CLOCK_MONOTONIC.
    Sleep {
        deadline: i64,
    },
    /// `events` are the awaited events, as poll(2) writes them.
    Descriptor {
        fd: c_int,
        events: u16,
    },
    Run(RunAwaited),
    /// The object could not be read.
    Unknown,
}

pub fn awaited(task: &SeenTask) -> Option<Awaited> {
    if let Some(run) = task.waits_for_run {
        return Some(Awaited::Run(run)); // lies on top of any other wait of the fiber
    }
    let (kind, at) = task.waits?.waits_for.object();
    Some(read(kind, at).unwrap_or(Awaited::Unknown))
}

fn read(kind: Object, at: usize) -> Option<Awaited> {
    let holder = |mutex: usize| peek::word(mutex + Mutex::HOLDER);
    Some(match kind {
        Object::Mutex => Awaited::Mutex { at, holder: holder(at)?, after_signal: false },
        Object::Cond => {
            let mutex = peek::word(at + offset_of!(Waiting, mutex))?;
            match peek::word(at + offset_of!(Waiting, cond))? {
                0 => Awaited::Mutex { at: mutex, holder: holder(mutex)?, after_signal: true },
                cond => Awaited::Cond { at: cond, mutex },
            }
        }
        Object::Sem => Awaited::Sem { at },
        Object::Barrier => Awaited::Barrier {
            at,
            arrived: peek::word(at + Barrier::ARRIVED)?,
            size: peek::word(at + Barrier::SIZE)?,
        },
        Object::Forked => {
            // SAFETY: any bytes are words.
            let words = unsafe { peek::read::<[usize; 3]>(at) }?;
            let state = match Forked::seen(words) {
                SeenForked::Function { f, closure } => {
                    SeenForked::Function { f: seen_function(f, closure), closure }
                }
                state => state,
            };
            Awaited::Forked { at, state }
        }
        Object::Group => Awaited::Group { at, tasks: Members::tasks_in(peek::word(at)?) },
        Object::Channel => Awaited::Channel { at },
        Object::Event => Awaited::Event { at },
        Object::Sleep => Awaited::Sleep { deadline: peek::word(at + Entry::DEADLINE)? as i64 },
        Object::Descriptor => Awaited::Descriptor { fd: (at >> 16) as c_int, events: at as u16 },
    })
}
