//! Blocking sections: a thread leaves its worker in the middle of a task, another thread continues
//! as the worker, and the first thread publishes the task at the section's end. The models use the
//! shipped `hold`, `let_go`, `requeue`, `inject`, quiescence and event, in whole runs of kind
//! `steal` with the shipped worker loop. As in `suspend.rs`, a task consists of two functions, and
//! a cell stands for the data that it leaves on its stack.
//!
//! T is the thread that leaves its worker, and U is the thread that continues as the worker. The
//! actions of T and U after the hand-over are ordered after T's actions as the worker: for T by
//! program order, for U because T has called it. So a model may create either T or U. If worker 0
//! is left, whose thread has begun the run, the model creates U (`the_first_is_left`). If a worker
//! is left in its loop, the model creates T, and U continues the loop, whose stack a model cannot
//! leave.
//!
//! This is one file: all models are the same run, and differ in the thread that leaves its worker.
#![cfg(loom)]

use loom::sync::Arc;
use loom::thread::{self, JoinHandle};
use sched::policy::{Place, Policy, UNAWAITED};
use sched::queue::chaselev::ChaseLev;
use sched::queue::split::Split;
use sched::sys::fence::Asymmetric;
use sched::sys::futex::LONGEST;
use sched::task::{Scheduler, Task};
use sched::threads::event::Event;
use sched::threads::handoff::{Found, Handoff};
use sched::threads::job::{JobState, NextStep};
use sched_model::{Cell, Modelled, Reached, Scene, Worker, count, explore, models, thread_with};
use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A run with one task that blocks.
struct Story<D: Modelled> {
    scene: Arc<Scene<D>>,
    end: Event,
    ended: Cell,
    /// `before` belongs to a task that is spawned into the worker's queue before the section;
    /// `within` to a task that a thread outside the run spawns during the section (`adds_within`).
    before: Cell,
    within: Cell,
    /// Stands for the task's stack: incremented when the thread leaves the worker, at the end of
    /// the section, and when the task resumes.
    frame: Cell,
    done: Cell,
    /// The hand-over of worker 0.
    handoff: Handoff,
    /// The run's threads. Not loom's mutex: the list is not part of the model.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl<D: Modelled> Story<D> {
    fn new(workers: usize) -> Arc<Self> {
        Arc::new(Story {
            scene: Scene::new(workers, 0),
            end: Event::new(),
            ended: Cell::new(),
            before: Cell::new(),
            within: Cell::new(),
            frame: Cell::new(),
            done: Cell::new(),
            handoff: Handoff::default(),
            threads: Mutex::default(),
        })
    }

    /// The result is valid while the handle lives.
    fn closure(this: &Arc<Self>) -> *mut c_void {
        std::ptr::from_ref(this).cast_mut().cast()
    }

    /// # Safety
    /// `closure` comes from `Story::closure`; the handle lives until the run has ended.
    unsafe fn of<'a>(closure: *mut c_void) -> &'a Arc<Self> {
        // SAFETY: by the caller's promise `closure` is a living handle.
        unsafe { &*closure.cast() }
    }

    fn thread(this: &Arc<Self>, f: impl FnOnce(&Self) + 'static) {
        let thread = thread_with(this, f);
        this.threads.lock().unwrap().push(thread);
    }

    /// The life of worker `index`, run by the thread that occupies it.
    fn work(&self, index: usize) {
        self.scene.work(index);
        if index == 0 {
            self.ended.add();
            self.end.happen();
        }
    }

    fn spawn_others(this: &Arc<Self>) {
        (1..this.scene.places.len()).for_each(|i| Story::thread(this, move |story| story.work(i)));
    }

    /// Like the beginning of a blocking section (`runtime::blocking`), but calls no other thread.
    fn leave(&self, worker: &Worker<D>) {
        worker.spawn(count, self.before.closure());
        worker.scheduler().hold(worker);
        self.frame.add();
    }

