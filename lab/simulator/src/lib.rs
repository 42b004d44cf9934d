//! Predicts how programs scale beyond this machine: replays recorded task DAGs on any number of
//! workers.
//!
//! [`lab::run`] is the whole experiment: it records programs of bench_c on the recorder
//! (lab/recorder), measures what each policy's calls cost ([`calibrate`], by lab/costs), predicts
//! each program under each policy for 1 to 1024 workers ([`engine`]), and compares with measured
//! runs for as many workers as this machine has processors ([`check`]). The [`report::Report`]
//! holds all figures. [`doubts`] says which of them a busy machine ([`busy`]) has spoilt,
//! [`markdown`] writes the report as a section of a page, and [`verdicts`] are its sentences.

pub mod busy;
pub mod calibrate;
pub mod check;
pub mod doubts;
pub mod engine;
pub mod lab;
pub mod markdown;
pub mod policy;
pub mod prices;
pub mod process;
pub mod report;
pub mod verdicts;
