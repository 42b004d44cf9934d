//! L3: stacks and the switch between them.
pub mod stack;
pub mod switch;
