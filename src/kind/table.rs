//! The table of kinds: a row for each kind with its deque or lock. `sched_init` picks the row
//! once; tests and benchmarks walk the same names.

use super::run::Open;
use super::strand::{Strand, cont, is_continuation};
use super::worker::Worker;
use super::{Awaited, Kind, Place, Quick, Seat, forked, run, serial, shared, stealing};
use crate::base::Errno;
use crate::base::config::{self, Config, Deque};
use crate::base::lock::{PthreadMutex, Semaphore, Spin};
use crate::base::mem::NoMemory;
use crate::base::thread::{self, Uncancelled};
use crate::base::{barrier, cpu, futex, io, symbol};
use crate::fiber::{exceptions, sanitizers};
use crate::queue::chaselev::ChaseLev;
use crate::queue::injector::Refused;
use crate::queue::locked::Locked;
use crate::queue::ring::Ring;
use crate::queue::split::Split;
use crate::queue::{self, Full};
use crate::sync::forked::Forked;
use crate::task::{Task, TaskFn};
use std::ffi::{c_int, c_void};

/// What a run is asked to be, its settings resolved.
pub struct Request {
    pub config: Config,
    pub row: &'static Row,
    pub threads: usize,
    pub qlen: usize,
}

/// One line of the table: a kind with its deque or lock.
pub struct Row {
    pub kind: config::Kind,
    pub deque: Option<Deque>,
    start: fn(&Request, &Uncancelled, Task) -> Result<(), Errno>,
    open: fn(&Request) -> Result<Box<dyn Open>, Errno>,
    /// `sched_spawn`, but for the quick case, from any thread, and for a run that has ended, too.
    pub spawn: unsafe extern "C" fn(Option<TaskFn>, *mut c_void, &Worker) -> c_int,
    /// `sched_fork`, but for the quick case, from any thread.
    pub fork: unsafe extern "C" fn(&Forked, Option<TaskFn>, *mut c_void, &Worker),
    /// The kind's `spawn`, with the signature and the outcome of `sched_spawn`.
    pub queue: unsafe extern "C" fn(TaskFn, *mut c_void, &Worker) -> c_int,
    /// The kind's `spawn`, else its `requeue`, from the owner of the worker.
    pub queue_soon: unsafe fn(&Worker, Task),
    /// The kind's `inject`, while the worker's run goes on.
    pub inject: unsafe fn(&Worker, Task) -> Result<(), Refused>,
    /// The kind's `hold` and `let_go`, from the owner of the worker.
    pub hold: unsafe fn(&Worker),
    pub let_go: unsafe fn(&Worker),
    /// The kind's `take_back`, from the owner of the worker.
    pub take_back: unsafe fn(&Worker, Task) -> bool,
    /// The kind's `requeue`, from the owner of the worker.
    pub requeue: unsafe fn(&Worker, Task) -> Result<(), NoMemory>,
    /// The kind's `spawn`, or where that is refused its `put_back`, from the owner of the worker.
    pub put_back: unsafe fn(&Worker, Task) -> Result<(), NoMemory>,
    /// The kind's `reserve`, while the run goes on.
    pub reserve: unsafe fn(&Worker, isize) -> Result<(), NoMemory>,
    /// The kind's `LINES_UP`, and `line_up` and `next_in_line`, from the owner of the worker.
    pub lines_up: bool,
    pub line_up: unsafe fn(&Worker, Task) -> Result<(), NoMemory>,
    pub next_in_line: unsafe fn(&Worker, bool) -> Option<Task>,
    /// The kind's `begin_exchange`, for a task that was set aside, and `end_exchange`, from the owner of the worker.
    pub begin_exchange: unsafe fn(&Worker) -> Option<Task>,
    pub end_exchange: unsafe fn(&Worker, Task),
    /// The kind's `work` and `help`, from a strand of a worker's.
    pub work: unsafe fn(&Strand),
    pub help: unsafe fn(&Strand, &dyn Awaited),
    /// The kind's `rouse`, while the worker's run goes on.
    pub rouse: unsafe fn(&Worker),
}