    /// The section. Another thread may already have taken `worker` over.
    fn block(&self, worker: &Worker<D>) {
        if self.adds_within() {
            worker.inject(count, self.within.closure());
        }
        self.frame.add();
    }

    /// Only beside a single worker: with two the steps by which workers learn of tasks from
    /// outside, of which `outside.rs` has models, make 1,883,084 executions of 40,190
    /// (`any_is_left`).
    fn adds_within(&self) -> bool {
        self.scene.places.len() == 1
    }

    /// The end of the section, if another thread has taken `worker` over.
    fn publish(&self, worker: &Worker<D>, closure: *mut c_void) {
        let rest = Task { f: goes_on::<D>, closure };
        worker.scheduler().requeue_ended(worker, rest).expect("there is memory");
        // The run may have ended.
    }

    /// Waits for the end of the run, as the thread that has begun the run does.
    fn finish(&self) {
        self.end.wait();
        assert_eq!(self.ended.get(), 1);
        assert_eq!(self.done.get(), 1, "the run has ended before its task");
        assert_eq!((self.before.get(), self.within.get()), (1, usize::from(self.adds_within())));
        let threads = std::mem::take(&mut *self.threads.lock().unwrap());
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

/// The second half of the task, taken out of a queue.
unsafe extern "C" fn goes_on<D: Modelled>(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the models' closures are stories; `s` is a worker of the model.
    let (story, worker) = unsafe { (Story::<D>::of(closure), Worker::<D>::of(s)) };
    assert_eq!(story.frame.get(), 2, "continued twice, or before the section had ended");
    story.frame.add();
    worker.scheduler().let_go(worker);
    story.done.add();
}

unsafe extern "C" fn blocks<D: Modelled>(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the models' closures are stories; `s` is a worker of the model.
    let (story, worker) = unsafe { (Story::<D>::of(closure), Worker::<D>::of(s)) };
    story.leave(worker);
    let (index, closure) = (worker.index(), closure.expose_provenance());
    Story::thread(story, move |story| {
        let worker = &story.scene.places[index];
        story.block(worker);
        story.publish(worker, std::ptr::with_exposed_provenance_mut(closure));
    });
}

/// The thread that has begun the run leaves worker 0 in the first task. It comes back if the other
/// thread has not come yet; the other thread may find that the run has ended.
fn the_first_is_left<D: Modelled>(workers: usize, preemptions: usize, at_least: usize) {
    let name = format!("block over {}, worker 0 of {workers}", D::NAME);
    explore(&name, preemptions, at_least, move || {
        let story = Story::<D>::new(workers);
        Story::spawn_others(&story);
        let worker = &story.scene.places[0];
        story.leave(worker);
        let (left, calls) = story.handoff.leave();
        assert!(calls);
        Story::thread(&story, |story| {
            if is_needed(&story.handoff, || story.end.sleep(UNAWAITED)) {
                story.work(0);
            }
        });
        story.block(worker);
        if story.handoff.come_back(left) {
            worker.call(Task { f: goes_on::<D>, closure: Story::closure(&story) });
            story.work(0);
        } else {
            story.publish(worker, Story::closure(&story));
        }
        story.finish();
    });
}

/// Like `Worker::is_needed`.
fn is_needed(handoff: &Handoff, sleep: impl Fn()) -> bool {
    let mut seen = handoff.called();
    loop {
        match handoff.look(&mut seen) {
            Found::Vacant => return true,
            Found::Occupied => return false,
            Found::Busy => sleep(),
        }
    }
}

/// A place that is left, and the threads that are called to it.
struct Office {
    handoff: Handoff,
    /// Incremented by each occupant.
    place: Cell,
    /// How often another thread has taken the place.
    taken: AtomicUsize,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Office {
    fn new() -> Arc<Self> {
        let taken = AtomicUsize::new(0);
        let (handoff, place, threads) = (Handoff::default(), Cell::new(), Mutex::default());
        Arc::new(Office { handoff, place, taken, threads })
    }

    /// The occupant leaves; a thread that is called to the place then does `next` there.
    fn leave(this: &Arc<Self>, next: impl FnOnce(&Arc<Self>) + 'static) -> usize {
        this.place.add();
        let (left, calls) = this.handoff.leave();
        if calls {
            let other = Arc::clone(this);
            let thread = thread::spawn(move || {
                if is_needed(&other.handoff, thread::yield_now) {
                    other.place.add();
                    other.taken.fetch_add(1, Ordering::Relaxed);
                    next(&other);
                }
            });
            this.threads.lock().unwrap().push(thread);
        }
        left
    }

    /// A thread that claims the place and then does `next`. True if it has the place afterwards.
    fn claimant(this: &Arc<Self>, next: fn(&Arc<Self>) -> bool) -> JoinHandle<bool> {
        let office = Arc::clone(this);
        thread::spawn(move || {
            office.handoff.claim() && {
                office.place.add();
                next(&office)
            }
        })
    }

    fn come_back(&self, left: usize) -> bool {
        let back = self.handoff.come_back(left);
        if back {
            self.place.add();
        }
        back
    }

    /// Joins all threads. Returns how often another thread has taken the place.
    fn taken(&self) -> usize {
        loop {
            let Some(thread) = self.threads.lock().unwrap().pop() else { break };
            thread.join().unwrap();
        }
        self.taken.load(Ordering::Relaxed)
    }
}

/// A place is left several times, and at last the occupant stays away: one other thread takes it.
#[test]
fn a_place_that_stays_vacant() {
    explore("a place is left three times", 6, 500, || {
        let office = Office::new();
        for _ in 0..2 {
            let left = Office::leave(&office, |_| ());
            if !office.come_back(left) {
                return assert_eq!(office.taken(), 1);
            }
        }
        Office::leave(&office, |_| ());
        assert_eq!(office.taken(), 1, "nobody has come");
    });
}

/// The occupant comes back late: another thread has taken the place, and left it as well.
#[test]
fn a_place_that_is_left_by_two() {
    explore("a place is left by two", 6, 200, || {
        let office = Office::new();
        let left = Office::leave(&office, |office| {
            let left = Office::leave(office, |_| ());
            office.come_back(left);
        });
        let back = office.come_back(left);
        let taken = office.taken();
        assert!(back == (taken == 0), "it has come back {back}, and was taken {taken} times");
    });
}

/// No thread can be called to the place at first; then one is called.
#[test]
fn a_place_that_nobody_comes_to() {
    explore("a place is left in vain, and again", 6, 1, || {
        let office = Office::new();
        assert!(office.handoff.leave().1);
        assert!(office.handoff.nobody_comes(), "nobody else was there");
        Office::leave(&office, |_| ());
        assert_eq!(office.taken(), 1, "nobody was called");
    });
}

/// A third thread, which has ended a section elsewhere, claims the place beside the occupant that
/// comes back and the thread that was called: one of the three has it.
#[test]
fn a_place_that_is_claimed() {
    explore("a place is left, and claimed", 4, 500, || {
        let office = Office::new();
        let third = Office::claimant(&office, |_| true);
        let left = Office::leave(&office, |_| ());
        let back = office.come_back(left);
        let claimed = third.join().unwrap();
        let have = usize::from(back) + usize::from(claimed) + office.taken();
        assert_eq!(have, 1, "it has come back {back}, and was claimed {claimed}");
    });
}

/// As above, but no thread can be called. The third thread may leave the place again, and relies on
/// a thread that it believes to be coming.
#[test]
fn a_place_that_is_claimed_from_one_without_a_relief() {
    explore("a place is left in vain, and claimed", 4, 50, || {
        let office = Office::new();
        let third = Office::claimant(&office, |office| {
            let left = Office::leave(office, |_| ());
            office.come_back(left)
        });
        office.place.add();
        assert!(office.handoff.leave().1);
        let back = office.handoff.nobody_comes();
        if back {
            office.place.add();
        }
        let claimed = third.join().unwrap();
        let have = usize::from(back) + usize::from(claimed) + office.taken();
        assert_eq!(have, 1, "it has come back {back}, and was claimed {claimed}");
    });
}

/// Any worker takes the task. Its thread leaves the worker in the middle of the task.
fn any_is_left<D: Modelled>(workers: usize, preemptions: usize, at_least: usize) {
    let name = format!("block over {}, any worker of {workers}", D::NAME);
    explore(&name, preemptions, at_least, move || {
        let story = Story::<D>::new(workers);
        story.scene.places[0].spawn(blocks::<D>, Story::closure(&story));
        Story::spawn_others(&story);
        story.work(0);
        story.finish();
    });
}

/// All waiting threads see what came before the event, and none sleeps forever.
#[test]
fn an_event() {
    explore("an event, two waiters", 3, 1000, || {
        let this = Arc::new((Event::new(), Cell::new()));
        for _ in 0..2 {
            thread_with(&this, |this| {
                this.0.wait();
                assert_eq!(this.1.get(), 1);
            });
        }
        this.1.add();
        this.0.happen();
    });
}

/// Executions in which the thread got a second job.
static AGAIN: Reached = Reached::not_yet();

/// A thread and its jobs, as in `threads::cache::relief`.
struct ThreadSlot {
    state: JobState,
    job: Cell,
    spare: loom::sync::Mutex<bool>,
}

impl ThreadSlot {
    /// Like `RunThreads::relieve` with a spare slot. False if no slot is spare.
    fn call_again(&self) -> bool {
        let spare = std::mem::take(&mut *self.spare.lock().unwrap());
        if spare {
            self.state.wait_for_job();
            self.job.add();
            assert!(self.state.start_job(|| (), || unreachable!("it has a thread")));
            AGAIN.note(true);
        }
        spare
    }

    /// The thread's life: after the second job its time is up at once.
    fn live(&self) {
        for job in 1.. {
            assert_eq!(self.job.get(), job);
            *self.spare.lock().unwrap() = true; // before the job is done
            self.state.finish_job();
            if job == 2 {
                let _spare = self.spare.lock().unwrap();
                assert!(self.state.set_has_thread(false));
                return;
            }
            self.state.announce_sleep();
            while self.state.next_step() == NextStep::Rest {
                self.state.sleep(LONGEST);
            }
            if self.state.next_step() == NextStep::End {
                return;
            }
        }
    }
}

/// The thread that creates another thread is late: the new thread has done its job, and a third
/// thread has started a second job. The third thread is also late: the new thread has done that
/// job, and ended.
#[test]
fn a_creator_beside_the_next_who_calls() {
    explore("a thread is called again", 3, 1, || {
        let slot = ThreadSlot {
            state: JobState::new(),
            job: Cell::new(),
            spare: loom::sync::Mutex::new(false),
        };
        let slot = Arc::new(slot);
        let next = thread_with(&slot, ThreadSlot::call_again);
        let mut made = None;
        let create = || {
            made = Some(thread_with(&slot, ThreadSlot::live));
            true
        };
        slot.job.add();
        assert!(slot.state.start_job(|| unreachable!("it has no thread"), create));
        next.join().unwrap();
        slot.state.wait_for_job();
        slot.state.dismiss();
        made.unwrap().join().unwrap();
    });
    AGAIN.expect("a thread that is called again");
}

models! {
    chaselev: ChaseLev {
        the_only_is_left: the_first_is_left(1, 2, 150);
        the_first_of_two_is_left: the_first_is_left(2, 1, 500);
        any_of_two_is_left: any_is_left(2, 1, 20_000);
    }
    split: Split<Asymmetric> {
        the_only_is_left: the_first_is_left(1, 2, 150);
        the_first_of_two_is_left: the_first_is_left(2, 1, 1500);
        any_of_two_is_left: any_is_left(2, 1, 10_000);
    }
}
