//! Delays at steps of the protocols, to widen the windows in which a race happens.
//!
//! Between two steps of a protocol there are some nanoseconds, and few tests hit them. Each place
//! between two such steps has a name, a [`Point`]. In the build for this purpose (`--cfg
//! sched_fuzz`; `make fuzz` makes and uses it), `SCHED_FUZZ=N` makes threads that pass a point
//! spin, yield their processor or sleep there, now and then. In every other build [`at`] is an
//! empty function, so the library has not one instruction more.
//!
//! # What the seed decides
//!
//! The *mood* of each point follows from N: most points are calm, and some delay often or for
//! long. (If all points did so, all threads would be slowed down alike, and their order would
//! change little. This is how "swarm testing" chooses, A. Groce and others, 2012.) What happens at
//! the k-th point that the n-th thread passes follows from N, n and k. The kernel still decides
//! which thread comes first, so the same seed need not give the same run.
//!
//! # What else this build changes
//!
//! A sleeping thread of the library looks for itself after a second, because a filter may have
//! forbidden the wake-up (`futex::LONGEST`). So a lost wake-up is only a delay. In this build the
//! second is an hour, so that a lost wake-up is a hang, which a test notices.

/// A place between two steps of a protocol. The comment says between which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// `queue::split`: a push has published its task, and will look whether somebody asks.
    SplitPut,
    /// A pop has lowered `bot`, and will compare it with `split`.
    SplitClaim,
    /// A pop or join has found its task public, and will lock.
    SplitPublic,
    /// A thief has read its task, and will move `top`.
    SplitSteal,
    /// The owner has decided to publish tasks, and will lock.
    SplitPublish,
    /// The owner has armed `lim`, and will look for sleepers again.
    SplitRearm,
    /// The owner has removed the alarm, and will look for its reason.
    SplitSilence,
    /// A raid has counted the private tasks, and will write `split`.
    RaidCounted,
    /// A raid has written `split`, and will execute its fence.
    RaidWritten,
    /// A raid has read `bot`, and will divide the tasks.
    RaidRead,
    /// `queue::chaselev`: a pop has stored the lower `bottom`, and has not read `top` yet.
    ChaselevPop,
    /// The owner has seen that one task is left, and will compete for it.
    ChaselevLast,
    /// A thief has read its task, and will compete for it.
    ChaselevSteal,
    /// `queue::ring`: a thief has reserved its tasks, and will read them.
    RingSteal,
    /// The owner has read the youngest task, and will take it.
    RingYoungest,
    /// `idle::eventcount`: a task is visible, and its spawner will look for sleepers.
    Published,
    /// A waker has taken a sleeper out of the list, and will wake it.
    Waking,
    /// A worker will announce its sleep.
    Announce,
    /// It has announced it, and will ask the owners.
    Announced,
    /// It has asked, and will look once more.
    LastLook,
    /// It has seen nothing, and will sleep.
    Park,
    /// A worker has stopped searching, and will look for sleepers.
    StopSearch,
    /// `policy`: a worker waits for an event, has announced its sleep, and will sleep.
    SharedSleep,
    /// A waker has chosen a sleeper under the lock, and will wake it.
    SharedWake,
    /// `idle::quiescence`: a worker's deque is empty, and it will count as idle.
    IdleEnter,
    /// All workers are idle, and the last one will confirm the end.
    IdleFull,
    /// A thief does not count as idle any more, and will take a task.
    IdleLeave,
    /// `policy::guests`: a guest is about to leave its place with tasks.
    GuestLeaves,
    /// A worker has taken the token of a place, and will look at the place's state.
    GuestServed,
    /// `queue::run_gate`: a thread has seen that there is no rest yet, and will sleep.
    RestWait,
    /// A rest is counted, and the threads that wait for it will be woken.
    RestAnnounce,
    /// `threads::handoff`: a thread has left its place, and will call another.
    HandoffLeft,
    /// A thread wants its place back.
    HandoffBack,
    /// A called thread has seen the same absence twice, and will take the place.
    HandoffLook,
    /// `threads::job`: a thread is given a job; it may rest, or be about to end.
    JobStart,
    /// A thread without a job has announced its sleep, and will sleep.
    JobSleep,
    /// `sync::forked`: a worker has taken a forked task, and will mark it as begun.
    ForkedBegin,
    /// A forked task has ended, and will be marked as over.
    ForkedEnd,
    /// A join has found its task unfinished, and will leave its name.
    ForkedName,
    /// `sync::members`: a task of a group has ended, and will leave the group.
    GroupLeave,
    /// The last task has taken the waiters' nodes, and will end the group.
    GroupTaken,
    /// A waiter has linked its node, and will look whether the group has tasks.
    GroupLink,
    /// `sync::node`: a waiter has seen that its node is not granted, and will leave its name.
    NodeName,
    /// A waiter's node is unlinked, and will be granted.
    NodeGrant,
    /// `lock::handover`: a lock has found its mutex held, and will link its node.
    MutexLink,
    /// An unlock will free the mutex, or hand it over.
    MutexUnlock,
    /// A waiter that was woken has found its mutex held, and will wait again.
    MutexAgain,
    /// `lock::mutex`: a thread has found the lock held, and will sleep.
    LockSleep,
    /// `runtime::suspend`: a task has left its stack, and will be made known.
    SuspendPublish,
}