const fn row<K: Kind>(kind: config::Kind, deque: Option<Deque>) -> Row {
    Row {
        kind,
        deque,
        start: run::start::<K>,
        open: run::open::<K>,
        spawn: spawn::<K>,
        fork: forked::fork,
        queue: queue::<K>,
        queue_soon: queue_soon::<K>,
        inject: inject::<K>,
        hold: hold::<K>,
        let_go: let_go::<K>,
        take_back: take_back::<K>,
        requeue: requeue::<K>,
        put_back: put_back::<K>,
        reserve: reserve::<K>,
        lines_up: K::LINES_UP,
        line_up: line_up::<K>,
        next_in_line: next_in_line::<K>,
        begin_exchange: begin_exchange::<K>,
        end_exchange: end_exchange::<K>,
        work: work::<K>,
        help: help::<K>,
        rouse: rouse::<K>,
    }
}

/// Continuation stealing. `TOLD`: somebody is told of each switch of stacks.
const fn cont<D: queue::Deque, const TOLD: bool>(deque: Deque) -> Row {
    let (spawn, fork) = (cont::spawn::<D, TOLD>, cont::fork::<D, TOLD>);
    Row { spawn, fork, ..row::<Steal<D>>(config::Kind::Cont, Some(deque)) }
}

/// # Safety
/// If the caller owns `worker`, its run is one of `K`.
unsafe extern "C" fn spawn<K: Kind>(
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) -> c_int {
    match f {
        // SAFETY: passed on.
        Some(f) if worker.is_mine() => unsafe { queue::<K>(f, closure, worker) },
        // SAFETY: passed on.
        _ => unsafe { Worker::spawn_elsewhere(f, closure, worker) },
    }
}

/// # Safety
/// The caller owns `worker`, whose run is one of `K`.
unsafe extern "C" fn queue<K: Kind>(f: TaskFn, closure: *mut c_void, worker: &Worker) -> c_int {
    // SAFETY: passed on.
    outcome(unsafe { worker.kind::<K>().spawn(worker, Task { f, closure }) })
}

/// # Safety
/// The caller owns `worker`, whose run is one of `K`.
unsafe fn queue_soon<K: Kind>(worker: &Worker, task: Task) {
    // SAFETY: passed on.
    unsafe {
        if worker.kind::<K>().spawn(worker, task).is_err() {
            worker.requeue(task);
        }
    }
}

/// The rest of a spawn that `Worker::quick_put` has begun.
///
/// # Safety
/// It was begun just now, with the same arguments.
#[cold]
pub unsafe extern "C" fn spawn_slowly(
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) -> c_int {
    // SAFETY: begun, so not NULL.
    let f = unsafe { f.unwrap_unchecked() };
    // SAFETY: passed on; only runs of this kind have quick deques.
    outcome(unsafe { worker.kind::<Steal<Quick>>().spawn_slowly(worker, Task { f, closure }) })
}

fn outcome(pushed: Result<(), Full>) -> c_int {
    match pushed {
        Ok(()) => 0,
        Err(Full) => thread::failed(libc::EAGAIN),
    }
}

/// # Safety
/// The run of `worker` is one of `K` and does not end during the call.
unsafe fn inject<K: Kind>(worker: &Worker, task: Task) -> Result<(), Refused> {
    // SAFETY: passed on.
    unsafe { worker.kind::<K>() }.inject(worker, task)
}

/// # Safety
/// The caller owns `worker`, whose run is one of `K`.
unsafe fn hold<K: Kind>(worker: &Worker) {
    // SAFETY: passed on.
    unsafe { worker.kind::<K>() }.hold(worker);
}

/// # Safety
/// As for `hold`.
unsafe fn let_go<K: Kind>(worker: &Worker) {
    // SAFETY: passed on.
    unsafe { worker.kind::<K>() }.let_go(worker);
}

/// # Safety
/// The caller owns `worker`, whose run is one of `K`.
unsafe fn take_back<K: Kind>(worker: &Worker, task: Task) -> bool {
    // SAFETY: passed on.
    unsafe { worker.kind::<K>().take_back(worker, task) }
}

/// # Safety
/// The run of `worker` is one of `K` and does not end during the call.
unsafe fn requeue<K: Kind>(worker: &Worker, task: Task) -> Result<(), NoMemory> {
    // SAFETY: passed on.
    unsafe { worker.kind::<K>() }.requeue(worker, task)
}

/// # Safety
/// The caller owns `worker`, whose run is one of `K`.
unsafe fn put_back<K: Kind>(worker: &Worker, task: Task) -> Result<(), NoMemory> {
    // SAFETY: passed on.
    unsafe {
        let kind = worker.kind::<K>();
        kind.spawn(worker, task).or_else(|Full| kind.put_back(worker, task))
    }
}

