//! The measurements: a [`Case`] is a program under one choice of settings, a [`Session`] has the
//! values of each case, a value a round, and [`Measurements`] are the sessions that the repository
//! keeps as tables in `docs/data`. Every command writes its session, and every page is made from
//! sessions: so a page can be made again without a measurement.

mod case;
mod condense;
mod session;
mod tables;

pub use case::{Case, Selector};
pub use condense::sessions;
#[cfg(test)]
pub use session::tests;
pub use session::{About, Measurements, Session};
