//! The table of kinds: a row for each kind with its deque or lock. `sched_init` picks the row
//! once; tests and benchmarks walk the same names.

use crate::fiber::{exceptions, sanitizers};
use crate::lock::monitor::{PthreadMutex, Semaphore, Spin};
use crate::policy::operations::Operations;
use crate::policy::{Policy, serial, shared, stealing};
use crate::queue::chaselev::ChaseLev;
use crate::queue::locked::Locked;
use crate::queue::ring::Ring;
use crate::queue::split::Split;
use crate::runtime::record::{BuiltIn, Row};
use crate::runtime::run::{Open, Request};
use crate::runtime::{cont, entry, forked, run};
use crate::settings::{Config, Deque};
use crate::sys::errno::Errno;
use crate::sys::thread::Uncancelled;
use crate::sys::{fence, futex, output, processors, stack_room, symbol};
use crate::task::Task;
use crate::{queue, settings};

/// One line of the table: a kind with its deque or lock.
pub struct Entry {
    pub kind: settings::Kind,
    pub deque: Option<Deque>,
    row: Row,
    start: fn(&Request, &Uncancelled, Task) -> Result<(), Errno>,
    open: fn(&Request) -> Result<Box<dyn Open>, Errno>,
}

const fn entry<P: Policy>(kind: settings::Kind, deque: Option<Deque>) -> Entry {
    let row = Row {
        spawn: entry::spawn::<P>,
        finish_spawn: entry::finish_spawn::<P>,
        fork: forked::fork,
        queue: entry::queue::<P>,
        operations: Operations::of::<P>(),
        calls_at_once: false,
        has_threads: P::HAS_THREADS,
        lines_up: P::LINES_UP,
    };
    Entry { kind, deque, row, start: run::start::<P>, open: run::open::<P> }
}

/// Continuation stealing. `INSTRUMENTED`: somebody is told of each switch of stacks.
const fn cont<D: queue::Deque, const INSTRUMENTED: bool>(deque: Deque) -> Entry {
    let entry = entry::<Steal<D>>(settings::Kind::Cont, Some(deque));
    let (spawn, fork) = (cont::spawn::<D, INSTRUMENTED>, cont::fork::<D, INSTRUMENTED>);
    Entry { row: Row { spawn, fork, calls_at_once: true, ..entry.row }, ..entry }
}

type Lifo<L> = shared::Shared<L, false>;
type Fifo<L> = shared::Shared<L, true>;
type Steal<D> = stealing::Stealing<D>;

pub static TABLE: [Entry; 16] = {
    use Deque::{ChaseLev as C, Mutex, Queue as Q, Ring as R, Sem, Spin as Sp, Split as Pl};
    use settings::Kind::{Fifo as F, Lifo as L, Serial as O, Steal as S};
    [
        entry::<Steal<BuiltIn>>(S, Some(Pl)),
        entry::<Steal<ChaseLev>>(S, Some(C)),
        entry::<Steal<Ring>>(S, Some(R)),
        entry::<Steal<Locked<PthreadMutex, true>>>(S, Some(Q)),
        entry::<Steal<Locked<PthreadMutex>>>(S, Some(Mutex)),
        entry::<Steal<Locked<Spin>>>(S, Some(Sp)),
        entry::<Steal<Locked<Semaphore>>>(S, Some(Sem)),
        entry::<Lifo<PthreadMutex>>(L, Some(Mutex)),
        entry::<Lifo<Spin>>(L, Some(Sp)),
        entry::<Lifo<Semaphore>>(L, Some(Sem)),
        entry::<Fifo<PthreadMutex>>(F, Some(Mutex)),
        entry::<Fifo<Spin>>(F, Some(Sp)),
        entry::<Fifo<Semaphore>>(F, Some(Sem)),
        cont::<BuiltIn, false>(Pl),
        cont::<ChaseLev, false>(C),
        entry::<serial::Serial>(O, None),
    ]
};

/// The rows with `split` where membarrier is not to be had.
static FENCED: [Entry; 2] = [
    entry::<Steal<Split<true>>>(settings::Kind::Steal, Some(Deque::Split)),
    cont::<Split<true>, false>(Deque::Split),
];

