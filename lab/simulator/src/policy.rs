//! The policies that are simulated.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// A deque per worker; a thief takes the oldest task.
    Steal,
    /// A thief takes the older half.
    StealHalf,
    /// A spawn runs the new task at once; thieves take the rest of the old one.
    Cont,
    /// One stack under one lock.
    Lifo,
    /// One queue under one lock.
    Fifo,
}

impl Policy {
    pub const ALL: [Policy; 5] =
        [Policy::Steal, Policy::StealHalf, Policy::Cont, Policy::Lifo, Policy::Fifo];

    pub fn name(self) -> &'static str {
        match self {
            Policy::Steal => "steal",
            Policy::StealHalf => "steal half",
            Policy::Cont => "cont",
            Policy::Lifo => "lifo",
            Policy::Fifo => "fifo",
        }
    }

    /// The settings that give the library this policy.
    pub fn environment(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Policy::Steal => &[("SCHED_KIND", "steal")],
            Policy::StealHalf => {
                &[("SCHED_KIND", "steal"), ("SCHED_DEQUE", "ring"), ("SCHED_STEAL", "half")]
            }
            Policy::Cont => &[("SCHED_KIND", "cont")],
            Policy::Lifo => &[("SCHED_KIND", "lifo")],
            Policy::Fifo => &[("SCHED_KIND", "fifo")],
        }
    }

    /// The number of places of a bounded deque: those of the library's `queue::ring`.
    pub fn places(self) -> Option<usize> {
        (self == Policy::StealHalf).then_some(256)
    }

    /// Owners keep tasks to themselves until they are asked, or raided.
    pub fn is_private(self) -> bool {
        matches!(self, Policy::Steal | Policy::Cont)
    }

    /// There is a lock that all workers may take.
    pub fn has_lock(self) -> bool {
        self.shares() || self.places().is_some()
    }

    /// All workers use one queue.
    pub fn shares(self) -> bool {
        matches!(self, Policy::Lifo | Policy::Fifo)
    }
}
