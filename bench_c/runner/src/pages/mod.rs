//! The commands, from the measurement to the page: [`bench`] compares the kinds, [`own`] measures a
//! program of the user's, [`peers`] compares the library with other systems, [`tools`] compares the
//! programs of programs/ with the usual tools, and [`lab`] writes docs/LAB.md. [`options`] are
//! those of the comparisons, and [`results`] has the end of every command.

pub mod bench;
pub mod lab;
pub mod options;
pub mod own;
pub mod peers;
pub mod results;
pub mod tools;
