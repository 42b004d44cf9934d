//! Compares each deque with a `VecDeque`, on one thread. The models check concurrent operations.

use crate::lock::bell::{Adaptive, Fair, Spin};
use crate::lock::posix::{PthreadMutex, Semaphore};
use crate::queue::chaselev::ChaseLev;
use crate::queue::locked::{Locked, Oldest};
use crate::queue::ring::Ring;
use crate::queue::split::Split;
use crate::queue::{
    BATCH, Batches, Deque, End, Full, Owner, Portion, PrivatePart, Published, Steal,
};
use crate::sys::fence::{Asymmetric, Fenced};
use crate::task::{Scheduler, Task};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::collections::VecDeque;
use std::ffi::c_void;

unsafe extern "C" fn nothing(_: *mut c_void, _: *mut Scheduler) {}

/// A task that does nothing, with a number.
pub(super) fn task(n: usize) -> Task {
    Task { f: nothing, closure: std::ptr::without_provenance_mut(n) }
}

fn number(task: Task) -> usize {
    task.closure.addr()
}

fn made<D: Deque>(limit: usize) -> Box<D> {
    let deque = Box::new(D::new(limit).unwrap());
    // SAFETY: boxed, and not used yet.
    unsafe { deque.initialize_in_place() };
    deque
}

/// Steals; raids first if thieves can reach no task.
fn take_oldest<D: Deque>(deque: &D) -> Option<usize> {
    if !deque.has_public() && !deque.private_part().is_some_and(|private| private.raid()) {
        return None;
    }
    match deque.steal() {
        Steal::Taken(task) => Some(number(task)),
        Steal::Empty => None,
        Steal::Retry => panic!("nobody else is here"),
    }
}

/// Steals the older half, as a thief with `SCHED_STEAL=half` does.
fn take_older_half<D: Deque>(deque: &D, rest: usize) -> Vec<usize> {
    let mut others = Vec::new();
    let batches = deque.batches().expect("tested where there are");
    match batches.steal_half(rest, |task| others.push(number(task))) {
        Steal::Taken(first) => std::iter::once(number(first)).chain(others).collect(),
        Steal::Empty => others,
        Steal::Retry => panic!("nobody else is here"),
    }
}

/// Random operations give the same results on the deque and on a `VecDeque`.
fn behaves_like_a_deque<D: Deque>() {
    let deque = made::<D>(usize::MAX);
    // SAFETY: the only owner.
    let mut owner = unsafe { Owner::new(&*deque) };
    let mut oracle = VecDeque::new();
    let most = D::SLOTS.unwrap_or(usize::MAX);
    let mut peak = 0;
    let mut rng = SmallRng::seed_from_u64(7);
    for n in 0..200_000 {
        // Phases that mostly push and phases that mostly take, to grow and to wrap.
        let fills = n / 3000 % 2 == 0;
        if rng.random_range(0..10) < if fills { 7 } else { 3 } {
            let pushed = owner.push(task(n));
            assert_eq!(pushed.is_ok(), oracle.len() < most);
            if pushed.is_ok() {
                oracle.push_back(n);
            }
        } else {
            match rng.random_range(0..if deque.batches().is_some() && !fills { 8 } else { 5 }) {
                0 => {
                    peak = peak.max(oracle.len());
                    let next = match D::OWNER_POPS {
                        End::Oldest => oracle.pop_front(),
                        End::Youngest => oracle.pop_back(),
                    };
                    assert_eq!(owner.pop().map(number), next);
                }
                1 => {
                    peak = peak.max(oracle.len());
                    assert_eq!(owner.pop_youngest().map(number), oracle.pop_back());
                }
                2 if n % 5 == 0 => {
                    if let Some(private) = deque.private_part() {
                        private.request();
                    }
                }
                2 => assert_eq!(take_oldest(&*deque), oracle.pop_front()),
                3 => {
                    // Either the youngest task, or one that is not in the deque.
                    let wanted = oracle.back().copied().filter(|_| n % 3 > 0).unwrap_or(n);
                    if D::OWNER_POPS == End::Youngest && oracle.back() != Some(&wanted) {
                        continue; // `take_back` may pop and put back, which changes `peak`
                    }
                    let there = oracle.back() == Some(&wanted);
                    assert_eq!(owner.take_back(task(wanted)), there);
                    if there {
                        oracle.pop_back();
                        peak = deque.peak(); // some deques count this pop, others do not
                    }
                }
                4 => {
                    let portion = [Portion::Half, Portion::HalfOrLone, Portion::All][n % 3];
                    if let Some(mut private) = owner.private_part() {
                        if private.publish(portion) != Published::Busy {
                            private.rearm();
                        }
                    }
                }
                5 => {
                    let rest = rng.random_range(0..300);
                    let half = oracle.len().div_ceil(2).min(1 + rest).min(BATCH);
                    let expected: Vec<_> = oracle.drain(..half).collect();
                    assert_eq!(take_older_half(&*deque, rest), expected);
                }
                6 => {
                    let (wanted, mut spilt) = (rng.random_range(0..40), Vec::new());
                    owner.batches().unwrap().spill(wanted, |task| spilt.push(number(task)));
                    let expected: Vec<_> = oracle.drain(..wanted.min(oracle.len())).collect();
                    assert_eq!(spilt, expected);
                }
                _ => {
                    let room = owner.batches().unwrap().make_room(50);
                    assert!(room >= 50.min(most - oracle.len()));
                    assert!(room <= most - oracle.len());
                }
            }
        }
        assert_eq!(deque.looks_empty(), oracle.is_empty());
    }
    assert_eq!(deque.peak(), peak);
    assert!(peak >= most.min(1000));
}

