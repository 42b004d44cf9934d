//! The event count: sleeping without missing a task, waking without a fence in spawn. This is one
//! file because the proof speaks of the order of steps in all functions.
//!
//! An event count (D. Reed and R. Kanodia, 1979; in the form of D. Vyukov's, 2010) turns "sleep if
//! there is no work" into a race-free operation over any lock-free structure: the sleeper
//! *announces* itself, looks once more, and only then sleeps.
//!
//! # State
//!
//! ```text
//! sleeping   workers that have announced their sleep
//! searching  workers awake, idle and looking for work
//! list       the announced workers, last in first out: the one with the warmest cache wakes
//! parker[w]  futex word of worker w: WAITING from its announcement until it is woken
//! ```
//! Whenever the list's lock is free, a worker either is in the list, is counted in `sleeping`, and
//! has the parker WAITING (or ABSENT, see below); or none of the three holds. The two counts have a
//! cache line each: spawners read `sleeping`, which changes only when a worker goes to sleep or is
//! woken. (If both were in one word, each search would take the line away from the spawners.)
//!
//! A worker may be asleep before it has a thread (ABSENT). At a run's start all workers but worker
//! 0 are ABSENT. Waking one starts its thread. So a run without spawns starts no thread.
//!
//! # Protocol
//!
//! ```text
//! spawner                          the last searcher, before it sleeps
//!   push the task                    announce: list, sleeping + 1, searching - 1
//!   light fence                      heavy fence
//!   sleeping == 0 ? done             any work? then cancel
//!   else wake one, unless            sleep while parker is WAITING
//!   a worker searches
//! ```
//! The fences are those of `sys::fence`: the spawner's half costs nothing. A searcher that is not
//! the last one only announces its sleep, because other searchers look for work. A last searcher
//! that finds work looks for more (`stop_search`), and wakes a sleeper if there is more.
//!
//! The owner of a split deque (`queue::split`) does not even read `sleeping` at each push. It
//! compares with the deque's word `lim` at each push anyway; a thread that writes null to `lim`
//! *asks* the owner to call `published`. The last searcher asks all owners before its heavy fence
//! (`policy::stealing`, `listen`). So, when no worker searches and some worker sleeps, each owner's
//! next push either calls `published` or adds a task that the last searcher sees. While some worker
//! searches, owners may arm `lim` again: the last searcher will ask them.
//!
//! # The bad interleavings
//!
//! 1. *The lost wake-up.* The spawner reads sleeping == 0, and the sleeper's last look misses the
//!    task. The pair of fences excludes this: one side sees the other's write.
//! 2. *The skipped wake-up.* While some worker searches, spawners wake nobody, because one awake
//!    worker should find the task. But if the searcher finds another task and stops searching, the
//!    new task may be left while all other workers sleep. So a searcher that finds work, and was
//!    the last to search, looks whether there is more, and wakes a sleeper. It decrements
//!    `searching`, fences, and looks; the spawner pushes, fences (a real fence: having seen a
//!    sleeper, the spawner is on its slow path), and reads `searching`. Again one side sees the
//!    other's write. A searcher that finds nothing goes through its announcement and last look.
//! 3. *The stale wake-up.* A waker picks w from the list. Concurrently w cancels its sleep, goes to
//!    sleep again, and is woken by the old wake-up. This is harmless, because taking w from the
//!    list and clearing its parker are one step under the lock. A w that cancels sees that it is no
//!    longer listed, and takes the wake-up as its own. Only the kernel's wake may come late, and a
//!    sleeper reads its parker again.
//! 4. *The thread that cannot be made.* An absent worker was picked, spawners rely on its search,
//!    and no thread can be created for it. The waker then picks the next, until one wakes or none
//!    is left.
//!
//! # Dozing
//!
//! A searcher may sleep for a limited time (`doze`). It still counts as searching, since it looks
//! for tasks afterwards; so a doze delays a task by at most the doze's length. Three parties do not
//! rely on a dozing worker. A searcher that goes to sleep (`announce`) looks once more if all other
//! searchers doze. A spawner wakes a sleeper if all searchers doze and a processor is free. Beside
//! guests, a searcher that has found work (`stop_search`) also does this. All three read `dozing`
//! Relaxed: a stale count only adds a look or a wake-up, or delays a task by a doze.
//!
//! # Waiting for one event in particular
//!
//! A worker that waits in the middle of a task (`Policy::help`) also sleeps here. It is woken for
//! work, or *roused* when the awaited event comes. It enlists with the event, announces its sleep,
//! and only then checks whether the event has come. The thread that brings about the event checks
//! afterwards whether a worker has enlisted, and rouses it. Announcing and rousing both take the
//! list's lock: if a rousing that comes first finds nobody asleep, the check sees the event.
//!
//! # Orderings
//!
//! The two counts change by rare read-modify-writes. They are SeqCst, though less would suffice:
//! the fences order them against the tasks, and a searcher that leaves must see, through
//! `searching`, the announcements of the searchers that left before (release and acquire). The
//! counts are read Relaxed: after a fence, under the lock, or as a hint. A parker is written under
//! the lock; the Release store in `woken` pairs with the Acquire loads in its worker's `commit`. A
//! new thread sees its own parker because it was started after the parker was written.
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `published`: light fence | asymmetric | the heavy fence of the last searcher (1) |
//! | `wake_unless_searched`: fence | SeqCst | the fence in `stop_search`, and in `wake_if` (2, 4) |
//! | `stop_search`: fence | SeqCst | the fence in `wake_unless_searched` (2) |
//! | changes of `sleeping`, `searching` | SeqCst | each other: AcqRel would do |
//! | loads of the counts | Relaxed | the fences, or the list's lock; else hints |
//! | `woken`: store of the parker | Release | the loads in `commit` |
//! | `commit`: loads of the parker | Acquire | the store in `woken` |
//! | a parker's `woken_at` | Relaxed | the parker: stored before its store, loaded behind its load |
//! | `guests` | Relaxed | none: a stale count delays a decision about wake-ups |
//! | other accesses of parkers | Relaxed | the list's lock, or the thread's creation |
//! | `wake_all`: store of `over`, then load of `dozing` | SeqCst | `doze`: Dekker's pattern |
//! | `doze`: addition to `dozing`, then the wait | SeqCst | `wake_all`; the kernel fences before it reads |
//! | `call`: store of `calls` | SeqCst | `await_call`: loads of `calls`, then `over` |
//!
//! # Waking is bounded
//!
//! A woken worker counts as searching at once, so a flood of spawns wakes one worker. At most as
//! many workers search as there are processors, or half of the workers if that is more; the others
//! go straight to sleep. The limit is for idle workers. A worker that has just run out of tasks
//! searches once before it is idle. Nobody relies on that search: it is not counted.
//!
//! Rejected: at most half of the workers search, as in Tokio's scheduler. On 16 processors loops of
//! 100 µs then took 27 µs instead of 17 (`bench_c/phases.c`). Rejected: the other half wait awake,
//! each at its own word, and are woken one by one: also 27 µs. Searchers disturb each other and the
//! owners less if many searchers search less often (`idle::Naps`).
//!
//! # Waking in a tree
//!
//! A woken worker that finds work wakes up to four others (`wake_another`), if there are more tasks
//! than searchers and a processor is free. So the time until n workers are awake grows with log n.
//! The owner of a long loop also wakes up to four others, as soon as it knows that the loop is long
//! (`Policy::publish_tasks`). A superfluous wake-up is harmless: the woken worker searches, and
//! goes to sleep by the protocol above.
//!
//! Rejected: only the last searcher wakes the next worker, as in Go and Tokio; the time then grows
//! with n. With wake-ups of 42 µs and half a second of work (uts), the speedup of 256 simulated
//! workers was 87. If each woken worker wakes four others, it is 218 (two others: 187; eight: 217).

