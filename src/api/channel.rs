//! Channels: bounded queues of elements between tasks and threads. This is one file because calls
//! and their waits use the same locks, lists and ring.
//!
//! # State
//!
//! A channel has a ring of elements with a lock for each end (`sync::ends`), a list of waiting
//! senders and a list of waiting receivers. The lists are changed under both locks. A sender waits
//! only if the ring is full, and a receiver only if it is empty; so one list is empty at any time,
//! and with waiting senders the ring is full. A waiter's node stores the address of its element.
//!
//! # Protocol
//!
//! Usually a call takes one lock. A sender copies its element into the ring under the senders'
//! lock, and a receiver copies the oldest element out of the ring under the receivers' lock. A call
//! takes both locks if the ring is full or empty, if another call waits, or if the channel is
//! closed.
//!
//! Under both locks, a sender copies its element to the oldest waiting receiver, or into the ring,
//! or else links its node. A receiver copies the oldest element out of the ring, and then the
//! element of the oldest waiting sender into the ring. With a capacity of 0 a receiver copies the
//! element from that sender. A receiver that finds no element links its node. So elements are
//! received in the order in which the senders had their lock.
//!
//! The call that has copied a waiter's element grants the waiter's node after it has unlocked. The
//! grant is the last access to the waiter, and a waiter that continues may destroy the channel.
//!
//! Closing unlinks all nodes, and grants them without an element.
//!
//! A waiter whose deadline has come unlinks its node under both locks. If another call has unlinked
//! the node before, that call grants it, and the waiter waits for this grant (`sync::node`,
//! "Deadlines").
//!
//! (C. Hoare, "Communicating sequential processes", 1978; the copy from task to task as in Go's
//! channels, 2009.)
//!
//! # Rejected
//!
//! One lock for both ends: 41 ns an element on two workers, instead of 22.
//!
//! Spinning for some microseconds before the wait: as fast on two workers, ten times slower on one.
//!
//! A ring without locks (D. Vyukov's bounded queue, 2010): a sender that finds the ring full still
//! needs a lock to link its node before a receiver empties the ring; and new calls overtake
//! waiters.

use crate::api::fork::misuse;
use crate::api::nodes::{WakeOrder, grant, grant_one, wait, wait_for};
use crate::api::timed::{Deadline, End};
use crate::runtime::record::Worker;
use crate::runtime::wait_note::{Object, WaitsFor};
use crate::sync::ends::{Both, Ends, Side};
use crate::sync::list::{List, Taken};
use crate::sync::node::Node;
use crate::sys::atomic::{AtomicBool, Ordering};
use crate::sys::errno::Errno;
use crate::sys::memory;
use crate::sys::{detector, errno};
use std::cell::{Cell, UnsafeCell};
use std::ffi::c_int;
use std::ptr;

/// The C type `struct sched_channel`.
pub struct Channel {
    size: usize,
    ring: Box<[UnsafeCell<u8>]>,
    ends: Ends,
    // The fields from here on are changed under both locks of the ends.
    is_closed: AtomicBool,
    senders: List,
    receivers: List,
}

// SAFETY: the lists are changed under both locks, and a call has a place of the ring for itself.
unsafe impl Sync for Channel {}
// SAFETY: as above.
unsafe impl Send for Channel {}

/// The findings of a call under the locks.
enum Found {
    Done,
    /// The call is done; the caller grants this node.
    Served(*const Node),
    Closed,
    /// The caller must wait.
    Nothing,
}

impl Found {
    /// The result of the call; None: the caller must wait. Must be called without the locks.
    #[inline]
    fn outcome(self) -> Option<c_int> {
        match self {
            Found::Done => Some(0),
            Found::Served(node) => {
                // SAFETY: the node was taken out of its list just now.
                unsafe { grant_one(node, Worker::current_record, WakeOrder::MostlyAhead) };
                Some(0)
            }
            Found::Closed => Some(errno::failed(libc::EPIPE)),
            Found::Nothing => None,
        }
    }
}

impl Channel {
    /// Fails with EINVAL if the size of the ring is more than memory can have, or ENOMEM.
    pub fn create(capacity: usize, size: usize) -> Result<Box<Channel>, Errno> {
        let bytes = capacity.checked_mul(size).filter(|&bytes| bytes <= isize::MAX as usize);
        let ring = match bytes.ok_or(Errno(libc::EINVAL))? {
            0 => Box::default(),
            // SAFETY: zero is a byte.
            bytes => unsafe { memory::zeroed(bytes) }?,
        };
        let (senders, receivers) = (List::new(), List::new());
        let (ends, is_closed) = (Ends::new(capacity), AtomicBool::new(false));
        let channel = memory::boxed(Channel { size, ring, ends, is_closed, senders, receivers })?;
        detector::own(&*channel);
        Ok(channel)
    }

