//! Tells the process's race detector which of the program's accesses are ordered.
//!
//! The detectors are ThreadSanitizer, for a program that was compiled for it, and valgrind's
//! Helgrind and DRD. None of them understands which accesses this library's atomic operations
//! order. Each has two functions for that: everything that a thread has done before it *releases*
//! an address is ordered before everything that a thread does after it *acquires* the same address.
//! An address is only a name, and nothing is read there.
//!
//! | ordered | released | acquired |
//! | --- | --- | --- |
//! | spawn, fork → start | the record of the task, when it is queued | when it starts |
//! | end → join | the record, when the task has ended | by the join |
//! | end → `sched_init` returns, a pool is at rest | the run, when a task has ended | by the waiter |
//! | end → group wait | the group | by the waiter |
//! | unlock → lock, post → wait, signal → wait, barrier, cancel | the object | the object |
//! | last use of a block of arguments → next use by another worker | the run's blocks | the same |
//! | a thread leaves a worker → another one occupies it | the worker | the worker |
//! | a suspended task resumes in another thread | its fiber, on another stack | its fiber |
//! | last use of a stack → next use by another worker | the stack, when the process keeps it | the stack |
//!
//! # The library's own accesses
//!
//! *ThreadSanitizer* sees code that was compiled for it, which this library is not, and the memory
//! functions of libc that the library calls. It has calls that make it *ignore* a thread.
//! `fiber::sanitizers` tells it of stacks, and so orders everything that is done on one stack.
//!
//! *DRD* sees all code. It can also ignore a thread.
//!
//! *Helgrind* sees all code, and cannot ignore a thread, only memory: the library *owns* the bytes
//! that several of its threads use. It owns all that it allocates (`sys::heap`), its statics, and
//! the objects that the program passes to it. A function's frame belongs to its thread; the library
//! owns those parts of a frame that other threads use, such as the node of a waiter.
//!
//! A thread is ignored while the library works: in the library's threads, and in each function that
//! starts, waits or queues. It is not ignored while a function of the program runs. This state
//! belongs to the thread, although tasks move from thread to thread: wherever a stack is left or
//! resumed, the thread is ignored. (To ThreadSanitizer a stack is a thread. So each of its records
//! of a stack is ignored from the beginning, and whenever no thread is on the stack.)
//!
//! # Cost
//!
//! Only observed runs record tasks. In a process with a detector, each run has an observed row
//! (`runtime::observed`), so the plain rows' spawn, fork and join contain nothing of this file. The
//! other lines of the table above concern places where the program waits, or where memory changes
//! hands; each such place costs a load and a comparison.
//!
//! A library that is compiled for ThreadSanitizer itself (`make tsan`) tells the detector nothing.

pub mod tsan;

use crate::sys::valgrind::{self, RaceTool};
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU8, Ordering};

/// The detector that the process has. All accesses are Relaxed: every thread finds the same.
#[unsafe(link_section = "sched_words")]
static FOUND: AtomicU8 = AtomicU8::new(UNKNOWN);

const UNKNOWN: u8 = 0;
const NONE: u8 = 1;
const TSAN: u8 = 2;
const HELGRIND: u8 = 3;
const DRD: u8 = 4;

enum Detector {
    Tsan,
    Valgrind(RaceTool),
}

/// True if the process has a race detector that must be told what the library orders.
#[inline(always)]
pub fn is_present() -> bool {
    may_be_present() && present().is_some()
}

/// False if the process has no race detector. True if it has one, or if nobody has looked for one
/// yet: so the code behind this test must also be right without one. This is the test of the hot
/// paths. They call the cold function behind it last, and so need not save registers for it.
#[inline(always)]
pub fn may_be_present() -> bool {
    FOUND.load(Ordering::Relaxed) != NONE
}

#[cold]
#[inline(never)]
fn present() -> Option<Detector> {
    let found = match FOUND.load(Ordering::Relaxed) {
        UNKNOWN => look(),
        found => found,
    };
    match found {
        TSAN => Some(Detector::Tsan),
        HELGRIND => Some(Detector::Valgrind(RaceTool::Helgrind)),
        DRD => Some(Detector::Valgrind(RaceTool::Drd)),
        _ => None,
    }
}

