//! The split deque: each task is taken once, by one thread, after what its pusher wrote. Under the
//! model both halves of the asymmetric fence are full fences. A new block has room for 2 tasks and
//! a spare slot.
#![cfg(loom)]

mod alarms;
mod joins;
mod raids;
mod requests;
mod room;
mod thieves;

use loom::sync::Arc;
use loom::thread::JoinHandle;
use sched::queue::split::Split;
use sched::queue::{Deque, Full, Owner, Portion, PrivatePart, Published};
use sched::sys::fence::Asymmetric;
use sched_model::{Reached, take, thread_with};

type Deck = Split<Asymmetric>;
type Shared = sched_model::Shared<Deck>;

/// A push that publishes tasks if somebody has asked, like a spawn while no worker sleeps. A
/// refused task is run.
fn spawn(shared: &Shared, owner: &mut Owner<Deck>, i: usize) {
    let task = shared.task(i);
    if !owner.put(task) {
        match owner.put_slowly(task) {
            Err(Full) => take(task),
            Ok(()) if owner.publish(Portion::Half) != Published::Busy => owner.rearm(),
            Ok(()) => (),
        }
    }
}

/// True if the push was refused; the task is then run.
fn refuses(shared: &Shared, owner: &mut Owner<Deck>, i: usize) -> bool {
    let task = shared.task(i);
    let refused = owner.push(task).is_err();
    if refused {
        take(task);
    }
    refused
}

/// True if a task is public; if none is, asks the owner.
fn finds_or_asks(shared: &Shared) -> bool {
    let found = shared.deque.has_public();
    if !found {
        shared.deque.ask();
    }
    found
}

/// Takes the oldest task, public or not.
fn rob(shared: &Shared) -> bool {
    (finds_or_asks(shared) || shared.deque.raid()) && shared.steal()
}

fn raider(shared: &Arc<Shared>, attempts: usize) -> JoinHandle<()> {
    thread_with(shared, move |shared| {
        for _ in 0..attempts {
            rob(shared);
        }
    })
}

/// Takes a public task, or asks for one.
fn asker(shared: &Arc<Shared>, attempts: usize) -> JoinHandle<()> {
    thread_with(shared, move |shared| {
        for _ in 0..attempts {
            if finds_or_asks(shared) {
                shared.steal();
            }
        }
    })
}

/// Requests, and takes what the owner publishes; makes no raid.
fn requester(shared: &Arc<Shared>, attempts: usize, taken: &'static Reached) -> JoinHandle<()> {
    thread_with(shared, move |shared| {
        for _ in 0..attempts {
            shared.deque.request();
            taken.note(finds_or_asks(shared) && shared.steal());
        }
    })
}
