//! The table of kinds: a row for each kind with its deque or lock. This is the only file that names
//! every policy; it joins each of them to the runtime. A row says what its kind can do (`Row`), and
//! which values of the variables the kind accepts (`Combination`). Other files ask the row, and
//! never ask which kind it is. A run picks its row once.

use crate::fiber::{Instrumentation, Instrumented, Plain, exceptions, listeners, sanitizers};
use crate::lock::bell::{Adaptive, Fair, Spin};
use crate::lock::monitor::Monitor;
use crate::lock::posix::{PthreadMutex, Semaphore};
use crate::policy::operations::Operations;
use crate::policy::shared::{self, Shared};
use crate::policy::{Policy, serial, stealing};
use crate::queue::chaselev::ChaseLev;
use crate::queue::locked::{Locked, Oldest};
use crate::queue::ring::Ring;
use crate::queue::split::Split;
use crate::runtime::observed;
use crate::runtime::record::{BuiltIn, FunctionOf, Row};
use crate::runtime::run::{Open, Request};
use crate::runtime::{cont, entry, forked, run};
use crate::settings::{Accepted, Combination, Config, DequeOrLock, Idle, Join, Kind, Resolved};
use crate::sys::errno::Errno;
use crate::sys::fence::Fenced;
use crate::sys::processors::Mask;
use crate::sys::thread::Uncancelled;
use crate::sys::{detector, fence, futex, output, process_mask, processors, stack_room, symbol};
use crate::task::Task;
use crate::{inspect, queue, settings};
use std::ops::RangeInclusive;

pub struct Entry {
    combination: Combination,
    row: Row,
    /// The row of runs that are observed: see `runtime::observed`.
    observed: Row,
    start: fn(&Request, &Uncancelled, Task) -> Result<(), Errno>,
    open: fn(&Request) -> Result<Box<dyn Open>, Errno>,
    /// The entry to use if the system has no membarrier.
    without_membarrier: Option<&'static Entry>,
    /// The entry to use if the C library's locks cannot be used. If futex is refused, glibc's locks
    /// abort the process at the first contention. A race detector takes such a lock for the
    /// program's: it would order tasks that pass through the queue one after the other, and hide
    /// their races. Valgrind's detectors report a signal that is sent without the lock, even in
    /// threads and memory that they are told to ignore.
    without_c_locks: Option<&'static Entry>,
    /// The entry to use if a sanitizer or the C++ runtime must be told of each switch of stacks.
    instrumented: Option<&'static Entry>,
}

impl AsRef<Combination> for Entry {
    fn as_ref(&self) -> &Combination {
        &self.combination
    }
}

/// The row of policy `P`, without what `cont` changes in it.
pub const fn row<P: Policy>() -> Row {
    Row {
        spawn: entry::spawn::<P>,
        fork: forked::fork,
        offer: forked::offer,
        operations: Operations::of::<P>(),
        calls_at_once: false,
        has_threads: P::HAS_THREADS,
        has_guests: P::HAS_GUESTS,
        guests_have_queues: P::GUESTS_HAVE_QUEUES,
        lines_up: P::LINES_UP,
        lengths: const { &P::LENGTHS },
        plain: None,
        doctor: &inspect::DOCTOR,
    }
}

const fn entry<P: Policy>(kind: Kind, deque: Option<DequeOrLock>) -> Entry {
    Entry {
        combination: Combination { kind, deque, accepted: &P::ACCEPTED },
        row: row::<P>(),
        observed: observed::row(const { &row::<P>() }),
        start: run::start::<P>,
        open: run::open::<P>,
        without_membarrier: None,
        without_c_locks: None,
        instrumented: None,
    }
}

const fn steal<D: queue::Deque>(deque: DequeOrLock) -> Entry {
    entry::<stealing::Stealing<D>>(Kind::Steal, Some(deque))
}

cont::children! {
    stealing::Stealing<BuiltIn>, Plain, "split";
    stealing::Stealing<BuiltIn>, Instrumented, "split_instrumented";
    stealing::Stealing<Split<Fenced>>, Plain, "fenced";
    stealing::Stealing<Split<Fenced>>, Instrumented, "fenced_instrumented";
    stealing::Stealing<ChaseLev>, Plain, "chaselev";
    stealing::Stealing<ChaseLev>, Instrumented, "chaselev_instrumented";
}

/// Continuation stealing.
const fn cont<D: queue::Deque, I: Instrumentation>(deque: DequeOrLock) -> Entry
where
    stealing::Stealing<D>: cont::HasChildren<I>,
{
    let entry = entry::<stealing::Stealing<D>>(Kind::Cont, Some(deque));
    let combination = Combination { accepted: &Accepted::ONE_BY_ONE, ..entry.combination };
    let observed = observed::row(const { &cont_row::<D, I>() });
    Entry { combination, row: cont_row::<D, I>(), observed, ..entry }
}