use crate::idle::poller::{self, Poller};
use crate::idle::{LastWaits, Source};
use crate::lock::mutex::Mutex;
use crate::sys::atomic::{AtomicU32, AtomicUsize, MODEL, Ordering, Pad, fence};
use crate::sys::futex::Futex;
use crate::sys::memory::NoMemory;
use crate::sys::time::Instant;
use crate::sys::{fence, memory};
use std::time::Duration;

/// A guest's visit adds this to `EventCount::guests`, and 1 for the visiting guest itself.
const VISIT: usize = 1 << 16;

// Values of a parker.
const AWAKE: u32 = 0;
const WAITING: u32 = 1;
/// Like WAITING, but the worker has no thread yet.
const ABSENT: u32 = 2;
/// Like AWAKE; the worker was ABSENT, and its new thread has not seen the parker yet.
const STARTED: u32 = 3;

/// The assumed time of a wake-up in nanoseconds, until one is measured.
const LIKELY_COST: usize = 20_000;

pub struct EventCount {
    sleeping: Pad<AtomicU32>,
    searching: Pad<AtomicU32>,
    list: Mutex<Vec<u32>>,
    parkers: Box<[Pad<Parker>]>,
    /// The time of the last wake-up of a single worker, in nanoseconds since `began`, and the
    /// average time of a wake-up. Both are statistics and order nothing.
    woken_at: AtomicUsize,
    cost: AtomicUsize,
    began: Instant,
    most_searching: u32,
    processors: usize,
    /// Workers for which no thread could be created.
    missing: AtomicU32,
    dozing: AtomicU32,
    /// The number of guests that work now (`policy::guests`), each on a processor that a worker
    /// could use, plus `VISIT` times the number of visits so far.
    guests: AtomicUsize,
    /// 1 when all workers have been woken; dozing workers sleep on this word.
    over: Futex,
    /// Changes when a surplus worker is called; that worker sleeps on this word.
    calls: Futex,
    /// A sleeping worker may be the poller.
    poller: Option<&'static Poller>,
}

