//! The scheduler of the recorder: a stack of tasks, and one thread.

use std::ffi::{OsString, c_int, c_void};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Mutex;

use sched_dag::Op;
use sched_dag::tape::{self, MOST};

use crate::clock::{Moment, Tape, ticks_of_a_stamp};
use crate::refuse;

/// The C side's `taskfunc`, not NULL.
pub type TaskFn = unsafe extern "C" fn(*mut c_void, *mut Serial);

/// The C side's `sched_task`.
#[repr(C)]
pub struct Descriptor {
    state: usize,
    closure: *mut c_void,
    f: usize,
    number: usize,
}

// States of a descriptor.
const FORKED: usize = 1;
const OVER: usize = 2;

/// The C side's `sched_group`.
#[repr(C)]
pub struct Group {
    /// Tasks that have not ended.
    pending: usize,
    /// 0: nothing was added since the last wait.
    number: usize,
    cancelled: usize,
}

/// Who waits for a task: nobody, a descriptor, or a group, whose address is then marked.
#[derive(Clone, Copy, PartialEq)]
struct Of(usize);

impl Of {
    const NOBODY: Of = Of(0);
    const GROUP: usize = 1;

    fn fork(t: *mut Descriptor) -> Of {
        Of(t as usize)
    }

    fn group(g: *mut Group) -> Of {
        Of(g as usize | Of::GROUP)
    }

    fn as_group(self) -> Option<*mut Group> {
        (self.0 & Of::GROUP != 0).then_some((self.0 & !Of::GROUP) as *mut Group)
    }

    fn as_fork(self) -> Option<*mut Descriptor> {
        (self.0 != 0 && self.0 & Of::GROUP == 0).then_some(self.0 as *mut Descriptor)
    }
}

#[derive(Clone, Copy)]
struct Entry {
    f: TaskFn,
    closure: *mut c_void,
    of: Of,
    /// While there are stamps; else 0.
    number: u32,
}

/// What a task gets as its `s`.
///
/// The stack is a row of places by hand: a task of some nanoseconds would notice a vector.
#[repr(C)]
pub struct Serial {
    /// Where sched_inline.h looks for the pointer of the thread that owns a queue it knows: none, so
    /// that each call comes to us.
    quick: usize,
    /// The next free place.
    top: *mut Entry,
    end: *mut Entry,
    places: Vec<MaybeUninit<Entry>>,
    stamped: bool,
    tape: Tape,
    tasks: u32,
    groups: u32,
    /// Copies made by `sched_spawn_copy`, for as long as the run.
    copies: Vec<Box<[u128]>>,
}

/// What stays between the runs of a process: its memory is warm.
struct Kept {
    serial: Box<Serial>,
    file: BufWriter<File>,
    runs: u32,
}

// SAFETY: used under the lock, by one run at a time.
unsafe impl Send for Kept {}

static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

impl Kept {
    fn open(path: OsString) -> std::io::Result<Kept> {
        let mut file = BufWriter::new(File::create(path)?);
        tape::write_head(&mut file, ticks_of_a_stamp())?;
        Ok(Kept { serial: Box::new(Serial::new()), file, runs: 0 })
    }

    fn run(&mut self, f: TaskFn, closure: *mut c_void) -> std::io::Result<()> {
        // The first with stamps: it may be the only one.
        let stamped = self.runs.is_multiple_of(2);
        self.runs += 1;
        let s = &raw mut *self.serial;
        let start = Moment::now();
        // SAFETY: the box is ours until this returns, and used by this thread only.
        unsafe { Serial::run(s, f, closure, stamped) };
        let elapsed = start.elapsed();
        tape::write_run(&mut self.file, elapsed, &self.serial.tape.events)?;
        self.file.flush() // the process may end without any farewell
    }
}

/// A run, whose recording is appended to the file `SCHED_RECORD`.
pub fn run(f: TaskFn, closure: *mut c_void) {
    let Ok(mut kept) = KEPT.try_lock() else {
        refuse("a run within a run, or beside another, cannot be recorded")
    };
    let Some(path) = std::env::var_os("SCHED_RECORD") else {
        refuse("SCHED_RECORD=FILE is to say where the recording goes")
    };
    let written = match &mut *kept {
        Some(kept) => kept.run(f, closure),
        None => Kept::open(path.clone()).and_then(|new| kept.insert(new).run(f, closure)),
    };
    if let Err(error) = written {
        refuse(format_args!("{}: {error}", path.display()));
    }
}