#[cfg(not(sched_fuzz))]
mod twin {
    #[inline(always)]
    pub fn at(_: super::Point) {}
}

#[cfg(sched_fuzz)]
mod twin {
    use super::Point;
    use crate::sys::errno::{self, Errno};
    use crate::sys::time;
    use std::cell::Cell;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    /// 0: no delays. Relaxed, as all here: nothing is ordered by it, so that the delays hide no
    /// missing order.
    #[unsafe(link_section = "sched_words")]
    static SEED: AtomicU64 = AtomicU64::new(0);
    /// The number of threads that have passed a point.
    #[unsafe(link_section = "sched_words")]
    static THREADS: AtomicU64 = AtomicU64::new(0);

    thread_local! {
        /// The state of the thread's random numbers; 0: the thread has not passed a point yet.
        static RANDOM: Cell<u64> = const { Cell::new(0) };
    }

    /// The value of `SCHED_FUZZ`.
    pub fn seed(n: u64) {
        SEED.store(mix(n) | 1, Ordering::Relaxed);
    }

    #[inline]
    pub fn at(point: Point) {
        let seed = SEED.load(Ordering::Relaxed);
        if seed != 0 {
            delay(seed, point);
        }
    }

    /// The finalizer of SplitMix64 (G. Steele and others, 2014).
    fn mix(n: u64) -> u64 {
        let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        n ^ (n >> 31)
    }

    #[cold]
    #[inline(never)] // so that no thread-local address is kept where a task changes its thread
    fn delay(seed: u64, point: Point) {
        let dice = RANDOM.with(|random| {
            let state = match random.get() {
                0 => mix(seed ^ THREADS.fetch_add(1, Ordering::Relaxed)),
                state => mix(state),
            };
            random.set(state | 1);
            state
        });
        let mood = mix(seed.wrapping_add((point as u64) << 32)) % 16;
        let (often, length) = ((dice >> 8) as u32, dice >> 48);
        match mood {
            0..=8 if often.is_multiple_of(256) => give_way(),
            9..=10 if often.is_multiple_of(8) => give_way(),
            11..=12 if often.is_multiple_of(4) => spin(length % 1024),
            13..=14 if often.is_multiple_of(32) => sleep(20 + length % 256),
            15 if often.is_multiple_of(4) => sleep(length % 64),
            _ => {}
        }
    }

    fn give_way() {
        time::give_way();
    }

    fn spin(times: u64) {
        (0..times).for_each(|_| std::hint::spin_loop());
    }

    fn sleep(micros: u64) {
        let errno = errno::get();
        time::sleep(Duration::from_micros(micros));
        errno::set(Errno(errno));
    }
}

pub use twin::*;
