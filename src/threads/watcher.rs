//! The thread that watches the others. It keeps the deadlines of tasks (`deadline`), looks for
//! tasks that hang (`SCHED_WATCHDOG`), draws the line with the statistics of runs in progress
//! (`SCHED_STATS=live`), and writes the timelines of these runs (`SCHED_TRACE`) before a signal
//! ends the process. It exists as long as a run needs one of these duties. It looks from time to
//! time, and at once after a signal that concerns one of them.
//!
//! A signal is handled only while a run needs the duty, and only if its action is the default one
//! when the first such run begins. The handlers may run in any thread, at any instruction. They
//! only request a look ([`super::requests`]). The handler of a fatal signal then waits until the
//! thread has looked, and lets the signal's default action end the process. The interrupted code
//! may hold a lock that the thread needs; so the wait has a limit.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | the requests | as in [`super::requests`] | |
//! | `LOOKS`: set by `begin` | Release, in `OnceLock` | the thread's `get` |
//! | `USERS`: store by `begin` | Relaxed | the request that follows it, or the thread's creation |
//! | `USERS`: store by `end` | Relaxed | none: one more look is harmless; the last run joins |
//! | `THREADS` | SeqCst; Relaxed would do | none: it is never too high, by the thread's own order |
//! | `PROCESS`, `THREAD`, `LAST` | Relaxed | none: handlers compare them, and read nothing else |
//! | `IS_LAST` | Relaxed | none: only the thread uses it |

use crate::lock::mutex::Mutex;
use crate::sys::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use crate::sys::detector;
use crate::sys::errno::{self, Errno};
use crate::sys::futex::{self, Futex};
use crate::sys::output;
use crate::sys::signal::{self, Handler};
use crate::sys::thread::{self, SignalsBlocked, Uncancelled};
use crate::sys::time::Instant;
use crate::threads::requests::{ASKED, DIES, END, NEWS, Requests};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::time::Duration;

/// The signals that end the process after the look for `Duty::Timeline`. SIGSEGV has another
/// handler, which calls `before_end`; SIGQUIT is the doctor's.
const FATAL: [c_int; 11] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGILL,
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGPIPE,
    libc::SIGALRM,
    libc::SIGTERM,
    libc::SIGXCPU,
    libc::SIGSYS,
];

/// How long the handler of a fatal signal waits for the look.
pub const LAST_LOOK: Duration = Duration::from_secs(5);

/// The events that the thread looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duty {
    /// Tasks that hang: `SCHED_WATCHDOG`.
    Doctor,
    /// The statistics of runs in progress: `SCHED_STATS=live`.
    Live,
    /// Signals that end the process in the middle of a run with a timeline: `SCHED_TRACE`.
    Timeline,
    /// Due events. This look is short, and is done each time that the thread is awake.
    Clock,
}

/// The duties, in the order of the looks.
const DUTIES: [Duty; 4] = [Duty::Clock, Duty::Doctor, Duty::Live, Duty::Timeline];

impl Duty {
    /// The signals whose default action is replaced for this duty, and their handler.
    const fn signals(self) -> (&'static [c_int], Handler) {
        match self {
            Duty::Doctor => (&[libc::SIGQUIT], on_quit),
            Duty::Live | Duty::Clock => (&[], on_quit),
            Duty::Timeline => (&FATAL, on_fatal),
        }
    }
}

/// The reason why the thread looks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    Time,
    /// SIGQUIT.
    Asked,
    /// A signal ends the process as soon as the look has returned.
    Fatal,
    /// The thread ends: the look frees what earlier looks have kept, and does nothing else.
    End,
}

/// A look. Returns the time until the next one.
pub type Look = fn(Reason) -> Duration;

struct Watcher {
    /// The number of runs that need each duty.
    users: [usize; DUTIES.len()],
    id: Option<libc::pthread_t>,
}

impl Watcher {
    const fn none() -> Self {
        Watcher { users: [0; DUTIES.len()], id: None }
    }
}

