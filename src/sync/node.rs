//! The node of a waiter. [`super::list`] has the lists of nodes.
//!
//! A task that must wait has a [`Node`] on its own stack. It links the node into the mutex,
//! semaphore or other object, and waits until the node is *granted*. Nothing is allocated. When the
//! node of a semaphore, a barrier or a condition's waiter is granted, the event that the task
//! awaits has happened. A waiter of a mutex competes with newcomers after the grant
//! ([`super::mutex`]). If it loses, its node waits again (`begin_again`).
//!
//! ```text
//! word   0        waits, and has not left its name
//!        a name   waits, and is woken by this name (never 0 nor 1); a name with the bit `LASTING`
//!                 stays until the grant
//!        1        granted
//!        3        expired: the clock has ended the wait, and nobody has granted the node
//! next   the next node in the list; a thread that unlinks the node reads it before it grants
//! ```
//! A task that can leave its stack leaves it first. Then, on another stack, its worker writes the
//! node with the task's name and links the node. From then on the task is ready to be woken. If the
//! object is available by then, the node is not linked, and the task continues.
//!
//! A task that cannot leave its stack, or waits for a condition or a barrier, links the node first.
//! When it is ready to be woken, it leaves its name by a compare-and-swap. If the compare-and-swap
//! finds 1, the node has been granted already, and the task continues.
//!
//! To grant, a thread swaps 1 into the word, and wakes the task that the old value names. The swap
//! is the thread's last access to the node, since a granted node may be gone. A name with the bit
//! `LASTING` belongs to a suspended task, which does nothing until it is resumed; only the granter
//! changes the word. So the granter reads the name and writes 1, which costs less than the swap.
//!
//! # Deadlines
//!
//! A wait with a deadline has a node whose name has no bit `LASTING`. When the deadline has come,
//! another thread *expires* the node: it replaces 0 or the name by 3, and wakes the task of that
//! name. If the node was granted before, nothing happens. A granter that finds 3 wakes nobody. The
//! waiter then takes its node out of the list under the list's lock. If the node is not in the list
//! any more, a granter has unlinked it, and so the wait has succeeded: the waiter makes the node
//! wait again (`revive`), without a deadline, and gets the grant. So exactly one of the two ends
//! the wait, and no grant is lost.
//!
//! A node with a deadline stores its predecessor, so that it can be unlinked from the middle of its
//! list. Other nodes store none. A list with nodes of both kinds has functions of its own
//! ([`super::list`]).
//!
//! # The bad interleavings
//!
//! *The lost wake-up.* A task sees the mutex locked, the holder unlocks it and finds nobody to
//! wake, and then the task links its node. This is excluded: in each file one atomic operation, or
//! one lock, both decides whether to wait and publishes the node.
//!
//! *Woken before it waits.* The grant comes between the linking and the leaving of the name. Then
//! the swap finds 0 and names nobody, and the compare-and-swap finds 1.
//!
//! *Freed under the waker.* A task that gets a mutex, or passes a semaphore, may free the object at
//! once. So the thread that lets it continue does not touch the object afterwards: it unlinks,
//! unlocks the list, and grants last. glibc's semaphore had this bug (12674) until 2.21.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `leave_name`: exchange | Release | `grant`: the task is ready to be woken |
//! | `leave_name`: load, failed exchange | Acquire | `grant`: the caller continues at once |
//! | `grant`: load of a lasting name | Acquire | `leave_name`, or the lock under which the node was linked |
//! | `grant`: store over a lasting name | Release | `is_granted` |
//! | `grant`: swap | AcqRel | `leave_name`, `is_granted` |
//! | `is_granted`: load | Acquire | `grant` |
//! | `expire`: exchange | AcqRel | `leave_name`: the task is ready; `has_ended` |
//! | `has_ended`: load | Acquire | `expire`, `grant` |
//! | `grant_unless_expired`: exchange | AcqRel | as `grant`: swap |
//! | `revive`: exchange | Relaxed; Acquire if it fails | `grant` |
//! | `begin_again`: store | Relaxed | none: the waiter then makes the node known by another word |
//! | `next` | none | the node belongs to one thread at a time: its waiter, or its unlinker |
//! | `leaves`, `previous` | none | the lock of the list |

use crate::lock::handover::Link;
use crate::sys::atomic::{AtomicUsize, MODEL, Ordering, UnsafeCell};
use crate::sys::time;
use std::mem::MaybeUninit;
use std::ptr;

const WAITING: usize = 0;
const GRANTED: usize = 1;
const EXPIRED: usize = 3;

/// How often the oldest waiter of a mutex may be overtaken: see `sync::mutex`.
/// At least 2: then a model also frees the lock a second time before its oldest waiter has run.
pub const PATIENCE: u32 = if MODEL { 2 } else { 4096 };
/// The number of nanoseconds for which the oldest waiter may be overtaken; at most a little more
/// than twice that.
const PATIENT_FOR: u64 = 500_000;