fn look() -> u8 {
    let found = if cfg!(sched_instrumented) {
        NONE
    } else if tsan::is_present() {
        TSAN
    } else {
        match valgrind::race_tool() {
            Some(RaceTool::Helgrind) => HELGRIND,
            Some(RaceTool::Drd) => DRD,
            None => NONE,
        }
    };
    if found == HELGRIND {
        let words = &raw const __start_sched_words;
        let end = &raw const __stop_sched_words;
        RaceTool::Helgrind.untrack(words.addr(), end.addr() - words.addr());
    }
    // DRD does not record this store, so the loads of other threads do not conflict with it.
    let drd = (found == DRD).then_some(RaceTool::Drd);
    drd.inspect(|tool| tool.ignore(true));
    FOUND.store(found, Ordering::Relaxed);
    drd.inspect(|tool| tool.ignore(false));
    found
}

// The linker makes these names for the ends of a section with the statics of the library. Each
// static that changes has the attribute that puts it there (`tools/tests/statics.rs`). In a program
// that contains libsched.a, nothing else distinguishes them from the program's own statics.
unsafe extern "C" {
    static __start_sched_words: u8;
    static __stop_sched_words: u8;
}

/// True if the detector is DRD. DRD must be told which stack a thread uses. It looks for no races
/// within the known bounds of a thread's stack, because it takes all memory there for stack memory.
/// If a thread ends outside of these bounds, DRD ends the process. And DRD may mistake a thread for
/// one that was joined (`sys::thread_memory`).
#[cold]
pub fn is_drd() -> bool {
    matches!(present(), Some(Detector::Valgrind(RaceTool::Drd)))
}

/// Makes the actions of a thread that later acquires this address follow the calling thread's
/// earlier actions.
#[inline(always)]
pub fn release<T: ?Sized>(at: *const T) {
    if may_be_present() {
        release_tag(at.addr());
    }
}

#[cold]
#[inline(never)]
fn release_tag(tag: usize) {
    match present() {
        Some(Detector::Tsan) => tsan::release(tag),
        Some(Detector::Valgrind(tool)) => tool.release(tag),
        None => {}
    }
}

/// Makes the calling thread's later actions follow those that other threads took before they
/// released this address.
#[inline(always)]
pub fn acquire<T: ?Sized>(at: *const T) {
    if may_be_present() {
        acquire_tag(at.addr());
    }
}

#[cold]
#[inline(never)]
fn acquire_tag(tag: usize) {
    match present() {
        Some(Detector::Tsan) => tsan::acquire(tag),
        Some(Detector::Valgrind(tool)) => tool.acquire(tag),
        None => {}
    }
}

/// Forgets the releases at this address: they concern an earlier object there. (ThreadSanitizer
/// cannot forget, and so orders more than necessary.)
#[cold]
#[inline(never)]
pub fn forget<T: ?Sized>(at: *const T) {
    if let Some(Detector::Valgrind(tool)) = present() {
        tool.forget(at.addr());
    }
}

/// Makes these bytes the library's: no access to them is a race.
#[inline(always)]
pub fn own<T: ?Sized>(what: &T) {
    if may_be_present() {
        own_bytes(std::ptr::from_ref(what).addr(), size_of_val(what));
    }
}

/// Like `own`, for bytes given by their address.
#[cold]
#[inline(never)]
pub fn own_bytes(at: usize, bytes: usize) {
    match present() {
        Some(Detector::Valgrind(tool)) if bytes > 0 => tool.untrack(at, bytes),
        _ => (),
    }
}

// The functions below test once whether there may be a detector, and continue out of line if so.
// Each is also right without a detector. A caller returns their result, so that the test costs the
// usual path no registers.

/// Calls `work`, an operation on `object` that acquires, such as a lock. If it succeeds (returns at
/// least 0), the caller acquires what others have released by this object.
#[inline(always)]
pub fn taking<T>(object: &T, work: impl FnOnce(&T) -> c_int) -> c_int {
    if may_be_present() { taking_told(object, work) } else { work(object) }
}

