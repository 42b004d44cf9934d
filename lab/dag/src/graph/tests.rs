use super::*;

fn run(intervals: &[f32], ops: &[Op]) -> Run {
    let nanoseconds = intervals.iter().map(|&x| f64::from(x)).sum();
    Run { nanoseconds, wall: nanoseconds, ops: ops.to_vec(), intervals: intervals.to_vec() }
}

/// Two forked tasks, which take 50 and 100 and run in their joins. The later one is joined first.
const FORKS: [Op; 9] = [
    Op::Begin(0),
    Op::Fork,
    Op::Fork,
    Op::Join(2),
    Op::Begin(2),
    Op::End,
    Op::Join(1),
    Op::Begin(1),
    Op::End,
];

#[test]
fn tasks_get_their_own_intervals() {
    let ops: Vec<Op> = FORKS.into_iter().chain([Op::End]).collect();
    let times = [1.0, 10.0, 10.0, 5.0, 2.0, 100.0, 3.0, 4.0, 50.0, 7.0];
    let graph = Graph::from_events(&ops, &times).unwrap();
    let step = |nanoseconds, then| Step { nanoseconds, then };
    let first = [
        step(11.0, Then::Fork(1)),
        step(10.0, Then::Fork(2)),
        step(5.0, Then::Join(2)),
        step(3.0, Then::Join(1)),
        step(7.0, Then::End),
    ];
    assert_eq!(graph.steps_of(0), first);
    assert_eq!(graph.steps_of(1), [step(54.0, Then::End)]);
    assert_eq!(graph.steps_of(2), [step(102.0, Then::End)]);
    assert_eq!(graph.work(), 192.0);
    assert_eq!(graph.span().unwrap(), 11.0 + 10.0 + 102.0 + 3.0 + 7.0);
    // By way of task 2; and by way of task 1, if only the moves count.
    assert_eq!(graph.burdened_span(6.0).unwrap(), 11.0 + 10.0 + 6.0 + 102.0 + 6.0 + 3.0 + 7.0);
}

#[test]
fn a_group_ends_with_its_longest() {
    let member = Op::Spawn { group: Some(1) };
    let ops = [
        Op::Begin(0),
        member,
        member,
        Op::Spawn { group: None },
        Op::Wait(1),
        Op::Begin(2),
        Op::End,
        Op::Begin(1),
        Op::End,
        Op::End,
        Op::Begin(3),
        Op::End,
    ];
    let times = [0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 30.0, 0.0, 90.0, 1.0, 0.0, 500.0];
    let graph = Graph::from_events(&ops, &times).unwrap();
    assert_eq!(graph.span().unwrap(), 503.0);
    assert_eq!(graph.burdened_span(20.0).unwrap(), 523.0);
    let shorter: Vec<f32> = times.iter().map(|&t| if t == 500.0 { 2.0 } else { t }).collect();
    let shorter = Graph::from_events(&ops, &shorter).unwrap();
    assert_eq!(shorter.span().unwrap(), 92.0);
    assert_eq!(shorter.burdened_span(20.0).unwrap(), 92.0 + 2.0 * 20.0);
}

#[test]
fn a_recording_without_an_end_is_refused() {
    assert!(Graph::from_events(&FORKS, &[1.0; 9]).is_err());
    assert!(Graph::from_events(&[Op::End], &[1.0]).is_err());
    assert!(Graph::from_events(&[Op::Begin(0), Op::Begin(0)], &[1.0; 2]).is_err());
}

#[test]
fn stamps_are_taken_off_and_the_sum_is_that_without() {
    let ops = [Op::Begin(0), Op::Spawn { group: None }, Op::End, Op::Begin(1), Op::End];
    let whole = |nanoseconds| Run { nanoseconds, ..Run::default() };
    let recording = Recording {
        stamp: 1.0,
        runs: vec![
            run(&[900.0; 5], &ops), // cold
            whole(150.0),
            run(&[20.0, 20.0, 120.0, 20.0, 70.0], &ops),
            whole(150.0),
            run(&[20.0, 20.0, 9000.0, 20.0, 70.0], &ops), // interrupted
            whole(4000.0),
            whole(150.0),
            run(&[20.0, 20.0, 120.0, 20.0, 70.0], &ops),
        ],
    };
    let graph = Graph::of(&[recording], |_| 0.0).unwrap();
    // 250 with stamps, 150 without: each takes 20.
    assert!((graph.work() - 150.0).abs() < 1e-3);
    assert!((graph.steps_of(0)[1].nanoseconds - 100.0).abs() < 1e-3);
    assert!((graph.steps_of(1)[0].nanoseconds - 50.0).abs() < 1e-3);
    assert_eq!(graph.steps_of(0)[0].nanoseconds, 0.0);
}

