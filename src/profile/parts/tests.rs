//! Checks the essay of `parts` on random paths, with and without memory; and the replacement.

use super::*;
use std::cell::Cell;
use std::collections::HashMap;

thread_local! {
    /// True if this thread gets no memory for parts.
    pub static NO_MEMORY: Cell<bool> = const { Cell::new(false) };
}

/// The path goes through one more task of the function, for this many ticks.
fn go(parts: &Parts, function: u32, ticks: u64) {
    parts.grow(function);
    parts.add_task();
    parts.add(ticks);
}

/// The parts of a path that spends these ticks in these functions, one after the other.
fn through(stretches: impl IntoIterator<Item = (u32, u64)>) -> Parts {
    let parts = Parts::default();
    for (function, ticks) in stretches {
        go(&parts, function, ticks);
    }
    parts
}

fn ticks_of(parts: &Parts, function: u32) -> Option<u64> {
    parts.all().find(|part| part.function == function).map(|part| part.ticks)
}

#[test]
fn few_functions_have_a_part_each() {
    let all = PARTS as u32;
    let parts = through((1..=all).chain([3]).map(|function| (function, 10)));
    let meant: Vec<_> = (1..=all)
        .map(|function| match function {
            3 => Part { function, tasks: 2, ticks: 20 },
            _ => Part { function, tasks: 1, ticks: 10 },
        })
        .collect();
    assert_eq!(parts.all().collect::<Vec<_>>(), meant);
    assert_eq!((parts.missing().sum::<u64>(), parts.most_without_part()), (0, 0));
}

#[test]
fn a_newcomer_replaces_the_shortest_part_and_comes_last() {
    let all = PARTS as u32;
    let parts = through((1..=all).map(|function| (function, if function == 4 { 7 } else { 10 })));
    let copy = Parts::default();
    copy.copy(&parts);
    copy.grow(99);
    copy.add(1000);
    let found: Vec<_> = copy.all().map(|part| (part.function, part.tasks, part.ticks)).collect();
    let mut meant: Vec<_> = (1..=all).filter(|at| *at != 4).map(|at| (at, 1, 10)).collect();
    meant.extend([(99, 0, 1000), (REST, 1, 7)]);
    assert_eq!(found, meant);
    let again = Parts::default();
    again.copy(&copy);
    assert!(again.all().eq(copy.all()) && again.missing().eq(copy.missing()));
    let mut missing = [0; PARTS + 1];
    missing[PARTS - 1] = 7;
    assert_eq!(again.missing().collect::<Vec<_>>(), missing);
    assert_eq!((again.most_without_part(), parts.most_without_part()), (7, 0));
}

#[test]
fn two_late_functions_that_take_turns_are_kept() {
    let early = (1..=2 * PARTS as u32).map(|function| (function, 1000));
    let late = (0..10_000).map(|round| (100 + round % 2, 10));
    let parts = through(early.chain(late));
    for function in [100, 101] {
        let ticks = ticks_of(&parts, function);
        assert!(ticks.is_some_and(|ticks| ticks > 48_000), "{ticks:?}");
    }
}

#[test]
fn without_memory_the_rest_has_what_has_no_place() {
    let far = through((1..=7).map(|function| (function, 10)));
    NO_MEMORY.set(true);
    let lost = Parts::default();
    lost.copy(&far);
    lost.add(1); // the seventh part grew, which is lost
    lost.grow(8);
    lost.add(4);
    let (near, meant) = (NEAR as u32, |function| Part { function, tasks: 1, ticks: 10 });
    let mut all: Vec<_> = (1..=near).map(meant).collect();
    all.push(Part { function: REST, tasks: 2, ticks: 25 });
    assert_eq!(lost.all().collect::<Vec<_>>(), all);
    assert_eq!((lost.missing().next(), lost.most_without_part()), (Some(25), 25));
    let again = Parts::default();
    again.copy(&lost);
    assert!(again.all().eq(lost.all()) && again.missing().eq(lost.missing()));
    // With memory again, the parts that are new may lack what was lost.
    NO_MEMORY.set(false);
    lost.grow(7);
    lost.add(3);
    all.insert(NEAR, Part { function: 7, tasks: 0, ticks: 3 });
    assert_eq!(lost.all().collect::<Vec<_>>(), all);
    assert_eq!(lost.missing().collect::<Vec<_>>(), [25, 25, 25, 25, 25, 25, 0]);
    // A path takes the other's parts, whatever it has itself.
    lost.copy(&through([(9, 10)]));
    assert_eq!(lost.all().collect::<Vec<_>>(), [meant(9)]);
    lost.copy(&far);
    assert!(lost.all().eq(far.all()) && lost.missing().eq(far.missing()));
    lost.clear();
    assert_eq!(lost.all().map(|part| part.ticks).collect::<Vec<_>>(), [70]); // the rest
}

/// Checks what is known of the parts of random paths, which branch as the paths of tasks do. Memory
/// is refused `refused` times in 100.
fn check_random_paths(refused: u64) {
    let mut seed = 1_u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    for round in 0..200 {
        let (functions, mut truth) = (2 + round % 40, HashMap::new());
        let mut parts = Parts::default();
        for _ in 0..500 {
            NO_MEMORY.set(random(100) < refused);
            let function = random(functions).min(random(functions)) as u32;
            let ticks = random(100) * if random(50) == 0 { 100 } else { 1 };
            go(&parts, function, ticks);
            *truth.entry(function).or_insert(0) += ticks;
            if random(3) == 0 {
                let copy = Parts::default();
                copy.copy(&parts);
                if refused == 0 {
                    assert!(copy.all().eq(parts.all()) && copy.missing().eq(parts.missing()));
                }
                parts = copy;
            }
        }
        let length: u64 = truth.values().sum();
        assert_eq!(parts.all().map(|part| part.ticks).sum::<u64>(), length);
        assert_eq!(parts.all().map(|part| part.tasks).sum::<u32>(), 500);
        let missing: Vec<_> = parts.missing().collect();
        let kept: Vec<_> = parts.all().zip(missing.iter().copied()).collect();
        if refused == 0 {
            assert!(missing.iter().take(PARTS).is_sorted(), "{missing:?}");
            assert!(parts.most_without_part() <= length / PARTS as u64);
        }
        for (function, meant) in truth {
            let (least, more) = kept
                .iter()
                .find(|(part, _)| part.function == function)
                .map_or((0, parts.most_without_part()), |(part, more)| (part.ticks, *more));
            assert!((least..=least + more).contains(&meant), "{least} {meant} {more}");
        }
    }
    NO_MEMORY.set(false);
}

#[test]
fn what_is_missing_is_bounded() {
    check_random_paths(0);
}

#[test]
fn what_is_missing_is_bounded_without_memory() {
    check_random_paths(10);
    check_random_paths(60);
}
