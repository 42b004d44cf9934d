//! The descriptors of the process for which tasks wait, and the threads that look for their events.
//!
//! A *slot* for each number of a descriptor holds its waiters (`sync::descriptor`) under a lock.
//! The slots are made in chunks, when a number of the chunk is awaited for the first time.
//!
//! # A wait
//!
//! Under the slot's lock, a task links its waiter, and arms the kernel's list for all awaited
//! events (`epoll_ctl`): one system call for each wait. So the library need not know whether a
//! program has closed the descriptor by close(2): the kernel then removes it from its list and says
//! ENOENT, and the new owner of the number is added. Waiters of the former owner get EBADF.
//! (Rejected: edge-triggered descriptors that stay armed, as in Go's and Tokio's pollers. They save
//! this call, but waits for a number that was closed by close(2) and opened anew would never end.)
//!
//! A task runs some time after its event. Meanwhile `sched_close` may have closed the descriptor,
//! and the number may have a new owner. So the later attempts (`unless_closed`) and waits of a call
//! compare the generation of its first wait under the slot's lock, under which `close` changes it.
//!
//! # Who looks
//!
//! The poller, if a worker is idle (`idle::poller`); each worker that runs out of tasks; and the
//! *keeper*, the thread of `threads::watcher`, which also keeps the deadlines: every `TICK` while
//! descriptors are awaited and the poller does not sleep all the time (`idle::standby`). A task
//! whose descriptor is ready is queued behind all others.
//!
//! # A descriptor that was closed without a word
//!
//! A task may wait for a descriptor that another thread closes by close(2), and whose number nobody
//! opens again: the kernel reports nothing. So the keeper asks the kernel about `A_SECOND` slots
//! with waiters in a second, one after the other, whether their descriptors are still in its list.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | a slot | its lock | its lock |
//! | `CHUNKS`, a chunk's address: loads | Acquire | `memory::zeroed_once`: exchange |
//! | `STANDBY` | as in `idle::standby` | |

use crate::idle::poller::Poller;
use crate::idle::standby::{Next, Standby};
use crate::lock::mutex::Mutex;
use crate::runtime::waiter::Waiter;
use crate::sync::descriptor::{Descriptor, Waiting};
use crate::sync::list::Taken;
use crate::sync::node::Node;
use crate::sys::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::sys::epoll::Event;
use crate::sys::errno::Errno;
use crate::sys::memory;
use crate::sys::{futex, time};
use crate::threads::watcher;
use std::ffi::c_int;
use std::ptr;
use std::time::Duration;

#[unsafe(link_section = "sched_words")]
pub static POLLER: Poller = Poller::new();

/// The lock under which the kernel's list is made.
#[unsafe(link_section = "sched_words")]
static OPENING: Mutex<()> = Mutex::new(());

type Slot = Mutex<Descriptor>;

/// Slots in a chunk.
const SLOTS: usize = 1024;
/// This many chunks have a slot for each descriptor that Linux allows by default.
const MOST_CHUNKS: usize = 1024;

/// The addresses of the chunks; null until the first wait.
#[unsafe(link_section = "sched_words")]
static CHUNKS: AtomicPtr<AtomicPtr<Slot>> = AtomicPtr::new(ptr::null_mut());

#[unsafe(link_section = "sched_words")]
static STANDBY: Standby = Standby::new();

/// The time between two looks of the keeper.
const TICK: Duration = Duration::from_millis(1);

/// The longest time between two verifications of slots by the keeper, and the number of slots.
const SWEEP: Duration = Duration::from_secs(1);
const A_SECOND: usize = 256;

/// The keeper's own record: only its thread uses these words.
#[unsafe(link_section = "sched_words")]
static VERIFIED_AT: AtomicUsize = AtomicUsize::new(0);
#[unsafe(link_section = "sched_words")]
static VERIFIED: AtomicUsize = AtomicUsize::new(0);

/// True if a task may be queued that waits for a descriptor: for the proof of a deadlock.
pub fn may_act() -> bool {
    POLLER.is_used()
}

/// The array of chunks; empty until it is made.
fn chunks() -> &'static [AtomicPtr<Slot>] {
    let first = CHUNKS.load(Ordering::Acquire); // pairs with `zeroed_once`
    if first.is_null() {
        return &[];
    }
    // SAFETY: `slot` has made this many; they are never freed.
    unsafe { std::slice::from_raw_parts(first, MOST_CHUNKS) }
}

/// The slot of a descriptor; made if need be.
fn slot(fd: c_int) -> Result<&'static Slot, Errno> {
    let fd = usize::try_from(fd).map_err(|_| Errno(libc::EBADF))?;
    if fd >= SLOTS * MOST_CHUNKS {
        return Err(Errno(libc::ENOMEM));
    }
    // SAFETY: zero bytes are null pointers, and slots without waiters. Chunks are never freed.
    unsafe {
        let chunk = memory::zeroed_once(&CHUNKS, MOST_CHUNKS)?.add(fd / SLOTS);
        Ok(&*memory::zeroed_once(&*chunk, SLOTS)?.add(fd % SLOTS))
    }
}