/// # Safety
/// The run of `worker` is one of `K` and does not end during the call.
unsafe fn reserve<K: Kind>(worker: &Worker, more: isize) -> Result<(), NoMemory> {
    // SAFETY: passed on.
    unsafe { worker.kind::<K>() }.reserve(more)
}

/// # Safety
/// The caller owns `worker`, whose run is one of `K`.
unsafe fn line_up<K: Kind>(worker: &Worker, task: Task) -> Result<(), NoMemory> {
    // SAFETY: passed on.
    unsafe { worker.kind::<K>().line_up(worker, task) }
}

/// # Safety
/// The caller owns `worker`, whose run is one of `K`.
unsafe fn next_in_line<K: Kind>(worker: &Worker, outside: bool) -> Option<Task> {
    // SAFETY: passed on.
    unsafe { worker.kind::<K>().next_in_line(worker, outside) }
}

/// # Safety
/// The caller owns `worker`, whose run is one of `K`.
unsafe fn begin_exchange<K: Kind>(worker: &Worker) -> Option<Task> {
    // SAFETY: passed on.
    unsafe { worker.kind::<K>().begin_exchange(worker, is_continuation) }
}

/// # Safety
/// As for `begin_exchange`, which has given the caller a task.
unsafe fn end_exchange<K: Kind>(worker: &Worker, task: Task) {
    // SAFETY: passed on.
    unsafe { worker.kind::<K>().end_exchange(task) };
}

/// # Safety
/// The caller is on the strand, whose run is one of `K`.
unsafe fn work<K: Kind>(strand: &Strand) {
    // SAFETY: passed on.
    unsafe { strand.place().kind::<K>().work(strand) };
}

/// # Safety
/// As for `work`.
unsafe fn help<K: Kind>(strand: &Strand, awaited: &dyn Awaited) {
    // SAFETY: passed on.
    unsafe { strand.place().kind::<K>().help(strand, awaited) };
}

/// # Safety
/// The run of `worker` is one of `K` and does not end during the call.
unsafe fn rouse<K: Kind>(worker: &Worker) {
    // SAFETY: passed on.
    unsafe { worker.kind::<K>() }.rouse(worker.index());
}

type Lifo<L> = shared::Shared<L, false>;
type Fifo<L> = shared::Shared<L, true>;
type Steal<D> = stealing::Stealing<D>;

pub static TABLE: [Row; 16] = {
    use Deque::{ChaseLev as C, Mutex, Queue as Q, Ring as R, Sem, Spin as Sp, Split as Pl};
    use config::Kind::{Fifo as F, Lifo as L, Serial as O, Steal as S};
    [
        row::<Steal<Quick>>(S, Some(Pl)),
        row::<Steal<ChaseLev>>(S, Some(C)),
        row::<Steal<Ring>>(S, Some(R)),
        row::<Steal<Locked<PthreadMutex, true>>>(S, Some(Q)),
        row::<Steal<Locked<PthreadMutex>>>(S, Some(Mutex)),
        row::<Steal<Locked<Spin>>>(S, Some(Sp)),
        row::<Steal<Locked<Semaphore>>>(S, Some(Sem)),
        row::<Lifo<PthreadMutex>>(L, Some(Mutex)),
        row::<Lifo<Spin>>(L, Some(Sp)),
        row::<Lifo<Semaphore>>(L, Some(Sem)),
        row::<Fifo<PthreadMutex>>(F, Some(Mutex)),
        row::<Fifo<Spin>>(F, Some(Sp)),
        row::<Fifo<Semaphore>>(F, Some(Sem)),
        cont::<Quick, false>(Pl),
        cont::<ChaseLev, false>(C),
        row::<serial::Serial>(O, None),
    ]
};

/// The rows with `split` where membarrier is not to be had.
static FENCED: [Row; 2] = [
    row::<Steal<Split<true>>>(config::Kind::Steal, Some(Deque::Split)),
    cont::<Split<true>, false>(Deque::Split),
];

/// The rows of kind `cont` where a sanitizer or C++'s runtime is told of each switch.
static TOLD: [Row; 3] = [
    cont::<Quick, true>(Deque::Split),
    cont::<ChaseLev, true>(Deque::ChaseLev),
    cont::<Split<true>, true>(Deque::Split),
];