#[unsafe(link_section = "sched_words")]
static WATCHER: Mutex<Watcher> = Mutex::new(Watcher::none());
#[unsafe(link_section = "sched_words")]
static REQUESTS: Requests = Requests::new();
#[unsafe(link_section = "sched_words")]
static LOOKS: [OnceLock<Look>; DUTIES.len()] = [const { OnceLock::new() }; DUTIES.len()];
/// A copy of `Watcher::users` for the thread, which does not take the lock.
#[unsafe(link_section = "sched_words")]
static USERS: [AtomicUsize; DUTIES.len()] = [const { AtomicUsize::new(0) }; DUTIES.len()];
/// 1 while the thread exists: see `threads`.
#[unsafe(link_section = "sched_words")]
static THREADS: AtomicUsize = AtomicUsize::new(0);
/// The process that has the thread; 0: none.
#[unsafe(link_section = "sched_words")]
static PROCESS: AtomicI32 = AtomicI32::new(0);
/// The thread's id (gettid), once the thread has begun.
#[unsafe(link_section = "sched_words")]
static THREAD: AtomicI32 = AtomicI32::new(0);
/// True while the thread does the look that a fatal signal has requested.
#[unsafe(link_section = "sched_words")]
static IS_LAST: AtomicBool = AtomicBool::new(false);
/// 1 once the thread has done that look, or ends instead.
#[unsafe(link_section = "sched_words")]
static LAST: Futex = Futex::new(0);

/// Called when a run that needs the duty begins. If the thread cannot be created, nobody watches.
pub fn begin(duty: Duty, look: Look) {
    let _uncancelled = Uncancelled::begin();
    let _ = LOOKS[duty as usize].set(look);
    WATCHER.with(|watcher| {
        let users = &mut watcher.users[duty as usize];
        *users += 1;
        if *users > 1 {
            return;
        }
        USERS[duty as usize].store(1, Ordering::Relaxed);
        if watcher.id.is_some() {
            REQUESTS.add(NEWS);
        } else {
            REQUESTS.forget();
            let _blocked = SignalsBlocked::block();
            // SAFETY: `main` uses no argument.
            watcher.id = unsafe { thread::create(main, ptr::null_mut(), None) }.ok();
        }
        if watcher.id.is_some() {
            // SAFETY: the call takes nothing.
            PROCESS.store(unsafe { libc::getpid() }, Ordering::Relaxed);
            let (signals, handler) = duty.signals();
            signals.iter().for_each(|&signal| signal::handle(signal, handler));
        }
    });
}

/// Called when a run that needed the duty has ended. True if no other run needs the duty, which
/// then ends. If no run needs any duty, the thread has ended at the return.
pub fn end(duty: Duty) -> bool {
    let _uncancelled = Uncancelled::begin(); // pthread_join is a cancellation point
    WATCHER.with(|watcher| {
        let users = &mut watcher.users[duty as usize];
        *users = users.saturating_sub(1);
        if *users > 0 {
            return false;
        }
        USERS[duty as usize].store(0, Ordering::Relaxed);
        unhandle(duty);
        let is_unused = watcher.users.iter().all(|&users| users == 0);
        if let Some(id) = watcher.id.take_if(|_| is_unused) {
            REQUESTS.add(END);
            // SAFETY: the thread is joined once, and ends by itself. (It does not take this lock,
            // and nobody asks for this lock under the lock of a record, which the thread takes.)
            let _ = unsafe { thread::join(id) };
            PROCESS.store(0, Ordering::Relaxed);
        }
        true
    })
}

/// Has the thread, if it exists, do the look of `Duty::Clock`. Async-signal-safe.
pub fn call() {
    REQUESTS.add(NEWS);
}

/// The number of threads of this file: 0 or 1. It may be too low for a moment, but never too high.
pub fn threads() -> usize {
    THREADS.load(Ordering::SeqCst)
}

pub fn handlers() -> [libc::sighandler_t; 2] {
    [signal::address(on_quit), signal::address(on_fatal)]
}

fn unhandle(duty: Duty) {
    let (signals, handler) = duty.signals();
    signals.iter().for_each(|&signal| signal::unhandle(signal, handler));
}

