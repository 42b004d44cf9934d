use sched_dag::tape::{write_head, write_run};
use sched_dag::{Graph, Recording, Then};

use super::*;
use crate::clock::Moment;

/// The graph of a run with stamps, and what the events took in all.
fn record(f: TaskFn, closure: *mut c_void) -> (Graph, f64) {
    let mut serial = Serial::new();
    let mut file = Vec::new();
    write_head(&mut file, 0.0).unwrap();
    let start = Moment::now();
    // SAFETY: all of it is this thread's.
    unsafe { Serial::run(&mut serial, f, closure, true) };
    let elapsed = start.elapsed();
    assert!(serial.queued().is_empty());
    write_run(&mut file, elapsed, &serial.tape.events).unwrap();
    let recording = Recording::read(&file[..]).unwrap();
    (Graph::of(&[recording], |_| 0.0).unwrap(), elapsed.wall as f64)
}

fn descriptor() -> Descriptor {
    Descriptor { state: 0, closure: ptr::null_mut(), number: 0, unused: 0 }
}

struct Fib {
    n: u64,
    value: u64,
}

unsafe extern "C" fn fib(closure: *mut c_void, s: *mut Serial) {
    // SAFETY: a Fib, of the caller's; `t` and `other` live until the join has returned.
    unsafe {
        let call = &mut *closure.cast::<Fib>();
        if call.n < 2 {
            call.value = call.n;
            return;
        }
        let (mut t, mut other) = (descriptor(), Fib { n: call.n - 2, value: 0 });
        (*s).fork(&mut t, fib, (&raw mut other).cast());
        let mut mine = Fib { n: call.n - 1, value: 0 };
        fib((&raw mut mine).cast(), s);
        Serial::join(s, &mut t);
        call.value = mine.value + other.value;
    }
}

#[test]
fn fib_of_20_forks_a_task_for_each_call_that_is_no_leaf() {
    let mut call = Fib { n: 20, value: 0 };
    let (graph, total) = record(fib, (&raw mut call).cast());
    assert_eq!(call.value, 6765);
    assert_eq!(graph.tasks.len(), 10946); // fib(21)
    let count = |is: fn(&Then) -> bool| graph.steps.iter().filter(|s| is(&s.then)).count();
    assert_eq!(count(|then| matches!(then, Then::Fork(_))), 10945);
    assert_eq!(count(|then| matches!(then, Then::Join(_))), 10945);
    assert_eq!(count(|then| matches!(then, Then::End)), 10946);
    let work = graph.work();
    assert!(work <= total * 1.0001 && work > 0.0, "{work} of {total} ns");
    assert!(graph.span().unwrap() < work);
}

unsafe extern "C" fn idle(_: *mut c_void, _: *mut Serial) {}

unsafe extern "C" fn busy(closure: *mut c_void, s: *mut Serial) {
    let start = std::time::Instant::now();
    while start.elapsed().as_micros() < 2000 {}
    if closure.is_null() {
        // SAFETY: `s` is the run's.
        unsafe { (*s).spawn(busy, ptr::without_provenance_mut(1)) };
        let start = std::time::Instant::now();
        while start.elapsed().as_micros() < 1000 {}
    }
}

#[test]
fn tasks_have_the_time_that_they_take() {
    let (graph, total) = record(busy, ptr::null_mut());
    let (first, second) = (graph.steps_of(0), graph.steps_of(1));
    // At least what they wait for; more where the machine was busy.
    assert!(first[0].nanoseconds >= 1.99e6 && first[0].then == Then::Spawn(1));
    assert!(first[1].nanoseconds >= 0.99e6 && first[1].then == Then::End);
    assert!(second[0].nanoseconds >= 1.99e6);
    let work = graph.work();
    assert!(work >= 4.99e6 && work <= total * 1.0001, "{work} of {total} ns");
}

unsafe extern "C" fn wild(_: *mut c_void, s: *mut Serial) {
    // SAFETY: all of it lives until it was waited for.
    unsafe {
        let mut group = Group { pending: 0, number: 0, cancelled: 0 };
        let (mut a, mut b) = (descriptor(), descriptor());
        (*s).group_spawn(&mut group, idle, ptr::null_mut());
        (*s).fork(&mut a, idle, ptr::null_mut());
        (*s).fork(&mut b, idle, ptr::null_mut());
        (*s).spawn(idle, ptr::null_mut());
        Serial::join(s, &mut a); // not the last that was forked
        assert!(Serial::group_wait(s, &mut group));
        Serial::join(s, &mut b);
        (*s).group_spawn(&mut group, busy, ptr::null_mut());
        Serial::cancel(&mut group);
        assert!(Serial::cancelled(&group) && !Serial::group_wait(s, &mut group));
    }
}

#[test]
fn joins_and_waits_come_in_any_order() {
    let (graph, _) = record(wild, ptr::null_mut());
    let then: Vec<Then> = graph.steps_of(0).iter().map(|step| step.then).collect();
    let expected = [
        Then::Spawn(1),
        Then::Fork(2),
        Then::Fork(3),
        Then::Spawn(4),
        Then::Join(2),
        Then::Wait(1),
        Then::Join(3),
        Then::Spawn(5),
        Then::Wait(2),
        Then::End,
    ];
    assert_eq!(then, expected);
    assert_eq!(graph.tasks.len(), 6);
    assert_eq!((graph.tasks[1].group, graph.tasks[5].group), (Some(1), Some(2)));
}

unsafe extern "C" fn sleeps(closure: *mut c_void, s: *mut Serial) {
    let nap = std::time::Duration::from_millis(3);
    // SAFETY: `s` is the run's, and `t` lives until it is joined.
    unsafe {
        (*s).block_begin();
        (*s).block_begin(); // within the other
        std::thread::sleep(nap);
        assert!((*s).block_end());
        if closure.is_null() {
            let mut t = descriptor();
            (*s).fork(&mut t, sleeps, ptr::without_provenance_mut(1));
            Serial::join(s, &mut t); // on top of one that is in a section
            std::thread::sleep(nap);
        }
        assert!((*s).block_end());
        assert!(!(*s).block_end());
    }
}

#[test]
fn time_in_blocking_sections_is_no_work() {
    let (graph, total) = record(sleeps, ptr::null_mut());
    let then: Vec<Then> = graph.steps_of(1).iter().map(|step| step.then).collect();
    assert_eq!(then, [Then::Block, Then::Unblock, Then::End]);
    let blocked = |task: usize| {
        let steps = graph.steps_of(task).iter().filter(|step| step.then == Then::Unblock);
        steps.map(|step| f64::from(step.nanoseconds)).sum::<f64>()
    };
    assert!(blocked(0) >= 5.99e6 && blocked(1) >= 2.99e6, "{} {}", blocked(0), blocked(1));
    assert!(graph.work() <= total - 8.97e6, "{} of {total} ns", graph.work());
}