/// The bit in a name that stays until the node is granted.
pub const LASTING: usize = 4;

/// A waiter's node; it lives on the waiter's own stack until it is granted.
#[repr(C)]
pub struct Node {
    word: AtomicUsize,
    next: UnsafeCell<*const Node>,
    /// How often the waiter of a mutex was overtaken.
    overtaken: UnsafeCell<u32>,
    /// (It has its own cell because the waiter of a condition reads it while the holder of the
    /// mutex counts.)
    leaves: UnsafeCell<Leaves>,
    /// For a mutex's waiter, the time of the first overtaking in nanoseconds, valid if `overtaken`
    /// is not 0. For a channel's waiter, the address of its element, or 0 after the copy.
    datum: UnsafeCell<u64>,
    /// The predecessor of a node with a deadline, valid while it is in the middle of a list.
    previous: UnsafeCell<MaybeUninit<*const Node>>,
}

/// Tells whether a node has a deadline, with which it can leave the middle of a list. Used under
/// the list's lock.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(u32)] // so that one store writes it together with `Node::overtaken`
pub(super) enum Leaves {
    #[default]
    Never,
    /// The node has a deadline and is in a list.
    Linked,
    Unlinked,
}

/// The node has expired.
#[derive(Debug)]
pub struct Expired;

impl Default for Node {
    fn default() -> Self {
        Node::new(WAITING)
    }
}

