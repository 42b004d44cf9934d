//! How many tasks a thief, a full deque and a look at the injector move at a time.

use crate::policy::Plan;
use crate::queue::{Batches, Deque};
use crate::settings::{Accepted, Global, Overflow, Steal};
use crate::stats::Counter;
use crate::sys::atomic::Pad;
use crate::sys::memory::{self, NoMemory};

/// The values that the variables accept. A full deque that cannot grow behaves like Tokio's by
/// default. A deque without batches gives its thieves single tasks, and always grows.
pub const fn accepted<D: Deque>() -> Accepted {
    let global = Global::ALL;
    match (D::Batches::EXIST, D::SLOTS) {
        (true, Some(_)) => Accepted {
            steal: &[Steal::Half, Steal::One],
            overflow: &[Overflow::Half, Overflow::One, Overflow::Refuse],
            global,
        },
        (true, None) => Accepted { global, ..Accepted::ALL },
        (false, _) => Accepted { global, ..Accepted::ONE_BY_ONE },
    }
}

/// How many tasks are moved at a time.
pub struct Amounts {
    pub(super) steals_half: bool,
    /// With `SCHED_GLOBAL=all`, a counter for each worker: how many tasks the last batch brought
    /// into its deque, minus the worker's looks at the oldest task since then. Empty if a worker
    /// takes one task at a time. Only the worker itself uses its counter.
    pub(super) batches: Box<[Pad<Counter>]>,
    pub(super) spills: Option<Spills>,
}

/// A full deque moves `n` tasks to the injector.
pub(super) struct Spills {
    pub(super) n: usize,
    /// The most tasks that the injector may hold afterwards.
    pub(super) limit: usize,
}

impl Amounts {
    /// Returns the amounts, and the limit of each deque.
    pub fn of<D: Deque>(plan: &Plan) -> Result<(Self, usize), NoMemory> {
        let half = (D::SLOTS.unwrap_or(plan.qlen) / 2).max(1);
        let to_injector = |n, limit| Some(Spills { n, limit });
        let (spills, limit) = match (plan.overflow, D::SLOTS) {
            (Overflow::Grow, _) => (None, usize::MAX),
            // A ring holds a task per slot; the injector holds the others, up to qlen in all.
            (Overflow::Refuse, Some(slots)) if slots < plan.qlen => {
                (to_injector(half, plan.qlen - slots), usize::MAX)
            }
            (Overflow::Refuse, _) => (None, plan.qlen),
            (overflow, slots) => (
                to_injector(if overflow == Overflow::Half { half } else { 1 }, usize::MAX),
                slots.map_or(plan.qlen, |_| usize::MAX),
            ),
        };
        let takers = if plan.global == Global::All { plan.places() } else { 0 };
        let batches = memory::slice(takers, |_| Ok(Pad(Counter::default())))?;
        Ok((Amounts { steals_half: plan.steal == Steal::Half, batches, spills }, limit))
    }
}
