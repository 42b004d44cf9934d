//! What was measured: a [`Case`] is a program under one choice of settings, a [`Session`] has the
//! values of each case, a value a round, and [`Measurements`] are the sessions that the repository
//! keeps in `docs/report/measurements.json`. Every command writes its session in this form, and every
//! page is made from it: so a page can be made again without a measurement.

mod case;
mod condense;
mod session;

pub use case::{Case, Selector};
pub use condense::{merge, sessions};
#[cfg(test)]
pub use session::tests;
pub use session::{About, Measurements, Session};