const fn cont_row<D: queue::Deque, I: Instrumentation>() -> Row
where
    stealing::Stealing<D>: cont::HasChildren<I>,
{
    let (spawn, fork) =
        (cont::spawn::<stealing::Stealing<D>, I>, cont::fork::<stealing::Stealing<D>, I>);
    Row { spawn, fork, calls_at_once: true, ..row::<stealing::Stealing<D>>() }
}

const fn lifo<L: Monitor>(lock: DequeOrLock) -> Entry {
    entry::<Shared<L, shared::Lifo>>(Kind::Lifo, Some(lock))
}

const fn fifo<L: Monitor>(lock: DequeOrLock) -> Entry {
    entry::<Shared<L, shared::Fifo>>(Kind::Fifo, Some(lock))
}

impl Entry {
    const fn or_without_membarrier(self, other: &'static Entry) -> Entry {
        Entry { without_membarrier: Some(other), ..self }
    }

    const fn or_without_c_locks(self, other: &'static Entry) -> Entry {
        Entry { without_c_locks: Some(other), ..self }
    }

    const fn or_instrumented(self, other: &'static Entry) -> Entry {
        Entry { instrumented: Some(other), ..self }
    }
}

/// The first row of a kind has its default deque or lock.
static TABLE: [&Entry; 22] = {
    use DequeOrLock::{ChaseLev as C, Mutex, Queue, Ring as R, Sem, Split as S};
    [
        const { &steal::<BuiltIn>(S).or_without_membarrier(&STEAL_FENCED) },
        const { &steal::<ChaseLev>(C) },
        const { &steal::<Ring>(R) },
        const { &steal::<Locked<PthreadMutex, Oldest>>(Queue).or_without_c_locks(&STEAL_SPIN_QUEUE) },
        const { &steal::<Locked<PthreadMutex>>(Mutex).or_without_c_locks(&STEAL_SPIN) },
        &STEAL_SPIN,
        const { &steal::<Locked<Semaphore>>(Sem).or_without_c_locks(&STEAL_SPIN) },
        const { &steal::<Locked<Fair>>(DequeOrLock::Fair) },
        const { &steal::<Locked<Adaptive>>(DequeOrLock::Adaptive) },
        const { &lifo::<PthreadMutex>(Mutex).or_without_c_locks(&LIFO_SPIN) },
        &LIFO_SPIN,
        const { &lifo::<Semaphore>(Sem).or_without_c_locks(&LIFO_SPIN) },
        const { &lifo::<Fair>(DequeOrLock::Fair) },
        const { &lifo::<Adaptive>(DequeOrLock::Adaptive) },
        const { &fifo::<PthreadMutex>(Mutex).or_without_c_locks(&FIFO_SPIN) },
        &FIFO_SPIN,
        const { &fifo::<Semaphore>(Sem).or_without_c_locks(&FIFO_SPIN) },
        const { &fifo::<Fair>(DequeOrLock::Fair) },
        const { &fifo::<Adaptive>(DequeOrLock::Adaptive) },
        const {
            let with_split = cont::<BuiltIn, Plain>(S).or_without_membarrier(&CONT_FENCED);
            &with_split.or_instrumented(&CONT_INSTRUMENTED)
        },
        const { &cont::<ChaseLev, Plain>(C).or_instrumented(&CONT_CHASELEV_INSTRUMENTED) },
        const { &entry::<serial::Serial>(Kind::Serial, None) },
    ]
};

static STEAL_FENCED: Entry = steal::<Split<Fenced>>(DequeOrLock::Split);
static STEAL_SPIN: Entry = steal::<Locked<Spin>>(DequeOrLock::Spin);
static STEAL_SPIN_QUEUE: Entry = steal::<Locked<Spin, Oldest>>(DequeOrLock::Queue);
static LIFO_SPIN: Entry = lifo::<Spin>(DequeOrLock::Spin);
static FIFO_SPIN: Entry = fifo::<Spin>(DequeOrLock::Spin);
static CONT_INSTRUMENTED: Entry = cont::<BuiltIn, Instrumented>(DequeOrLock::Split);
static CONT_CHASELEV_INSTRUMENTED: Entry = cont::<ChaseLev, Instrumented>(DequeOrLock::ChaseLev);
static CONT_FENCED: Entry =
    cont::<Split<Fenced>, Plain>(DequeOrLock::Split).or_instrumented(&CONT_FENCED_INSTRUMENTED);
static CONT_FENCED_INSTRUMENTED: Entry = cont::<Split<Fenced>, Instrumented>(DequeOrLock::Split);

/// The entry itself, or the entry to use instead on this system.
fn that_works_here(mut entry: &'static Entry) -> &'static Entry {
    let mut replace = |other: fn(&Entry) -> Option<&'static Entry>, here: fn() -> bool| {
        entry = other(entry).filter(|_| here()).unwrap_or(entry);
    };
    replace(|entry| entry.without_membarrier, || !fence::is_free());
    replace(|entry| entry.without_c_locks, || !futex::probe() || detector::is_present());
    replace(|entry| entry.instrumented, || sanitizers::watched() || exceptions::has_runtime());
    entry
}

