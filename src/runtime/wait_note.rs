//! A note in a fiber of what its task waits for, for an observer on another thread (`inspect`).
//!
//! The note costs a wait four stores to the fiber's own record, which the wait uses anyway. An
//! observer may read a note while it changes:
//! ```text
//! the task      begin: latch, object -> registers in the latch, is suspended ... continues
//!               end:   object = 0, count + 1
//! the observer  reads count, object, latch; reads the latch's word, and from it the context;
//!               reads the stack; reads the latch's word and count again
//! ```
//! A wake-up changes the latch's word before it queues the task (`sync::node`, `sync::forked`). So
//! if word and count are the same at both readings, the task was suspended all the time, and the
//! observer has read a stack that did not change. Otherwise it discards what it has read. It reads
//! with [`sys::peek`](crate::sys::peek), since the latch and the stack may be gone by then.

use crate::sys::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::sys::peek;
use std::ffi::c_int;
use std::mem::offset_of;
use std::ptr;

/// The kinds of objects that tasks wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Object {
    /// No object: the task sleeps. The address is the address of its `deadline::Entry`.
    Sleep = 0,
    /// A `sync::mutex::Mutex`.
    Mutex = 1,
    /// A `sync::cond::Waiting`.
    Cond,
    /// A `sync::sem::Sem`.
    Sem,
    /// A `sync::barrier::Barrier`.
    Barrier,
    /// A `sync::forked::Forked`.
    Forked,
    /// A `sync::members::Members`.
    Group,
    /// An `api::channel::Channel`.
    Channel,
    /// An event of `api::dag`: see `WaitsFor::event`.
    Event,
    /// A descriptor: its number and its awaited events. See `WaitsFor::descriptor`.
    Descriptor,
}

/// The bits that hold the kind, in an address that is aligned to 8.
const KIND: usize = 7;

/// The bit of a word that holds a descriptor: the descriptor in the bits from 16 on, and its
/// awaited events, as poll(2) writes them, in the lower bits. No address of a program has the bit.
const DESCRIPTOR: usize = 1 << 63;

/// The bit of a word with the address of an event. No address of a program has the bit.
const EVENT: usize = 1 << 62;

/// An object and its kind, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitsFor(usize);

impl WaitsFor {
    #[inline(always)]
    pub fn new<T>(kind: Object, object: *const T) -> Self {
        WaitsFor(object.addr() + kind as usize)
    }

    /// `fd` is not negative.
    pub fn descriptor(fd: c_int, events: u16) -> Self {
        WaitsFor(DESCRIPTOR | ((fd as usize) << 16) | usize::from(events))
    }

    pub fn event<T>(event: *const T) -> Self {
        WaitsFor(EVENT | event.addr())
    }

    pub fn object(self) -> (Object, usize) {
        if self.0 & DESCRIPTOR != 0 {
            return (Object::Descriptor, self.0 & !DESCRIPTOR);
        }
        if self.0 & EVENT != 0 {
            return (Object::Event, self.0 & !EVENT);
        }
        let kind = match self.0 & KIND {
            0 => Object::Sleep,
            1 => Object::Mutex,
            2 => Object::Cond,
            3 => Object::Sem,
            4 => Object::Barrier,
            5 => Object::Forked,
            6 => Object::Group,
            _ => Object::Channel,
        };
        (kind, self.0 & !KIND)
    }
}

/// The note of a fiber. Written by the thread that is on the fiber; read by any thread.
pub struct WaitNote {
    /// A [`WaitsFor`]; 0: the task does not wait.
    object: AtomicUsize,
    /// The word through which the task is woken.
    latch: AtomicPtr<AtomicUsize>,
    /// How many waits have ended.
    count: AtomicUsize,
}

/// The data that an observer has read of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noted {
    pub waits_for: WaitsFor,
    pub latch: *const AtomicUsize,
    count: usize,
}

impl WaitNote {
    /// The fields that a debugger reads, their offsets, and the bits of `object`.
    pub const FOR_DEBUGGER: [(&str, usize); 13] = [
        ("wait.object", offset_of!(WaitNote, object)),
        ("wait.latch", offset_of!(WaitNote, latch)),
        ("wait.kind", KIND),
        ("object mutex", Object::Mutex as usize),
        ("object condition", Object::Cond as usize),
        ("object semaphore", Object::Sem as usize),
        ("object barrier", Object::Barrier as usize),
        ("object join", Object::Forked as usize),
        ("object group", Object::Group as usize),
        ("object channel", Object::Channel as usize),
        ("object sleep", Object::Sleep as usize),
        ("wait.descriptor", DESCRIPTOR),
        ("wait.event", EVENT),
    ];

    pub const fn none() -> Self {
        WaitNote {
            object: AtomicUsize::new(0),
            latch: AtomicPtr::new(ptr::null_mut()),
            count: AtomicUsize::new(0),
        }
    }

    #[inline(always)]
    pub fn begin(&self, object: WaitsFor, latch: *const AtomicUsize) {
        self.latch.store(latch.cast_mut(), Ordering::Relaxed);
        // Release: pairs with the Acquire in `read`, so that the latch belongs to the object.
        self.object.store(object.0, Ordering::Release);
    }

    #[inline(always)]
    pub fn end(&self) {
        self.object.store(0, Ordering::Relaxed);
        self.count.store(self.count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Calls `work`, which runs other tasks on top of the task here. Restores the note afterwards,
    /// since these tasks note their own waits.
    pub fn keep(&self, work: impl FnOnce()) {
        let before = self.read();
        work();
        if let Some(Noted { waits_for, latch, .. }) = before {
            self.begin(waits_for, latch);
        }
    }

    /// The note, if the task waits.
    pub fn read(&self) -> Option<Noted> {
        let count = self.count.load(Ordering::Acquire);
        let object = self.object.load(Ordering::Acquire);
        let latch = self.latch.load(Ordering::Relaxed);
        (object != 0).then_some(Noted { waits_for: WaitsFor(object), latch, count })
    }

    /// Like `read`, for a note at an address that may be gone.
    pub fn peek(at: usize) -> Option<Noted> {
        let word = |offset| peek::word(at.wrapping_add(offset));
        let count = word(offset_of!(WaitNote, count))?;
        let object = word(offset_of!(WaitNote, object)).filter(|object| *object != 0)?;
        let latch = ptr::with_exposed_provenance(word(offset_of!(WaitNote, latch))?);
        Some(Noted { waits_for: WaitsFor(object), latch, count })
    }

    /// Clears the note in the child of a fork, which does not have the task.
    pub fn forget(&self) {
        if self.object.load(Ordering::Relaxed) != 0 {
            self.object.store(0, Ordering::Relaxed);
        }
    }
}
