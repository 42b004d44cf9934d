//! Channels: each element is received once and in order; no receiver waits while there is an
//! element, and no sender while there is room.

use crate::{grant, wait};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use sched::sync::ends::{Ends, Side};
use sched::sync::list::List;
use sched::sync::node::Node;
use sched_model::{Reached, explore, join, thread_with};

/// The protocol of `api::channel`, for elements that are numbers. The places are loom's cells, so
/// loom reports accesses that are not ordered.
struct Channel {
    ends: Ends,
    places: Vec<UnsafeCell<usize>>,
    senders: List,
    receivers: List,
}

// SAFETY: loom checks the accesses to the places.
unsafe impl Send for Channel {}
// SAFETY: as above.
unsafe impl Sync for Channel {}

static WAITED: Reached = Reached::not_yet();
static PASSED: Reached = Reached::not_yet();

impl Channel {
    fn new(capacity: usize) -> Arc<Channel> {
        let places = (0..capacity).map(|_| UnsafeCell::new(0)).collect();
        let (senders, receivers) = (List::new(), List::new());
        Arc::new(Channel { ends: Ends::new(capacity), places, senders, receivers })
    }

    fn line(&self, side: Side) -> &List {
        if side == Side::Send { &self.senders } else { &self.receivers }
    }

    fn copy_at(&self, side: Side, at: usize, element: &UnsafeCell<usize>) {
        let (from, to) = match side {
            Side::Send => (element, &self.places[at]),
            Side::Receive => (&self.places[at], element),
        };
        copy(from, to);
    }

    fn exchange(&self, side: Side, element: &UnsafeCell<usize>) {
        if self.ends.pass(side, |at| self.copy_at(side, at, element)) {
            return PASSED.note(true);
        }
        let node = Node::default();
        let (waits, served) = self.ends.both(side, |both| {
            let pass = |side, element| both.pass(side, |at| self.copy_at(side, at, element));
            // SAFETY: the locks are held; the nodes in the lists wait.
            let result = unsafe {
                if side == Side::Receive && pass(side, element) {
                    let sender = self.senders.pop_any();
                    sender.inspect(|&sender| assert!(pass(Side::Send, element_of(sender))));
                    (false, sender)
                } else if let Some(other) = self.line(side.other()).pop_any() {
                    let there = element_of(other);
                    let (from, to) =
                        if side == Side::Send { (element, there) } else { (there, element) };
                    copy(from, to);
                    (false, Some(other))
                } else if side == Side::Send && pass(side, element) {
                    (false, None)
                } else {
                    Node::set_element(&node, std::ptr::from_ref(element).expose_provenance());
                    self.line(side).push(&node);
                    (true, None)
                }
            };
            (result, !self.senders.is_empty() || !self.receivers.is_empty())
        });
        grant(served.into_iter());
        if waits {
            wait(&node);
            WAITED.note(true);
        }
    }

    fn send(&self, number: usize) {
        self.exchange(Side::Send, &UnsafeCell::new(number));
    }

    fn receive(&self) -> usize {
        let element = UnsafeCell::new(0);
        self.exchange(Side::Receive, &element);
        element.with(|number| {
            // SAFETY: loom checks the uses.
            unsafe { *number }
        })
    }
}

/// # Safety
/// The node is a waiter's.
unsafe fn element_of<'a>(node: *const Node) -> &'a UnsafeCell<usize> {
    // SAFETY: the waiter has set it, and waits until it is granted.
    unsafe { &*std::ptr::with_exposed_provenance(Node::element(node)) }
}

fn copy(from: &UnsafeCell<usize>, to: &UnsafeCell<usize>) {
    let number = from.with(|from| {
        // SAFETY: loom checks the uses.
        unsafe { *from }
    });
    to.with_mut(|to| {
        // SAFETY: loom checks the uses.
        unsafe { *to = number }
    });
}

/// One thread sends two elements, and the other receives them.
fn between_two(name: &str, capacity: usize, preemptions: usize) {
    explore(name, preemptions, 100, move || {
        let channel = Channel::new(capacity);
        let sender =
            thread_with(&channel, |channel| (1..=2).for_each(|number| channel.send(number)));
        assert_eq!([(); 2].map(|()| channel.receive()), [1, 2]);
        sender.join().unwrap();
    });
}

/// The only place is used again.
#[test]
fn a_ring_between_two() {
    between_two("channel of 1, two elements", 1, 2);
    WAITED.expect("a call that waits");
    PASSED.expect("a call that passes under one lock");
}

/// Without places the two threads meet.
#[test]
fn hand_to_hand() {
    between_two("channel of 0", 0, 3);
}

/// Two send, one receives: the elements of each are in order, and none is lost.
#[test]
fn two_send_through_one_place() {
    explore("channel of 1, two senders", 1, 100, || {
        let channel = Channel::new(1);
        let senders =
            [1, 2].map(|number| thread_with(&channel, move |channel| channel.send(number)));
        let received = [(); 2].map(|()| channel.receive());
        assert!(matches!(received, [1, 2] | [2, 1]), "{received:?}");
        join(senders);
    });
}
