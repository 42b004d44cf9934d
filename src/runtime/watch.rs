//! The records of an observed run: one for each task, and one for each worker.

use crate::profile::path::Path;
use crate::profile::run::Profile;
use crate::profile::sums::Sums;
use crate::runtime::arg_blocks::MAX_BYTES;
use crate::stats::Phase;
use crate::stats::phases::Phases;
use crate::sync::forked::Forked;
use crate::sys::peek;
use crate::trace::timeline::Timeline;
use crate::trace::track::{Observed, Track};
use std::cell::Cell;
use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr;

/// The observers of a worker. Lives as long as the run.
pub struct Watch {
    /// The worker's own part of `timeline`; null: the run is not traced.
    track: *const Track,
    timeline: *const Timeline,
    /// The worker's own part of `profile`; null: the run is not profiled.
    sums: *const Sums,
    profile: *const Profile,
    /// The worker's phases; null: the run does not print statistics.
    phases: *const Phases,
}

// SAFETY: the pointers are to values that threads may share.
unsafe impl Sync for Watch {}
// SAFETY: as above.
unsafe impl Send for Watch {}

impl Watch {
    /// # Safety
    /// All arguments live as long as the run.
    pub unsafe fn new(
        timeline: Option<&Timeline>,
        profile: Option<&Profile>,
        phases: Option<&Phases>,
        worker: usize,
    ) -> Self {
        Watch {
            track: timeline.map_or(ptr::null(), |timeline| timeline.track(worker)),
            timeline: timeline.map_or(ptr::null(), ptr::from_ref),
            sums: profile.map_or(ptr::null(), |profile| profile.sums(worker)),
            profile: profile.map_or(ptr::null(), ptr::from_ref),
            phases: phases.map_or(ptr::null(), ptr::from_ref),
        }
    }

    #[inline]
    pub fn track(&self) -> Option<&Track> {
        // SAFETY: by the promise made to `new`.
        unsafe { self.track.as_ref() }
    }

    #[inline]
    pub fn sums(&self) -> Option<&Sums> {
        // SAFETY: by the promise made to `new`.
        unsafe { self.sums.as_ref() }
    }

    pub fn profile(&self) -> Option<&Profile> {
        // SAFETY: by the promise made to `new`.
        unsafe { self.profile.as_ref() }
    }

    pub fn phases(&self) -> Option<&Phases> {
        // SAFETY: by the promise made to `new`.
        unsafe { self.phases.as_ref() }
    }

    /// Begins a phase. Called by the thread that occupies the worker.
    #[cold]
    pub fn begin(&self, phase: Phase) {
        self.phases().inspect(|phases| phases.begin(phase));
    }

    /// Called when the worker has found its queue empty.
    #[cold]
    pub fn out_of_tasks(&self) {
        self.track().inspect(|track| track.out_of_tasks());
        self.begin(Phase::Searching);
    }

    /// Counts a task that cannot be observed, because there is no memory for its record.
    #[cold]
    pub fn miss(&self) {
        // SAFETY: by the promise made to `new`.
        unsafe { self.timeline.as_ref() }.inspect(|timeline| timeline.miss());
        self.profile().inspect(|profile| profile.miss());
    }
}

/// A task of an observed run, in an argument block.
#[repr(C)]
pub struct Watched {
    /// The first field: `Observed::below` points to it.
    pub slice: Observed,
    pub path: Path,
    /// The queued descriptor of a task that was forked in a profiled run or under a race detector;
    /// the program's own descriptor leads to this one. Then the block lives until the join. See
    /// `note_descriptor`.
    pub shadow: Forked,
    /// The closure that names the block, if `shadow` is used; else null.
    pub block: Cell<*mut c_void>,
}

const _: () = assert!(size_of::<Watched>() <= MAX_BYTES);

impl Watched {
    /// The offsets of the program's function, and of the pointer to the record of the task below on
    /// the same stack.
    pub const FUNCTION: usize = offset_of!(Watched, slice) + Observed::FUNCTION;
    pub const BELOW: usize = offset_of!(Watched, slice) + Observed::BELOW;

    #[inline(always)]
    pub fn new(slice: Observed) -> Self {
        let block = Cell::new(ptr::null_mut());
        Watched { slice, path: Path::unused(), shadow: Forked::unset(), block }
    }

    /// Notes, for an observer, which descriptor is queued for the task: the shadow, if it is used,
    /// and otherwise `queued`, for whose address the shadow then has room.
    pub fn note_descriptor(&self, queued: *const Forked) {
        if self.block.get().is_null() {
            self.shadow.note(queued);
        }
    }

    /// For an observer: the descriptor that is queued for the task of a record; 0: it was not
    /// forked. None means that the memory is gone.
    pub fn seen_descriptor(record: usize) -> Option<usize> {
        let shadow = record.wrapping_add(offset_of!(Watched, shadow));
        match peek::word(record.wrapping_add(offset_of!(Watched, block)))? {
            0 => peek::word(shadow.wrapping_add(Forked::NOTED)),
            _ => Some(shadow),
        }
    }

    /// The task below this one on the same stack.
    ///
    /// # Safety
    /// This task is in the middle of its run.
    pub unsafe fn below(&self) -> Option<&Watched> {
        // SAFETY: the task runs, so those below it live; `Fiber::observed` points to nothing else.
        unsafe { self.slice.below.get().cast::<Watched>().as_ref() }
    }

    /// The task with this shadow.
    ///
    /// # Safety
    /// The descriptor is the shadow of a task that was not joined yet.
    pub unsafe fn of_shadow(shadow: &Forked) -> *const Watched {
        ptr::from_ref(shadow).wrapping_byte_sub(offset_of!(Watched, shadow)).cast()
    }
}
