//! docs/ARCHITECTURE.md shows how a kind is added. Its example, kind `random`, runs here on the
//! library's runtime with a row of its own; the library does not contain it.

mod random;

use sched::api::names::function_of;
use sched::ffi::course::sched_spawn;
use sched::ffi::tasks::{sched_fork, sched_join};
use sched::lock::posix::PthreadMutex;
use sched::policy::Policy;
use sched::policy::shared::Shared;
use sched::queue::run_gate::no_limit;
use sched::runtime::record::Row;
use sched::runtime::run::{self, Request};
use sched::settings::{Config, Transfers};
use sched::sync::forked::Forked;
use sched::sys::processors::Mask;
use sched::sys::thread::Uncancelled;
use sched::table;
use sched::task::{Scheduler, Task, TaskFn};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

type Random = Shared<PthreadMutex, random::Random>;

static ROW: Row = table::row::<Random>();

fn request(threads: usize, seed: Option<u64>) -> Request {
    let config = Config { seed, ..Config::defaults() };
    let transfers = Transfers::of(&config, &Random::ACCEPTED);
    Request {
        config,
        transfers,
        deque: None,
        row: &ROW,
        function_of,
        threads,
        guests: 0,
        reliefs: 0,
        qlen: 16,
        mask: Mask::of_caller,
    }
}

fn run(threads: usize, seed: Option<u64>, f: TaskFn, closure: *mut c_void) {
    let uncancelled = Uncancelled::begin();
    let started = run::start::<Random>(&request(threads, seed), &uncancelled, Task { f, closure });
    started.expect("it starts");
}

/// A tree of 2^(n+1) - 1 tasks; counts those that have run.
unsafe extern "C" fn tree(n: *mut c_void, s: *mut Scheduler) {
    TASKS.fetch_add(1, Ordering::Relaxed);
    if n.addr() > 0 {
        for _ in 0..2 {
            // SAFETY: a task's own `s`; `tree` takes a number.
            let spawned =
                unsafe { sched_spawn(Some(tree), ptr::without_provenance_mut(n.addr() - 1), s) };
            assert_eq!(spawned, 0);
        }
    }
}

static TASKS: AtomicUsize = AtomicUsize::new(0);

#[test]
fn each_task_runs_once_and_the_run_ends() {
    for threads in [1, 2, 4] {
        TASKS.store(0, Ordering::Relaxed);
        run(threads, None, tree, ptr::without_provenance_mut(12));
        assert_eq!(TASKS.load(Ordering::Relaxed), (1 << 13) - 1, "{threads} threads");
    }
}

static ORDER: Mutex<Vec<usize>> = Mutex::new(Vec::new());

unsafe extern "C" fn note(n: *mut c_void, _s: *mut Scheduler) {
    ORDER.lock().unwrap().push(n.addr());
}

unsafe extern "C" fn spawn_notes(_: *mut c_void, s: *mut Scheduler) {
    for n in 0..100 {
        // SAFETY: a task's own `s`; `note` takes a number.
        assert_eq!(unsafe { sched_spawn(Some(note), ptr::without_provenance_mut(n), s) }, 0);
    }
}

#[test]
fn the_seed_gives_the_order() {
    let order = |seed| {
        run(1, Some(seed), spawn_notes, ptr::null_mut());
        std::mem::take(&mut *ORDER.lock().unwrap())
    };
    let first = order(7);
    assert_eq!(order(7), first);
    assert_ne!(order(8), first);
    let mut sorted = first;
    sorted.sort_unstable();
    assert_eq!(sorted, (0..100).collect::<Vec<_>>());
}

struct Fib {
    n: u32,
    result: u64,
}

/// Its joins find the other task not begun, running on another worker, or ended.
unsafe extern "C" fn fib(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the spawner's, which waits for this task.
    let this = unsafe { &mut *closure.cast::<Fib>() };
    if this.n < 2 {
        this.result = u64::from(this.n);
        return;
    }
    let (mut a, mut b) = (Fib { n: this.n - 1, result: 0 }, Fib { n: this.n - 2, result: 0 });
    let mut forked = MaybeUninit::<Forked>::uninit();
    // SAFETY: both live until the join.
    unsafe {
        sched_fork(forked.as_mut_ptr().cast(), Some(fib), (&raw mut a).cast(), s);
        fib((&raw mut b).cast(), s);
        sched_join(forked.as_mut_ptr().cast(), s);
    }
    this.result = a.result + b.result;
}

#[test]
fn joins_wait() {
    for threads in [1, 4] {
        let mut root = Fib { n: 16, result: 0 };
        run(threads, None, fib, (&raw mut root).cast());
        assert_eq!(root.result, 987, "{threads} threads");
    }
}

unsafe extern "C" fn count(counted: *mut c_void, _s: *mut Scheduler) {
    // SAFETY: it outlives the run.
    unsafe { &*counted.cast::<AtomicUsize>() }.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn a_run_that_is_held_open_rests_and_goes_on() {
    let counted = AtomicUsize::new(0);
    let _uncancelled = Uncancelled::begin();
    let pool = run::open::<Random>(&request(2, None)).expect("it opens");
    for round in 1..=100 {
        let closure = (&raw const counted).cast_mut().cast();
        // SAFETY: `count` takes it.
        let spawn = || unsafe { pool.run().worker(0).spawn(Some(count), closure) };
        let mut begin = || {
            assert_eq!(spawn(), 0);
            Ok(())
        };
        pool.wait_for_rest(&mut begin, &no_limit).expect("no task waits for this thread");
        assert_eq!(counted.load(Ordering::Relaxed), round);
    }
    pool.close().expect("no task waits for this thread");
}

#[test]
fn the_page_shows_this_code() {
    let page = include_str!("../../docs/ARCHITECTURE.md");
    let (_, code) = include_str!("random.rs").split_once("\n\n").expect("code after the comment");
    assert!(
        page.contains(&format!("```rust\n{code}```\n")),
        "docs/ARCHITECTURE.md differs from random.rs"
    );
    let (_, example) = page.split_once("## Add a kind\n").expect("the example");
    let (example, _) = example.split_once("\n## ").expect("its end");
    let lines = example.lines().count();
    assert!(lines < 80, "the example has {lines} lines");
}