#[test]
fn of_processes_the_middle_of_their_fastest_runs_counts() {
    let ops = [Op::Begin(0), Op::End];
    let whole = |nanoseconds| Run { nanoseconds, ..Run::default() };
    let recordings = [60.0, 40.0, 900.0, 50.0].map(|fastest| Recording {
        stamp: 1.0,
        runs: vec![run(&[0.0, 200.0], &ops), whole(fastest + 70.0), whole(fastest)],
    });
    assert!((Graph::of(&recordings, |_| 0.0).unwrap().work() - 57.5).abs() < 1e-3);
}

#[test]
fn what_the_queue_of_the_recorder_cost_to_grow_is_taken_off() {
    let spawn = Op::Spawn { group: None };
    let first = [Op::Begin(0), spawn, spawn, spawn, Op::End];
    let others = [3, 2, 1].map(|task| [Op::Begin(task), Op::End]);
    let ops = [&first[..], &others.concat()].concat();
    assert_eq!(longest(&ops), 3);
    assert_eq!(longest(&FORKS), 2);
    let recording =
        Recording { stamp: 0.0, runs: vec![run(&[10.0; 11], &ops), run(&[10.0; 11], &ops)] };
    let graph = Graph::of(&[recording], |length| if length > 1 { 11.0 } else { 0.0 }).unwrap();
    assert!((graph.work() - 88.0).abs() < 1e-3);
}

#[test]
fn without_a_whole_run_a_stamp_takes_what_it_takes_in_a_loop() {
    let ops = [Op::Begin(0), Op::End];
    let recording = Recording { stamp: 8.0, runs: vec![run(&[10.0, 50.0], &ops)] };
    assert_eq!(Graph::of(&[recording], |_| 0.0).unwrap().work(), 44.0);
}

#[test]
fn runs_that_lost_their_processor_are_left_out_or_told() {
    let ops = [Op::Begin(0), Op::End];
    let calm = |interval| run(&[0.0, interval], &ops);
    let busy = || Run { nanoseconds: 240.0, ..run(&[0.0, 2342.0], &ops) };
    let graph = |runs| Graph::of(&[Recording { stamp: 0.0, runs }], |_| 0.0).unwrap();
    let some = graph(vec![calm(1.0), busy(), calm(230.0), busy(), calm(250.0), calm(240.0)]);
    assert_eq!((some.work(), some.lost), (240.0, 0.0));
    let all = graph(vec![busy(), busy()]);
    assert!((all.lost - 0.8975).abs() < 1e-4);
    assert!(graph(vec![calm(1.0)]).lost <= CALM);
}

#[test]
fn time_in_a_section_is_no_work_but_is_of_the_longest_chain() {
    let ops = [Op::Begin(0), Op::Block, Op::Unblock, Op::End];
    let blocks = Run { nanoseconds: 40.0, ..run(&[10.0, 10.0, 5000.0, 20.0], &ops) };
    let whole = Run { nanoseconds: 31.0, wall: 5031.0, ..Run::default() };
    let recording = Recording { stamp: 3.0, runs: vec![blocks, whole] };
    let graph = Graph::of(&[recording], |_| 0.0).unwrap();
    assert!((graph.work() - 31.0).abs() < 1e-4);
    assert!((graph.span().unwrap() - 5031.0).abs() < 1e-3);
    assert_eq!(graph.blocked(), 5000.0);
    let then: Vec<Then> = graph.steps.iter().map(|step| step.then).collect();
    assert_eq!(then, [Then::Block, Then::Unblock, Then::End]);
    assert!(graph.lost <= CALM);
}

#[test]
fn a_spawn_in_a_section_cuts_it_in_two() {
    let spawn = Op::Spawn { group: None };
    let ops = [Op::Begin(0), Op::Block, spawn, Op::Unblock, Op::End, Op::Begin(1), Op::End];
    let graph = Graph::from_events(&ops, &[0.0, 1.0, 20.0, 30.0, 2.0, 0.0, 5.0]).unwrap();
    let steps = graph.steps_of(0).iter().map(|step| (step.nanoseconds, step.then));
    let expected = [
        (1.0, Then::Block),
        (20.0, Then::Unblock),
        (0.0, Then::Spawn(1)),
        (0.0, Then::Block),
        (30.0, Then::Unblock),
        (2.0, Then::End),
    ];
    assert_eq!(steps.collect::<Vec<_>>(), expected);
    assert_eq!(graph.work(), 8.0);
    let nested = [Op::Begin(0), Op::Block, Op::Block];
    assert!(Graph::from_events(&nested, &[0.0; 3]).is_err());
}