/// The event count's record of one worker.
struct Parker {
    /// The futex word on which the worker sleeps.
    word: Futex,
    /// The time of the worker's last wake-up, in the unit of `EventCount::woken_at`.
    woken_at: AtomicUsize,
    /// Only the worker itself uses this.
    last_waits: LastWaits,
}

impl Parker {
    fn new() -> Self {
        Parker {
            word: Futex::new(AWAKE),
            woken_at: AtomicUsize::new(0),
            last_waits: LastWaits::default(),
        }
    }
}

/// The roles of a worker without tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The worker looks for tasks, and counts as searching.
    Searcher,
    /// The worker goes to sleep, because enough others search.
    Sleeper,
}

/// The result of `commit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slept {
    Woken,
    /// The time limit ended the sleep, which is cancelled.
    TimedOut,
    /// The worker has events, and must serve them (`idle::poller`). The sleep is cancelled.
    HasEvents,
}

/// The most workers that search at the same time.
fn most_searching(workers: usize, processors: usize) -> u32 {
    let most = workers.min(processors).max(workers / 2).max(1);
    u32::try_from(most).expect("more than 4096 workers")
}

impl EventCount {
    /// For workers 0 to `workers` - 1, at most 4096 workers.
    pub fn new(
        workers: usize,
        processors: usize,
        poller: Option<&'static Poller>,
    ) -> Result<Self, NoMemory> {
        let mut list = Vec::new();
        list.try_reserve_exact(workers).map_err(|_| NoMemory)?;
        Ok(EventCount {
            sleeping: Pad(AtomicU32::new(0)),
            searching: Pad(AtomicU32::new(0)),
            list: Mutex::new(list),
            parkers: memory::slice(workers, |_| Ok(Pad(Parker::new())))?,
            woken_at: AtomicUsize::new(0),
            cost: AtomicUsize::new(LIKELY_COST),
            began: Instant::now(),
            missing: AtomicU32::new(0),
            dozing: AtomicU32::new(0),
            guests: AtomicUsize::new(0),
            over: Futex::new(0),
            calls: Futex::new(0),
            poller,
            processors,
            most_searching: most_searching(workers, processors),
        })
    }

    /// Called before the run: all workers but worker 0 sleep and have no thread. A thread that
    /// wakes such a worker calls `start`, which creates the worker's thread; false: it cannot.
    pub fn all_absent(&self) {
        self.list.with(|list| {
            for worker in (1..self.parkers.len()).rev() {
                list.push(worker as u32); // within the capacity that `new` has reserved
                self.parkers[worker].word.store(ABSENT, Ordering::Relaxed);
            }
            self.sleeping.store(list.len() as u32, Ordering::Relaxed);
        });
    }

    /// True if more workers are awake than can run at once.
    pub fn surplus(&self) -> bool {
        self.awake() > self.processors
    }

    /// The number of workers that neither sleep nor doze nor lack a thread, and of working guests.
    fn awake(&self) -> usize {
        let away = self.sleeping.load(Ordering::Relaxed)
            + self.missing.load(Ordering::Relaxed)
            + self.dozing.load(Ordering::Relaxed);
        let all = self.parkers.len() + self.working_guests();
        all.saturating_sub(away as usize)
    }

    /// Called when a guest begins to work. The accesses to `guests` are Relaxed: a stale count
    /// delays a decision about wake-ups.
    pub fn guest_comes(&self) {
        self.guests.fetch_add(1 + VISIT, Ordering::Relaxed);
    }