/// The row with `queue` where futex is not to be had.
static FUTEXLESS: Row = row::<Steal<Locked<Spin, true>>>(config::Kind::Steal, Some(Deque::Queue));

/// The row that the configuration asks for. Where futex is refused, glibc's locks would abort
/// the process at the first contention: then it is the spinlock's row.
fn find(config: &Config) -> Option<&'static Row> {
    let with = |deque| {
        TABLE.iter().find(|row| row.kind == config.kind && row.deque.is_none_or(|d| d == deque))
    };
    let row = with(config.deque())?;
    let told = row.kind == config::Kind::Cont && (sanitizers::watched() || exceptions::there());
    match row.deque {
        Some(Deque::Split) if told => Some(&TOLD[if barrier::is_free() { 0 } else { 2 }]),
        _ if told => Some(&TOLD[1]),
        Some(Deque::Split) if !barrier::is_free() => FENCED.iter().find(|r| r.kind == row.kind),
        Some(Deque::Mutex | Deque::Sem) if !futex::probe() => with(Deque::Spin),
        Some(Deque::Queue) if !futex::probe() => Some(&FUTEXLESS),
        _ => Some(row),
    }
}

/// The number of queued tasks to be ready for when the program does not say.
const DEFAULT_QLEN: usize = 1024;

/// What a program asks for, numbers as for `sched_init`, and the environment changes. `threads`: what a message calls
/// their number.
fn request(threads: &str, asked: &Config, nthreads: i32, qlen: i32) -> Result<Request, Errno> {
    const INVALID: Errno = Errno(libc::EINVAL);
    thread::look_for_room().map_err(|thread::NoRoom { left, least }| {
        let (left, least) = (left >> 10, least >> 10);
        io::say(format_args!(
            "{left} KiB are left of the calling thread's stack; a run needs {least}"
        ));
        Errno(libc::ENOMEM)
    })?;
    let config = Config::from_environment(asked).map_err(|config::Refused| INVALID)?;
    barrier::prepare();
    sanitizers::look();
    let row = find(&config).ok_or_else(|| {
        let accepted = TABLE.iter().filter(|row| row.kind == config.kind);
        let config::Refused =
            config::refuse_combination(&config, asked, accepted.filter_map(|row| row.deque));
        INVALID
    })?;
    config.check_suited(asked).map_err(|config::Refused| INVALID)?;
    if config.help == config::Switch::On {
        config.help();
    }
    let threads = match (config.threads, usize::try_from(nthreads)) {
        (Some(config::Threads::Count(n)), _) => n,
        (None, Ok(n)) if n > config::MOST_WORKERS => {
            io::say(format_args!(
                "{threads} is {n}; accepted: at most {}; 0 or less for the default{}",
                config::MOST_WORKERS,
                symbol::Caller
            ));
            return Err(INVALID);
        }
        (None, Ok(n)) if n > 0 => n,
        _ => cpu::default_threads(),
    };
    let threads = if config.kind == config::Kind::Serial { 1 } else { threads };
    let qlen = usize::try_from(qlen).ok().filter(|&n| n > 0).unwrap_or(DEFAULT_QLEN);
    Ok(Request { config, row, threads, qlen })
}

/// A whole run: `sched_init` behind its checks. The first task, and all that come from it,
/// have ended when this returns Ok.
pub fn run(uncancelled: &Uncancelled, nthreads: i32, qlen: i32, first: Task) -> Result<(), Errno> {
    let request = request("sched_init: nthreads", &Config::defaults(), nthreads, qlen)?;
    (request.row.start)(&request, uncancelled, first)
}

/// The run of the default pool.
pub fn open_standing() -> Result<Box<dyn Open>, Errno> {
    let mut request = request("", &Config::defaults(), 0, 0)?;
    // Its threads are not joined at its end: see `default_pool`.
    request.config.warm = request.config.warm.filter(|warm| !warm.is_zero());
    (request.row.open)(&request)
}

/// A run that stays open: `sched_pool_create` behind its checks.
pub fn open(asked: &Config, nthreads: i32, qlen: i32) -> Result<Box<dyn Open>, Errno> {
    let request = request("sched_pool_create: options.nthreads", asked, nthreads, qlen)?;
    (request.row.open)(&request)
}