impl Node {
    #[inline]
    fn new(word: usize) -> Self {
        Node {
            word: AtomicUsize::new(word),
            next: UnsafeCell::new(ptr::null()),
            overtaken: UnsafeCell::new(0),
            leaves: UnsafeCell::new(Leaves::Never),
            datum: UnsafeCell::new(0),
            previous: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// The node of a task that is ready to be woken, by this name.
    #[inline]
    pub fn named(name: usize) -> Self {
        Node::new(name)
    }

    /// The node of a waiter of a mutex that is never overtaken.
    pub fn never_overtaken(name: usize) -> Self {
        Node { overtaken: UnsafeCell::new(PATIENCE), ..Node::new(name) }
    }

    /// Writes the word of a node that is not made yet: it waits, and has not left its name. It
    /// serves an observer, which may read the word before the node is made.
    ///
    /// # Safety
    /// There is room for a node.
    #[inline(always)]
    pub unsafe fn begin(this: *mut Node) -> *const AtomicUsize {
        // SAFETY: there is room for a node.
        unsafe {
            let word = &raw mut (*this).word;
            word.write(AtomicUsize::new(WAITING));
            word
        }
    }

    pub fn word(&self) -> &AtomicUsize {
        &self.word
    }

    pub fn is_granted(&self) -> bool {
        self.word.load(Ordering::Acquire) == GRANTED // pairs with `grant`
    }

    /// True if the node was granted or has expired.
    pub fn has_ended(&self) -> bool {
        matches!(self.word.load(Ordering::Acquire), GRANTED | EXPIRED) // pairs with both
    }

    /// Ends the wait, unless the node was granted. Returns the name of the task to wake, or 0; None
    /// if the node was granted. The name has no bit `LASTING`.
    ///
    /// # Safety
    /// The node exists during the call, and nobody else expires it.
    pub unsafe fn expire(this: *const Node) -> Option<usize> {
        // SAFETY: the node exists during the call.
        let word = unsafe { &(*this).word };
        let mut name = word.load(Ordering::Relaxed); // the exchange fails if this is stale
        while name != GRANTED {
            debug_assert!(name & LASTING == 0);
            // Acquire: pairs with `leave_name`; the named task is ready to be woken.
            match word.compare_exchange(name, EXPIRED, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(name),
                Err(now) => name = now,
            }
        }
        None
    }

    /// Like `grant`, if the node has not expired. Fails if it has expired; its waiter is then about
    /// to leave.
    ///
    /// # Safety
    /// The contract of `grant`.
    pub unsafe fn grant_unless_expired(this: *const Node) -> Result<Option<usize>, Expired> {
        // SAFETY: the node was taken out of its list, and is not granted yet.
        let word = unsafe { &(*this).word };
        let mut name = word.load(Ordering::Relaxed); // the exchange fails if this is stale
        while name != EXPIRED {
            // As in `grant`.
            match word.compare_exchange(name, GRANTED, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Ok((name != WAITING).then_some(name)),
                Err(now) => name = now,
            }
        }
        Err(Expired)
    }

    /// Makes an expired node wait again, without a name and a deadline. False if it was granted
    /// since it expired.
    pub fn revive(&self) -> bool {
        let (relaxed, acquire) = (Ordering::Relaxed, Ordering::Acquire); // pairs with `grant`
        self.word.compare_exchange(EXPIRED, WAITING, relaxed, acquire).is_ok()
    }

    /// Sets the name by which the caller is woken. False if the node has been granted, or has
    /// expired.
    pub fn leave_name(&self, name: usize) -> bool {
        // Acquire: pairs with `grant`; a caller that finds its node granted continues.
        let mut word = self.word.load(Ordering::Acquire);
        while word != GRANTED && word != EXPIRED {
            // Release: pairs with the Acquire in `grant`; the named task is ready to be woken.
            // Acquire: pairs with the Release in `grant`.
            match self.word.compare_exchange(word, name, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Makes the node of a granted waiter wait again, without a name.
    pub fn begin_again(&self) {
        self.word.store(WAITING, Ordering::Relaxed); // published by the caller's next step
    }

    /// Grants the node, which may be gone afterwards. Returns the name of the task to wake, if any.
    ///
    /// # Safety
    /// The caller has unlinked the node, and it is not granted yet.
    #[inline]
    pub unsafe fn grant(this: *const Node) -> Option<usize> {
        // SAFETY: the node lives until it is granted, which is below.
        let word = unsafe { &(*this).word };
        // Acquire, here and below: pairs with `leave_name`. Release: pairs with `is_granted`.
        let name = word.load(Ordering::Acquire);
        if name & LASTING != 0 {
            word.store(GRANTED, Ordering::Release);
            return Some(name);
        }
        let name = word.swap(GRANTED, Ordering::AcqRel);
        (name != WAITING && name != EXPIRED).then_some(name)
    }
}

// SAFETY: the node has one link, and holds a word.
unsafe impl Link for Node {
    unsafe fn next(this: *const Node) -> *const Node {
        // SAFETY: the node is not granted yet, and `next` is the caller's.
        unsafe { (*this).next.with(|next| *next) }
    }

    unsafe fn set_next(this: *const Node, to: *const Node) {
        // SAFETY: the node is not granted yet, and `next` is the caller's.
        unsafe { (*this).next.with_mut(|next| *next = to) }
    }

    unsafe fn is_overtaken(this: *const Node) -> bool {
        // SAFETY: the caller is the holder, to whom the count and the time belong.
        unsafe {
            let (overtaken, datum) = (&(*this).overtaken, &(*this).datum);
            overtaken.with_mut(|times| datum.with_mut(|since| once_more(&mut *times, &mut *since)))
        }
    }
}

/// True if the waiter remains patient; counts one more overtaking in that case.
fn once_more(times: &mut u32, since: &mut u64) -> bool {
    let is_patient = *times < PATIENCE && !takes_long(*times, since);
    *times += u32::from(is_patient);
    is_patient
}

/// True if the waiter has been overtaken for too long. Reads the clock only if the count is 0 or a
/// power of two.
fn takes_long(times: u32, since: &mut u64) -> bool {
    if MODEL {
        return false;
    }
    if times == 0 {
        *since = time::nanos();
    }
    times.is_power_of_two() && time::nanos() - *since > PATIENT_FOR
}

/// For the lists of a channel.
impl Node {
    /// The address of the waiter's element; 0 if it was copied.
    ///
    /// # Safety
    /// The node exists. The caller has locked the list, or the node is its own and in no list.
    #[inline]
    pub unsafe fn element(this: *const Node) -> usize {
        // SAFETY: the node exists, and its list is locked or it is the caller's own.
        unsafe { (*this).datum.with(|datum| *datum as usize) }
    }

    /// # Safety
    /// The contract of `element`.
    #[inline]
    pub unsafe fn set_element(this: *const Node, address: usize) {
        // SAFETY: the node exists, and its list is locked or it is the caller's own.
        unsafe { (*this).datum.with_mut(|datum| *datum = address as u64) };
    }
}

/// For lists in which nodes may have a deadline. The list is locked during each call.
impl Node {
    /// The predecessor of a node that may leave and is not the first.
    pub(super) unsafe fn previous(this: *const Node) -> *const Node {
        // SAFETY: the caller has locked the list, and has set the predecessor.
        unsafe { (*this).previous.with(|previous| (*previous).assume_init()) }
    }

    pub(super) unsafe fn set_previous(this: *const Node, to: *const Node) {
        // SAFETY: the caller has locked the list.
        unsafe { (*this).previous.with_mut(|previous| _ = (*previous).write(to)) };
    }

    pub(super) unsafe fn leaves(this: *const Node) -> Leaves {
        // SAFETY: the caller has locked the list.
        unsafe { (*this).leaves.with(|leaves| *leaves) }
    }

    pub(super) unsafe fn set_leaves(this: *const Node, leaves: Leaves) {
        // SAFETY: the caller has locked the list.
        unsafe { (*this).leaves.with_mut(|place| *place = leaves) };
    }

    /// The node was taken out.
    pub(super) unsafe fn note_unlinked(this: *const Node) {
        // SAFETY: the caller has locked the list.
        unsafe {
            if Node::leaves(this) == Leaves::Linked {
                Node::set_leaves(this, Leaves::Unlinked);
            }
        }
    }
}