    pub fn guest_goes(&self) {
        self.guests.fetch_sub(1, Ordering::Relaxed);
    }

    fn working_guests(&self) -> usize {
        self.guests.load(Ordering::Relaxed) % VISIT
    }

    /// True if a guest works. A hint.
    pub fn has_guests(&self) -> bool {
        self.working_guests() > 0
    }

    /// The number of times that a guest has begun to work, modulo a power of two.
    pub fn visits(&self) -> usize {
        self.guests.load(Ordering::Relaxed) / VISIT
    }

    /// The record of the worker's last waits. Only the worker itself uses it.
    pub fn last_waits(&self, worker: usize) -> &LastWaits {
        &self.parkers[worker].last_waits
    }

    /// Notes the queue from which the worker or guest of index `place` has taken a task.
    pub fn took(&self, place: usize, from: Source) {
        if let Some(worker) = self.parkers.get(place) {
            worker.last_waits.took(from);
        }
    }

    /// The time from a wake-up until the woken worker runs, as measured in this run.
    pub fn wake_cost(&self) -> Duration {
        Duration::from_nanos(self.cost.load(Ordering::Relaxed) as u64)
    }

    fn nanos(&self) -> usize {
        self.began.elapsed().as_nanos() as usize
    }

    // --- the spawner's side --------------------------------------------------------

    /// Called after work was made visible. True if a sleeper was woken for it.
    #[inline]
    pub fn published(&self, start: impl Fn(usize) -> bool) -> bool {
        fence::light(); // pairs with the sleeper's heavy fence: interleaving 1
        self.has_sleepers() && self.wake_unless_searched(start)
    }

    /// True if a worker has announced a sleep.
    #[inline]
    pub fn has_sleepers(&self) -> bool {
        self.sleeping.load(Ordering::Relaxed) != 0
    }

    /// True if a worker sleeps and no other worker searches: each spawn must then wake a worker.
    #[inline]
    pub fn rely_on_spawns(&self) -> bool {
        self.has_sleepers() && self.wants_searcher()
    }

    /// True if no worker searches, or if all searchers doze and a processor is free.
    fn wants_searcher(&self) -> bool {
        let searching = self.searching.load(Ordering::Relaxed);
        let dozing = self.dozing.load(Ordering::Relaxed);
        searching == 0 || searching <= dozing && self.awake() < self.processors
    }

    #[cold]
    #[inline(never)]
    fn wake_unless_searched(&self, start: impl Fn(usize) -> bool) -> bool {
        fence(Ordering::SeqCst); // pairs with the fence in stop_search: interleaving 2
        self.wants_searcher() && self.wake_one(start)
    }

    /// Wakes the worker that went to sleep last; it counts as searching from now on. Wakes no
    /// worker if another one already searches.
    #[cold]
    pub fn wake_one(&self, start: impl Fn(usize) -> bool) -> bool {
        self.wake_if(|| self.wants_searcher(), start)
    }

    /// Like `wake_one`, but also wakes a worker while others search: if there are sleepers, a
    /// processor is free, and at most `searching` workers search.
    #[cold]
    pub fn wake_another(&self, searching: usize, start: impl Fn(usize) -> bool) -> bool {
        let wanted = || {
            let now = self.searching.load(Ordering::Relaxed);
            now as usize <= searching && now < self.most_searching && self.awake() < self.processors
        };
        wanted() && self.wake_if(wanted, start)
    }

    /// The number of workers that search. A hint.
    pub fn searching(&self) -> usize {
        self.searching.load(Ordering::Relaxed) as usize
    }

    /// The number of workers that search and do not doze. A hint.
    pub fn searching_awake(&self) -> usize {
        self.searching().saturating_sub(self.dozing.load(Ordering::Relaxed) as usize)
    }

    /// Wakes the worker that went to sleep last if `wanted`, called under the list's lock, agrees.
    fn wake_if(&self, wanted: impl Fn() -> bool, start: impl Fn(usize) -> bool) -> bool {
        loop {
            let woken = self.list.with(|list| {
                if !wanted() {
                    return None;
                }
                let worker = list.pop()?;
                Some((worker as usize, self.woken(worker)))
            });
            match woken {
                None => return false,
                Some((worker, WAITING)) => {
                    self.wake(worker);
                    return true;
                }
                Some((worker, _)) if start(worker) => return true,
                // Spawners may have relied on this worker's search: another worker must search.
                Some(_) => {
                    self.missing.fetch_add(1, Ordering::Relaxed);
                    self.searching.fetch_sub(1, Ordering::SeqCst);
                    // Pairs with the fence in wake_unless_searched, like stop_search's.
                    fence(Ordering::SeqCst);
                }
            }
        }
    }

