//! The commands, from the measurement to the page: [`bench`] compares the kinds, [`own`] measures a
//! program of the user's, [`peers`] compares the library with other systems, [`tools`] compares the
//! programs of programs/ with the usual tools, [`lab`] writes docs/LAB.md, and [`report`] makes
//! docs/REPORT.md and tables of other pages from what the others have found. [`options`] are those
//! of the comparisons, and [`results`] has the end of every command.

pub mod bench;
pub mod lab;
pub mod options;
pub mod own;
pub mod peers;
pub mod report;
pub mod results;
pub mod tools;
