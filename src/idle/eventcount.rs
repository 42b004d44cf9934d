//! The event count: sleeping without missing a task, waking without a fence in spawn.
//!
//! An event count (D. Reed and R. Kanodia, 1979; in the form of D. Vyukov's, 2010) turns
//! "is there work? no: sleep" into a race-free operation over any lock-free structure: the
//! sleeper *announces* itself, looks once more, and only then sleeps.
//!
//! # State
//!
//! ```text
//! sleeping   workers that have announced their sleep
//! searching  workers awake, idle and looking for work
//! list       the announced workers, last in first out: the one with the warmest cache wakes
//! seat[w]    futex word of worker w: WAITING from its announcement until it is woken
//! ```
//! Under the list's lock: a worker is in the list, counted in `sleeping` and WAITING, or
//! none of the three. The two counts have a line each: spawners read `sleeping`, and it changes
//! only when somebody goes to sleep or is woken. (In one packed word, as others have them, each
//! search would take the line from every spawner.)
//!
//! A worker may sleep before it ever had a thread (ABSENT): a run starts with all but worker 0 so.
//! To wake it is to start its thread. A run that spawns nothing thus starts none.
//!
//! # Protocol
//!
//! ```text
//! spawner                          the last searcher, before it sleeps
//!   push the task                    announce: list, sleeping + 1, searching - 1
//!   light fence                      heavy fence
//!   sleeping == 0 ? done             any work? then cancel
//!   else wake one, unless            sleep while seat is WAITING
//!   somebody searches
//! ```
//! The fences are `sys::fence`'s: the spawner's half costs nothing. A searcher that is not the
//! last leaves the looking to the others, and only announces. A searcher that finds work and was
//! the last looks, too (`stop_search`), and wakes one if there is more.
//!
//! Owners of a quiet deque (`queue::split`) do not even read `sleeping` at each push: they are
//! asked to, by a word that they read anyway. The last searcher asks them all before its heavy
//! fence (`kind::stealing`, `listen`). So, when nobody searches and somebody sleeps, each owner's
//! next push comes to `published`, or it is seen. While somebody searches owners may stop
//! listening again: the last to search will ask.
//!
//! # The bad interleavings
//!
//! 1. *The lost wake-up.* The spawner reads sleeping == 0 and the sleeper's last look misses
//!    the task. Excluded by the pair of fences: one of them sees the other's write.
//! 2. *The skipped wake-up.* While somebody searches, spawners wake nobody: one awake worker
//!    is enough to find the task, or so they hope. If the searcher finds something else and
//!    stops searching, the task may be left with all others asleep. So a searcher that finds
//!    work, and was the last to search, looks whether there is more and wakes one. It decrements
//!    `searching`, fences, looks; the spawner pushes, fences (a real fence: it is already on the
//!    slow path, having seen a sleeper), reads `searching`. Again one sees the other. A searcher
//!    that finds nothing goes through its announcement and last look.
//! 3. *The stale wake-up.* A waker picks w from the list; w cancels its sleep meanwhile, goes
//!    to sleep again, and is now woken by the old wake-up. Harmless, because taking w from
//!    the list and clearing its seat are one step under the lock: w's cancelling sees it is
//!    no longer listed and takes the wake-up as its own; only the kernel's wake may come
//!    late, and a sleeper looks at its seat again.
//! 4. *The thread that cannot be made.* An absent worker was picked, spawners rely on its search,
//!    and there is no thread for it. The waker then picks the next, until one wakes or none is
//!    left.
//!
//! # Dozing
//!
//! A searcher may sleep for a limited time (`doze`). It still counts as searching, since it looks for tasks
//! afterwards; so a doze delays a task by at most its own length. Two parties do not rely on a dozer. A searcher that
//! goes to sleep (`announce`) looks once more if all others that search are dozing. A spawner wakes a sleeper
//! if all that search are dozing and a processor is free. Both read `dozing` Relaxed: a stale count only
//! adds a look or a wake-up, or delays a task by the length of the doze.
//!
//! # Waiting for one thing in particular
//!
//! A worker that waits in the middle of a task (`Policy::help`) sleeps here, too, to be woken for work;
//! and it is roused when what it waits for is over. It enlists for that, announces its sleep, and
//! only then looks whether it is over; who ends it looks afterwards whether somebody has enlisted,
//! and rouses. Both announcing and rousing take the list's lock: if the rousing comes first, and
//! finds nobody asleep, the sleeper sees the end.
//! # Orderings
//!
//! The two counts change by read-modify-writes, rare ones, so they are SeqCst, though less would do:
//! the fences order them against the tasks, and a searcher that leaves must see, through `searching`,
//! the announcements of those who left before (release and acquire). They are read Relaxed: behind a
//! fence, under the lock, or as a hint. A seat is written under the lock; `woken` releases it to the
//! `commit` of its worker. A new thread sees its own by having been started.
//!
//! # Waking is bounded
//!
//! A woken worker counts as searching at once, so a flood of spawns wakes one, and that one
//! wakes the next when it finds work and there is more. At most half of the workers (at least
//! one) search at a time, as in Tokio's scheduler; the others go straight to sleep. Only idle workers count: one that
//! has just run out of tasks may look around once without telling anybody, since it owes
//! nobody the task that it does not find before it is counted.