    /// Wakes `worker` if it sleeps; it counts as searching from now on.
    #[cold]
    pub fn rouse(&self, worker: usize) {
        let woken = self.list.with(|list| self.unlist(list, worker));
        if woken {
            self.wake(worker);
        }
    }

    /// Wakes a worker that was removed from the list.
    fn wake(&self, worker: usize) {
        poller::wake(self.poller, &self.parkers[worker].word);
    }

    /// Removes `worker` from the list if it is there. The caller holds the list's lock.
    fn unlist(&self, list: &mut Vec<u32>, worker: usize) -> bool {
        let waits = self.parkers[worker].word.load(Ordering::Relaxed) == WAITING;
        if waits {
            let at = list.iter().rposition(|&w| w as usize == worker);
            list.remove(at.expect("a waiting worker is not in the list"));
            self.woken(worker as u32);
        }
        waits
    }

    /// Wakes all workers that have a thread, and returns their number. The run has ended: a worker
    /// that announces a sleep from now on sees this in its last look.
    #[cold]
    pub fn wake_all(&self) -> usize {
        self.over.store(1, Ordering::SeqCst); // SeqCst: Dekker's pattern with `doze`
        if self.dozing.load(Ordering::SeqCst) != 0 {
            self.over.wake(i32::MAX);
            self.call(i32::MAX);
        }
        self.list.with(|list| {
            let mut woken = 0;
            for &worker in list.iter() {
                if self.parkers[worker as usize].word.load(Ordering::Relaxed) == WAITING {
                    self.woken(worker);
                    self.wake(worker as usize);
                    woken += 1;
                }
            }
            list.clear();
            woken
        })
    }

    /// Changes a worker that is about to be removed from the list, or was removed just now, from
    /// WAITING or ABSENT to searching. Returns the former value of its parker. The caller holds the
    /// list's lock.
    fn woken(&self, worker: u32) -> u32 {
        self.searching.fetch_add(1, Ordering::SeqCst);
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
        let parker = &self.parkers[worker as usize].word;
        let was = parker.load(Ordering::Relaxed);
        let now = self.nanos();
        self.woken_at.store(now, Ordering::Relaxed);
        self.parkers[worker as usize].woken_at.store(now, Ordering::Relaxed);
        // Release: pairs with the Acquire loads in `commit`.
        parker.store(if was == ABSENT { STARTED } else { AWAKE }, Ordering::Release);
        was
    }

    // --- the searcher's side -------------------------------------------------------

    /// True if the worker's thread was started by a wake-up, and has not called `start_search` yet.
    pub fn was_started(&self, worker: usize) -> bool {
        self.parkers[worker].word.load(Ordering::Relaxed) == STARTED
    }

    /// The role of the calling idle worker. A Searcher counts as searching from now on.
    pub fn start_search(&self, worker: usize) -> Role {
        if self.parkers[worker].word.load(Ordering::Relaxed) == STARTED {
            self.parkers[worker].word.store(AWAKE, Ordering::Relaxed);
            return Role::Searcher; // it was counted when it was woken
        }
        let mut searching = self.searching.load(Ordering::Relaxed);
        while searching < self.most_searching {
            match self.searching.compare_exchange(
                searching,
                searching + 1,
                Ordering::SeqCst,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Role::Searcher,
                Err(now) => searching = now,
            }
        }
        Role::Sleeper
    }

    /// The calling searcher has found work. True if it was the last searcher, or if a guest works,
    /// all others doze and a processor is free. In that case, if some worker sleeps, the caller
    /// makes sure that spawns are noticed, looks whether there is more work, and wakes a worker.
    pub fn stop_search(&self) -> bool {
        let others = self.searching.fetch_sub(1, Ordering::SeqCst) - 1;
        let is_last = || {
            self.has_guests()
                && others <= self.dozing.load(Ordering::Relaxed)
                && self.has_free_processor()
        };
        if others > 0 && !is_last() {
            return false;
        }
        fence(Ordering::SeqCst); // pairs with the fence in wake_unless_searched: interleaving 2
        true
    }

    /// Called by a searcher that has a reason to wait: sleeps for `limit`, or until the run ends.
    #[cold]
    pub fn doze(&self, limit: Duration) {
        self.while_dozing(|| self.over.wait(0, limit)); // the kernel reads `over` after a full fence
    }

