//! [`Infallible`] as a capability: a deque names it in place of a capability that it does not have.

use crate::queue::{Batches, Portion, PrivatePart, Published, Raid, Steal};
use crate::task::Task;
use std::convert::Infallible;

/// Functions that nobody can call, since their receiver has no values.
macro_rules! uncallable {
    ($(fn $name:ident($($type:ty),*) $(-> $result:ty)?;)* $(unsafe fn $unsafe_name:ident($($unsafe_type:ty),*) $(-> $unsafe_result:ty)?;)*) => {
        $(fn $name(&self, $(_: $type),*) $(-> $result)? {
            match *self {}
        })*
        $(unsafe fn $unsafe_name(&self, $(_: $unsafe_type),*) $(-> $unsafe_result)? {
            match *self {}
        })*
    };
}

impl PrivatePart for Infallible {
    uncallable! {
        fn ask();
        fn request() -> bool;
        fn is_requested() -> bool;
        fn raid_if_requested() -> Raid;
        fn raid() -> bool;
        fn alarm();
        fn is_alarmed() -> bool;
        fn is_asked() -> bool;
        unsafe fn silence();
        unsafe fn publish(Portion) -> Published;
        unsafe fn rearm();
    }
}

impl Batches for Infallible {
    const EXIST: bool = false;

    uncallable! {
        fn steal_half(usize, impl FnMut(Task)) -> Steal;
        unsafe fn make_room(usize) -> usize;
        unsafe fn spill(usize, impl FnMut(Task));
    }
}
