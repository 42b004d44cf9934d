//! The commands, from the measurement to the page: [`bench`] compares the kinds, [`own`] measures a
//! program of the user's, [`peers`] compares the library with other systems, [`tools`] compares the
//! programs of programs/ with the usual tools, [`lab`] writes docs/LAB.md, and [`report`] makes
//! docs/REPORT.md and tables of other pages from what the others have found. A [`template`] has the
//! text of a page, and [`terminal`] shows it on a terminal. [`options`] are those of the comparisons,
//! [`results`] has the end of every command, and [`files`] makes what the programs of programs/ work on.

pub mod bench;
mod files;
pub mod lab;
pub mod options;
pub mod own;
pub mod peers;
mod puzzles;
pub mod report;
pub mod results;
mod systems;
mod template;
mod terminal;
pub mod tools;
