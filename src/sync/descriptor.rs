//! The library's knowledge of a descriptor for which tasks wait. Used under a lock.
//!
//! The kernel reports an event of an armed descriptor once, and then disarms it (EPOLLONESHOT). The
//! waiters stand in one line, in the order in which they came. An event goes to the first waiter
//! for each of its conditions. While other waiters are left, the descriptor is armed again, and the
//! kernel reports at once the conditions that still hold. So two tasks that read from the same
//! descriptor are served one after the other, and none is woken in vain. A hang-up or an error goes
//! to all waiters: it does not pass.
//!
//! A number may get another descriptor: it was closed, and opened anew. `generation` counts the
//! numbers' owners that are known to have gone; it is a part of the datum that the kernel stores,
//! so an event of a former owner is recognised.

use crate::lock::handover::Link;
use crate::sync::list::{List, Taken};
use crate::sync::node::Node;
use std::cell::Cell;
use std::ptr;

/// A waiter; it lives on the stack of its task until its node is granted, or has left.
#[repr(C)]
pub struct Waiting {
    pub node: Node,
    /// The events that it waits for, as poll(2) writes them.
    events: u32,
    /// The events that have happened; `CLOSED`: the library has closed the descriptor; 0: the
    /// kernel's list does not take the descriptor any more. Written before the grant.
    ready: Cell<u32>,
}

/// The value of `Waiting::ready` for a descriptor that was closed.
pub const CLOSED: u32 = u32::MAX;

/// Conditions that are reported to every waiter.
const FINAL: u32 = (libc::POLLERR | libc::POLLHUP) as u32;

/// All bytes zero is a descriptor for which nobody waits.
#[derive(Default)]
pub struct Descriptor {
    waiters: List,
    /// See above.
    pub generation: u32,
    /// The kernel's list had the descriptor when it was last armed.
    pub is_listed: bool,
}

impl Waiting {
    pub fn new(events: u32) -> Self {
        Waiting { node: Node::default(), events, ready: Cell::new(0) }
    }

    /// For the waiter whose node was granted.
    pub fn ready(&self) -> u32 {
        self.ready.get()
    }
}

impl Descriptor {
    pub fn has_waiters(&self) -> bool {
        !self.waiters.is_empty()
    }

    /// Everything for which somebody waits.
    pub fn wanted(&self) -> u32 {
        self.each().fold(0, |all, waiting| all | waiting.events)
    }

    fn each(&self) -> impl Iterator<Item = &Waiting> {
        // SAFETY: the list is locked, and its nodes are those of `Waiting`s, their first fields.
        let get = |node: *const Node| unsafe { node.cast::<Waiting>().as_ref() };
        // SAFETY: as above.
        let next = move |waiting: &&Waiting| get(unsafe { Node::next(&raw const waiting.node) });
        std::iter::successors(get(self.waiters.first()), next)
    }

    /// # Safety
    /// The waiter is in no list, and lives until its node is granted, or has left.
    pub unsafe fn link(&mut self, waiting: &Waiting) {
        // SAFETY: the list is locked; the waiter was in no list, and lives until it has left.
        unsafe { self.waiters.push_to_leave(&raw const waiting.node) };
    }

    /// Takes out a waiter that gives up. False if it was taken out before.
    ///
    /// # Safety
    /// The waiter was linked here.
    pub unsafe fn leave(&mut self, waiting: &Waiting) -> bool {
        // SAFETY: the lock is held; the waiter was linked here.
        unsafe { self.waiters.leave(&raw const waiting.node) }
    }

    /// Takes out the waiters to which an event goes. Their nodes are to be granted.
    pub fn serve(&mut self, ready: u32) -> Taken {
        let served = List::new();
        let mut left = ready;
        let mut next = self.waiters.first();
        while !next.is_null() {
            // SAFETY: the node is in the list, which is locked, as the first field of a `Waiting`.
            let waiting = unsafe { &*next.cast::<Waiting>() };
            // SAFETY: as above.
            next = unsafe { Node::next(next) };
            let its = left & waiting.events;
            if its != 0 || ready & FINAL != 0 {
                left &= !its;
                waiting.ready.set(ready & (waiting.events | FINAL));
                // SAFETY: as above; the node was linked by `link`, and belongs to this call once it
                // has left.
                unsafe {
                    let node = &raw const waiting.node;
                    self.waiters.leave(node);
                    Node::set_next(node, ptr::null());
                    served.push(node);
                }
            }
        }
        // SAFETY: nobody else has this list.
        unsafe { served.take() }
    }

    /// Takes out all waiters: the descriptor was closed.
    pub fn close(&mut self) -> Taken {
        self.generation = self.generation.wrapping_add(1);
        self.is_listed = false;
        self.take_all(CLOSED)
    }

    /// Takes out all waiters: the descriptor cannot be armed. They try again.
    pub fn give_up(&mut self) -> Taken {
        self.take_all(0)
    }

    fn take_all(&mut self, ready: u32) -> Taken {
        self.each().for_each(|waiting| waiting.ready.set(ready));
        // SAFETY: the lock is held.
        unsafe { self.waiters.take_any() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IN: u32 = libc::POLLIN as u32;
    const OUT: u32 = libc::POLLOUT as u32;

    fn served(taken: Taken, all: &[Waiting]) -> Vec<usize> {
        let at = |node| all.iter().position(|waiting| ptr::eq(&raw const waiting.node, node));
        taken.map(|node| at(node).expect("one of these")).collect()
    }

    #[test]
    fn an_event_goes_to_the_first_waiter_for_each_condition() {
        let all = [IN, IN, OUT, IN | OUT].map(Waiting::new);
        let mut descriptor = Descriptor::default();
        // SAFETY: the waiters outlive the descriptor.
        all.iter().for_each(|waiting| unsafe { descriptor.link(waiting) });
        assert_eq!(served(descriptor.serve(IN | OUT), &all), [0, 2]);
        assert_eq!((all[0].ready(), all[2].ready()), (IN, OUT));
        assert_eq!(descriptor.wanted(), IN | OUT);
        // SAFETY: the waiter was linked above.
        assert!(unsafe { descriptor.leave(&all[1]) });
        assert_eq!(served(descriptor.serve(OUT), &all), [3]);
        assert!(!descriptor.has_waiters());
        // SAFETY: as above.
        assert!(!unsafe { descriptor.leave(&all[3]) }, "it was served");
    }

    #[test]
    fn a_hang_up_and_a_close_go_to_all() {
        let all = [IN, OUT, IN, IN].map(Waiting::new);
        let mut descriptor = Descriptor::default();
        // SAFETY: the waiters outlive the descriptor.
        unsafe { (descriptor.link(&all[0]), descriptor.link(&all[1])) };
        let hang_up = libc::POLLHUP as u32;
        assert_eq!(served(descriptor.serve(IN | hang_up), &all), [0, 1]);
        assert_eq!((all[0].ready(), all[1].ready()), (IN | hang_up, hang_up));
        // SAFETY: as above.
        unsafe { descriptor.link(&all[2]) };
        let generation = descriptor.generation;
        assert_eq!(served(descriptor.close(), &all), [2]);
        assert_eq!(all[2].ready(), CLOSED);
        assert_eq!(descriptor.generation, generation + 1);
        // SAFETY: as above.
        unsafe { descriptor.link(&all[3]) };
        assert_eq!(served(descriptor.give_up(), &all), [3]);
        assert_eq!((all[3].ready(), descriptor.generation), (0, generation + 1));
    }
}