/// Called in the child of a fork, which does not have the thread.
///
/// # Safety
/// No other thread of this process uses the functions of this file before this returns.
pub unsafe fn renew() {
    // SAFETY: no other thread uses the lock.
    unsafe { WATCHER.reset(Watcher::none()) };
    USERS.iter().for_each(|users| users.store(0, Ordering::Relaxed));
    THREADS.store(0, Ordering::Relaxed);
    PROCESS.store(0, Ordering::Relaxed);
    DUTIES.into_iter().for_each(unhandle);
}

unsafe extern "C" fn on_quit(_: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    let errno = errno::get();
    REQUESTS.add(ASKED);
    errno::set(Errno(errno));
}

unsafe extern "C" fn on_fatal(number: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    before_end();
    // SAFETY: this is what the kernel has passed.
    unsafe { signal::take_default_action(number, info) };
}

/// Called in the handler of a signal that is about to end the process: has the thread look for
/// `Reason::Fatal`, and waits for it.
pub fn before_end() {
    // A child made by vfork shares this memory, but not the thread; a child made by fork has no
    // thread; and the thread does not wait for itself.
    // SAFETY: the calls take nothing.
    let (process, thread) = unsafe { (libc::getpid(), libc::gettid()) };
    let is_there = PROCESS.load(Ordering::Relaxed) == process;
    if !is_there || THREAD.load(Ordering::Relaxed) == thread {
        return;
    }
    if !REQUESTS.add(DIES) {
        return; // the thread ends, and does not look any more
    }
    let begin = Instant::now();
    while LAST.load(Ordering::Relaxed) == 0 {
        let Some(left) = LAST_LOOK.checked_sub(begin.elapsed()) else {
            if USERS[Duty::Timeline as usize].load(Ordering::Relaxed) > 0 {
                output::say(format_args!(
                    "SCHED_TRACE: a timeline is not whole: it was not written within {} s after the \
                     signal that ends the process",
                    LAST_LOOK.as_secs()
                ));
            }
            return;
        };
        LAST.wait(0, left);
    }
}

extern "C" fn main(_: *mut c_void) -> *mut c_void {
    detector::ignored(watch);
    ptr::null_mut()
}

/// Wakes the handlers that wait in `before_end`.
fn last_look_is_over() {
    LAST.store(1, Ordering::Relaxed);
    LAST.wake(i32::MAX);
}

/// True if the thread must not wait until stderr accepts a text.
fn is_urgent() -> bool {
    REQUESTS.has(DIES | END) || IS_LAST.load(Ordering::Relaxed)
}

fn watch() {
    thread::prepare_watcher();
    output::hurry(is_urgent);
    // SAFETY: the call takes nothing.
    THREAD.store(unsafe { libc::gettid() }, Ordering::Relaxed);
    THREADS.store(1, Ordering::SeqCst);
    let mut due = [None; DUTIES.len()];
    loop {
        let requests = REQUESTS.take();
        let dies = requests.has(DIES);
        IS_LAST.store(dies, Ordering::Relaxed);
        if requests.has(END) {
            if dies {
                last_look_is_over();
            }
            break;
        }
        let now = Instant::now();
        for (duty, due) in DUTIES.into_iter().zip(&mut due) {
            let reason = match duty {
                Duty::Doctor if requests.has(ASKED) => Reason::Asked,
                Duty::Timeline if dies => Reason::Fatal,
                _ => Reason::Time,
            };
            if USERS[duty as usize].load(Ordering::Relaxed) == 0 {
                *due = None;
            } else if reason != Reason::Time
                || duty == Duty::Clock
                || due.is_none_or(|due| due <= now)
            {
                *due = LOOKS[duty as usize].get().map(|look| now + look(reason));
            }
        }
        if dies {
            last_look_is_over();
        }
        let first = due.iter().flatten().min();
        let time =
            first.map_or(futex::LONGEST, |due| due.saturating_duration_since(Instant::now()));
        REQUESTS.sleep(time.min(futex::LONGEST));
    }
    for look in LOOKS.iter().filter_map(OnceLock::get) {
        look(Reason::End);
    }
    THREADS.store(0, Ordering::SeqCst);
}