    /// The size of an element in bytes.
    #[inline]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Sends or receives an element. Returns what `sched_channel_send_until` or
    /// `sched_channel_receive_until` returns. None: no deadline.
    ///
    /// # Safety
    /// `element` points to an element, or to room for one.
    #[inline]
    pub unsafe fn exchange<'a>(
        &self,
        side: Side,
        element: *mut u8,
        deadline: Option<i64>,
        worker: impl FnOnce() -> Option<&'a Worker>,
    ) -> c_int {
        // A race detector learns the order of the elements from calls that take both locks.
        if !detector::may_be_present() {
            // SAFETY: `element` points to an element or room; `pass` gives this call the place.
            let passes = self.ends.pass(side, |at| unsafe { self.copy_at(side, at, element) });
            if passes {
                return 0;
            }
        }
        let on_both =
            // SAFETY: `element` points to an element, or to room for one.
            |_: &Self| unsafe { self.exchange_on_both(side, element, deadline, worker()) };
        // The call acquires from the channel while the channel exists, and later from the node or a
        // local variable: when a waiter was granted, others may destroy the channel.
        detector::giving(self, on_both)
    }

    /// `exchange` under both locks.
    ///
    /// # Safety
    /// The contract of `exchange`.
    #[inline(never)]
    unsafe fn exchange_on_both(
        &self,
        side: Side,
        element: *mut u8,
        deadline: Option<i64>,
        worker: Option<&Worker>,
    ) -> c_int {
        // SAFETY: `element` points to an element, or to room for one.
        let step = || self.locked(side, |both| unsafe { self.step(both, side, element) });
        let waits = deadline.is_none() && self.seems_stuck(side);
        let found = if waits { Found::Nothing } else { step() };
        found.outcome().unwrap_or_else(|| {
            let element = if element.is_null() { ptr::dangling_mut() } else { element }; // no bytes
            let party = Party { channel: self, side, element };
            let deadline = deadline.map(|time| Deadline::new(time, worker));
            match deadline.transpose() {
                Ok(None) => party.wait(worker),
                Ok(Some(deadline)) => party.wait_until(deadline, worker),
                Err(Errno(error)) => errno::failed(error),
            }
        })
    }

    /// A hint: true if the call most likely waits. The call has failed under its own end's lock,
    /// the channel is open, and no call waits at the other end.
    #[inline]
    fn seems_stuck(&self, side: Side) -> bool {
        let has_tried = !detector::may_be_present();
        has_tried && !self.is_closed() && self.line(side.other()).is_empty()
    }

    /// Sends or receives an element, if that is possible now. Under both locks.
    ///
    /// # Safety
    /// The contract of `exchange`.
    #[inline]
    unsafe fn step(&self, both: &Both, side: Side, element: *mut u8) -> Found {
        detector::acquire(self); // the other calls' elements were written before those calls
        // SAFETY: the locks are held; a waiter's element is valid while its node is in a list.
        unsafe {
            let pass = |side, element| both.pass(side, |at| self.copy_at(side, at, element));
            match side {
                Side::Send if self.is_closed() => Found::Closed,
                Side::Send => match self.receivers.pop_any() {
                    Some(receiver) => self.serve(receiver, |place| self.copy(element, place)),
                    None if pass(side, element) => Found::Done,
                    None => Found::Nothing,
                },
                Side::Receive if pass(side, element) => match self.senders.pop_any() {
                    Some(sender) => self.serve(sender, |place| _ = pass(Side::Send, place)),
                    None => Found::Done,
                },
                Side::Receive => match self.senders.pop_any() {
                    Some(sender) => self.serve(sender, |place| self.copy(place, element)),
                    None if self.is_closed() => Found::Closed,
                    None => Found::Nothing,
                },
            }
        }
    }

    /// Copies the element of a waiter that was taken out of its list.
    ///
    /// # Safety
    /// The locks are held, and the node is a waiter's.
    unsafe fn serve(&self, node: *const Node, copy: impl FnOnce(*mut u8)) -> Found {
        // SAFETY: the locks are held; the node's task is suspended until its node is granted.
        unsafe {
            copy(ptr::with_exposed_provenance_mut(Node::element(node)));
            Node::set_element(node, 0);
        }
        detector::release(node); // the copy, and what this call's task has done before
        Found::Served(node)
    }

    /// # Safety
    /// Both places have room for an element, and do not overlap.
    #[inline]
    unsafe fn copy(&self, from: *const u8, to: *mut u8) {
        // SAFETY: both places have `size` bytes.
        unsafe { memory::copy_few(from, to, self.size) };
    }

    /// Copies the element into this place of the ring, or out of it.
    ///
    /// # Safety
    /// `element` is valid as in `exchange`; no other call uses the place.
    #[inline]
    unsafe fn copy_at(&self, side: Side, at: usize, element: *mut u8) {
        let place = UnsafeCell::raw_get(self.ring.as_ptr()).wrapping_add(at * self.size);
        // SAFETY: `element` has the size of an element, and no other call uses the place.
        unsafe {
            match side {
                Side::Send => self.copy(element, place),
                Side::Receive => self.copy(place, element),
            }
        }
    }

    /// Closes the channel. All waiting tasks and threads continue.
    pub fn close(&self) {
        detector::giving(self, |_| {
            // SAFETY: the locks are held.
            let [senders, receivers]: [Taken; 2] = self.locked(Side::Send, |_| unsafe {
                self.is_closed.store(true, Ordering::Relaxed);
                [self.senders.take_any(), self.receivers.take_any()]
            });
            let nodes = senders.chain(receivers).inspect(|&node| detector::release(node));
            // SAFETY: the nodes were taken out just now.
            unsafe { grant(nodes, Worker::current_record, WakeOrder::MostlyAhead) };
        });
    }

    /// Ends the process if a task or thread waits.
    pub fn check_unused(&self) {
        if self.locked(Side::Send, |_| !self.senders.is_empty() || !self.receivers.is_empty()) {
            misuse("sched_channel_destroy", "tasks or threads wait for the channel");
        }
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    fn line(&self, side: Side) -> &List {
        if side == Side::Send { &self.senders } else { &self.receivers }
    }

    /// Calls `work` under both locks, for a call of this side.
    #[inline]
    fn locked<R>(&self, side: Side, work: impl FnOnce(&Both) -> R) -> R {
        self.ends.both(side, |both| {
            let result = work(both);
            let is_awaited = !self.senders.is_empty() || !self.receivers.is_empty();
            (result, self.is_closed() || is_awaited)
        })
    }
}