impl Serial {
    pub fn new() -> Serial {
        let mut serial = Serial {
            quick: 0,
            top: ptr::null_mut(),
            end: ptr::null_mut(),
            places: Vec::new(),
            stamped: false,
            tape: Tape::default(),
            tasks: 0,
            groups: 0,
            copies: Vec::new(),
        };
        serial.grow();
        serial
    }

    /// The tasks on the stack, the latest last.
    fn queued(&mut self) -> &mut [Entry] {
        let first: *mut Entry = self.places.as_mut_ptr().cast();
        // SAFETY: the places from the first to the top are filled.
        unsafe { std::slice::from_raw_parts_mut(first, self.top.offset_from(first) as usize) }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        const LEAST: usize = 1 << 16;
        let used = if self.places.is_empty() { 0 } else { self.queued().len() };
        self.places.resize(LEAST.max(2 * used), MaybeUninit::uninit());
        let places = self.places.as_mut_ptr_range();
        self.end = places.end.cast();
        // SAFETY: there are at least so many.
        self.top = unsafe { places.start.add(used) }.cast();
    }

    /// # Safety
    /// `s` is valid and used by this thread alone; `f` accepts `closure`, and tasks keep to the
    /// contract of sched.h.
    pub unsafe fn run(s: *mut Serial, f: TaskFn, closure: *mut c_void, stamped: bool) {
        {
            // SAFETY: no task runs yet that has another.
            let serial = unsafe { &mut *s };
            debug_assert_eq!(serial.quick, 0);
            serial.copies.clear();
            serial.tape.rewind();
            (serial.stamped, serial.tasks, serial.groups) = (stamped, 0, 0);
            serial.add(f, closure, Of::NOBODY);
        }
        // SAFETY: passed on; each reference ends before the next task begins.
        while let Some(entry) = unsafe { (*s).take_if(|_| true) } {
            // SAFETY: passed on.
            unsafe { Serial::call(s, entry) };
        }
    }

    #[inline]
    fn stamp(&mut self, op: Op) {
        if self.stamped {
            self.tape.stamp(op);
        }
    }

    /// Runs a task that was taken from the stack.
    ///
    /// # Safety
    /// As for `run`.
    #[inline]
    unsafe fn call(s: *mut Serial, entry: Entry) {
        let Entry { f, closure, of, number } = entry;
        let group = of.as_group();
        // SAFETY: `s` is valid, and no task runs while a reference to it lives; a group outlives its
        // tasks; the rest is passed on.
        unsafe {
            (*s).stamp(Op::Begin(number));
            if group.is_none_or(|group| (*group).cancelled == 0) {
                f(closure, s);
            }
            (*s).stamp(Op::End);
            if let Some(t) = of.as_fork() {
                (*t).state = OVER;
            } else if let Some(group) = group {
                (*group).pending -= 1;
            }
        }
    }

    /// Adds a task to the stack; its number.
    #[inline]
    fn add(&mut self, f: TaskFn, closure: *mut c_void, of: Of) -> u32 {
        let mut number = 0;
        if self.stamped {
            number = self.tasks;
            self.tasks += 1;
            if number >= MOST {
                refuse(format_args!("a recording holds {MOST} tasks at most"));
            }
        }
        if self.top == self.end {
            self.grow();
        }
        // SAFETY: below the end, so a place of ours.
        unsafe {
            self.top.write(Entry { f, closure, of, number });
            self.top = self.top.add(1);
        }
        number
    }

    /// Takes the latest task, if there is one and it is as wanted.
    #[inline]
    fn take_if(&mut self, wanted: impl FnOnce(Of) -> bool) -> Option<Entry> {
        if self.top.cast() == self.places.as_mut_ptr() {
            return None;
        }
        // SAFETY: above the first place, so the one below is filled.
        let last = unsafe { self.top.sub(1) };
        // SAFETY: as above.
        if !wanted(unsafe { (*last).of }) {
            return None;
        }
        self.top = last;
        // SAFETY: as above.
        Some(unsafe { last.read() })
    }

    /// Takes the latest task that such a one waits for, from anywhere in the stack.
    fn remove(&mut self, of: Of) -> Option<Entry> {
        let queued = self.queued();
        let at = queued.iter().rposition(|entry| entry.of == of)?;
        queued[at..].rotate_left(1);
        self.take_if(|_| true)
    }

