//! `SCHED_TRACE`: the timeline of a run, in the Trace Event format, which Perfetto,
//! chrome://tracing and speedscope open.
//!
//! | file | what |
//! | --- | --- |
//! | [`event`] | what is recorded, in 32 bytes |
//! | [`ring`] | where a worker's events are kept |
//! | [`track`] | what a worker records: the slices of tasks, merged where they are short |
//! | [`timeline`] | the tracks of a run, and the clock |
//! | [`json`] | the text of a timeline |
//! | [`edges`] | where the edges of the order among tasks lead |
//! | [`steps`] | where a task was before it resumes |
//! | [`output`] | the file, which the runs of a process share |
//! | [`gzip`] | its compressed form |
//!
//! A run that is traced has rows of its own in the table of kinds (`table::Entry::observed`), whose
//! functions record the events. So other runs need not test for it when they spawn, fork, join or
//! run a task.
//!
//! # Who touches what
//!
//! Only the thread that occupies a worker writes the worker's track. The text is made by the thread
//! that ends the run, after the last worker has stopped; or, if the process ends in the middle of a
//! run, by the thread that ends the process or by `threads::watcher`, while the workers continue.
//! In the second case the reader may find an event half written. Therefore the words of an event
//! are atomics: the reader then shows a wrong time or name, but reads no memory that is not its
//! own.

pub mod edges;
pub mod event;
pub mod gzip;
pub mod json;
pub mod output;
pub mod ring;
pub mod steps;
#[cfg(not(loom))]
pub mod timeline;
pub mod track;