use crate::lock::mutex::Mutex;
use crate::sys::atomic::{AtomicU32, AtomicUsize, Ordering, Pad, fence};
use crate::sys::futex::Futex;
use crate::sys::memory::NoMemory;
use crate::sys::{fence, memory};
use std::time::{Duration, Instant};

// Values of a seat.
const AWAKE: u32 = 0;
const WAITING: u32 = 1;
/// As WAITING, but the worker has no thread yet.
const ABSENT: u32 = 2;
/// AWAKE, and was ABSENT: the new thread has not seen it yet.
const STARTED: u32 = 3;

/// Nanoseconds that a wake-up takes, before it was measured.
const LIKELY_COST: usize = 20_000;
/// What took longer was not the wake-up.
const MOST_COST: usize = 1_000_000;

pub struct EventCount {
    sleeping: Pad<AtomicU32>,
    searching: Pad<AtomicU32>,
    list: Mutex<Vec<u32>>,
    seats: Box<[Pad<Futex>]>,
    /// Nanoseconds from `new` to the last wake-up of one worker, and what it took: figures, which
    /// order nothing.
    woken_at: AtomicUsize,
    cost: AtomicUsize,
    began: Instant,
    most_searching: u32,
    processors: usize,
    /// Workers for whom no thread could be had.
    missing: AtomicU32,
    dozing: AtomicU32,
    /// 1 when all have been woken: dozers sleep on it.
    over: Futex,
}

/// Whether `commit` slept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slept {
    Woken,
    /// The time was up first: the sleep is cancelled.
    TimedOut,
}

impl EventCount {
    /// For workers 0 to `workers` - 1, at most 4096.
    pub fn new(workers: usize, processors: usize) -> Result<Self, NoMemory> {
        let mut list = Vec::new();
        list.try_reserve_exact(workers).map_err(|_| NoMemory)?;
        Ok(EventCount {
            sleeping: Pad(AtomicU32::new(0)),
            searching: Pad(AtomicU32::new(0)),
            list: Mutex::new(list),
            seats: memory::slice(workers, |_| Ok(Pad(Futex::new(AWAKE))))?,
            woken_at: AtomicUsize::new(0),
            cost: AtomicUsize::new(LIKELY_COST),
            began: Instant::now(),
            missing: AtomicU32::new(0),
            dozing: AtomicU32::new(0),
            over: Futex::new(0),
            processors,
            most_searching: u32::try_from(workers / 2).expect("at most 4096").max(1),
        })
    }

    /// Before the run: all workers but 0 sleep and have no thread. Whoever wakes one calls `start`
    /// for it, which brings the thread, or tells that there is none to be had.
    pub fn all_absent(&self) {
        self.list.with(|list| {
            for worker in (1..self.seats.len()).rev() {
                list.push(worker as u32); // within the capacity reserved by `new`
                self.seats[worker].store(ABSENT, Ordering::Relaxed);
            }
            self.sleeping.store(list.len() as u32, Ordering::Relaxed);
        });
    }

    /// More workers are awake than can run at once.
    pub fn surplus(&self) -> bool {
        self.awake() > self.processors
    }

