//! The commands, from the measurement to the page: [`bench`] compares the kinds, [`own`] measures a
//! program of the user's, [`peers`] compares the library with other systems, [`tools`] compares the
//! programs of programs/ with the usual tools, [`lab`] asks the questions of docs/LAB.md, and [`publish`]
//! runs these in one session and fills the pages of docs/. A [`template`] has the
//! text of a page, and [`terminal`] shows it on a terminal. [`options`] are those of the comparisons,
//! [`results`] has the end of every command, and [`files`] makes what the programs of programs/ work on.

pub mod bench;
mod files;
pub mod lab;
pub mod options;
pub mod own;
pub mod peers;
pub mod publish;
mod puzzles;
pub mod results;
mod systems;
mod template;
mod terminal;
pub mod tools;
