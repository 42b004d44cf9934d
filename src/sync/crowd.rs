//! The tasks that wait for a mutex until a deadline.
//!
//! A waiter of a mutex stays in the mutex's line until it has held the mutex: only the holder may
//! take nodes out, and the holder does not when it computes. So a waiter with a deadline is not in
//! that line. The waiters with deadlines of one mutex are its *crowd*, a list of its own, which
//! they may leave at any time. A *delegate* stands in the mutex's line for all of them: a node in
//! the crowd's memory.
//!
//! # Protocol
//!
//! The crowds are in a table, by the address of the mutex; each bucket has a lock. A waiter finds
//! or makes the crowd, joins it, and puts the delegate into the mutex's line if it is not there,
//! all under the lock of the bucket. The delegate is never overtaken, so when its turn comes the
//! unlock hands the mutex over to it. Then the thread that has unlocked *serves* the crowd, as the
//! holder of the mutex: it puts the delegate back into the line if others wait, and grants the
//! oldest waiter that has not expired, which is the holder from then on. If there is none, it
//! unlocks the mutex. A crowd that is empty and whose delegate is in no line is freed.
//!
//! So the waiters with deadlines get the mutex in the order in which they came, and each other
//! waiter in the line has its turn between two of them.
//!
//! *The mutex that is gone.* While a delegate is in the line, the mutex is locked, or about to be
//! handed over: it exists. The thread that serves a crowd holds the mutex; its last access is
//! before the grant, or the unlock.
//!
//! *Granted, or expired?* Both are exchanges of the waiter's word. A waiter that has expired leaves
//! the list under the lock. If the serving thread has taken its node out of the list and found it
//! expired, the waiter finds the node unlinked and not granted: it has left.
//!
//! # Rejected
//!
//! A list in which each node knows its neighbours, under a lock that the holder also takes: each
//! contended unlock would pay for it. Nodes in memory of the library, left in the line by waiters
//! that have given up: a program that tries every millisecond would leave thousands.

use crate::lock::mutex::Mutex as Lock;
use crate::sync::list::List;
use crate::sync::mutex::Mutex;
use crate::sync::node::Node;
use crate::sys::atomic::AtomicUsize;
use crate::sys::detector;
use crate::sys::memory::{self, NoMemory};
use std::ptr;

const BUCKETS: usize = 64;

/// A record that begins with a function, which is called in place of a wake-up. Aligned to 16.
#[repr(C, align(16))]
pub struct Server {
    pub serve: unsafe fn(*const Server),
}

/// The bit in the name of a server.
pub const SERVER: usize = 2;

/// The waiters with deadlines of a mutex. Used under the lock of its bucket.
#[repr(C)]
struct Crowd {
    server: Server,
    /// The delegate.
    node: Node,
    mutex: *const Mutex,
    waiters: List,
    is_in_line: bool,
    next: *mut Crowd,
}

/// A list of crowds.
struct Bucket(*mut Crowd);

// SAFETY: the crowds are used under the lock of their bucket.
unsafe impl Send for Bucket {}

/// The crowds of all mutexes.
pub struct Crowds([Lock<Bucket>; BUCKETS]);

#[unsafe(link_section = "sched_words")]
pub static CROWDS: Crowds = Crowds::new();

impl Bucket {
    /// The place that points to the mutex's crowd, or the last place.
    fn find(&mut self, mutex: *const Mutex) -> *mut *mut Crowd {
        let mut place = &raw mut self.0;
        // SAFETY: the crowds in the list live until they are taken out, under the lock.
        unsafe {
            while !(*place).is_null() && (**place).mutex != mutex {
                place = &raw mut (**place).next;
            }
        }
        place
    }

    /// Frees the mutex's crowd if it is not needed any more.
    fn clean(&mut self, mutex: *const Mutex) {
        let place = self.find(mutex);
        // SAFETY: as in `find`; nobody else has the crowd.
        unsafe {
            let crowd = *place;
            if !crowd.is_null() && !(*crowd).is_in_line && (*crowd).waiters.is_empty() {
                *place = (*crowd).next;
                drop(Box::from_raw(crowd));
            }
        }
    }
}

/// Puts the delegate into the line of its mutex. True if the mutex was free, and is locked now.
///
/// # Safety
/// The lock of the bucket is held. The delegate is in no line.
unsafe fn stand_in_line(crowd: *mut Crowd) -> bool {
    // SAFETY: the bucket is locked; the mutex exists, since the caller's caller uses it.
    unsafe {
        let name = crowd.expose_provenance() | SERVER;
        (&raw mut (*crowd).node).write(Node::never_overtaken(name));
        let locked = (*(*crowd).mutex).lock_or_link(&raw const (*crowd).node);
        (*crowd).is_in_line = !locked;
        locked
    }
}

