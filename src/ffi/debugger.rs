//! The data that tools/libsched-gdb.py reads. No header declares it and programs do not use it, so
//! its symbol has the version LIBSCHED_PRIVATE.

use crate::inspect::description::{DESCRIPTION, Description};

#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "a symbol of C")]
pub static libsched_description: Description = DESCRIPTION;
