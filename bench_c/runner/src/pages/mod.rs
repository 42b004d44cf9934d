//! What each command does, from the measurement to the page: [`bench`] compares the kinds, [`own`] measures a program of
//! the user's, [`peers`] compares the library with other systems, and [`lab`] writes docs/LAB.md. They end alike:
//! [`results`].

pub mod bench;
pub mod lab;
pub mod own;
pub mod peers;
pub mod results;