    /// Calls `work`, during which the calling searcher looks for no tasks. Soon afterwards it looks
    /// again.
    pub fn while_dozing(&self, work: impl FnOnce()) {
        self.dozing.fetch_add(1, Ordering::SeqCst);
        work();
        self.dozing.fetch_sub(1, Ordering::Relaxed);
    }

    /// The time when a worker was last woken, as a number for comparisons.
    pub fn woken_at(&self) -> usize {
        self.woken_at.load(Ordering::Relaxed)
    }

    /// True if a worker dozes. A hint.
    pub fn has_dozing(&self) -> bool {
        self.dozing.load(Ordering::Relaxed) > 0
    }

    /// Calls a surplus worker that dozes, if there is one: a processor is free. (A doze that begins
    /// after this call may last its whole time.)
    pub fn call_surplus(&self) {
        if self.has_dozing() {
            self.call(1);
        }
    }

    fn call(&self, workers: i32) {
        let calls = self.calls.load(Ordering::Relaxed); // two threads may write the same new value
        self.calls.store(calls.wrapping_add(1), Ordering::SeqCst);
        self.calls.wake(workers);
    }

    /// For a surplus worker that counts as dozing: sleeps for `limit`, until it is called, or until
    /// the run ends.
    pub fn await_call(&self, limit: Duration) {
        let calls = self.calls.load(Ordering::SeqCst);
        // SeqCst: if this load comes before the store in `wake_all`, the load of `calls` above
        // comes before the call there.
        if self.over.load(Ordering::SeqCst) == 0 {
            self.calls.wait(calls, limit);
        }
    }

    /// True if a processor other than the caller's is free. The caller has announced its
    /// sleep, or dozes.
    pub fn has_free_processor(&self) -> bool {
        self.awake() < self.processors
    }

    /// True if a spawn would wake a worker now, because none searches.
    pub fn wakes_at_spawn(&self) -> bool {
        self.has_sleepers() && self.wants_searcher() && self.awake() < self.processors
    }

    // --- the sleeper's side --------------------------------------------------------

    /// Announces the sleep of `worker`, whose role was `role`; a Searcher stops searching. The
    /// caller then cancels or commits. True if no worker searches now: then the caller first
    /// executes `fence::heavy` and looks for work once more.
    pub fn announce(&self, worker: usize, role: Role) -> bool {
        let stopped = u32::from(role == Role::Searcher);
        self.list.with(|list| {
            list.push(worker as u32); // within the capacity that `new` has reserved
            self.parkers[worker].word.store(WAITING, Ordering::Relaxed);
            self.sleeping.fetch_add(1, Ordering::SeqCst);
            // This must be a read-modify-write even if it subtracts nothing, so that it is ordered
            // with the subtraction of any other searcher that leaves. If this one comes first, the
            // other searcher sees this sleeper; if it comes second, this searcher is the last one.
            let was = self.searching.fetch_sub(stopped, Ordering::SeqCst);
            was - stopped <= self.dozing.load(Ordering::Relaxed)
        })
    }

    /// Called when the last look has found work, or the run's end: the worker continues to search.
    pub fn cancel(&self, worker: usize) {
        // A worker that is not listed was woken already, and its waker has counted it as searching.
        self.list.with(|list| self.unlist(list, worker));
    }

    /// Sleeps until woken, or for `limit`. The caller searches from now on.
    pub fn commit(&self, worker: usize, limit: Duration) -> Slept {
        let parker = &self.parkers[worker].word;
        while parker.load(Ordering::Acquire) == WAITING {
            let before = Instant::now();
            if poller::sleep(self.poller, parker, WAITING, limit) {
                self.cancel(worker);
                return Slept::HasEvents;
            }
            let waited = if MODEL { limit } else { before.elapsed() };
            if waited >= limit && parker.load(Ordering::Acquire) == WAITING {
                self.cancel(worker);
                return Slept::TimedOut;
            }
        }
        // A moving average: one eighth new, seven eighths old. A time above twice the average
        // counts as twice the average: something other than the wake-up took the rest.
        let woken_at = self.parkers[worker].woken_at.load(Ordering::Relaxed);
        let taken = self.nanos().saturating_sub(woken_at);
        let cost = self.cost.load(Ordering::Relaxed);
        self.cost.store(cost - cost / 8 + taken.min(2 * cost) / 8, Ordering::Relaxed);
        Slept::Woken
    }
}