/// The capacity of a queue if the program gives none.
const DEFAULT_QLEN: usize = 1024;

/// Makes the request for a run, and chooses its row, from the arguments of `sched_init` and the
/// environment. `threads` is the name of `nthreads` in a message.
fn request(
    threads: &str,
    asked: &Config,
    nthreads: i32,
    qlen: i32,
    function_of: FunctionOf,
    mask: fn() -> Mask,
) -> Result<(&'static Entry, Request), Errno> {
    const INVALID: Errno = Errno(libc::EINVAL);
    stack_room::look_for_room().map_err(|stack_room::NoRoom { left, least }| {
        let (left, least) = (left >> 10, least >> 10);
        output::say(format_args!(
            "{left} KiB are left of the calling thread's stack; a run needs {least}"
        ));
        Errno(libc::ENOMEM)
    })?;
    let resolved = settings::resolve(asked, &TABLE).map_err(|settings::Refused| INVALID)?;
    let Resolved { config, transfers, row: entry } = resolved;
    fence::prepare();
    listeners::detect();
    let entry = that_works_here(entry);
    let threads = match (config.threads, usize::try_from(nthreads)) {
        (Some(settings::Threads::Count(n)), _) => n,
        (None, Ok(n)) if n > settings::MOST_WORKERS => {
            output::say(format_args!(
                "{threads} is {n}; accepted: at most {}; 0 or less for the default{}",
                settings::MOST_WORKERS,
                symbol::Caller
            ));
            return Err(INVALID);
        }
        (None, Ok(n)) if n > 0 => n,
        _ => processors::default_threads(&mask()),
    };
    let threads = if entry.row.has_threads { threads } else { 1 };
    let qlen = usize::try_from(qlen).ok().filter(|&n| n > 0).unwrap_or(DEFAULT_QLEN);
    let row = if observed::is_observed(&config) { &entry.observed } else { &entry.row };
    let deque = entry.combination.deque;
    let guests = 0; // only a run that is held open has guests
    let has_reliefs =
        entry.row.has_guests && config.idle == Idle::Park && config.join == Join::Suspend;
    let reliefs = usize::from(has_reliefs);
    let request = Request {
        config,
        transfers,
        deque,
        row,
        function_of,
        threads,
        guests,
        reliefs,
        qlen,
        mask,
    };
    Ok((entry, request))
}

/// Runs `first` and all its descendants, for `sched_init`. They have ended when this returns Ok.
pub fn run(
    uncancelled: &Uncancelled,
    nthreads: i32,
    qlen: i32,
    first: Task,
    function_of: FunctionOf,
) -> Result<(), Errno> {
    let asked = &Config::defaults();
    detector::ignored(|| {
        let (entry, request) =
            request("sched_init: nthreads", asked, nthreads, qlen, function_of, Mask::of_caller)?;
        (entry.start)(&request, uncancelled, first)
    })
}

/// Opens the run of the default pool.
pub fn open_standing(function_of: FunctionOf) -> Result<Box<dyn Open>, Errno> {
    detector::ignored(|| {
        let (entry, mut request) =
            request("", &Config::defaults(), 0, 0, function_of, process_mask::of_process)?;
        // The threads of this pool are not joined at its end: see `default_pool`.
        request.config.warm = request.config.warm.filter(|warm| !warm.is_zero());
        open_with_guests(entry, request)
    })
}

/// Opens a run that stays open, for `sched_pool_create`.
pub fn open(
    asked: &Config,
    nthreads: i32,
    qlen: i32,
    function_of: FunctionOf,
) -> Result<Box<dyn Open>, Errno> {
    let threads = "sched_pool_create: options.nthreads";
    detector::ignored(|| {
        let (entry, request) =
            request(threads, asked, nthreads, qlen, function_of, Mask::of_caller)?;
        open_with_guests(entry, request)
    })
}

/// A run that is held open has as many guests' places as workers, within this range. More guests
/// than processors gain nothing from helpers, but their spawns need no lock.
const GUESTS: RangeInclusive<usize> = 8..=64;

fn open_with_guests(entry: &Entry, mut request: Request) -> Result<Box<dyn Open>, Errno> {
    if entry.row.has_guests {
        request.guests = request.threads.clamp(*GUESTS.start(), *GUESTS.end());
    }
    (entry.open)(&request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_and_each_deque_or_lock_has_a_row() {
        let has = |fits: &dyn Fn(&Combination) -> bool| TABLE.iter().any(|e| fits(&e.combination));
        for &kind in Kind::ALL {
            assert!(has(&|row| row.kind == kind), "{}", kind.word());
        }
        for &deque in DequeOrLock::ALL {
            assert!(has(&|row| row.deque == Some(deque)), "{}", deque.word());
        }
    }
}
