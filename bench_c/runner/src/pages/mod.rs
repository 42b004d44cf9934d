//! The commands, from the measurement to the page: [`bench`] compares the kinds, [`own`] measures a
//! program of the user's, [`peers`] compares the library with other systems, [`tools`] the programs of
//! programs/ with the usual tools, and [`lab`] writes docs/LAB.md. [`results`] has what all of them do at the end.

pub mod bench;
pub mod lab;
pub mod own;
pub mod peers;
pub mod results;
pub mod tools;
