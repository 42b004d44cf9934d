//! Threads for runs, kept for a while after each run (`SCHED_WARM`). Creating and ending a thread
//! costs some ten microseconds; waking a resting thread costs a few.
//!
//! # States of a slot
//!
//! ```text
//!             take                assign               (job done)            put
//!   warm  ---------->  reserved  ------>  works  ------------------->  reserved  --->  warm
//!   (a thread rests)                     (a thread)                                      | time
//!   blank ---------->  reserved  ------>  works: the thread is created                   v is up
//!   (no thread)                                                                        blank
//! ```
//! Warm and blank slots are in lists, under a lock; a reserved or working slot belongs to a run.
//! The run's first thread takes and puts the slots of the workers. A *relief* is a slot that is
//! taken when a thread leaves a worker ([`relief`]); it may get several jobs. Slots are never
//! freed, so a thread that is late may read its own slot at any time.
//!
//! # Protocol
//!
//! A thread rests while its slot's word is `REST`. At first it stays awake, because the next run
//! may follow at once. Then it changes the word to `ASLEEP` and sleeps in a futex. A caller writes
//! the job, swaps `CALLED` into the word (Release), and wakes the thread if it was asleep. The
//! thread does the job and swaps `REST` into the word (Release). If other threads wait for the job,
//! they have left `AWAITED` in the word, and are woken. A sleeping thread whose time is up takes
//! the lock. If its slot is still in the list of warm slots, the thread removes it and ends
//! ([`ending`]). Otherwise a run has reserved the slot, and the thread continues to rest.
//!
//! # What a thread would inherit
//!
//! A new thread starts with its creator's affinity, rounding mode and other floating-point
//! controls. A kept thread takes these over from the run's caller at each job; its signal mask and
//! name are set again. It keeps its thread-local variables. It does not take over what a caller has
//! later changed for its own thread, such as a nice value.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | a slot's word | as in [`super::job`] | |
//! | a slot's note that its thread rests | as in [`super::resting`] | |
//! | the lists, `until`, `is_warm`, `is_spare` | the cache's lock | the cache's lock |
//! | `ALL`: exchange by a new slot | AcqRel | `all_slots`: the slot is initialised |
//! | `all_slots`: load of `ALL` | Acquire | that exchange |
//! | `Member::started` | Relaxed | the job's end, or the closed gate: see the field |
//! | `EXITING`, `UNLOADED` | Relaxed | the cache's lock: see `ending` |

mod ending;
mod life;
mod records;
mod relief;
mod run;

pub use self::ending::{is_unloaded, unload, watch_exit};
pub use self::life::resting;
pub use self::records::{Job, NoRelief, RunThreads, Terms};
pub use self::relief::MOST_RELIEFS;
pub use self::run::renew;
