//! The scheduler of the recorder: a stack of tasks, and one thread.
//!
//! In a run without stamps it does as little as the library's kind `steal` on one worker, and much
//! the same: the time that such a run takes is the floor of all predictions, and what differs little
//! is told apart best. So the stack has two words for a task, and a join jumps to the task's
//! function. What stamps need has memory of its own.

use std::ffi::{OsString, c_int, c_void};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, Ordering};

use sched_dag::Op;
use sched_dag::tape::{self, MOST};

use crate::clock::{Moment, Tape, ticks_of_a_stamp};
use crate::refuse;

/// The C side's `taskfunc`, not NULL.
pub type TaskFn = unsafe extern "C" fn(*mut c_void, *mut Serial);

/// The C side's `sched_task`.
#[repr(C)]
pub struct Descriptor {
    /// The function's address, or `OVER`.
    state: usize,
    closure: *mut c_void,
    /// While there are stamps.
    number: usize,
    unused: usize,
}

/// The state of a descriptor whose task has run out of the stack.
const OVER: usize = 1;

/// The C side's `sched_group`.
#[repr(C)]
pub struct Group {
    /// Tasks that have not ended.
    pending: usize,
    /// 0: nothing was added since the last wait.
    number: usize,
    cancelled: usize,
}

/// A task, or a function of ours and who waits for the task: `forked` and its descriptor, `member`
/// and its group.
#[derive(Clone, Copy)]
struct Entry {
    f: TaskFn,
    closure: *mut c_void,
}

impl Entry {
    fn forked(t: *mut Descriptor) -> Entry {
        Entry { f: forked, closure: t.cast() }
    }

    fn member(g: *mut Group) -> Entry {
        Entry { f: member, closure: g.cast() }
    }

    #[inline(always)]
    fn is(self, other: Entry) -> bool {
        self.f as usize == other.f as usize && self.closure == other.closure
    }
}

/// What belongs to the entry of the same place.
#[derive(Clone, Copy)]
struct Beside {
    /// Of a member.
    task: Option<Entry>,
    /// While there are stamps.
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
    beside: Vec<Beside>,
    tape: Tape,
    tasks: u32,
    groups: u32,
    /// Blocking sections that the running task is in, one within the other.
    sections: u32,
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

/// The run that goes on; or null.
static CURRENT: AtomicPtr<Serial> = AtomicPtr::new(ptr::null_mut());

/// The run that goes on, if there is one.
pub fn current() -> Option<*mut Serial> {
    Some(CURRENT.load(Ordering::Relaxed)).filter(|s| !s.is_null())
}

static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

impl Kept {
    fn open(path: OsString) -> std::io::Result<Kept> {
        let mut file = BufWriter::new(File::create(path)?);
        tape::write_head(&mut file, ticks_of_a_stamp())?;
        Ok(Kept { serial: Box::new(Serial::new()), file, runs: 0 })
    }

    fn run(&mut self, f: TaskFn, closure: *mut c_void) -> std::io::Result<()> {
        // The first with stamps: it may be the only one. A run after one with stamps finds the caches
        // full of the tape: so two without.
        let stamped = self.runs.is_multiple_of(3);
        self.runs += 1;
        let s = &raw mut *self.serial;
        let start = Moment::now();
        CURRENT.store(s, Ordering::Relaxed);
        // SAFETY: the box is ours until this returns, and used by this thread only.
        unsafe { Serial::run(s, f, closure, stamped) };
        CURRENT.store(ptr::null_mut(), Ordering::Relaxed);
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

    /// How many tasks are on the stack; of a task just taken, the place it had.
    fn count(&mut self) -> usize {
        // SAFETY: both are of the places.
        unsafe { self.top.offset_from(self.first()) as usize }
    }

    /// The tasks on the stack, the latest last.
    fn queued(&mut self) -> &mut [Entry] {
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
            (serial.stamped, serial.tasks, serial.groups, serial.sections) = (stamped, 0, 0, 0);
            serial.number_next();
            serial.push(Entry { f, closure });
        }
        // SAFETY: passed on; each reference ends before the next task begins.
        while let Some(entry) = unsafe { (*s).take() } {
            // SAFETY: passed on.
            unsafe { Serial::call(s, entry) };
        }
    }