/// The slot of a descriptor, if it was made.
fn known_slot(fd: usize) -> Option<&'static Slot> {
    let chunk = chunks().get(fd / SLOTS)?.load(Ordering::Acquire); // pairs with `zeroed_once`
    // SAFETY: null, or a chunk, which is never freed.
    unsafe { chunk.as_ref().map(|_| &*chunk.add(fd % SLOTS)) }
}

fn event(fd: usize, generation: u32, wanted: u32) -> Event {
    let datum = (u64::from(generation) << 32) | fd as u64;
    Event { events: wanted | libc::EPOLLONESHOT as u32, u64: datum }
}

/// Arms the descriptor in the kernel's list, in which it may be. The slot is locked. Fails with
/// ENOENT if the descriptor was armed before, and is not in the list any more.
fn arm(fd: c_int, descriptor: &Descriptor, wanted: u32) -> Result<(), Errno> {
    let event = event(fd as usize, descriptor.generation, wanted);
    if descriptor.is_listed {
        return POLLER.epoll.control(libc::EPOLL_CTL_MOD, fd, event);
    }
    match POLLER.epoll.control(libc::EPOLL_CTL_ADD, fd, event) {
        Err(Errno(libc::EEXIST)) => POLLER.epoll.control(libc::EPOLL_CTL_MOD, fd, event),
        result => result,
    }
}

/// Makes the kernel's list.
#[cold]
#[inline(never)]
fn open() -> Result<(), Errno> {
    OPENING.with(|()| POLLER.epoll.open())
}

/// The condition under which `begin` begins a wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    Always,
    /// Only if the descriptor is in the kernel's list, and is the one that was there before.
    IfListed,
}

/// Begins a wait for the descriptor, and returns its generation. When the node was granted, or
/// `leave` has returned true, the caller calls `POLLER.end_wait`. Fails if the kernel refuses the
/// descriptor, or its list cannot be made; with ENOENT if the condition does not hold; with EBADF
/// if the generation is not `expected`.
///
/// # Safety
/// The waiter is in no list, and lives until its node is granted, or `leave` has returned true.
#[inline(never)] // its frame does not stay on the stack of the task that waits
pub unsafe fn begin(
    when: Begin,
    fd: c_int,
    waiting: &Waiting,
    events: u32,
    expected: Option<u32>,
) -> Result<u32, Errno> {
    let slot = slot(fd)?;
    if !POLLER.epoll.is_open() {
        open()?;
    }
    if POLLER.epoll.owns(fd) {
        return Err(Errno(libc::EPERM)); // the program guesses numbers
    }
    POLLER.begin_wait();
    let (armed, former) = slot.with(|descriptor| {
        let mut former = None;
        if expected.is_some_and(|expected| expected != descriptor.generation) {
            return (Err(Errno(libc::EBADF)), None);
        }
        if when == Begin::IfListed && !descriptor.is_listed {
            return (Err(Errno(libc::ENOENT)), None);
        }
        let mut armed = arm(fd, descriptor, descriptor.wanted() | events);
        if armed == Err(Errno(libc::ENOENT)) {
            former = Some(descriptor.close()); // they wait for a descriptor that is gone
            if expected.is_some() {
                armed = Err(Errno(libc::EBADF));
            } else if when == Begin::Always {
                armed = arm(fd, descriptor, events);
            }
        }
        if armed.is_ok() {
            descriptor.is_listed = true;
            // SAFETY: the waiter is in no list, and lives until its node is granted or has left.
            unsafe { descriptor.link(waiting) };
        }
        (armed.map(|()| descriptor.generation), former)
    });
    former.into_iter().for_each(grant);
    if armed.is_err() {
        POLLER.end_wait();
    } else if STANDBY.begins(&POLLER) {
        watcher::call();
    }
    armed
}

/// Takes a waiter out before its node is granted. False if the node was granted, or is about to be.
///
/// # Safety
/// `begin` has succeeded for this waiter.
#[inline(never)] // as above
pub unsafe fn leave(fd: c_int, waiting: &Waiting) -> bool {
    // SAFETY: `begin` has linked the waiter to this descriptor.
    let leave = |slot: &Slot| slot.with(|descriptor| unsafe { descriptor.leave(waiting) });
    known_slot(fd as usize).is_some_and(leave)
}

/// Makes a system call that does not block. EBADF if that descriptor was closed.
pub fn unless_closed<T>(
    fd: c_int,
    generation: u32,
    call: impl FnOnce() -> Result<T, Errno>,
) -> Result<T, Errno> {
    let closed = Err(Errno(libc::EBADF));
    let Some(slot) = known_slot(fd as usize) else { return closed };
    slot.with(|descriptor| if descriptor.generation == generation { call() } else { closed })
}

