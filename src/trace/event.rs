//! An event of a track.
//!
//! ```text
//! word 0   the time, in ticks
//! word 1   bits 0-3 the kind, bits 4-7 what a task waits for, bits 8-23 a worker, bits 24-63 a
//!          length of time in ticks, or a number
//! word 2   the task
//! word 3   the task's function
//! ```
//! A length that is too long for 40 bits (6 minutes at 3 GHz) is stored as the greatest number.

/// Stands in place of a worker's number for a thread that is not a worker of the run.
pub const OUTSIDE: u16 = u16::MAX;

const _: () = assert!(crate::sys::processors::MOST_WORKERS < OUTSIDE as usize);

/// Declares an enum, and the list of its values.
macro_rules! values {
    ($(#[$doc:meta])* $enum:ident { $($(#[$vdoc:meta])* $name:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum $enum { $($(#[$vdoc])* $name),+ }

        impl $enum {
            const ALL: &[$enum] = &[$($enum::$name),+];
        }
    };
}

values! {
    /// What is recorded.
    Kind {
        /// A task begins. `worker` spawned it `length` ticks ago.
        Begin,
        /// The task that began last, or was resumed last, has ended.
        End,
        /// The worker leaves all tasks that are open on this track; the youngest one is suspended.
        Suspend,
        /// A suspended task resumes. `worker` woke it `length` ticks ago.
        Resume,
        /// The worker leaves all tasks that are open on this track; any worker may resume the
        /// youngest.
        Leave,
        /// A task resumes. It was left before, or it lies below a task that has ended.
        Again,
        /// `length` tasks have run in `task` ticks from `time` on; `function` is the oldest one's.
        Merged,
        /// The worker has taken a task from the queue of `worker`.
        Steal,
        /// The worker has raided the queue of `worker`.
        Raid,
        /// The worker has slept for `length` ticks and wakes up now.
        Slept,
        /// The worker has woken others; `length` is their number.
        Wake,
        /// The task has begun a blocking section.
        Block,
        /// A task resumes. Its blocking section ended `length` ticks ago.
        Unblock,
        /// `length` is the number of workers that have tasks from now on.
        Busy,
        /// `length` is the number of tasks in the worker's queue.
        Queue,
        /// An edge of the order among tasks. `task` is the address of the node to which it leads.
        /// `length` is 0 where a predecessor ends, and 1 where the node begins, for all edges to it.
        Edge,
    }
}

values! {
    /// The kind of object that a task waits for.
    Wait {
        /// Unknown, or nothing: the task has only let others go first.
        Other,
        Mutex,
        Condition,
        Semaphore,
        Barrier,
        Join,
        Group,
        Channel,
        Sleep,
        Descriptor,
        Event,
    }
}

impl Wait {
    /// The word for the wait in a timeline.
    pub fn word(self) -> &'static str {
        match self {
            Wait::Other => "suspended",
            Wait::Mutex => "mutex",
            Wait::Condition => "condition",
            Wait::Semaphore => "semaphore",
            Wait::Barrier => "barrier",
            Wait::Join => "join",
            Wait::Group => "group",
            Wait::Channel => "channel",
            Wait::Sleep => "sleep",
            Wait::Descriptor => "descriptor",
            Wait::Event => "event",
        }
    }
}

/// An event as it is made and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub time: u64,
    pub kind: Kind,
    /// Used by `Suspend` and `Resume`.
    pub wait: Wait,
    pub worker: u16,
    /// A length of time in ticks, or a number.
    pub length: u64,
    pub task: u64,
    pub function: usize,
}

const WAIT_SHIFT: u32 = 4;
const _: () =
    assert!(Kind::ALL.len() <= 1 << WAIT_SHIFT && Wait::ALL.len() <= 1 << (8 - WAIT_SHIFT));

const LENGTH_SHIFT: u32 = 24;
const MOST_LENGTH: u64 = u64::MAX >> LENGTH_SHIFT;

impl Event {
    pub fn plain(time: u64, kind: Kind, worker: u16, length: u64) -> Self {
        Event { time, kind, wait: Wait::Other, worker, length, task: 0, function: 0 }
    }

    pub fn words(self) -> [u64; 4] {
        let length = self.length.min(MOST_LENGTH) << LENGTH_SHIFT;
        let kind = self.kind as u64 | ((self.wait as u64) << WAIT_SHIFT);
        let word = kind | (u64::from(self.worker) << 8) | length;
        [self.time, word, self.task, self.function as u64]
    }

    /// None means that the words are not an event, because they were read while they were written.
    pub fn of(words: [u64; 4]) -> Option<Event> {
        let [time, word, task, function] = words;
        Some(Event {
            time,
            kind: *Kind::ALL.get((word & ((1 << WAIT_SHIFT) - 1)) as usize)?,
            wait: *Wait::ALL.get((word as u8 >> WAIT_SHIFT) as usize)?,
            worker: (word >> 8) as u16,
            length: word >> LENGTH_SHIFT,
            task,
            function: function as usize,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_comes_back_from_its_words() {
        for (i, &kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(kind as usize, i);
            let wait = Wait::ALL[i % Wait::ALL.len()];
            assert_eq!(wait as usize, i % Wait::ALL.len());
            let event = Event {
                time: u64::MAX - 1,
                kind,
                wait,
                worker: OUTSIDE,
                length: MOST_LENGTH,
                task: 1 << 63,
                function: usize::MAX,
            };
            assert_eq!(Event::of(event.words()), Some(event));
        }
        assert_eq!(Event::of([0, 0xff, 0, 0]), None);
        let long = Event::plain(0, Kind::Slept, 0, u64::MAX);
        assert_eq!(Event::of(long.words()).map(|event| event.length), Some(MOST_LENGTH));
    }
}