#[cold]
#[inline(never)]
fn taking_told<T>(object: &T, work: impl FnOnce(&T) -> c_int) -> c_int {
    own(object);
    let outcome = ignored(|| work(object));
    if outcome >= 0 {
        acquire(object);
    }
    outcome
}

/// Calls `work`, an operation on `object` that releases, such as an unlock. Before the call the
/// caller releases its earlier actions by this object.
#[inline(always)]
pub fn giving<T, R>(object: &T, work: impl FnOnce(&T) -> R) -> R {
    if may_be_present() { giving_told(object, work) } else { work(object) }
}

#[cold]
#[inline(never)]
fn giving_told<T, R>(object: &T, work: impl FnOnce(&T) -> R) -> R {
    own(object);
    release(object);
    ignored(|| work(object))
}

/// Calls `work`, an operation on `object` that releases and then acquires, such as a barrier.
#[inline(always)]
pub fn giving_and_taking<T>(object: &T, work: impl FnOnce(&T) -> c_int) -> c_int {
    if may_be_present() {
        giving_told(object, |object| taking_told(object, work))
    } else {
        work(object)
    }
}

thread_local! {
    static IS_IGNORED: Cell<bool> = const { Cell::new(false) };
}

/// Sets whether the detector ignores the calling thread. Returns the former setting.
///
/// The thread's `IS_IGNORED` may lie in memory that held the `IS_IGNORED` of a thread that has
/// ended, and no detector is told of an order between the two threads. So only ignored threads
/// access it.
#[cold]
#[inline(never)] // so that no thread-local address is kept while a task waits
fn set_ignored(ignored: bool) -> bool {
    let detector = present();
    if let Some(Detector::Valgrind(tool)) = detector {
        tool.ignore(true);
    }
    let before = IS_IGNORED.replace(ignored);
    match detector {
        Some(Detector::Tsan) if ignored && !before => tsan::ignore(),
        Some(Detector::Tsan) if before && !ignored => tsan::heed_again(),
        Some(Detector::Valgrind(tool)) => tool.ignore(ignored),
        _ => {}
    }
    before
}

/// Called when the calling thread has created or joined a thread, after which DRD no longer ignores
/// the calling thread. If it was ignored before, this makes DRD ignore it again.
pub fn ignore_still() {
    if may_be_present() {
        let before = set_ignored(true);
        set_ignored(before);
    }
}

/// From here to the end of the task the detector ignores the calling thread; `heeded` ends this.
#[inline(always)]
pub fn ignore_to_the_end() {
    if may_be_present() {
        set_ignored(true);
    }
}

/// While this value lives, the detector ignores the calling thread, apart from the tasks that it
/// runs; or, if `pause` made the value, does not ignore the thread.
pub struct Ignored {
    /// Tells whether the thread was ignored before, if there may be a detector.
    before: Option<bool>,
}

impl Ignored {
    #[inline(always)]
    pub fn begin() -> Self {
        Ignored { before: may_be_present().then(|| set_ignored(true)) }
    }

    /// Ends the ignoring while a function of the program runs. (This is a guard rather than a
    /// function with a closure, because a closure keeps its captured references in memory.)
    #[inline(always)]
    pub fn pause() -> Self {
        Ignored { before: may_be_present().then(|| set_ignored(false)) }
    }
}

impl Drop for Ignored {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(before) = self.before {
            set_ignored(before);
        }
    }
}

/// Calls `work`, which the detector ignores, apart from the tasks that it runs.
#[inline(always)]
pub fn ignored<R>(work: impl FnOnce() -> R) -> R {
    if may_be_present() { ignored_here(work) } else { work() }
}

#[cold]
#[inline(never)]
fn ignored_here<R>(work: impl FnOnce() -> R) -> R {
    let _ignored = Ignored::begin();
    work()
}

/// Calls `task`, a function of the program, which the detector does not ignore.
#[inline(always)]
pub fn heeded<R>(task: impl FnOnce() -> R) -> R {
    let _heeded = Ignored::pause();
    task()
}