fn refuses_at_its_limit<D: Deque>() {
    for limit in [300, 100, 1].map(|limit| D::SLOTS.map_or(limit, |slots| slots.min(limit))) {
        let deque = made::<D>(limit);
        // SAFETY: the only owner.
        let mut owner = unsafe { Owner::new(&*deque) };
        for n in 0..limit {
            owner.push(task(n)).unwrap();
        }
        assert_eq!(owner.push(task(limit)), Err(Full));
        assert_eq!(take_oldest(&*deque), Some(0));
        owner.push(task(limit + 1)).unwrap();
        assert_eq!(owner.push(task(limit + 2)), Err(Full));
        assert_eq!(owner.pop_youngest().map(number), Some(limit + 1));
        assert_eq!(deque.peak(), limit);

        // The limit also holds after thieves have emptied the deque far from its first slot.
        (1..=limit / 2)
            .for_each(|n| assert_eq!(take_oldest(&*deque), Some(n).filter(|&n| n < limit)));
        (0..limit / 2).for_each(|n| owner.push(task(n)).unwrap());
        while take_oldest(&*deque).is_some() {}
        assert!(owner.pop().is_none());
        (0..limit).for_each(|n| owner.push(task(n)).unwrap());
        assert_eq!(owner.push(task(limit)), Err(Full));
    }
}

#[test]
fn split() {
    behaves_like_a_deque::<Split<Asymmetric>>();
    behaves_like_a_deque::<Split<Fenced>>();
    refuses_at_its_limit::<Split<Asymmetric>>();
    refuses_at_its_limit::<Split<Fenced>>();
}

#[test]
fn chaselev() {
    behaves_like_a_deque::<ChaseLev>();
    refuses_at_its_limit::<ChaseLev>();
}

#[test]
fn ring() {
    behaves_like_a_deque::<Ring>();
    behaves_like_a_deque::<Ring<8>>();
    refuses_at_its_limit::<Ring>();
    refuses_at_its_limit::<Ring<64>>();
}

#[test]
fn locked() {
    behaves_like_a_deque::<Locked<PthreadMutex>>();
    behaves_like_a_deque::<Locked<Spin>>();
    behaves_like_a_deque::<Locked<Fair>>();
    behaves_like_a_deque::<Locked<Adaptive>>();
    behaves_like_a_deque::<Locked<Semaphore>>();
    behaves_like_a_deque::<Locked<PthreadMutex, Oldest>>();
    behaves_like_a_deque::<Locked<Spin, Oldest>>();
    refuses_at_its_limit::<Locked<PthreadMutex>>();
    refuses_at_its_limit::<Locked<Spin>>();
    refuses_at_its_limit::<Locked<Semaphore>>();
    refuses_at_its_limit::<Locked<PthreadMutex, Oldest>>();
}
