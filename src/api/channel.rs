//! Channels: bounded queues of elements between tasks and threads.
//!
//! # State
//!
//! Under one lock: a ring of elements, and the lists of the senders and of the receivers that wait.
//! A sender waits only if the ring is full, and a receiver only if it is empty; so one list is empty
//! at any time, and with waiting senders the ring is full. Each waiter has a node, and beside it the
//! place of its element.
//!
//! # Protocol
//!
//! A sender that finds a waiting receiver copies its element to the receiver's place, and grants the
//! receiver's node. Otherwise it copies the element into the ring, or waits. A receiver takes the
//! oldest element of the ring, and moves the element of the oldest waiting sender into the ring.
//! With a capacity of 0 the receiver takes the element from the sender's place. So elements are
//! received in the order in which they were sent, where the senders' order is that of the lock.
//!
//! The copy is made under the lock. The node is granted after the unlocking: that is the last access
//! to the waiter, and a waiter that continues may destroy the channel.
//!
//! Closing takes all waiters out, and grants them without an element.
//!
//! A waiter whose deadline has come takes its node out of its list under the lock. If the node is
//! not there, the element was copied, and the call has succeeded (`sync::node`, "Deadlines").
//!
//! (C. Hoare, "Communicating sequential processes", 1978; the copy from task to task as in Go's
//! channels, 2009.)
//!
//! # Rejected
//!
//! A ring without a lock (D. Vyukov's bounded queue, 2010), with the waiters beside it: a sender that
//! finds the ring full must still make sure, under a lock, that no receiver empties it before the
//! sender waits; and with waiters no element may be taken from the ring by a newcomer.

use crate::api::fork::misuse;
use crate::api::nodes::{WakeOrder, grant, grant_one, may_wait, wait};
use crate::api::timed::{Deadline, End};
use crate::lock::trylock::TryLock;
use crate::runtime::record::Worker;
use crate::runtime::wait_note::{Object, WaitsFor};
use crate::sync::list::{List, Taken};
use crate::sync::node::Node;
use crate::sys::errno::Errno;
use crate::sys::memory::{self, NoMemory};
use crate::sys::{detector, errno};
use std::cell::{Cell, UnsafeCell};
use std::ffi::c_int;

/// The C type `struct sched_channel`.
pub struct Channel {
    lock: TryLock,
    size: usize,
    capacity: usize,
    state: UnsafeCell<State>,
}

struct State {
    ring: Box<[u8]>,
    /// The number of the oldest element's place.
    first: usize,
    length: usize,
    is_closed: bool,
    senders: List,
    receivers: List,
}

/// A task or thread that waits. The node is the first field.
#[repr(C)]
struct Party {
    node: Node,
    element: *mut u8,
    /// The element was copied.
    is_served: Cell<bool>,
}

// SAFETY: the state is used under the lock.
unsafe impl Sync for Channel {}
// SAFETY: as above.
unsafe impl Send for Channel {}

/// What a call does with an element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Send,
    Receive,
}

/// What a call has found under the lock.
enum Found {
    Done,
    /// Done; the caller grants this node.
    Served(*const Node),
    Closed,
    /// The caller must wait.
    Nothing,
}

impl Found {
    /// What the call returns; None: the caller must wait. To be called without the lock.
    #[inline]
    fn outcome(self) -> Option<c_int> {
        match self {
            Found::Done => Some(0),
            Found::Served(node) => Some(served(node)),
            Found::Closed => Some(errno::failed(libc::EPIPE)),
            Found::Nothing => None,
        }
    }
}

