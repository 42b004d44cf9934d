//! Threads for runs, kept for a while after each (`SCHED_WARM`): to make a thread and to end it
//! costs some ten microseconds, to wake one that rests a few.
//!
//! # States of a slot
//!
//! ```text
//!             take                call                 (job done)            put
//!   warm  ---------->  reserved  ------>  called  ------------------>  reserved  --->  warm
//!   (a thread rests)                     (it works)                                     | time
//!   blank ---------->  reserved  ------>  called: the thread is made                    v is up
//!   (no thread)                                                                        blank
//! ```
//! Warm and blank slots are in lists, under a lock; a reserved or called slot belongs to a run.
//! The run's thread takes and puts the slots of its workers. *Reliefs* are taken when a thread
//! leaves a worker ([`relief`]), and may be called several times. Slots are never freed, so a
//! thread that is late may look at its own at any time.
//!
//! # Protocol
//!
//! A thread rests while its slot's word is `REST`, first awake, in case the next run follows at
//! once, then, having made the word `ASLEEP`, in a futex. The caller writes the job, swaps `CALLED`
//! in (Release), and wakes the thread if it was asleep. The thread works and swaps `REST` in
//! (Release). If the run's thread waits for that, it has left `AWAITED` in the word, and is woken.
//! A sleeping thread whose time is up takes the lock. If its slot is still in the list of the warm,
//! the thread takes it out and ends ([`ending`]); if not, a run has reserved the slot, and the
//! thread goes on resting.
//!
//! # What a thread would inherit
//!
//! A new thread starts with its creator's affinity, rounding mode and other floating-point
//! controls. A kept thread takes over those of the run's caller at each call, and its signal mask
//! and name are set anew. It keeps its thread-local variables, and does not take over what a caller
//! has changed for its own thread since, such as a nice value.

mod ending;
mod life;
mod records;
mod relief;
mod run;

pub use self::ending::{is_unloaded, unload, watch_exit};
pub use self::records::{Job, RunThreads, Terms};
pub use self::relief::MOST_RELIEFS;
pub use self::run::renew;
