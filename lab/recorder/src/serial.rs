//! The scheduler of the recorder: a stack of tasks, and one thread.
//!
//! A run without stamps does nearly the same as the library's kind `steal` on one worker, and no
//! more, because its time is the floor of all predictions. So the stack has two words for a task
//! ([`crate::stack`]), and a join jumps to the task's function.

use std::ffi::{c_int, c_void};
use std::ptr;

use sched_dag::Op;

use crate::refuse;
use crate::stack::{Descriptor, Entry, Group, OVER, Serial, TaskFn};

impl Entry {
    /// The entry of a forked task.
    fn forked(t: *mut Descriptor) -> Entry {
        Entry { f: forked, closure: t.cast() }
    }

    /// The entry of a task of a group.
    fn member(g: *mut Group) -> Entry {
        Entry { f: member, closure: g.cast() }
    }
}

impl Serial {
    /// # Safety
    /// `s` is valid and used by this thread alone; `f` accepts `closure`, and tasks keep to the
    /// contract of sched.h.
    pub unsafe fn run(s: *mut Serial, f: TaskFn, closure: *mut c_void, stamped: bool) {
        {
            // SAFETY: no task runs yet, so there is no other reference.
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

    /// A copy of `size` bytes, which lives as long as the run and is aligned for any type.
    ///
    /// # Safety
    /// `from` points to `size` bytes.
    pub unsafe fn copy(&mut self, from: *const c_void, size: usize) -> *mut c_void {
        let mut copy = vec![0u128; size.div_ceil(size_of::<u128>())].into_boxed_slice();
        if size > 0 {
            // SAFETY: both have `size` bytes, and the copy is new.
            unsafe { ptr::copy_nonoverlapping(from.cast::<u8>(), copy.as_mut_ptr().cast(), size) };
        }
        let at = copy.as_mut_ptr().cast();
        self.copies.push(copy);
        at
    }

    /// # Safety
    /// The descriptor lives until it has been joined.
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
        // SAFETY: both are valid, and the reference to the stack ends with its statement; passed
        // on.
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
    /// The group lives until it has been waited for.
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
            let waits = || (*g).pending > 0; // changes as the tasks that are called here end
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

    /// Begins a section. Of nested sections only the outermost is recorded.
    pub fn block_begin(&mut self) {
        self.sections += 1;
        if self.stamped && self.sections == 1 {
            self.tape.stamp(Op::Block);
        }
    }

    /// Ends a section; false if the task is in none.
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
    /// The task was forked and has not begun; otherwise as for `Serial::run`.
    #[inline(always)]
    unsafe fn call(&self, s: *mut Serial) {
        // SAFETY: it was forked, so `state` is a function; the rest is the caller's promise.
        unsafe { std::mem::transmute::<usize, TaskFn>(self.state)(self.closure, s) };
    }
}

/// Runs a forked task that was taken from the stack.
unsafe extern "C" fn forked(closure: *mut c_void, s: *mut Serial) {
    let t: *mut Descriptor = closure.cast();
    // SAFETY: a descriptor lives until it has been joined; the join calls this, or comes later.
    unsafe {
        (*t).call(s);
        (*t).state = OVER;
    }
}

/// Runs a task of a group, which was taken from the stack just now.
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
