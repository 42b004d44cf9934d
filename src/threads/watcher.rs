//! The thread that watches the others: for the doctor (`SCHED_WATCHDOG`) and for the line that
//! shows the statistics of runs that go on (`SCHED_STATS=live`). It exists as long as a run needs
//! one of its duties. It looks now and then; the doctor also looks at once after SIGQUIT.
//!
//! SIGQUIT is handled only for the doctor, and only if its action is the default one when the first
//! run begins that needs the doctor. The handler may run in any thread, at any instruction. It only
//! sets the thread's word and wakes the thread.

use crate::lock::mutex::Mutex;
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::errno::{self, Errno};
use crate::sys::futex::{self, Futex};
use crate::sys::thread::{self, SignalsBlocked, Uncancelled};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

// Values of the thread's word.
const WATCH: u32 = 0;
/// SIGQUIT.
const ASKED: u32 = 1;
const END: u32 = 2;
/// Another duty has begun.
const NEWS: u32 = 3;

/// What the thread looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duty {
    /// Tasks that hang: `SCHED_WATCHDOG`.
    Doctor,
    /// The statistics of runs that go on: `SCHED_STATS=live`.
    Live,
}

const DUTIES: [Duty; 2] = [Duty::Doctor, Duty::Live];

/// Why the thread looks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    Time,
    /// SIGQUIT.
    Asked,
}

/// A look. Returns the time until the next one.
pub type Look = fn(Reason) -> Duration;

struct Watcher {
    /// How many runs need each duty.
    users: [usize; DUTIES.len()],
    id: Option<libc::pthread_t>,
}

impl Watcher {
    const fn none() -> Self {
        Watcher { users: [0; DUTIES.len()], id: None }
    }
}

static WATCHER: Mutex<Watcher> = Mutex::new(Watcher::none());
static WORD: Futex = Futex::new(WATCH);
static LOOKS: [OnceLock<Look>; DUTIES.len()] = [const { OnceLock::new() }; _];
/// A copy of `Watcher::users` for the thread, which does not take the lock.
static USERS: [AtomicUsize; DUTIES.len()] = [const { AtomicUsize::new(0) }; _];
/// 1 while the thread exists: see `threads`.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// A run begins that needs the duty. If the thread cannot be created, nobody watches.
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
            WORD.swap_if(WATCH, NEWS);
            WORD.wake(1);
        } else {
            WORD.store(WATCH, Ordering::Relaxed);
            let _blocked = SignalsBlocked::block();
            // SAFETY: `main` uses no argument.
            watcher.id = unsafe { thread::create(main, ptr::null_mut(), None) }.ok();
        }
        if watcher.id.is_some() && duty == Duty::Doctor {
            handle(libc::SIG_DFL, handler());
        }
    });
}

/// A run has ended that needed the duty. Returns true if no other run needs it; then the thread does
/// not begin another look for it, and if no run needs any duty, the thread has ended.
pub fn end(duty: Duty) -> bool {
    let _uncancelled = Uncancelled::begin(); // pthread_join is a cancellation point
    WATCHER.with(|watcher| {
        let users = &mut watcher.users[duty as usize];
        *users = users.saturating_sub(1);
        if *users > 0 {
            return false;
        }
        USERS[duty as usize].store(0, Ordering::Relaxed);
        if watcher.id.is_some() && duty == Duty::Doctor {
            handle(handler(), libc::SIG_DFL);
        }
        if watcher.users.iter().all(|&users| users == 0)
            && let Some(id) = watcher.id.take()
        {
            WORD.swap(END, Ordering::Relaxed);
            WORD.wake(1);
            // SAFETY: the thread is joined once, and ends by itself. (It does not take this lock.)
            let _ = unsafe { thread::join(id) };
        }
        true
    })
}

/// The number of threads of this file: 0 or 1. Never more than there are.
pub fn threads() -> usize {
    THREADS.load(Ordering::SeqCst)
}

/// The address of the handler of SIGQUIT.
pub fn handler() -> usize {
    on_quit as *const () as usize
}

/// In the child of a fork, which does not have the thread.
///
/// # Safety
/// No other thread of this process uses the functions of this file before this returns.
pub unsafe fn renew() {
    // SAFETY: by the caller's promise.
    unsafe { WATCHER.reset(Watcher::none()) };
    USERS.iter().for_each(|users| users.store(0, Ordering::Relaxed));
    THREADS.store(0, Ordering::Relaxed);
    handle(handler(), libc::SIG_DFL);
}

/// Changes the action of SIGQUIT from one to another; leaves any other action.
fn handle(from: usize, to: usize) {
    // SAFETY: all zero is a valid value; the places are valid, and the functions have the right
    // type.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGQUIT, ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == from
        {
            action = std::mem::zeroed();
            action.sa_sigaction = to;
            action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
            libc::sigaction(libc::SIGQUIT, &raw const action, ptr::null_mut());
        }
    }
}

extern "C" fn on_quit(_: c_int) {
    let errno = errno::get();
    if !WORD.swap_if(WATCH, ASKED) {
        WORD.swap_if(NEWS, ASKED); // the thread looks at its duties after each wake-up
    }
    WORD.wake(1);
    errno::set(Errno(errno));
}

extern "C" fn main(_: *mut c_void) -> *mut c_void {
    thread::prepare_watcher();
    THREADS.store(1, Ordering::SeqCst);
    let mut due = [None; DUTIES.len()];
    while WORD.load(Ordering::Relaxed) != END {
        let asked = WORD.swap_if(ASKED, WATCH);
        WORD.swap_if(NEWS, WATCH);
        let now = Instant::now();
        for (duty, due) in DUTIES.into_iter().zip(&mut due) {
            let reason = if asked && duty == Duty::Doctor { Reason::Asked } else { Reason::Time };
            if USERS[duty as usize].load(Ordering::Relaxed) == 0 {
                *due = None;
            } else if reason == Reason::Asked || due.is_none_or(|due| due <= now) {
                *due = LOOKS[duty as usize].get().map(|look| now + look(reason));
            }
        }
        let first = due.iter().flatten().min();
        let time =
            first.map_or(futex::LONGEST, |due| due.saturating_duration_since(Instant::now()));
        WORD.wait(WATCH, time.min(futex::LONGEST));
    }
    THREADS.store(0, Ordering::SeqCst);
    ptr::null_mut()
}