/// A waiter that was granted.
pub struct Granted {
    /// The name of the task or thread to wake, if it has left one.
    pub name: Option<usize>,
    pub word: *const AtomicUsize,
}

impl Crowds {
    #[allow(clippy::new_without_default, reason = "one constructor is enough")]
    pub const fn new() -> Self {
        Crowds([const { Lock::new(Bucket(ptr::null_mut())) }; BUCKETS])
    }

    fn bucket_of(&self, mutex: *const Mutex) -> &Lock<Bucket> {
        &self.0[((mutex.addr() >> 4).wrapping_mul(0x9E37_79B9) >> 16) & (BUCKETS - 1)]
    }

    /// Joins the crowd of a mutex. True if the caller holds the mutex instead. `serve` calls
    /// `find_holder`.
    ///
    /// # Safety
    /// The node is the caller's, and lives until it is granted, or the caller has called `leave`.
    pub unsafe fn join(
        &self,
        mutex: &Mutex,
        node: &Node,
        serve: unsafe fn(*const Server),
    ) -> Result<bool, NoMemory> {
        self.bucket_of(mutex).with(|bucket| {
            let place = bucket.find(mutex);
            // SAFETY: the lock is held, and `find` returns a place in the list.
            unsafe {
                if (*place).is_null() {
                    let crowd = memory::boxed(Crowd {
                        server: Server { serve },
                        node: Node::default(),
                        mutex,
                        waiters: List::new(),
                        is_in_line: false,
                        next: ptr::null_mut(),
                    })?;
                    detector::own(&*crowd);
                    *place = Box::into_raw(crowd);
                }
                let crowd = *place;
                if !(*crowd).is_in_line && stand_in_line(crowd) {
                    bucket.clean(mutex);
                    return Ok(true);
                }
                (*crowd).waiters.push_to_leave(node);
            }
            Ok(false)
        })
    }

    /// Leaves the crowd. False if the caller's node was granted.
    ///
    /// # Safety
    /// `join` has returned false for the node, and the caller's wait has ended.
    pub unsafe fn leave(&self, mutex: &Mutex, node: &Node) -> bool {
        self.bucket_of(mutex).with(|bucket| {
            // SAFETY: the lock is held; the crowd of a linked node exists.
            unsafe {
                let crowd = *bucket.find(mutex);
                let left = !crowd.is_null() && (*crowd).waiters.leave(node) || !node.is_granted();
                bucket.clean(mutex);
                left
            }
        })
    }

    /// Called when the mutex was handed over to the delegate of the crowd with this server: grants
    /// a waiter, which is the holder from now on. Fails if there is no waiter; the caller then
    /// unlocks the mutex.
    ///
    /// # Safety
    /// The delegate was granted, and this is called once for that.
    pub unsafe fn find_holder<'a>(&self, server: *const Server) -> Result<Granted, &'a Mutex> {
        let crowd: *mut Crowd = server.cast::<Crowd>().cast_mut();
        // SAFETY: the crowd is freed only under the lock, when its delegate is in no line. The
        // mutex is the caller's until a waiter is granted.
        unsafe {
            let mutex = &*(*crowd).mutex;
            self.bucket_of(mutex).with(|bucket| {
                (*crowd).is_in_line = false;
                let granted = loop {
                    let Some(node) = (*crowd).waiters.pop_any() else { break Err(mutex) };
                    if !(*crowd).is_in_line && !(*crowd).waiters.is_empty() {
                        let _free = stand_in_line(crowd);
                        debug_assert!(!_free, "the caller holds the mutex");
                    }
                    let word = ptr::from_ref((*node).word());
                    if let Ok(name) = Node::grant_unless_expired(node) {
                        break Ok(Granted { name, word });
                    }
                };
                bucket.clean(mutex);
                granted
            })
        }
    }

    /// Forgets all crowds in the child of a fork: their waiters belong to the parent.
    ///
    /// # Safety
    /// No other thread of this process uses the value.
    pub unsafe fn forget(&self) {
        for bucket in &self.0 {
            // SAFETY: no other thread uses the bucket.
            unsafe { bucket.reset(Bucket(ptr::null_mut())) };
        }
    }
}
