//! The models' `sys::fence`: both sides are full fences.

use crate::sys::atomic::{AtomicU32, Ordering, fence};

/// Loom switches threads before an access, not before a fence. Without this access, a store and the
/// fence after it would be a single step.
fn turn() {
    loom::lazy_static! {
        static ref TURN: AtomicU32 = AtomicU32::new(0);
    }
    TURN.fetch_add(1, Ordering::Relaxed);
}

pub fn light() {
    turn();
    fence(Ordering::SeqCst);
}

pub fn heavy() -> bool {
    turn();
    fence(Ordering::SeqCst);
    true
}

pub trait Mode: Send + Sync + 'static {
    const IS_FREE: bool;

    fn light();

    fn heavy() -> bool;
}

pub struct Asymmetric;

impl Mode for Asymmetric {
    const IS_FREE: bool = true;

    fn light() {
        light();
    }

    fn heavy() -> bool {
        heavy()
    }
}

pub struct Fenced;

impl Mode for Fenced {
    const IS_FREE: bool = false;

    fn light() {
        light();
    }

    fn heavy() -> bool {
        fence(Ordering::SeqCst);
        true
    }
}
