//! How a path divides among the functions of its tasks.
//!
//! A path is copied for each new task, so it has `PARTS` parts at most, and only those in use are
//! copied. A path through more functions keeps the long parts, by the rule "space saving"
//! (A. Metwally, D. Agrawal and A. El Abbadi, "Efficient computation of frequent and top-k elements
//! in data streams", 2005):
//!
//! - Each part has a *floor*, at first 0. Its *key* is its ticks and its floor together.
//! - A function that has no part when all are in use takes the place of the part with the least
//!   key. It begins with 0 ticks; its floor is that key.
//! - The ticks of the replaced part are added to the *rest*: the time that the path spends in
//!   functions without a part. Only the number of tasks is stored for the rest. Its ticks are the
//!   path's ticks minus the ticks of all parts.
//!
//! So a part never has more ticks than the path spends in the function: the missing ones are in the
//! rest. Four invariants hold; the report shows the bounds of the last two:
//!
//! 1. No key, and so not the least key either, ever gets smaller: a part gets ticks, and a new one
//!    begins at the key that it replaces.
//! 2. No part has a smaller floor than the part before it. A new part comes last, and its floor is
//!    the least key of all parts at that moment, which by 1 is at least each earlier floor.
//! 3. A function without a part has at most the last floor in the rest. When it was replaced, its
//!    key was at least what the path spent in it (by 4), and became a floor; by 1 no later
//!    floor is less.
//! 4. A part lacks at most its floor. When it began, the least key was at least what the rest had
//!    of its function (by 3), and that is its floor.
//!
//! The keys together are at most the length of the path: a replacement makes the rest larger, and
//! the sum of the keys stays. So the least key is at most a `PARTS`-th of the path, and a function
//! in which the path spends more than that has a part.
//!
//! Rejected: parts for the functions that come first, and a rest for all others. A function that
//! comes late may take nearly the whole path, and would be hidden in the rest. Rejected: new parts
//! without a floor. Two functions that take turns would replace each other forever, however long
//! the path is in them together. Rejected: a part for each function on the path. Each task would
//! pay for all of these parts, and would need memory that may not be there.
//!
//! # The part that grows
//!
//! A path grows at its end, in the part of the task's function, and does so several times in each
//! task. A part that grows is stored as its difference from the length: its ticks less the length,
//! modulo 2^64. Then adding to the length adds to the part. A copy of the path has the same length
//! and the same difference. (Rejected: to add the ticks to the length and to the part, which took a
//! tenth of a task's time.)
//!
//! # Memory
//!
//! The first `NEAR` parts lie in the record of the task, whose size counts where many tasks are
//! queued: with all parts in it a task of `flood` took twice as long. The others lie in a block of
//! the heap, which a path has from the time when it meets that many functions until its task ends.
//!
//! Without memory for the block the path has only the near parts, and the ticks of the others are
//! in the rest. How many of these a function has is then not known: its floor is all of the rest.

mod stored;

pub use self::stored::{PARTS, Part, REST};

use self::stored::{Far, NEAR, State, Stored};
use crate::sys::memory;
use crate::sys::word::Word;
use std::array;
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::AtomicPtr;

/// Stands for the rest where a part's place is expected.
const REST_PLACE: u8 = PARTS as u8;

/// The parts of a path. Only one thread at a time uses it.
pub struct Parts {
    /// The near parts, in the order in which the path meets the functions. Only the parts in use
    /// were written. (To write all of them for each task would take a tenth of its time.)
    near: [MaybeUninit<Stored>; NEAR],
    state: State,
    /// The length of the path.
    ticks: Word,
    rest_tasks: Cell<u32>,
    /// The place of the part that is stored as a difference: see the essay. `REST_PLACE` if no part
    /// is.
    growing: Cell<u8>,
}