    /// Runs a task that was taken from the stack just now.
    ///
    /// # Safety
    /// As for `run`.
    #[inline(always)]
    unsafe fn call(s: *mut Serial, entry: Entry) {
        // SAFETY: passed on; no reference to `s` lives while a task runs.
        unsafe {
            if (*s).stamped {
                Serial::call_stamped(s, entry);
            } else {
                (entry.f)(entry.closure, s);
            }
        }
    }

    /// # Safety
    /// As for `call`.
    #[cold]
    #[inline(never)]
    unsafe fn call_stamped(s: *mut Serial, entry: Entry) {
        // SAFETY: passed on; no reference to `s` lives while a task runs.
        unsafe {
            let serial = &mut *s;
            let place = serial.count();
            serial.tape.stamp(Op::Begin(serial.beside[place].number));
            let of_waiter = std::mem::take(&mut serial.sections);
            (entry.f)(entry.closure, s);
            let of_task = std::mem::replace(&mut (*s).sections, of_waiter);
            if of_task > 0 {
                refuse("a task has ended in a blocking section");
            }
            (*s).tape.stamp(Op::End);
        }
    }

    /// While there are stamps: the next task on the stack has the next number, which is returned.
    #[inline]
    fn number_next(&mut self) -> u32 {
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
    fn push(&mut self, entry: Entry) {
        if self.top == self.end {
            return self.push_growing(entry);
        }
        // SAFETY: below the end, so a place of ours.
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
    fn take(&mut self) -> Option<Entry> {
        if self.top == self.first() {
            return None;
        }
        // SAFETY: above the first place, so the one below is filled.
        unsafe {
            self.top = self.top.sub(1);
            Some(self.top.read())
        }
    }

    /// Takes the latest task, if it is this one.
    #[inline(always)]
    fn take_this(&mut self, entry: Entry) -> bool {
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
    fn raise(&mut self, entry: Entry) -> bool {
        let queued = self.queued();
        let Some(at) = queued.iter().rposition(|queued| queued.is(entry)) else { return false };
        queued[at..].rotate_left(1);
        let count = queued.len();
        self.beside[at..count].rotate_left(1);
        true
    }

    #[inline(always)]
    pub fn spawn(&mut self, f: TaskFn, closure: *mut c_void) -> c_int {
        if self.stamped {
            return self.spawn_stamped(f, closure);
        }
        self.push(Entry { f, closure });
        0
    }

    #[cold]
    #[inline(never)]
    fn spawn_stamped(&mut self, f: TaskFn, closure: *mut c_void) -> c_int {
        self.number_next();
        self.push(Entry { f, closure });
        self.tape.stamp(Op::Spawn { group: None });
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
    #[inline(always)]
    pub unsafe fn fork(&mut self, t: *mut Descriptor, f: TaskFn, closure: *mut c_void) {
        // SAFETY: by the caller's promise.
        unsafe {
            (*t).state = f as usize;
            (*t).closure = closure;
            if self.stamped {
                return self.fork_stamped(t);
            }
        }
        self.push(Entry::forked(t));
    }

    /// # Safety
    /// As for `fork`, which has begun.
    #[cold]
    #[inline(never)]
    unsafe fn fork_stamped(&mut self, t: *mut Descriptor) {
        let number = self.number_next() as usize;
        // SAFETY: by the caller's promise.
        unsafe { (*t).number = number };
        self.push(Entry::forked(t));
        self.tape.stamp(Op::Fork);
    }

    /// # Safety
    /// As for `run`; `t` was forked.
    #[inline(always)]
    pub unsafe fn join(s: *mut Serial, t: *mut Descriptor) {
        // SAFETY: both are valid, and the reference to the stack ends with its statement; passed on.
        unsafe {
            if (*s).stamped || !(*s).take_this(Entry::forked(t)) {
                return Serial::join_slowly(s, t);
            }
            (*t).call(s); // the descriptor is not used again
        }
    }

    /// # Safety
    /// As for `join`.
    #[cold]
    #[inline(never)]
    unsafe fn join_slowly(s: *mut Serial, t: *mut Descriptor) {
        // SAFETY: both are valid, and no reference to the stack lives while a task runs; passed on.
        unsafe {
            if (*s).stamped {
                (*s).tape.stamp(Op::Join((*t).number as u32));
            }
            if (*t).state == OVER {
                return;
            }
            let entry = Entry::forked(t);
            if !(*s).raise(entry) {
                refuse("sched_join of a task that runs, or was not forked");
            }
            (*s).take_this(entry);
            Serial::call(s, entry);
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
        self.number_next();
        let place = self.count();
        self.beside[place].task = Some(Entry { f, closure });
        self.push(Entry::member(g));
        if self.stamped {
            self.tape.stamp(Op::Spawn { group: Some(group.number as u32) });
        }
    }

    /// True unless the group was cancelled.
    ///
    /// # Safety
    /// As for `run`; the group is valid.
    pub unsafe fn group_wait(s: *mut Serial, g: *mut Group) -> bool {
        // SAFETY: both are valid; no reference lives while a task runs.
        unsafe {
            if (*s).stamped && (*g).number != 0 {
                (*s).tape.stamp(Op::Wait((*g).number as u32));
            }
            let entry = Entry::member(g);
            let waits = || (*g).pending > 0; // until the tasks that are called here have ended
            while waits() {
                if !(*s).raise(entry) {
                    refuse("sched_group_wait in a task of the group");
                }
                (*s).take_this(entry);
                Serial::call(s, entry);
            }
            (*g).number = 0;
            std::mem::replace(&mut (*g).cancelled, 0) == 0
        }
    }

    /// Of sections within each other the outermost counts.
    pub fn block_begin(&mut self) {
        self.sections += 1;
        if self.stamped && self.sections == 1 {
            self.tape.stamp(Op::Block);
        }
    }

    /// False: the task is in no section.
    pub fn block_end(&mut self) -> bool {
        let Some(left) = self.sections.checked_sub(1) else { return false };
        self.sections = left;
        if self.stamped && left == 0 {
            self.tape.stamp(Op::Unblock);
        }
        true
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

impl Descriptor {
    /// # Safety
    /// It was forked, and has not begun; as for `Serial::run`.
    #[inline(always)]
    unsafe fn call(&self, s: *mut Serial) {
        // SAFETY: forked, so it is a function; the rest is passed on.
        unsafe { std::mem::transmute::<usize, TaskFn>(self.state)(self.closure, s) };
    }
}

/// A forked task that is run out of the stack.
unsafe extern "C" fn forked(closure: *mut c_void, s: *mut Serial) {
    let t: *mut Descriptor = closure.cast();
    // SAFETY: a descriptor lives until it is joined, which this is part of, or comes later.
    unsafe {
        (*t).call(s);
        (*t).state = OVER;
    }
}

/// A task of a group, which was taken from the stack just now.
unsafe extern "C" fn member(closure: *mut c_void, s: *mut Serial) {
    let g: *mut Group = closure.cast();
    // SAFETY: a group outlives its tasks; no reference to `s` lives while a task runs.
    unsafe {
        let place = (*s).count();
        let task = (&raw mut (*s).beside).as_mut().and_then(|beside| beside[place].task);
        if let Some(task) = task.filter(|_| (*g).cancelled == 0) {
            (task.f)(task.closure, s);
        }
        (*g).pending -= 1;
    }
}

#[cfg(test)]
mod tests;