    #[inline]
    pub fn spawn(&mut self, f: TaskFn, closure: *mut c_void) -> c_int {
        self.add(f, closure, Of::NOBODY);
        self.stamp(Op::Spawn { group: None });
        0
    }

    /// A copy of so many bytes, for as long as the run, aligned for any type.
    ///
    /// # Safety
    /// `from` has so many bytes.
    pub unsafe fn copy(&mut self, from: *const c_void, size: usize) -> *mut c_void {
        let mut copy = vec![0u128; size.div_ceil(size_of::<u128>())].into_boxed_slice();
        if size > 0 {
            // SAFETY: both have so many bytes, and the copy is new.
            unsafe { ptr::copy_nonoverlapping(from.cast::<u8>(), copy.as_mut_ptr().cast(), size) };
        }
        let at = copy.as_mut_ptr().cast();
        self.copies.push(copy);
        at
    }

    /// # Safety
    /// The descriptor lives until it is joined.
    #[inline]
    pub unsafe fn fork(&mut self, t: *mut Descriptor, f: TaskFn, closure: *mut c_void) {
        let number = self.add(f, closure, Of::fork(t)) as usize;
        // SAFETY: by the caller's promise.
        unsafe { *t = Descriptor { state: FORKED, closure, f: f as usize, number } };
        self.stamp(Op::Fork);
    }

    /// # Safety
    /// As for `run`; `t` was forked.
    #[inline]
    pub unsafe fn join(s: *mut Serial, t: *mut Descriptor) {
        // SAFETY: both are valid, and the reference to the stack ends with the statement.
        let last = unsafe {
            (*s).stamp(Op::Join((*t).number as u32));
            (*s).take_if(|of| of == Of::fork(t))
        };
        match last {
            // SAFETY: passed on.
            Some(entry) => unsafe { Serial::call(s, entry) },
            // SAFETY: passed on.
            None => unsafe { Serial::join_another(s, t) },
        }
    }

    /// # Safety
    /// As for `join`.
    #[cold]
    unsafe fn join_another(s: *mut Serial, t: *mut Descriptor) {
        // SAFETY: both are valid; no reference lives on.
        let entry = unsafe {
            if (*t).state == OVER {
                return;
            }
            (*s).remove(Of::fork(t))
        };
        match entry {
            // SAFETY: passed on.
            Some(entry) => unsafe { Serial::call(s, entry) },
            None => refuse("sched_join of a task that runs, or was not forked"),
        }
    }

    /// # Safety
    /// The group lives until it was waited for.
    pub unsafe fn group_spawn(&mut self, g: *mut Group, f: TaskFn, closure: *mut c_void) {
        // SAFETY: by the caller's promise.
        let group = unsafe { &mut *g };
        if group.number == 0 {
            self.groups += 1;
            group.number = self.groups as usize;
        }
        group.pending += 1;
        let number = group.number as u32;
        self.add(f, closure, Of::group(g));
        self.stamp(Op::Spawn { group: Some(number) });
    }

    /// True unless the group was cancelled.
    ///
    /// # Safety
    /// As for `run`; the group is valid.
    pub unsafe fn group_wait(s: *mut Serial, g: *mut Group) -> bool {
        // SAFETY: both are valid; no reference lives while a task runs.
        unsafe {
            if (*g).number != 0 {
                (*s).stamp(Op::Wait((*g).number as u32));
            }
            loop {
                if (*g).pending == 0 {
                    break;
                }
                match (*s).remove(Of::group(g)) {
                    Some(entry) => Serial::call(s, entry),
                    None => refuse("sched_group_wait in a task of the group"),
                }
            }
            (*g).number = 0;
            std::mem::replace(&mut (*g).cancelled, 0) == 0
        }
    }

    /// # Safety
    /// The group is valid.
    pub unsafe fn cancel(g: *mut Group) {
        // SAFETY: by the caller's promise.
        unsafe { (*g).cancelled = 1 };
    }

    /// # Safety
    /// The group is valid.
    pub unsafe fn cancelled(g: *const Group) -> bool {
        // SAFETY: by the caller's promise.
        unsafe { (*g).cancelled != 0 }
    }
}

#[cfg(test)]
mod tests;