impl Default for Parts {
    #[inline(always)]
    fn default() -> Self {
        Parts {
            near: [const { MaybeUninit::uninit() }; NEAR],
            state: State(AtomicPtr::new(ptr::null_mut())),
            ticks: Word::new(0),
            rest_tasks: Cell::new(0),
            growing: Cell::new(REST_PLACE),
        }
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Parts {
    /// The length of the path.
    #[inline(always)]
    pub fn ticks(&self) -> u64 {
        self.ticks.get()
    }

    /// The path continues for this many ticks.
    #[inline(always)]
    pub fn add(&self, ticks: u64) {
        self.ticks.set(self.ticks.get() + ticks);
    }

    /// From now on the part of this function grows; without memory for the part, the rest grows.
    pub fn grow(&self, function: u32) {
        self.shift_growing(self.ticks());
        self.growing.set(REST_PLACE);
        self.growing.set(self.place_of(function));
        self.shift_growing(self.ticks().wrapping_neg());
    }

    fn shift_growing(&self, ticks: u64) {
        if self.growing.get() != REST_PLACE {
            self.at(self.growing.get()).shift(ticks);
        }
    }

    /// The path goes through one more task, whose ticks are in the part that grows.
    #[inline(always)]
    pub fn add_task(&self) {
        match self.growing.get() {
            REST_PLACE => self.add_rest_tasks(1),
            place => self.at(place).add_task(),
        }
    }

    fn add_rest_tasks(&self, tasks: u32) {
        self.rest_tasks.set(self.rest_tasks.get().saturating_add(tasks));
    }

    /// Frees the path's memory on the heap. Unless all parts were near, they are gone.
    #[inline(always)]
    pub fn clear(&self) {
        if !self.state.is_near() {
            self.free_far();
        }
    }

    #[cold]
    #[inline(never)]
    fn free_far(&self) {
        let far = self.state.far();
        self.state.set_both(0, ptr::null_mut());
        self.growing.set(REST_PLACE);
        // SAFETY: `far_or_made` has made `far` from a box, and nothing leads to it any more.
        drop(unsafe { Box::from_raw(far) });
    }

    fn far(&self) -> Option<&Far> {
        // SAFETY: the `Far` lives until `free_far`, after which the state does not lead to it.
        unsafe { self.state.far().as_ref() }
    }

    fn far_or_made(&self) -> Option<&Far> {
        if self.far().is_none() {
            let zero = || Word::new(0);
            let far = Far {
                parts: array::from_fn(|_| Stored([zero(), zero()])),
                floors: array::from_fn(|_| zero()),
            };
            #[cfg(test)]
            (!tests::NO_MEMORY.get()).then_some(())?;
            let far = Box::into_raw(memory::boxed(far).ok()?);
            let lost = self.rest().ticks;
            self.state.set_both(self.state.used(), far);
            self.far()?.floors.iter().for_each(|floor| floor.set(lost));
        }
        self.far()
    }

    #[inline]
    fn at(&self, place: u8) -> &Stored {
        assert!(place < self.state.used(), "the path has such a part");
        if usize::from(place) < NEAR {
            // SAFETY: the part was written, or the caller writes it now: its words are atomics, of
            // which a reference may be made before their first value is stored.
            return unsafe { &*self.near[usize::from(place)].as_ptr() };
        }
        self.at_far(place)
    }

    #[cold]
    fn at_far(&self, place: u8) -> &Stored {
        // SAFETY: a path with this many parts has a `Far`, which lives until `free_far`.
        unsafe { &(*self.state.far()).parts[usize::from(place) - NEAR] }
    }

    fn part(&self, place: u8) -> Part {
        let part = self.at(place).get();
        let length = if place == self.growing.get() { self.ticks() } else { 0 };
        Part { ticks: part.ticks.wrapping_add(length), ..part }
    }

    fn kept(&self) -> impl Iterator<Item = Part> {
        (0..self.state.used()).map(|place| self.part(place))
    }

    fn rest(&self) -> Part {
        let kept: u64 = self.kept().map(|part| part.ticks).sum();
        Part { ticks: self.ticks() - kept, tasks: self.rest_tasks.get(), ..Part::NO_REST }
    }

    /// The parts; their ticks add up to the path's length. The rest, unless it is empty, is last.
    pub fn all(&self) -> impl Iterator<Item = Part> {
        self.kept().chain(Some(self.rest()).filter(|rest| *rest != Part::NO_REST))
    }

    /// For each part, the most ticks that it lacks; the rest has them. The rest lacks nothing.
    pub fn missing(&self) -> impl Iterator<Item = u64> {
        let floor = |place| if place < self.state.used() { self.floor(place) } else { 0 };
        self.all().zip(0..).map(move |(_, place)| floor(place))
    }

    /// The most ticks of the rest that a function without a part may have.
    pub fn most_without_part(&self) -> u64 {
        self.floor(REST_PLACE - 1)
    }

    fn floor(&self, place: u8) -> u64 {
        self.far().map_or_else(|| self.rest().ticks, |far| far.floors[usize::from(place)].get())
    }

    /// Makes the path equal to the other one. Parts that get no memory go to the rest.
    #[inline(always)]
    pub fn copy(&self, other: &Parts) {
        let (state, own) = (other.state.get(), self.state.get());
        self.ticks.set(other.ticks());
        // A state this small has no bits but the number of parts.
        if state.addr() > NEAR || own.addr() > NEAR {
            return self.copy_far(other);
        }
        self.state.set(state);
        self.rest_tasks.set(other.rest_tasks.get());
        self.growing.set(other.growing.get());
        self.copy_near(other, state.addr());
    }

    /// Copies the first `used` parts of the other path.
    #[inline(always)]
    fn copy_near(&self, other: &Parts, used: usize) {
        for (to, from) in self.near[..used].iter().zip(&other.near[..used]) {
            // SAFETY: that part of the other path was written, and this one is written now: see
            // `at`.
            unsafe { (*to.as_ptr()).copy(&*from.as_ptr()) };
        }
    }

    #[cold]
    #[inline(never)]
    fn copy_far(&self, other: &Parts) {
        if ptr::eq(self, other) {
            return;
        }
        if other.state.is_near() {
            self.clear();
        }
        self.state.set_both(0, self.state.far());
        self.growing.set(REST_PLACE);
        let far = other.far().and_then(|from| self.far_or_made().map(|to| (to, from)));
        let (used, near) = (other.state.used(), other.state.used().min(NEAR as u8));
        let kept = if far.is_some() { used } else { near };
        self.state.set_both(kept, self.state.far());
        self.rest_tasks.set(other.rest_tasks.get());
        self.copy_near(other, usize::from(near));
        if let Some((to, from)) = far {
            to.parts.iter().zip(&from.parts).for_each(|(to, from)| to.copy(from));
            to.floors.iter().zip(&from.floors).for_each(|(to, from)| to.set(from.get()));
        }
        (kept..used).for_each(|lost| self.add_rest_tasks(other.part(lost).tasks));
        let growing = other.growing.get();
        self.growing.set(if growing < kept { growing } else { REST_PLACE });
    }

    /// The place of the function's part. Called while no part grows.
    fn place_of(&self, function: u32) -> u8 {
        let used = self.state.used();
        if let Some(known) = (0..used).find(|&at| self.at(at).get().function == function) {
            return known;
        }
        if usize::from(used) >= NEAR {
            return self.place_far(function);
        }
        self.append(function)
    }

    /// Adds a part, for which there is room.
    fn append(&self, function: u32) -> u8 {
        let used = self.state.used();
        self.state.set_both(used + 1, self.state.far());
        self.at(used).set(Part { function, ..Part::default() });
        used
    }

    #[cold]
    #[inline(never)]
    fn place_far(&self, function: u32) -> u8 {
        match self.far_or_made() {
            None => REST_PLACE,
            Some(_) if usize::from(self.state.used()) < PARTS => self.append(function),
            Some(far) => self.replace(function, far),
        }
    }

    /// Gives the function the place of the part with the least key. All parts are in use.
    fn replace(&self, function: u32, far: &Far) -> u8 {
        const LAST: u8 = PARTS as u8 - 1;
        let floor = |at: u8| &far.floors[usize::from(at)];
        let key = |at: u8| self.part(at).ticks + floor(at).get();
        let least = (0..=LAST).min_by_key(|&at| key(at)).unwrap_or(LAST);
        let least_key = key(least);
        self.add_rest_tasks(self.part(least).tasks);
        for at in least..LAST {
            self.at(at).copy(self.at(at + 1));
            floor(at).set(floor(at + 1).get());
        }
        self.at(LAST).set(Part { function, ..Part::default() });
        floor(LAST).set(least_key);
        LAST
    }
}

#[cfg(test)]
mod tests;