    /// Workers that neither sleep nor doze nor lack a thread.
    fn awake(&self) -> usize {
        let away = self.sleeping.load(Ordering::Relaxed)
            + self.missing.load(Ordering::Relaxed)
            + self.dozing.load(Ordering::Relaxed);
        self.seats.len().saturating_sub(away as usize)
    }

    /// What it takes from a wake-up to the woken worker, as measured in this run.
    pub fn wake_cost(&self) -> Duration {
        Duration::from_nanos(self.cost.load(Ordering::Relaxed) as u64)
    }

    fn nanos(&self) -> usize {
        self.began.elapsed().as_nanos() as usize
    }

    // --- the spawner's side --------------------------------------------------------

    /// To be called after work was made visible. True if a sleeper was woken for it.
    #[inline]
    pub fn published(&self, start: impl Fn(usize) -> bool) -> bool {
        fence::light(); // with the sleeper's heavy one: interleaving 1
        self.any() && self.wake_unless_searched(start)
    }

    /// True if somebody has announced a sleep.
    #[inline]
    pub fn any(&self) -> bool {
        self.sleeping.load(Ordering::Relaxed) != 0
    }

    /// True if somebody sleeps and nobody searches: a spawn must wake one.
    #[inline]
    pub fn rely_on_spawns(&self) -> bool {
        self.any() && self.wants_searcher()
    }

    /// True if no worker searches, or if all that search are dozing and a processor is free.
    fn wants_searcher(&self) -> bool {
        let searching = self.searching.load(Ordering::Relaxed);
        let dozing = self.dozing.load(Ordering::Relaxed);
        searching == 0 || searching <= dozing && self.awake() < self.processors
    }

    /// True if a worker searches that does not doze.
    #[inline]
    pub fn is_searched(&self) -> bool {
        self.searching.load(Ordering::Relaxed) > self.dozing.load(Ordering::Relaxed)
    }

    #[cold]
    #[inline(never)]
    fn wake_unless_searched(&self, start: impl Fn(usize) -> bool) -> bool {
        fence(Ordering::SeqCst); // with the fence in stop_search: interleaving 2
        self.wants_searcher() && self.wake_one(start)
    }

    /// Wakes the last one that went to sleep, which counts as searching from now on; nobody
    /// if another searches already.
    #[cold]
    pub fn wake_one(&self, start: impl Fn(usize) -> bool) -> bool {
        loop {
            let woken = self.list.with(|list| {
                if !self.wants_searcher() {
                    return None;
                }
                let worker = list.pop()?;
                Some((worker as usize, self.woken(worker)))
            });
            match woken {
                None => return false,
                Some((worker, WAITING)) => {
                    self.woken_at.store(self.nanos(), Ordering::Relaxed);
                    self.seats[worker].wake(1);
                    return true;
                }
                Some((worker, _)) if start(worker) => return true,
                // Spawners may have relied on this search: another must do it.
                Some(_) => {
                    self.missing.fetch_add(1, Ordering::Relaxed);
                    self.searching.fetch_sub(1, Ordering::SeqCst);
                    fence(Ordering::SeqCst); // as in stop_search
                }
            }
        }
    }

    /// Wakes `worker`, if it sleeps; it counts as searching from now on.
    #[cold]
    pub fn rouse(&self, worker: usize) {
        let woken = self.list.with(|list| self.unlist(list, worker));
        if woken {
            self.woken_at.store(self.nanos(), Ordering::Relaxed);
            self.seats[worker].wake(1);
        }
    }

    /// Takes `worker` from the list, if it is there. The caller holds the lock.
    fn unlist(&self, list: &mut Vec<u32>, worker: usize) -> bool {
        let waits = self.seats[worker].load(Ordering::Relaxed) == WAITING;
        if waits {
            let place = list.iter().rposition(|&w| w as usize == worker);
            list.remove(place.expect("a waiting worker is listed"));
            self.woken(worker as u32);
        }
        waits
    }

    /// Wakes everybody that has a thread, and tells how many: the run has ended, and whoever
    /// announces a sleep from now on sees that in its last look.
    #[cold]
    pub fn wake_all(&self) -> usize {
        self.over.store(1, Ordering::SeqCst); // Dekker, with `doze`
        if self.dozing.load(Ordering::SeqCst) != 0 {
            self.over.wake(i32::MAX);
        }
        self.list.with(|list| {
            let mut woken = 0;
            for &worker in list.iter() {
                if self.seats[worker as usize].load(Ordering::Relaxed) == WAITING {
                    self.woken(worker);
                    self.seats[worker as usize].wake(1);
                    woken += 1;
                }
            }
            list.clear();
            woken
        })
    }

