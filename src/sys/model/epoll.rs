//! The models' `sys::epoll`: a model adds the events by `Epoll::happen`.

use crate::sys::errno::Errno;
use crate::sys::futex::LONGEST;
use loom::sync::{Condvar, Mutex};
use std::ffi::c_int;
use std::time::Duration;

pub const MOST: usize = 4;

#[derive(Clone, Copy)]
pub struct Event {
    pub events: u32,
    pub u64: u64,
}

pub const NOTHING: Event = Event { events: 0, u64: u64::MAX };

#[derive(Default)]
struct State {
    rung: bool,
    data: Vec<u64>,
}

pub struct Epoll {
    state: Mutex<State>,
    changed: Condvar,
}

impl Epoll {
    #[allow(clippy::new_without_default, reason = "one constructor is enough")]
    pub fn new() -> Self {
        Epoll { state: Mutex::new(State::default()), changed: Condvar::new() }
    }

    pub fn is_open(&self) -> bool {
        true
    }

    pub fn open(&self) -> Result<(), Errno> {
        Ok(())
    }

    pub fn owns(&self, _fd: c_int) -> bool {
        false
    }

    /// An event with this datum happens.
    pub fn happen(&self, datum: u64) {
        self.change(|state| state.data.push(datum));
    }

    pub fn ring(&self) {
        self.change(|state| state.rung = true);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().expect("a model that panics is over"));
        self.changed.notify_all();
    }

    /// # Safety
    /// No model forks.
    pub unsafe fn forget(&self) {}

    /// A wait with a time limit ends at once.
    pub fn wait(&self, limit: Duration, events: &mut [Event; MOST]) -> usize {
        let mut state = self.state.lock().expect("a model that panics is over");
        while limit == LONGEST && !state.rung && state.data.is_empty() {
            state = self.changed.wait(state).expect("a model that panics is over");
        }
        state.rung = false;
        let found = state.data.len().min(MOST);
        for (event, datum) in events.iter_mut().zip(state.data.drain(..found)) {
            *event = Event { events: 1, u64: datum };
        }
        found
    }
}