impl Channel {
    /// Fails with EINVAL if the size of the ring is more than memory can have, or ENOMEM.
    pub fn create(capacity: usize, size: usize) -> Result<Box<Channel>, Errno> {
        let bytes = capacity.checked_mul(size).filter(|&bytes| bytes <= isize::MAX as usize);
        let no_memory = |NoMemory| Errno(libc::ENOMEM);
        let ring = match bytes.ok_or(Errno(libc::EINVAL))? {
            0 => Box::default(),
            // SAFETY: zero is a byte.
            bytes => unsafe { memory::zeroed::<u8>(bytes) }.map_err(no_memory)?,
        };
        let (senders, receivers) = (List::new(), List::new());
        let state = State { ring, first: 0, length: 0, is_closed: false, senders, receivers };
        let state = UnsafeCell::new(state);
        let channel = memory::boxed(Channel { lock: TryLock::new(), size, capacity, state });
        channel.map_err(no_memory).inspect(|channel| detector::own(&**channel))
    }

    /// The size of an element in bytes.
    #[inline]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Sends the element, or returns what `sched_channel_send_until` returns. None: no deadline.
    ///
    /// # Safety
    /// `element` points to an element.
    pub unsafe fn send<'a>(
        &self,
        element: *const u8,
        deadline: Option<i64>,
        worker: impl FnOnce() -> Option<&'a Worker>,
    ) -> c_int {
        // SAFETY: the element is only read.
        unsafe { self.exchange(Side::Send, element.cast_mut(), deadline, worker) }
    }

    /// Receives an element, or returns what `sched_channel_receive_until` returns.
    ///
    /// # Safety
    /// `element` points to room for an element.
    pub unsafe fn receive<'a>(
        &self,
        element: *mut u8,
        deadline: Option<i64>,
        worker: impl FnOnce() -> Option<&'a Worker>,
    ) -> c_int {
        // SAFETY: by the caller's promise.
        unsafe { self.exchange(Side::Receive, element, deadline, worker) }
    }

    /// # Safety
    /// `element` points to an element, or to room for one.
    #[inline]
    unsafe fn exchange<'a>(
        &self,
        side: Side,
        element: *mut u8,
        deadline: Option<i64>,
        worker: impl FnOnce() -> Option<&'a Worker>,
    ) -> c_int {
        detector::giving_and_taking(self, |_| {
            // SAFETY: by the caller's promise.
            let found = self.locked(|state| unsafe { self.step(state, side, element) });
            // SAFETY: as above.
            let later = || unsafe { self.exchange_later(side, element, deadline, worker()) };
            found.outcome().unwrap_or_else(later)
        })
    }

    /// The rest of `exchange`, for a caller that must wait.
    ///
    /// # Safety
    /// As for `exchange`.
    #[cold]
    #[inline(never)]
    unsafe fn exchange_later(
        &self,
        side: Side,
        element: *mut u8,
        deadline: Option<i64>,
        worker: Option<&Worker>,
    ) -> c_int {
        let deadline = match deadline.map(|time| Deadline::new(time, worker)).transpose() {
            Ok(deadline) => deadline,
            Err(Errno(error)) => return errno::failed(error),
        };
        if !may_wait(worker) {
            return errno::failed(libc::EINVAL);
        }
        let party = Party { node: Node::default(), element, is_served: Cell::new(false) };
        detector::own(&party);
        // SAFETY: the lock is held; the party lives until it is granted, or has left its list.
        let found = self.locked(|state| unsafe {
            let found = self.step(state, side, element);
            if matches!(found, Found::Nothing) {
                state.line(side).push_to_leave(&raw const party.node);
            }
            found
        });
        if let Some(outcome) = found.outcome() {
            return outcome;
        }
        let what = WaitsFor::new(Object::Channel, self);
        let end = match deadline {
            Some(deadline) => deadline.wait(&party.node, Some(what)),
            None => {
                wait(&party.node, what, worker);
                End::Granted
            }
        };
        if end != End::Granted {
            // SAFETY: the lock is held; the node was linked above.
            if self.locked(|state| unsafe { state.line(side).leave(&raw const party.node) }) {
                return errno::failed(end.error());
            }
            if party.node.revive() {
                wait(&party.node, what, worker); // for the grant of a thread that has unlinked it
            }
        }
        if party.is_served.get() { 0 } else { errno::failed(libc::EPIPE) }
    }

    /// Sends or receives an element, if that is possible now. Under the lock.
    ///
    /// # Safety
    /// As for `exchange`.
    #[inline]
    unsafe fn step(&self, state: &mut State, side: Side, element: *mut u8) -> Found {
        detector::acquire(self); // the other parties' elements were written before their calls
        // SAFETY: the lock is held, and parties wait while they are in a list.
        unsafe {
            match side {
                Side::Send if state.is_closed => Found::Closed,
                Side::Send => match state.receivers.pop_any() {
                    Some(receiver) => self.serve(receiver, |place| self.copy(element, place)),
                    None if state.length < self.capacity => {
                        self.copy(element, self.place(state, state.length));
                        state.length += 1;
                        Found::Done
                    }
                    None => Found::Nothing,
                },
                Side::Receive if state.length > 0 => {
                    self.copy(self.place(state, 0), element);
                    let last = self.place(state, 0); // free now, and the last place from now on
                    state.first =
                        if state.first + 1 == self.capacity { 0 } else { state.first + 1 };
                    match state.senders.pop_any() {
                        Some(sender) => self.serve(sender, |place| self.copy(place, last)),
                        None => {
                            state.length -= 1;
                            Found::Done
                        }
                    }
                }
                Side::Receive => match state.senders.pop_any() {
                    Some(sender) => self.serve(sender, |place| self.copy(place, element)),
                    None if state.is_closed => Found::Closed,
                    None => Found::Nothing,
                },
            }
        }
    }

    /// Copies the element of a party that was taken out of its list.
    ///
    /// # Safety
    /// The lock is held, and the node is a party's.
    unsafe fn serve(&self, node: *const Node, copy: impl FnOnce(*mut u8)) -> Found {
        let party: *const Party = node.cast();
        // SAFETY: by the caller's promise; the party waits until it is granted.
        unsafe {
            copy((*party).element);
            (*party).is_served.set(true);
        }
        detector::release(self); // the copy, for the party
        Found::Served(node)
    }

    /// # Safety
    /// Both places have room for an element.
    #[inline]
    unsafe fn copy(&self, from: *const u8, to: *mut u8) {
        // SAFETY: by the caller's promise.
        unsafe { memory::copy_few(from, to, self.size) };
    }

    /// The place of element `i` of the ring, the oldest being 0.
    #[inline]
    fn place(&self, state: &mut State, i: usize) -> *mut u8 {
        let at = state.first + i;
        let at = if at >= self.capacity { at - self.capacity } else { at };
        state.ring.as_mut_ptr().wrapping_add(at * self.size)
    }

    /// Closes the channel. All waiting tasks and threads continue.
    pub fn close(&self) {
        detector::giving(self, |_| {
            // SAFETY: the lock is held.
            let [senders, receivers]: [Taken; 2] = self.locked(|state| unsafe {
                state.is_closed = true;
                [state.senders.take_any(), state.receivers.take_any()]
            });
            // SAFETY: the nodes were taken out just now.
            let grant =
                |nodes| unsafe { grant(nodes, Worker::current_record, WakeOrder::MostlyAhead) };
            grant(senders);
            grant(receivers);
        });
    }

    /// Ends the process if a task or thread waits.
    pub fn check_unused(&self) {
        if self.locked(|state| !state.senders.is_empty() || !state.receivers.is_empty()) {
            misuse("sched_channel_destroy", "tasks or threads wait for the channel");
        }
    }

    #[inline]
    fn locked<R>(&self, work: impl FnOnce(&mut State) -> R) -> R {
        self.lock.lock();
        // SAFETY: locked just now.
        let result = work(unsafe { &mut *self.state.get() });
        // SAFETY: locked above.
        unsafe { self.lock.unlock() };
        result
    }
}

impl State {
    fn line(&self, side: Side) -> &List {
        if side == Side::Send { &self.senders } else { &self.receivers }
    }
}

/// Grants the node of a party that was served.
fn served(node: *const Node) -> c_int {
    // SAFETY: the node was taken out of its list just now.
    unsafe { grant_one(node, Worker::current_record, WakeOrder::MostlyAhead) };
    0
}
