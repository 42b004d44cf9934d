use super::*;
use crate::task::Scheduler;
use std::ffi::c_void;

const FOREVER: u64 = u64::MAX;

fn kinds(track: &Track) -> Vec<(Kind, u64)> {
    track
        .ring()
        .events()
        .filter(|event| event.kind != Kind::Busy)
        .map(|event| (event.kind, if event.kind == Kind::Merged { event.length } else { 0 }))
        .collect()
}

fn track(merge: u64, test: impl FnOnce(&Track)) {
    let shared = Shared::new(merge, FOREVER);
    // SAFETY: `shared` outlives the track.
    test(&unsafe { Track::new(&raw const shared, 0, 1 << 16) }.unwrap());
}

/// A task that calls `n` others.
fn call(track: &Track, function: usize, n: usize) {
    let slice = spawn(track, function);
    track.begin(&slice, || None);
    (0..n).for_each(|_| call(track, function, 0));
    track.end(&slice);
}

unsafe extern "C" fn nothing(_: *mut c_void, _: *mut Scheduler) {}

fn spawn(track: &Track, function: usize) -> Observed {
    track.spawn(Task { f: nothing, closure: ptr::null_mut() }, function)
}

#[test]
fn a_short_tree_is_one_event() {
    track(FOREVER, |track| {
        (0..3).for_each(|_| call(track, 1, 5));
        assert_eq!(kinds(track), [(Kind::Merged, 18)]);
        call(track, 2, 0);
        assert_eq!(kinds(track), [(Kind::Merged, 18), (Kind::Merged, 1)]);
    });
}

#[test]
fn the_times_of_a_track_never_go_back() {
    track(0, |track| {
        let ahead = ticks() + (1 << 40);
        track.latest.set(ahead); // as if an earlier thread's clock were ahead
        let slice = spawn(track, 1);
        track.begin(&slice, || None);
        track.suspend(&slice, Wait::Mutex);
        track.slept(track.now());
        track.arrive(&slice);
        track.end(&slice);
        let times: Vec<_> = track.ring().events().map(|event| event.time).collect();
        assert_eq!(times, [ahead; 6]);
    });
}

#[test]
fn without_merging_each_task_has_a_slice() {
    track(0, |track| {
        call(track, 1, 2);
        let inner = [(Kind::Begin, 0), (Kind::End, 0)];
        let all = [&[(Kind::Begin, 0)][..], &inner, &inner, &[(Kind::End, 0)]].concat();
        assert_eq!(kinds(track), all);
    });
}

#[test]
fn what_stays_keeps_the_tasks_around_it() {
    track(FOREVER, |track| {
        let outer = spawn(track, 1);
        track.begin(&outer, || None);
        call(track, 1, 0);
        track.note(Kind::Steal, 1, 0);
        call(track, 1, 0);
        track.end(&outer);
        let merged = (Kind::Merged, 1);
        let (begin, steal, end) = ((Kind::Begin, 0), (Kind::Steal, 0), (Kind::End, 0));
        assert_eq!(kinds(track), [begin, merged, steal, merged, end]);
    });
}

#[test]
fn short_children_on_another_stack_are_merged_as_if_they_were_called() {
    track(FOREVER, |track| {
        let parent = spawn(track, 1);
        track.begin(&parent, || None);
        for _ in 0..3 {
            let left = track.leave(&parent);
            call(track, 1, 2);
            track.come_back(&left, &parent);
        }
        track.end(&parent);
        assert_eq!(kinds(track), [(Kind::Merged, 10)]);
    });
    track(0, |track| {
        let parent = spawn(track, 1);
        track.begin(&parent, || None);
        let left = track.leave(&parent);
        track.come_back(&left, &parent); // the child was queued
        let left = track.leave(&parent);
        call(track, 1, 0);
        track.come_back(&left, &parent);
        track.end(&parent);
        use Kind::{Again, Begin, End, Leave};
        let all = [Begin, Leave, Begin, End, Again, End].map(|kind| (kind, 0));
        assert_eq!(kinds(track), all);
    });
}

#[test]
fn a_blocking_section_has_two_ends() {
    track(FOREVER, |track| {
        let slice = spawn(track, 1);
        track.begin(&slice, || None);
        track.block(&slice);
        slice.unblock();
        track.arrive(&slice);
        track.end(&slice);
        use Kind::{Begin, Block, End, Leave, Unblock};
        let all = [Begin, Block, Leave, Unblock, End].map(|kind| (kind, 0));
        assert_eq!(kinds(track), all);
        assert_eq!(slice.why.get(), Why::Left);
    });
}

#[test]
fn tasks_below_one_that_was_suspended_go_on_one_by_one() {
    track(0, |track| {
        let [outer, inner] = [1, 2].map(|function| spawn(track, function));
        inner.below.set(&raw const outer);
        track.begin(&outer, || None);
        track.begin(&inner, || None);
        track.suspend(&inner, Wait::Mutex);
        assert_eq!(inner.why.get(), Why::Suspended(Wait::Mutex));
        track.arrive(&inner);
        track.arrive(&inner); // the worker is there already
        track.end(&inner);
        track.end(&outer);
        use Kind::{Again, Begin, End, Resume, Suspend};
        let all = [Begin, Begin, Suspend, Resume, End, Again, End].map(|kind| (kind, 0));
        assert_eq!(kinds(track), all);
        assert_eq!(track.depth.get(), 0);
        let waits = track.ring().events().filter(|event| event.wait == Wait::Mutex);
        let waits: Vec<_> = waits.map(|event| event.kind).collect();
        assert_eq!(waits, [Suspend, Resume]);
    });
}
