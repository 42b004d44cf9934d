//! Simulations of graphs whose schedules are known.

mod contention;
mod deques;
mod graphs;
mod schedules;
mod sections;
