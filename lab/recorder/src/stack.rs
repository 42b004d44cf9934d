//! The stack of tasks of the recorder's scheduler, and the records that the C side knows.
//!
//! An entry has two words, as in the library. The data for stamps is in separate memory.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

use sched_dag::tape::MOST;

use crate::clock::Tape;
use crate::refuse;

/// The C side's `taskfunc`, not NULL.
pub type TaskFn = unsafe extern "C" fn(*mut c_void, *mut Serial);

/// The C side's `sched_task`.
#[repr(C)]
pub struct Descriptor {
    /// The function's address, or `OVER`.
    pub state: usize,
    pub closure: *mut c_void,
    /// The task's number, in a run with stamps.
    pub number: usize,
    pub unused: usize,
}

/// The state of a descriptor whose task has ended. (A join that calls the task directly does not
/// set it.)
pub const OVER: usize = 1;

/// The C side's `sched_group`.
#[repr(C)]
pub struct Group {
    /// The number of tasks that have not ended.
    pub pending: usize,
    /// The group's number, or 0 if no task was added since the last wait.
    pub number: usize,
    pub cancelled: usize,
}

/// A task on the stack: a function and its argument. For a spawned task, these are its own function
/// and closure; for a forked task, a function of the recorder and the descriptor; for a task of a
/// group, another function of the recorder and the group.
#[derive(Clone, Copy)]
pub struct Entry {
    pub f: TaskFn,
    pub closure: *mut c_void,
}

impl Entry {
    #[inline(always)]
    pub fn is(self, other: Entry) -> bool {
        self.f as usize == other.f as usize && self.closure == other.closure
    }
}

/// Further fields of the entry with the same index on the stack.
#[derive(Clone, Copy)]
pub struct Beside {
    /// The task, if the entry is of a group.
    pub task: Option<Entry>,
    /// The task's number, in a run with stamps.
    pub number: u32,
}

/// The scheduler of a run, which a task gets as its `s`.
///
/// The stack has a pointer to its top and not the length of a vector, because tasks of some
/// nanoseconds would show the difference.
#[repr(C)]
pub struct Serial {
    /// sched_inline.h looks here for the thread that owns a queue of a layout that it knows. There
    /// is none, so that each call comes to the recorder.
    pub quick: usize,
    /// The next free place.
    top: *mut Entry,
    end: *mut Entry,
    places: Vec<MaybeUninit<Entry>>,
    pub stamped: bool,
    pub beside: Vec<Beside>,
    pub tape: Tape,
    pub tasks: u32,
    pub groups: u32,
    /// The number of nested blocking sections that the running task is in.
    pub sections: u32,
    /// The copies made by `sched_spawn_copy`, which live as long as the run.
    pub copies: Vec<Box<[u128]>>,
}

impl Serial {
    pub fn new() -> Serial {
        let mut serial = Serial {
            quick: 0,
            top: ptr::null_mut(),
            end: ptr::null_mut(),
            places: Vec::new(),
            stamped: false,
            beside: Vec::new(),
            tape: Tape::default(),
            tasks: 0,
            groups: 0,
            sections: 0,
            copies: Vec::new(),
        };
        serial.grow();
        serial
    }

    #[inline(always)]
    fn first(&mut self) -> *mut Entry {
        self.places.as_mut_ptr().cast()
    }

    /// The number of tasks on the stack. Just after a task was taken, this is its place.
    pub fn count(&mut self) -> usize {
        // SAFETY: both point into `places`.
        unsafe { self.top.offset_from(self.first()) as usize }
    }

    /// The tasks on the stack, the latest last.
    pub fn queued(&mut self) -> &mut [Entry] {
        let count = self.count();
        // SAFETY: the places from the first to the top are filled.
        unsafe { std::slice::from_raw_parts_mut(self.first(), count) }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        const LEAST: usize = 1 << 16;
        let used = if self.places.is_empty() { 0 } else { self.count() };
        let room = LEAST.max(2 * used);
        self.places.resize(room, MaybeUninit::uninit());
        self.beside.resize(room, Beside { task: None, number: 0 });
        let places = self.places.as_mut_ptr_range();
        self.end = places.end.cast();
        // SAFETY: there are more than `used` places.
        self.top = unsafe { places.start.add(used) }.cast();
    }

    /// Gives the next task on the stack the next number, and returns it.
    #[inline]
    pub fn number_next(&mut self) -> u32 {
        let (number, place) = (self.tasks, self.count());
        if number >= MOST {
            refuse(format_args!("a recording holds {MOST} tasks at most"));
        }
        if place == self.beside.len() {
            self.grow();
        }
        self.beside[place].number = number;
        self.tasks += 1;
        number
    }

    #[inline(always)]
    pub fn push(&mut self, entry: Entry) {
        if self.top == self.end {
            return self.push_growing(entry);
        }
        // SAFETY: `top` is below `end`, so it is one of the places.
        unsafe {
            self.top.write(entry);
            self.top = self.top.add(1);
        }
    }

    #[cold]
    #[inline(never)]
    fn push_growing(&mut self, entry: Entry) {
        self.grow();
        self.push(entry);
    }

    /// Takes the latest task, if there is one.
    #[inline(always)]
    pub fn take(&mut self) -> Option<Entry> {
        if self.top == self.first() {
            return None;
        }
        // SAFETY: above the first place, so the one below is filled.
        unsafe {
            self.top = self.top.sub(1);
            Some(self.top.read())
        }
    }

    /// Takes the latest task if it is this one.
    #[inline(always)]
    pub fn take_this(&mut self, entry: Entry) -> bool {
        // SAFETY: above the first place, so the one below is filled.
        unsafe {
            let last = self.top.sub(1);
            let found = self.top != self.first() && (*last).is(entry);
            if found {
                self.top = last;
            }
            found
        }
    }

    /// Makes the latest task of this kind the latest of all; false if there is none.
    pub fn raise(&mut self, entry: Entry) -> bool {
        let queued = self.queued();
        let Some(at) = queued.iter().rposition(|queued| queued.is(entry)) else { return false };
        queued[at..].rotate_left(1);
        let count = queued.len();
        self.beside[at..count].rotate_left(1);
        true
    }
}