    /// A listed worker, just taken from the list or about to be, is no longer WAITING or ABSENT,
    /// which is returned, and searches. The caller holds the list's lock.
    fn woken(&self, worker: u32) -> u32 {
        self.searching.fetch_add(1, Ordering::SeqCst);
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
        let seat = &self.seats[worker as usize];
        let was = seat.load(Ordering::Relaxed);
        // Release: pairs with the loads in commit.
        seat.store(if was == ABSENT { STARTED } else { AWAKE }, Ordering::Release);
        was
    }

    // --- the searcher's side -------------------------------------------------------

    /// True if the calling idle worker may search: it is counted then. False if enough do.
    pub fn start_search(&self, worker: usize) -> bool {
        if self.seats[worker].load(Ordering::Relaxed) == STARTED {
            self.seats[worker].store(AWAKE, Ordering::Relaxed);
            return true; // counted when it was woken
        }
        let mut searching = self.searching.load(Ordering::Relaxed);
        while searching < self.most_searching {
            match self.searching.compare_exchange(
                searching,
                searching + 1,
                Ordering::SeqCst,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => searching = now,
            }
        }
        false
    }

    /// The calling searcher has found work. True if it was the last to search and somebody sleeps:
    /// then it makes sure that spawns are noticed, looks whether there is more, and wakes one.
    pub fn stop_search(&self) -> bool {
        if self.searching.fetch_sub(1, Ordering::SeqCst) > 1 {
            return false;
        }
        fence(Ordering::SeqCst); // with the fence in wake_unless_searched: interleaving 2
        self.any()
    }

    /// Sleeps for `limit`, less if the run ends: a searcher that has reason to wait.
    #[cold]
    pub fn doze(&self, limit: Duration) {
        self.dozing.fetch_add(1, Ordering::SeqCst);
        self.over.wait(0, limit); // the kernel reads `over`, behind a full fence
        self.dozing.fetch_sub(1, Ordering::Relaxed);
    }

    // --- the sleeper's side --------------------------------------------------------

    /// Announces the sleep of `worker`, which stops searching if it did. The caller then
    /// cancels or commits. True if nobody searches now: then, before, it executes `fence::heavy`
    /// and looks for work once more.
    pub fn announce(&self, worker: usize, searching: bool) -> bool {
        self.list.with(|list| {
            list.push(worker as u32); // within the capacity reserved by `new`
            self.seats[worker].store(WAITING, Ordering::Relaxed);
            self.sleeping.fetch_add(1, Ordering::SeqCst);
            // A read-modify-write in any case: it comes before or after that of another searcher who
            // leaves. If before, that one sees this sleeper; if after, this one is the last.
            let was = self.searching.fetch_sub(u32::from(searching), Ordering::SeqCst);
            was - u32::from(searching) <= self.dozing.load(Ordering::Relaxed)
        })
    }

    /// The last look found work, or the end: no sleep. The caller searches from now on.
    pub fn cancel(&self, worker: usize) {
        // If not listed, it was woken meanwhile, and counted as searching by the waker.
        self.list.with(|list| self.unlist(list, worker));
    }

    /// Sleeps until woken, or for `limit`. The caller searches from now on.
    pub fn commit(&self, worker: usize, limit: Duration) -> Slept {
        let seat = &self.seats[worker];
        while seat.load(Ordering::Acquire) == WAITING {
            let before = Instant::now();
            seat.wait(WAITING, limit);
            let waited = if cfg!(loom) { limit } else { before.elapsed() };
            if waited >= limit && seat.load(Ordering::Acquire) == WAITING {
                self.cancel(worker);
                return Slept::TimedOut;
            }
        }
        // One in eight of the new, seven of the old. (That of another worker's may be read: they
        // are much alike.)
        let taken = self.nanos().saturating_sub(self.woken_at.load(Ordering::Relaxed));
        let cost = self.cost.load(Ordering::Relaxed);
        self.cost.store(cost - cost / 8 + taken.min(MOST_COST) / 8, Ordering::Relaxed);
        Slept::Woken
    }
}