/// The rows of kind `cont` where a sanitizer or C++'s runtime is told of each switch.
static INSTRUMENTED: [Entry; 3] = [
    cont::<BuiltIn, true>(Deque::Split),
    cont::<ChaseLev, true>(Deque::ChaseLev),
    cont::<Split<true>, true>(Deque::Split),
];

/// The row with `queue` where futex is not to be had.
static FUTEXLESS: Entry =
    entry::<Steal<Locked<Spin, true>>>(settings::Kind::Steal, Some(Deque::Queue));

/// The row that the configuration asks for. Where futex is refused, glibc's locks would abort
/// the process at the first contention: then it is the spinlock's row.
fn find(config: &Config) -> Option<&'static Entry> {
    let with = |deque| {
        TABLE.iter().find(|row| row.kind == config.kind && row.deque.is_none_or(|d| d == deque))
    };
    let row = with(config.deque())?;
    let told =
        row.kind == settings::Kind::Cont && (sanitizers::watched() || exceptions::has_runtime());
    match row.deque {
        Some(Deque::Split) if told => Some(&INSTRUMENTED[if fence::is_free() { 0 } else { 2 }]),
        _ if told => Some(&INSTRUMENTED[1]),
        Some(Deque::Split) if !fence::is_free() => FENCED.iter().find(|r| r.kind == row.kind),
        Some(Deque::Mutex | Deque::Sem) if !futex::probe() => with(Deque::Spin),
        Some(Deque::Queue) if !futex::probe() => Some(&FUTEXLESS),
        _ => Some(row),
    }
}

/// The number of queued tasks to be ready for when the program does not say.
const DEFAULT_QLEN: usize = 1024;

/// What a program asks for, numbers as for `sched_init`, and the environment changes. `threads`: what a message calls
/// their number.
fn request(
    threads: &str,
    asked: &Config,
    nthreads: i32,
    qlen: i32,
) -> Result<(&'static Entry, Request), Errno> {
    const INVALID: Errno = Errno(libc::EINVAL);
    stack_room::look_for_room().map_err(|stack_room::NoRoom { left, least }| {
        let (left, least) = (left >> 10, least >> 10);
        output::say(format_args!(
            "{left} KiB are left of the calling thread's stack; a run needs {least}"
        ));
        Errno(libc::ENOMEM)
    })?;
    let config = Config::from_environment(asked).map_err(|settings::Refused| INVALID)?;
    fence::prepare();
    sanitizers::detect();
    let entry = find(&config).ok_or_else(|| {
        let accepted = TABLE.iter().filter(|row| row.kind == config.kind);
        let settings::Refused =
            settings::refuse_combination(&config, asked, accepted.filter_map(|row| row.deque));
        INVALID
    })?;
    config.check_suited(asked).map_err(|settings::Refused| INVALID)?;
    if config.help == settings::Switch::On {
        config.help();
    }
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
        _ => processors::default_threads(),
    };
    let threads = if entry.row.has_threads { threads } else { 1 };
    let qlen = usize::try_from(qlen).ok().filter(|&n| n > 0).unwrap_or(DEFAULT_QLEN);
    let Entry { deque, row, .. } = entry;
    Ok((entry, Request { config, deque: *deque, row, threads, qlen }))
}

/// A whole run: `sched_init` behind its checks. The first task, and all that come from it,
/// have ended when this returns Ok.
pub fn run(uncancelled: &Uncancelled, nthreads: i32, qlen: i32, first: Task) -> Result<(), Errno> {
    let (entry, request) = request("sched_init: nthreads", &Config::defaults(), nthreads, qlen)?;
    (entry.start)(&request, uncancelled, first)
}

/// The run of the default pool.
pub fn open_standing() -> Result<Box<dyn Open>, Errno> {
    let (entry, mut request) = request("", &Config::defaults(), 0, 0)?;
    // Its threads are not joined at its end: see `default_pool`.
    request.config.warm = request.config.warm.filter(|warm| !warm.is_zero());
    (entry.open)(&request)
}

/// A run that stays open: `sched_pool_create` behind its checks.
pub fn open(asked: &Config, nthreads: i32, qlen: i32) -> Result<Box<dyn Open>, Errno> {
    let (entry, request) = request("sched_pool_create: options.nthreads", asked, nthreads, qlen)?;
    (entry.open)(&request)
}