/// A call that is about to wait. `element` is valid until the call ends.
struct Party<'a> {
    channel: &'a Channel,
    side: Side,
    element: *mut u8,
}

impl Party<'_> {
    /// Links the node, unless the channel has an element or room for one by now.
    ///
    /// # Safety
    /// The node is in no list, and lives until it is granted or has left its list by `leave`.
    unsafe fn step_or_link(&self, node: &Node, link: impl FnOnce(&List, *const Node)) -> Found {
        // SAFETY: the element exists; the node is the caller's until it is linked.
        self.channel.locked(self.side, |both| unsafe {
            let found = self.channel.step(both, self.side, self.element);
            if matches!(found, Found::Nothing) {
                Node::set_element(node, self.element.expose_provenance());
                link(self.channel.line(self.side), node);
            }
            found
        })
    }

    #[inline]
    fn wait(&self, worker: Option<&Worker>) -> c_int {
        let what = WaitsFor::new(Object::Channel, self.channel);
        let (found_late, is_served) = (Cell::new(None), Cell::new(false));
        if detector::may_be_present() {
            detector::own(self); // these two are used on another stack
            detector::own(&found_late);
        }
        let step_or_link = |node: &Node| {
            detector::own(node);
            // SAFETY: `wait_for` keeps the node until it is granted. The locks are held.
            let found = unsafe { self.step_or_link(node, |line, node| line.push(node)) };
            let goes_on = !matches!(found, Found::Nothing);
            if goes_on {
                detector::release(&raw const found_late);
                found_late.set(Some(found));
            }
            goes_on
        };
        let has_it = |node: &Node| {
            detector::acquire(node);
            // SAFETY: the node was granted.
            is_served.set(unsafe { Node::element(node) } == 0);
            true
        };
        // SAFETY: when `step_or_link` links the node, this is its last action.
        if !unsafe { wait_for(worker, what, step_or_link, has_it) } {
            return errno::failed(libc::EINVAL);
        }
        let outcome = found_late.take().and_then(|found| {
            detector::acquire(&raw const found_late);
            found.outcome()
        });
        outcome.unwrap_or_else(|| ended(is_served.get()))
    }

    #[cold]
    #[inline(never)]
    fn wait_until(&self, deadline: Deadline, worker: Option<&Worker>) -> c_int {
        let what = WaitsFor::new(Object::Channel, self.channel);
        let node = Node::default();
        detector::own(&node);
        // SAFETY: the node lives until it is granted, or has left its list. The locks are held.
        let found = unsafe { self.step_or_link(&node, |line, node| line.push_to_leave(node)) };
        if let Some(outcome) = found.outcome() {
            return outcome;
        }
        let end = deadline.wait(&node, Some(what));
        if end != End::Granted {
            let line = self.channel.line(self.side);
            // SAFETY: the node was linked above, and the locks are held.
            if self.channel.locked(self.side, |_| unsafe { line.leave(&raw const node) }) {
                return errno::failed(end.error());
            }
            if node.revive() {
                wait(&node, what, worker); // a thread has unlinked it, and grants it
            }
        }
        detector::acquire(&raw const node);
        // SAFETY: the node was granted.
        ended(unsafe { Node::element(&raw const node) } == 0)
    }
}

/// The result of a call whose node was granted.
fn ended(is_served: bool) -> c_int {
    if is_served { 0 } else { errno::failed(libc::EPIPE) }
}