/// Tells the waiters of a descriptor that it is being closed, and calls `close`, which closes it.
pub fn close<R>(fd: c_int, close: impl FnOnce() -> R) -> R {
    let slot = usize::try_from(fd).ok().and_then(known_slot);
    let Some(slot) = slot else { return close() };
    if let Some(waiters) = slot.with(|descriptor| descriptor.is_listed.then(|| descriptor.close()))
    {
        grant(waiters);
    }
    let result = close();
    verify(fd, slot); // a task may have begun to wait in between
    result
}

/// Ends the waits for a descriptor that is not in the kernel's list any more.
fn verify(fd: c_int, slot: &Slot) {
    let gone = slot.with(|descriptor| {
        let is_gone = descriptor.has_waiters()
            && arm(fd, descriptor, descriptor.wanted())
                .is_err_and(|Errno(error)| matches!(error, libc::ENOENT | libc::EBADF));
        is_gone.then(|| descriptor.close())
    });
    gone.into_iter().for_each(grant);
}

/// Grants the nodes of waiters that were taken out.
fn grant(waiters: Taken) {
    for node in waiters {
        // SAFETY: the node was taken out of its list; afterwards only the address is used.
        unsafe {
            let word = ptr::from_ref((*node).word());
            if let Some(name) = Node::grant(node) {
                Waiter::unpack(name).wake(word, None);
            }
        }
    }
}

/// An event of the kernel's list.
fn dispatch(event: Event) {
    let datum = event.u64;
    let (fd, generation) = (datum as u32 as usize, (datum >> 32) as u32);
    let Some(slot) = known_slot(fd) else { return };
    let [served, gone] = slot.with(|descriptor| {
        if descriptor.generation != generation {
            return [None, None];
        }
        let served = descriptor.serve(event.events);
        let wanted = descriptor.wanted();
        let armed = if wanted == 0 { Ok(()) } else { arm(fd as c_int, descriptor, wanted) };
        let others = match armed {
            Ok(()) => None,
            Err(Errno(libc::ENOENT | libc::EBADF)) => Some(descriptor.close()),
            Err(_) => Some(descriptor.give_up()),
        };
        [Some(served), others]
    });
    served.into_iter().chain(gone).for_each(grant);
}

/// Looks for events. True if there were any: the tasks that waited for them are queued.
#[inline]
pub fn poll() -> bool {
    POLLER.is_used() && poll_now()
}

#[cold]
#[inline(never)]
fn poll_now() -> bool {
    let found = POLLER.look();
    if found {
        // SAFETY: `look` has returned true.
        unsafe { serve_held() };
    }
    found
}

/// Queues the tasks that waited for the events which the calling thread has.
///
/// # Safety
/// The contract of `Poller::serve`.
pub unsafe fn serve_held() {
    // SAFETY: this thread has the poller's turn.
    unsafe { POLLER.serve(dispatch) };
    leave_poller();
}

/// Called by a thread that has slept and may have been the poller. If nobody polls now, the keeper
/// looks: the thread was woken for a task, and the other workers may all sleep on futexes.
#[inline]
pub fn leave_poller() {
    if STANDBY.leaves(&POLLER) {
        watcher::call();
    }
}

/// The keeper's duty for descriptors, each time that it is awake. Returns how long it may sleep.
pub fn keep() -> Duration {
    if !STANDBY.may_look(&POLLER) {
        return futex::LONGEST;
    }
    poll();
    verify_some();
    match STANDBY.next(&POLLER) {
        Next::Look => TICK,
        Next::Rest => SWEEP,
    }
}

/// Verifies some slots with waiters, if a second has passed since it did so last.
fn verify_some() {
    let now = time::nanos() as usize;
    if now.wrapping_sub(VERIFIED_AT.load(Ordering::Relaxed)) < SWEEP.as_nanos() as usize {
        return;
    }
    VERIFIED_AT.store(now, Ordering::Relaxed);
    let slots = chunks().len() * SLOTS;
    let (mut at, mut left, mut passed) = (VERIFIED.load(Ordering::Relaxed), A_SECOND, 0);
    while passed < slots && left > 0 {
        let step = match known_slot(at) {
            None => SLOTS - at % SLOTS, // to the next chunk
            Some(slot) => {
                if slot.with(|descriptor| descriptor.has_waiters()) {
                    verify(at as c_int, slot);
                    left -= 1;
                }
                1
            }
        };
        passed += step;
        at = (at + step) % slots;
    }
    VERIFIED.store(at, Ordering::Relaxed);
}

/// Forgets all waits in the child of a fork.
///
/// # Safety
/// No other thread of this process uses this file.
pub unsafe fn forget() {
    for chunk in chunks().iter().map(|chunk| chunk.load(Ordering::Acquire)) {
        if chunk.is_null() {
            continue;
        }
        for at in 0..SLOTS {
            // SAFETY: the chunk has this many slots; nobody else uses them, as promised.
            unsafe { (*chunk.add(at)).reset(Descriptor::default()) };
        }
    }
    // SAFETY: no other thread uses the lock or the poller.
    unsafe {
        OPENING.reset(());
        POLLER.forget();
    }
    STANDBY.forget();
}
